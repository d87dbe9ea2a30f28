"""One page about a pool, in a file that opens offline: what matters on top, what it is made of below."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files

from cranfield.pooling import Diagnosis
from cranfield.reporting.page import PAGE, POLICY, Report
from cranfield.reporting.page.html import Html, escape, join_html, paragraphs, tag
from cranfield.reporting.page.pictures import Picture
from cranfield.reporting.page.provenance import format_now
from cranfield.reporting.plots.plot import escape_script, load_vega
from cranfield.reporting.plots.theme import CONFIG, DARK
from cranfield.reporting.pool_page.findings import list_findings, make_heading
from cranfield.reporting.pool_page.sections import Drawn, sections

__all__ = ["pool_page"]


def make_pool_page(diagnosis: Diagnosis, seed: int = 1, command: str = "") -> Report:
    """A page with everything there is to say of a pool."""
    drawn = Drawn()
    parts = sections(diagnosis, drawn, seed, command)
    here = files("cranfield.reporting.page")
    style, script = ((here / name).read_text("utf-8") for name in ("page.css", "page.js"))
    links = [tag("li", tag("a", name, href=f"#{place}")) for place, name, _ in parts]
    body = [
        tag("section", tag("h2", name, id=f"h-{place}"), content, id=place, aria_labelledby=f"h-{place}")
        for place, name, content in parts
    ]
    title = make_heading(diagnosis)
    page = PAGE.format(
        policy=POLICY,
        title=escape(f"{title} · cranfield pool-report"),
        style=f"{style}\n{DARK}",
        links=tag("ul", *links),
        heading=escape(title),
        made=escape(f"cranfield pool-report, {format_now()}"),
        summary=paragraphs(_summary(diagnosis)),
        sections=join_html(body, "\n"),
        data=_data(drawn.pictures),
        runtime=load_vega(),
        script=script,
    )
    return Report(title, page)


def _summary(diagnosis: Diagnosis) -> Iterator[Html]:
    for finding in list_findings(diagnosis):
        # a figure and its sign are not parted at the end of a line
        text = finding.text.replace(" %", "\N{NO-BREAK SPACE}%")
        yield join_html([tag("b", finding.about), f": {text}"])


def _data(pictures: list[Picture]) -> Html:
    """What the script of the page works with; there are no systems to choose and no rankings to show."""
    content = {
        "pictures": {picture.kind: picture.spec for picture in pictures},
        "config": CONFIG | {"aria": False},
        "palette": [],
        "explorer": {"topics": []},
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Html(escape_script(text))
