"""A simulated camera: an RTSP server with the habits of devices, which plays FLV tags of H.264 and AAC to each client."""

import base64
import contextlib
import hashlib
import re
import socket
import struct
import threading
import time

from . import flv, media, rtsp


def sequence_header(tags, kind):
    return next(tag.body for tag in tags if tag.type == kind and flv.is_sequence_header(tag))


def parameter_sets(tags):
    """SPS and PPS."""
    video = sequence_header(tags, flv.VIDEO)[5:]
    size = struct.unpack_from("!H", video, 6)[0]
    rest = video[8 + size :]
    return [video[8 : 8 + size], rest[3 : 3 + struct.unpack_from("!H", rest, 1)[0]]]


def with_start_codes(units, before):
    """Length-prefixed NAL units as one, with others before them."""
    parts = list(before)
    while units:
        size = struct.unpack_from("!I", units)[0]
        parts.append(units[4 : 4 + size])
        units = units[4 + size :]
    whole = b"\0\0\0\1".join(parts)
    return struct.pack("!I", len(whole)) + whole


class Camera:
    """content_base: whether DESCRIBE's answer has one. control: of the tracks, {} is the URL. sprop: the description has the
    parameter sets; otherwise they are in the stream alone. early: RTP comes before PLAY's answer. transports: those that
    are accepted; others get 461. back_channel: an audio track for the way back, before the others. redirect: where to.
    plays: so many plays; then the camera closes the connection when the tags are over. life: seconds after which a play
    breaks off, as when the camera reboots. speed: times real time; paced by the tags' times. change: a function of the
    description's text. channel: added to the interleaved channels that are asked for. source: in the answers to SETUP by
    UDP. noise: (channel, bytes) that are sent between frames. server_port: what answers to SETUP by UDP state, if not the
    right ones. start_codes: the NAL units of a keyframe, with the parameter sets, are sent as one, with start codes between
    them. end_bits: of fragments of NAL units."""

    def __init__(
        self, tags, port=0, user="", password="", schemes=("digest", "basic"), content_base=True, control="trackID={}",
        sprop=True, early=False, transports=("tcp", "udp"), back_channel=False, redirect="", plays=0, life=0, speed=1,
        cseq=True, silent=False, change=lambda text: text, channel=0, source="", noise=(), server_port="", start_codes=False,
        end_bits=True,
    ):  # fmt: skip
        self.tags, self.user, self.password, self.schemes = tags, user, password, schemes
        self.content_base, self.control, self.sprop, self.early = content_base, control, sprop, early
        self.transports, self.back_channel, self.redirect = transports, back_channel, redirect
        self.plays, self.life, self.speed, self.cseq, self.silent = plays, life, speed, cseq, silent
        self.change, self.channel, self.source, self.noise = change, channel, source, noise
        self.server_port, self.start_codes, self.end_bits = server_port, start_codes, end_bits
        self.requests = []  # (time, method, URL, head)
        self.reports = 0  # RTCP that came
        self.server_ports = []  # of UDP
        self.sockets = []
        self.stopping = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.stopping.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # its accept() would take one more connection
        self.listener.close()
        self.drop()

    def drop(self):
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def url(self, path="s"):
        return f"rtsp://127.0.0.1:{self.port}/{path}"

    def count(self, method):
        return len([one for one in self.requests if one[1] == method])

    def times(self, method):
        return [one[0] for one in self.requests if one[1] == method]

    def _accept(self):
        while not self.stopping.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection:
            _Session(self, connection).run()


