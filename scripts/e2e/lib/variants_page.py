"""Chromium with a page that plays a multivariant playlist of HLS by hls.js or Shaka Player. It tells what it shows, and takes
levels to change to: the height of their video."""

from . import browser
from .timing import wait_until

_PAGE = """<!doctype html><video id="video" muted autoplay></video><script src="/%s"></script><script>
const video = document.getElementById("video"), errors = [], source = decodeURIComponent(location.hash.slice(1));
let stalls = 0;
%s
reportEvery(200, () => ({
    time: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames, height: video.videoHeight, errors, stalls,
    known: known()}), choose);
</script>"""
_PLAYERS = {
    "hls.js": ("hls.js/dist/hls.min.js", """
const player = new Hls({liveSyncDurationCount: 5, startLevel: 0});
player.on(Hls.Events.ERROR, (_, data) => {
    errors.push({fatal: data.fatal, details: data.details, why: String(data.reason || data.error)});
    stalls += data.details === Hls.ErrorDetails.BUFFER_STALLED_ERROR;
});
player.loadSource(source);
player.attachMedia(video);
const known = () => player.levels.map((level) => level.height);
const choose = (height) => player.loadLevel = player.levels.findIndex((level) => level.height === height);"""),
    # It leaves a variant that fails only where it may choose itself; here it does so for no other reason.
    "shaka": ("shaka-player/dist/shaka-player.compiled.js", """
shaka.polyfill.installAll();
const player = new shaka.Player(), failed = (error) => errors.push({fatal: error.severity !== 1, details: String(error.data), why: error.code});
player.configure({abr: {switchInterval: 1000}, manifest: {hls: {ignoreManifestTimestampsInSegmentsMode: true}}});
player.addEventListener("error", (event) => failed(event.detail));
video.addEventListener("waiting", () => stalls += video.currentTime > 0);
player.attach(video).then(() => player.load(source)).catch(failed);
const known = () => player.getVariantTracks().map((track) => track.height);
const choose = (height) => player.selectVariantTrack(player.getVariantTracks().find((track) => track.height === height));"""),
}  # fmt: skip


def is_there(player):
    return browser.is_there(_PLAYERS[player][0])


class Page(browser.Browser):
    def __init__(self, tool, directory, player, url):
        super().__init__(tool, directory, _PAGE % _PLAYERS[player], url)
        self.player = player

    def shows(self, height, frames=15, among=None, may_stall=False):
        """It shows that many frames of one of this height, and time goes on."""
        begin = []

        def look():
            last = self.last()
            assert not last or not [error for error in last["errors"] if error["fatal"]], f"{self.player} gave up: {last}"
            assert not last or may_stall or not last["stalls"], f"it should not stall: {last}"
            if not last or (last["height"] not in among if among else last["height"] != height):
                begin.clear()
                return None
            begin.append(last)
            return last["frames"] - begin[0]["frames"] >= frames and last["time"] > begin[0]["time"] and last

        return wait_until(look, 40, lambda: f"{height or among} px; {self.last()}\n{self.process.text()[-2000:]}", 0.1)
