"""The media that a playlist lists: each new part and segment is fetched, read, and put beside its duration, its parts and
what came before it."""

import subprocess
from typing import NamedTuple

from . import mp4, ts

DURATION_TOLERANCE = 0.1
_JUMP = 0.5


class Read(NamedTuple):
    """What is known of one resource. Times are seconds, of video if there is video."""

    begin: float
    end: float
    codecs: frozenset
    key: bool | None
    tracks: dict  # fMP4: id -> (begin, end) in its timescale
    counters: dict  # TS
    sizes: frozenset  # (width, height)
    rate: float  # video frames per second; 0: unknown
    longest: float  # from the first beginning of a track to the last end


class Media:
    """Of one media playlist. fetch(uri, byterange, what) -> bytes, or None where that failed."""

    def __init__(self, add, fetch, back=10):
        self.add, self.fetch, self.back = add, fetch, back
        self.rates = []  # (bytes, seconds) of each segment
        self.codecs, self.sizes, self.frame_rate = set(), set(), 0.0
        self.dates = {}  # discontinuity number -> date of media time 0
        self._cache = {}
        self._seen = None
        self._parts = {}  # (number, index) -> bytes
        self._opened = set()  # segments that were seen with all of their parts
        self._last = {}  # "segment", "part" -> (number, index, Read)
        self._sums = None
        self._unchecked = None  # the last segment and what was read

    def update(self, playlist):
        if self._seen is None:
            numbers = [segment.number for segment in playlist.all()]
            self._seen = {(number, None) for number in numbers[: -self.back]}
        for segment in playlist.all():
            if segment is playlist.open:
                self._opened.add(segment.number)
            for index, part in enumerate(segment.parts):
                # Of a complete segment some may have left: indices are not known then.
                if segment is playlist.open or len(self._of(segment.number)) == index:
                    self._part(playlist, segment, index, part)
            if segment.uri and (segment.number, None) not in self._seen:
                self._seen.add((segment.number, None))
                self._segment(playlist, segment)
        for key in [key for key in self._parts if key[0] < playlist.last_number() - 1]:
            del self._parts[key]

    def _of(self, number):
        return [self._parts[key] for key in sorted(key for key in self._parts if key[0] == number)]

    def _part(self, playlist, segment, index, part):
        if (segment.number, index) in self._seen or part.gap or (segment.number, None) in self._seen:
            return
        self._seen.add((segment.number, index))
        data = self._get(segment, part.uri, part.byterange, "part")
        if data is None:
            self._last.pop("part", None)
            return
        self._parts[segment.number, index] = data
        read = self._read(segment, data, f"part {index} of segment {segment.number}")
        if read:
            self._duration(read, part.duration, part.uri)
            if part.independent and read.key is False:
                self.add("media-independent", f"a keyframe at the beginning of {part.uri}", "none")
            self._continues("part", (segment.number, index), read, segment if index == 0 else None)

    def _segment(self, playlist, segment):
        if segment.gap:
            self._last.clear()
            return
        data = self._get(segment, segment.uri, segment.byterange, "segment")
        if data is None:
            self._last.pop("segment", None)
            return
        self.rates.append((len(data), segment.duration))
        parts = self._of(segment.number)
        complete = segment.number in self._opened and parts and len(parts) == len(segment.parts)
        if complete and not segment.key and b"".join(parts) != data:
            sizes = sum(map(len, parts))
            self.add("parts-joined", f"{len(data)} bytes of {segment.uri}", f"{sizes} of its parts, or others")
        read = self._read(segment, data, segment.uri)
        if not read:
            return
        self._segment_duration(segment, read)
        if playlist.independent and read.key is False:
            self.add("media-independent", f"a keyframe at the beginning of {segment.uri}", "none")
        self._continues("segment", (segment.number, 0), read, segment)
        self._sum(segment, read)
        self.codecs |= read.codecs
        self.sizes |= read.sizes
        self.frame_rate = max(self.frame_rate, read.rate)
        if segment.date is not None:
            self.dates[segment.discontinuity_number] = segment.date - read.begin

    def _sum(self, segment, read):
        """EXTINF of a run beside its media."""
        if self._sums is None or segment.discontinuity or segment.number != self._sums[0] + 1:
            self._sums = (segment.number, read.begin, 0.0)
        number, begin, total = segment.number, *self._sums[1:]
        if abs(read.begin - begin - total) > DURATION_TOLERANCE:
            self.add("media-durations", f"{total:.3f} s before {segment.uri}", f"{read.begin - begin:.3f} s of media")
            total = read.begin - begin
        self._sums = (number, begin, total + segment.duration)

    def _segment_duration(self, segment, read):
        """Of the segment before this one: to its last frame's end, or to the next one's beginning if frames are missing.
        Where none follows, because a publisher left, there may be more audio than video."""
        before, self._unchecked = self._unchecked, (segment, read)
        if not before:
            return
        old, last = before
        follows = segment.number == old.number + 1 and not segment.discontinuity
        if follows and abs(read.begin - last.begin - old.duration) <= DURATION_TOLERANCE:
            return
        if follows or not last.end - last.begin <= old.duration <= last.longest + DURATION_TOLERANCE:
            self._duration(last, old.duration, old.uri)

    def _duration(self, read, said, uri):
        if abs(read.end - read.begin - said) > DURATION_TOLERANCE:
            self.add("media-duration", f"{said} s of {uri}", f"{read.end - read.begin:.3f} s of media")

    def _continues(self, what, number, read, segment):
        """segment: if this is its beginning."""
        before, self._last[what] = self._last.get(what), (number, read)
        if not before or (segment and segment.discontinuity):
            return
        old, last = before
        if number not in ((old[0], old[1] + 1), (old[0] + 1, 0)):
            return
        name = f"{what} {number[0]}" + (f".{number[1]}" if what == "part" else "")
        if abs(read.begin - last.end) > _JUMP:
            self.add("media-jump", f"{name} at {last.end:.3f} s, or a discontinuity", f"{read.begin:.3f} s")
        if what == "segment" and read.codecs != last.codecs:
            self.add("media-tracks", f"{sorted(last.codecs)} in {name}, or a discontinuity", sorted(read.codecs))
        for track in read.tracks.keys() & last.tracks.keys():
            if abs(read.tracks[track][0] - last.tracks[track][1]) > read.tracks[track][2] / 1000:
                self.add("mp4-decode-time", f"{last.tracks[track][1]} of track {track} in {name}", read.tracks[track][0])
        for pid in read.counters.keys() & last.counters.keys():
            if read.counters[pid][0] != (last.counters[pid][1] + 1) % 16:
                self.add("ts-continuity", f"{(last.counters[pid][1] + 1) % 16} of PID {pid} in {name}", read.counters[pid][0])

    # --- bytes

    def _get(self, segment, uri, byterange, what):
        data = self.fetch(uri, byterange, what)
        if data is None or not segment.key or segment.key.method != "AES-128":
            return data
        return self._decrypt(data, segment.key, segment.number, uri)

    def _decrypt(self, data, key, number, uri):
        secret = self._cached(key.uri, None, "key")
        if secret is None:
            return None
        if len(secret) != 16:
            self.add("key-size", "16 bytes", f"{len(secret)} of {key.uri}")
            return None
        iv = key.iv[2:] if key.iv else f"{number:032x}"
        words = ["openssl", "enc", "-d", "-aes-128-cbc", "-K", secret.hex(), "-iv", iv]
        done = subprocess.run(words, input=data, capture_output=True, check=False)
        if done.returncode:
            self.add("media-encrypted", f"AES-128-CBC with PKCS7 of {uri}", done.stderr.decode(errors="replace")[:80].strip())
            return None
        return done.stdout

    def _cached(self, uri, byterange, what):
        if (uri, byterange) not in self._cache:
            self._cache[uri, byterange] = self.fetch(uri, byterange, what)
        return self._cache[uri, byterange]

    # --- readers

    def _read(self, segment, data, name):
        if data[:1] == b"\x47":
            return self._read_ts(data)
        if data[4:8] in (b"styp", b"moof", b"sidx", b"prft", b"emsg", b"ftyp", b"free"):
            return self._read_mp4(segment, data, name)
        if not data.startswith((b"ID3", b"WEBVTT", b"\xff\xf1", b"\xff\xf9", b"\xff\xfb")):
            self.add("media-format", "MPEG-TS, fragmented MP4, packed audio or WebVTT", f"{data[:8].hex()} of {name}")
        return None

    def _read_ts(self, data):
        read = ts.Segment(data)
        for problem in read.problems:
            self.add(*problem)
        last = self._last.get("segment")
        spans = read.spans(last[1].end if last else None)
        video = [pid for pid in spans if read.streams[pid] in (0x1B, 0x24, 0x02)]
        if not spans:
            self.add("media-format", "a frame with a time", "none")
            return None
        main = video[0] if video else next(iter(spans))
        begin, end = spans[main]
        rate = len(read.times[main]) / (end - begin) if video and end > begin else 0
        longest = max(one[1] for one in spans.values()) - min(one[0] for one in spans.values())
        return Read(begin, end, frozenset(read.codecs()), read.key, {}, read.counters, frozenset(), rate, longest)

    def _read_mp4(self, segment, data, name):
        if not segment.map:
            self.add("media-map", "EXT-X-MAP", f"none, {name}")
            return None
        init = self._cached(segment.map.uri, segment.map.byterange, "map")
        if init is None:
            return None
        if segment.map.key:
            init = self._decrypt(init, segment.map.key, 0, segment.map.uri)
        try:
            tracks = mp4.read_init(init or b"")
            kinds, fragments = mp4.read_fragments(data, tracks)
        except ValueError as error:
            self.add("media-format", f"fragments of the tracks in {segment.map.uri}", f"{error}, {name}")
            return None
        if "styp" in kinds[1:]:
            self.add("mp4-boxes", "styp at the beginning only", ", ".join(kinds))
        spans = {}
        for one in fragments:
            begin, _, scale = spans.get(one.track, (one.begin, 0, tracks[one.track].timescale))
            spans[one.track] = (begin, one.begin + one.duration, scale)
        present = [tracks[track] for track in spans]
        main = next((track for track in present if track.kind == "vide"), present[0])
        first = next(one for one in fragments if one.track == main.id)
        samples = sum(one.samples for one in fragments if one.track == main.id)
        begin, end, scale = spans[main.id]
        rate = samples * scale / (end - begin) if main.kind == "vide" and end > begin else 0
        shift = 0 if main.kind != "vide" else first.earliest
        sizes = frozenset((track.width, track.height) for track in present if track.kind == "vide")
        codecs = frozenset(track.codec for track in tracks.values())  # a track may pause
        key = first.sync if main.kind == "vide" else None
        longest = max(one[1] / one[2] for one in spans.values()) - min(one[0] / one[2] for one in spans.values())
        return Read((begin + shift) / scale, (end + shift) / scale, codecs, key, spans, {}, sizes, rate, longest)
