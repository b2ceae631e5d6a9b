"""The bytes that a fixed publishing gives, in every format that is carried or kept, against those of golden.json, which has
a checksum for each 64 of them: so a test says where they differ first. GOLDEN_WRITE=1 writes the new ones, and the commit's
message says why."""

import base64
import datetime
import hashlib
import json
import os
import pathlib
import re
import zlib

import pytest

from lib import dvr, flv, hls, http, publishing, rtmp
from lib.timing import scaled

KEPT = pathlib.Path(__file__).parent / "golden.json"
SECONDS, KEYFRAME_EVERY = 12, 50  # at 25 video frames a second
AVC = bytes.fromhex("17000000000164001fffe1001967640020acd940c029b01100000300010000030032 0f183196010006 68ebecb22c0000")
AAC = bytes.fromhex("af001210")


def noise(seed, size):
    """Bytes without a zero, the same on every machine."""
    out, value = bytearray(), seed * 2654435761 + 1
    while len(out) < size:
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(1 + (value >> 16) % 255)
    return bytes(out)


def video_frame(number):
    key = number % KEYFRAME_EVERY == 0
    late = {1: 80, 2: 0, 3: 0}.get(number % 4, 40) if not key else 40  # a B-frame or two
    unit = bytes([0x65 if key else 0x41]) + noise(number, 3000 if key else 400)
    head = bytes([0x17 if key else 0x27, 1]) + late.to_bytes(3, "big")
    return flv.Tag(9, number * 40, head + len(unit).to_bytes(4, "big") + unit)


def published():
    """Twelve seconds of H.264 with later presentation, and of AAC at 44.1 kHz whose times are rounded."""
    tags = [flv.Tag(9, 0, AVC), flv.Tag(8, 0, AAC)]
    frames = [video_frame(number) for number in range(SECONDS * 25)]
    frames += [flv.Tag(8, round(number * 1024000 / 44100), b"\xaf\x01" + noise(number, 120)) for number in range(SECONDS * 43)]
    return tags + sorted(frames, key=lambda tag: (tag.timestamp, tag.type))


BLOCK = 64


def of_tags(tags):
    return b"".join(flv.encode(tag) for tag in tags)


def summary(data):
    """What golden.json has of it: a byte for each block tells where it differs, the digest whether."""
    blocks = bytes(zlib.crc32(data[at : at + BLOCK]) & 255 for at in range(0, len(data), BLOCK))
    return {"bytes": len(data), "digest": hashlib.sha256(data).hexdigest()[:16], "blocks": base64.b64encode(blocks).decode()}


def difference(data, kept):
    """The first bytes that are others than the kept ones; empty: there are none."""
    got = summary(data)
    if got["digest"] == kept["digest"]:
        return ""
    new, old = base64.b64decode(got["blocks"]), base64.b64decode(kept["blocks"])
    same = next((number for number, pair in enumerate(zip(new, old, strict=False)) if pair[0] != pair[1]), min(len(new), len(old)))
    at = min(same * BLOCK, len(data))
    found = data[at : at + BLOCK]
    return f"{len(data)} bytes instead of {kept['bytes']}, others from {at} to {at + BLOCK - 1} on: {found.hex(' ')} {found!r}"


def test_the_first_difference_is_found():
    data = bytes(range(256)) * 8
    for at in (0, 63, 64, 1000, 2047):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert f"from {at // BLOCK * BLOCK} to" in difference(changed, summary(data))
    assert difference(data, summary(data)) == ""
    assert "2047 bytes instead of 2048" in difference(data[:-1], summary(data))
    assert "from 2048 to" in difference(data + b"x", summary(data))


class Bytes(publishing.Collector):
    """Collects a body instead of tags."""

    def _run(self):
        while not self.source.ended:
            self.tags.append(self.source.data())


def dates_from_the_first(playlist):
    """A playlist's text with dates as ms since its first one."""
    date = re.compile(r"(?<=#EXT-X-PROGRAM-DATE-TIME:)\S+")
    times = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in date.findall(playlist)]
    since = iter((time - times[0]) // datetime.timedelta(milliseconds=1) for time in times)
    return date.sub(lambda _: f"{next(since)}", playlist)


def made(server, extension):
    """What the server makes of it, by what it is."""
    live = {"wait": False, "timeout": scaled(30)}
    by_rtmp = publishing.Collector(rtmp.player(server, "live", "g"))
    by_flv = publishing.Collector(http.Live(server.http_port, "/live/g.flv", **live))
    by_ts = Bytes(http.Live(server.http_port, "/live/g.ts", **live))
    server.wait_players("live/g", 3)
    with rtmp.publisher(server, "live", "g") as client:
        publishing.send_all(client, published())
    out = {
        "rtmp": of_tags(by_rtmp.finish(scaled(20), "RTMP")),
        "http-flv": of_tags(by_flv.finish(scaled(20), "HTTP-FLV")),
        "http-ts": b"".join(by_ts.finish(scaled(20), "HTTP-TS")),
    }
    playlist = hls.wait_end(server, "/live/g.m3u8", 20)
    out["playlist"] = dates_from_the_first(re.sub(r"g-\d+", "g", playlist.text)).encode()
    maps = {segment.map for segment in playlist.segments if segment.map}
    for number, uri in enumerate(sorted(maps)):
        out[f"init {number}"] = hls.fetch(server, "/live/g.m3u8", uri)
    for number, segment in enumerate(playlist.segments):
        out[f"segment {number}"] = hls.segment_bytes(server, "/live/g.m3u8", segment)
    [recording] = dvr.wait_files(server, 1, seconds=20)
    out[f"recording.{extension}"] = recording.read_bytes()
    return out


# A recorder ends its fragments by the clock, too, when the publisher is slow.
@pytest.mark.quiet
@pytest.mark.parametrize("form, extension", [("ts", "flv"), ("fmp4", "mp4")])
def test_bytes_are_those_that_are_kept(servers, form, extension):
    remux = "http_remux { enabled on; mount [vhost]/[app]/[stream].flv; wait_publisher on; }"
    record = f"dvr {{ enabled on; dvr_path ./rec/[stream].{extension}; }}"
    fmp4 = "on" if form == "fmp4" else "off"
    more = {"play": "mw_latency 100;", "more": f"{remux} {record}", "fragment": "4", "use_fmp4": fmp4}
    got = made(servers(vhosts=hls.vhost(storage="memory", **more)), extension)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if os.environ.get("GOLDEN_WRITE"):
        summaries = {what: summary(data) for what, data in got.items()}
        KEPT.write_text(json.dumps({**kept, form: summaries}, indent=1, sort_keys=True) + "\n")
        return
    want = kept[form]
    assert sorted(got) == sorted(want), f"what there is: {sorted(got)}, and was: {sorted(want)}"
    other = {what: text for what in want if (text := difference(got[what], want[what]))}
    assert not other, "other bytes than before (GOLDEN_WRITE=1 writes them):\n" + "\n".join(f"{what}: {text}" for what, text in other.items())
