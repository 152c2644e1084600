"""Running it: ready, busy, told to stop, refusing to be exposed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

import recollect
from recollect.cli import main
from recollect.errors import ConfigError
from recollect.models.folder import read_folder
from recollect.models.registry import shipped, shipped_models
from recollect.server.keys import create_key
from recollect.server.serve import bind
from recollect.types import Scope

from .conftest import PATIENCE_S, Server, start

BUSY_S = 4
CLIENTS = 8


def path(bank: str, rest: str) -> str:
    return f"/v1/default/banks/{bank}{rest}"


def test_eight_clients_at_once_meet_no_error(server: Server) -> None:
    """Writing, recalling, listing and deleting in banks of their own and in one they share."""
    until = time.monotonic() + BUSY_S

    def client(number: int) -> tuple[int, list[str]]:
        done, wrong = 0, []
        with server.client() as http:
            while time.monotonic() < until:
                for bank in ("busy", f"busy-{number}"):
                    item = {"content": f"Client {number} counted to {done} in bank {bank}."}
                    made = http.post(path(bank, "/memories"), json={"items": [item]})
                    asked = {"query": f"What did client {number} count to?"}
                    found = http.post(path(bank, "/memories/recall"), json=asked)
                    listed = http.get(path(bank, "/memories/list"), params={"limit": 5})
                    answers = [made, found, listed]
                    if done % 3 == 2 and made.is_success and made.json()["new"]:
                        one = made.json()["new"][0]
                        answers.append(http.delete(path(bank, f"/memories/{one}")))
                    wrong += [a.text for a in answers if not a.is_success]
                    done += len(answers)
        return done, wrong

    with ThreadPoolExecutor(CLIENTS) as pool:
        ended = list(pool.map(client, range(CLIENTS)))
    assert [wrong for _, wrong in ended] == [[]] * CLIENTS
    assert min(done for done, _ in ended) >= 4


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_finishes_what_it_accepted(tmp_path: Path, how: signal.Signals) -> None:
    server = start(tmp_path / "m.db")
    items = [{"content": f"Person {n} planted tree {n} in garden {n}."} for n in range(300)]
    answers: list[httpx2.Response] = []

    def retain() -> None:
        with server.client() as http:
            answers.append(http.post(path("b", "/memories"), json={"items": items}))

    asking = threading.Thread(target=retain)
    asking.start()
    with server.client() as http:  # until it is at work
        while "recollect_http_requests_in_flight 2.0" not in http.get("/metrics").text:
            assert asking.is_alive()
    assert server.stop(how) == 0
    asking.join()
    assert answers[0].status_code == 200
    with recollect.open(server.db) as memory:
        assert memory.count("b") == 300


def test_an_accepted_retain_is_done_after_a_restart(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db")
    items = [{"content": f"Person {n} planted tree {n} in garden {n}."} for n in range(150)]
    with server.client() as http:
        body = {"items": items, "async": True}
        accepted = http.post(path("b", "/memories"), json=body).json()
    server.process.kill()
    server.process.wait()
    again = start(server.db)
    try:
        with again.client() as http:
            where = path("b", f"/operations/{accepted['operation_id']}")
            until = time.monotonic() + PATIENCE_S
            while http.get(where).json()["status"] != "completed":
                assert time.monotonic() < until
            assert http.get(path("b", "/stats")).json()["total_nodes"] == 150
    finally:
        assert again.stop() == 0


def test_another_address_needs_keys_or_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--db", str(tmp_path / "m.db"), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "recollect keys create" in capsys.readouterr().err


def test_with_a_key_in_the_store_everybody_is_asked_for_one(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "m.db") as memory:
        _, reader = create_key(memory.store.keys, "reader", [Scope.READ], banks=["b"])
        _, writer = create_key(memory.store.keys, "writer", [Scope.READ, Scope.WRITE])
    server = start(tmp_path / "m.db")
    try:
        with server.client() as http:
            body = {"items": [{"text": "Anna sails."}]}

            def status(key: str, bank: str = "b") -> int:
                headers = {"authorization": f"Bearer {key}"} if key else {}
                return http.post(path(bank, "/memories"), json=body, headers=headers).status_code

            assert [status(""), status("rk_x_y"), status(reader), status(writer)] == [
                401,
                401,
                403,
                200,
            ]
            read = {"authorization": f"Bearer {reader}"}
            asked = {"query": "Who sails?"}
            assert http.post(path("b", "/memories/recall"), json=asked, headers=read).is_success
            other = http.post(path("c", "/memories/recall"), json=asked, headers=read)
            assert other.status_code == 403
            assert http.get("/health").is_success
    finally:
        assert server.stop() == 0


def test_a_port_that_is_taken_is_said_at_once() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=str(port)) as refused:
            bind("127.0.0.1", port)
    assert "--port 0" in str(refused.value.hint)


def test_a_free_port_is_bound_on_either_family() -> None:
    for host in ("127.0.0.1", "::1"):
        if host == "::1" and not _has_ipv6():
            continue
        with bind(host, 0) as bound:
            assert bound.getsockname()[1] > 0


def _has_ipv6() -> bool:
    """Whether this machine has it, and not only this Python."""
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from recollect.cli import main\n"
        f"sys.exit(main(['serve', '--db', {str(tmp_path / 'm.db')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "recollect[server]" in done.stderr


def test_the_tools_for_agents_are_mounted(server: Server) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "test", "version": "1"}},
    }  # fmt: skip
    accepted = {"accept": "application/json, text/event-stream"}
    with server.client(follow_redirects=False) as http:
        answer = http.post("/mcp", json=hello, headers=accepted)
    assert answer.status_code == 200
    assert "recollect" in answer.text


# --- several processes -----------------------------------------------------------------------


def workers_of(server: Server) -> list[int]:
    pid = server.process.pid
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def lives(pid: int) -> bool:
    """One that has ended may wait for ever for its new parent to ask after it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")


