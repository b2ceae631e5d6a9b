"""How files are written: by worker threads, so that a slow disk holds up nobody."""

import json

from lib import dvr, http, media, publishing, rtmp
from lib.timing import VALGRIND, wait_until

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; debug on; }\n"


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


def test_what_is_recorded_is_what_was_published(servers):
    """The directives that chose io_uring in earlier versions are understood: they have no effect."""
    server = servers(top=API + "disk { backend uring; direct off; }", vhosts=dvr.vhost())
    server.wait_log(r"\[warn\].*two worker threads write all files: no effect of disk/backend, disk/direct")
    record(server)
    disk = loop_state(server)["disk"]
    assert disk["bytes_written"] > 0 and disk["files_failed"] == 0, disk
    assert disk["files_open"] == 0 and disk["bytes_in_flight"] == 0, disk


def test_a_disk_that_takes_two_seconds_holds_up_nobody(servers):
    """Each operation late by 2 s: every recording is complete, and the loop was never inside a call that waits."""
    top = API + f"stall_warn {0 if VALGRIND else 5};"
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
