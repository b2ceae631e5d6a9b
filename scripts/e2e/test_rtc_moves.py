"""A client's network changes under a running session: its NAT gives it another port, or its browser restarts ICE."""

import pytest

from lib import pion, rtc
from lib.relay import Harm, Running
from lib.timing import scaled

# Without media: what a player's reports, one a second, and their way take.
GONE_MS = 1300


@pytest.fixture
def rtc_server(request, servers, tmp_path):
    server = rtc.start(servers, tmp_path, top=getattr(request, "param", ""))
    yield server
    if not rtc.is_ours(server):
        server.stop()


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
@pytest.mark.parametrize(
    "side, rtc_server, limit_ms",
    [("player", "", GONE_MS), ("publisher", "", 400), ("player", rtc.BY_THREADS, GONE_MS)],
    indirect=["rtc_server"],
    ids=["player", "publisher", "player-by-threads"],
)
def test_another_port_that_the_client_does_not_know_of(rtc_server, side, limit_ms):
    """pion sends its next STUN request up to 5 s later: media must not wait for it."""
    port = "whep_port" if side == "player" else "whip_port"
    with Running(rtc_server.rtc_port, Harm(move=3)) as relay:
        urls = {"whip": rtc.whip_url(rtc_server), "whep": rtc.whep_url(rtc_server)}
        # Without RTX pion takes nothing that was lost more than 64 packets ago.
        found = pion.run(codec="h264", seconds=7, rtx=side == "player", **urls, **{port: relay.port})
        relay.finish()
    for kind in ("video", "audio"):
        gap = found["player"][kind]["longest_gap_ms"]
        assert gap <= scaled(limit_ms), f"{side}: no {kind} for {gap} ms: {found}"
    video = found["player"]["video"]
    assert side == "publisher" or video["holes_mended"] > 0, f"{side}: what was lost is sent again: {found}"
    assert video["not_at_end"] <= 3, f"{side}: the last packets came too: {found}"


@pytest.mark.skipif(not rtc.there_is_chromium(), reason="scripts/test installs Chromium")
def test_another_port_of_a_browser(rtc_server, pages, tool):
    tool(rtc.bars_and_beeps(rtc_server))
    with Running(rtc_server.rtc_port, Harm(move=6)) as relay:
        page = pages(play=rtc.whep_url(rtc_server), relay=relay.port)
        seen = page.wait(lambda one: rtc.decodes(one, 330), 30, "5 s of frames after the change")
    frozen = seen["player"]["video"]["totalFreezesDuration"]
    assert frozen <= scaled(GONE_MS / 1000), f"frames should come again within {GONE_MS} ms, none did for {frozen} s: {rtc.shortened(seen)}"


@pytest.mark.skipif(not rtc.there_is_chromium(), reason="scripts/test installs Chromium")
def test_a_browser_restarts_ice(rtc_server, pages):
    """As a page does whose network has changed: a PATCH with new credentials, for its publisher and its player."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("this is about our answers to PATCH")
    page = pages(source="canvas", publish=rtc.whip_url(rtc_server), play=rtc.whep_url(rtc_server))
    seen = page.wait(lambda one: rtc.decodes(one, 60) and rtc.hears(one), 30, "60 frames and audio")
    page.commands.append("restart")
    page.wait(lambda one: one["restarted"] == 2, 20, "both have restarted")
    frames = seen["player"]["video"]["framesDecoded"]
    seen = page.wait(lambda one: rtc.decodes(one, frames + 150), 20, "150 more frames")
    assert (seen["publisher"]["state"], seen["player"]["state"]) == ("connected", "connected"), rtc.shortened(seen)
    for kind in ("rtc-publish", "rtc-play"):
        rtc.wait_sessions(rtc_server, kind, 1)
    frozen = seen["player"]["video"].get("totalFreezesDuration", 0)
    assert frozen <= scaled(1), f"frames should come all the while, none did for {frozen} s: {rtc.shortened(seen)}"
