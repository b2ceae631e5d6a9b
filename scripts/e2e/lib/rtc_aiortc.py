"""aiortc as WHIP publisher and WHEP player, which decodes in the script: what its video frames show and its audio is, and by the
sender reports when each belongs to (RFC 3550, 6.4.1)."""

import asyncio
import contextlib
import fractions
import json
import logging
import random
import re
import struct
import time
import urllib.parse
from typing import NamedTuple

import aioice.ice
import av
import numpy
from aiortc import MediaStreamTrack, RTCPeerConnection, RTCRtpReceiver, RTCRtpSender, RTCSessionDescription
from aiortc.codecs.vpx import Vp8Encoder
from aiortc.rtcrtpparameters import RTCRtpHeaderExtensionParameters, RTCRtpParameters
from aiortc.rtp import HeaderExtensionsMap, RtcpPsfbPacket, RtcpSrPacket, RtpPacket
from aiortc.sdp import SessionDescription

from . import http, rtc, rtc_plain
from .rtc_media import Media, rtcp_packets

# Its own look at the machine's addresses leaves loopback out.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"] if use_ipv4 else []

WIDTH, HEIGHT, RATE = 320, 180, 20
CLOCK = {"video": 90000, "audio": 48000}
NTP_OF_UNIX = 2208988800  # s
FLASH_S = 0.15
SLICE = 960  # samples of an audio frame
# Lines of them, for some 120 packets a second: aiortc asks only for what is missing of the last 128, and takes one that
# comes a second time, 100 packets late, for the beginning of another stream. So that is about a second here.
DOTS = 7
LOUD = 3000


class VideoFrame(NamedTuple):
    at: float  # arrived, monotonic, s
    pts: int
    places: list  # RGB of the seven places that rtc_page.html looks at
    white: bool
    size: tuple  # width, height


# ---- Publishing


