"""cranfield serve: judge and explore in the browser."""

from __future__ import annotations

import getpass
from typing import Any

import click

from cranfield.cli.judge import adaptive_options, parse_adaptive
from cranfield.cli.output import echo, show_progress
from cranfield.errors import InputError


@click.command(name="serve")
@click.argument("places", metavar="[WORKSPACE]", nargs=-1)
@click.option("--qrels", metavar="QRELS", help="Explore runs without a workspace: --qrels QRELS RUN...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others require accounts.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any free port.")
@click.option(
    "--log", metavar="LOG", help="Where to store judgments: a file, or postgresql://…. [default: beside the pool]"
)
@click.option("--assessor", metavar="NAME", help="Your name if nobody signs in. [default: the name of the user]")
@adaptive_options
@click.option("--coordinator", metavar="NAME", help="Print a link with which NAME creates a coordinator account.")
@click.option("--name", "names", metavar="NAME", multiple=True, help="A host name of the server; repeatable.")
@click.option("--certificate", metavar="FILE", help="Serve over HTTPS with this certificate; needs --key.")
@click.option("--key", metavar="FILE", help="The private key of --certificate.")
@click.option("--behind-proxy", is_flag=True, help="A proxy on this machine terminates HTTPS.")
@click.option("--quiet", is_flag=True, help="Print nothing but the address and errors.")
def command(
    places: tuple[str, ...],
    qrels: str | None,
    host: str,
    port: int,
    assessor: str | None,
    adaptive: str | None,
    depth: int | None,
    budget: int | None,
    batch: int | None,
    coordinator: str | None,
    names: tuple[str, ...],
    certificate: str | None,
    key: str | None,
    behind_proxy: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Judge and explore in the browser.

    WORKSPACE is a folder with a cranfield.toml, as written by `cranfield init`, `demo` and `experiment`; by default the
    current one. If it has a pool, its documents can be judged; with --adaptive, the pool grows from the workspace's
    runs as judgments arrive. With --qrels there is no workspace, and runs can only be explored.

    Nobody signs in on 127.0.0.1. Any other address requires accounts: --coordinator creates the first, and
    coordinators invite others on the page People. Nothing is loaded from other servers.

    \b
    Example:
      cranfield serve cranfield-demo
      cranfield serve --qrels qrels.txt bm25.run lm.run
      cranfield serve trec8 --adaptive mm-ns --budget 200
      cranfield serve trec8 --host 0.0.0.0 --coordinator ada --certificate cert.pem --key key.pem
    """
    from cranfield.workbench import bind_socket, open_workbench, serve, server_url  # an extra

    growth = parse_adaptive(adaptive, depth, budget, batch)
    _require_consistent(places, qrels, certificate, key, growth is not None)
    with bind_socket(host, port) as socket:
        workbench = open_workbench(
            (places[0] if places else ".") if qrels is None else None,
            qrels=qrels,
            runs=places if qrels is not None else (),
            host=host,
            names=names,
            assessor=assessor or _user_name(),
            coordinator=coordinator,
            adaptive=growth,
            watch=lambda documents: show_progress(documents, None, "reading documents"),
            **options,
        )
        address = server_url(names[0] if names else host, socket.getsockname()[1], certificate is not None)
        echo(f"{address}\n")
        if workbench.invitation is not None:
            echo(f"{coordinator} chooses a password at {address}invitation#{workbench.invitation}\n")
        if not quiet:
            _print_notes(workbench, is_secure=certificate is not None or behind_proxy)
        serve(workbench, [socket], certificate, key, behind_proxy)


def _require_consistent(
    places: tuple[str, ...], qrels: str | None, certificate: str | None, key: str | None, is_adaptive: bool
) -> None:
    if qrels is None and len(places) > 1:
        raise InputError(f"expected one workspace, found {len(places)}; to explore runs, add --qrels QRELS.")
    if qrels is not None and not places:
        raise InputError("--qrels needs runs: cranfield serve --qrels QRELS RUN...")
    if (certificate is None) != (key is None):
        raise InputError("--certificate and --key go together.")
    if is_adaptive and qrels is not None:
        raise InputError("--adaptive needs the pool of a workspace; with --qrels there is none.")


def _print_notes(workbench: Any, is_secure: bool) -> None:
    if workbench.has_accounts and not workbench.hosts.is_local and not is_secure:
        click.echo("Warning: passwords are sent unencrypted; use --certificate.", err=True)
    for note in workbench.notes:
        click.echo(f"Note: {note}", err=True)
    click.echo("Press Ctrl-C to stop; all confirmed judgments are saved.", err=True)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "me"
