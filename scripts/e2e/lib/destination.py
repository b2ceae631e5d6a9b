"""An RTMP server, as far as one who publishes to it can tell: takes everything, or refuses, or stops reading."""

import os
import socket
import struct
import threading
import time

from . import amf0, ports, rtmp


class Destination:
    """redirect: the URL to which everybody who connects is sent. connects: the values of each connect.

    Listens while it is started. tags: the media that came, as FLV tags; published: the names, with parameters.
    refuse: a status code for everybody who publishes. holding: nothing is read. receive_buffer: in bytes."""

    def __init__(self, refuse=None, receive_buffer=None, redirect=None, reject=None):
        self.port = ports.take()[0]
        self.refuse, self.receive_buffer, self.redirect, self.reject = refuse, receive_buffer, redirect, reject
        self.connects = []
        self.holding = threading.Event()
        self.stopping = threading.Event()
        self.tags, self.published, self.apps, self.metadata = [], [], [], []
        self.connections = 0
        self.unpublished = 0
        self.open = set()
        self.listener = None

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        self.stopping.clear()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        self.thread = threading.Thread(target=self._accept, args=(self.listener,), daemon=True)
        self.thread.start()
        return self

    def stop(self):
        self.stopping.set()
        self.holding.clear()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.drop()
        self.thread.join()

    def drop(self):
        """Ends every connection."""
        for one in list(self.open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if not self.stopping.is_set():
            self.stop()
        ports.release([self.port])

    def _accept(self, listener):
        while not self.stopping.is_set():
            try:
                one, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            self.open.add(one)
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one):
        try:
            _Peer(self, one).run()
        except (OSError, ConnectionError):
            pass
        finally:
            self.open.discard(one)
            one.close()


class _Peer:
    def __init__(self, owner, one):
        self.owner, self.socket = owner, one
        self.reader = rtmp.ChunkReader()

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def say(self, *values, stream_id=0):
        message = rtmp.Message(rtmp.COMMAND, 0, amf0.encode(*values), stream_id)
        self.socket.sendall(rtmp.chunks(message, 3))

    def run(self):
        c0c1 = self.read(1537)
        self.socket.sendall(b"\x03" + struct.pack(">II", 0, 0) + os.urandom(1528) + c0c1[1:])
        self.read(1536)
        while True:
            while self.owner.holding.is_set():
                time.sleep(0.01)
            data = self.socket.recv(1 << 16)
            if not data:
                return
            for message in self.reader.feed(data):
                self.take(message)

    def take(self, message):
        owner = self.owner
        owner.tags += rtmp.tags_of([message])
        if message.type == rtmp.DATA:
            owner.metadata.append(message.command())
        if message.type != rtmp.COMMAND:
            return
        name, number, *values = message.command()
        if name == "connect":
            owner.apps.append(values[0]["app"])
            owner.connects.append(values)
            if owner.redirect or owner.reject:
                ex = {"ex": {"code": 302, **owner.redirect}} if owner.redirect else {}
                info = {"level": "error", "code": "NetConnection.Connect.Rejected", "description": owner.reject or "moved"}
                return self.say("_error", number, None, {**info, **ex})
            self.say("_result", number, {}, {"level": "status", "code": "NetConnection.Connect.Success"})
        elif name == "createStream":
            self.say("_result", number, None, 1)
        elif name == "publish":
            owner.published.append(values[1])
            code = owner.refuse or "NetStream.Publish.Start"
            level = "error" if owner.refuse else "status"
            self.say("onStatus", 0, None, {"level": level, "code": code, "description": "as told"}, stream_id=1)
        elif name == "deleteStream":
            owner.unpublished += 1
