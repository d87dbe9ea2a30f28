"""A picture as a value: its Vega-Lite specification, and the forms in which it is shown or saved."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from cranfield.base import Record
from cranfield.errors import CranfieldError, MissingExtra
from cranfield.io import open_output, strip_compression_suffix
from cranfield.reporting.plots.theme import CONFIG, DARK, FONT, GROUND, WIDTH, wrap_title

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MIME = "application/vnd.vegalite.v5+json"
DPI = 300


class Plot(Record, eq=False):
    """A picture, with a title that says the finding and a sentence for those who cannot see it."""

    title: str
    alt: str
    spec: dict[str, Any]  # Vega-Lite 5, data included

    @classmethod
    def of(cls, view: dict[str, Any], title: str, subtitle: str, alt: str, width: int = WIDTH) -> Plot:
        """A view with its title, in the look that all pictures have."""
        heading = {"text": wrap_title(title, width, 15), "subtitle": wrap_title(subtitle, width) if subtitle else []}
        spec = {
            "$schema": SCHEMA,
            "description": alt,
            "background": GROUND,
            "title": heading,
            "config": deepcopy(CONFIG),
        }
        return cls(title, alt, spec | view)

    def json(self) -> str:
        """The specification as text."""
        return json.dumps(self.spec, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"

    def svg(self) -> str:
        """The picture as SVG, which follows a reader's dark scheme on a screen."""
        drawn = _with_own_ids(_vl_convert().vegalite_to_svg(_still(self.spec)))
        start, sign, rest = drawn.partition(">")
        label = f' role="img" aria-label="{html.escape(self.alt)}"'
        return f"{start}{label}{sign}<title>{html.escape(self.title)}</title><style>{DARK}</style>{rest}"

    def png(self, dpi: float = DPI) -> bytes:
        """The picture as PNG."""
        drawn: bytes = _vl_convert().vegalite_to_png(_still(self.spec), ppi=dpi)
        return drawn

    def pdf(self) -> bytes:
        """The picture as PDF, fonts embedded."""
        drawn: bytes = _vl_convert().vegalite_to_pdf(_still(self.spec))
        return drawn

    def html(self) -> str:
        """A page that shows the picture with values on hover and needs no network."""
        return PAGE.format(
            title=html.escape(self.title),
            alt=html.escape(self.alt),
            style=f"{PAGE_STYLE} {DARK}",
            runtime=load_vega(),
            draw=DRAW,
            spec=escape_script(self.json()),
        )

    def save(self, path: str | os.PathLike[str], format: str | None = None, dpi: float = DPI) -> None:
        """Write the picture to a file in the format that its name ends with: svg, png, pdf, html or json."""
        kind = format or detect_plot_format(path)
        content = self.rendered(kind, dpi)
        with open_output(path) as out:
            out.write(content)

    def rendered(self, format: str, dpi: float = DPI) -> bytes:
        """The picture in a format of PLOT_FORMATS."""
        ways: dict[str, Callable[[], str | bytes]] = {
            "svg": self.svg,
            "png": partial(self.png, dpi),
            "pdf": self.pdf,
            "html": self.html,
            "json": self.json,
        }
        if format not in ways:
            raise CranfieldError(f"a picture cannot be made as {format!r}: expected one of {', '.join(ways)}.")
        drawn = ways[format]()
        return drawn.encode() if isinstance(drawn, str) else drawn

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """How notebooks show it: with hover where they know Vega-Lite, as SVG elsewhere."""
        bundle: dict[str, Any] = {MIME: self.spec, "text/plain": str(self)}
        try:
            bundle["image/svg+xml"] = self.svg()
        except MissingExtra:
            pass  # Vega-Lite is enough for most notebooks
        return bundle

    def __str__(self) -> str:
        return self.alt

    def __repr__(self) -> str:
        return f"<Plot: {self.title}>"


PLOT_FORMATS = ("svg", "png", "pdf", "html", "json")
_ENDINGS = {f".{name}": name for name in PLOT_FORMATS} | {".htm": "html"}


def detect_plot_format(path: str | os.PathLike[str]) -> str:
    """The format that a file's name asks for."""
    ending = Path(strip_compression_suffix(path)).suffix.lower()
    if ending not in _ENDINGS:
        known = ", ".join(f".{name}" for name in PLOT_FORMATS)
        raise CranfieldError(f"{os.fspath(path)}: unknown suffix for a plot: expected one of {known}.")
    return _ENDINGS[ending]


def require_plot_format(format: str) -> None:
    """An error if pictures of a format cannot be made here."""
    if format != "json":
        _vl_convert()


def load_vega() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, to be put into a page once for all its pictures."""
    script: str = _vl_convert().javascript_bundle()
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)


def escape_script(text: str) -> str:
    """JSON as it may stand in a script of a page, whatever ids it holds."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


# draws a specification in an element of a page that has the runtime; without the schema, since it names Vega-Lite 5
# and the runtime of vl-convert may be a newer one, which takes it too but would say so
DRAW = """function draw(element, spec) {
  const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const actions = {export: true, source: false, compiled: false, editor: false};
  delete spec.$schema;
  return vegaEmbed(element, spec, {mode: "vega-lite", renderer: "svg", tooltip: {theme}, actions});
}"""
PAGE_STYLE = (
    f"html {{ color-scheme: light dark; font: 16px {FONT}; background: {GROUND} }} body {{ margin: 24px }} "
    "figure { margin: 0; overflow-x: auto } "
    "@media screen and (prefers-color-scheme: dark) { html { background: #16181b } }"
)
# the policy forbids the page to load anything; Vega makes functions of expressions, hence unsafe-eval
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>{style}</style>
<script>{runtime}</script>
</head>
<body>
<figure id="plot" aria-label="{alt}"></figure>
<script>
{draw}
draw(document.getElementById("plot"), {spec});
</script>
</body>
</html>
"""


def _with_own_ids(svg: str) -> str:
    """An SVG whose ids depend on nothing but itself, and are those of no other one in the same page."""
    ids = list(dict.fromkeys(re.findall(r'(?<=id=")(?:clip|gradient_)\d+', svg)))
    numbered = {name: f"{{{i}}}" for i, name in enumerate(ids)}
    neutral = re.sub(r'(?<=id=")\w+|(?<=url\(#)\w+', lambda match: numbered.get(match[0], match[0]), svg)
    digest = hashlib.sha256(neutral.encode()).hexdigest()[:8]
    own = {name: f"{name.rstrip('0123456789_')}-{digest}-{i}" for i, name in enumerate(ids)}
    return re.sub(r'(?<=id=")\w+|(?<=url\(#)\w+', lambda match: own.get(match[0], match[0]), svg)


def _still(view: dict[str, Any]) -> dict[str, Any]:
    """The same without layers that nothing is seen of, which are there to be hovered over."""
    still = dict(view)
    for part in ("layer", "concat", "vconcat"):
        if part in view:
            still[part] = [_still(one) for one in view[part] if not _is_unseen(one)]
    if "spec" in view:
        still["spec"] = _still(view["spec"])
    return still


def _is_unseen(view: dict[str, Any]) -> bool:
    mark = view.get("mark")
    return isinstance(mark, dict) and mark.get("opacity") == 0


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("a picture that is not .json", "plots") from None
    return vl_convert
