"""HLS (RFC 8216): configurations, playlists read strictly, segments fetched and decrypted, what must hold of all of
them."""

import datetime
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
    gap: bool = False  # it cannot be fetched
    date: float | None = None  # since 1970, s


def lines_of(text):
    """The lines of a playlist, without the first. It is as strict as the strictest players: what is not in RFC 8216, a
    space too many included, is an error."""
    assert text.startswith("#EXTM3U\n") and text.endswith("\n"), f"a playlist begins with #EXTM3U, and ends a line:\n{text}"
    lines = text.split("\n")[1:-1]
    for line in lines:
        assert line and not re.search(r"[\x00-\x1f\x7f]", line), f"an empty line, or a control character in {line!r}:\n{text}"
        assert line == line.strip(), f"spaces around {line!r}:\n{text}"
        if not line.startswith("#"):
            assert re.fullmatch(r"[!-~]+", line) and not re.search(r'["<>\\^`{|}]', line), f"{line!r} is no URI:\n{text}"
    return lines


def number(value, form=r"\d{1,20}"):
    assert re.fullmatch(form, value, re.ASCII), f"{value!r} is no number"
    return float(value) if "." in value else int(value)


def attributes(value, **forms):
    """An attribute list: those named by forms, whose values match them (4.2); no attribute twice, no other one."""
    found = {}
    rest = value
    while rest:
        match = re.match(r'([A-Z0-9-]+)=("[^"\r\n]*"|[^",\s]+)(?:,(?=.)|$)', rest, re.ASCII)
        assert match, f"no attribute: {rest!r} of {value!r}"
        name, text = match[1], match[2]
        assert name not in found, f"{name} is there twice: {value!r}"
        form = forms.get(name.replace("-", "_"))
        assert form and re.fullmatch(form, text, re.ASCII), f"what is {name}={text}: {value!r}"
        found[name] = text.strip('"')
        rest = rest[match.end() :]
    return found


def without_dates(text):
    """The text of a playlist without what differs each time."""
    return re.sub(r"#EXT-X-PROGRAM-DATE-TIME:.*\n", "", text)


class Playlist:
    """A media playlist."""

    def __init__(self, text):
        self.text = text
        self.target = self.sequence = None
        self.discontinuities = 0
        self.segments = []
        self.ended = False
        duration, discontinuity, gap, key, map_uri, date = None, False, False, None, None, None
        once = set()
        lines = lines_of(text)
        for line in lines:
            assert not self.ended, f"{line} is behind the end:\n{text}"
            tag, colon, value = line.partition(":")
            if tag in ("#EXT-X-VERSION", "#EXT-X-TARGETDURATION", "#EXT-X-MEDIA-SEQUENCE") or tag in (
                "#EXT-X-DISCONTINUITY-SEQUENCE",
                "#EXT-X-INDEPENDENT-SEGMENTS",
            ):
                assert tag not in once, f"{tag} is there twice:\n{text}"
                assert not self.segments and not discontinuity, f"{tag} is behind a segment:\n{text}"
                once.add(tag)
            if tag == "#EXT-X-VERSION":
                self.version = number(value, "[1-9]")
            elif tag == "#EXT-X-TARGETDURATION":
                self.target = number(value)
            elif tag == "#EXT-X-MEDIA-SEQUENCE":
                self.sequence = number(value)
            elif tag == "#EXT-X-DISCONTINUITY-SEQUENCE":
                self.discontinuities = number(value)
            elif tag in ("#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-DISCONTINUITY", "#EXT-X-GAP", "#EXT-X-ENDLIST"):
                assert not colon, f"{line} has a value"
                discontinuity |= tag == "#EXT-X-DISCONTINUITY"
                gap |= tag == "#EXT-X-GAP"
                self.ended = tag == "#EXT-X-ENDLIST"
            elif tag == "#EXTINF":
                assert duration is None, f"two EXTINF for a segment:\n{text}"
                duration = number(value.removesuffix(","), r"\d{1,10}\.\d{1,6}")
                assert value.endswith(","), f"{line} has no comma"
            elif tag == "#EXT-X-PROGRAM-DATE-TIME":
                assert date is None, f"two dates of a segment:\n{text}"
                date = datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
            elif tag == "#EXT-X-MAP":
                map_uri = attributes(value, URI=r'"[!-~]+"')["URI"]
            elif tag == "#EXT-X-KEY":
                found = attributes(value, METHOD="AES-128|NONE", URI=r'"[!-~]+"', IV="0x[0-9A-F]{32}")
                assert (found["METHOD"] == "NONE") == (len(found) == 1), f"what key is this: {line}"
                key = Key(found["URI"], found["IV"][2:]) if len(found) > 1 else None
            elif line.startswith("#unfinished:"):  # likewise
                assert re.fullmatch(r"#unfinished:-?\d+,\d+", line), line
            elif line.startswith("#part-target:"):  # a comment, on disk, for the next run
                number(line.removeprefix("#part-target:"), r"\d+\.\d{5}")
            else:
                assert not line.startswith("#"), f"no tag of ours: {line}"
                assert duration is not None, f"{line} has no EXTINF:\n{text}"
                count = self.sequence + len(self.segments)
                self.segments.append(Segment(line, duration, discontinuity, key, map_uri, count, gap, date))
                duration, discontinuity, gap, date = None, False, False, None
        assert self.target is not None and self.sequence is not None, f"target and sequence are missing:\n{text}"
        assert "#EXT-X-VERSION" in once and self.version >= 3, f"parts of seconds need version 3:\n{text}"
        assert self.version >= 6 or not any(segment.map for segment in self.segments), f"maps need version 6:\n{text}"
        assert duration is None and not discontinuity and not gap and date is None, f"no segment is behind the last tag:\n{text}"
        for segment in self.segments:
            # "When rounded to the nearest integer" (4.3.3.1).
            assert segment.duration < self.target + 0.5, f"{segment} is longer than the target:\n{text}"

    def span(self):
        return sum(segment.duration for segment in self.segments)

    def there(self):
        """The segments that can be fetched, each with whether it is continuous with the one before."""
        behind_gap = False
        for segment in self.segments:
            if not segment.gap:
                yield segment, not segment.discontinuity and not behind_gap
            behind_gap = segment.gap


