"""RTMP (Adobe's RTMP 1.0 specification) for clients: handshakes, chunks, and a blocking client that publishes and
plays. Loose where tests want to send what a client must not send."""

import hashlib
import hmac
import os
import struct
import time
from typing import NamedTuple

from . import amf0, flv, sockets
from .timing import scaled

SET_CHUNK_SIZE, ABORT, ACK, USER_CONTROL, WINDOW_ACK_SIZE, PEER_BANDWIDTH = 1, 2, 3, 4, 5, 6
AUDIO, VIDEO, DATA_AMF3, COMMAND_AMF3, DATA, COMMAND, AGGREGATE = 8, 9, 15, 17, 18, 20, 22

_TAIL = bytes.fromhex("f0eec24a8068bee82e00d0d1029e7e576eec5d2d29806fab93b8e636cfeb31ae")
_PLAYER = b"Genuine Adobe Flash Player 001"
_SERVER = b"Genuine Adobe Flash Media Server 001"


class Message(NamedTuple):
    type: int
    timestamp: int
    payload: bytes
    stream_id: int = 0

    def command(self):
        """The AMF values of a command or data message."""
        return amf0.decode(self.payload[1:] if self.type in (COMMAND_AMF3, DATA_AMF3) else self.payload)


class RtmpError(Exception):
    pass


class Refused(RtmpError):
    """The server's answer was an error; code is its status code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


# --- handshake


def digest_offset(block, scheme):
    """Where the digest stands in C1 or S1, by the scheme 0 or 1."""
    base = 8 if scheme == 0 else 772
    return sum(block[base : base + 4]) % 728 + base + 4


def block_digest(block, offset, key):
    return hmac.new(key, block[:offset] + block[offset + 32 :], hashlib.sha256).digest()


def make_c1(scheme=None):
    """A simple C1 (scheme None) or one with a digest."""
    if scheme is None:
        return struct.pack(">II", 0, 0) + os.urandom(1528)
    block = bytearray(struct.pack(">I", 0) + bytes([9, 0, 124, 2]) + os.urandom(1528))
    at = digest_offset(block, scheme)
    block[at : at + 32] = block_digest(block, at, _PLAYER)
    return bytes(block)


def check_digests(c1, s1, s2, scheme):
    """That the server answered C1's digest with digests. Where S1's stands; servers may use either scheme there."""
    found = [
        at for at in (digest_offset(s1, 0), digest_offset(s1, 1)) if s1[at : at + 32] == block_digest(s1, at, _SERVER)
    ]
    if not found:
        raise RtmpError("S1 has no valid digest")
    at = digest_offset(c1, scheme)
    key = hmac.new(_SERVER + _TAIL, c1[at : at + 32], hashlib.sha256).digest()
    if s2[1504:] != hmac.new(key, s2[:1504], hashlib.sha256).digest():
        raise RtmpError("S2 has no valid digest")
    return found[0]


def make_c2(s1, digest_at):
    """digest_at: where S1's digest stands, None for a simple handshake."""
    if digest_at is None:
        return s1
    body = os.urandom(1504)
    key = hmac.new(_PLAYER + _TAIL, s1[digest_at : digest_at + 32], hashlib.sha256).digest()
    return body + hmac.new(key, body, hashlib.sha256).digest()


# --- chunks


def basic_header(fmt, csid):
    if csid < 64:
        return bytes([fmt << 6 | csid])
    if csid < 320:
        return bytes([fmt << 6, csid - 64])
    return bytes([fmt << 6 | 1]) + struct.pack("<H", csid - 64)


def chunks(message, csid, chunk_size=128, repeat_extended=True):
    """A message as type 0 and type 3 chunks. repeat_extended: whether type 3 chunks repeat an extended timestamp."""
    extended = struct.pack(">I", message.timestamp) if message.timestamp >= 0xFFFFFF else b""
    head = (
        basic_header(0, csid)
        + min(message.timestamp, 0xFFFFFF).to_bytes(3, "big")
        + len(message.payload).to_bytes(3, "big")
        + bytes([message.type])
        + struct.pack("<I", message.stream_id)
        + extended
    )
    out = [head, message.payload[:chunk_size]]
    for at in range(chunk_size, len(message.payload), chunk_size):
        out += [basic_header(3, csid), extended if repeat_extended else b"", message.payload[at : at + chunk_size]]
    return b"".join(out)


