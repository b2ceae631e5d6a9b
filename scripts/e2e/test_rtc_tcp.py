"""WebRTC over TCP (RFC 6544): Chromium publishes and plays where answers offer TCP alone; the connection's end is the
session's."""

import socket

import pytest

from lib import rtc
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not rtc.there_is_chromium(), reason="scripts/test installs Chromium")


@pytest.fixture
def server(servers):
    wanted = rtc.options()
    top = wanted["top"].replace(
        "listen RTC_PORT;", "listen RTC_PORT; protocol tcp; tcp { enabled on; listen 127.0.0.1:RTC_PORT; }"
    )
    assert top != wanted["top"], wanted["top"]
    return servers(top=top, vhosts=wanted["vhosts"])


def test_whip_to_whep_over_tcp(server, pages):
    page = pages(source="canvas", publish=rtc.whip_url(server), play=rtc.whep_url(server))
    seen = page.wait(lambda one: rtc.decodes(one, 60) and rtc.hears(one), 30, "60 frames and audio")
    rtc.assert_colours(seen["colours"], rtc.FIELDS)
    for kind in ("rtc-publish", "rtc-play"):
        rtc.wait_sessions(server, kind, 1)
    log = server.evidence(100_000)
    assert log.count(" by TCP,") == 2, f"both sessions should be connected by TCP:\n{log}"
    page.close()
    for kind in ("rtc-publish", "rtc-play"):
        rtc.wait_sessions(server, kind, 0, scaled(10))


def test_garbage_by_tcp_hurts_nobody(server):
    port = next(int(word.split(":")[1].split("/")[0]) for word in server.evidence(100_000).split() if word.endswith("/tcp"))
    with socket.create_connection(("127.0.0.1", port), 10) as one:
        one.sendall(b"\x00\x05hello" + b"\xff\xff" + bytes(100))
        one.settimeout(scaled(10))
        assert one.recv(100) == b"", "a frame that cannot be ends the connection"
    wait_until(lambda: rtc.sessions(server, "rtc-play") == [], 5, "the API answers", 0.1)
