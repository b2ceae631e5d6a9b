"""WebRTC in the clear (`encrypt off`): a peer whose RTP and RTCP a test writes and reads, number by number."""

import contextlib
import socket
import struct
import threading
import time
from typing import NamedTuple

from . import flv, http, rtc, rtc_raw
from .timing import scaled, wait_until

VIDEO, AUDIO = 102, 111  # payload types of rtc_raw.offer()
SPS, PPS = bytes.fromhex("6742c01ed890280bfe5c0440000003004000000c83c58b8980"), bytes.fromhex("68c888cb20")
SENDER_REPORT, RECEIVER_REPORT, BYE, FEEDBACK = 200, 201, 203, 206


def options(top="", **more):
    """Of a server that encrypts nothing."""
    wanted = rtc.options(top=top, **more)
    return {**wanted, "top": wanted["top"].replace("candidate 127.0.0.1;", "candidate 127.0.0.1; encrypt off;")}


class Packet(NamedTuple):
    kind: int
    marker: bool
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes


def read(datagram):
    """None: it is no RTP."""
    if datagram is None or len(datagram) < 12 or not 128 <= datagram[0] < 192 or 192 <= datagram[1] < 224:
        return None
    first, second, sequence, timestamp, ssrc = struct.unpack_from("!BBHII", datagram)
    at = 12 + 4 * (first & 15)
    if first & 16:
        at += 4 + 4 * struct.unpack_from("!H", datagram, at + 2)[0]
    return Packet(second & 127, bool(second & 128), sequence, timestamp, ssrc, datagram[at:])


class Peer(rtc_raw.Session):
    def rtp(self, kind, sequence, timestamp, ssrc, payload, marker=True):
        head = struct.pack("!BBHII", 0x80, kind | marker << 7, sequence & 0xFFFF, timestamp & 0xFFFFFFFF, ssrc)
        self.send(head + payload)

    def goodbye(self, ssrc):
        self.send(struct.pack("!BBHIBBHI", 0x80, RECEIVER_REPORT, 1, ssrc, 0x81, BYE, 1, ssrc))

    def packets(self, seconds):
        """All RTP that comes within that time."""
        return [packet for packet in map(read, self.drain(seconds)) if packet]


class VideoFrames:
    """Video of one SSRC, sent by a peer: a keyframe, or what goes with it, at each timestamp."""

    def __init__(self, peer, ssrc, sequence=0):
        self.peer, self.ssrc, self.sequence = peer, ssrc, sequence
        self.count = 0

    def send(self, timestamp, keyframe=True):
        self.count += 1
        if keyframe:
            sets = b"\x18" + b"".join(struct.pack("!H", len(one)) + one for one in (SPS, PPS))
            self._put(timestamp, sets, False)
        body = b"\x65\x88\x84" if keyframe else b"\x41\x9a\x22"
        # No zeros: within a NAL unit there is no start code.
        self._put(timestamp, body + b"%08x" % self.count + b"\x80" * 36, True)

    def _put(self, timestamp, payload, marker):
        self.peer.rtp(VIDEO, self.sequence, timestamp, self.ssrc, payload, marker)
        self.sequence += 1


class Watcher:
    """A viewer by HTTP-FLV, in a thread: the times of the video frames that came, ms, and when."""

    def __init__(self, server, path="live/one"):
        self.live = http.Live(server.http_port, f"/{path}.flv", wait=False)
        self.times, self.came, self.error = [], [], None
        self.stopping = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping = True
        with contextlib.suppress(OSError):  # it has ended
            self.live.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(scaled(12))
        self.live.close()

    def _run(self):
        try:
            while not self.stopping and not self.live.ended:
                for tag in self.live.tags():
                    if tag.type == flv.VIDEO and flv.is_frame(tag):
                        self.times.append(tag.timestamp)
                        self.came.append(time.monotonic())
        except (OSError, ValueError, AssertionError) as error:
            self.error = error

    def wait(self, condition, what, seconds=10):
        wait_until(lambda: condition(self.times), seconds, lambda: f"{what}; these came: {self.describe()}")

    def wait_more(self, count, what, seconds=10):
        before = len(self.times)
        self.wait(lambda times: len(times) >= before + count, f"{count} more frames after {what}", seconds)

    def longest_gap(self, since):
        came = [since, *(one for one in self.came if one > since)]
        return max(b - a for a, b in zip(came, [*came[1:], time.monotonic()]))

    def describe(self):
        return f"{len(self.times)} frames, the last at {self.times[-5:]} ms; {self.error}"
