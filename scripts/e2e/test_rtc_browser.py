"""WebRTC in headless Chromium: playing what RTMP publishes, publishing its fake camera and a canvas, and playing that."""

import pytest

from lib import browser, dvr, flashes, hls, load, mediamtx, rtc, rtc_plain
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not rtc.there_is_chromium(), reason="scripts/test installs Chromium")
AV_MS, GLASS_MS = 80, 400


@pytest.fixture
def rtc_server(servers, tmp_path):
    server = rtc.start(servers, tmp_path)
    yield server
    if not rtc.is_ours(server):
        server.stop()


def assert_in_step(page, who):
    """Audio and video of each second reach the page together. The browser learns from sender reports how they belong
    together and moves slowly: each of the last four seconds counts, within twenty."""

    def in_step(one):
        offsets = rtc.av_offsets(one)[-4:]
        return len(offsets) == 4 and max(map(abs, offsets)) <= scaled(AV_MS)

    seen = page.wait(in_step, 20, f"{who}: audio within {AV_MS} ms of the video frame")
    return rtc.av_offsets(seen)


@pytest.mark.serial
def test_rtmp_to_whep(rtc_server, pages, tool):
    tool(rtc.bars_and_beeps(rtc_server))
    page = pages(play=rtc.whep_url(rtc_server))
    seen = page.wait(lambda one: rtc.decodes(one, 60) and rtc.hears(one), 30, "60 frames and audio")
    assert (seen["width"], seen["height"]) == (rtc.WIDTH, rtc.HEIGHT), rtc.shortened(seen)
    assert seen["player"]["video"]["codec"] == "video/H264", rtc.shortened(seen)
    assert seen["player"]["video"]["packetsLost"] == 0, rtc.shortened(seen)
    rtc.assert_colours(seen["colours"], rtc.BARS)
    offsets = assert_in_step(page, "RTMP to WHEP")
    print(f"audio behind the video frame {[round(one) for one in offsets]} ms")


def test_vp9_in_spatial_layers_of_one_ssrc_is_sent_whole(rtc_server, pages):
    """SVC: two sizes, of which the larger builds on the other. Players get both, and show the larger."""
    layers = [{"scalabilityMode": "L2T3_KEY"}]
    page = pages(source="canvas", codec="VP9", encodings=layers, publish=rtc.whip_url(rtc_server), play=rtc.whep_url(rtc_server))
    seen = page.wait(lambda one: rtc.decodes(one, 60) and one["width"] == rtc.WIDTH, 40, f"60 frames, and of {rtc.WIDTH} columns")
    assert seen["publisher"]["video"]["scalabilityMode"] == "L2T3_KEY", f"Chromium sends layers: {rtc.shortened(seen)}"
    assert seen["player"]["video"]["codec"] == "video/VP9", rtc.shortened(seen)
    rtc.assert_colours(seen["colours"], rtc.FIELDS)


@pytest.mark.parametrize("name", ["my  stream", "%41 ü+&=#/b"], ids=["blanks", "signs"])
@pytest.mark.long
def test_names_that_are_no_identifiers(rtc_server, pages, name):
    """The answer's a=msid is made of the stream's name, and Chromium refuses one of three fields. A stream of a plain name
    plays on beside it."""
    if mediamtx.PROGRAM:
        pytest.skip("this is about our answers")
    beside = pages(source="canvas", publish=rtc.whip_url(rtc_server, "live/plain"), play=rtc.whep_url(rtc_server, "live/plain"))
    beside.wait(lambda one: rtc.decodes(one, 10), 30, "10 frames of the plain name")
    page = pages(source="canvas", publish=rtc.whip_url(rtc_server, f"live/{name}"), play=rtc.whep_url(rtc_server, f"live/{name}"))
    seen = page.wait(lambda one: rtc.decodes(one, 30) and rtc.hears(one), 30, f"30 frames and audio of {name!r}")
    rtc.assert_colours(seen["colours"], rtc.FIELDS)
    assert seen["player"]["state"] == "connected", rtc.shortened(seen)
    frames = beside.last()["player"]["video"]["framesDecoded"]
    beside.wait(lambda one: rtc.decodes(one, frames + 20), 30, "20 more frames of the plain name")


