"""An RTSP client (RFC 2326) that sends what it is told, for what no player would send too: requests, interleaved frames,
Digest; and the frames of the RTP that came, put together again."""

import base64
import hashlib
import re
import select
import socket
import struct
import time
from typing import NamedTuple

from . import flv, sockets, ts
from .timing import scaled

TCP = "RTP/AVP/TCP;unicast;interleaved={}-{}"


class RtspError(Exception):
    pass


class Response(NamedTuple):
    status: int
    fields: list  # (name, value), in order
    body: str

    def get(self, name):
        return next((value for key, value in self.fields if key.lower() == name.lower()), "")

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]


class Packet(NamedTuple):
    """An RTP packet."""

    payload_type: int
    marker: bool
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes


def rtp(data):
    first, second, sequence, timestamp, ssrc = struct.unpack_from("!BBHII", data)
    assert first == 0x80, f"the first byte of an RTP packet without extensions should be 0x80, it is {first:#x}"
    return Packet(second & 127, bool(second & 128), sequence, timestamp, ssrc, data[12:])


class Client:
    def __init__(self, port, timeout=5, tls=False, receive_buffer=None):
        self.socket = sockets.connect("127.0.0.1", port, scaled(timeout), tls, receive_buffer)
        self.data = b""
        self.cseq = 0
        self.session = ""
        self.frames = []  # (channel, bytes), in order of arrival
        self.udp = {}  # channel: socket

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()
        for ends in self.udp.values():
            ends.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_request(self, method, url, body="", **fields):
        self.cseq += 1
        lines = [f"{method} {url} RTSP/1.0", f"CSeq: {self.cseq}"]
        if self.session and "Session" not in fields:
            lines.append(f"Session: {self.session}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.send(("\r\n".join(lines) + "\r\n\r\n" + body).encode())

    def request(self, method, url, body="", **fields):
        self.send_request(method, url, body, **fields)
        response = self.response()
        if found := re.match(r"[^;]+", response.get("Session")):
            self.session = found[0]
        return response

    def _fill(self):
        more = self.socket.recv(65536)
        if not more:
            raise RtspError("the server closed the connection")
        self.data += more

    def _take(self, count):
        while len(self.data) < count:
            self._fill()
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def _frame(self):
        """An interleaved frame, when one is next."""
        while not self.data:
            self._fill()
        if self.data[:1] != b"$":
            return False
        _, channel, size = struct.unpack("!BBH", self._take(4))
        self.frames.append((channel, self._take(size)))
        return True

    def response(self):
        """The next response; interleaved frames before it are kept."""
        while self._frame():
            pass
        while b"\r\n\r\n" not in self.data:
            self._fill()
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        assert first.startswith("RTSP/1.0 "), f"a response should begin with RTSP/1.0, it begins with {first}"
        fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
        response = Response(int(first.split()[1]), fields, "")
        return response._replace(body=self._take(int(response.get("Content-Length") or 0)).decode())

    def read_frames(self, seconds, enough=lambda frames: False):
        """Reads for so long, or until there are enough."""
        end = time.monotonic() + scaled(seconds)
        while time.monotonic() < end and not enough(self.frames):
            self.socket.settimeout(max(0.01, end - time.monotonic()))
            try:
                if not self._frame():
                    break
            except (TimeoutError, RtspError):
                break
        self.socket.settimeout(scaled(5))
        return self.frames

    def ended(self, seconds=5):
        """Whether the server closes the connection."""
        self.socket.settimeout(scaled(seconds))
        try:
            while self.socket.recv(65536):
                pass
            return True
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    # --- sessions

    def describe(self, url, **fields):
        """The control URLs of the tracks."""
        response = self.request("DESCRIBE", url, Accept="application/sdp", **fields)
        assert response.status == 200, f"DESCRIBE should be answered with 200, it was with {response}"
        self.sdp = response.body
        base = response.get("Content-Base")
        controls = re.findall(r"a=control:(\S+)", self.sdp.partition("\nm=")[2])
        return [control if "://" in control else base + control for control in controls]

    def play(self, url, channels=None, **fields):
        """Sets up all tracks, interleaved, and plays: RTP-Info's response."""
        for index, control in enumerate(self.describe(url, **fields)):
            first = channels[index] if channels else 2 * index
            response = self.request("SETUP", control, Transport=TCP.format(first, first + 1))
            assert response.status == 200, f"SETUP should be answered with 200, it was with {response}"
        response = self.request("PLAY", url, Range="npt=0.000-")
        assert response.status == 200, f"PLAY should be answered with 200, it was with {response}"
        return response


    def setup_udp(self, control, index):
        """By UDP, with ports of its own: the response. What comes is kept as if it came on channels 2i and 2i + 1."""
        for channel in (2 * index, 2 * index + 1):
            ends = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            ends.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            ends.bind(("127.0.0.1", 0))
            self.udp[channel] = ends
        ports = [self.udp[channel].getsockname()[1] for channel in (2 * index, 2 * index + 1)]
        return self.request("SETUP", control, Transport="RTP/AVP;unicast;client_port={}-{}".format(*ports))

    def play_udp(self, url):
        for index, control in enumerate(self.describe(url)):
            response = self.setup_udp(control, index)
            assert response.status == 200, f"SETUP by UDP should be answered with 200, it was with {response}"
        response = self.request("PLAY", url)
        assert response.status == 200, f"PLAY should be answered with 200, it was with {response}"
        return response

    def read_datagrams(self, seconds, enough=lambda frames: False):
        end = time.monotonic() + scaled(seconds)
        while time.monotonic() < end and not enough(self.frames):
            ready, _, _ = select.select(list(self.udp.values()), [], [], 0.1)
            for channel, ends in self.udp.items():
                if ends in ready:
                    self.frames.append((channel, ends.recv(65536)))
        return self.frames


class Publisher(Client):
    """Publishes FLV tags of H.264 and AAC."""

    def announce(self, url, tags, **fields):
        self.url = url
        return self.request("ANNOUNCE", url, body=description(tags), Content_Type="application/sdp", **fields)

    def record(self, url, tags, udp=False):
        response = self.announce(url, tags)
        assert response.status == 200, f"ANNOUNCE should be answered with 200, it was with {response}"
        self.rtp_port = None
        for index in (0, 1):
            control = f"{url}/streamid={index}"
            if udp:
                response = self.setup_udp(control, index)
                self.rtp_port = int(re.search(r"server_port=(\d+)", response.get("Transport"))[1])
            else:
                response = self.request("SETUP", control, Transport=TCP.format(2 * index, 2 * index + 1) + ";mode=record")
            assert response.status == 200, f"SETUP should be answered with 200, it was with {response}"
        response = self.request("RECORD", url)
        assert response.status == 200, f"RECORD should be answered with 200, it was with {response}"
        self.sequences = {0: 65_530, 2: 7}
        # Both tracks' timestamps 0 are the same moment.
        for channel in (0, 2):
            self.send_packet(channel + 1, struct.pack("!BBHIIIIII", 0x80, 200, 6, 1000 + channel, 3_900_000_000, 0, 0, 0, 0))
        return response

    def send_tag(self, tag):
        for channel, data in self.packets(tag):
            self.send_packet(channel, data)

    def send_packet(self, channel, data):
        if self.rtp_port:
            self.udp[channel].sendto(data, ("127.0.0.1", self.rtp_port + channel % 2))
        else:
            self.send(struct.pack("!BBH", 36, channel, len(data)) + data)

    def packets(self, tag):
        """[(channel, RTP packet)] of a frame; none of a header."""
        if not flv.is_frame(tag):
            return []
        if tag.type == flv.AUDIO:
            payloads = [struct.pack("!HH", 16, len(tag.body[2:]) << 3) + tag.body[2:]]
            return self._packets(2, 97, round(tag.timestamp * 44.1), payloads)
        payloads, rest = [], tag.body[5:]
        while rest:
            size = struct.unpack_from("!I", rest)[0]
            unit, rest = rest[4 : 4 + size], rest[4 + size :]
            if len(unit) <= 1200:
                payloads.append(unit)
                continue
            parts = [unit[at : at + 1200] for at in range(1, len(unit), 1200)]
            for index, part in enumerate(parts):
                flags = (0x80 if index == 0 else 0) | (0x40 if index == len(parts) - 1 else 0)
                payloads.append(bytes([unit[0] & 0xE0 | 28, flags | unit[0] & 31]) + part)
        return self._packets(0, 96, (tag.timestamp + _cts(tag)) * 90, payloads)

    def _packets(self, channel, kind, timestamp, payloads):
        made = []
        for payload in payloads:
            marker = 128 if payload is payloads[-1] else 0
            number = self.sequences[channel]
            self.sequences[channel] = number + 1 & 0xFFFF
            head = struct.pack("!BBHII", 0x80, marker | kind, number, timestamp & 0xFFFFFFFF, 1000 + channel)
            made.append((channel, head + payload))
        return made


def description(tags):
    """Of H.264 and AAC, by their sequence headers."""
    video = next(tag.body[5:] for tag in tags if tag.type == flv.VIDEO and flv.is_sequence_header(tag))
    audio = next(tag.body[2:] for tag in tags if tag.type == flv.AUDIO and flv.is_sequence_header(tag))
    size = struct.unpack_from("!H", video, 6)[0]
    sps, rest = video[8 : 8 + size], video[8 + size :]
    pps = rest[3 : 3 + struct.unpack_from("!H", rest, 1)[0]]
    sets = ",".join(base64.b64encode(one).decode() for one in (sps, pps))
    lines = [
        "v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=test", "c=IN IP4 127.0.0.1", "t=0 0",
        "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
        f"a=fmtp:96 packetization-mode=1; sprop-parameter-sets={sets}", "a=control:streamid=0",
        "m=audio 0 RTP/AVP 97", "a=rtpmap:97 MPEG4-GENERIC/44100/2",
        f"a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config={audio.hex()}", "a=control:streamid=1",
    ]  # fmt: skip
    return "\r\n".join(lines) + "\r\n"


def assert_arrived(tags, received, who, video=None):
    """What was published by RTP came as FLV: the frames of each kind in order, presentation times shifted by a constant.
    video: the published video frames that should come, if not all."""
    shifts = []
    for kind in (flv.VIDEO, flv.AUDIO):
        want = [tag for tag in flv.frames(tags) if tag.type == kind]
        if kind == flv.VIDEO and video is not None:
            want = video
        got = [tag for tag in flv.frames(received) if tag.type == kind]
        content = ts.published_units if kind == flv.VIDEO else lambda tag: tag.body[2:]
        for index, (one, other) in enumerate(zip(want, got)):
            assert content(one) == content(other), f"{who}: {flv.NAMES[kind]} frame {index} should be {one.describe()}, it is {other.describe()}"
            cts = (_cts(one), _cts(other)) if kind == flv.VIDEO else (0, 0)
            shifts.append(other.timestamp + cts[1] - one.timestamp - cts[0])
        assert len(want) == len(got), f"{who}: {len(want)} {flv.NAMES[kind]} frames should come, {len(got)} did"
    assert max(shifts) - min(shifts) <= 2, f"{who}: presentation times should be shifted by one constant, the shifts are {min(shifts)} to {max(shifts)} ms"


def url(server, path):
    return f"rtsp://127.0.0.1:{server.rtc_port}/{path}"


def client(server, **options):
    return Client(server.rtc_port, **options)


def digest(response, user, password, method, address):
    """The Authorization for a 401, by MD5 and qop=auth."""
    challenge = next(field for field in response.all("WWW-Authenticate") if field.startswith("Digest"))
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))

    def md5(text):
        return hashlib.md5(text.encode()).hexdigest()

    secret, asked = md5(f"{user}:{fields['realm']}:{password}"), md5(f"{method}:{address}")
    answer = md5(f"{secret}:{fields['nonce']}:00000001:c:auth:{asked}")
    return (
        f'Digest username="{user}", realm="{fields["realm"]}", nonce="{fields["nonce"]}", uri="{address}", '
        f'response="{answer}", qop=auth, nc=00000001, cnonce="c"'
    )


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


