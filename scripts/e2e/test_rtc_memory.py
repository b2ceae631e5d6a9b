"""WebRTC both ways and both converters, small enough for valgrind: then it is memcheck that looks, at the server's end."""

import subprocess

import pytest

from lib import media, publishing, rtc, rtmp
from lib.server import BENCH
from lib.timing import scaled
from lib.load import bench

LONG = ["--seconds", 3, "--timeout-ms", int(scaled(20_000))]


@pytest.mark.valgrind
def test_played_from_rtmp(servers):
    """H.264 as it is, AAC made Opus."""
    server = servers(**rtc.options())
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(20)), media.tags(media.plain())):
        found = bench(server, "whep", rtc.whep_url(server), "--nack", *LONG)
    assert (found["connected"], found["failed"]) == (1, 0) and found["packets"] > 0, f"one player, with packets: {found}"


@pytest.mark.valgrind
def test_published_and_played_by_rtmp(servers):
    """RTP made frames, Opus made AAC."""
    server = servers(**rtc.options())
    words = [BENCH, "whip", rtc.whip_url(server, "live/two"), "-q", "--settle-ms", 0, "--file", media.plain(), *LONG]
    words[words.index("--seconds") + 1] = int(scaled(3))
    whip = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        with rtmp.player(server, "live", "two", timeout=scaled(20)) as player:
            kinds = set()
            while not {rtmp.AUDIO, rtmp.VIDEO} <= kinds:
                kinds |= {tag.type for tag in player.tags()}
    finally:
        text = whip.communicate(timeout=scaled(60))[0].decode()
    assert whip.returncode == 0, f"the load tool should end well: {text}"
