"""Offers of real clients (src/protocol/sdp/corpus), bad ones made of them, and how they are posted."""

import re

from . import http
from .server import ROOT

OFFERS = ROOT / "src/protocol/sdp/corpus/negotiation"
SDP = {"Content_Type": "application/sdp"}


def offer(name="chromium_whip"):
    return (OFFERS / name).read_bytes()


def call(port, method, path, body=b"", **headers):
    with http.Connection(port) as connection:
        if method == "POST" and not body:
            headers["Content_Length"] = "0"
        connection.request(method, path, body, **headers)
        return connection.read_response(method)


def bad_offers():
    good = offer("ffmpeg_whip").decode()
    yield "empty", ""
    yield "JSON", "{}"
    yield "text", "hello\r\nworld\r\n"
    yield "50,000 ssrc lines", good + "".join(f"a=ssrc:{i} cname:x\r\n" for i in range(50_000))
    yield "5,000 m= lines", "v=0\r\n" + "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n" * 5_000
    yield "65 m= lines", "v=0\r\n" + "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n" * 65
    yield "as many attributes as fit", "v=0\r\n" + "a=setup:active\r\n" * 3_900 + "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n" * 60
    yield "a group that names nothing", good.replace("BUNDLE 0 1", "BUNDLE 0 7")
    yield "no group", good.replace("a=group:BUNDLE 0 1\r\n", "")
    yield "no fingerprint", re.sub(r"a=fingerprint:.*\r\n", "", good)
    yield "no password", re.sub(r"a=ice-pwd:.*\r\n", "", good)
    yield "no codec that is known", good.replace("opus", "speex").replace("H264", "H261")
    for name in ("rtpmap:106", "fmtp:106", "ssrc:260712243", "ssrc-group:FID", "mid:1", "setup:", "ice-ufrag:", "fingerprint:sha-256", "rtcp-fb:106"):
        yield f"{name} cut short", re.sub(rf"a={name}.*\r\n", f"a={name.split(':')[0]}:\r\n", good)