# --- RTP


def packets(frames, channel):
    """The RTP packets of a channel; without a gap."""
    found = [rtp(data) for number, data in frames if number == channel]
    for before, after in zip(found, found[1:]):
        assert after.sequence == (before.sequence + 1) & 0xFFFF, (
            f"channel {channel}: the sequence number after {before.sequence} should follow, it is {after.sequence}"
        )
    return found


def reports(frames, channel):
    """The sender reports of an RTCP channel: (ntp in s, rtp timestamp)."""
    found = []
    for number, data in frames:
        if number != channel or data[1] != 200:
            continue
        seconds, fraction, timestamp = struct.unpack_from("!III", data, 8)
        found.append((seconds + fraction / 2**32, timestamp))
    return found


def h264_units(found):
    """[(timestamp, NAL units without parameter sets and delimiters)] of RTP packets (RFC 6184)."""
    frames, part = [], b""
    for packet in found:
        kind = packet.payload[0] & 31
        units = []
        if kind == 24:  # STAP-A
            rest = packet.payload[1:]
            while rest:
                size = struct.unpack_from("!H", rest)[0]
                units.append(rest[2 : 2 + size])
                rest = rest[2 + size :]
        elif kind == 28:  # FU-A
            if packet.payload[1] & 0x80:
                part = bytes([packet.payload[0] & 0xE0 | packet.payload[1] & 31])
            part += packet.payload[2:]
            units = [part] if packet.payload[1] & 0x40 else []
        else:
            units = [packet.payload]
        if not frames or frames[-1][0] != packet.timestamp:
            frames.append((packet.timestamp, []))
        frames[-1][1].extend(unit for unit in units if unit[0] & 31 not in (7, 8, 9))
    return frames