class ChunkReader:
    """Bytes in, messages out. Follows Set Chunk Size and Abort; hands out every message, those too."""

    def __init__(self):
        self.buffer = bytearray()
        self.chunk_size = 128
        self.streams = {}

    def feed(self, data):
        self.buffer += data
        out, at = [], 0
        while True:
            step = self._chunk(at)
            if step is None:
                break
            at, message = step
            if message:
                self._control(message)
                out.append(message)
        del self.buffer[:at]
        return out

    def _control(self, message):
        if message.type == SET_CHUNK_SIZE:
            self.chunk_size = struct.unpack(">I", message.payload)[0]
        elif message.type == ABORT:
            csid = struct.unpack(">I", message.payload)[0]
            if csid in self.streams:
                self.streams[csid]["body"] = bytearray()

    def _header(self, at):
        """Format, chunk stream id and where the basic header ends; None when bytes are missing."""
        data = self.buffer
        if at >= len(data):
            return None
        fmt, csid = data[at] >> 6, data[at] & 63
        size = {0: 2, 1: 3}.get(csid, 1)
        if len(data) < at + size:
            return None
        if csid == 0:
            csid = data[at + 1] + 64
        elif csid == 1:
            csid = data[at + 1] + data[at + 2] * 256 + 64
        return fmt, csid, at + size

    def _chunk(self, at):
        """One chunk at that place: where it ends, and the message it completes; None when bytes are missing."""
        header = self._header(at)
        if header is None:
            return None
        (fmt, csid, at), data = header, self.buffer
        new = dict(
            self.streams.get(csid)
            or {"body": bytearray(), "time": 0, "delta": 0, "extended": False, "size": 0, "type": 0, "stream": 0}
        )
        need = (11, 7, 3, 0)[fmt]
        if len(data) < at + need:
            return None
        stamp = int.from_bytes(data[at : at + 3], "big")
        if fmt < 3:
            new["extended"] = stamp == 0xFFFFFF
        if fmt < 2:
            new["size"], new["type"] = int.from_bytes(data[at + 3 : at + 6], "big"), data[at + 6]
        if fmt == 0:
            new["stream"] = struct.unpack_from("<I", data, at + 7)[0]
        at += need
        if new["extended"]:
            if len(data) < at + 4:
                return None
            stamp, at = struct.unpack_from(">I", data, at)[0], at + 4
        if fmt == 0:
            new["time"], new["delta"] = stamp, 0
        elif fmt < 3:
            new["delta"] = stamp
        if fmt and not new["body"]:
            new["time"] = new["time"] + new["delta"] & 0xFFFFFFFF
        take = min(self.chunk_size, new["size"] - len(new["body"]))
        if len(data) < at + take:
            return None
        new["body"] = new["body"] + data[at : at + take]
        at += take
        self.streams[csid] = new
        if len(new["body"]) < new["size"]:
            return at, None
        message = Message(new["type"], new["time"], bytes(new["body"]), new["stream"])
        new["body"] = bytearray()
        return at, message


# --- client


