"""WebRTC by hand, for peers that misbehave: offers, STUN (RFC 8489) and datagrams over a UDP socket; DTLS is openssl's
s_client behind a relay of ours, which sees every datagram."""

import hashlib
import hmac
import ipaddress
import os
import re
import select
import socket
import struct
import subprocess
import time
import urllib.parse
import zlib

from . import http, ports
from .timing import scaled

COOKIE = 0x2112A442
MAPPED = 0x20
REQUEST, SUCCESS, ERROR = 0x001, 0x101, 0x111
USERNAME, INTEGRITY, ERROR_CODE, PRIORITY, USE_CANDIDATE, FINGERPRINT, CONTROLLING = 6, 8, 9, 0x24, 0x25, 0x8028, 0x802A
NO_FINGERPRINT = ":".join(["AB"] * 32)
PROFILES = "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80"


def attribute(kind, value=b""):
    return struct.pack("!HH", kind, len(value)) + value + bytes(-len(value) % 4)


def stun(kind, attributes=b"", password=None, fingerprint=True, transaction=None):
    def head(size):
        return struct.pack("!HHI", kind, size, COOKIE) + transaction

    transaction = transaction or os.urandom(12)
    if password is not None:
        signed = head(len(attributes) + 24) + attributes
        attributes += attribute(INTEGRITY, hmac.digest(password.encode(), signed, hashlib.sha1))
    if fingerprint:
        crc = zlib.crc32(head(len(attributes) + 8) + attributes) ^ 0x5354554E
        attributes += attribute(FINGERPRINT, struct.pack("!I", crc))
    return head(len(attributes)) + attributes


def is_stun(datagram):
    return len(datagram) >= 20 and datagram[0] < 4 and struct.unpack_from("!I", datagram, 4)[0] == COOKIE


def stun_kind(datagram):
    return struct.unpack_from("!H", datagram)[0]


def stun_attributes(datagram):
    found, place = {}, 20
    while place + 4 <= len(datagram):
        kind, size = struct.unpack_from("!HH", datagram, place)
        found.setdefault(kind, datagram[place + 4 : place + 4 + size])
        place += 4 + (size + 3) // 4 * 4
    return found


def is_signed(datagram, password):
    """Whether the message's integrity is that password's. A fingerprint may follow it."""
    size = 20
    while size + 24 <= len(datagram):
        kind, length = struct.unpack_from("!HH", datagram, size)
        if kind == INTEGRITY:
            head = datagram[:2] + struct.pack("!H", size + 4) + datagram[4:size]
            return hmac.digest(password.encode(), head, hashlib.sha1) == datagram[size + 4 : size + 24]
        size += 4 + (length + 3) // 4 * 4
    return False


def mapped_address(datagram):
    """(IP, port) that a success response says its request came from (XOR-MAPPED-ADDRESS)."""
    value = stun_attributes(datagram)[MAPPED]
    ip = bytes(one ^ other for one, other in zip(value[4:], datagram[4:20]))
    return str(ipaddress.ip_address(ip)), struct.unpack_from("!H", value, 2)[0] ^ (COOKIE >> 16)


def error_code(datagram):
    """Of an error response, else None."""
    value = stun_attributes(datagram).get(ERROR_CODE)
    return value[2] * 100 + value[3] if stun_kind(datagram) == ERROR and value else None


def offer(ufrag="peer", password="peersPasswordOf24Letters", fingerprint=NO_FINGERPRINT, direction="recvonly", setup="actpass", fmtp=""):
    """Opus and H.264, as small as an offer can be. fmtp: more of H.264's, ";a=b"."""
    common = [
        "c=IN IP4 0.0.0.0", "a=rtcp-mux", f"a={direction}", f"a=ice-ufrag:{ufrag}", f"a=ice-pwd:{password}",
        "a=ice-options:trickle", f"a=fingerprint:sha-256 {fingerprint}", f"a=setup:{setup}",
    ]  # fmt: skip
    lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1"]
    lines += ["m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:0", "a=rtpmap:111 opus/48000/2", *common]
    lines += [
        "m=video 9 UDP/TLS/RTP/SAVPF 102", "a=mid:1", "a=rtpmap:102 H264/90000",
        f"a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f{fmtp}", *common,
    ]  # fmt: skip
    return "\r\n".join(lines) + "\r\n"


class Refused(AssertionError):
    """An offer was answered with another status than 201."""

    def __init__(self, response):
        super().__init__(f"an offer should be answered with 201: {response.describe()}")
        self.status = response.status