@pytest.mark.serial
def test_whip_to_whep_glass_to_glass(rtc_server, pages):
    url = {"publish": rtc.whip_url(rtc_server), "play": rtc.whep_url(rtc_server)}
    page = pages(source="canvas", **url)
    seen = page.wait(lambda one: rtc.decodes(one, 90) and rtc.hears(one), 30, "90 frames and audio")
    rtc.assert_colours(seen["colours"], rtc.FIELDS)
    seen = page.wait(lambda one: len(one["latencies"]) >= 150, 20, "150 readings of the time in the video frame")
    # What was read during the first second belongs to the start.
    middle = rtc.median(seen["latencies"][-100:])
    assert 0 < middle < scaled(GLASS_MS), f"glass to glass {middle:.0f} ms: {rtc.shortened(seen)}"
    offsets = assert_in_step(page, "WHIP to WHEP")
    print(f"glass to glass {middle:.0f} ms, audio behind the video frame {[round(one) for one in offsets]} ms")


def test_camera_and_microphone(rtc_server, pages):
    """The fake devices of the browser, published by one page and played by another; pages closed leave the API."""
    publisher = pages(source="camera", publish=rtc.whip_url(rtc_server))
    player = pages(play=rtc.whep_url(rtc_server))
    seen = player.wait(lambda one: rtc.decodes(one, 60) and rtc.hears(one), 30, "60 frames and audio")
    assert seen["player"]["state"] == "connected" and seen["width"] > 0, rtc.shortened(seen)
    sent = publisher.last()["publisher"]["video"]
    assert sent["codec"] == seen["player"]["video"]["codec"], f"{sent['codec']} was sent, {rtc.shortened(seen)} came"


def test_who_joins_shares_the_keyframes(ours, pages):
    """One joins each second. A keyframe on request serves those of the next three seconds, too."""
    page = pages(source="camera", publish=rtc.whip_url(ours))

    def asked(one):
        return ((one["publisher"] or {}).get("video") or {}).get("pliCount", 0)

    seen = page.wait(lambda one: ((one["publisher"] or {}).get("video") or {}).get("framesSent", 0) > 60, 30, "60 frames sent")
    joined = load.bench(ours, "whep", rtc.whep_url(ours), "-n", 10, "--ramp", 1, "--seconds", 1)
    assert joined["without_frame"] == 0, f"each should get video: {joined}"
    late = joined["first_frame_ms"]["max"]
    assert late <= scaled(450), f"the first packet should come within 450 ms of each connection, one's came after {late}"
    count = asked(page.last()) - asked(seen)
    assert count <= 4, f"for 10 players in 10 s 4 keyframes should be requested at most, it was {count}: {rtc.shortened(page.last())}"


@pytest.mark.parametrize("codec", ["H264", "VP8", "VP9", "AV1"])
def test_codec(rtc_server, pages, codec):
    """Each codec that Chromium encodes comes out as it went in."""
    page = pages(source="canvas", codec=codec, publish=rtc.whip_url(rtc_server), play=rtc.whep_url(rtc_server))
    seen = page.wait(lambda one: rtc.decodes(one, 30) and rtc.hears(one), 30, "30 frames and audio")
    assert seen["player"]["video"]["codec"] == f"video/{codec}", rtc.shortened(seen)
    rtc.assert_colours(seen["colours"], rtc.FIELDS)


LAYERS = [
    {"rid": "q", "scaleResolutionDownBy": 4, "maxBitrate": 80_000},
    {"rid": "h", "scaleResolutionDownBy": 2, "maxBitrate": 200_000},
    {"rid": "f", "maxBitrate": 500_000},
]


