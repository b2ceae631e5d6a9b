"""The way of WebRTC's media, by peers made by hand: over IPv6 (UDP and TCP), to a client whose address changes, through an
ICE restart by PATCH, with certificates of either kind, up to its end by the API."""

import contextlib
import hashlib
import re
import select
import socket
import ssl
import struct
import time

import pytest

from lib import api, flv, http, media, mediamtx, publishing, relay, rtc, rtc_raw, rtmp
from lib.rtc_raw import Dtls, DtlsServer, Session
from lib.timing import scaled

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our own server")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return rtc_raw.Certificate(tmp_path_factory.mktemp("peer"))


@pytest.fixture(scope="module")
def rsa(tmp_path_factory):
    return rtc_raw.Certificate(tmp_path_factory.mktemp("peer"), "rsa", "rsa:2048")


@pytest.fixture
def live(servers):
    """A server with a stream that RTMP publishes: live(directives of rtc_server, and of the vhost's rtc)."""
    with contextlib.ExitStack() as stack:

        def start(more="", vhost="", tags=None, api=""):
            wanted = rtc.options(vhost)
            assert "candidate 127.0.0.1;" in wanted["top"], wanted["top"]
            top = wanted["top"].replace("candidate 127.0.0.1;", f"candidate 127.0.0.1 ::1; {more}")
            server = servers(**{**wanted, "top": top.replace("API_PORT;", f"API_PORT; {api}", 1)})
            stack.enter_context(publishing.Steady(rtmp.publisher(server, "live", "one"), tags or media.tags(media.plain())))
            return server

        yield start


def is_media(datagram):
    """SRTP, and no SRTCP (RFC 5761, 4)."""
    return len(datagram) > 20 and 128 <= datagram[0] < 192 and not 192 <= datagram[1] < 224


def assert_media(session, where):
    """Ten packets of media come to the session's socket."""
    end, count = time.monotonic() + scaled(8), 0
    while count < 10 and time.monotonic() < end:
        datagram = session.receive(0.2)
        count += datagram is not None and is_media(datagram)
    assert count == 10, f"10 packets of media should come {where}; {count} came"


@contextlib.contextmanager
def playing(server, certificate, **wanted):
    with Session(server, **{"fingerprint": certificate.fingerprint, **wanted}) as session:
        # Through a NAT the server sees another port than the socket's.
        session.verify(natted="query" in wanted)
        with Dtls(session, certificate) as dtls:
            assert dtls.run(Dtls.established), f"the handshake should be done; s_client says {dtls.told()}"
            assert_media(session, "where the handshake was")
            yield session


def move(session):
    """To another port. The socket that it had."""
    old, session.socket = session.socket, None
    session.open()
    return old


def assert_quiet(old, what):
    """What was under way has come; then nothing does."""
    old.setblocking(False)
    time.sleep(0.2)
    for wait in (0, 0.5):
        time.sleep(wait)
        count = 0
        with contextlib.suppress(BlockingIOError):
            while datagram := old.recv(2048):
                count += is_media(datagram)
    assert count == 0, f"{what}: nothing more should go to the old address, {count} packets did"


def test_ipv6(live, certificate):
    """The socket is for both families: a client of each at once, each told its own address."""
    server = live()
    with playing(server, certificate, host="::1") as six, playing(server, certificate) as four:
        for host in ("::1", "127.0.0.1"):
            assert re.search(rf"a=candidate:\S+ 1 udp \d+ {host} {server.rtc_port} typ host", six.answer, re.IGNORECASE), six.answer
        for session in (six, four):
            assert_media(session, f"to {session.host}")


def test_ipv6_over_tcp(live, certificate):
    server = live("protocol all; tcp { enabled on; listen [::1]:RTMPS_PORT; }")
    with Session(server, fingerprint=certificate.fingerprint) as session:
        port = int(re.search(r"a=candidate:\S+ 1 tcp \d+ ::1 (\d+) typ host tcptype passive", session.answer, re.IGNORECASE)[1])
        with socket.create_connection(("::1", port), scaled(5)) as stream:

            def ask(datagram):
                stream.sendall(struct.pack("!H", len(datagram)) + datagram)
                data = b""
                while len(data) < 2 or len(data) < 2 + struct.unpack_from("!H", data)[0]:
                    more = stream.recv(4096)
                    assert more, f"the server closed after {data.hex()}"
                    data += more
                return data[2 : 2 + struct.unpack_from("!H", data)[0]]

            answer = ask(session.request())
            assert rtc_raw.stun_kind(answer) == rtc_raw.SUCCESS and rtc_raw.is_signed(answer, session.password), answer.hex()
            assert rtc_raw.mapped_address(answer) == stream.getsockname()[:2], answer.hex()
            assert 20 <= ask(rtc_raw.client_hello(certificate))[0] <= 63, "a hello is answered over the same connection"


