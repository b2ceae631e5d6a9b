"""A camera of GB/T 28181, written from annex C: a program stream in RTP, by TCP (RFC 4571) or UDP. The sender's muxer is its
own, so that each field can be wrong."""

import json
import socket
import struct
import subprocess
import time
from typing import NamedTuple

from . import ffmpeg, http
from .timing import scaled

TYPES = {"h264": 0x1B, "hevc": 0x24, "aac": 0x0F, "alaw": 0x90, "mulaw": 0x91}
VIDEO_ID, AUDIO_ID = 0xE0, 0xC0
MAX_PES = 65000
RTP_PAYLOAD = 1400


class Frame(NamedTuple):
    time: int  # of 90 kHz
    is_video: bool
    is_key: bool
    data: bytes


def encoded(directory, name, *options):
    path = directory / name
    done = subprocess.run(ffmpeg.command(*options, path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


def access_units(data, hevc=False):
    """Those of an annex B stream in which each begins with a delimiter."""
    delimiter = b"\x00\x00\x00\x01\x46" if hevc else b"\x00\x00\x00\x01\x09"
    return [delimiter + part for part in data.split(delimiter)[1:]]


def is_key(unit, hevc=False):
    starts = [at + 3 for at in range(len(unit) - 3) if unit[at : at + 3] == b"\x00\x00\x01"]
    return any((unit[at] >> 1) & 0x3F in (19, 20, 21) if hevc else unit[at] & 0x1F == 5 for at in starts)


def adts_frames(data):
    at = 0
    while at < len(data):
        size = (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        yield data[at : at + size]
        at += size


def make_frames(directory, video="h264", audio="alaw", seconds=3, size="320x180", quality=(), start=90000 * 30):
    """The camera's frames in the order of their times."""
    frames = []
    if video:
        hevc = video == "hevc"
        encoder = ["-c:v", "libx265", "-x265-params", "log-level=none:keyint=25:bframes=0:aud=1:repeat-headers=1"] if hevc else ["-c:v", "libx264", "-bf", "0", "-bsf:v", "h264_metadata=aud=insert"]
        data = encoded(directory, f"{video}.bin", "-f", "lavfi", "-i", f"testsrc=size={size}:rate=25", "-t", seconds, *encoder, "-preset", "ultrafast", "-g", 25, *quality, "-pix_fmt", "yuv420p", "-f", video)
        for index, unit in enumerate(access_units(data, hevc)):
            frames.append(Frame(start + index * 3600, True, is_key(unit, hevc), unit))
    if audio:
        rate = 48000 if audio == "aac" else 8000
        form = "adts" if audio == "aac" else audio
        data = encoded(directory, f"{audio}.bin", "-f", "lavfi", "-i", f"sine=frequency=440:sample_rate={rate}", "-t", seconds, "-ac", 1, "-f", form)
        pieces = list(adts_frames(data)) if audio == "aac" else [data[at : at + 320] for at in range(0, len(data), 320)]
        step = 90000 * 1024 // 48000 if audio == "aac" else 3600
        frames += [Frame(start + index * step, False, False, piece) for index, piece in enumerate(pieces)]
    return sorted(frames, key=lambda frame: (frame.time, not frame.is_video))


def stamp(mark, ticks):
    ticks &= (1 << 33) - 1
    return struct.pack(">BHH", mark << 4 | (ticks >> 29) & 0xE | 1, (ticks >> 14) & 0xFFFE | 1, (ticks << 1) & 0xFFFE | 1)


def part(code, content):
    return b"\x00\x00\x01" + bytes([code]) + struct.pack(">H", len(content)) + content


class Muxer:
    """always_map: each pack has a map. max_pes: bytes of a packet's payload."""

    def __init__(self, video="h264", audio="alaw", always_map=False, never_map=False, max_pes=MAX_PES, private=False):
        self.streams = [(TYPES[name], number) for name, number in ((video, VIDEO_ID), (audio, AUDIO_ID)) if name]
        self.always_map, self.never_map, self.max_pes, self.private = always_map, never_map, max_pes, private

    def pack(self, frame):
        base = frame.time & ((1 << 33) - 1)
        clock = 0b01 << 46 | (base >> 30) << 43 | 1 << 42 | ((base >> 15) & 0x7FFF) << 27 | 1 << 26 | (base & 0x7FFF) << 11 | 1 << 10 | 1
        out = b"\x00\x00\x01\xba" + clock.to_bytes(6, "big") + b"\x00\x0f\xff\xf8"
        if (frame.is_key or self.always_map) and not self.never_map:
            out += part(0xBB, bytes.fromhex("807d0104e17fe0e080c0c008"))
            entries = b"".join(struct.pack(">BBH", kind, number, 0) for kind, number in self.streams)
            out += part(0xBC, b"\xe1\xff" + struct.pack(">HH", 0, len(entries)) + entries + b"\x00\x00\x00\x00")
        if self.private:
            out += part(0xBD, b"\x01" * 37)
        for at in range(0, len(frame.data), self.max_pes):
            header = b"\x80\x00\x00" if at else b"\x80\x80\x05" + stamp(2, frame.time)
            out += part(VIDEO_ID if frame.is_video else AUDIO_ID, header + frame.data[at : at + self.max_pes])
        return out


class Camera:
    """Sends packets. marker: "end": in the last packet of a frame; "always", "never"."""

    def __init__(self, port, ssrc, udp=False, ip="127.0.0.1", marker="end", sequence=1, payload=RTP_PAYLOAD):
        self.ssrc, self.udp, self.marker, self.sequence, self.payload = ssrc, udp, marker, sequence, payload
        if udp:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind((ip, 0))
            self.socket.connect(("127.0.0.1", port))
        else:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=scaled(10), source_address=(ip, 0))

    def packets(self, data, ticks):
        pieces = [data[at : at + self.payload] for at in range(0, len(data), self.payload)]
        for index, piece in enumerate(pieces):
            mark = self.marker == "always" or (self.marker == "end" and index + 1 == len(pieces))
            yield struct.pack(">BBHII", 0x80, 96 | mark << 7, self.sequence & 0xFFFF, ticks & 0xFFFFFFFF, self.ssrc) + piece
            self.sequence += 1

    def send(self, packet):
        try:
            self.socket.send(packet) if self.udp else self.socket.sendall(struct.pack(">H", len(packet)) + packet)
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            pass

    def send_all(self, frames, muxer, speed=1.5, change=lambda packets: packets):
        """All frames, paced by their times. change: what becomes of the packets of a frame."""
        begin = time.monotonic()
        for frame in frames:
            time.sleep(max(0.0, (frame.time - frames[0].time) / 90000 / speed - (time.monotonic() - begin)))
            for packet in change(list(self.packets(muxer.pack(frame), frame.time))):
                self.send(packet)

    def is_closed(self, seconds=10):
        self.socket.settimeout(scaled(seconds))
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def close(self):
        self.socket.close()


def announce(server, stream, ssrc, status=200, **headers):
    """POST /gb/v1/publish/: the answer."""
    body = stream if isinstance(stream, bytes) else json.dumps({"id": stream, "ssrc": ssrc}).encode()
    with http.Connection(server.api_port) as connection:
        connection.request("POST", "/gb/v1/publish/", body, **headers)
        response = connection.read_response("POST")
    assert response.status == status, f"{body!r} should be answered with {status}: {response.describe()}"
    return json.loads(response.body)
