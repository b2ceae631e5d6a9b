"""Streams that are forwarded by RTSP (ANNOUNCE, RECORD): to a second server, and to simulated receivers with the habits
that such servers have. What arrives there is what was published here."""

import contextlib
import re
import signal
import socket
import time

import pytest

from lib import api, flv, media, publishing, rtmp, rtsp
from lib.recorder import Recorder
from lib.server import default_vhost, run_once
from lib.timing import wait_until
from lib.rtsp_server import API, UDP, make, port_pair


def forwarding(servers, *destinations, vhost="", play="mw_latency 0;", top=API, **options):
    words = f"forward {{ enabled on; destination {' '.join(destinations)}; }}"
    return servers(top=top, vhosts=default_vhost(vhost=words + vhost, play=play), **options)


def with_credentials(url, credentials):
    return url.replace("//", f"//{credentials}@")


def tags_of():
    return media.tags(media.with_b_frames())


@contextlib.contextmanager
def publish(server, tags=None, name="s"):
    with rtmp.publisher(server, "live", name) as client, publishing.Steady(client, tags or tags_of()) as steady:
        yield steady


def wait_frames(recorder, count=250, seconds=15):
    wait_until(lambda: len(recorder.frames) >= count, seconds, lambda: f"{count} packets should arrive: {len(recorder.frames)} came")


def forwards(server):
    return [one for one in api.clients(server) if one["type"] == "rtsp-forward"]


HABITS = {
    "tcp": {},
    "udp": {"transports": ("udp",)},
    "udp-by-answer": {"transports": ("udp",), "answers_other": True},
    "other-channels": {"channel": 6},
    "session-from-announce": {"session_at": "ANNOUNCE"},
    "no-cseq": {"cseq": False},
    "digest": {"user": "u ser", "password": "s:e@c/ret", "schemes": ("digest",)},
    "basic": {"user": "u ser", "password": "s:e@c/ret", "schemes": ("basic",)},
    "digest-and-basic": {"user": "u ser", "password": "s:e@c/ret", "schemes": ("basic", "digest")},
}


@pytest.mark.parametrize("name", HABITS)
def test_the_published_frames_arrive(servers, name):
    """Byte for byte, in step, with a sender report first; and credentials are in no log and no answer of the API."""
    tags = tags_of()
    with Recorder(**HABITS[name]) as recorder:
        url = with_credentials(recorder.url("in/one"), "u%20ser:s%3Ae%40c%2Fret") if "user" in HABITS[name] else recorder.url("in/one")
        server = forwarding(servers, url)
        with publish(server, tags):
            wait_frames(recorder)
            shown = str(api.clients(server)) + str(api.streams(server)) + str(api.ask(server, "/api/v1/config?set=true&count=1000"))
            listed = forwards(server)
        rtsp.assert_same(tags, list(recorder.frames), 44_100, name)
        kinds = {channel: data[1] for channel, data in reversed(recorder.frames)}
        assert kinds[1] == kinds[3] == 200, f"a sender report of each track should come: {kinds}"
        assert len(listed) == 1 and listed[0]["ip"] == "127.0.0.1" and not listed[0]["publish"], f"one client rtsp-forward: {listed}"
        kind = "UDP" if "udp" in name else "interleaved"
        server.wait_log(rf"forward: .*live/s goes to rtsp://127.0.0.1:{recorder.port}/in/\.\.\., {kind}")
        for secret in ("s%3Ae", "s:e@c", "ret@", "u%20ser"):
            assert secret not in shown + server.log(), f"{secret} should not be shown"
        if "user" in HABITS[name]:
            sent = [one[3] for one in recorder.requests if "Authorization: " in one[3]]
            used = {"Digest" if "Authorization: Digest" in head else "Basic" for head in sent}
            assert used == {"Digest" if "digest" in name else "Basic"}, f"Digest should be used where it is offered: {used}"
        ends = 2 if name == "udp-by-answer" else 1  # of the session in which TCP was asked for
        wait_until(lambda: recorder.count("TEARDOWN") == ends, 8, lambda: "the receiver should be told of the end by TEARDOWN")
        assert recorder.strangers == 0, f"datagrams should come from the named ports: {recorder.strangers} did not"


