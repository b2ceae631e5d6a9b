"""AMF0 values (Adobe AMF0 specification), as far as RTMP commands need them: what a client must write and read."""

import struct


class Undefined:
    """The AMF0 marker 6, distinct from null."""


def encode(*values):
    return b"".join(_encode(value) for value in values)


def _string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack(">H", len(raw)) + raw


def _encode(value):
    if value is None:
        return b"\x05"
    if value is Undefined:
        return b"\x06"
    if isinstance(value, bool):
        return b"\x01" + bytes([value])
    if isinstance(value, (int, float)):
        return b"\x00" + struct.pack(">d", value)
    if isinstance(value, (str, bytes)):
        return b"\x02" + _string(value)
    if isinstance(value, dict):
        body = b"".join(_string(key) + _encode(item) for key, item in value.items())
        return b"\x03" + body + b"\x00\x00\x09"
    if isinstance(value, list):
        return b"\x0a" + struct.pack(">I", len(value)) + b"".join(_encode(item) for item in value)
    raise TypeError(f"no AMF0 for {value!r}")


def decode(data):
    """All values of a command. Raises ValueError where the bytes are no AMF0."""
    values, at = [], 0
    while at < len(data):
        value, at = _decode(data, at)
        values.append(value)
    return values


def _decode(data, at):
    try:
        marker, at = data[at], at + 1
        if marker == 0:
            return struct.unpack_from(">d", data, at)[0], at + 8
        if marker == 1:
            return bool(data[at]), at + 1
        if marker == 2:
            return _text(data, at)
        if marker == 3:
            return _members(data, at)
        if marker == 5:
            return None, at
        if marker == 6:
            return Undefined, at
        if marker == 8:
            return _members(data, at + 4)
        if marker == 10:
            return _array(data, at)
    except (IndexError, struct.error) as error:
        raise ValueError(f"AMF0 ends within a value at {at}: {error}") from error
    raise ValueError(f"AMF0 marker {marker} at {at - 1}")


def _text(data, at):
    size = struct.unpack_from(">H", data, at)[0]
    if at + 2 + size > len(data):
        raise ValueError(f"AMF0 string of {size} bytes, {len(data) - at - 2} are there")
    return bytes(data[at + 2 : at + 2 + size]).decode(errors="replace"), at + 2 + size


def _members(data, at):
    result = {}
    while True:
        key, at = _text(data, at)
        if key == "" and data[at] == 9:
            return result, at + 1
        result[key], at = _decode(data, at)


def _array(data, at):
    count, at = struct.unpack_from(">I", data, at)[0], at + 4
    result = []
    for _ in range(count):
        value, at = _decode(data, at)
        result.append(value)
    return result, at