class Client:
    """A blocking RTMP client. Every wait has the timeout, in seconds; a server that closes raises ConnectionError."""

    def __init__(self, host, port, timeout=scaled(10), scheme=0, tls=False, receive_buffer=None, source=None):
        self.timeout = timeout
        self.socket = sockets.connect(host, port, timeout, tls, receive_buffer, source)
        self.host, self.port, self.scheme = host, port, scheme
        self.reader = ChunkReader()
        self.pending = []
        self.out_chunk_size = 128
        self.transaction = 0
        self.received = 0  # bytes, for acknowledgements
        self.acknowledged = 0
        self.ack_window = 0
        self.stream_id = 1
        self.ended = False  # tags() came to the end of the connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def fileno(self):
        return self.socket.fileno()

    def read_exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError(f"the server closed after {len(data)} of {size} bytes")
            data += more
        return data

    def handshake(self):
        c1 = make_c1(self.scheme)
        self.socket.sendall(b"\x03" + c1)
        answer = self.read_exactly(1 + 1536 + 1536)
        s1, s2 = answer[1:1537], answer[1537:]
        if answer[0] != 3:
            raise RtmpError(f"S0 is {answer[0]}, 3 is RTMP's version")
        digest_at = None
        if self.scheme is not None:
            digest_at = check_digests(c1, s1, s2, self.scheme)
        elif s2[8:] != c1[8:]:
            raise RtmpError("S2 does not repeat C1's random bytes")
        self.socket.sendall(make_c2(s1, digest_at))
        return self

    # sending

    def send(self, message, csid=3):
        self.socket.sendall(chunks(message, csid, self.out_chunk_size))

    def send_command(self, name, *values, stream_id=0, csid=3, answered=True, amf3=False):
        """Returns the transaction id, 0 where no answer is wanted."""
        self.transaction += 1 if answered else 0
        number = self.transaction if answered else 0
        payload = (b"\0" if amf3 else b"") + amf0.encode(name, number, *values)
        self.send(Message(COMMAND_AMF3 if amf3 else COMMAND, 0, payload, stream_id), csid)
        return number

    def set_chunk_size(self, size):
        self.send(Message(SET_CHUNK_SIZE, 0, struct.pack(">I", size)), 2)
        self.out_chunk_size = size

    def send_tag(self, tag, stream_id=None):
        """An FLV tag as the message that carries it. Script tags get @setDataFrame before them."""
        stream_id = stream_id or self.stream_id
        if tag.type == flv.SCRIPT:
            self.send(Message(DATA, tag.timestamp, amf0.encode("@setDataFrame") + tag.body, stream_id), 4)
        else:
            self.send(Message(tag.type, tag.timestamp, tag.body, stream_id), 6 if tag.type == flv.VIDEO else 4)

    # receiving

    def messages(self):
        """Blocks for the next bytes; all messages that are whole by then. Answers pings and acknowledges."""
        if self.pending:
            out, self.pending = self.pending, []
            return out
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the server closed the connection")
        return self.take(data)

    def take(self, data):
        self.received += len(data)
        out = self.reader.feed(data)
        for message in out:
            if message.type == USER_CONTROL and message.payload[:2] == b"\0\x06":
                self.send(Message(USER_CONTROL, 0, b"\0\x07" + message.payload[2:6]), 2)
            elif message.type == WINDOW_ACK_SIZE:
                self.ack_window = struct.unpack(">I", message.payload)[0]
        if self.ack_window and self.received - self.acknowledged >= self.ack_window // 2:
            self.acknowledged = self.received
            self.send(Message(ACK, 0, struct.pack(">I", self.received & 0xFFFFFFFF)), 2)
        return out

    def wait_for(self, wanted, what):
        """Reads until wanted(message) is true; the message. Later ones are kept for messages()."""
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:
            got = self.messages()
            for index, message in enumerate(got):
                if wanted(message):
                    self.pending = got[index + 1 :] + self.pending
                    return message
        raise TimeoutError(f"no {what} within {self.timeout} s")

    def wait_result(self, transaction, what):
        def wanted(message):
            return (
                message.type in (COMMAND, COMMAND_AMF3)
                and message.command()[0] in ("_result", "_error")
                and message.command()[1] == transaction
            )

        values = self.wait_for(wanted, f"answer to {what}").command()
        if values[0] == "_error":
            info = values[3] if len(values) > 3 and isinstance(values[3], dict) else {}
            raise Refused(info.get("code", ""), f"{what} was refused: {values[2:]}")
        return values[2:]

    def wait_status(self, *codes):
        """The onStatus with one of those codes; an error status with another code raises Refused."""

        def wanted(message):
            return message.type in (COMMAND, COMMAND_AMF3) and message.command()[0] == "onStatus"

        while True:
            info = self.wait_for(wanted, f"onStatus {' or '.join(codes)}").command()[3]
            if info.get("code") in codes:
                return info
            if info.get("level") == "error":
                raise Refused(info.get("code"), f"onStatus {info} where {codes} was expected")

    # commands

    def connect(self, app, tc_url=None, **more):
        host = f"{self.host}:{self.port}"
        info = {
            "app": app,
            "type": "nonprivate",
            "flashVer": "FMLE/3.0 (compatible; e2e)",
            "tcUrl": tc_url or f"rtmp://{host}/{app}",
            **more,
        }
        return self.wait_result(self.send_command("connect", info), "connect")

    def create_stream(self):
        return int(self.wait_result(self.send_command("createStream", None), "createStream")[1])

    def publish(self, stream, fmle=True):
        """As OBS and FFmpeg do (fmle), or as Flash did. The stream's id."""
        if fmle:
            self.send_command("releaseStream", None, stream)
            self.send_command("FCPublish", None, stream)
        stream_id = self.create_stream()
        self.send_command("publish", None, stream, "live", stream_id=stream_id, csid=4)
        self.wait_status("NetStream.Publish.Start")
        return stream_id

    def play(self, stream, *arguments, stream_id=None, wait=True):
        stream_id = stream_id or self.create_stream()
        self.send_command("play", None, stream, *arguments, stream_id=stream_id, csid=8, answered=False)
        if wait:
            self.wait_status("NetStream.Play.Start")
        return stream_id

    def tags(self):
        """Blocks for the next bytes; media messages as FLV tags. At the connection's end ended is set; asked once more
        it raises ConnectionError."""
        if self.ended:
            raise ConnectionError("the stream has ended")
        try:
            return tags_of(self.messages())
        except ConnectionError:
            self.ended = True
            return []


def tags_of(messages):
    return [
        flv.Tag(message.type, message.timestamp, message.payload)
        for message in messages
        if message.type in (AUDIO, VIDEO, DATA)
    ]


def publisher(server, app, stream, chunk_size=60000, tc_url=None, fmle=True, port=None, **options):
    """A client that is publishing."""
    client = Client("127.0.0.1", port or server.rtmp_port, **options).handshake()
    try:
        client.connect(app, tc_url)
        client.set_chunk_size(chunk_size)
        client.stream_id = client.publish(stream, fmle)
    except BaseException:
        client.close()
        raise
    return client


def player(server, app, stream, *arguments, tc_url=None, port=None, connect=None, **options):
    """A client that is playing; connect: more of the connect command's object."""
    client = Client("127.0.0.1", port or server.rtmp_port, **options).handshake()
    try:
        client.connect(app, tc_url, **(connect or {}))
        client.stream_id = client.play(stream, *arguments)
    except BaseException:
        client.close()
        raise
    return client
