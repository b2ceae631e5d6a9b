"""Players that note when each frame comes, and when they lost their connection."""

import contextlib
import socket
import threading
import time
import urllib.request

from lib import flv, rtmp
from lib.http import Dechunker

TIMEOUT_S = 60  # longer than what is watched: a player waits, and does not end by itself


class FlvConnection:
    def __init__(self, server, name):
        self.socket = socket.create_connection((server.address, server.http), TIMEOUT_S)
        self.socket.sendall(f"GET /live/{name}.flv HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode())
        self.chunks, self.reader, self.head, self.ended = Dechunker(), flv.Reader(), b"", False

    def tags(self):
        data = self.socket.recv(1 << 18)
        if not data:
            self.ended = True
            return []
        if self.head is not None:
            self.head += data
            head, found, data = self.head.partition(b"\r\n\r\n")
            if not found:
                return []
            if b" 200 " not in head.partition(b"\r\n")[0]:
                raise ConnectionError(head.partition(b"\r\n")[0].decode(errors="replace"))
            if b"chunked" not in head.lower():
                self.chunks = None
            self.head = None
        return self.reader.feed(self.chunks.feed(data) if self.chunks else data)


def rtmp_connection(server, name):
    client = rtmp.Client(server.address, server.rtmp, timeout=TIMEOUT_S).handshake()
    client.connect("live")
    client.stream_id = client.play(name)
    return client


CONNECT = {"RTMP": rtmp_connection, "HTTP-FLV": FlvConnection}


class Careful(threading.Thread):
    """Plays at the first of these servers; when the connection ends, at the next one."""

    def __init__(self, name, protocol, servers):
        super().__init__(daemon=True)
        self.stream, self.protocol, self.servers = name, protocol, servers
        self.began = time.monotonic()
        self.arrivals, self.ends, self.problems = [], [], []
        self.leaving, self.connection = False, None

    def run(self):
        index = 0
        while not self.leaving:
            try:
                self.watch(self.servers[index % len(self.servers)])
            except (OSError, rtmp.RtmpError, AssertionError, ValueError) as error:
                self.problems.append(f"{type(error).__name__}: {error}")
            if not self.leaving:
                self.ends.append(time.monotonic())
                time.sleep(0.02)
            index += 1

    def watch(self, server):
        self.connection = CONNECT[self.protocol](server, self.stream)
        with contextlib.closing(self.connection.socket):
            while not self.leaving and not self.connection.ended:
                if any(flv.is_frame(tag) for tag in self.connection.tags()):
                    self.arrivals.append(time.monotonic())

    def leave(self):
        self.leaving = True
        with contextlib.suppress(OSError, AttributeError):
            self.connection.socket.shutdown(socket.SHUT_RDWR)

    def longest_gap(self, begin, end):
        """Seconds without a frame, of what was watched between the two moments. For a player that came meanwhile also
        the time to its first frame. The last gap is one that nothing ended."""
        seen = [one for one in self.arrivals if one <= end]
        before = [one for one in seen if one <= begin]
        moments = [before[-1] if before else max(begin, self.began), *(one for one in seen if one > begin), end]
        return max(b - a for a, b in zip(moments, moments[1:]))


class Hls(Careful):
    """A viewer of HLS: an arrival is a segment that was not there before."""

    def __init__(self, name, port):
        super().__init__(name, "HLS", [f"http://127.0.0.1:{port}/live"])

    def run(self):
        known = set()
        while not self.leaving:
            try:
                playlist = self.get(f"{self.stream}.m3u8").decode()
                for line in playlist.splitlines():
                    if line and not line.startswith("#") and line not in known and self.get(line):
                        known.add(line)
                        self.arrivals.append(time.monotonic())
                time.sleep(0.3)
            except OSError as error:
                self.problems.append(str(error))
                self.ends.append(time.monotonic())
                time.sleep(0.2)

    def get(self, name):
        with urllib.request.urlopen(f"{self.servers[0]}/{name}", timeout=10) as answer:
            return answer.read()