@needs_proc
def test_workers_share_an_address_and_see_each_others_writes(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db", "--workers", "2")
    try:
        assert len(workers_of(server)) == 2
        for n in range(8):  # each over a connection of its own, to whichever worker is free
            with server.client() as http:
                item = {"text": f"Gardener {n} planted a tree."}
                assert http.post(path("b", "/memories"), json={"items": [item]}).is_success
                assert http.get(path("b", "/stats")).json()["total_nodes"] == n + 1
    finally:
        assert server.stop() == 0


@needs_proc
def test_workers_share_the_pages_of_the_models(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db", "--workers", "2")
    models = sum(read_folder(shipped(name)).graph.stat().st_size for name in shipped_models())
    try:
        for worker in workers_of(server):
            told = Path(f"/proc/{worker}/smaps_rollup").read_text()
            (shared,) = re.findall(r"^Shared_Dirty: +(\d+) kB$", told, re.MULTILINE)
            assert int(shared) * 1024 > models
    finally:
        assert server.stop() == 0


@needs_proc
def test_agents_are_served_by_several_workers(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db", "--workers", "2")
    try:
        tool(server, "retain", content="The gardener planted a tree.", bank="b")
        first = tool(server, "recall", query="Who planted a tree?", bank="b", min_score=0)
        assert first["results"]
        for _ in range(8):  # to whichever worker is free
            name = first["conversation"]
            again = tool(server, "recall", query="Who planted a tree?", bank="b", conversation=name)
            assert again["already_given"] and not again["results"]
        with server.client() as http:
            assert http.get("/version").json()["features"]["mcp"]
            assert http.get("/metrics").is_success
    finally:
        assert server.stop() == 0


def tool(server: Server, name: str, **arguments: object) -> dict[str, Any]:
    """One call over a connection of its own."""
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }  # fmt: skip
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
    }
    with server.client() as http:
        answer = http.post("/mcp", json=call, headers=headers)
    assert answer.is_success, answer.text
    data = next(line for line in answer.text.splitlines() if line.startswith("data: {"))
    return json.loads(data.removeprefix("data: "))["result"]["structuredContent"]


@needs_proc
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db", "--workers", "2")
    children = workers_of(server)
    server.process.kill()
    server.process.wait()
    until = time.monotonic() + PATIENCE_S
    while any(lives(pid) for pid in children):
        assert time.monotonic() < until
        time.sleep(0.05)


# The word to stop comes the moment a worker is made, in the process that is named.
STOPPED_AT_BIRTH = """
import os, signal, socket, sys
from recollect.server.workers import Workers
fork = os.fork
def told_to_stop():
    pid = fork()
    if (pid == 0) == (sys.argv[1] == "worker"):
        os.kill(os.getpid(), signal.SIGTERM)
    return pid
os.fork = told_to_stop
def work(place, tell):
    tell()
    signal.pause()
Workers(socket.socket(), 2, work).run(lambda: None)
"""


@pytest.mark.parametrize(("who", "ends"), [("parent", 0), ("worker", 1)])
def test_a_word_to_stop_is_heard_while_workers_are_made(who: str, ends: int) -> None:
    command = [sys.executable, "-c", STOPPED_AT_BIRTH, who]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == ends, done.stderr.decode()  # 1: a worker ended by itself


# It comes before uvicorn listens to it.
STOPPED_AT_THE_START = """
import os, signal, uvicorn
serve = uvicorn.Server.serve
def told_to_stop(self, sockets=None):
    os.kill(os.getpid(), signal.SIGTERM)
    return serve(self, sockets)
uvicorn.Server.serve = told_to_stop
from recollect.cli import main
raise SystemExit(main())
"""


def test_a_word_to_stop_is_heard_while_the_server_starts(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STOPPED_AT_THE_START, "serve", "--port", "0"]
    command += ["--db", str(tmp_path / "m.db")]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr.decode()


@needs_proc
def test_a_worker_that_dies_is_started_anew(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db", "--workers", "2")
    try:
        victim, other = workers_of(server)
        os.kill(victim, signal.SIGKILL)
        until = time.monotonic() + PATIENCE_S
        while len(set(workers_of(server)) - {victim, other}) == 0:
            assert time.monotonic() < until
            time.sleep(0.05)
        with server.client() as http:
            assert http.get("/health").is_success
    finally:
        assert server.stop() == 0


def test_only_pages_that_were_named_may_ask(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db", RECOLLECT_CORS_ORIGINS="https://app.example.com")
    try:
        with server.client() as http:
            for origin, allowed in (
                ("https://app.example.com", True),
                ("https://evil.test", False),
            ):
                headers = http.get("/version", headers={"origin": origin}).headers
                assert (headers.get("access-control-allow-origin") == origin) is allowed
    finally:
        assert server.stop() == 0
