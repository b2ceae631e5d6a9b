"""MPEG-TS (ISO/IEC 13818-1), read by itself: packets, tables, PES packets; what is wrong with them; and whether they
are what was published as FLV."""

from typing import NamedTuple

from . import flv, http, publishing
from .timing import scaled

H264, HEVC, AAC, MP3, PRIVATE = 0x1B, 0x24, 0x0F, 0x03, 0x06
VIDEO_TYPES = (H264, HEVC)
_WRAP = 1 << 33
# Delimiters and parameter sets: a muxer adds and leaves out these.
_ADDED = {H264: (7, 8, 9), HEVC: (32, 33, 34, 35)}
_KEY = {H264: (5,), HEVC: range(16, 22)}

HALF_A_MS = 45  # ticks


class Pes(NamedTuple):
    pid: int
    stream_type: int
    pts: int  # 90 kHz, unwrapped
    dts: int
    random_access: bool
    payload: bytes
    segment: int

    def units(self):
        """NAL units without delimiters and parameter sets."""
        added = _ADDED[self.stream_type]
        return [unit for unit in nal_units(self.payload) if unit_type(self.stream_type, unit) not in added]

    def types(self):
        return [unit_type(self.stream_type, unit) for unit in nal_units(self.payload)]


def unit_type(stream_type, unit):
    return unit[0] & 0x1F if stream_type == H264 else unit[0] >> 1 & 0x3F


def nal_units(stream):
    """Of a byte stream with start codes."""
    units, at = [], stream.find(b"\0\0\1")
    while at >= 0:
        end = stream.find(b"\0\0\1", at + 3)
        unit = stream[at + 3 : end if end >= 0 else len(stream)].rstrip(b"\0")
        if unit:
            units.append(unit)
        at = end
    return units


def crc32(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 0x80000000 else 0)) & 0xFFFFFFFF
    return value


