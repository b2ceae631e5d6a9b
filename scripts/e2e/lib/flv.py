"""FLV (Adobe Flash Video File Format 10.1, annex E; Enhanced RTMP's codec ids): reading, and comparing what a player
got with what was published."""

import struct
from pathlib import Path
from typing import NamedTuple

AUDIO, VIDEO, SCRIPT = 8, 9, 18
NAMES = {AUDIO: "audio", VIDEO: "video", SCRIPT: "script"}


class Tag(NamedTuple):
    type: int
    timestamp: int  # ms
    body: bytes

    def describe(self):
        return (
            f"{NAMES.get(self.type, self.type)} at {self.timestamp} ms, {len(self.body)} bytes {self.body[:12].hex()}"
        )


class Reader:
    """Bytes in as they come, tags out. Raises ValueError on what is no FLV, previous-tag-size fields included."""

    def __init__(self):
        self.buffer = bytearray()
        self.flags = None
        self.last_size = 0

    @property
    def has_audio(self):
        return bool(self.flags & 4)

    @property
    def has_video(self):
        return bool(self.flags & 1)

    def feed(self, data):
        self.buffer += data
        tags, at = [], 0
        if self.flags is None:
            if len(self.buffer) < 9:
                return []
            if self.buffer[:4] != b"FLV\x01":
                raise ValueError(f"no FLV header but {bytes(self.buffer[:9])!r}")
            self.flags = self.buffer[4]
            at = struct.unpack_from(">I", self.buffer, 5)[0]
        while True:
            tag, end = self._tag(at)
            if tag is None:
                break
            tags.append(tag)
            at = end
        del self.buffer[:at]
        return tags

    def _tag(self, at):
        # A tag is read with the previous-tag-size field before it.
        if len(self.buffer) < at + 15:
            return None, at
        size = int.from_bytes(self.buffer[at + 5 : at + 8], "big")
        if len(self.buffer) < at + 15 + size:
            return None, at
        previous = struct.unpack_from(">I", self.buffer, at)[0]
        if previous != self.last_size:
            raise ValueError(f"previous tag size is {self.last_size}, the field says {previous}")
        self.last_size = size + 11
        stamp = int.from_bytes(self.buffer[at + 8 : at + 11], "big") | self.buffer[at + 11] << 24
        return Tag(self.buffer[at + 4], stamp, bytes(self.buffer[at + 15 : at + 15 + size])), at + 15 + size


def read_file(path):
    return Reader().feed(Path(path).read_bytes() + b"")


def header(has_audio=True, has_video=True):
    return b"FLV\x01" + bytes([4 * has_audio + has_video]) + struct.pack(">II", 9, 0)


def encode(tag):
    head = bytes([tag.type]) + len(tag.body).to_bytes(3, "big") + (tag.timestamp & 0xFFFFFF).to_bytes(3, "big")
    return head + bytes([tag.timestamp >> 24 & 0xFF]) + b"\0\0\0" + tag.body + struct.pack(">I", len(tag.body) + 11)


# Enhanced RTMP: the high bit of a video body's first byte, or audio format 9, then a packet type and a FourCC.
_EX_HEADER, _EX_FRAMES, _EX_END, _EX_FRAMES_X, _EX_METADATA = range(5)
_EX_AUDIO_TRACKS, _EX_VIDEO_TRACKS = 5, 6


def enhanced(tag):
    """The packet type of an enhanced body, None for a legacy one. Of a body for one of several tracks, that track's."""
    if not tag.body or not (tag.type == VIDEO and tag.body[0] & 0x80 or tag.type == AUDIO and tag.body[0] >> 4 == 9):
        return None
    packet = tag.body[0] & 0x0F
    if packet == (_EX_AUDIO_TRACKS if tag.type == AUDIO else _EX_VIDEO_TRACKS) and len(tag.body) > 1:
        return tag.body[1] & 0x0F
    return packet