def aac_units(found):
    """[(timestamp, AAC frame)] of RTP packets (RFC 3640, AAC-hbr), whole frames only."""
    frames = []
    for packet in found:
        count = struct.unpack_from("!H", packet.payload)[0] // 16
        at = 2 + 2 * count
        for index in range(count):
            size = struct.unpack_from("!H", packet.payload, 2 + 2 * index)[0] >> 3
            frames.append((packet.timestamp + 1024 * index, packet.payload[at : at + size]))
            at += size
    return frames


def assert_same(tags, frames, clock, who, video=0, audio=2, slack=1.1, in_step=1.1):
    """The frames of a player are the published ones, byte for byte, from a keyframe on, each track's times shifted by one
    constant within `slack` ms, and both in step within so many ms; 0: they need not be."""
    shifts = []
    for channel, kind, rate in ((video, flv.VIDEO, 90_000), (audio, flv.AUDIO, clock)):
        found = packets(frames, channel)
        published = [tag for tag in flv.frames(tags) if tag.type == kind]
        if kind == flv.VIDEO:
            got = h264_units(found)[:-1]  # the last one may not be whole
            want = [(tag.timestamp + _cts(tag), ts.published_units(tag)) for tag in published]
        else:
            got = aac_units(found)
            want = [(tag.timestamp, tag.body[2:]) for tag in published]
        assert len(got) > 20, f"{who}: more than 20 frames of channel {channel} should come, {len(got)} did"
        first = next((i for i, one in enumerate(want) if one[1] == got[0][1]), None)
        assert first is not None, f"{who}: the first frame of channel {channel} was never published"
        for index, ((stamp, data), (ms, same)) in enumerate(zip(got, want[first:])):
            assert data == same, f"{who}: frame {index} of channel {channel} differs from what was published"
            shifts.append(stamp * 1000 / rate - ms)
        mine = shifts[-min(len(got), len(want) - first) :]
        assert max(mine) - min(mine) <= slack, (
            f"{who}: times of channel {channel} should be shifted by one constant; the shifts are {min(mine)} to {max(mine)} ms"
        )
    assert not in_step or max(shifts) - min(shifts) <= max(in_step, slack), (
        f"{who}: times should be those published, shifted by one constant; the shifts are {min(shifts)} to {max(shifts)} ms"
    )


def _cts(tag):
    return int.from_bytes(tag.body[2:5], "big", signed=True)
