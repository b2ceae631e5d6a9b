"""Programs of others that publish and play by RTSP: gortsplib and GStreamer. FFmpeg is in test_rtsp.py and
test_rtsp_publish.py, and so is GStreamer as a player."""

import json
import time

import pytest

from lib import api, flv, golang, gortsplib, http, media, publishing, rtmp, rtsp, ts
from lib.rtsp_server import API, UDP, make, port_pair


@pytest.fixture
def server(servers):
    rtp, _ = port_pair()
    return make(servers, UDP.replace("UDP_PORT", str(rtp)), top=API)


@pytest.mark.skipif(not golang.is_there(), reason="scripts/test installs Go")
@pytest.mark.parametrize("how, in_step", [("udp", False), pytest.param("tcp", True, marks=pytest.mark.long)], ids=["udp", "tcp-in-step"])
def test_gortsplib_plays_and_publishes(server, tool, how, in_step):
    """What it plays it publishes under another name: the frames are those of the first publisher. Its first report comes
    after 10 s; from then on the tracks are in step."""
    command = gortsplib.relay(rtsp.url(server, "live/s"), rtsp.url(server, "live/t"), how, how, 60)
    tags = media.tags(media.with_b_frames())
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, tags):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 40)
        relay = tool(command)
        api.wait_stream(server, "t", lambda stream: stream["frames"] > 40, seconds=15)
        time.sleep(14 if in_step else 0)
        with rtsp.client(server) as player:
            player.play(rtsp.url(server, "live/t"))
            frames = player.read_frames(10, lambda got: len(got) > 250)
    rtsp.assert_same(tags, frames, 44_100, f"gortsplib by {how}", in_step=60 if in_step else 0)
    for kind, name in (("play", "s"), ("publish", "t")):
        server.wait_log(f"RTSP {kind}: .*live/{name}, {'UDP' if how == 'udp' else 'interleaved'}")
    relay.finish(10, codes=None)
    found = json.loads(relay.text().splitlines()[-1])
    assert all(count > 50 for count in found["packets"].values()) and len(found["packets"]) == 2, f"both tracks should be relayed: {found}"


@pytest.mark.parametrize("protocol, query", [("tcp", ""), ("udp", ""), ("tcp", "?token=a/b&x=1")], ids=["tcp", "udp", "parameters"])
def test_gstreamer_publishes(server, tool, protocol, query):
    """By rtspclientsink: the video is that of the file, and audio comes."""
    collected = publishing.Collector(http.Live(server.http_port, "/live/g.flv", wait=False))
    source = media.plain()
    words = f"filesrc location={source} ! flvdemux name=d rtspclientsink name=s location={rtsp.url(server, 'live/g' + query)} protocols={protocol}"
    words += " d.video ! queue ! h264parse ! s. d.audio ! queue ! aacparse ! s."
    publisher = tool(["gst-launch-1.0", "-q", *words.split()])
    api.wait_stream(server, "g", lambda stream: stream["frames"] > 60, seconds=20)
    server.wait_log(f"RTSP publish: .*live/g, {'UDP' if protocol == 'udp' else 'interleaved'}")
    time.sleep(3)
    publisher.kill()
    got = flv.frames(collected.finish(20, "HTTP-FLV"))
    want = [ts.published_units(tag) for tag in flv.frames(media.tags(source)) if tag.type == flv.VIDEO]
    units = [ts.published_units(tag) for tag in got if tag.type == flv.VIDEO]
    first = want.index(units[0])
    assert len(units) > 50 and units == want[first : first + len(units)], f"{len(units)} video frames should be those of the file from {first} on"
    assert len([tag for tag in got if tag.type == flv.AUDIO]) > 60, "audio should come, too"
