"""A WebRTC publisher and a viewer with the right keys, and RTCP of any kind that they can be made to send."""

import asyncio
import contextlib
import struct

from aiortc.rtp import RtcpPsfbPacket

from . import rtc, rtc_aiortc, rtc_plain
from .rtc_media import PeerRelay, rtcp_packets

MY_SSRC = 0x00C0FFEE


class Scene:
    """A publisher, and a viewer who has seen video frames. Notes what they send and get. relays: between each and the server."""

    def __init__(self, server):
        self.server = server
        self.relays = {who: PeerRelay(server.rtc_port) for who in ("publisher", "player")}
        self.publisher = self.player = None
        self.ssrcs, self.sequences, self.losses, self.plis = {}, {}, [], 0
        self.stack = contextlib.AsyncExitStack()

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            ports = {who: (await stack.enter_async_context(relay)).port for who, relay in self.relays.items()}
            url = rtc.whip_url(self.server)
            self.publisher = rtc_aiortc.Publisher(url, "video/VP8", changing=True, port=ports["publisher"])
            self.publisher.media.incoming.append(self._note_rtcp)
            await stack.enter_async_context(self.publisher)
            await self.publisher.connected()
            self.player = rtc_aiortc.Player(rtc.whep_url(self.server), ports["player"])
            self.player.media.incoming.append(self._note_rtp)
            await stack.enter_async_context(self.player)
            await self.player.has(video_frames=10)
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *arguments):
        await self.stack.__aexit__(*arguments)

    def _note_rtcp(self, data):
        for packet in rtcp_packets(data):
            self.losses += [report.packets_lost for report in getattr(packet, "reports", [])]
            is_pli = isinstance(packet, RtcpPsfbPacket) and packet.fmt == 1
            self.plis += is_pli and packet.media_ssrc in self.publisher.ssrcs.values()
        return data

    def _note_rtp(self, data):
        packet = rtc_plain.read(data)
        if packet and packet.kind in self.player.formats:
            self.ssrcs.setdefault(self.player.formats[packet.kind][0], packet.ssrc)
            self.sequences.setdefault(packet.ssrc, []).append(packet.sequence)
        return data

    def send(self, who, datagram):
        """From that peer's address, whatever it is."""
        self.relays[who].send(datagram)

    def send_rtcp(self, who, packet):
        """In the right keys, whatever it is."""
        self.send(who, getattr(self, who).media.encrypt_rtcp(packet))

    async def unharmed(self, what):
        seen = len(self.player.video_frames)
        await self.player.has(video_frames=seen + 20)
        for kind in ("rtc-publish", "rtc-play"):
            there = await asyncio.to_thread(rtc.sessions, self.server, kind)
            assert len(there) == 1, f"after {what} there should be one {kind} in the API, there are {there}"


def rtcp(kind, count, body=b"", length=None):
    words = len(body) // 4 if length is None else length
    return struct.pack(">BBH", 0x80 | count, kind, words) + body


def feedback(kind, form, fci, length=None):
    return rtcp(kind, form, struct.pack(">II", MY_SSRC, 0) + fci, length)


HEAD = rtcp(201, 0, struct.pack(">I", MY_SSRC))
RUNS = struct.pack(">H", 0x1FFF)  # 8,191 packets that did not come
ABSURD = {
    "a length of 65,535 words": HEAD + rtcp(201, 0, bytes(4), 0xFFFF),
    "a first length of 65,535 words": rtcp(201, 0, struct.pack(">I", MY_SSRC), 0xFFFF),
    "a first length of 0": rtcp(201, 0, struct.pack(">I", MY_SSRC), 0),
    "one word more than there is": HEAD + feedback(206, 1, b"", 3),
    "three bytes behind the end": HEAD + b"\x80\xc9\x00",
    "31 report blocks in none": rtcp(201, 31, struct.pack(">I", MY_SSRC)),
    "a sender report without its body": rtcp(200, 0, struct.pack(">I", MY_SSRC)),
    "31 descriptions in none": HEAD + rtcp(202, 31),
    "a CNAME of 255 bytes in two": HEAD + rtcp(202, 1, struct.pack(">IBB", MY_SSRC, 1, 255) + b"ab"),
    "a CNAME without an end": HEAD + rtcp(202, 1, struct.pack(">IBB", MY_SSRC, 1, 2) + b"ab"),
    "31 goodbyes in one": HEAD + rtcp(203, 31, struct.pack(">I", 1)),
    "a NACK of nothing": HEAD + feedback(205, 1, b""),
    "a NACK without SSRCs": HEAD + rtcp(205, 1, bytes(4)),
    "half a FIR": HEAD + feedback(206, 4, bytes(4)),
    "a REMB of 255 SSRCs in none": HEAD + feedback(206, 15, b"REMB" + struct.pack(">BBH", 255, 0, 1)),
    "a REMB of 2^81 bit/s": HEAD + feedback(206, 15, b"REMB" + struct.pack(">BBH", 0, 0xFF, 0xFFFF)),
    "TWCC about 65,535 packets": HEAD + feedback(205, 15, struct.pack(">HHI", 0, 0xFFFF, 0) + RUNS * 10),
    "TWCC whose times are missing": HEAD + feedback(205, 15, struct.pack(">HHI", 0, 9, 0) + struct.pack(">HH", 0x2009, 0)),
    "padding of 252 bytes in four": b"\xa0" + HEAD[1:-1] + b"\xfc",
    "padding of nothing": b"\xa0" + HEAD[1:-1] + b"\x00",
    "300 packets of one word": HEAD + rtcp(203, 0) * 300,
    "application data": HEAD + rtcp(204, 0, b"\0\0\0\1nameDATA" * 50),
}