def test_a_port_of_the_nat_of_the_server(live, certificate):
    """1:1: the client is told another port, whose packets reach the server. Its own candidates are names that nobody here
    can resolve (mDNS), as a browser's are, and are not needed."""
    server = live()
    names = "".join(f"a=candidate:{i} 1 udp 2113937151 {i}f0b2c1e-2b5e-4c6f-9d59-7b3a6f0d8e1{i}.local 5000{i} typ host\r\n" for i in range(3))
    text = rtc_raw.offer(fingerprint=certificate.fingerprint).replace("a=rtcp-mux\r\n", f"a=rtcp-mux\r\n{names}")
    with relay.Running(server.rtc_port) as nat:
        with playing(server, certificate, text=text, query={"eip": f"127.0.0.1:{nat.port}"}) as session:
            assert session.port == nat.port != server.rtc_port, session.answer
            assert_media(session, "through the other port")
        way = nat.finish()
    assert way[0]["there"]["packets"] >= 3 and way[0]["back"]["packets"] >= 20, f"all of it went that way: {way}"


@pytest.mark.parametrize("how", ["nominated", "found out"])
def test_a_client_whose_address_changes(live, certificate, how):
    """It says so by a nomination; or it does not know (its NAT has given it another port): then silence at the old address
    tells."""
    server = live()
    with playing(server, certificate) as session:
        time.sleep(0.7 if how == "nominated" else 3.3)
        old = move(session)
        session.verify(nominate=how == "nominated")
        assert_media(session, "to the new address")
        assert_quiet(old, how)
        old.close()
        rtc.wait_sessions(server, "rtc-play", 1)


def test_an_ice_restart(live, certificate):
    """By PATCH: the old credentials hold until the new ones are used; media goes on, to the address of the new ones, without
    another handshake; then the old ones are worth nothing."""
    server = live()
    with playing(server, certificate) as session, playing(server, certificate) as other:
        fragment = "a=ice-ufrag:anew\r\na=ice-pwd:anotherPasswordOf24Letters\r\n"
        headers = {"Content_Type": "application/trickle-ice-sdpfrag", "If_Match": session.response.headers["etag"]}
        with http.Connection(server.api_port) as connection:
            connection.request("PATCH", session.response.headers["location"], fragment.encode(), **headers)
            response = connection.read_response("PATCH")
        assert response.status == 200 and response.headers["etag"] != headers["If_Match"], response.describe()
        new = dict(re.findall(r"(?m)^a=ice-(ufrag|pwd):(\S+)", response.body.decode()))
        assert new["ufrag"] != session.ufrag and new["pwd"] != session.password, response.describe()
        session.verify()
        assert_media(session, "with the old credentials")
        stale = session.request()
        old = move(session)
        session.ufrag, session.password, session.remote = new["ufrag"], new["pwd"], "anew"
        session.verify()
        assert_media(session, "with the new credentials")
        assert_quiet(old, "after the restart")
        old.send(stale)
        assert not select.select([old], [], [], 0.5)[0], "the old credentials should be worth nothing"
        old.close()
        assert_media(other, "to another player")
        rtc.wait_sessions(server, "rtc-play", 2)


@pytest.mark.parametrize("ecdsa, bits", [("off", 2048), ("on", 256)])
def test_certificates_of_either_kind(live, certificate, rsa, ecdsa, bits):
    """Of the server by rtc_server's ecdsa, of the peer as it likes; who begins does not matter. What is shown is what the
    answer told."""
    server = live(f"ecdsa {ecdsa};")
    for mine in (rsa, certificate):
        with Session(server, fingerprint=mine.fingerprint).verify() as session, Dtls(session, mine) as dtls:
            assert dtls.run(Dtls.established), f"s_client says {dtls.told()}"
            text = dtls.output.decode(errors="replace")
            assert f"Server public key is {bits} bit" in text, text
            shown = re.search("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", text, re.DOTALL)[0]
            digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(shown)).hexdigest().upper()
            told = re.search(r"a=fingerprint:sha-256 (\S+)", session.answer)[1]
            assert told == ":".join(re.findall("..", digest)), f"{told} was told, the certificate is\n{shown}"
            assert_media(session, "after the handshake")
        with Session(server, fingerprint=mine.fingerprint, setup="passive") as session, DtlsServer(session, mine) as dtls:
            session.verify()
            assert dtls.run(DtlsServer.established), f"s_server says {dtls.told()}"


