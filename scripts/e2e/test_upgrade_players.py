"""The player page in an upgrade (lib/upgrades.py): hls.js and dash.js get the next segment from the new process, and WebRTC
its media from the old one; the picture does not stop."""

import time

import pytest

from conftest import Servers
from lib import page, players, rtc
from lib.players import assert_moving, describe, frames_seen, player, watch_frames
from lib.timing import scaled, wait_until
from lib.upgrades import Upgrades

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages"),
]

PROTOCOLS = ("hls", "ll-hls", "dash", "whep", "flv")


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_picture_goes_on(tmp_path, chromium, protocol):
    with (
        players.site(Servers(tmp_path), tmp_path) as server,
        Upgrades(server) as upgrades,
        page.opened(chromium, player(server, protocol, autostart="true")) as opened,
    ):
        assert_moving(opened)
        time.sleep(1)
        watch_frames(opened)
        upgrades.upgrade()
        before = frames_seen(opened)["frames"]
        # What is buffered is played first: 8 s are more than that.
        time.sleep(scaled(8))
        wait_until(lambda: frames_seen(opened)["frames"] > before + 100, 10, lambda: f"100 frames after the upgrade; {describe(opened)}")
        seen = frames_seen(opened)
        print(f"{protocol}: still for {seen['longest']:.0f} ms")
        longest = max(seen["longest"], seen["ago"])
        assert longest <= scaled(1000), f"it stood still for {longest:.0f} ms, 1,000 were expected; {describe(opened)}"
