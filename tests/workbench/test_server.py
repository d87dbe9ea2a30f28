"""`cranfield serve`: what it opens, when it refuses to start, and how it stops."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cranfield.annotation.database import open_database
from cranfield.cli import commands
from cranfield.errors import CranfieldError
from cranfield.workbench.accounts import Accounts
from cranfield.workbench.server import bind_socket, open_workbench
from tests.waiting import TIMEOUT
from tests.workbench.conftest import PASSWORD, QUICK, client_of, make_folder


def cranfield(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cranfield", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_it_serves_until_it_is_interrupted(folder: Path) -> None:
    process = cranfield("serve", str(folder), "--port", "0")
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    with urllib.request.urlopen(f"{address}judge") as page:
        assert page.status == 200
        assert "server" not in {name.lower() for name in page.headers}
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=TIMEOUT)
    assert "Press Ctrl-C to stop" in said and "Traceback" not in said


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_any_other_address_demands_accounts(folder: Path, host: str) -> None:
    process = cranfield("serve", str(folder), "--host", host, "--port", "0")
    _, said = process.communicate(timeout=TIMEOUT)
    if "unknown address" in said or "Cannot assign" in said or "not supported" in said:
        pytest.skip(f"{host} is not to be had here")
    assert process.returncode == 2
    assert "requires accounts" in said and "--coordinator NAME" in said


def test_a_coordinator_gets_a_link_and_the_server_starts(folder: Path) -> None:
    process = cranfield("serve", str(folder), "--host", "0.0.0.0", "--port", "0", "--coordinator", "cora")
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    link = process.stdout.readline()
    assert re.search(r"cora chooses a password at http://127\.0\.0\.1:\d+/invitation#[\w-]{32}$", link.strip())
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{address}api/judging")
    assert refused.value.code == 401
    refused.value.close()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=TIMEOUT)
    assert "passwords are sent unencrypted" in said


def test_where_there_are_accounts_people_sign_in_on_this_machine_too(folder: Path) -> None:
    first = open_workbench(str(folder), coordinator="cora")
    assert first.has_accounts and first.invitation is not None
    accounts = Accounts(open_database(folder / "pool.judgments.db"), QUICK)
    accounts.accept(first.invitation, PASSWORD)
    accounts.close()
    bench = open_workbench(str(folder))
    assert bench.has_accounts
    assert client_of(bench.app).get("/api/judging").status_code == 401
    bench.app.state.workbench.judging.close()
    first.app.state.workbench.judging.close()


def test_alone_on_this_machine_nobody_signs_in(folder: Path) -> None:
    bench = open_workbench(str(folder), assessor="ada")
    assert not bench.has_accounts
    assert client_of(bench.app).get("/api/session").json()["name"] == "ada"
    bench.app.state.workbench.judging.close()


def test_runs_without_a_workspace_are_for_this_machine_only() -> None:
    with pytest.raises(CranfieldError, match="stored in a workspace"):
        open_workbench(None, qrels="q", runs=["r"], host="0.0.0.0")


def test_a_workspace_without_a_pool_keeps_its_accounts_all_the_same(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "w")
    (folder / "pool.jsonl").unlink()
    text = (folder / "cranfield.toml").read_text().replace("[judging]", '[systems]\nbm25 = "bm25"')
    (folder / "cranfield.toml").write_text(text)
    assert not open_workbench(str(folder)).has_accounts
    with pytest.raises(CranfieldError, match="requires accounts"):
        open_workbench(str(folder), host="0.0.0.0")
    bench = open_workbench(str(folder), host="0.0.0.0", coordinator="cora")
    assert bench.has_accounts and not bench.app.state.workbench.judging
    bench.app.state.workbench.accounts.close()
    assert open_workbench(str(folder)).has_accounts


def test_a_port_that_is_taken_is_told_at_once(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CranfieldError, match="Choose another port: --port"):
            bind_socket("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(CranfieldError, match="unknown address"):
        bind_socket("no such host", 1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a", "b"], "expected one workspace"),
        (["--qrels", "q"], "--qrels needs runs"),
        (["--certificate", "c"], "go together"),
        (["nowhere", "--port", "0"], "no such folder"),
    ],
)
def test_what_makes_no_sense_is_told(args: list[str], message: str) -> None:
    done = CliRunner().invoke(commands, ["serve", *args])
    assert isinstance(done.exception, CranfieldError) and message in str(done.exception)


@pytest.mark.parametrize("missing", ["qrels", "a.run"])
def test_it_does_not_start_without_the_files_it_is_to_show(tmp_path: Path, missing: str) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 1 a\n")
    (tmp_path / missing).unlink()
    process = cranfield("serve", "--port", "0", "--qrels", str(tmp_path / "qrels"), str(tmp_path / "a.run"))
    printed, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 2 and missing in said and "Traceback" not in said and not printed


def test_a_folder_that_is_no_workspace_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CranfieldError, match=r"not a workspace.*cranfield init.*--qrels QRELS RUN"):
        open_workbench(str(tmp_path))


def test_it_can_be_served_by_https(folder: Path, tmp_path: Path) -> None:
    import shutil
    import ssl

    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl")
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(
        [*make.split(), "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")],
        check=True,
        capture_output=True,
    )
    process = cranfield(
        *("serve", str(folder), "--port", "0", "--host", "localhost"),
        *("--certificate", str(tmp_path / "cert"), "--key", str(tmp_path / "key"), "--coordinator", "cora"),
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("https://localhost:")
    trusted = ssl.create_default_context(cafile=str(tmp_path / "cert"))
    with urllib.request.urlopen(f"{address}sign-in", context=trusted) as page:
        assert "; Secure" in page.headers["set-cookie"]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=TIMEOUT)
    wrong = cranfield("serve", str(folder), "--port", "0", "--certificate", "no", "--key", "no")
    _, said = wrong.communicate(timeout=TIMEOUT)
    assert wrong.returncode == 2 and "cannot use the certificate" in said


def test_texts_are_copied_once_and_anew_when_they_change(folder: Path) -> None:
    kept = folder / ".cranfield" / "texts.db"
    for text, is_new in (("one", True), ("one", False), ("another", True)):
        before = kept.stat().st_mtime_ns if kept.exists() else 0
        if is_new:
            (folder / "documents.jsonl").write_text(f'{{"id": "d0", "text": "{text}"}}\n')
        bench = open_workbench(str(folder))
        service: Any = bench.app.state.workbench.judging
        assert service.documents.get("d0").text == text and service.documents.get("d1") is None
        assert (kept.stat().st_mtime_ns != before) == is_new
        service.close()
        time.sleep(0.01)
    assert sorted(os.listdir(folder / ".cranfield")) == ["texts.db"]
