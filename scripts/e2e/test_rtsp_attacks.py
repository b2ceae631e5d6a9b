"""RTSP connections that do what no player and no camera does: the server answers or closes, serves the next client, and its
log stays short."""

import pytest

from lib import api, media, publishing, rtmp, rtsp
from lib.rtsp_server import API, UDP, make, port_pair


@pytest.fixture
def udp_server(servers):
    rtp, _ = port_pair()
    return make(servers, UDP.replace("UDP_PORT", str(rtp)), top=API)


def pipelined(client, *requests):
    """Several requests in one write: the statuses."""
    text = ""
    for method, url, fields in requests:
        client.cseq += 1
        lines = [f"{method} {url} RTSP/1.0", f"CSeq: {client.cseq}", *(f"{name}: {value}" for name, value in fields.items())]
        text += "\r\n".join(lines) + "\r\n\r\n"
    client.send(text.encode())
    return [client.response().status for _ in requests]


def test_what_is_pipelined_behind_record(udp_server):
    """A publisher by UDP becomes no player of another stream, whatever it sends in one write with RECORD; it publishes on."""
    tags = media.from_keyframe(media.with_b_frames())[:60]
    url, other = rtsp.url(udp_server, "live/s"), rtsp.url(udp_server, "live/other")
    with rtmp.publisher(udp_server, "live", "other") as source, publishing.Steady(source, tags):
        api.wait_stream(udp_server, "other", lambda stream: stream["frames"] > 10)
        with rtsp.Publisher(udp_server.rtc_port) as client:
            assert client.announce(url, tags).status == 200
            for index in (0, 1):
                assert client.setup_udp(f"{url}/streamid={index}", index).status == 200
            failing = {"Transport": "RTP/AVP;multicast"}
            statuses = pipelined(
                client,
                ("RECORD", url, {}),
                ("SETUP", f"{url}/streamid=0", failing),
                ("SETUP", f"{url}/streamid=1", failing),
                ("DESCRIBE", other, {}),
                ("SETUP", f"{other}/trackID=0", {"Transport": rtsp.TCP.format(0, 1)}),
                ("PLAY", other, {}),
                ("GET_PARAMETER", url, {}),
            )
            assert statuses == [200, 455, 455, 455, 455, 455, 200], f"only RECORD and the last should be accepted: {statuses}"
            assert api.wait_stream(udp_server, "s", lambda stream: True)["publish"]["active"]
            statuses = pipelined(client, ("TEARDOWN", url, {}))
            assert statuses == [200], f"TEARDOWN should be answered with 200, it was with {statuses}"


def test_what_an_announcement_lacks_is_logged_with_a_limit(udp_server):
    """300 announcements of one connection, each with 15 tracks that are left out."""
    tags = media.from_keyframe(media.with_b_frames())[:60]
    body = rtsp.description(tags) + "m=application 0 RTP/AVP 107\r\n" * 15
    url = rtsp.url(udp_server, "live/s")
    with rtsp.client(udp_server) as client:
        for _ in range(300):
            assert client.request("ANNOUNCE", url, body=body, Content_Type="application/sdp").status == 200
    lines = udp_server.log().count("RTSP publish: left out")
    assert 20 <= lines <= 60, f"the first 20 lines should be logged, then one a second, {lines} are"
