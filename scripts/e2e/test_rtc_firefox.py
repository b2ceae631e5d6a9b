"""WebRTC in headless Firefox, beside Chromium: what it publishes, and what it plays."""

import pytest

from lib import firefox, mediamtx, network, rtc

pytestmark = [
    pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our own server"),
    pytest.mark.skipif(not firefox.PROGRAM, reason="scripts/test installs Firefox"),
]


@pytest.fixture
def rtc_server(servers):
    with network.own() as address:
        if not address:
            pytest.skip("only root makes a network namespace")
        wanted = rtc.options()
        yield servers(**{**wanted, "top": wanted["top"].replace("candidate 127.0.0.1;", f"candidate {address};")})


@pytest.fixture
def page(rtc_server, tool, tmp_path):
    opened = []

    def open_page(**wanted):
        urls = {"publish": rtc.whip_url(rtc_server), "play": rtc.whep_url(rtc_server)}
        opened.append(firefox.Page(tool, tmp_path / f"firefox{len(opened)}", **urls, **wanted))
        return opened[-1]

    yield open_page
    for one in opened:
        one.close()


@pytest.mark.parametrize("codec", ["VP8", "AV1"])
def test_codec(page, codec):
    seen = page(source="canvas", codec=codec).wait(lambda one: rtc.decodes(one, 30), 30, "30 frames")
    assert seen["player"]["video"]["codec"] == f"video/{codec}", rtc.shortened(seen)
    assert seen["player"]["video"]["packetsLost"] == 0, rtc.shortened(seen)
    rtc.assert_colours(seen["colours"], rtc.FIELDS)


def test_camera_and_microphone(page, rtc_server):
    """Firefox's own choice of codecs, and a tone by Opus."""
    seen = page(source="camera").wait(lambda one: rtc.decodes(one, 30) and rtc.hears(one), 30, "30 frames and audio")
    assert seen["player"]["audio"]["codec"] == "audio/opus", rtc.shortened(seen)
    assert (seen["publisher"]["state"], seen["player"]["state"]) == ("connected", "connected"), rtc.shortened(seen)
    for kind in ("rtc-publish", "rtc-play"):
        rtc.wait_sessions(rtc_server, kind, 1)


def test_of_layers_the_largest_is_played(page):
    layers = [{"rid": rid, "scaleResolutionDownBy": by, "maxBitrate": bits} for rid, by, bits in (("q", 4, 80_000), ("h", 2, 200_000), ("f", 1, 500_000))]
    one = page(source="canvas", codec="VP8", zoom=1.5, encodings=layers)
    seen = one.wait(lambda one: one["width"] == 960 and rtc.decodes(one, 60), 30, "the largest layer, 960 pixels wide")
    rtc.assert_colours(seen["colours"], rtc.FIELDS)
