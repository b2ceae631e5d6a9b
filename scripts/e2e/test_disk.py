"""How files are written: by io_uring, by worker threads where that is wanted or io_uring is refused, and that a slow
disk holds up nobody."""

import json
import sys
from pathlib import Path

import pytest

from lib import dvr, http, media, publishing, rtmp
from lib.timing import VALGRIND, wait_until

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; debug on; }\n"
LAUNCHER = Path(__file__).parent / "lib" / "no_uring.py"


def loop_state(server):
    response = http.get(server.api_port, "/api/v1/debug/runtime")
    assert response.status == 200, response.describe()
    return json.loads(response.body)["data"]


def record(server, count=6):
    """Streams one after the other, as fast as they go; each file is what was published."""
    tags = media.tags(media.plain())
    for number in range(count):
        client = rtmp.publisher(server, "live", f"s{number}")
        publishing.send_all(client, tags)
        client.close()
    for path in dvr.wait_files(server, count):
        dvr.check_clean(path)
        dvr.assert_flv_head(path)


def refused(server):
    """The same server, started where io_uring is refused."""
    plain = server.command
    server.command = lambda *arguments: [sys.executable, str(LAUNCHER), *plain(*arguments)]
    return server


def test_threads_when_the_configuration_says_so(servers):
    server = servers(top=API + "disk { backend threads; }", vhosts=dvr.vhost())
    server.wait_log(r"files are written by threads \(by configuration\)")
    record(server)
    disk = loop_state(server)["disk"]
    assert disk["backend"] == "threads" and disk["bytes_written"] > 0 and disk["files_failed"] == 0, disk


@pytest.mark.skipif(VALGRIND, reason="valgrind itself needs calls that such a filter is about")
def test_threads_where_the_system_refuses_io_uring(servers):
    server = refused(servers.make(top=API, vhosts=dvr.vhost())).start()
    server.wait_log(r"files are written by threads \(io_uring: Operation not permitted\)")
    record(server)
    disk = loop_state(server)["disk"]
    assert disk["backend"] == "threads" and "not permitted" in disk["why_not_io_uring"], disk


@pytest.mark.skipif(VALGRIND, reason="see above")
def test_a_backend_that_must_be_but_cannot_is_an_error_at_the_start(servers):
    server = refused(servers.make(top="disk { backend uring; }"))
    server.spawn()
    assert server.wait_exit(10) == 1
    server.process = None  # it ended as it should
    text = server.log_path.read_text() + server.stderr_path.read_text()
    assert "io_uring: Operation not permitted, which the configuration asks for" in text, text


def test_io_uring_where_it_is_allowed(servers):
    server = servers(top=API, vhosts=dvr.vhost())
    server.wait_log("files are written by ")
    state = loop_state(server)["disk"]
    if state["backend"] != "io_uring":
        pytest.skip(f"not here: {state['why_not_io_uring']}")
    record(server)
    state = loop_state(server)["disk"]
    assert state["bytes_written"] > 0 and state["files_open"] == 0 and state["bytes_in_flight"] == 0, state


@pytest.mark.parametrize("backend", ["auto", "threads"])
def test_a_disk_that_takes_two_seconds_holds_up_nobody(servers, backend):
    """Each operation late by 2 s: every recording is complete, and the loop was never inside a call that waits."""
    top = API + f"stall_warn {0 if VALGRIND else 5}; disk {{ backend {backend}; }}"
    server = servers(top=top, vhosts=dvr.vhost(), environment={"DISK_FAULT": "path=rec/ op=any delay_ms=2000"})
    tags = media.tags(media.plain())
    publishers = []
    for number in range(20):
        client = rtmp.publisher(server, "live", f"s{number}")
        publishing.send_all(client, tags)
        publishers.append(client)
    wait_until(lambda: loop_state(server)["disk"]["operations"] > 0, 10, "operations under way")
    for client in publishers:
        client.close()
    for path in dvr.wait_files(server, 20, seconds=30):
        dvr.assert_flv_head(path)
    state = loop_state(server)
    blocked = [stall for stall in state["last_stalls"] if stall["cause"] == "blocked"]
    assert not blocked, f"the loop waited inside a call: {json.dumps(blocked, indent=1)}"
    assert state["disk"]["slow_warnings"] >= 1, state["disk"]
    server.wait_log("the disk is slow: .* takes [0-9]+ ms already; [0-9]+ operations are under way")
