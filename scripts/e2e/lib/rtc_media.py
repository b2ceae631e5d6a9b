"""What one aiortc peer sends and gets: its RTP and RTCP in the clear, and its datagrams on their way to the server.

aiortc has no call for the packets in the clear. It encrypts by pylibsrtp's Session, which has public methods; the name by which
aiortc finds that class is given a subclass, here and nowhere else."""

import asyncio
import contextlib
import contextvars
import socket

import pylibsrtp
from aiortc import rtcdtlstransport
from aiortc.rtp import RtcpPacket


class Media:
    """RTP and RTCP of one peer. outgoing and incoming: functions that each packet goes through, in that order; what the last
    one returns is sent, or is what aiortc gets."""

    def __init__(self):
        self.outgoing, self.incoming = [], []
        self.sender = None  # the session that encrypts, once there are keys

    def encrypt_rtcp(self, packet):
        """The datagram of any RTCP, which need not be right. The functions do not see it."""
        return self.sender.encrypt_rtcp(packet)

    @contextlib.contextmanager
    def of_tasks(self):
        """SRTP sessions are this peer's if tasks make them that began within this."""
        token = _media.set(self)
        try:
            yield
        finally:
            _media.reset(token)


_media = contextvars.ContextVar("media", default=Media())


def _through(functions, packet):
    for function in functions:
        packet = function(packet)
    return packet


class _Session(pylibsrtp.Session):
    def __init__(self, policy=None):
        super().__init__(policy)
        self.media = _media.get()
        if policy.ssrc_type == pylibsrtp.Policy.SSRC_ANY_OUTBOUND:
            self.media.sender = self

    def protect(self, packet):
        return super().protect(_through(self.media.outgoing, packet))

    def protect_rtcp(self, packet):
        return super().protect_rtcp(_through(self.media.outgoing, packet))

    def unprotect(self, packet):
        return _through(self.media.incoming, super().unprotect(packet))

    def unprotect_rtcp(self, packet):
        return _through(self.media.incoming, super().unprotect_rtcp(packet))

    def encrypt_rtcp(self, packet):
        return super().protect_rtcp(packet)


rtcdtlstransport.Session = _Session


def rtcp_packets(data):
    """The packets of a compound one; none if it is no RTCP."""
    try:
        return RtcpPacket.parse(data) if rtcdtlstransport.is_rtcp(data) else []
    except ValueError:
        return []


class _End(asyncio.DatagramProtocol):
    def __init__(self, take):
        self.take = take

    def datagram_received(self, data, addr):
        self.take(data, addr)


class PeerRelay:
    """A UDP relay between one peer and the server, in the test's own loop. What the test sends by it comes from the peer's
    address. An async context manager."""

    def __init__(self, target):
        self.target, self.peer = ("127.0.0.1", target), None
        self.is_sent_on = lambda datagram: True  # of what the peer sends

    async def __aenter__(self):
        loop = asyncio.get_running_loop()
        self.to_peer, _ = await loop.create_datagram_endpoint(lambda: _End(self._from_peer), local_addr=("127.0.0.1", 0))
        self.to_server, _ = await loop.create_datagram_endpoint(lambda: _End(self._from_server), remote_addr=self.target)
        for one in (self.to_peer, self.to_server):
            one.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.port = self.to_peer.get_extra_info("sockname")[1]
        return self

    async def __aexit__(self, *_):
        self.to_peer.close()
        self.to_server.close()

    def send(self, datagram):
        self.to_server.sendto(datagram)

    def _from_peer(self, datagram, address):
        self.peer = address
        if self.is_sent_on(datagram):
            self.send(datagram)

    def _from_server(self, datagram, _):
        if self.peer:
            self.to_peer.sendto(datagram, self.peer)