@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
def test_a_second_server_gets_the_same(servers, udp):
    """By the name and with the parameters that the stream has here; with Digest."""
    tags = tags_of()
    rtp, _ = port_pair()
    auth = "auth { enabled on; username u; password secret; methods digest; }"
    second = make(servers, (UDP.replace("UDP_PORT", str(rtp)) if udp else "") + auth, top=API)
    first = forwarding(servers, with_credentials(rtsp.url(second, "")[:-1], "u:secret"))
    with publish(first, tags, "s?token=1"):
        api.wait_stream(second, "s", lambda stream: stream["frames"] > 40, seconds=15)
        with rtsp.client(second) as player:
            address = rtsp.url(second, "live/s")
            refused = player.request("DESCRIBE", address)
            player.play(address, Authorization=rtsp.digest(refused, "u", "secret", "DESCRIBE", address))
            frames = player.read_frames(10, lambda got: len(got) > 250)
        found = [one for one in api.clients(second) if one["type"] == "rtsp-publish"]
    rtsp.assert_same(tags, frames, 44_100, "a player of the second server")
    assert len(found) == 1, f"one publisher should be there: {found}"
    assert "secret" not in first.log() + second.log(), "a password should not be logged"


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not-trusted"])
def test_rtsps(servers, certificate, trusted):
    """By TLS, with a certificate that is checked."""
    key, cert = certificate
    tags = tags_of()
    second = make(servers, f"rtsps {{ enabled on; listen 127.0.0.1:RTMPS_PORT; key {key}; cert {cert}; }}", top=API)
    first = forwarding(
        servers, f"rtsps://127.0.0.1:{second.rtmps_port}", environment={"SSL_CERT_FILE": str(cert)} if trusted else {}
    )
    with publish(first, tags) as publisher:
        if not trusted:
            api.explained(first, "s", "outputs", "forward: to rtsps://.*TLS handshake.*certificate")
            assert publisher.error is None, f"the publisher was disturbed: {publisher.error}"
            return
        api.wait_stream(second, "s", lambda stream: stream["frames"] > 40, seconds=15)
        assert [one["tcUrl"].partition(":")[0] for one in forwards(first)] == ["rtsps"], f"one forward by TLS: {forwards(first)}"
        with rtsp.client(second) as player:
            player.play(rtsp.url(second, "live/s"))
            frames = player.read_frames(10, lambda got: len(got) > 250)
    rtsp.assert_same(tags, frames, 44_100, "a player of the second server")


@pytest.mark.long
def test_a_receiver_that_goes_away_and_comes_back(servers):
    """It is tried again at growing intervals, and logged when its state changes; another destination is not disturbed."""
    tags = tags_of()
    with Recorder() as good, Recorder() as bad:
        server = forwarding(servers, good.url(), bad.url())
        with publish(server, tags):
            wait_frames(bad, 60)
            time.sleep(5.5)  # it counts as working then
            bad.stop()
            server.wait_log(rf"forward: .*:{bad.port}/\.\.\.: .*; it is tried again")
            time.sleep(3)
            assert server.log_count("connecting to") == 1, "attempts should not be logged, changes of state should"
            with Recorder(port=bad.port) as again:
                wait_frames(again, 250)
                server.wait_log(rf"goes to rtsp://127.0.0.1:{bad.port}/\.\.\. again, after \d+ attempts")
                rtsp.assert_same(tags, list(again.frames), 44_100, "the receiver that came back")
            assert good.count("ANNOUNCE") == 1, "the other destination should not be disturbed"


@pytest.mark.parametrize("teardown", [False, True], ids=["closes", "teardown"])
def test_a_receiver_that_ends_the_recording(servers, teardown):
    with Recorder(life=1, teardown=teardown) as recorder:
        server = forwarding(servers, recorder.url())
        with publish(server):
            wait_until(lambda: recorder.count("RECORD") >= 4, 20, lambda: f"it should be asked again: {recorder.count('RECORD')}")
        times = recorder.times("RECORD")
        gaps = [after - before for before, after in zip(times, times[1:])]
        assert gaps[2] > gaps[0], f"the pauses should grow: {gaps}"
        why = "the destination ended the session" if teardown else "closed by the peer"
        assert server.log_count(f"{why}; it is tried again") == 1, "only changes of state should be logged"


def test_wrong_credentials_are_not_tried_often(servers):
    with Recorder(user="u", password="right") as recorder, Recorder(user="u", password="x") as other:
        server = forwarding(servers, with_credentials(recorder.url(), "u:wrong"), other.url())
        with publish(server):
            api.explained(server, "s", "outputs", "ANNOUNCE: 401 Unauthorized: wrong user or password")
            api.explained(server, "s", "outputs", "ANNOUNCE: 401 Unauthorized, and there are no credentials")
            time.sleep(8)
        assert recorder.count("ANNOUNCE") == 2, f"one attempt of two requests should be made in 8 s: {recorder.count('ANNOUNCE')}"
        assert "wrong@" not in server.log(), "the password should not be logged"