def track_of(tag):
    """The id of its track; 0 where it does not say."""
    several = _EX_AUDIO_TRACKS if tag.type == AUDIO else _EX_VIDEO_TRACKS
    is_several = enhanced(tag) is not None and tag.body[0] & 0x0F == several
    return tag.body[6] if is_several and len(tag.body) > 6 else 0


def is_sequence_header(tag):
    body = tag.body
    if enhanced(tag) is not None:
        return enhanced(tag) == _EX_HEADER
    if len(body) < 2:
        return False
    return body[1] == 0 and (
        body[0] & 0x0F in (7, 12) if tag.type == VIDEO else tag.type == AUDIO and body[0] >> 4 == 10
    )


def is_keyframe(tag):
    return tag.type == VIDEO and is_frame(tag) and tag.body[0] >> 4 & 7 == 1


def is_frame(tag):
    """Audio and video with something to decode: no configuration, no end mark, no metadata."""
    if tag.type not in (AUDIO, VIDEO) or not tag.body or is_sequence_header(tag):
        return False
    if enhanced(tag) is not None:
        return enhanced(tag) in (_EX_FRAMES, _EX_FRAMES_X)
    return not (tag.type == VIDEO and tag.body[0] & 0x0F in (7, 12) and tag.body[1:2] == b"\x02")


def _content(tag):
    """What must arrive unchanged. Enhanced HEVC and H.264 frames may be written with a composition time of 0 or, to the
    same effect, without the field."""
    if tag.type == VIDEO and enhanced(tag) == _EX_FRAMES_X:
        return tag.body[:1][0] & 0xF0, tag.body[1:5], b"\0\0\0" + tag.body[5:]
    if tag.type == VIDEO and enhanced(tag) == _EX_FRAMES:
        return tag.body[:1][0] & 0xF0, tag.body[1:5], tag.body[5:]
    return tag.body


def frames(tags):
    return [tag for tag in tags if is_frame(tag)]


def headers(tags):
    return [tag.body for tag in tags if is_sequence_header(tag)]


def assert_same(published, received, who):
    """The same frames, byte for byte and in order, timestamps shifted by one constant; the same sequence headers before
    them. Says the first difference."""
    want, got = frames(published), frames(received)
    for index, (one, other) in enumerate(zip(want, got)):
        assert (one.type, _content(one)) == (
            other.type,
            _content(other),
        ), f"{who}: frame {index} of {len(want)} should be {one.describe()}, it is {other.describe()}"
    assert len(want) == len(got), (
        f"{who}: {len(want)} frames were published, {len(got)} came; the first that is "
        f"missing or too much: {(want[len(got):] or got[len(want):])[0].describe()}"
    )
    shifts = [other.timestamp - one.timestamp for one, other in zip(want, got)]
    for index, shift in enumerate(shifts):
        assert shift == shifts[0], (
            f"{who}: timestamps are shifted by {shifts[0]} ms at first and by {shift} ms at "
            f"frame {index} ({want[index].describe()})"
        )
    kinds = {tag.type for tag in want}
    for kind in kinds:
        before = [tag.body for tag in published if tag.type == kind and is_sequence_header(tag)][:1]
        seen = []
        for tag in received:
            if tag.type == kind and is_frame(tag):
                break
            if tag.type == kind and is_sequence_header(tag):
                seen.append(tag.body)
        assert seen[:1] == before, (
            f"{who}: the {NAMES[kind]} sequence header before the first frame should be "
            f"{[body.hex() for body in before]}, it is {[body.hex() for body in seen]}"
        )


def assert_monotonic(tags, who):
    """Within each track time never goes back."""
    last = {}
    for index, tag in enumerate(tags):
        if tag.type == SCRIPT:
            continue
        before = last.get(tag.type, -1)
        assert (
            tag.timestamp >= before
        ), f"{who}: {NAMES[tag.type]} time goes back from {before} to {tag.timestamp} ms at tag {index}"
        last[tag.type] = tag.timestamp