class Checker:
    """Reads the segments of one stream, one after the other (a live stream is one segment). problems says in words what
    is not as the standard, or HLS, wants it; pes is what was carried. Files in hours of 33 bits are no problem.

    keyframes: each segment begins with one, where there is video."""

    def __init__(self, keyframes=True, clock_ms=100, gap_ms=1000):
        self.keyframes, self.clock_ms, self.gap_ms = keyframes, clock_ms, gap_ms
        self.problems = []
        self.pes = []
        self.programs = []  # each new map: (version, {pid: stream type})
        self.packets = 0
        self.clocks = 0
        self.segments = 0
        self._continuity = {}
        self._open = {}
        self._map_pid = self._pcr_pid = None
        self._streams = {}
        self._clock = None
        self._last = None
        self._last_dts = {}
        self._tables = {}

    def _problem(self, text):
        if len(self.problems) < 30:
            self.problems.append(f"segment {self.segments - 1}: {text}")

    def segment(self, data, discontinuity=False):
        """discontinuity: the playlist says that time and tracks begin anew here."""
        self.segments += 1
        if discontinuity:
            self._clock = self._last = None
            self._last_dts = {}
            self._continuity = {}
        if not data or len(data) % 188:
            self._problem(f"{len(data)} bytes are no whole packets")
        begin = len(self.pes)
        for at in range(0, len(data) - 187, 188):
            self._packet(data[at : at + 188], at // 188)
        for pid in list(self._open):
            self._end(pid)
        self._check_start(data, self.pes[begin:])
        return self

    def _check_start(self, data, carried):
        pids = [int.from_bytes(data[at + 1 : at + 3], "big") & 0x1FFF for at in (0, 188) if at < len(data)]
        if pids != [0, self._map_pid]:
            self._problem(f"should begin with the two tables, PIDs 0 and {self._map_pid}; it begins with PIDs {pids}")
        video = next((pes for pes in carried if pes.stream_type in VIDEO_TYPES), None)
        if video and self.keyframes and not set(video.types()) & set(_KEY[video.stream_type]):
            self._problem(f"should begin with a keyframe; the first video frame's NAL units are {video.types()}")

    def _packet(self, packet, number):
        self.packets += 1
        if packet[0] != 0x47:
            return self._problem(f"packet {number} begins with {packet[0]:#x}")
        pid = int.from_bytes(packet[1:3], "big") & 0x1FFF
        start, has_adaptation, has_payload = packet[1] & 0x40, packet[3] & 0x20, packet[3] & 0x10
        if packet[1] & 0x80 or packet[3] & 0xC0:
            self._problem(f"packet {number} of PID {pid} is marked as damaged or scrambled")
        flags, at = 0, 4
        if has_adaptation:
            size = packet[4]
            at = 5 + size
            if at > 188 or (has_payload and at == 188):
                return self._problem(f"packet {number}: an adaptation field of {size} bytes")
            if size:
                flags = packet[5]
                if flags & 0x10 and pid == self._pcr_pid:
                    self._note_clock(int.from_bytes(packet[6:12], "big") >> 15, flags & 0x80)
        counter = packet[3] & 0x0F
        want = (self._continuity[pid] + bool(has_payload)) % 16 if pid in self._continuity else counter
        if counter != want and not flags & 0x80:
            self._problem(f"packet {number} of PID {pid}: the continuity counter should be {want}, it is {counter}")
        self._continuity[pid] = counter
        if has_payload:
            self._payload(pid, bool(start), flags, packet[at:])

    def _payload(self, pid, start, flags, payload):
        if pid in (0, self._map_pid):
            return self._table(pid, start, payload)
        if pid not in self._streams:
            return self._problem(f"PID {pid} is in no program map")
        if start:
            self._end(pid)
            length = int.from_bytes(payload[4:6], "big")
            self._open[pid] = [bool(flags & 0x40), length + 6 if length else 0, bytearray()]
        elif pid not in self._open:
            return self._problem(f"PID {pid}: a packet that belongs to no PES packet")
        _, size, data = self._open[pid]
        data += payload
        if size and len(data) >= size:
            self._end(pid)

    def _table(self, pid, start, payload):
        if not start:
            return self._problem("a table of more than one packet")
        section = payload[1 + payload[0] :]
        size = 3 + (int.from_bytes(section[1:3], "big") & 0x0FFF)
        section = section[:size]
        if crc32(section):
            return self._problem(f"the table of PID {pid} has a wrong CRC")
        if pid == 0:
            self._map_pid = int.from_bytes(section[10:12], "big") & 0x1FFF
            return
        streams, at = {}, 12 + (int.from_bytes(section[10:12], "big") & 0x0FFF)
        while at < size - 4:
            streams[int.from_bytes(section[at + 1 : at + 3], "big") & 0x1FFF] = section[at]
            at += 5 + (int.from_bytes(section[at + 3 : at + 5], "big") & 0x0FFF)
        version = section[5] >> 1 & 31
        if self._tables.get("version") == version and self._tables.get("section") != section:
            self._problem(f"the program map has changed, its version is still {version}")
        if self._tables.get("section") != section:
            for open_pid in list(self._open):
                self._end(open_pid)
            self.programs.append((version, streams))
        self._tables = {"version": version, "section": section}
        self._streams, self._pcr_pid = streams, int.from_bytes(section[8:10], "big") & 0x1FFF

    def _unwrap(self, ticks):
        if self._last is not None:
            ticks = self._last + (ticks - self._last + _WRAP // 2) % _WRAP - _WRAP // 2
        self._last = ticks
        return ticks

    def _note_clock(self, ticks, discontinuity):
        self.clocks += 1
        ticks = self._unwrap(ticks)
        if self._clock is not None and not discontinuity:
            gap = (ticks - self._clock) / 90
            if gap < 0:
                self._problem(f"the clock goes back by {-gap:.1f} ms")
            if gap > self.clock_ms:
                self._problem(f"no clock for {gap:.1f} ms, at {ticks / 90:.0f} ms")
        self._clock = ticks

    def _end(self, pid):
        if pid not in self._open:
            return
        random_access, size, data = self._open.pop(pid)
        data = bytes(data)
        if data[:3] != b"\0\0\1" or len(data) < 14 or not data[7] & 0x80:
            return self._problem(f"PID {pid}: no PES header with a time but {data[:14].hex()}")
        if size and size != len(data):
            self._problem(f"PID {pid}: a PES packet of {len(data)} bytes says that it has {size}")
        pts = self._unwrap(_stamp(data[9:14]))
        dts = self._unwrap(_stamp(data[14:19])) if data[7] & 0x40 else pts
        self.pes.append(
            Pes(pid, self._streams.get(pid), pts, dts, random_access, data[9 + data[8] :], self.segments - 1)
        )
        self._check_pes(self.pes[-1])

    def _check_pes(self, pes):
        where = f"PID {pes.pid}"
        if pes.pts < pes.dts:
            self._problem(f"{where}: PTS {pes.pts} is before DTS {pes.dts}")
        if self._clock is not None and pes.dts < self._clock:
            self._problem(f"{where}: DTS {pes.dts} comes when the clock is {self._clock}")
        if pes.pid in self._last_dts:
            gap = (pes.dts - self._last_dts[pes.pid]) / 90
            if gap <= 0 or gap > self.gap_ms:
                self._problem(f"{where}: DTS goes on by {gap:.1f} ms, at {pes.dts / 90:.0f} ms")
        self._last_dts[pes.pid] = pes.dts
        if pes.stream_type in VIDEO_TYPES:
            types = pes.types()
            added = _ADDED[pes.stream_type]
            if types[:1] != [added[-1]] or types.count(added[-1]) != 1:
                self._problem(f"{where}: an access unit should begin with its one delimiter, its NAL units are {types}")
            key = set(types) & set(_KEY[pes.stream_type])
            if key and not (set(added[:-1]) <= set(types) and pes.random_access):
                self._problem(f"{where}: a keyframe without parameter sets or mark, its NAL units are {types}")

    def assert_good(self, who):
        assert self.pes, f"{who}: {self.packets} packets, and no PES packet in them"
        assert not self.problems, f"{who}:\n" + "\n".join(self.problems)
        return self

    def of_kind(self, kind):
        return [pes for pes in self.pes if (pes.stream_type in VIDEO_TYPES) == (kind == flv.VIDEO)]


class Collector(publishing.Collector):
    """The bytes of a live transport stream, to its end."""

    def __init__(self, server, path):
        super().__init__(http.Live(server.http_port, path, wait=False, timeout=scaled(20)))

    def _run(self):
        try:
            while not self.source.ended:
                self.tags.append(self.source.data())
        except (OSError, ValueError, AssertionError) as error:
            self.error = error

    def finish(self, who="HTTP-TS", seconds=20, **options):
        """Checked, and good."""
        return Checker(**options).segment(b"".join(super().finish(scaled(seconds), who))).assert_good(who)


def _stamp(data):
    return (data[0] >> 1 & 7) << 30 | int.from_bytes(data[1:3], "big") >> 1 << 15 | int.from_bytes(data[3:5], "big") >> 1


# --- against what was published


def adts_frames(data):
    """The raw frames of ADTS (ISO/IEC 14496-3, 1.A.2.2)."""
    frames, at = [], 0
    while at < len(data):
        assert data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0, f"no ADTS header at {at}: {data[at:at + 8].hex()}"
        size = (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        frames.append(data[at + (7 if data[at + 1] & 1 else 9) : at + size])
        at += size
    return frames


def _published_video(tag, length_size):
    """Time, composition time and NAL units of an FLV video tag."""
    body, cts = tag.body, 0
    if flv.enhanced(tag) is None:
        cts, data, stream_type = int.from_bytes(body[2:5], "big", signed=True), body[5:], H264
    else:
        stream_type = HEVC if body[1:5] == b"hvc1" else H264
        with_cts = body[0] & 0x0F == 1
        cts = int.from_bytes(body[5:8], "big", signed=True) if with_cts else 0
        data = body[8:] if with_cts else body[5:]
    units, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + length_size], "big")
        unit = data[at + length_size : at + length_size + size]
        at += length_size + size
        if unit and unit_type(stream_type, unit) not in _ADDED[stream_type]:
            units.append(unit.rstrip(b"\0"))
    return tag.timestamp, cts, units


def published_units(tag):
    """The NAL units of an FLV video tag, without delimiters and parameter sets."""
    return _published_video(tag, 4)[2]


def assert_same(tags, checker, who):
    """The published video and audio frames, byte for byte and in order; times shifted by one constant. Several audio frames
    may be in a PES packet, the first's time counts. It is the exact one, which rounds to the published ms."""
    shifts = set()
    video_frames = [tag for tag in flv.frames(tags) if tag.type == flv.VIDEO]
    want = [_published_video(tag, 4) for tag in video_frames]
    got = checker.of_kind(flv.VIDEO)
    for index, ((dts, cts, units), pes) in enumerate(zip(want, got)):
        have = pes.units()
        assert units == have, (
            f"{who}: video frame {index} at {dts} ms should have {[len(unit) for unit in units]} bytes in its NAL units, "
            f"it has {[len(unit) for unit in have]}{'' if len(units) != len(have) else ', or other ones'}"
        )
        assert pes.pts - pes.dts == cts * 90, f"{who}: video frame {index}: cts should be {cts * 90}, is {pes.pts - pes.dts}"
        shifts.add(pes.dts - dts * 90)
    assert len(want) == len(got), f"{who}: {len(want)} video frames were published, {len(got)} came"
    assert len(shifts) <= 1, f"{who}: times should be shifted by one constant, they are by {sorted(shifts)} ticks"
    audio_frames = _same_audio([tag for tag in flv.frames(tags) if tag.type == flv.AUDIO], checker, who)
    constant = shifts.pop() if shifts else (min(audio_frames) + max(audio_frames)) // 2
    apart = {shift - constant for shift in audio_frames if abs(shift - constant) > HALF_A_MS}
    assert not apart, f"{who}: audio frames should be shifted by {constant} ticks, as video frames are, and are {apart} beside it"


def _same_audio(tags, checker, who):
    aac = any(tag.body[0] >> 4 == 10 for tag in tags)
    want = [(tag.timestamp, tag.body[2 if aac else 1 :]) for tag in tags]
    shifts, index = set(), 0
    for pes in checker.of_kind(flv.AUDIO):
        left = pes.payload
        assert index < len(want), f"{who}: {len(want)} audio frames were published, more came"
        shifts.add(pes.pts - want[index][0] * 90)
        for frame in adts_frames(left) if aac else _split(left, want[index:]):
            assert index < len(want) and frame == want[index][1], (
                f"{who}: audio {index} of {len(want)} should have {len(want[index][1]) if index < len(want) else 'no'} "
                f"bytes, it has {len(frame)} or other ones"
            )
            index += 1
    assert index == len(want), f"{who}: {len(want)} audio frames were published, {index} came"
    return shifts


def _split(data, want):
    """A PES packet's bytes by the sizes that the frames have that are to come."""
    frames = []
    for _, frame in want:
        if not data:
            break
        frames.append(data[: len(frame)])
        data = data[len(frame) :]
    return frames