def test_the_server_begins_where_it_may(live, certificate):
    """dtls_role active: of an offer that leaves the choice (actpass) it takes the active part."""
    server = live(vhost="dtls_role active;")
    with Session(server, fingerprint=certificate.fingerprint) as session, DtlsServer(session, certificate) as dtls:
        assert "a=setup:active" in session.answer, session.answer
        session.verify()
        # s_server is through before its last words are carried.
        done = dtls.run(lambda one: one.established() and any("rtc" in one for one in rtc.sessions(server, "rtc-play")))
        assert done, f"s_server says {dtls.told()}"
        assert_media(session, "after the handshake")


def test_a_viewer_is_no_coroutine(live):
    server = live(api="debug on;")

    def coroutines():
        names = [one["name"] for one in api.ask(server, "/api/v1/debug/coroutines")["coroutines"]]
        return {name: names.count(name) for name in names if name.startswith("rtc")}

    before = coroutines()
    assert before, "WebRTC has coroutines of its own"
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(Session(server)).verify()
        rtc.wait_sessions(server, "rtc-play", 20)
        assert coroutines() == before, f"20 viewers should need none: {before} before, {coroutines()} now"


def test_a_kick(live, certificate):
    """By the API: the client is told (DTLS's farewell), and nothing more comes."""
    server = live()
    with playing(server, certificate) as session:
        (client,) = rtc.sessions(server, "rtc-play")
        api.ask(server, f"/api/v1/clients/{client['id']}", "DELETE")
        rtc.wait_sessions(server, "rtc-play", 0)
        came = session.drain(0.5)
        alerts = [one for one in came if one[0] == 21]
        assert alerts and not any(map(is_media, came[came.index(alerts[0]) :])), f"an alert, the last: {[one[:3].hex() for one in came][-5:]}"
        closed = api.ask(server, "/api/v1/clients?closed=true&count=10")["clients"]
        assert closed[0]["id"] == client["id"] and closed[0]["reason"] == "kicked", closed[0]


SEI = b"\x06\x05\x10e2e supplemental\x80"


def with_sei(tag):
    """The H.264 frame with an SEI unit before its video frame and one behind it."""
    if tag.type != flv.VIDEO or not flv.is_frame(tag):
        return tag
    unit = struct.pack("!I", len(SEI)) + SEI
    return tag._replace(body=tag.body[:5] + unit + tag.body[5:] + unit)


@pytest.mark.parametrize("merge, keep", [("off", "on"), ("off", "off"), ("on", "on")])
def test_in_the_clear(live, merge, keep):
    """encrypt off: RTP comes without a handshake, so that what merge_nalus and keep_avc_nalu_sei do can be seen."""
    tags = [with_sei(tag) for tag in media.tags(media.plain())]
    server = live(f"encrypt off; merge_nalus {merge};", f"keep_avc_nalu_sei {keep};", tags)
    alone, together, audio_frames, video_frames = set(), set(), 0, 0
    with Session(server).verify() as session:
        end = time.monotonic() + scaled(10)
        while min(audio_frames, video_frames) < 25 and time.monotonic() < end:
            datagram = session.receive(0.2)
            if datagram is None or not is_media(datagram):
                continue
            assert datagram[1] & 0x7F in (102, 111), f"a payload type of the offer: {datagram[:20].hex()}"
            kind, payload = datagram[1] & 0x7F, datagram[12:]
            if datagram[0] & 0x10:
                payload = payload[4 + 4 * struct.unpack_from("!H", payload, 2)[0] :]
            audio_frames, video_frames = audio_frames + (kind == 111), video_frames + (kind == 102)
            if kind == 102 and payload[0] & 31 == 24:
                at, units = 1, []
                while at < len(payload):
                    size = struct.unpack_from("!H", payload, at)[0]
                    units.append(payload[at + 2] & 31)
                    at += 2 + size
                together.add(tuple(units))
            elif kind == 102:
                alone.add(payload[0] & 31)
    assert min(audio_frames, video_frames) == 25, f"25 packets of each: {audio_frames} and {video_frames}, {alone}, {together}"
    # Behind fragments of a large video frame it has none to share.
    own = 6 in alone
    assert own == (keep == "on") or merge == "on", f"the SEI behind a video frame in a packet of its own: {alone}, {together}"
    assert any(units[:2] == (6, 1) for units in together) == (keep == "on"), f"the SEI before it in its packet: {together}"
    assert any(units[-2:] == (1, 6) for units in together) == (merge == "on"), f"the one behind it too: {together}"
    rtc.wait_sessions(server, "rtc-play", 0)
