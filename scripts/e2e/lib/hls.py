"""HLS (RFC 8216): configurations, playlists read strictly, segments fetched and decrypted, what must hold of all of
them."""

import re
import subprocess
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from . import ffmpeg, http
from .timing import wait_until


class Key(NamedTuple):
    uri: str
    iv: str


class Segment(NamedTuple):
    uri: str
    duration: float
    discontinuity: bool
    key: Key | None
    map: str | None
    sequence: int


class Playlist:
    def __init__(self, text):
        self.text = text
        self.target = self.sequence = None
        self.discontinuities = 0
        self.segments = []
        self.ended = False
        lines = text.split("\n")
        assert lines[0] == "#EXTM3U" and lines[-1] == "", f"a playlist begins with #EXTM3U and ends with a line:\n{text}"
        duration, discontinuity, key, map_uri = None, False, None, None
        for line in lines[1:-1]:
            tag, _, value = line.partition(":")
            if tag == "#EXT-X-TARGETDURATION":
                self.target = int(value)
            elif tag == "#EXT-X-MEDIA-SEQUENCE":
                self.sequence = int(value)
            elif tag == "#EXT-X-DISCONTINUITY-SEQUENCE":
                self.discontinuities = int(value)
            elif tag == "#EXT-X-DISCONTINUITY":
                discontinuity = True
            elif tag == "#EXT-X-ENDLIST":
                self.ended = True
            elif tag == "#EXTINF":
                duration = float(value.split(",")[0])
            elif tag == "#EXT-X-MAP":
                map_uri = re.fullmatch(r'URI="([^"]+)"', value)[1]
            elif tag == "#EXT-X-KEY":
                found = re.fullmatch(r'METHOD=AES-128,URI="([^"]+)",IV=0x([0-9a-f]{32})', value)
                assert found or value == "METHOD=NONE", f"what key is this: {line}"
                key = Key(found[1], found[2]) if found else None
            elif not line.startswith("#"):
                assert duration is not None, f"{line} has no EXTINF:\n{text}"
                number = self.sequence + len(self.segments)
                self.segments.append(Segment(line, duration, discontinuity, key, map_uri, number))
                duration, discontinuity = None, False
        assert self.target is not None and self.sequence is not None, f"target and sequence are missing:\n{text}"
        for segment in self.segments:
            assert segment.duration <= self.target, f"{segment} is longer than the target:\n{text}"

    def span(self):
        return sum(segment.duration for segment in self.segments)


def vhost(rejoin=300, play="", publish="", more="", **directives):
    """hls_ of directive names is left out. The whole stream stays in the playlist unless window is given."""
    settings = {"fragment": "2", "window": "3600", "path": "./html", "ctx": "off", **directives}
    text = " ".join(f"hls_{name} {value};" for name, value in settings.items())
    return (
        f"vhost __defaultVhost__ {{ hls {{ enabled on; {text} }} "
        f"play {{ rejoin_timeout {rejoin}; {play} }} publish {{ {publish} }} {more} }}\n"
    )


def get(server, path):
    """The playlist, or None where there is none (404)."""
    response = http.get(server.http_port, path)
    if response.status == 404:
        return None
    assert response.status == 200, f"{path}: {response.describe()}"
    return Playlist(response.body.decode())


def wait(server, path, condition, seconds=10, what="what was waited for"):
    """The first playlist that the condition holds of."""
    last = []

    def look():
        playlist = get(server, path)
        last[:] = [playlist.text if playlist else "404"]
        return playlist if playlist and condition(playlist) else None

    return wait_until(look, seconds, lambda: f"{what} of {path}; the playlist is\n{last[0]}", step=0.05)


def wait_end(server, path, seconds=10):
    return wait(server, path, lambda playlist: playlist.ended, seconds, "the end of the list")


def fetch(server, path, uri):
    """The bytes behind a URI of the playlist at that path."""
    parts = urlsplit(urljoin(f"http://127.0.0.1:{server.http_port}{path}", uri))
    response = http.get(parts.port, parts.path + (f"?{parts.query}" if parts.query else ""))
    assert response.status == 200, f"{uri} of {path}: {response.describe()}"
    return response.body


def segment_bytes(server, path, segment):
    """Of a segment, decrypted."""
    data = fetch(server, path, segment.uri)
    if not segment.key:
        return data
    key = fetch(server, path, segment.key.uri)
    assert len(key) == 16, f"a key has 16 bytes, {segment.key.uri} has {len(key)}"
    words = ["openssl", "enc", "-d", "-aes-128-cbc", "-K", key.hex(), "-iv", segment.key.iv]
    return subprocess.run(words, input=data, check=True, capture_output=True).stdout


def file_on_disk(server, playlist_path, uri):
    return (server.dir / "html" / playlist_path.lstrip("/")).parent / uri.split("?")[0]


def packets(source, *filters, run=ffmpeg.command9):
    """By kind of track: (size, md5) of each packet that ffmpeg copies from a file or URL."""
    words = ["-i", source, "-map", "0:v?", "-map", "0:a?", "-c", "copy", *filters, "-f", "framemd5", "-"]
    done = subprocess.run(run(*words), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"ffmpeg reads {source}: {done.stderr}"
    kinds = {}
    for line in done.stdout.splitlines():
        if line.startswith("#media_type"):
            number, kind = line[11:].split(":")
            kinds[int(number)] = kind.strip()
    found = ffmpeg.framemd5(done.stdout)
    return {kinds[number]: [(packet.size, packet.md5) for packet in found[number]] for number in found}


def assert_same(want, got, who):
    assert sorted(want) == sorted(got), f"{who}: tracks {sorted(want)} were published, {sorted(got)} came"
    for kind, published in want.items():
        for index, (one, other) in enumerate(zip(published, got[kind])):
            assert one == other, f"{who}: {kind} packet {index} of {len(published)} should be {one}, it is {other}"
        assert len(published) == len(got[kind]), f"{who}: {len(published)} {kind} packets, {len(got[kind])} came"
