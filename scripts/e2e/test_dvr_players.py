"""Recordings in a browser, over HTTP from the server itself: Chromium plays MP4, mpegts.js plays FLV, and both jump by
the file's index without fetching what lies between. mpegts.js comes from npm, by scripts/test."""

import pytest

from lib import browser, dvr, media, publishing, rtmp
from lib.timing import wait_until

MPEGTS_JS = "mpegts.js/dist/mpegts.js"

# Plays for a moment, then jumps to 8 s.
PAGE = """<!doctype html><video id="video" muted autoplay></video>%s<script>
const video = document.getElementById("video"), errors = [], url = decodeURIComponent(location.hash.slice(1));
video.addEventListener("error", () => errors.push(video.error.message));
let duration = 0, jumped = false;
%s
video.addEventListener("timeupdate", () => {
    if (!jumped && video.currentTime > 0.5) { jumped = true; duration = video.duration; video.currentTime = 8; }
});
reportEvery(200, () => ({time: video.currentTime, duration, jumped, width: video.videoWidth,
    frames: video.getVideoPlaybackQuality().totalVideoFrames, errors}));
</script>"""
PLAYERS = {
    "mp4": PAGE % ("", "video.src = url;"),
    "flv": PAGE
    % (
        f'<script src="/{MPEGTS_JS}"></script>',
        """const player = mpegts.createPlayer({type: "flv", url}, {seekType: "range", lazyLoad: false});
        player.on(mpegts.Events.ERROR, (...what) => errors.push(what.join(" ")));
        player.attachMediaElement(video); player.load();""",
    ),
}


@pytest.mark.parametrize("form", ["flv", "mp4"])
def test_chromium_plays_and_jumps(servers, tool, tmp_path, form):
    if not browser.is_there(MPEGTS_JS):
        pytest.skip("scripts/test installs mpegts.js and Chromium")
    server = servers(vhosts=dvr.vhost(f"./html/rec/[stream].{form}"))
    with rtmp.publisher(server, "live", "one") as client:
        publishing.send_all(client, media.tags(media.plain()))
    wait_until(lambda: (server.dir / f"html/rec/one.{form}").exists(), 10, "the recording")
    page = browser.Browser(tool, tmp_path, PLAYERS[form], server.http_url(f"rec/one.{form}"))
    try:

        def plays():
            last = page.last()
            assert not last or not last["errors"], f"the player gave up: {last}"
            return last and last["jumped"] and last["time"] > 8.5 and last

        seen = wait_until(plays, 40, lambda: f"a jump to 8 s; {page.last()}\n{page.process.text()[-2000:]}", 0.2)
    finally:
        page.close()
    assert seen["width"] == 640 and abs(seen["duration"] - 10) < 0.3, f"640 pixels wide and 10 s long: {seen}"
