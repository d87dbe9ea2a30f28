"""cranfield serve: judge and explore in the browser."""

from __future__ import annotations

import click

from cranfield.cli.judge import adaptive_of, adaptive_options
from cranfield.cli.options import echo, progress
from cranfield.errors import InputError


@click.command(name="serve")
@click.argument("given", metavar="[WORKSPACE]", nargs=-1)
@click.option("--qrels", metavar="QRELS", help="Explore runs without a workspace: --qrels QRELS RUN...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; others demand accounts.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any that is free.")
@click.option(
    "--log", metavar="LOG", help="Where judgments are kept: a file, or postgresql://…. [default: beside the pool]"
)
@click.option("--assessor", metavar="NAME", help="Who you are, where nobody signs in. [default: the name of the user]")
@adaptive_options
@click.option("--coordinator", metavar="NAME", help="Print a link by which NAME gets an account as coordinator.")
@click.option("--name", "names", metavar="NAME", multiple=True, help="A name the server is called by; repeatable.")
@click.option("--certificate", metavar="FILE", help="Serve by HTTPS, with this certificate …")
@click.option("--key", metavar="FILE", help="… and this key.")
@click.option("--behind-proxy", is_flag=True, help="A proxy on this machine does the HTTPS.")
@click.option("--quiet", is_flag=True, help="Nothing but the address and errors.")
def command(
    given: tuple[str, ...],
    qrels: str | None,
    host: str,
    port: int,
    log: str | None,
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
) -> None:
    """Judge and explore in the browser.

    WORKSPACE is a folder with a cranfield.toml, as `cranfield init`, `demo` and `experiment` leave it; by default the
    one you are in. If it has a pool, its documents can be judged; with --adaptive it grows out of the workspace's runs
    as judgments arrive. With --qrels there is no workspace: runs are explored only.

    Alone on 127.0.0.1 nobody signs in. Any other address demands accounts, and does not start without: --coordinator
    makes the first; coordinators invite others on the page People. Nothing is ever loaded from elsewhere.

    \b
    Example:
      cranfield serve cranfield-demo
      cranfield serve --qrels qrels.txt bm25.run lm.run
      cranfield serve trec8 --adaptive mm-ns --budget 200
      cranfield serve trec8 --host 0.0.0.0 --coordinator ada --certificate cert.pem --key key.pem
    """
    from cranfield.workbench import bind_socket, open_workbench, serve, server_url

    if qrels is None and len(given) > 1:
        raise InputError(f"expected one workspace, found {len(given)}; runs need their judgments: --qrels QRELS RUN...")
    if qrels is not None and not given:
        raise InputError("--qrels needs runs: cranfield serve --qrels QRELS RUN...")
    if (certificate is None) != (key is None):
        raise InputError("--certificate and --key go together.")
    growing = adaptive_of(adaptive, depth, budget, batch)
    if growing is not None and qrels is not None:
        raise InputError("--adaptive feeds a pool that is judged, which takes a workspace; with --qrels there is none.")
    is_secure = certificate is not None or behind_proxy
    with bind_socket(host, port) as socket:
        workbench = open_workbench(
            (given[0] if given else ".") if qrels is None else None,
            qrels=qrels,
            runs=given if qrels is not None else (),
            host=host,
            names=names,
            log=log,
            assessor=assessor or _user(),
            coordinator=coordinator,
            adaptive=growing,
            watch=lambda documents: progress(documents, None, "reading documents"),
        )
        address = server_url(names[0] if names else host, socket.getsockname()[1], certificate is not None)
        echo(f"{address}\n")
        if workbench.invitation is not None:
            echo(f"{coordinator} chooses a password at {address}invitation#{workbench.invitation}\n")
        if not quiet:
            if workbench.has_accounts and not workbench.hosts.is_local and not is_secure:
                click.echo("Warning: passwords are sent unencrypted; use --certificate.", err=True)
            for note in workbench.notes:
                click.echo(f"Note: {note}", err=True)
            click.echo("Ctrl-C ends it; what is confirmed is saved.", err=True)
        serve(workbench, [socket], certificate, key, behind_proxy)


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "me"
