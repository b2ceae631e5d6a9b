"""Who may be sent media, and from where: consent that ends (RFC 7675), a server with two interfaces, either role of DTLS."""

import contextlib
import re
import time

import pytest

from lib import api, mediamtx, media, network, publishing, rtc, rtc_raw, rtmp
from lib.rtc_raw import Dtls, DtlsServer, Session
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our own server")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return rtc_raw.Certificate(tmp_path_factory.mktemp("peer"))


@contextlib.contextmanager
def live(servers, vhost="", candidate="127.0.0.1"):
    """A server with a stream that RTMP publishes."""
    wanted = rtc.options(vhost)
    server = servers(**{**wanted, "top": wanted["top"].replace("candidate 127.0.0.1;", f"candidate {candidate};")})
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        yield server


def is_media(datagram):
    """SRTP, and no SRTCP (RFC 5761, 4)."""
    return len(datagram) > 20 and 128 <= datagram[0] < 192 and not 192 <= datagram[1] < 224


def media_within(session, seconds):
    """How many packets of media come in that time."""
    return sum(map(is_media, session.drain(seconds)))


@contextlib.contextmanager
def playing(server, certificate, **wanted):
    with Session(server, **{"fingerprint": certificate.fingerprint, **wanted}).verify() as session, Dtls(session, certificate) as dtls:
        assert dtls.run(Dtls.established), f"the handshake should be done; s_client says {dtls.told()}"
        assert media_within(session, scaled(1)) >= 10, "10 packets of media should come within a second"
        yield session


def test_who_gives_no_consent_is_ended(servers, certificate):
    """A client of a lite server consents by its requests. Those that anybody could have sent are none."""
    with live(servers, "stun_timeout 3;") as server:
        with playing(server, certificate) as heard, playing(server, certificate) as silent:
            began = time.monotonic()

            def is_over():
                heard.verify()
                silent.send(silent.request(password="not the password of this one"))
                for session in (heard, silent):
                    session.drain(0.1)
                return len(rtc.sessions(server, "rtc-play")) == 1

            wait_until(is_over, 10, "the silent one should be ended after 3 s")
            took = time.monotonic() - began
            assert 1.5 <= took <= scaled(4.5), f"3 s after its last request, not after {took:.1f} s"
            closed = api.ask(server, "/api/v1/clients?closed=true&count=10")["clients"]
            assert [one["reason"] for one in closed if one["type"] == "rtc-play"] == ["peer-timeout"], closed
            assert media_within(silent, 0.5) == 0, "nothing should come after the end"
            assert media_within(heard, scaled(1)) >= 10, "who consents plays on"


@pytest.mark.long
def test_nothing_is_sent_when_consent_has_expired(servers, certificate):
    """After 30 s, though the session is kept for longer. With a request that is valid media goes on."""
    with live(servers, "stun_timeout 120;") as server, playing(server, certificate) as session:
        assert media_within(session, 26) > 26 * 20, "consent holds for 30 s"
        session.drain(scaled(6))
        assert media_within(session, 3) == 0, "nothing should be sent without consent"
        assert len(rtc.sessions(server, "rtc-play")) == 1
        session.verify()
        assert media_within(session, scaled(3)) >= 20, "media should come again"


def test_two_interfaces(servers, certificate):
    """The answer has the addresses of both, each is answered from where it was asked, and a client goes on through the
    other one when its own is gone."""
    with network.own() as first:
        if not first:
            pytest.skip("only root makes a network namespace")
        second = "10.98.0.1"
        network.add_interface("second", second)
        with live(servers, candidate="*") as server:
            with playing(server, certificate, host=first) as one, playing(server, certificate, host=second) as other:
                told = re.findall(r"(?i)a=candidate:\S+ 1 udp \d+ (\S+) \d+ typ host", one.answer)
                assert {first, second} <= set(told), one.answer
                network.remove_address("own", first)
                assert media_within(other, scaled(1)) >= 10, "through the interface that is left"
                one.socket.close()
                one.socket, one.host = None, second
                one.verify()
                assert media_within(one, scaled(2)) >= 10, "to the client that has changed to the other interface"
                assert len(rtc.sessions(server, "rtc-play")) == 2


@pytest.mark.parametrize(
    "role, setup, answer",
    [
        ("passive", "actpass", "passive"),
        ("passive", "active", "passive"),
        ("passive", "passive", "active"),
        ("active", "actpass", "active"),
        ("active", "active", "passive"),
        ("active", "passive", "active"),
    ],
)
def test_roles_of_dtls(servers, certificate, role, setup, answer):
    """dtls_role decides where the offer leaves the choice (RFC 8842, 5.3); media comes in each case."""
    with live(servers, f"dtls_role {role};") as server:
        with Session(server, fingerprint=certificate.fingerprint, setup=setup) as session:
            assert set(re.findall(r"(?m)^a=setup:(\S+)", session.answer)) == {answer}, session.answer
            if answer == "passive":
                with Dtls(session.verify(), certificate) as dtls:
                    assert dtls.run(Dtls.established), f"s_client says {dtls.told()}"
                    assert media_within(session, scaled(2)) >= 10, "media should come"
                return
            with DtlsServer(session, certificate) as dtls:
                session.verify()
                # s_server is through before its last words are carried.
                done = dtls.run(lambda one: one.established() and any("rtc" in one for one in rtc.sessions(server, "rtc-play")))
                assert done, f"s_server says {dtls.told()}"
                assert media_within(session, scaled(2)) >= 10, "media should come"
