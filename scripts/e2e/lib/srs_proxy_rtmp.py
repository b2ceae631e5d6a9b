"""RTMP through the proxy of lib/srs_proxy.py: a session with the client, one with the backend, and messages between them."""

import socket
import struct
import threading

from . import rtmp
from .srs_proxy_picks import ProxyError, port_of, stream_of

# What its parser of messages knows before the media begin; it gives up at all others.
COMMANDS = (rtmp.COMMAND, rtmp.COMMAND_AMF3, rtmp.DATA, rtmp.DATA_AMF3)
KNOWN = (*COMMANDS, rtmp.SET_CHUNK_SIZE, rtmp.USER_CONTROL, rtmp.WINDOW_ACK_SIZE, rtmp.PEER_BANDWIDTH)
CHUNK_SIZE = 128  # it never sends larger chunks, whatever it is told


class BackendClient(rtmp.Client):
    """The proxy's own session at a backend: a simple handshake, connect with a tcUrl and nothing else, on message stream 1."""

    def __init__(self, backend):
        super().__init__(backend["ip"], port_of(backend, "rtmp"), scheme=None)
        self.open = {}  # transactions without an answer

    def call(self, name, *values, number=0, stream_id=0):
        if number:
            self.open[number] = name
        self.send(rtmp.Message(rtmp.COMMAND, 0, rtmp.amf0.encode(name, number, *values), stream_id))

    def wait_command(self, wanted, what):
        """The values of the first command that is wanted. Everything before it has to be what the proxy can parse."""

        def check(message):
            if message.type not in KNOWN:
                raise ProxyError(f"message type {message.type} before {what}")
            if message.type not in COMMANDS:
                return False
            values = message.command()
            if len(values) < 2 or not isinstance(values[1], float):
                raise ProxyError(f"no transaction id in {values} before {what}")
            if values[0] in ("_result", "_error") and self.open.pop(int(values[1]), None) is None:
                raise ProxyError(f"{values} answers nothing")
            return wanted(values)

        return self.wait_for(check, what).command()

    def result(self, name, number):
        return self.wait_command(lambda values: values[:2] == ["_result", number], f"the result of {name}")

    def begin(self, tc_url, name, publishes):
        self.handshake()
        self.call("connect", {"tcUrl": tc_url}, number=1, stream_id=1)
        self.result("connect", 1)
        if publishes:
            for number, command in ((2, "releaseStream"), (3, "FCPublish")):
                self.call(command, None, name, number=number)
                self.result(command, number)
        self.call("createStream", None, number=4)
        stream_id = int(self.result("createStream", 4)[3])
        if stream_id != 1:
            raise ProxyError(f"the stream's id should be 1, as the proxy's own is: {stream_id}")
        if publishes:
            self.call("publish", None, name, "live", number=5, stream_id=stream_id)
        else:
            self.call("play", None, name, stream_id=stream_id)
        code = "NetStream.Publish.Start" if publishes else "NetStream.Play.Start"

        def is_start(values):
            if values[0] == "onStatus" and publishes and values[3].get("code") != code:
                raise ProxyError(f"{code} was expected: {values}")
            return values[0] == "onStatus" and values[3].get("code") == code

        self.wait_command(is_start, code)
        return self


class RtmpSide:
    """One client of the proxy by RTMP."""

    def __init__(self, connection, picks):
        self.socket, self.picks = connection, picks
        self.reader, self.queue = rtmp.ChunkReader(), []
        self.backend = None

    def close(self):
        self.socket.close()
        if self.backend:
            self.backend.close()

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the client left")
            data += more
        return data

    def answer(self, *values, kind=rtmp.COMMAND, stream_id=0):
        payload = values[0] if kind != rtmp.COMMAND else rtmp.amf0.encode(*values)
        self.socket.sendall(rtmp.chunks(rtmp.Message(kind, 0, payload, stream_id), 3 if kind == rtmp.COMMAND else 2, CHUNK_SIZE))

    def commands(self):
        while True:
            while self.queue:
                message = self.queue.pop(0)
                if message.type in COMMANDS:
                    yield message.command()
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the client left")
            self.queue += self.reader.feed(data)

    def status(self, code, stream_id):
        info = {"level": "status", "code": code, "description": code, "details": "stream", "clientid": "ASAICiss"}
        self.answer("onStatus", 0, None, info, stream_id=stream_id)

    def identify(self):
        """The handshake and the commands up to publish or play: tcUrl, the stream's name, whether it publishes."""
        c1 = self.exactly(1537)[1:]
        self.socket.sendall(b"\x03" + rtmp.make_c1() + c1)
        self.exactly(1536)
        commands = self.commands()
        tc_url = next(values[2]["tcUrl"] for values in commands if values[0] == "connect")
        self.answer(struct.pack(">I", 2500000), kind=rtmp.WINDOW_ACK_SIZE)
        self.answer(struct.pack(">I", CHUNK_SIZE), kind=rtmp.SET_CHUNK_SIZE)
        info = {"level": "status", "code": "NetConnection.Connect.Success", "description": "", "objectEncoding": 0}
        self.answer("_result", 1, {"fmsVer": "FMS/3,5,3,888", "capabilities": 127, "mode": 1}, info)
        stream_id = 0
        for values in commands:
            if values[0] == "createStream":
                self.answer("_result", values[1], None, 1)
                stream_id = 1
            elif values[0] == "publish":
                self.answer("onFCPublish", 0, None, {"code": "NetStream.Publish.Start"}, stream_id=stream_id)
                return tc_url, values[3], True
            elif values[0] == "play":
                self.status("NetStream.Play.Reset", stream_id)
                return tc_url, values[3], False
            elif values[0] != "getStreamLength":
                self.answer("_result", values[1], None, rtmp.amf0.Undefined, stream_id=stream_id)

    def run(self):
        tc_url, name, publishes = self.identify()
        self.backend = BackendClient(self.picks.pick(stream_of(f"{tc_url}/{name}")))
        self.backend.begin(tc_url, name, publishes)
        self.status("NetStream.Publish.Start" if publishes else "NetStream.Play.Start", 1)
        back = threading.Thread(target=self.copy, args=(self.backend.socket, self.socket, self.backend.reader, self.backend.pending))
        back.start()
        self.copy(self.socket, self.backend.socket, self.reader, self.queue)
        back.join()

    def copy(self, source, target, reader, messages):
        """Message by message, as they are: also Set Chunk Size, though the chunks keep their size."""
        try:
            while True:
                for message in messages:
                    csid = {rtmp.VIDEO: 7, rtmp.AUDIO: 8}.get(message.type, 3 if message.type in COMMANDS else 2)
                    target.sendall(rtmp.chunks(message, csid, CHUNK_SIZE))
                data = source.recv(1 << 16)
                if not data:
                    break
                messages = reader.feed(data)
        except OSError:
            pass  # one of them has left, and the other one's connection is closed
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
