"""Accounts, invitations and sessions, in either database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.annotation import open_log
from cranfield.annotation.database import open_database
from cranfield.errors import InputError
from cranfield.workbench.accounts import DAY, Accounts, load_token_key
from cranfield.workbench.app_state import User
from cranfield.workbench.passwords import Cost, RateLimiter, check_password, hash_password, verify_password
from tests.annotation.conftest import place as place  # either database
from tests.workbench.conftest import PASSWORD, QUICK


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(place: str, clock: Clock) -> Iterator[Accounts]:
    found = Accounts(open_database(place), QUICK, clock)
    yield found
    found.close()


def joined(accounts: Accounts, name: str, role: str = "assessor") -> User:
    return accounts.accept(accounts.invite(name, role), PASSWORD)


def test_an_invitation_makes_an_account_once(accounts: Accounts) -> None:
    secret = accounts.invite("ada", "assessor", "cora")
    assert accounts.find_invited(secret) == User("ada", "assessor")
    assert accounts.accept(secret, PASSWORD) == User("ada", "assessor")
    with pytest.raises(InputError, match="used already or has expired"):
        accounts.accept(secret, PASSWORD)
    assert accounts.authenticate("ada", PASSWORD) == User("ada", "assessor")
    assert accounts.authenticate("ada", "wrong horse") is None
    assert accounts.authenticate("Ada", PASSWORD) is None


def test_an_invitation_ends_after_a_week_or_with_the_next(accounts: Accounts, clock: Clock) -> None:
    first = accounts.invite("ada")
    second = accounts.invite("ada")
    assert accounts.find_invited(first) is None
    clock.now += 7 * DAY + 1
    assert accounts.find_invited(second) is None
    assert accounts.list_all() == []


def test_an_invitation_of_somebody_known_leads_to_a_new_password_and_no_other_role(accounts: Accounts) -> None:
    joined(accounts, "cora", "coordinator")
    session = accounts.start_session(joined(accounts, "ada"))
    again = accounts.invite("ada", "coordinator")
    accounts.accept(again, "battery staple")
    assert accounts.authenticate("ada", "battery staple") == User("ada", "assessor")
    assert accounts.authenticate("ada", PASSWORD) is None
    assert accounts.find_user(session) is None


def test_there_are_accounts_as_soon_as_a_coordinator_is_invited(accounts: Accounts) -> None:
    assert not accounts.has_any()
    accounts.invite("ada", "assessor")
    assert not accounts.has_any()
    accounts.invite("cora", "coordinator")
    assert accounts.has_any()


def test_a_session_ends_by_signing_out_by_idleness_and_with_age(accounts: Accounts, clock: Clock) -> None:
    user = joined(accounts, "ada")
    one, other = accounts.start_session(user), accounts.start_session(user)
    assert one != other
    accounts.end_session(one)
    assert accounts.find_user(one) is None
    for _ in range(5):  # used every five days it lasts, but no longer than a month
        assert accounts.find_user(other) == user
        clock.now += 5 * DAY
    clock.now += 8 * DAY
    assert accounts.find_user(other) is None
    third = accounts.start_session(user)
    for _ in range(6):
        clock.now += 5 * DAY
        known = accounts.find_user(third)
    clock.now += DAY
    assert known == user and accounts.find_user(third) is None


def test_a_closed_account_is_shut_out_at_once_and_can_be_opened(accounts: Accounts) -> None:
    joined(accounts, "cora", "coordinator")
    session = accounts.start_session(joined(accounts, "ada"))
    accounts.set_closed("ada", True)
    assert accounts.find_user(session) is None
    assert accounts.authenticate("ada", PASSWORD) is None
    accounts.set_closed("ada", False)
    assert accounts.authenticate("ada", PASSWORD) is not None


def test_the_last_coordinator_stays(accounts: Accounts) -> None:
    joined(accounts, "cora", "coordinator")
    for change in (lambda: accounts.set_closed("cora", True), lambda: accounts.set_role("cora", "assessor")):
        with pytest.raises(InputError, match="at least one coordinator"):
            change()
    joined(accounts, "ada")
    accounts.set_role("ada", "coordinator")
    accounts.set_closed("cora", True)
    assert [(one.name, one.role, one.state) for one in accounts.list_all()] == [
        ("ada", "coordinator", "open"),
        ("cora", "coordinator", "closed"),
    ]


def test_another_password_ends_all_sessions(accounts: Accounts) -> None:
    session = accounts.start_session(joined(accounts, "ada"))
    accounts.change_password("ada", "battery staple")
    assert accounts.find_user(session) is None
    assert accounts.authenticate("ada", "battery staple") is not None


def test_no_secret_stands_in_the_database(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        accounts = Accounts(log.database, QUICK)
        secrets = [accounts.invite("grace"), accounts.start_session(joined(accounts, "ada")), PASSWORD]
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"scrypt$" in content
    for secret in secrets:
        assert secret.encode() not in content


def test_the_key_is_made_once_for_all(place: str) -> None:
    databases = [open_database(place) for _ in range(2)]
    assert load_token_key(databases[0]) == load_token_key(databases[1]) and len(load_token_key(databases[0])) == 32
    for one in databases:
        one.close()


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 300])
def test_names_that_are_none_are_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(InputError):
        accounts.invite(name)


def test_passwords_are_hashed_with_the_parameters_of_today() -> None:
    assert Cost() == Cost(15, 8, 3)  # OWASP, for 32 MB
    hashes = [hash_password(PASSWORD) for _ in range(2)]
    assert hashes[0] != hashes[1]  # each with its salt
    assert verify_password(PASSWORD, hashes[0]) and not verify_password(PASSWORD + " ", hashes[0])


def test_the_same_password_typed_in_two_ways_is_the_same() -> None:
    assert verify_password("cafe\u0301 crème", hash_password("caf\u00e9 crème", QUICK))


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaa", "adalovelace", "x" * 1001])
def test_passwords_that_are_easy_to_guess_are_refused(password: str) -> None:
    with pytest.raises(InputError):
        check_password(password, "AdaLovelace")


def test_rate_limits_forget() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 60, clock)
    assert [limiter.attempt("a"), limiter.attempt("a")] == [0, 60]
    clock.now += 61
    assert limiter.attempt("a") == 0
    limiter.reset("a")
    assert limiter.attempt("a") == 0
    for i in range(20_000):
        clock.now += 1
        limiter.attempt(str(i))
    assert len(limiter._times) < 10_100


# By the pages


def test_somebody_who_is_invited_chooses_a_password_and_is_in(app: Any) -> None:
    from tests.workbench.conftest import client_of, signed_in, token_in

    cora = signed_in(app, "cora")
    made = cora.post("/people/invite", data={"csrf": cora.headers["x-csrf-token"], "name": "kay", "role": "assessor"})
    link = made.text.partition('value="http://127.0.0.1:8000/invitation#')[2].partition('"')[0]
    assert link and link not in cora.get("/people").text  # it is shown once
    kay = client_of(app)
    token = token_in(kay.get("/invitation").text)
    wrong = {"csrf": token, "secret": link, "password": "one password", "again": "another one"}
    assert "do not match" in kay.post("/invitation", data=wrong).text
    right = wrong | {"again": "one password"}
    assert kay.post("/invitation", data=right, follow_redirects=False).status_code == 303
    assert kay.get("/api/session").json()["name"] == "kay"
    assert (
        "used already or has expired"
        in kay.post("/invitation", data=right | {"csrf": token_in(kay.get("/judge").text)}).text
    )


def test_people_change_their_passwords(app: Any) -> None:
    from tests.workbench.conftest import client_of, sign_in, signed_in

    ada = signed_in(app, "ada")
    given = {
        "csrf": ada.headers["x-csrf-token"],
        "old": "wrong",
        "password": "battery staple",
        "again": "battery staple",
    }
    assert "current password is wrong" in ada.post("/account", data=given).text
    answer = ada.post("/account", data=given | {"old": PASSWORD}, follow_redirects=False)
    assert answer.status_code == 303 and ada.get("/api/session").status_code == 200
    assert sign_in(client_of(app), "ada", "battery staple").status_code == 303


def test_a_coordinator_changes_roles_and_closes_accounts(app: Any) -> None:
    from tests.workbench.conftest import signed_in

    cora, ada = signed_in(app, "cora"), signed_in(app, "ada")
    token = {"csrf": cora.headers["x-csrf-token"]}
    cora.post("/people/change", data=token | {"name": "ada", "what": "coordinator"})
    assert ada.get("/progress").status_code == 200
    cora.post("/people/change", data=token | {"name": "ada", "what": "close"})
    assert ada.get("/api/session").status_code == 401
    answer = cora.post("/people/change", data=token | {"name": "cora", "what": "close"})
    assert answer.status_code == 400 and "at least one coordinator" in answer.text


def test_right_passwords_and_good_invitations_are_not_counted(app: Any, accounts: Accounts) -> None:
    from tests.workbench.conftest import client_of, sign_in, token_in

    assert {sign_in(client_of(app), "ada").status_code for _ in range(35)} == {303}
    for number in range(12):  # of a class that sits behind one address
        client = client_of(app)
        given = {
            "csrf": token_in(client.get("/invitation").text),
            "secret": accounts.invite(f"kay{number}", "assessor"),
            "password": "a good one",
            "again": "a good one",
        }
        assert client.post("/invitation", data=given | {"again": "x"}, follow_redirects=False).status_code == 400
        assert client.post("/invitation", data=given, follow_redirects=False).status_code == 303


def test_secrets_of_invitations_are_not_guessed(app: Any) -> None:
    from tests.workbench.conftest import client_of, token_in

    client = client_of(app)
    given = {"csrf": token_in(client.get("/invitation").text), "password": "a good one", "again": "a good one"}
    codes = [client.post("/invitation", data=given | {"secret": f"guess {i}"}).status_code for i in range(8)]
    assert codes == [400] * 5 + [429] * 3


def test_a_right_password_does_not_buy_guesses_at_others(app: Any) -> None:
    from tests.workbench.conftest import client_of, sign_in

    codes = []
    for number in range(40):
        assert sign_in(client_of(app), "grace").status_code in (303, 429)
        codes.append(sign_in(client_of(app), f"name {number}", "guess").status_code)
    assert codes.count(403) == 30 and set(codes[30:]) == {429}