class Painted(MediaStreamTrack):
    """What rtc_page.html paints, without its bars. changing: dots that no encoder can foresee, for some bitrate."""

    kind = "video"

    def __init__(self, changing=False, start=None):
        super().__init__()
        self.start, self.count = start or time.monotonic(), 0
        self.noise = numpy.random.default_rng(1) if changing else None
        self.plain = numpy.zeros((HEIGHT, WIDTH, 3), numpy.uint8)
        for field, colour in enumerate((rtc.FIELDS[0], rtc.FIELDS[2], rtc.FIELDS[4], rtc.FIELDS[5])):
            self.plain[HEIGHT // 9 : HEIGHT * 5 // 6, field * WIDTH // 4 : (field + 1) * WIDTH // 4] = colour

    async def recv(self):
        seconds = self.count / RATE
        self.count += 1
        await asyncio.sleep(max(0, self.start + seconds - time.monotonic()))
        image = self.plain.copy()
        if seconds % 1 < FLASH_S:
            image[HEIGHT * 5 // 6 :] = 255
        if self.noise is not None:
            image[HEIGHT // 9 + 4 : HEIGHT // 9 + 4 + DOTS] = self.noise.integers(0, 255, (DOTS, WIDTH, 3), numpy.uint8)
        frame = av.VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts, frame.time_base = int(seconds * CLOCK["video"]), fractions.Fraction(1, CLOCK["video"])
        return frame


class Beeping(MediaStreamTrack):
    kind = "audio"

    def __init__(self, start=None):
        super().__init__()
        self.start, self.count = start or time.monotonic(), 0

    async def recv(self):
        first = self.count * SLICE
        self.count += 1
        await asyncio.sleep(max(0, self.start + first / CLOCK["audio"] - time.monotonic()))
        seconds = numpy.arange(first, first + SLICE) / CLOCK["audio"]
        wave = 20000 * numpy.sin(2 * numpy.pi * 1000 * seconds) * (seconds % 1 < FLASH_S)
        frame = av.AudioFrame.from_ndarray(wave.astype(numpy.int16).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = CLOCK["audio"], first, fractions.Fraction(1, CLOCK["audio"])
        return frame


# ---- Signalling


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


def _post(url, offer):
    parts = urllib.parse.urlsplit(url)
    with http.Connection(parts.port) as connection:
        connection.request("POST", f"{parts.path}?{parts.query}", offer.encode(), Content_Type="application/sdp")
        answer = connection.read_response("POST")
    if answer.status != 201:
        raise Refused(answer.status, answer.body.decode(errors="replace"))
    return answer.body.decode(), urllib.parse.urljoin(url, answer.headers["location"])


class Peer:
    """An async context manager: connected within it. end="vanish" leaves without a word.

    media: what it sends and gets in the clear; ssrcs: of what it sends, by kind; formats: payload type -> kind and codec, those
    of the answer."""

    def __init__(self, url, port=None):
        self.url, self.resource, self.end = url, None, "delete"
        self.port = port  # of a relay, instead of the answer's
        self.peer = RTCPeerConnection()
        self.answer = None
        self.media, self.ssrcs, self.formats = Media(), {}, {}

    async def __aenter__(self):
        await self.peer.setLocalDescription(await self.peer.createOffer())
        offer = self.offered(self.peer.localDescription.sdp)
        self.ssrcs = {kind: ssrcs[0] for kind, ssrcs, _ in described(self.peer.localDescription.sdp)}
        end = time.monotonic() + rtc.scaled(10)
        while not self.answer:
            try:
                self.answer, self.resource = await asyncio.to_thread(_post, self.url, offer)
            except Refused as refused:
                # Who publishes may not be there yet.
                if refused.status not in (404, 409):
                    raise
                assert time.monotonic() < end, f"{self.url} has nobody who publishes: {refused}"
                await asyncio.sleep(0.2)
        answer = rtc.through_port(self.answer, self.port) if self.port else self.answer
        self.formats = {codec.payloadType: (kind, codec) for kind, _, codecs in described(answer) for codec in codecs}
        with self.media.of_tasks():
            await self.peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        return self

    def offered(self, sdp):
        """The offer, where aiortc cannot write it."""
        return sdp

    async def __aexit__(self, *_):
        if self.end == "delete":
            await asyncio.to_thread(rtc.delete, self.resource)
        if self.end != "vanish":
            await self.peer.close()

    async def connected(self, seconds=10):
        await wait(lambda: self.peer.connectionState == "connected", seconds, lambda: f"connected; {self.peer.connectionState}")


def prefer(transceiver, kind, codec):
    """That codec alone, and its retransmissions."""
    known = (RTCRtpSender if kind == "send" else RTCRtpReceiver).getCapabilities(transceiver.kind).codecs
    wanted = [one for one in known if one.mimeType.lower() == codec.lower() or one.mimeType.endswith("/rtx")]
    transceiver.setCodecPreferences(wanted)


def described(sdp):
    """Of each of its media: kind, SSRCs, codecs."""
    return [(one.kind, [source.ssrc for source in one.ssrc], one.rtp.codecs) for one in SessionDescription.parse(sdp).media]


class Publisher(Peer):
    """audio: its codec, and a track instead of the beeps."""

    def __init__(self, url, codec="video/H264", changing=False, port=None, audio=None, audio_track=None):
        super().__init__(url, port)
        self.late = {"video": [], "audio": []}  # see _report_true_times
        start = time.monotonic()
        self.starts, self.origins = {}, {}  # kind -> when its track began; SSRC -> the first RTP packet
        self.media.outgoing.append(self._report_true_times)
        for track in (Painted(changing, start), audio_track or Beeping(start)):
            self.starts[track.kind] = track.start
            transceiver = self.peer.addTransceiver(track, direction="sendonly")
            if wanted := codec if track.kind == "video" else audio:
                prefer(transceiver, "send", wanted)

    def _report_true_times(self, data):
        """A sender report names an instant and the timestamp of what was sampled then (RFC 3550, 6.4.1). aiortc's own name the
        instant at which the last packet was sent, which is after the video frame was painted, waited for and encoded: some
        10 ms, and 100 on a busy machine. Those that go out name the track's own instant; late gets how late aiortc's would be,
        ms."""
        if packet := rtc_plain.read(data):
            self.origins.setdefault(packet.ssrc, packet)
        if data[1] != rtc_plain.SENDER_REPORT:
            return data
        ssrc, ntp, timestamp = struct.unpack_from("!IQI", data, 4)
        if not ntp:  # aiortc has sent nothing yet: a report without times in its place
            return struct.pack("!BBHI", 0x80, rtc_plain.RECEIVER_REPORT, 1, ssrc) + data[28:]
        first = self.origins[ssrc]
        kind, codec = self.formats[first.kind]
        seconds = (timestamp - first.timestamp) % (1 << 32) / codec.clockRate
        wall = time.time() - time.monotonic() + self.starts[kind] + seconds
        true = int((wall + NTP_OF_UNIX) * (1 << 32))
        self.late[kind].append(1000 * (ntp - true) / (1 << 32))
        return data[:8] + struct.pack("!Q", true) + data[16:]

    def late_reports(self):
        own = {kind: [round(one) for one in late] for kind, late in self.late.items()}
        return f"aiortc's own reports would be late by {own} ms"


RID_URI, RID_ID = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id", 14


class Layer:
    """A layer of simulcast: its encoder, and its packets, each of which names it."""

    def __init__(self, rid, width, height, bitrate):
        self.rid, self.size = rid, (width, height)
        self.encoder = Vp8Encoder()
        self.encoder.target_bitrate = bitrate
        self.ssrc, self.sequence, self.wants_keyframe = random.getrandbits(32) | 1, random.getrandbits(15), False
        self.extensions = HeaderExtensionsMap()
        ids = [RTCRtpHeaderExtensionParameters(id=RID_ID, uri=RID_URI)]
        self.extensions.configure(RTCRtpParameters(headerExtensions=ids))

    def packets(self, frame, payload_type):
        keyframe, self.wants_keyframe = self.wants_keyframe, False
        image = frame.reformat(*self.size)
        image.pts, image.time_base = frame.pts, frame.time_base
        payloads, timestamp = self.encoder.encode(image, keyframe)
        for index, payload in enumerate(payloads):
            self.sequence = (self.sequence + 1) % 0x10000
            marker = int(index == len(payloads) - 1)
            packet = RtpPacket(payload_type, marker, self.sequence, timestamp % (1 << 32), self.ssrc, payload)
            packet.extensions.rtp_stream_id = self.rid
            yield packet.serialize(self.extensions)


class LayersPublisher(Peer):
    """Of VP8 in several sizes, which aiortc knows nothing of: its offer is completed by hand, and the layers are encoded and
    sent here. layers: (rid, width, height, bit/s) in the offer's order."""

    def __init__(self, url, layers):
        super().__init__(url)
        self.layers = [Layer(*layer) for layer in layers]
        self.track, self.task = Painted(), None
        self.video = self.peer.addTransceiver("video", direction="sendonly")
        prefer(self.video, "send", "video/VP8")
        self.peer.addTransceiver(Beeping(self.track.start), direction="sendonly")
        self.media.incoming.append(self._note_requests)

    def offered(self, sdp):
        head, video, rest = re.split(r"(?m)^(?=m=)", sdp)
        kept = [line for line in video.split("\r\n") if line and not line.startswith(("a=ssrc", "a=msid"))]
        rids = [layer.rid for layer in self.layers]
        kept += [f"a=extmap:{RID_ID} {RID_URI}", *(f"a=rid:{rid} send" for rid in rids), f"a=simulcast:send {';'.join(rids)}"]
        return head + "".join(f"{line}\r\n" for line in kept) + rest

    def _note_requests(self, data):
        for packet in rtcp_packets(data):
            if isinstance(packet, RtcpPsfbPacket) and packet.fmt == 1:
                for layer in self.layers:
                    layer.wants_keyframe |= packet.media_ssrc == layer.ssrc
        return data

    async def connected(self, seconds=10):
        await super().connected(seconds)
        self.task = asyncio.ensure_future(self._send())

    async def _send(self):
        payload_type = next(kind for kind, (_, codec) in self.formats.items() if codec.mimeType == "video/VP8")
        while True:
            frame = await self.track.recv()
            for layer in self.layers:
                for packet in await asyncio.to_thread(lambda layer=layer: list(layer.packets(frame, payload_type))):
                    await self.video.sender.transport._send_rtp(packet)

    async def __aexit__(self, *arguments):
        if self.task:
            self.task.cancel()
        await super().__aexit__(*arguments)


class Player(Peer):
    def __init__(self, url, port=None):
        super().__init__(url, port)
        self.video_frames, self.audio_frames, self.reports, self.receivers = [], [], {}, {}
        self.packets = {"video": 0, "audio": 0}
        self.tasks = []
        for kind in ("video", "audio"):
            transceiver = self.peer.addTransceiver(kind, direction="recvonly")
            self.receivers[kind] = transceiver.receiver
        self.kinds, self.origins = {}, {}  # SSRC -> kind; kind -> timestamp of the first packet, which aiortc takes for pts 0
        self.media.incoming.append(self._note)
        self.peer.on("track", lambda track: self.tasks.append(asyncio.ensure_future(self._read(track))))

    def _note(self, data):
        packet = rtc_plain.read(data)
        if packet and packet.kind in self.formats:
            kind = self.kinds[packet.ssrc] = self.formats[packet.kind][0]
            self.packets[kind] += 1
            self.origins.setdefault(kind, packet.timestamp)
        for one in rtcp_packets(data):
            if isinstance(one, RtcpSrPacket) and one.ssrc in self.kinds:
                self.reports[self.kinds[one.ssrc]] = one.sender_info
        return data

    async def _read(self, track):
        with contextlib.suppress(Exception):  # MediaStreamError: the end
            while True:
                frame = await track.recv()
                if track.kind == "audio":
                    samples = frame.to_ndarray()
                    loud = numpy.abs(samples).reshape(-1, 2).max(axis=1) > LOUD
                    self.audio_frames.append((frame.pts, loud, frame.sample_rate))
                else:
                    self.video_frames.append(look(frame))

    async def __aexit__(self, *arguments):
        await super().__aexit__(*arguments)
        for task in self.tasks:
            task.cancel()

    # ---- What came

    def seen(self, size):
        """How many video frames of that size."""
        return sum(frame.size == size for frame in self.video_frames)

    def seconds(self, kind, pts):
        """The sender's clock at that time of a track, by its last report."""
        report = self.reports[kind]
        ticks = (self.origins[kind] + pts - report.rtp_timestamp + (1 << 31)) % (1 << 32) - (1 << 31)
        return report.ntp_timestamp / (1 << 32) + ticks / CLOCK[kind]

    def flashes(self):
        pairs = zip(self.video_frames, self.video_frames[1:])
        return [self.seconds("video", two.pts) for one, two in pairs if two.white and not one.white]

    def beeps(self):
        """Beginnings of audio after 100 ms of silence."""
        found, quiet = [], 0
        for pts, loud, rate in self.audio_frames:
            places = numpy.flatnonzero(loud)
            if places.size and quiet + places[0] > rate / 10:
                found.append(self.seconds("audio", pts + int(places[0])))
            quiet = len(loud) - 1 - places[-1] if places.size else quiet + len(loud)
        return found

    def offsets(self):
        """ms by which each beep is behind its flash."""
        beeps = self.beeps()
        pairs = [(flash, min(beeps, key=lambda beep: abs(beep - flash))) for flash in self.flashes() if beeps]
        return [1000 * (beep - flash) for flash, beep in pairs if abs(beep - flash) < 0.5]

    async def has(self, video_frames, flashes=0, seconds=20):
        """Waits for so many video frames, and with flashes for reports of both tracks and so many flashes with a beep."""

        def there():
            if len(self.video_frames) < video_frames or (flashes and len(self.reports) < 2):
                return False
            return len(self.offsets()) >= flashes

        await wait(there, seconds, lambda: f"{video_frames} video frames and {flashes} flashes with beeps; there are {self.describe()}")

    def describe(self):
        timed = {"flashes": self.flashes(), "beeps": self.beeps()} if len(self.reports) == 2 else {}
        return json.dumps({"video frames": len(self.video_frames), "sizes": sorted({one.size for one in self.video_frames}), "audio frames": len(self.audio_frames), "packets": self.packets,
                           "reports": {kind: str(one) for kind, one in self.reports.items()}, **timed,
                           "state": self.peer.connectionState})  # fmt: skip


def look(frame):
    image = frame.to_ndarray(format="rgb24")
    height, width = image.shape[:2]
    row = image[height * 5 // 12]
    places = [tuple(int(value) for value in row[int((i + 0.5) * width / 7)]) for i in range(7)]
    return VideoFrame(time.monotonic(), frame.pts, places, bool(image[height * 17 // 18, width // 2].mean() > 128), (width, height))


async def wait(condition, seconds, what):
    end = time.monotonic() + rtc.scaled(seconds)
    while not condition():
        assert time.monotonic() < end, f"not within {rtc.scaled(seconds):.0f} s: {what()}"
        await asyncio.sleep(0.02)


class Complaints(logging.Handler):
    """What aiortc says of video frames that it could not decode: (monotonic s, text)."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append((time.monotonic(), record.getMessage()))

    def __enter__(self):
        logging.getLogger("aiortc").addHandler(self)
        return self

    def __exit__(self, *_):
        logging.getLogger("aiortc").removeHandler(self)
