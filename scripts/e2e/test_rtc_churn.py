"""WebRTC players that come and go, however they end: by DELETE, by DTLS's farewell (a page that is closed), by silence (a
network that is gone). The API forgets them, and memory and descriptors stay where they were. With RTC_CYCLES=5000 the whole
of it; the suite does fewer."""

import os
import time

import pytest

from lib import api, media, publishing, rtc, rtmp
from lib.timing import SLOW, scaled
from lib.load import bench

CYCLES = int(os.environ.get("RTC_CYCLES", 600 if SLOW == 1 else 60))
GROWTH_KB = 2048 if SLOW == 1 else 40000  # a sanitizer keeps what was freed
SILENT_S = 2


@pytest.mark.long
def test_sessions_in_a_row_leave_nothing(servers):
    server = servers(**rtc.options(rtc=f"stun_timeout {SILENT_S};"))
    client = rtmp.publisher(server, "live", "one")
    with publishing.Steady(client, media.tags(media.plain())):
        time.sleep(0.5)

        def churn(cycles):
            found = bench(server, "rtc-churn", rtc.whep_url(server), "--cycles", cycles, "--concurrency", 10, seconds=300)
            assert (found["connected"], found["failed"]) == (cycles, 0), found
            rtc.wait_sessions(server, "rtc-play", 0, scaled(SILENT_S + 5))

        churn(min(CYCLES, 1200))  # the allocator's reserves fill up, and the list of those that have ended
        descriptors, memory = server.fds(), server.rss_kb()
        churn(CYCLES)
        assert server.fds() <= descriptors + 2, f"descriptors were {descriptors}, are {server.fds()}"
        grown = server.rss_kb() - memory
        assert grown < GROWTH_KB, f"{CYCLES} sessions left {grown} kB behind"
    closed = api.ask(server, "/api/v1/clients?closed=true&count=1000")["clients"]
    ends = {one["reason"] for one in closed if one["type"] == "rtc-play"}
    assert ends == {"peer-closed", "peer-timeout"}, f"DELETE, DTLS's farewell and silence ended as {sorted(ends)}"
