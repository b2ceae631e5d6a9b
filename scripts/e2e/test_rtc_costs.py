"""WebRTC: what a session costs, and whose code opens what it sends."""

import subprocess
from pathlib import Path

import pytest

from lib import media, mediamtx, publishing, rtc, rtmp
from lib.server import BENCH
from lib.timing import scaled
from lib.load import bench

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our own server")

FIRST, PLAYERS = 10, 100
FROM_WHIP_KB, FROM_RTMP_KB = 32, 64


def whep(server, path, count):
    """The memory of its own that the server has more for each, kB."""
    words = ["-n", count, "--ramp", 100, "--seconds", 2, "--server-pid", server.pid]
    found = bench(server, "whep", rtc.whep_url(server, path), *words)
    assert (found["connected"], found["without_frame"]) == (count, 0), f"{count} players of {path}, with packets: {found}"
    # Not of the libraries: their part of it grows by 10 MB when another process that has libavcodec too ends.
    return (found["server_anonymous_kb"] - found["server_anonymous_before_kb"]) / count


@pytest.fixture
def rtc_server(servers):
    """A server with live/rtmp, which comes by RTMP and has AAC, and live/whip, which comes by WebRTC."""
    server = servers(**rtc.options())
    words = [BENCH, "whip", rtc.whip_url(server, "live/whip"), "-q", "--file", media.plain(), "--seconds", 600]
    with publishing.Steady(rtmp.publisher(server, "live", "rtmp", timeout=scaled(20)), media.tags(media.plain())):
        whip = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield server
        finally:
            whip.kill()
            whip.wait()


@pytest.mark.quiet
def test_a_player_costs_little_and_libsrtp_opens_what_it_sends(rtc_server):
    # The first bring what is taken once: libavcodec's, and what a crowd leaves with the allocator.
    with rtmp.player(rtc_server, "live", "rtmp", timeout=scaled(20)) as viewer:
        for path, limit in (("live/whip", FROM_WHIP_KB), ("live/rtmp", FROM_RTMP_KB)):
            whep(rtc_server, path, FIRST)
            each = whep(rtc_server, path, PLAYERS)
            assert each <= limit, f"a WHEP player of {path} should cost at most {limit} kB, it costs {each}"
            viewer.tags()
            assert not viewer.ended, "who plays by RTMP should play on"
    libraries = {Path(line.split()[-1]).name for line in Path(f"/proc/{rtc_server.pid}/maps").open() if ".so" in line}
    assert any(name.startswith("libsrtp2.") for name in libraries), f"libsrtp should be among {sorted(libraries)}"