class Session:
    """A session that was asked for, and a socket of its own that knows how to speak for it."""

    def __init__(self, server, path="live/one", text=None, connection=None, kind="whep", host="127.0.0.1", query=None, **wanted):
        """connection: an http.Connection to the API, to be used again; host: where media goes; query: more of the URL's, by
        name; wanted: as offer's."""
        self.server = server
        self.host = host
        app, _, stream = path.partition("/")
        query = urllib.parse.urlencode({"app": app, "stream": stream, **(query or {})})
        own = connection or http.Connection(server.api_port)
        own.request("POST", f"/rtc/v1/{kind}/?{query}", (text or offer(**wanted)).encode(), Content_Type="application/sdp")
        self.response = own.read_response("POST")
        if not connection:
            own.close()
        if self.response.status != 201:
            raise Refused(self.response)
        self.answer = self.response.body.decode()
        self.ufrag = self._value("ice-ufrag")
        self.password = self._value("ice-pwd")
        self.remote = wanted.get("ufrag", "peer")
        self.port = int(re.search(r"a=candidate:\S+ 1 udp \d+ \S+ (\d+)", self.answer, re.IGNORECASE)[1])
        self.socket = None
        self.sent = self.received = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.socket:
            self.socket.close()
        self.delete()

    def delete(self):
        """As a client that leaves does; a session that has ended already is not found."""
        with http.Connection(self.server.api_port) as connection:
            connection.request("DELETE", self.response.headers["location"])
            status = connection.read_response("DELETE").status
        assert status in (200, 404), f"a DELETE should be answered with 200, or 404: {status}"

    def _value(self, name):
        found = re.search(rf"(?m)^a={name}:(\S+)", self.answer)
        assert found, f"the answer should have a={name}: {self.answer}"
        return found[1]

    def open(self):
        if not self.socket:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            self.socket = socket.socket(family, socket.SOCK_DGRAM)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            self.socket.connect((self.host, self.port))
            self.socket.setblocking(False)
        return self.socket

    def request(self, password=None, nominate=True, username=None, more=b""):
        attributes = attribute(USERNAME, (username or f"{self.ufrag}:{self.remote}").encode())
        attributes += attribute(CONTROLLING, bytes(8)) + attribute(PRIORITY, struct.pack("!I", 0x6E0001FF))
        attributes += (attribute(USE_CANDIDATE) if nominate else b"") + more
        return stun(REQUEST, attributes, self.password if password is None else password)

    def send(self, datagram):
        try:
            self.open().send(datagram)
        except (BlockingIOError, ConnectionRefusedError):
            return
        self.sent += len(datagram)

    def receive(self, seconds=0.0):
        """The next datagram, None after that many seconds."""
        if not select.select([self.open()], [], [], seconds)[0]:
            return None
        try:
            datagram = self.socket.recv(1 << 16)
        except (BlockingIOError, ConnectionRefusedError):
            return None
        self.received += len(datagram)
        return datagram

    def drain(self, seconds):
        """All that comes within that time."""
        end, datagrams = time.monotonic() + seconds, []
        while (left := end - time.monotonic()) > 0:
            if datagram := self.receive(left):
                datagrams.append(datagram)
        return datagrams

    def verify(self, seconds=5.0, natted=False, **how):
        """A right request, until it is answered: by one who knows the password, with the address that it came from, which
        is another one behind a NAT. how: as request's."""
        end = time.monotonic() + scaled(seconds)
        while time.monotonic() < end:
            self.send(self.request(**how))
            datagram = self.receive(0.3)
            while datagram is not None:
                if is_stun(datagram) and stun_kind(datagram) == SUCCESS:
                    assert is_signed(datagram, self.password), f"the answer's integrity should be right: {datagram.hex()}"
                    seen, own = mapped_address(datagram), self.socket.getsockname()[:2]
                    assert (seen != own) == natted, f"the answer should say {own}, {natted=}, it says {seen}"
                    return self
                datagram = self.receive()
        raise AssertionError(f"a right STUN request should be answered within {scaled(seconds)} s")


class Certificate:
    """openssl's, in files; fingerprint as SDP has it."""

    def __init__(self, directory, name="peer", kind="ec -pkeyopt ec_paramgen_curve:prime256v1"):
        self.certificate, self.key = directory / f"{name}.pem", directory / f"{name}.key"
        make = f"openssl req -x509 -newkey {kind} -nodes -days 2 -subj /CN=peer".split()
        subprocess.run([*make, "-keyout", self.key, "-out", self.certificate], check=True, capture_output=True)
        show = ["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", self.certificate]
        self.fingerprint = subprocess.run(show, check=True, capture_output=True, text=True).stdout.strip().partition("=")[2]


