"""MPEG-TS (ISO/IEC 13818-1) as far as HLS needs it: tables, times of PES packets, continuity counters. Unlike the checker
of the end-to-end tests it expects nothing of one muxer."""

_CODECS = {0x1B: "avc1", 0x24: "hvc1", 0x0F: "mp4a", 0x11: "mp4a", 0x03: "mp4a", 0x04: "mp4a", 0x81: "ac-3", 0x87: "ec-3"}
_VIDEO = (0x1B, 0x24, 0x02)
_WRAP = 1 << 33


class Segment:
    """One resource. problems: (rule, expected, came)."""

    def __init__(self, data):
        self.problems = []
        self.streams = {}  # PID -> stream type
        self.times = {}  # PID -> [PTS, 90 kHz]
        self.decode_times = {}  # PID -> [DTS]: in order also where a part ends between frames that refer to each other
        self.counters = {}  # PID -> (first, last)
        self.key = None  # of the first video frame; None: not known
        self._early = None  # a PID of media before the tables
        self._map = None
        self._started = set()
        if len(data) % 188 or not data:
            self.problems.append(("ts-packets", "whole packets of 188 bytes", f"{len(data)} bytes"))
        for at in range(0, len(data) - 187, 188):
            if data[at] != 0x47:
                self.problems.append(("ts-packets", "0x47 at the beginning of a packet", f"{data[at]:#x} at {at}"))
                break
            self._packet(data[at : at + 188])
        if not self.streams:
            self.problems.append(("ts-tables", "a PAT and a PMT", "none"))
        elif self._early:
            self.problems.append(("ts-tables-first", f"PIDs 0 and {self._map} first", f"PID {self._early}"))

    def codecs(self):
        return {_CODECS[kind] for kind in self.streams.values() if kind in _CODECS}

    def has_video(self):
        return any(kind in _VIDEO for kind in self.streams.values())

    def spans(self, near=None):
        """PID -> (begin, end) in seconds; end: of the last frame, whose duration is the mean. near: a time to unwrap to."""
        found = {}
        for pid, times in self.times.items():
            shown, decoded = _unwrapped(times), _unwrapped(self.decode_times[pid])
            between = max(decoded) - min(decoded)
            length = between + (between / (len(decoded) - 1) if len(decoded) > 1 else 0)
            begin, end = min(shown) / 90000, (min(shown) + length) / 90000
            if near is not None:
                turns = round((near - begin) * 90000 / _WRAP)
                begin, end = (value + turns * _WRAP / 90000 for value in (begin, end))
            found[pid] = (begin, end)
        return found

    def _packet(self, packet):
        pid = int.from_bytes(packet[1:3], "big") & 0x1FFF
        if not self.streams and pid not in (self._map, 0x1FFF) and pid >= 32:
            self._early = pid
        if pid == 0x1FFF:
            return
        has_payload, at, random_access, discontinuity = packet[3] & 0x10, 4, False, False
        if packet[3] & 0x20:
            at = 5 + packet[4]
            random_access, discontinuity = packet[4] and packet[5] & 0x40, packet[4] and packet[5] & 0x80
        if not has_payload or at >= 188:
            return
        counter = packet[3] & 15
        first, last = self.counters.get(pid, (counter, None))
        if last is not None and counter not in (last, (last + 1) % 16) and not discontinuity:
            self.problems.append(("ts-continuity", f"{(last + 1) % 16} in PID {pid}", counter))
        self.counters[pid] = (first, counter)
        self._payload(pid, packet[1] & 0x40, packet[at:], random_access)

    def _payload(self, pid, start, payload, random_access):
        if pid == 0 and start:
            section = payload[1 + payload[0] :]
            self._map = int.from_bytes(section[10:12], "big") & 0x1FFF
        elif pid == self._map and start:
            self._program(payload[1 + payload[0] :])
        elif pid in self.streams:
            if pid not in self._started and not start:
                self.problems.append(("ts-split", f"the beginning of a PES packet in PID {pid}", "the rest of one"))
            self._started.add(pid)
            if start and payload[:3] == b"\0\0\1" and payload[7] & 0x80:
                self._frame(pid, payload, random_access)

    def _frame(self, pid, payload, random_access):
        time = _time(payload[9:14])
        if self.streams[pid] in _VIDEO and self.key is None:
            self.key = bool(random_access) or _begins_with_key(self.streams[pid], payload[9 + payload[8] :])
        self.times.setdefault(pid, []).append(time)
        self.decode_times.setdefault(pid, []).append(_time(payload[14:19]) if payload[7] & 0x40 else time)

    def _program(self, section):
        size = 3 + (int.from_bytes(section[1:3], "big") & 0x0FFF)
        at = 12 + (int.from_bytes(section[10:12], "big") & 0x0FFF)
        while at < size - 4 and at + 5 <= len(section):
            self.streams[int.from_bytes(section[at + 1 : at + 3], "big") & 0x1FFF] = section[at]
            at += 5 + (int.from_bytes(section[at + 3 : at + 5], "big") & 0x0FFF)


def _time(stamp):
    return (stamp[0] >> 1 & 7) << 30 | int.from_bytes(stamp[1:3], "big") >> 1 << 15 | int.from_bytes(stamp[3:5], "big") >> 1


def _unwrapped(times):
    base = times[0]
    return [base + (time - base + _WRAP // 2) % _WRAP - _WRAP // 2 for time in times]


def _begins_with_key(kind, data):
    """The first packet of a frame shows it by its NAL units, or does not."""
    types = [data[at + 3] for at in range(len(data) - 3) if data[at : at + 3] == b"\0\0\1"]
    if kind == 0x1B:
        return any(value & 31 in (5, 7) for value in types)
    return any(value >> 1 & 63 in (*range(16, 22), 32, 33) for value in types)
