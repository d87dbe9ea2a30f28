"""Serving the workbench: what is opened, who may come in, and where it listens."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.base import Record
from cranfield.errors import CranfieldError, InputError, MissingExtra
from cranfield.io import Input
from cranfield.workbench.security import Doors

if TYPE_CHECKING:
    from cranfield.experiment import Adaptive, Workspace
    from cranfield.workbench.accounts import Accounts
    from cranfield.workbench.judge.judging_service import Room, Watch

KEPT = ".cranfield"


class Bench(Record, eq=False):
    """A workbench that is ready to be served."""

    app: Any
    doors: Doors
    judges: bool
    signs_in: bool
    invitation: str | None = None  # the secret of a coordinator's
    notes: tuple[str, ...] = ()  # what to know of how it was set up


def set_up(
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
) -> Bench:
    """Open a workspace, or qrels and runs, and see who may come in.

    Alone on this machine nobody signs in, unless there are accounts. Any other address demands them.
    """
    from cranfield.experiment import open_workspace
    from cranfield.workbench import make_app

    _check_extra()
    doors = Doors(host, tuple(names))
    if workspace is not None:
        _check_workspace(workspace)
    opened = open_workspace(workspace) if workspace is not None else None
    if opened is None and (coordinator is not None or not doors.is_local):
        raise CranfieldError("accounts are kept in a workspace: without one, serve on 127.0.0.1 only.")
    _check_files([*([] if qrels is None else [qrels]), *runs])
    room = _room(opened, log, watch, adaptive)
    accounts, invitation = _accounts(opened, room, doors, coordinator)
    app = make_app(opened, qrels=qrels, runs=runs, room=room, accounts=accounts, doors=doors, alone=assessor)
    notes = () if room is None else tuple(room.notes)
    return Bench(app, doors, room is not None, accounts is not None, invitation, notes)


def _check_workspace(folder: str) -> None:
    from cranfield.experiment import FILE

    place = Path(folder)
    if (place.is_dir() and not (place / FILE).exists()) or not place.exists():
        what = f"no workspace, there is no {FILE} in it" if place.is_dir() else "there is no such folder"
        raise InputError(
            f"{what}. 'cranfield init' makes a workspace, 'cranfield demo' an example; "
            "runs are explored without one: cranfield serve --qrels QRELS RUN...",
            folder,
        )


def _check_files(files: Sequence[str]) -> None:
    """See that files are there and can be read before anything is served."""
    for file in files:
        if file == "-":
            raise InputError("standard input can be read only once: name a file.")
        with Input(file):
            pass


def _room(workspace: Workspace | None, log: str | None, watch: Watch | None, adaptive: Adaptive | None) -> Room | None:
    from cranfield.workbench.connections import warm_up
    from cranfield.workbench.judge.judging_service import open_room

    room = None if workspace is None else open_room(workspace, log, watch, adaptive)
    if room is not None:
        warm_up(room.log.database)
    return room


def _accounts(
    workspace: Workspace | None, room: Room | None, doors: Doors, coordinator: str | None
) -> tuple[Accounts | None, str | None]:
    """The accounts of a workspace where they are needed, and a secret for a coordinator who is to get one."""
    if workspace is None:
        return None, None
    from cranfield.annotation import open_database
    from cranfield.workbench.accounts import Accounts
    from cranfield.workbench.connections import pooled

    place = workspace.folder / KEPT / "accounts.db"
    if room is None and doors.is_local and coordinator is None and not place.exists():
        return None, None
    if room is None:
        place.parent.mkdir(exist_ok=True)
    accounts = Accounts(room.log.database if room is not None else pooled(open_database(place)))
    secret = accounts.invite(coordinator, "coordinator", "cranfield serve") if coordinator is not None else None
    if accounts.are_there():
        return accounts, secret
    if not doors.is_local:
        raise CranfieldError(
            f"{doors.host} can be reached by others, which demands accounts, and there is none. Make the first one: "
            f"cranfield serve {workspace.folder} --host {doors.host} --coordinator NAME"
        )
    return None, None


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; a port that is taken is told at once."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise CranfieldError(f"{host}: there is no such address.") from None
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except (OSError, OverflowError) as error:
        made.close()
        what = getattr(error, "strerror", None) or error
        raise CranfieldError(f"cannot listen on {host}, port {port}: {what}. Choose another: --port NUMBER") from None
    return made


def run(
    bench: Bench,
    sockets: Sequence[socket.socket],
    certificate: str | None = None,
    key: str | None = None,
    behind_proxy: bool = False,
) -> None:
    """Serve until somebody ends it."""
    import uvicorn

    try:
        config = uvicorn.Config(
            bench.app,
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
        raise CranfieldError(f"the certificate or its key cannot be used: {error.strerror or error}.") from None
    with suppress(KeyboardInterrupt):  # whoever interrupts it wants it to end, which it has by then
        uvicorn.Server(config).run(sockets=list(sockets))


def address_of(host: str, port: int, is_secure: bool) -> str:
    """Where a browser finds the server.

    >>> address_of("0.0.0.0", 8000, False), address_of("::1", 80, False)
    ('http://127.0.0.1:8000/', 'http://[::1]:80/')
    """
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if is_secure else 'http'}://{name}:{port}/"


def _check_extra() -> None:
    try:
        import jinja2  # noqa: F401
        import nh3  # noqa: F401
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("the workbench", "web") from None
