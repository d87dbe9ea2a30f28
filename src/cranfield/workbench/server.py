"""Opening and serving the workbench: workspace or files, accounts, sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cranfield.errors import CranfieldError, InputError, MissingExtra

try:
    import jinja2  # noqa: F401
    import nh3  # noqa: F401
    import sqlalchemy  # noqa: F401
    import uvicorn
    from starlette.applications import Starlette
except ImportError:
    raise MissingExtra("the workbench", "web") from None

from cranfield.annotation import open_database
from cranfield.base import Record
from cranfield.experiment import FILE, Adaptive, Workspace, open_workspace
from cranfield.io import Input
from cranfield.workbench.accounts import Accounts
from cranfield.workbench.app import make_app
from cranfield.workbench.app_state import DATA_FOLDER
from cranfield.workbench.connections import use_pool, warm_up
from cranfield.workbench.judge.judging_service import JudgingService, Watch, open_judging
from cranfield.workbench.security import AllowedHosts


class Workbench(Record, eq=False):
    """An application that is ready to be served."""

    app: Starlette
    hosts: AllowedHosts
    has_accounts: bool
    invitation: str | None = None  # the secret, for a new coordinator
    notes: tuple[str, ...] = ()  # about the setup, for the user


def open_workbench(
    workspace: str | None = None,
    *,
    qrels: str | None = None,
    runs: Sequence[str] = (),
    host: str = "127.0.0.1",
    names: Sequence[str] = (),
    log: str | None = None,
    assessor: str = "me",
    coordinator: str | None = None,
    adaptive: Adaptive | None = None,
    watch: Watch | None = None,
) -> Workbench:
    """Open a workspace, or qrels and runs.

    Users sign in if there are accounts. On any address but loopback there must be some.
    """
    hosts = AllowedHosts(host, tuple(names))
    if workspace is not None:
        _check_workspace(workspace)
    opened = open_workspace(workspace) if workspace is not None else None
    if opened is None and (coordinator is not None or not hosts.is_local):
        raise CranfieldError("accounts are stored in a workspace: without one, serve on 127.0.0.1 only.")
    _check_files([*([] if qrels is None else [qrels]), *runs])
    judging = None if opened is None else open_judging(opened, log, watch, adaptive)
    if judging is not None:
        warm_up(judging.log.database)
    accounts, invitation = _accounts(opened, judging, hosts, coordinator)
    app = make_app(opened, qrels=qrels, runs=runs, judging=judging, accounts=accounts, hosts=hosts, local_user=assessor)
    notes = () if judging is None else tuple(judging.notes)
    return Workbench(app, hosts, accounts is not None, invitation, notes)


def _check_workspace(folder: str) -> None:
    place = Path(folder)
    if (place.is_dir() and not (place / FILE).exists()) or not place.exists():
        what = f"not a workspace: it has no {FILE}" if place.is_dir() else "no such folder"
        raise InputError(
            f"{what}. 'cranfield init' creates a workspace, 'cranfield demo' an example. "
            "To explore runs without one: cranfield serve --qrels QRELS RUN...",
            folder,
        )


def _check_files(files: Sequence[str]) -> None:
    """Check that the files can be read before anything is served."""
    for file in files:
        if file == "-":
            raise InputError("standard input can be read only once: give a file name.")
        with Input(file):
            pass


def _accounts(
    workspace: Workspace | None, judging: JudgingService | None, hosts: AllowedHosts, coordinator: str | None
) -> tuple[Accounts | None, str | None]:
    """The accounts of a workspace if there are any, and the secret of an invitation for a new coordinator."""
    if workspace is None:
        return None, None
    place = workspace.folder / DATA_FOLDER / "accounts.db"
    if judging is None and hosts.is_local and coordinator is None and not place.exists():
        return None, None
    if judging is None:
        place.parent.mkdir(exist_ok=True)
    accounts = Accounts(judging.log.database if judging is not None else use_pool(open_database(place)))
    secret = accounts.invite(coordinator, "coordinator", "cranfield serve") if coordinator is not None else None
    if accounts.has_any():
        return accounts, secret
    if not hosts.is_local:
        raise CranfieldError(
            f"{hosts.host} is reachable from other machines, which requires accounts. Create the first one: "
            f"cranfield serve {workspace.folder} --host {hosts.host} --coordinator NAME"
        )
    return None, None


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket; fails at once if the port is in use."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise CranfieldError(f"{host}: unknown address.") from None
    family, kind, protocol, _, address = addresses[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        what = getattr(error, "strerror", None) or error
        raise CranfieldError(
            f"cannot listen on {host}, port {port}: {what}. Choose another port: --port NUMBER"
        ) from None
    return listener


def serve(
    workbench: Workbench,
    sockets: Sequence[socket.socket],
    certificate: str | None = None,
    key: str | None = None,
    behind_proxy: bool = False,
) -> None:
    """Serve until interrupted."""
    try:
        config = uvicorn.Config(
            workbench.app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=behind_proxy,
            forwarded_allow_ips="127.0.0.1,::1" if behind_proxy else "",
            timeout_graceful_shutdown=3,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            lifespan="on",
        )
        config.load()
    except OSError as error:
        raise CranfieldError(f"cannot use the certificate or its key: {error.strerror or error}.") from None
    with suppress(KeyboardInterrupt):  # the server has shut down by then
        uvicorn.Server(config).run(sockets=list(sockets))


def server_url(host: str, port: int, is_secure: bool) -> str:
    """The URL of the server for a browser.

    >>> server_url("0.0.0.0", 8000, False), server_url("::1", 80, False)
    ('http://127.0.0.1:8000/', 'http://[::1]:80/')
    """
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if is_secure else 'http'}://{name}:{port}/"
