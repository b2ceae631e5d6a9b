"""A simulated RTSP server that records: it takes a stream by ANNOUNCE, SETUP and RECORD, with the habits that such servers
have, and keeps the packets."""

import contextlib
import re
import socket
import struct
import threading

from . import camera


class Recorder(camera.Camera):
    """transports: those that are accepted; others get 461, or, with answers_other, the answer names the one that is.
    channel: the interleaved channel of the first track; 0: as asked. refuse: status line of ANNOUNCE. warning: its reason.
    session_at: the request whose answer has the session first. keep_alive: the session's timeout, s. get_parameter: whether
    it is known. life: seconds after which a recording breaks off; teardown: with a request of the server."""

    def __init__(
        self, port=0, channel=0, refuse="", warning="", session_at="SETUP", keep_alive=60, get_parameter=True,
        answers_other=False, teardown=False, server_port=True, **options,
    ):  # fmt: skip
        super().__init__([], port=port, **options)
        self.channel, self.refuse, self.warning, self.session_at = channel, refuse, warning, session_at
        self.keep_alive, self.get_parameter, self.answers_other = keep_alive, get_parameter, answers_other
        self.teardown, self.server_port = teardown, server_port
        self.recordings = []  # of each RECORD: [(channel 0 to 3, bytes)]
        self.descriptions = []  # of each ANNOUNCE
        self.strangers = 0  # datagrams of other ports than those that the client named

    @property
    def frames(self):
        return self.recordings[-1] if self.recordings else []

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection:
            _Session(self, connection).run()


class _Session(camera._Session):
    public = "OPTIONS, ANNOUNCE, SETUP, RECORD, GET_PARAMETER, TEARDOWN"

    def run(self):
        self.frames = []
        data = b""
        try:
            while not self.camera.stopping.is_set():
                data = self._take(data)
                if data is None:
                    return
                more = self.socket.recv(65536)
                if not more:
                    return
                data += more
        finally:
            self.over.set()

    def _take(self, data):
        """What is left; None: the connection is closed."""
        while data:
            if data[:1] == b"$":
                size = struct.unpack_from("!H", data, 2)[0] if len(data) >= 4 else 0
                if len(data) < 4 + size:
                    return data
                channel = data[1] - self.camera.channel
                self.frames.append((channel, data[4 : 4 + size]))
                data = data[4 + size :]
                continue
            head, separator, rest = data.partition(b"\r\n\r\n")
            size = int((re.search(rb"Content-Length: *(\d+)", head) or [0, 0])[1])
            if not separator or len(rest) < size:
                return data
            body, data = rest[:size].decode(), rest[size:]
            if head.startswith(b"RTSP/1.0"):
                continue  # an answer to our TEARDOWN
            if not self._answer_record(head.decode(), body):
                return None
        return data

    def _session(self, method):
        order = ["ANNOUNCE", "SETUP", "RECORD", "GET_PARAMETER", "TEARDOWN", "OPTIONS"]
        if order.index(method) < order.index(self.camera.session_at) or method == "OPTIONS":
            return {}
        return {"Session": f"77;timeout={self.camera.keep_alive}"}

    def _answer_record(self, head, body):
        recorder = self.camera
        method, url = head.split(" ")[:2]
        if self._answer_first(method, url, head):
            return True
        if method == "ANNOUNCE" and recorder.refuse:
            self._respond(head, recorder.refuse, **({"Warning": recorder.warning} if recorder.warning else {}))
        elif method == "ANNOUNCE":
            recorder.descriptions.append(body)
            self._respond(head, **self._session(method))
        elif method == "SETUP":
            self._set_up_recording(head, url)
        elif method == "RECORD":
            recorder.recordings.append(self.frames)
            self._respond(head, **self._session(method))
            if recorder.life:
                threading.Timer(recorder.life, self._break_off).start()
        elif method == "TEARDOWN" or (method == "GET_PARAMETER" and recorder.get_parameter):
            self._respond(head, **self._session(method))
        else:
            self._respond(head, "501 Not Implemented")
        return True

    def _break_off(self):
        with contextlib.suppress(OSError):
            if self.camera.teardown:
                return self._send(b"TEARDOWN * RTSP/1.0\r\nCSeq: 1\r\nSession: 77\r\n\r\n")
            self.socket.shutdown(socket.SHUT_RDWR)

    def _set_up_recording(self, head, url):
        recorder = self.camera
        track = int(url[-1])
        found = re.search(r"interleaved=(\d+)-(\d+)", head)
        kind = "tcp" if found else "udp"
        if kind not in recorder.transports and not recorder.answers_other:
            return self._respond(head, "461 Unsupported Transport")
        if found and kind in recorder.transports:
            channel = int(found[1]) + recorder.channel
            transport = f"RTP/AVP/TCP;unicast;interleaved={channel}-{channel + 1};mode=record"
            return self._respond(head, **self._session("SETUP"), Transport=transport)
        ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for one in ends:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            one.bind(("127.0.0.1", 0))
        ports = re.search(r"client_port=(\d+)-(\d+)", head) or ["", 0, 0]  # a request of TCP has none
        for index, one in enumerate(ends):
            threading.Thread(target=self._receive, args=(one, 2 * track + index, int(ports[1 + index])), daemon=True).start()
        recorder.server_ports += [one.getsockname()[1] for one in ends]
        server = ";server_port=" + "-".join(str(one.getsockname()[1]) for one in ends) if recorder.server_port else ""
        client = ports[0] and f";{ports[0]}"
        client += f";source={recorder.source}" if recorder.source else ""
        self._respond(head, **self._session("SETUP"), Transport=f"RTP/AVP;unicast{client}{server};mode=record")

    def _receive(self, ends, channel, port):
        ends.settimeout(0.2)
        with ends:
            while not self.over.is_set() and not self.camera.stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    data, address = ends.recvfrom(65536)
                    if address != ("127.0.0.1", port):
                        self.camera.strangers += 1
                    self.frames.append((channel, data))
