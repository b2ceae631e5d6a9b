"""HTTP/1.1 over a plain socket, so that tests see and send the very bytes; FLV over HTTP; FLV over WebSocket (RFC
6455)."""

import base64
import hashlib
import os
import struct
import time

from . import flv, sockets
from .timing import scaled


class Response:
    def __init__(self, head):
        lines = head.split("\r\n")
        words = lines[0].split(" ", 2)
        self.version, self.status = words[0], int(words[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers.setdefault(name.strip().lower(), value.strip())
        self.head = head
        self.body = b""

    def describe(self):
        return f"{self.head}\n{self.body[:300]!r}"


class Connection:
    def __init__(self, port, tls=False, timeout=scaled(10), receive_buffer=None, source=None):
        self.socket = sockets.connect("127.0.0.1", port, timeout, tls, receive_buffer, source)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def fileno(self):
        return self.socket.fileno()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def request(self, method, path, body=b"", **headers):
        """Header names are given with _ for -."""
        lines = [f"{method} {path} HTTP/1.1"]
        fields = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body:
            fields["Content-Length"] = str(len(body))
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode() + body)

    def _more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError(f"the server closed, with {self.buffer[:200]!r} unread")
        self.buffer += data

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        return Response(head.decode("latin-1"))

    def _take(self, size):
        while len(self.buffer) < size:
            self._more()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def read_response(self, method="GET"):
        """Head and body, by its length, its chunks or up to the end."""
        response = self.read_head()
        if method == "HEAD" or response.status in (204, 304) or response.status < 200:
            return response
        if response.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self._line(), 16):
                response.body += self._take(size)
                self._take(2)
            self._take(2)
        elif "content-length" in response.headers:
            response.body = self._take(int(response.headers["content-length"]))
        else:
            response.body = self.read_to_end()
        return response

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._more()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line.split(b";")[0]

    def read_to_end(self):
        data = [self.buffer]
        self.buffer = b""
        while more := self.socket.recv(1 << 16):
            data.append(more)
        return b"".join(data)


def get(port, path, method="GET", tls=False, source=None, **headers):
    with Connection(port, tls, source=source) as connection:
        connection.request(method, path, **headers)
        return connection.read_response(method)


class Dechunker:
    """The payload of a chunked body, as its bytes come."""

    def __init__(self):
        self.buffer = b""
        self.ended = False

    def feed(self, data):
        self.buffer += data
        out = []
        while not self.ended:
            line, found, rest = self.buffer.partition(b"\r\n")
            if not found:
                break
            size = int(line.split(b";")[0], 16)
            if len(rest) < size + 2:
                break
            out.append(rest[:size])
            self.buffer = rest[size + 2 :]
            self.ended = size == 0
        return b"".join(out)


class Live(Connection):
    """A live stream over HTTP: head, then bytes without an end. Raw ones by data(), FLV tags by tags(). Both return
    nothing more than [] or b"" at an orderly end, with ended set; asked once more they raise ConnectionError."""

    def __init__(self, port, path, tls=False, timeout=scaled(10), receive_buffer=None, wait=True, source=None, **headers):
        super().__init__(port, tls, timeout, receive_buffer, source)
        self.requested = time.monotonic()
        self.request("GET", path, **headers)
        self.flv = flv.Reader()
        self.ended = False
        self.response = None
        if wait:
            self.wait_head()

    def wait_head(self):
        self.response = self.read_head()
        chunked = self.response.headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunks = Dechunker() if chunked else None
        return self.response

    def data(self):
        if self.ended:
            raise ConnectionError("the stream has ended")
        if self.response is None:
            self.wait_head()
            assert self.response.status == 200, f"the stream should be answered with 200: {self.response.describe()}"
        while True:
            raw, self.buffer = self.buffer or self.socket.recv(1 << 18), b""
            if not raw:
                self.ended = True
                if self.chunks and not self.chunks.ended:
                    raise ConnectionError("the chunked body has no end")
                return b""
            out = self.chunks.feed(raw) if self.chunks else raw
            if out:
                return out
            if self.chunks and self.chunks.ended:
                self.ended = True
                return b""

    def tags(self):
        return self.flv.feed(self.data())


class WebSocket(Connection):
    """A live stream over WebSocket: binary messages that make up an FLV file."""

    def __init__(self, port, path, tls=False, timeout=scaled(10), source=None, wait=True, **headers):
        super().__init__(port, tls, timeout, source=source)
        self.key = base64.b64encode(os.urandom(16)).decode()
        self.requested = time.monotonic()
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
        self.request("GET", path, Sec_WebSocket_Key=self.key, **upgrade, **headers)
        self.flv = flv.Reader()
        self.ended = False
        self.close_code = None
        self.response = None
        if wait:
            self._accept()

    def _accept(self):
        self.response = self.read_head()
        if self.response.status == 101:
            want = base64.b64encode(
                hashlib.sha1((self.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            ).decode()
            got = self.response.headers.get("sec-websocket-accept")
            assert got == want, f"Sec-WebSocket-Accept should be {want}, it is {got}"

    def send_frame(self, opcode, payload=b"", final=True):
        mask = os.urandom(4)
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.send(bytes([final << 7 | opcode]) + size + mask + masked)

    def frame(self):
        """The next frame: opcode and payload."""
        first, second = self._take(2)
        assert not second & 0x80, "a server's frame is not masked (RFC 6455, 5.1)"
        size = second & 0x7F
        if size == 126:
            size = struct.unpack(">H", self._take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self._take(8))[0]
        return first & 0x0F, self._take(size)

    def tags(self):
        if self.ended:
            raise ConnectionError("the stream has ended")
        if self.response is None:
            self._accept()
            assert self.response.status == 101, f"it should become a WebSocket: {self.response.describe()}"
        opcode, payload = self.frame()
        if opcode == 8:
            self.ended, self.close_code = True, struct.unpack(">H", payload[:2])[0] if payload else None
            return []
        assert opcode in (0, 2), f"FLV should come as binary messages, one came with opcode {opcode}"
        return self.flv.feed(payload)


def collect(source, until=None, seconds=scaled(30)):
    """All tags of a Live or WebSocket, up to its end or until(tags)."""
    tags, end = [], time.monotonic() + seconds
    while not source.ended and time.monotonic() < end:
        tags += source.tags()
        if until and until(tags):
            return tags
    assert source.ended or until is None, f"{len(tags)} tags came in {seconds} s, and what was waited for was not there"
    assert source.ended, f"the stream did not end within {seconds} s; {len(tags)} tags came"
    return tags


def get_status(port, path):
    """The status of a GET alone, also where the body has no end."""
    with Connection(port) as connection:
        connection.request("GET", path)
        return connection.read_head().status