def test_a_refusal_is_explained_with_its_reason(servers):
    with Recorder(refuse="403 Forbidden", warning='199 - "go away"') as recorder:
        server = forwarding(servers, recorder.url())
        with publish(server):
            api.explained(server, "s", "outputs", r"ANNOUNCE: 403 Forbidden \(199 - .*go away.*\)")
            wait_until(lambda: recorder.count("ANNOUNCE") >= 3, 10, lambda: "three attempts should be made")


BAD = {
    "no-transport": ({"transports": ()}, "no transport that is allowed here"),
    "no-server-port": ({"transports": ("udp",), "server_port": False}, "the answer has no server_port"),
    "endless-redirects": ({"redirect": "self"}, "more than 3 redirects"),
    "loop": ({"refuse": "508 Loop Detected"}, "508 Loop Detected"),
}


@pytest.mark.parametrize("name", BAD)
def test_receivers_that_cannot_be_used(servers, name):
    options, why = BAD[name]
    with Recorder(**options) as recorder:
        if recorder.redirect:
            recorder.redirect = recorder.url()
        server = forwarding(servers, recorder.url())
        with publish(server) as publisher:
            api.explained(server, "s", "outputs", f"forward: to rtsp://.*{why}")
            if name == "loop":
                time.sleep(1.5)
                assert recorder.count("ANNOUNCE") == 1, "a loop should not be tried again"
            assert publisher.error is None, f"the publisher was disturbed: {publisher.error}"


def test_a_redirect_is_followed(servers):
    """The credentials go to the first host alone."""
    with Recorder() as recorder, Recorder(redirect=recorder.url().replace("127.0.0.1", "localhost")) as first:
        server = forwarding(servers, with_credentials(first.url(), "u:secret"))
        with publish(server):
            wait_frames(recorder, 60)
        assert not any("Authorization" in one[3] for one in recorder.requests), "another host should not get the credentials"


@pytest.mark.parametrize(
    "get_parameter",
    [pytest.param(True, id="get-parameter"), pytest.param(False, id="options", marks=pytest.mark.long)],
)
def test_it_keeps_the_session_alive(servers, get_parameter):
    """By half of the timeout: 10 s are the least that is believed."""
    with Recorder(keep_alive=1, get_parameter=get_parameter) as recorder:
        server = forwarding(servers, recorder.url())
        with publish(server):
            wait_frames(recorder, 60)

            def kept():
                return recorder.count("GET_PARAMETER") + recorder.count("OPTIONS") - 1

            wait_until(lambda: kept() >= 2, 15, lambda: f"two keep-alives should come within 15 s: {kept()}")
        assert recorder.count("RECORD") == 1, "the recording should go on"


def test_no_loop(servers):
    """By way of a second server, which forwards back by RTSP: the header field Via says it, once."""
    conf = "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }" + API
    rows = "rtsp { enabled on; } "
    first = servers.make(top=conf, vhosts="")
    second = servers.make(top=conf, vhosts="")
    for one, other in ((first, second), (second, first)):
        words = f"forward {{ enabled on; destination {rtsp.url(other, '')[:-1]}; }}"
        one.conf_path.write_text(one.conf_path.read_text() + default_vhost(vhost=rows + words, publish="takeover on;"))
        one.start()
    with publish(first) as publisher:
        api.wait_stream(second, "s", lambda stream: stream["frames"] > 40, seconds=15)
        api.explained(second, "s", "outputs", "508 Loop Detected.*has come back")
        time.sleep(1.5)
        assert publisher.error is None, f"the publisher was disturbed: {publisher.error}"
        assert second.log_count("is a loop") == 1, "a loop should be logged once, and not tried again"


def test_reload_adds_and_removes(servers):
    def reload(old, new):
        text = server.conf_path.read_text()
        assert old in text, f"{old} should be in the configuration: {text}"
        server.conf_path.write_text(text.replace(old, new, 1))
        mark = server.log_mark()
        server.signal(signal.SIGHUP)
        return server.wait_log("reload: .*vhost/forward/destination: .*", 5, mark)

    with Recorder() as one, Recorder(user="u", password="secret") as two:
        server = forwarding(servers, one.url())
        with publish(server):
            wait_frames(one, 40)
            both = f"{one.url()} {with_credentials(two.url(), 'u:secret')}"
            line = reload(one.url(), both)
            assert "//***@127.0.0.1" in line, f"the change should be shown without the password: {line}"
            wait_frames(two, 40)
            assert one.count("ANNOUNCE") == 1, "a destination that stays should not be disturbed"
            reload(both, with_credentials(two.url(), "u:secret"))
            wait_until(lambda: one.count("TEARDOWN") == 1, 8, lambda: "a removed destination should be told of the end")
            count = len(two.frames)
            wait_frames(two, count + 40)
            assert two.count("RECORD") == 1, "a destination that stays should not be disturbed"
        assert "secret" not in server.log(), "the password should not be logged"