def play_layers(rtc_server, publisher, player):
    """One layer after the other is played, as the page switches them off and on."""

    def wait_width(width, more, seconds, what):
        frames = ((player.last() or {}).get("player") or {}).get("video", {}).get("framesDecoded", 0)
        return player.wait(lambda one: one["width"] == width and rtc.decodes(one, frames + more), seconds, f"{what}, {width} pixels wide")

    seen = wait_width(960, 30, 30, "the largest layer")
    rtc.assert_colours(seen["colours"], rtc.FIELDS)
    assert set(publisher.last()["publisher"]["layers"]) == {"q", "h", "f"}, rtc.shortened(publisher.last())
    for command, width, what in (("off f", 480, "the next one"), ("on f", 960, "the largest again")):
        publisher.commands.append(command)
        seen = wait_width(width, 30, 20, what)
        rtc.assert_colours(seen["colours"], rtc.FIELDS)
    assert seen["player"]["video"]["packetsLost"] == 0, rtc.shortened(seen)
    assert rtc.hears(seen), rtc.shortened(seen)
    rtc.wait_sessions(rtc_server, "rtc-publish", 1)


@pytest.mark.parametrize("codec", ["H264", "VP8"])
def test_of_layers_the_largest_is_played(rtc_server, pages, codec):
    """A page offers three, the smallest first. One that it switches off is replaced, and returns: players go on, in another
    size."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("this is about our choice of layers")
    publisher = pages(source="canvas", zoom=1.5, codec=codec, encodings=LAYERS, publish=rtc.whip_url(rtc_server))
    publisher.wait(lambda one: (one["publisher"] or {}).get("state") == "connected", 30, "a publisher")
    player = pages(play=rtc.whep_url(rtc_server))
    with rtc_plain.Watcher(rtc_server) as viewer:
        play_layers(rtc_server, publisher, player)
        viewer.wait_more(20, "the changes")
        steps = [b - a for a, b in zip(viewer.times, viewer.times[1:])]
        assert min(steps) > 0 and max(steps) < scaled(3000), f"times by FLV go on: {viewer.describe()}, steps of {sorted(steps)[-5:]} ms"


@pytest.mark.parametrize("codec", ["H264", "VP8"])
def test_a_player_may_want_a_smaller_layer(rtc_server, pages, codec):
    """By its rid, or by a height. A height that no layer has is that of the next smaller one."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("this is about our choice of layers")
    publisher = pages(source="canvas", zoom=1.5, codec=codec, encodings=LAYERS, publish=rtc.whip_url(rtc_server))
    publisher.wait(lambda one: len((one["publisher"] or {}).get("layers") or {}) == 3, 30, "a publisher of three layers")
    players = {wish: pages(play=f"{rtc.whep_url(rtc_server)}&{wish}") for wish in ("layer=q", "maxheight=300", "layer=no")}
    for (wish, page), width in zip(players.items(), (240, 480, 960), strict=True):
        seen = page.wait(lambda one, width=width: one["width"] == width and rtc.decodes(one, 60), 30, f"60 frames of {wish}, {width} wide")
        rtc.assert_colours(seen["colours"], rtc.FIELDS)
        assert seen["player"]["video"]["packetsLost"] == 0 and rtc.hears(seen), rtc.shortened(seen)
    # The smallest one ends: who wanted it gets the stream until it returns.
    page = players["layer=q"]
    for command, width in (("off q", 960), ("on q", 240)):
        publisher.commands.append(command)
        frames = page.last()["player"]["video"]["framesDecoded"]
        page.wait(lambda one, width=width, frames=frames: one["width"] == width and rtc.decodes(one, frames + 30), 20, f"{width} wide")


# ---- How sessions end, and what others see of what a browser publishes: of our server alone


@pytest.fixture
def ours(rtc_server):
    if not rtc.is_ours(rtc_server):
        pytest.skip("this is about our API and our outputs")
    return rtc_server


def wait_both(server):
    rtc.wait_sessions(server, "rtc-publish", 1, 20)
    rtc.wait_sessions(server, "rtc-play", 1, 20)


def test_delete_ends_sessions(ours, pages):
    page = pages(source="canvas", publish=rtc.whip_url(ours), play=rtc.whep_url(ours))
    seen = page.wait(lambda one: rtc.decodes(one, 30), 30, "30 frames")
    wait_both(ours)
    # In the order of their making: the publisher's first.
    for kind, url in (("rtc-play", seen["resources"][1]), ("rtc-publish", seen["resources"][0])):
        status = rtc.delete(url)
        assert status == 200, f"DELETE of {url} should be answered with 200, it was {status}"
        rtc.wait_sessions(ours, kind, 0, 3)
        assert rtc.delete(url) == 404, f"{url} is gone: 404"