class _Session:
    public = "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN"
    packets = rtsp.Publisher.packets
    _packets = rtsp.Publisher._packets

    def __init__(self, camera, connection):
        self.camera, self.socket = camera, connection
        self.lock = threading.Lock()
        self.sequences = {0: 65_530, 2: 7}
        self.transport = {}  # channel 0 or 2: (interleaved channel,) or (socket of RTP, of RTCP, RTP port, RTCP port)
        self.over = threading.Event()

    def run(self):
        data = b""
        try:
            while not self.camera.stopping.is_set():
                while data[:1] == b"$" and len(data) >= 4 and len(data) >= 4 + struct.unpack_from("!H", data, 2)[0]:
                    self.camera.reports += data[1] % 2
                    data = data[4 + struct.unpack_from("!H", data, 2)[0] :]
                if data[:1] != b"$" and b"\r\n\r\n" in data:
                    head, _, data = data.partition(b"\r\n\r\n")
                    if not self._answer(head.decode()):
                        return
                    continue
                more = self.socket.recv(65536)
                if not more:
                    return
                data += more
        finally:
            self.over.set()
            for ways in self.transport.values():
                for one in ways:
                    if isinstance(one, socket.socket):
                        one.close()

    def _send(self, data):
        with self.lock:
            self.socket.sendall(data)

    def _respond(self, head, status="200 OK", body="", **fields):
        number = re.search(r"CSeq: *(\d+)", head)[1]
        lines = [f"RTSP/1.0 {status}"] + ([f"CSeq: {number}"] if self.camera.cseq else [])
        for name, values in fields.items():
            for value in [values] if isinstance(values, str) else values:
                lines.append(f"{name.replace('_', '-')}: {value}")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self._send(("\r\n".join(lines) + "\r\n\r\n" + body).encode())

    def _challenges(self):
        texts = {"digest": 'Digest realm="IP Camera(C1234)", nonce="4f3c", algorithm="MD5"', "basic": 'Basic realm="IP Camera"'}
        return [texts[scheme] for scheme in self.camera.schemes]

    def _is_allowed(self, method, head):
        camera = self.camera
        field = re.search(r"^Authorization: *(.*?)\r?$", head, re.M)
        if not camera.user or method == "OPTIONS":
            return True
        if not field:
            return False
        if field[1].startswith("Basic"):
            return "basic" in camera.schemes and base64.b64decode(field[1][6:]).decode() == f"{camera.user}:{camera.password}"
        got = dict(re.findall(r'(\w+)="([^"]*)"', field[1]))

        def md5(text):
            return hashlib.md5(text.encode()).hexdigest()

        secret = md5(f"{camera.user}:{got['realm']}:{camera.password}")
        return got["response"] == md5(f"{secret}:4f3c:{md5(method + ':' + got['uri'])}")

    def _answer_first(self, method, url, head):
        """Whether the request is answered by what all methods have in common."""
        self.camera.requests.append((time.monotonic(), method, url, head))
        if not self._is_allowed(method, head):
            self._respond(head, "401 Unauthorized", WWW_Authenticate=self._challenges())
        elif method == "OPTIONS":
            self._respond(head, Public=self.public)
        elif method in ("DESCRIBE", "ANNOUNCE") and self.camera.redirect:
            self._respond(head, "302 Moved Temporarily", Location=self.camera.redirect)
        else:
            return False
        return True

    def _answer(self, head):
        """False: the connection is closed."""
        camera = self.camera
        method, url = head.split(" ")[:2]
        if self._answer_first(method, url, head):
            return True
        if method == "DESCRIBE":
            base = {"Content_Base": url + "/"} if camera.content_base else {}
            self._respond(head, body=self._description(url), Content_Type="application/sdp", **base)
        elif method == "SETUP":
            self._set_up(head, url)
        elif method == "PLAY":
            return self._play(head)
        elif method in ("GET_PARAMETER", "TEARDOWN"):
            self._respond(head, Session="77")
            return method != "TEARDOWN"
        else:
            self._respond(head, "501 Not Implemented")
        return True

    def _description(self, url):
        text = rtsp.description(self.camera.tags)
        for index in (0, 1):
            text = text.replace(f"a=control:streamid={index}", "a=control:" + self.camera.control.format(index).replace("URL", url))
        if not self.camera.sprop:
            text = re.sub(r"; sprop-parameter-sets=\S+", "", text)
        if self.camera.back_channel:
            text += "m=audio 0 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=control:back\r\na=sendonly\r\n"
        return self.camera.change(text)

    def _set_up(self, head, url):
        channel = 2 * int(url[-1])
        if found := re.search(r"interleaved=(\d+)-(\d+)", head):
            if "tcp" not in self.camera.transports:
                return self._respond(head, "461 Unsupported Transport")
            first = int(found[1]) + self.camera.channel
            self.transport[channel] = (first,)
            return self._respond(head, Session="77;timeout=60", Transport=f"RTP/AVP/TCP;unicast;interleaved={first}-{first + 1}")
        if "udp" not in self.camera.transports:
            return self._respond(head, "461 Unsupported Transport")
        ports = re.search(r"client_port=(\d+)-(\d+)", head)
        ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for one in ends:
            one.bind(("127.0.0.1", 0))
        self.transport[channel] = (*ends, int(ports[1]), int(ports[2]))
        self.camera.server_ports += [one.getsockname()[1] for one in ends]
        server_port = self.camera.server_port or "-".join(str(one.getsockname()[1]) for one in ends)
        source = f";source={self.camera.source}" if self.camera.source else ""
        transport = f"RTP/AVP;unicast{source};client_port={ports[1]}-{ports[2]};server_port={server_port}"
        self._respond(head, Session="77;timeout=60", Transport=transport)

    def _play(self, head):
        camera = self.camera
        if camera.plays and camera.count("PLAY") > camera.plays:
            self._respond(head, "503 Service Unavailable")
            return False
        if camera.silent:
            self._respond(head, Session="77")
            return True
        frames = self._timeline()
        if camera.early:
            self._send_reports()
            for _ in range(4):
                self._send_tag(next(frames))
        self._respond(head, Session="77", Range="npt=0.000-")
        threading.Thread(target=self._send_all, args=(frames,), daemon=True).start()
        return True

    def _timeline(self):
        if self.camera.plays:
            yield from flv.frames(self.camera.tags)
            return
        frames = flv.frames(self.camera.tags)
        span, base = frames[-1].timestamp - frames[0].timestamp + 40, 0
        while True:
            for tag in frames:
                yield tag._replace(timestamp=tag.timestamp + base)
            base += span

    def _send_all(self, frames):
        begin, first = time.monotonic(), None
        with contextlib.suppress(OSError):
            if not self.camera.early:
                self._send_reports()
            for tag in frames:
                first = tag.timestamp if first is None else first
                pause = (tag.timestamp - first) / 1000 / self.camera.speed - (time.monotonic() - begin)
                if self.over.wait(max(0.0, pause)) or self.camera.stopping.is_set():
                    return
                if self.camera.life and time.monotonic() - begin > self.camera.life:
                    break
                self._send_tag(tag)
            if not self.camera.life:
                time.sleep(0.7)  # packets by UDP that wait for others
            self.socket.shutdown(socket.SHUT_RDWR)

    def _send_reports(self):
        """Both tracks' timestamps 0 are the same moment."""
        for channel in (0, 2):
            self._send_packet(channel + 1, struct.pack("!BBHIIIIII", 0x80, 200, 6, 1000 + channel, 3_900_000_000, 0, 0, 0, 0))

    def _send_tag(self, tag):
        if tag.type == flv.VIDEO and flv.is_keyframe(tag) and not self.camera.sprop:
            sets = self._packets(0, 96, (tag.timestamp + rtsp._cts(tag)) * 90, parameter_sets(self.camera.tags))
            for channel, data in sets:  # of the keyframe's access unit, so without its marker
                self._send_packet(channel, data[:1] + bytes([data[1] & 127]) + data[2:])
        if self.camera.start_codes and tag.type == flv.VIDEO and flv.is_keyframe(tag):
            tag = tag._replace(body=tag.body[:5] + with_start_codes(tag.body[5:], parameter_sets(self.camera.tags)))
        for channel, data in self.packets(tag):
            if not self.camera.end_bits and channel == 0 and data[12] & 31 == 28:
                data = data[:13] + bytes([data[13] & 0xBF]) + data[14:]
            self._send_packet(channel, data)
        for channel, data in self.camera.noise:
            self._send_packet(channel, data)

    def _send_packet(self, channel, data):
        way = self.transport.get(channel & ~1)
        if not way:  # noise on a channel that nobody set up
            self._send(struct.pack("!BBH", 36, channel, len(data)) + data)
        elif len(way) == 1:
            self._send(struct.pack("!BBH", 36, way[0] + channel % 2, len(data)) + data)
        else:
            way[channel % 2].sendto(data, ("127.0.0.1", way[2 + channel % 2]))


def camera_tags():
    """What most tests' cameras send: 400 tags, with B-frames."""
    return media.from_keyframe(media.with_b_frames())[:400]


def ingest(url, name="cam", input="", more=""):
    """A vhost's block that pulls a stream by RTSP. input: more within its input; more: beside it."""
    return f"ingest {name} {{ enabled on; {more} input {{ type rtsp; url {url}; {input} }} }}"
