"""Fragmented MP4 (ISO/IEC 14496-12) as far as HLS needs it: tracks of an initialisation section, fragments of a segment."""

import struct
from typing import NamedTuple

_CONTAINERS = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf")
_NON_SYNC = 1 << 16


class Track(NamedTuple):
    id: int
    kind: str  # "vide", "soun"
    timescale: int
    codec: str  # RFC 6381 as far as it is known, "avc1.64001f" or "av01"
    width: int
    height: int
    duration: int  # default of a sample
    flags: int  # default of a sample


class Fragment(NamedTuple):
    track: int
    begin: int  # tfdt, in the track's timescale
    duration: int
    samples: int
    sync: bool  # the first sample
    earliest: int  # composition offset of the sample that is shown first


def boxes(data, begin=0, end=None):
    """(type, begin of the payload, end), of one level; raises ValueError."""
    end = len(data) if end is None else end
    while begin < end:
        if end - begin < 8:
            raise ValueError(f"{end - begin} bytes are no box")
        size, kind = struct.unpack_from(">I4s", data, begin)
        head = 8
        if size == 1:
            size, head = int.from_bytes(data[begin + 8 : begin + 16], "big"), 16
        size = size or end - begin
        if size < head or begin + size > end:
            raise ValueError(f"a box {kind} of {size} bytes, {end - begin} are there")
        yield kind, begin + head, begin + size
        begin += size


def _tree(data, begin, end):
    """type -> [(begin, end)] of a container's boxes."""
    found = {}
    for kind, at, to in boxes(data, begin, end):
        found.setdefault(kind, []).append((at, to))
    return found


def _only(data, begin, end, *path):
    for kind in path:
        begin, end = _tree(data, begin, end)[kind][0]
    return begin, end


def read_init(data):
    """Its tracks by id; raises ValueError."""
    try:
        tree = _tree(data, 0, len(data))
        moov = _tree(data, *tree[b"moov"][0])
        extends = {}
        for at, _ in _tree(data, *moov[b"mvex"][0])[b"trex"]:
            track, _, duration, _, flags = struct.unpack_from(">5I", data, at + 4)
            extends[track] = (duration, flags)
        found = [_track(data, trak, extends) for trak in moov[b"trak"]]
    except (KeyError, IndexError, struct.error) as error:
        raise ValueError(f"no initialisation section: {error!r}") from None
    return {track.id: track for track in found}


def _track(data, trak, extends):
    at, _ = _only(data, *trak, b"tkhd")
    number = struct.unpack_from(">I", data, at + (20 if data[at] else 12))[0]
    at, _ = _only(data, *trak, b"mdia", b"mdhd")
    timescale = struct.unpack_from(">I", data, at + (20 if data[at] else 12))[0]
    at, _ = _only(data, *trak, b"mdia", b"hdlr")
    kind = data[at + 8 : at + 12].decode("latin-1")
    at, end = _only(data, *trak, b"mdia", b"minf", b"stbl", b"stsd")
    entry, begin, end = next(boxes(data, at + 8, end))
    width, height = struct.unpack_from(">HH", data, begin + 24) if kind == "vide" else (0, 0)
    codec = _codec(entry, data, begin + (78 if kind == "vide" else 28), end)
    return Track(number, kind, timescale or 1, codec, width, height, *extends.get(number, (0, 0)))


def _codec(entry, data, begin, end):
    name = entry.decode("latin-1")
    for kind, at, to in boxes(data, begin, end) if name in ("avc1", "avc3", "mp4a") else ():
        if kind == b"avcC":
            return f"{name}.{data[at + 1 : at + 4].hex()}"
        if kind == b"esds":
            return f"{name}.{_audio_object(data[at + 4 : to])}"
    return name


def _audio_object(data):
    """Of an elementary stream descriptor: "40.2"."""
    at, kinds = 0, []
    while at < len(data):
        tag, at, size = data[at], at + 1, 0
        while data[at] & 0x80:
            size, at = size << 7 | data[at] & 0x7F, at + 1
        size, at = size << 7 | data[at], at + 1
        if tag == 3:
            at += 3
        elif tag == 4:
            kinds.append(f"{data[at]:02x}")
            at += 13
        elif tag == 5:
            kinds.append(str(data[at] >> 3))
            break
        else:
            at += size
    return ".".join(kinds)


def read_fragments(data, tracks):
    """(types of the outer boxes, fragments); raises ValueError."""
    kinds, found = [], []
    try:
        for kind, begin, end in boxes(data):
            kinds.append(kind.decode("latin-1"))
            if kind == b"moof":
                found += [_fragment(data, *traf, tracks) for traf in _tree(data, begin, end)[b"traf"]]
    except (KeyError, IndexError, struct.error) as error:
        raise ValueError(f"no fragment: {error!r}") from None
    if not found:
        raise ValueError(f"no fragment in {', '.join(kinds)}")
    return kinds, found


def _fragment(data, begin, end, tracks):
    tree = _tree(data, begin, end)
    at, _ = tree[b"tfhd"][0]
    flags, number = struct.unpack_from(">II", data, at)
    track = tracks.get(number)
    if not track:
        raise ValueError(f"track {number} is not in the initialisation section")
    at += 8 + (8 if flags & 1 else 0) + (4 if flags & 2 else 0)
    default_duration, default_flags = track.duration, track.flags
    if flags & 8:
        default_duration, at = struct.unpack_from(">I", data, at)[0], at + 4
    at += 4 if flags & 0x10 else 0
    if flags & 0x20:
        default_flags = struct.unpack_from(">I", data, at)[0]
    if b"tfdt" not in tree:
        raise ValueError("no tfdt")
    at, _ = tree[b"tfdt"][0]
    time = struct.unpack_from(">Q" if data[at] else ">I", data, at + 4)[0]
    duration, count, sync, earliest = 0, 0, None, None
    for at, _ in tree.get(b"trun", ()):
        for sample_duration, sample_flags, offset in _samples(data, at, default_duration, default_flags):
            shown = duration + offset
            earliest = shown if earliest is None else min(earliest, shown)
            sync = not sample_flags & _NON_SYNC if sync is None else sync
            duration, count = duration + sample_duration, count + 1
    return Fragment(number, time, duration, count, bool(sync), earliest or 0)


def _samples(data, at, duration, flags):
    word, count = struct.unpack_from(">II", data, at)
    at += 8 + (4 if word & 1 else 0)
    first = None
    if word & 4:
        first, at = struct.unpack_from(">I", data, at)[0], at + 4
    for index in range(count):
        one = {}
        for bit in (0x100, 0x200, 0x400, 0x800):
            if word & bit:
                one[bit] = struct.unpack_from(">i" if bit == 0x800 and word >> 24 else ">I", data, at)[0]
                at += 4
        own = first if index == 0 and first is not None else one.get(0x400, flags)
        yield one.get(0x100, duration), own, one.get(0x800, 0)