@pytest.mark.parametrize("how", ["closed", "killed"])
@pytest.mark.long
def test_a_page_that_is_gone_leaves_the_api(servers, pages, how):
    """Closed, Chromium says goodbye (DTLS close_notify); killed, it says nothing and the timeout ends the session."""
    if mediamtx.PROGRAM:
        pytest.skip("this is about our API")
    server = rtc.start(servers, None, rtc="stun_timeout 3;")
    page = pages(source="canvas", publish=rtc.whip_url(server), play=rtc.whep_url(server))
    page.wait(lambda one: rtc.decodes(one, 30), 30, "30 frames")
    wait_both(server)
    if how == "closed":
        page.leave()
    else:
        page.kill()
    for kind in ("rtc-play", "rtc-publish"):
        rtc.wait_sessions(server, kind, 0, 8)


def test_whip_to_flv_hls_and_dvr(servers, pages, tmp_path):
    """A browser's H.264 and Opus for everybody else: as FLV with AAC, HLS and a recording, in step."""
    if mediamtx.PROGRAM:
        pytest.skip("this is about our outputs")
    more = "dvr { enabled on; dvr_path ./rec/[app]/[stream].flv; } hls { enabled on; hls_ctx off; hls_path ./html; hls_fragment 2; hls_window 3600; }"
    server = rtc.start(servers, None, vhost=more, rtc="pli_for_rtmp 1;")
    page = pages(source="canvas", codec="H264", publish=rtc.whip_url(server))
    page.wait(lambda one: ((one["publisher"] or {}).get("video") or {}).get("framesSent", 0) > 60, 30, "60 frames sent")
    flashes.assert_right("HTTP-FLV", flashes.look(server.http_url("live/one.flv"), tmp_path, 5), rtc.FIELDS, AV_MS)
    playlist = hls.wait(server, "/live/one.m3u8", lambda one: len(one.segments) >= 3, 20)
    flashes.assert_right(f"HLS of {len(playlist.segments)} segments", flashes.look(server.http_url("live/one.m3u8"), tmp_path, 5), rtc.FIELDS, AV_MS)
    page.kill()
    rtc.delete(page.last()["resources"][0])
    recording = dvr.wait_files(server, 1)[0]
    flashes.assert_right("DVR", flashes.look(recording, tmp_path), rtc.FIELDS, AV_MS)



# ---- The server's own pages

FRAMES = """<!doctype html><iframe id="whip" allow="camera;microphone"></iframe><iframe id="whep"></iframe><script>
const base = decodeURIComponent(location.hash.slice(1)), page = id => document.getElementById(id);
page("whip").src = base + "/players/whip.html?autostart";
setTimeout(() => page("whep").src = base + "/players/whep.html?autostart", 2000);
reportEvery(300, () => ["whip", "whep"].map(id => {
    const inside = page(id).contentDocument, video = inside && inside.querySelector("video");
    return video && {state: inside.getElementById("state").textContent, time: video.currentTime, width: video.videoWidth};
}));
</script>"""


def test_our_own_pages(ours, tool, tmp_path):
    """Both pages at once, started by their URLs: camera in, video frame out, and what they say of it."""
    # The page around them may look into them, which are of another origin.
    flags = f"{rtc.FLAGS} --disable-web-security --disable-site-isolation-trials"
    page = browser.Browser(tool, tmp_path, FRAMES, f"http://127.0.0.1:{ours.http_port}", flags)
    try:

        def plays():
            last = page.last()
            return last and all(last) and last[1]["time"] > 2 and last[1]["width"] > 0 and last

        whip, whep = wait_until(plays, 30, lambda: f"two seconds of video frame; the pages say {page.last()}", 0.2)
    finally:
        page.close()
    assert "video" in whip["state"] and "frames/s" in whep["state"], f"they say how it goes: {whip} {whep}"
