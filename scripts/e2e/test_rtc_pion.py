"""pion/webrtc (Go) as an independent peer: what it publishes reaches its player packet by packet."""

import pytest

from lib import pion, rtc

pytestmark = pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")


@pytest.fixture
def rtc_server(request, servers, tmp_path):
    server = rtc.start(servers, tmp_path, top=getattr(request, "param", ""))
    yield server
    if not rtc.is_ours(server):
        server.stop()


def assert_passed(found, codec):
    """Both tracks whole, as they were sent, from some packet on to the end."""
    assert sorted(found["player"]) == ["audio", "sound_behind_picture_ms", "video"], found
    for kind, name in (("video", codec), ("audio", "opus")):
        one = found["player"][kind]
        assert one["codec"].lower() == f"{kind}/{name}", f"{kind}: {found}"
        for fault in ("foreign", "timestamp_errors", "marker_errors", "duplicates", "holes_left"):
            assert one[fault] == 0, f"{kind}: {fault} should be 0: {found}"
        assert one["got"] > 60, f"{kind}: more than 60 packets: {found}"
        assert one["not_at_end"] <= 3, f"{kind}: the last packets came too: {found}"
    assert abs(found["player"]["sound_behind_picture_ms"]) <= 40, f"sender reports keep video and audio together: {found}"


@pytest.mark.parametrize(
    "codec, rtc_server",
    [(codec, "") for codec in ("h264", "vp8", "vp9", "av1", "h265")] + [("h264", rtc.BY_THREADS)],
    indirect=["rtc_server"],
    ids=["h264", "vp8", "vp9", "av1", "h265", "h264-by-threads"],
)
def test_codec_passes(rtc_server, codec):
    found = pion.run(codec=codec, whip=rtc.whip_url(rtc_server), whep=rtc.whep_url(rtc_server), seconds=4)
    assert_passed(found, codec)
    assert found["player"]["video"]["first"] <= 25, f"the player begins at the keyframe that is there: {found}"
    assert found["publisher"].get("twcc", 0) > 0, f"the publisher is told how its packets arrive: {found}"


# OBS offers the largest first, browsers the smallest.
@pytest.mark.parametrize("codec, order", [("h264", "qhf"), ("h264", "fhq"), ("vp8", "qhf")])
def test_of_layers_the_largest_passes(rtc_server, codec, order):
    """Whatever their order. Each layer has numbers of its own, and the player's are without a hole."""
    layers = pion.layers(codec, order)
    found = pion.run(codec=codec, whip=rtc.whip_url(rtc_server), whep=rtc.whep_url(rtc_server), seconds=5, layers=layers)
    assert found["answered_layers"] == ";".join(order), f"all layers are answered in their order: {found}"
    assert_passed(found, codec)