class Dtls:
    """s_client's handshake with a session that is verified already. to_server and to_client: see each datagram, a list of
    those to send on in its place is what they return."""

    def __init__(self, session, certificate, mtu=1200, to_server=None, to_client=None, version="-dtls1_2"):
        self.session = session
        self.to_server = to_server or (lambda datagram: [datagram])
        self.to_client = to_client or (lambda datagram: [datagram])
        self.relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.relay.bind(("127.0.0.1", 0))
        self.client = None
        self.output = b""
        self.answers = 0  # DTLS datagrams of the server
        words = ["openssl", "s_client", version, "-connect", f"127.0.0.1:{self.relay.getsockname()[1]}", "-use_srtp", PROFILES]
        words += ["-cert", certificate.certificate, "-key", certificate.key, "-mtu", mtu, "-no_ticket"]
        words += ["-cipher", "DEFAULT@SECLEVEL=0"] if version == "-dtls1" else []
        words += ["-keymatexport", "EXTRACTOR-dtls_srtp", "-keymatexportlen", 56]
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        os.set_blocking(self.process.stdout.fileno(), False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.relay.close()

    def run(self, until, seconds=10.0):
        """Carries datagrams until the condition holds of this; False after that many seconds."""
        end = time.monotonic() + scaled(seconds)
        while not until(self):
            if time.monotonic() > end:
                return False
            wanted = [self.relay, self.session.open()]
            for ready in select.select(wanted, [], [], 0.05)[0]:
                self._from_client() if ready is self.relay else self._from_server()
            self._read_output()
        self._read_output()  # what it said as its last, if it is its end that was waited for
        return True

    def _read_output(self):
        try:
            self.output += self.process.stdout.read() or b""
        except BlockingIOError:
            pass

    def _from_client(self):
        datagram, self.client = self.relay.recvfrom(1 << 16)
        for one in self.to_server(datagram):
            self.session.send(one)

    def _from_server(self):
        datagram = self.session.receive()
        if datagram is None or not 20 <= datagram[0] <= 63:
            return
        self.answers += 1
        for one in self.to_client(datagram):
            if self.client:
                self.relay.sendto(one, self.client)

    def established(self):
        """s_client tells of keys when a handshake has failed at its end, too."""
        return b"Keying material: " in self.output and b"alert" not in self.output

    def told(self):
        return self.output[-1500:].decode(errors="replace")


class DtlsServer(Dtls):
    """s_server in s_client's place, for a session whose answer says that the server under test begins."""

    def __init__(self, session, certificate):
        self.session = session
        self.to_server = self.to_client = lambda datagram: [datagram]
        self.answers = 0
        self.output = b""
        self.relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.relay.bind(("127.0.0.1", 0))
        self.client = ("127.0.0.1", ports.take(1)[0])
        words = ["openssl", "s_server", "-dtls1_2", "-accept", self.client[1], "-use_srtp", PROFILES, "-Verify", 1]
        words += ["-cert", certificate.certificate, "-key", certificate.key, "-no_ticket"]
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        assert self.run(lambda one: b"ACCEPT" in one.output), f"s_server should listen; it says {self.output}"

    def established(self):
        return b"SRTP Extension negotiated" in self.output


def client_hello(certificate):
    """The first datagram of s_client."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as catcher:
        catcher.bind(("127.0.0.1", 0))
        catcher.settimeout(scaled(5))
        words = ["openssl", "s_client", "-dtls1_2", "-connect", f"127.0.0.1:{catcher.getsockname()[1]}", "-use_srtp", PROFILES]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                return catcher.recv(1 << 16)
            finally:
                process.kill()


def garbage(chance):
    """Something that is no DTLS, that could be a record, or an alert that anybody could have written."""
    body = chance.randbytes(chance.randrange(1, 300))
    kind = chance.randrange(3)
    if kind == 0:
        return bytes([chance.randrange(20, 64)]) + body
    if kind == 1:
        return bytes([21, 254, 253, 0, 0, 0, 0, 0, 0, 0, chance.randrange(50, 256), 0, 2, 2, 40])
    epoch, sequence = chance.randrange(3), chance.randrange(1 << 16)
    return bytes([chance.randrange(20, 24), 254, 253, 0, epoch, 0, 0, 0, 1]) + sequence.to_bytes(2) + len(body).to_bytes(2) + body