class Multivariant:
    """A multivariant playlist: its variants by their URIs, in their order, the attributes of its audio renditions, and of
    one with one variant its URI and attributes."""

    def __init__(self, text):
        self.text = text
        lines = lines_of(text)
        self.independent = lines[:1] == ["#EXT-X-INDEPENDENT-SEGMENTS"]
        self.variants, self.audio = {}, []
        waiting = None
        for line in lines[self.independent :]:
            tag, _, value = line.partition(":")
            if waiting is not None:
                assert not line.startswith("#") and line not in self.variants, f"a URI behind each variant:\n{text}"
                self.variants[line], waiting = waiting, None
            elif tag == "#EXT-X-STREAM-INF":
                waiting = attributes(
                    value,
                    BANDWIDTH=r"[1-9]\d*",
                    AVERAGE_BANDWIDTH=r"[1-9]\d*",
                    CODECS=r'"[\w.-]+(,[\w.-]+)*"',
                    RESOLUTION=r"[1-9]\d*x[1-9]\d*",
                    FRAME_RATE=r"\d+\.\d{3}",
                    AUDIO=r'"audio\d*"',
                    CLOSED_CAPTIONS="NONE",
                )
                assert "BANDWIDTH" in waiting, f"BANDWIDTH is required: {value}"
            else:
                assert tag == "#EXT-X-MEDIA" and not self.variants, f"no tag of ours: {line}"
                self.audio.append(
                    attributes(
                        value,
                        TYPE="AUDIO",
                        GROUP_ID=r'"audio\d*"',
                        NAME='"[^"]+"',
                        LANGUAGE='"[A-Za-z0-9-]+"',
                        DEFAULT="YES",
                        AUTOSELECT="YES",
                        CHANNELS=r'"\d+"',
                        URI='"[!-~]+"',
                    )
                )
        assert self.variants and waiting is None, f"a variant has two lines:\n{text}"
        self.uri, self.variant = next(iter(self.variants.items()))
        named = {variant["AUDIO"] for variant in self.variants.values() if "AUDIO" in variant}
        assert {audio["GROUP-ID"] for audio in self.audio} == named, f"variants name the groups that are there:\n{text}"


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


def packet_times(source, kind, run=ffmpeg.command9):
    """The dts of each packet of the first track of that kind that ffmpeg copies from a file or URL, in seconds."""
    words = ["-i", source, "-map", f"0:{kind[0]}:0", "-c", "copy", "-copyts", "-f", "framemd5", "-"]
    done = subprocess.run(run(*words), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"ffmpeg reads {source}: {done.stderr}"
    numerator, denominator = re.search(r"^#tb 0: (\d+)/(\d+)$", done.stdout, re.M).groups()
    lines = (line.split(",") for line in done.stdout.splitlines() if not line.startswith("#"))
    return [int(line[1]) * int(numerator) / int(denominator) for line in lines]


def assert_same(want, got, who):
    assert sorted(want) == sorted(got), f"{who}: tracks {sorted(want)} were published, {sorted(got)} came"
    for kind, published in want.items():
        for index, (one, other) in enumerate(zip(published, got[kind])):
            assert one == other, f"{who}: {kind} packet {index} of {len(published)} should be {one}, it is {other}"
        assert len(published) == len(got[kind]), f"{who}: {len(published)} {kind} packets, {len(got[kind])} came"
