"""An edge in headless Chromium: WebRTC (WHEP) and HLS of a stream that the origin got by RTMP, and HTTP-FLV of one that it got
by WHIP. hls.js and mpegts.js come from npm, by scripts/test."""

import json
import urllib.parse

import pytest

from lib import api, browser, mediamtx, rtc
from lib.timing import wait_until

SCRIPTS = ("hls.js/dist/hls.min.js", "mpegts.js/dist/mpegts.js")

# Three players, and of each four times a second: the decoded video frames, the decoded audio (bytes, or energy by WebRTC), the
# size, and the colours of seven points of the upper part.
PAGE = """<!doctype html>
<video id="whep" autoplay playsinline></video><video id="hls" muted autoplay></video><video id="flv" muted autoplay></video>
<script src="/hls.js/dist/hls.min.js"></script><script src="/mpegts.js/dist/mpegts.js"></script><script>
const urls = JSON.parse(decodeURIComponent(location.hash.slice(1))), errors = [];
const videos = Object.fromEntries(["whep", "hls", "flv"].map(name => [name, document.getElementById(name)]));
const peer = new RTCPeerConnection(), context = new OffscreenCanvas(70, 40).getContext("2d", {willReadFrequently: true});
let energy = 0;

async function playWhep() {
    const stream = videos.whep.srcObject = new MediaStream();
    peer.ontrack = event => stream.addTrack(event.track);
    for (const kind of ["video", "audio"]) peer.addTransceiver(kind, {direction: "recvonly"});
    await peer.setLocalDescription(await peer.createOffer());
    for (let i = 0; peer.iceGatheringState !== "complete" && i < 50; ++i) await new Promise(resolve => setTimeout(resolve, 20));
    const headers = {"Content-Type": "application/sdp"};
    const answer = await fetch(urls.whep, {method: "POST", headers, body: peer.localDescription.sdp});
    if (answer.status !== 201) throw new Error(`WHEP: ${answer.status} ${await answer.text()}`);
    await peer.setRemoteDescription({type: "answer", sdp: await answer.text()});
}

function playHls() {
    const player = new Hls({liveSyncDurationCount: 1});
    player.on(Hls.Events.ERROR, (_, data) => data.fatal && errors.push(`HLS: ${data.details}`));
    player.loadSource(urls.hls);
    player.attachMedia(videos.hls);
}

function playFlv() {
    const player = mpegts.createPlayer({type: "flv", isLive: true, url: urls.flv});
    player.on(mpegts.Events.ERROR, (...what) => errors.push(`FLV: ${what}`));
    player.attachMediaElement(videos.flv);
    player.load();
    player.play();
}

function seen(video) {
    context.drawImage(video, 0, 0, 70, 40);
    const colours = Array.from({length: 7}, (_, i) => [...context.getImageData(i * 10 + 5, 15, 1, 1).data.slice(0, 3)]);
    return {frames: video.getVideoPlaybackQuality().totalVideoFrames, audio: video.webkitAudioDecodedByteCount || 0,
            width: video.videoWidth, colours};
}

playWhep().catch(error => errors.push(String(error)));
playHls();
playFlv();
setInterval(async () => {
    for (const one of (await peer.getStats()).values())
        if (one.type === "inbound-rtp" && one.kind === "audio") energy = one.totalAudioEnergy;
}, 250);
reportEvery(250, () => ({errors, ...Object.fromEntries(Object.entries(videos).map(([name, video]) => [name, seen(video)])), energy}));
</script>"""


@pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our edges")
def test_whep_hls_and_flv_of_an_edge_in_chromium(servers, tool, tmp_path):
    if not browser.is_there(*SCRIPTS):
        pytest.skip("scripts/test installs hls.js, mpegts.js and Chromium")
    origin = rtc.start(servers, tmp_path)
    cluster = f"cluster {{ mode remote; origin 127.0.0.1:{origin.rtmp_port}; }}"
    edge = rtc.start(servers, tmp_path, vhost=f"{cluster} hls {{ enabled on; hls_fragment 1; hls_window 20; hls_storage memory; }}")
    tool(rtc.bars_and_beeps(origin, "live/rtmp"))
    tool(rtc.bars_and_beeps_by_whip(origin, "live/whip"))
    for name in ("rtmp", "whip"):
        api.wait_stream(origin, name, lambda stream: stream["video_frames"] > 10, 20)
    urls = {"whep": rtc.whep_url(edge, "live/rtmp"), "hls": edge.http_url("live/rtmp.m3u8"), "flv": edge.http_url("live/whip.flv")}
    page = browser.Browser(tool, tmp_path, PAGE, urllib.parse.quote(json.dumps(urls)), rtc.FLAGS)
    try:

        def plays():
            last = page.last()
            assert not last or not last["errors"], f"a player gave up: {last}"
            heard = last and last["energy"] > 0.001 and last["hls"]["audio"] and last["flv"]["audio"]
            return heard and all(last[name]["frames"] > 30 for name in urls) and last

        seen = wait_until(plays, 60, lambda: f"30 frames and audio by each protocol; {page.last()}\n{page.process.text()[-2000:]}", 0.1)
        pulled = sorted(one["name"] for one in api.clients(edge) if one["type"] == "edge-pull")
    finally:
        page.close()
    for name in urls:
        assert seen[name]["width"] == rtc.WIDTH, f"{name}: {seen}"
        rtc.assert_colours(seen[name]["colours"], rtc.BARS)
    asked = sorted(one["url"] for one in api.clients(origin) if one["type"] == "rtmp-play")
    assert asked == ["/live/rtmp", "/live/whip"], f"the edge should pull each stream once: {asked}"
    assert len(pulled) == 2, f"two pulls were expected: {pulled}"