def test_a_kicked_one_comes_back(servers):
    with Recorder() as recorder:
        server = forwarding(servers, recorder.url())
        with publish(server):
            wait_frames(recorder, 40)
            api.ask(server, f"/api/v1/clients/{forwards(server)[0]['id']}", "DELETE")
            wait_until(lambda: recorder.count("RECORD") == 2, 10, lambda: "a kicked destination should be connected again")


@pytest.mark.long
def test_a_track_that_begins_later_is_announced(servers):
    """The receiver is told of all tracks anew."""
    tags = media.from_keyframe(media.with_b_frames())
    first = [tag for tag in tags if tag.type == flv.VIDEO and tag.timestamp < 2500]
    with Recorder() as recorder:
        server = forwarding(servers, recorder.url())
        with rtmp.publisher(server, "live", "s") as client:
            publishing.send_all(client, first, 1)
            wait_frames(recorder, 20)
            now = first[-1].timestamp
            audio = [tag._replace(timestamp=now) for tag in tags if tag.type == flv.AUDIO and not flv.is_frame(tag)]
            publishing.send_all(client, audio + [tag for tag in flv.frames(tags) if tag.timestamp > now], 1)
            wait_until(lambda: len(recorder.recordings) >= 2, 10, lambda: f"it should be announced again: {recorder.descriptions}")
        counts = [len(re.findall(r"^m=", text, re.M)) for text in recorder.descriptions]
        assert counts == [1, 2], f"one track should be announced, then two: {counts}"
        api.ended(server, "the stream's tracks have changed", type="rtsp-forward")


def test_udp_goes_to_the_receiver_alone(servers):
    """Whatever source its answer names."""
    with Recorder(transports=("udp",), source="127.0.0.2") as recorder, contextlib.ExitStack() as stack:
        server = forwarding(servers, recorder.url())
        with publish(server):
            wait_frames(recorder, 60)
            victims = []
            for port in recorder.server_ports:
                victims.append(stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
                victims[-1].bind(("127.0.0.2", port))
            wait_frames(recorder, len(recorder.frames) + 60)
        for victim in victims:
            victim.setblocking(False)
            with pytest.raises(BlockingIOError):
                victim.recv(2048)


NOISE = {
    "frames": b"$\x00\x00\x00" + b"$\xff\x00\x00" + b"$\x09\xff\xff" + bytes(65535),
    "answers": b"RTSP/1.0 200 OK\r\nCSeq: 99\r\n\r\n" * 100,
    "requests": b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n" * 20,
}
ENDS = {
    "garbage": b"\x00\x01\x02\xff" * 50,
    "long header": b"RTSP/1.0 200 OK\r\nX: " + b"x" * 20_000,
    "flood": b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n" * 20_000,
}


@pytest.mark.parametrize("name", [*NOISE, *ENDS])
def test_what_a_receiver_says_while_it_records(servers, name):
    """Frames and messages of odd kinds do no harm; what is none ends the connection, which is tried again."""
    with Recorder() as recorder:
        server = forwarding(servers, recorder.url())
        with publish(server) as publisher:
            wait_frames(recorder, 60)
            with contextlib.suppress(OSError):
                recorder.sockets[-1].sendall({**NOISE, **ENDS}[name])
            if name in ENDS:
                api.ended(server, type="rtsp-forward")
                wait_until(lambda: recorder.count("RECORD") >= 2, 10, lambda: "it should be connected again")
            else:
                wait_frames(recorder, len(recorder.frames) + 60)
                assert recorder.count("RECORD") == 1, "the recording should go on"
            assert publisher.error is None, f"the publisher was disturbed: {publisher.error}"


def test_bad_destinations_are_refused(servers):
    """Without the password in the message."""
    server = servers.make(top=API, vhosts=default_vhost(vhost="forward { enabled on; destination rtsp://u:secret@h:x/s; }"))
    code, text = run_once("-t", "-c", str(server.conf_path), directory=server.dir)
    assert code != 0 and "destination: " in text and "secret" not in text, f"an error without the password: {text}"
