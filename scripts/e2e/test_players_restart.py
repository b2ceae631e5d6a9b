"""How long the player page stands still when the server is away for a moment: ended, or killed, and started again at once, with its
publisher."""

import re
import signal
import subprocess
import time

import pytest

from conftest import Servers
from lib import api, ffmpeg, media, page, players, publishing, rtc, rtmp
from lib.players import PROTOCOLS, assert_moving, describe, frames_seen, player, watch_frames
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages")

# A server that ends says so by FLV's connection and by DTLS; by HLS and DASH nothing differs.
CASES = [(protocol, signal.SIGKILL) for protocol in PROTOCOLS] + [("flv", signal.SIGTERM), ("whep", signal.SIGTERM)]
# What is buffered is played first, s.
BUFFERED = {"hls": 6, "ll-hls": 4, "dash": 6}

class Publisher:
    """One that is there as soon as the server is."""

    def __init__(self, server, tags):
        self.client = rtmp.publisher(server, "live", "one")
        self.client.__enter__()
        self.steady = publishing.Steady(self.client, tags)

    def stop(self):
        self.steady.stop()
        self.client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


@pytest.fixture(scope="module")
def tags(tmp_path_factory):
    """Of a keyframe a second."""
    path = tmp_path_factory.mktemp("restart") / "pattern.flv"
    picture = ("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p")
    sound = ("-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100", "-c:a", "aac")
    subprocess.run(ffmpeg.command(*picture[:4], *sound[:4], *picture[4:], "-g", 25, *sound[4:], "-t", 10, path), check=True, capture_output=True)
    return media.tags(path)


@pytest.mark.quiet
@pytest.mark.parametrize(("protocol", "how"), CASES)
def test_a_restart(tmp_path, chromium, tags, protocol, how):
    servers = Servers(tmp_path)
    publisher = None
    try:
        server = players.start_server(servers)
        publisher = Publisher(server, tags)
        api.wait_stream(server, "one", lambda stream: stream["video_frames"] > 50)
        with page.opened(chromium, player(server, protocol, autostart="true")) as opened:
            assert_moving(opened)
            watch_frames(opened)
            time.sleep(1)
            server.signal(how)
            server.wait_exit(10)
            publisher.stop()
            server.start()
            publisher = Publisher(server, tags)
            time.sleep(scaled(BUFFERED.get(protocol, 2)))
            wait_until(lambda: frames_seen(opened)["frames"] > 50, 10, lambda: f"the picture moves again; {describe(opened)}")
            wait_until(lambda: frames_seen(opened)["ago"] < 1000, 5, lambda: f"it moves now; {describe(opened)}")
            seen = frames_seen(opened)
            print(f"{protocol}, {how.name}: still for {seen['longest']:.0f} ms")
            assert seen["longest"] <= scaled(2000), f"it stood still for {seen['longest']:.0f} ms, 2,000 were expected; {describe(opened)}"
            # The browser tells each request that was in vain.
            opened.errors = [one for one in opened.errors if not re.search("Failed to load resource|WebSocket connection", one)]
    finally:
        if publisher:
            publisher.stop()
        servers.finish()
