"""Streams pulled from cameras by RTSP (ingest): from a second server and from a simulated camera with the habits of devices;
what was sent comes, reconnecting, on demand, reload, credentials, loops."""

import contextlib
import re
import signal
import socket
import time

import pytest

from lib import api, http, media, publishing, rtmp, rtsp
from lib.camera import Camera, camera_tags, ingest
from lib.server import default_vhost
from lib.timing import SLOW, wait_until
from lib.rtsp_server import API, UDP, make, port_pair


def puller(servers, *ingests, publish="", rejoin=500, vhost="", top=API):
    return servers(top=top, vhosts=default_vhost(vhost=" ".join(ingests) + vhost, publish=publish, rejoin=rejoin))


def pulled(server, name="cam", seconds=30):
    """What an HTTP-FLV player gets that waits from before the stream is pulled to its end."""
    return publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv", wait=False)).finish(seconds, "HTTP-FLV")


def pulls(server):
    """What is pulled: {(name, from which URL)}."""
    return {(one["name"], one["tcUrl"]) for one in api.clients(server) if one["type"] == "rtsp-pull"}


def reload(server, old, new):
    """Another configuration: `new` in place of `old`."""
    text = server.conf_path.read_text()
    assert old in text, f"{old} should be in the configuration: {text}"
    server.conf_path.write_text(text.replace(old, new, 1))
    server.signal(signal.SIGHUP)


def on_demand(camera, **more):
    """The ingest of a camera whose first player gets all that the camera sends."""
    return ingest(camera.url(), input="on_demand on; " + more.pop("input", ""), **more)


HABITS = {
    "tcp": {},
    "udp": {"transports": ("udp",)},
    "no-content-base": {"content_base": False},
    "absolute-control": {"control": "URL/trackID={}", "content_base": False},
    "parameter-sets-in-band": {"sprop": False},
    "parameter-sets-in-band-udp": {"sprop": False, "transports": ("udp",)},
    "early": {"early": True},
    "no-cseq": {"cseq": False},
    "back-channel": {"back_channel": True},
    "bare-description": {"change": lambda text: text[text.index("m=") :].replace("m=video 0", "m=video -1353744643")},
    "server-port-udp": {"transports": ("udp",), "server_port": "0-1"},
    "start-codes": {"start_codes": True},
    "start-codes-without-end-bits": {"start_codes": True, "end_bits": False, "sprop": False},
}


@pytest.mark.parametrize("name", HABITS)
def test_what_the_camera_sends_comes(servers, name):
    tags = camera_tags()
    with Camera(tags, plays=1, speed=4, **HABITS[name]) as camera:
        server = puller(servers, on_demand(camera))
        received = pulled(server)
        server.wait_log("ingest cam: .*live/cam is pulled from " + camera.url() + ".*" + ("UDP" if "udp" in name else "interleaved"))
        setups = [one[2] for one in camera.requests if one[1] == "SETUP"]
        assert not any("back" in url for url in setups), f"a back channel should not be set up: {setups}"
    rtsp.assert_arrived(tags, received, name)


SCHEMES = {"both": ("digest", "basic"), "basic-first": ("basic", "digest"), "digest": ("digest",), "basic": ("basic",)}


@pytest.mark.parametrize("name", SCHEMES)
def test_credentials(servers, name):
    """They are sent as the camera wants them, and are in no log and no answer of the API."""
    tags = camera_tags()
    with Camera(tags, user="view er", password="s:e@c/ret", schemes=SCHEMES[name]) as camera:
        url = camera.url().replace("//", "//view%20er:s%3Ae%40c%2Fret@")
        server = puller(servers, ingest(url))
        api.wait_stream(server, "cam", lambda stream: stream["frames"] > 20, seconds=10)
        sent = [one[3] for one in camera.requests if "Authorization: " in one[3]]
        assert sent, "the credentials should be sent"
        is_digest = ["Authorization: Digest" in head for head in sent]
        assert all(is_digest) == ("digest" in SCHEMES[name]), f"Digest should be used where it is offered: {sent[0]}"
        shown = str(api.clients(server)) + str(api.streams(server)) + server.log()
        for secret in ("s%3Ae", "s:e@c", "ret@", "view%20er"):
            assert secret not in shown, f"{secret} should not be shown"


def test_what_is_dropped_of_a_camera_is_said(servers):
    """A camera that describes HEVC and sends H.264: its audio is published; log and explain tell why there is no video."""
    with Camera(camera_tags(), change=lambda text: re.sub(r"; sprop-parameter-sets=\S+", "", text.replace("H264/", "H265/"))) as camera:
        server = puller(servers, ingest(camera.url()))
        stream = api.wait_stream(server, "cam", lambda stream: stream["frames"] > 20, seconds=10)
        server.wait_log("RTSP publisher: dropped .video.")
        explained = api.ask(server, f"/api/v1/streams/{stream['id']}/explain")
        faults = next(check for check in explained["checks"] if check["name"] == "input_faults")
        assert faults["verdict"] == "warn" and " video" in faults["text"], f"explain should say what is dropped: {faults}"
        assert explained["verdict"] != "ok", f"a stream whose video is dropped is not well: {explained['verdict']}"


def test_a_password_in_the_clear(servers):
    """A camera that offers Basic alone gets no password where `methods` forbids it; elsewhere the log says it, once."""
    with Camera(camera_tags(), user="u", password="secret", schemes=("basic",), life=0.5) as camera:
        url = camera.url().replace("//", "//u:secret@")
        server = puller(servers, ingest(url, "safe", "methods digest;"), ingest(url, "open"))
        server.wait_log("ingest safe: .*401 Unauthorized with Basic alone, which is not allowed here .methods.; it is tried again")
        server.wait_log("ingest open: the password goes to .* in the clear")
        api.wait_stream(server, "open", lambda stream: stream["frames"] > 0, seconds=10)
        wait_until(lambda: camera.count("PLAY") >= 2, 10, lambda: "the pull goes on")
        assert server.log().count("in the clear") == 1, "the password in the clear should be logged once"
        assert "safe" not in api.streams(server), "nothing should be pulled without the password"


def test_a_redirect_takes_the_password_to_no_other_port(servers):
    with Camera(camera_tags(), user="u", password="secret") as other:
        with Camera(camera_tags(), user="u", password="secret", redirect=other.url()) as camera:
            server = puller(servers, ingest(camera.url().replace("//", "//u:secret@")))
            server.wait_log("ingest cam: .*DESCRIBE: 401 Unauthorized, and there are no credentials")
            sent = [head for _, _, _, head in other.requests if "Authorization" in head]
            assert other.count("DESCRIBE") and not sent, f"the other server should get no password, it got {sent}"


@pytest.mark.long
def test_wrong_credentials_are_not_tried_often(servers):
    with Camera(camera_tags(), user="u", password="right") as camera:
        server = puller(servers, ingest(camera.url().replace("//", "//u:wrong@")))
        server.wait_log("ingest cam: .*DESCRIBE: 401 Unauthorized: wrong user or password; it is tried again")
        time.sleep(8)
        assert camera.count("DESCRIBE") == 2, f"one attempt of two requests should be made in 8 s: {camera.count('DESCRIBE')}"


def test_the_client_is_listed(servers):
    with Camera(camera_tags()) as camera:
        server = puller(servers, ingest(camera.url(), more="stream cams/door;"))
        api.wait_stream(server, "door", lambda stream: stream["frames"] > 20, seconds=10)
        found = [one for one in api.clients(server) if one["type"] == "rtsp-pull"]
        assert len(found) == 1, f"one client of type rtsp-pull should be listed: {api.clients(server)}"
        assert found[0]["publish"] and found[0]["ip"] == "127.0.0.1" and found[0]["tcUrl"] == camera.url(), f"it should be a publisher: {found[0]}"
        wait_until(lambda: camera.reports >= 2, 8, lambda: f"receiver reports should be sent: {camera.reports}")
        api.ask(server, f"/api/v1/clients/{found[0]['id']}", "DELETE")
        api.ended(server, type="rtsp-pull", reason="kicked")
        wait_until(lambda: camera.count("PLAY") >= 2, 10, lambda: "a kicked pull begins again")
        assert camera.count("TEARDOWN") >= 1, "the session should be ended by TEARDOWN"


def test_the_other_transport(servers):
    """461 leads to the other transport, unless only TCP is allowed."""
    tags = camera_tags()
    with Camera(tags, transports=("udp",)) as udp, Camera(tags, transports=("tcp",)) as tcp, Camera(tags, transports=("udp",)) as no:
        server = puller(
            servers, ingest(udp.url(), "a"), ingest(tcp.url(), "b", "transport udp;"), ingest(no.url(), "c", "transport tcp;")
        )
        server.wait_log("ingest a: .*, UDP")
        server.wait_log("ingest b: .*, interleaved")
        server.wait_log("ingest c: .*the server offers no transport that is allowed here")
        for name in "ab":
            api.wait_stream(server, name, lambda stream: stream["frames"] > 20, seconds=10)


# --- a second server


# Among other tests the kernel may have no room for datagrams.
@pytest.mark.parametrize("transport", ["tcp", pytest.param("udp", marks=pytest.mark.quiet)])
def test_from_a_second_server(servers, transport):
    """With Digest; the frames are those of the publisher."""
    rtp, _ = port_pair()
    auth = "auth { enabled on; username u; password secret; methods digest; }"
    source = make(servers, UDP.replace("UDP_PORT", str(rtp)) + auth, top=API)
    tags = media.tags(media.with_b_frames())
    with rtmp.publisher(source, "live", "s") as client, publishing.Steady(client, tags):
        api.wait_stream(source, "s", lambda stream: stream["frames"] > 40)
        url = rtsp.url(source, "live/s").replace("//", "//u:secret@")
        server = puller(servers, ingest(url, input=f"transport {transport};"), top=API + "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }", vhost="rtsp { enabled on; }")
        server.wait_log("ingest cam: .*, " + {"tcp": "interleaved", "udp": "UDP"}[transport])
        api.wait_stream(server, "cam", lambda stream: stream["frames"] > 40, seconds=10)
        with rtsp.client(server) as player:
            player.play(rtsp.url(server, "live/cam"))
            frames = player.read_frames(10, lambda got: len(got) > 250)
    rtsp.assert_same(tags, frames, 44_100, "RTSP to RTSP")


# --- reconnecting


@pytest.mark.long
@pytest.mark.parametrize("life, plays", [(2, 4), (10, 3)], ids=["every-2s", "every-10s"])
def test_a_camera_that_reboots(servers, life, plays):
    """It is asked again within a second each time, because a player waits, and players go on."""
    with Camera(camera_tags(), life=life) as camera:
        server = puller(servers, ingest(camera.url()), rejoin=20_000)
        player = publishing.Collector(http.Live(server.http_port, "/live/cam.flv", wait=False))
        wait_until(lambda: camera.count("PLAY") >= plays, 45, lambda: f"it should be asked {plays} times: {camera.count('PLAY')}")
        times = camera.times("PLAY")
        gaps = [round(after - before, 1) for before, after in zip(times, times[1:])]
        assert all(life - 0.1 <= gap < life + 1.5 * SLOW for gap in gaps), f"a pause of a second at most should be before each: {gaps}"
        count = len(player.tags)
        wait_until(lambda: len(player.tags) > count + 20, 10, lambda: f"a player should go on: {len(player.tags)} tags")


def test_a_camera_that_is_away(servers):
    """The pauses grow; then it comes."""
    with Camera([]) as taken:
        port = taken.port
    server = puller(servers, ingest(f"rtsp://127.0.0.1:{port}/s"))
    server.wait_log("ingest cam: .*Connection refused; it is tried again")
    time.sleep(1)
    with Camera(camera_tags(), port=port):
        api.wait_stream(server, "cam", lambda stream: stream["frames"] > 20, seconds=15)
        assert server.log_count("Connection refused") == 1, "only changes of state should be logged"


def test_a_camera_without_media(servers):
    with Camera(camera_tags(), silent=True) as camera:
        server = puller(servers, ingest(camera.url()), publish="firstpkt_timeout 1500;")
        server.wait_log(r"ingest cam: .*no usable audio or video within 1500 ms of its start \(firstpkt_timeout\)")
        assert "cam" not in api.streams(server) or not api.streams(server)["cam"]["publish"]["active"], "nothing should be published"


def test_redirects(servers):
    tags = camera_tags()
    with Camera(tags) as camera, Camera(tags, redirect=camera.url("other")) as first, Camera(tags) as endless:
        endless.redirect = endless.url()
        server = puller(servers, ingest(first.url(), "a"), ingest(endless.url(), "b"))
        api.wait_stream(server, "a", lambda stream: stream["frames"] > 20, seconds=10)
        server.wait_log("ingest b: .*more than 3 redirects")
        assert endless.count("DESCRIBE") == 4, f"3 redirects should be followed: {endless.count('DESCRIBE')}"


def test_no_loop(servers):
    """A server does not pull what it serves itself: not from itself, and not by way of another server."""
    conf = API + "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }"
    first = servers(top=conf, vhosts=default_vhost(vhost="rtsp { enabled on; }"))
    second = servers(top=conf, vhosts=default_vhost(vhost="rtsp { enabled on; }" + ingest(rtsp.url(first, "live/s"), "s")))
    with rtmp.publisher(first, "live", "s") as client, publishing.Steady(client, media.tags(media.plain())):
        api.wait_stream(second, "s", lambda stream: stream["frames"] > 20, seconds=15)
        reload(first, "rtsp {", ingest(rtsp.url(first, "live/s"), "a") + ingest(rtsp.url(second, "live/s"), "b") + " rtsp {")
        for name in "ab":
            first.wait_log(f"ingest {name}: .*the stream comes from this server itself: that would be a loop", 15)


# --- on demand


@pytest.mark.long
def test_on_demand(servers):
    """A player begins the pull, and some seconds after the last one it ends."""
    with Camera(camera_tags()) as camera:
        server = puller(servers, on_demand(camera))
        time.sleep(1)
        assert not camera.requests, f"without a player the camera should not be asked: {camera.requests}"
        player = http.Live(server.http_port, "/live/cam.flv", wait=False)
        collected = publishing.Collector(player)
        wait_until(lambda: len(collected.tags) > 60, 10, lambda: f"the player that came first should get the stream: {len(collected.tags)}")
        assert camera.count("PLAY") == 1, f"one play should be asked for: {camera.count('PLAY')}"
        player.close()
        wait_until(lambda: camera.count("TEARDOWN") == 1, 20, lambda: "the camera should be let go")
        api.ended(server, "no player for a while", type="rtsp-pull")
        time.sleep(4)
        assert camera.count("PLAY") == 1, f"it should not be asked without a player: {camera.count('PLAY')}"
        again = publishing.Collector(http.Live(server.http_port, "/live/cam.flv", wait=False))
        wait_until(lambda: len(again.tags) > 60, 10, lambda: f"the next player should get the stream: {len(again.tags)}")


def test_an_rtsp_player_waits_for_the_pull(servers):
    with Camera(camera_tags()) as camera:
        server = puller(servers, on_demand(camera), top=API + "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }", vhost="rtsp { enabled on; }")
        with rtsp.client(server, timeout=15) as player:
            player.play(rtsp.url(server, "live/cam"))
            frames = player.read_frames(10, lambda got: len(got) > 50)
        assert len(frames) > 50, f"frames should come: {len(frames)}"


# --- configuration


def test_reload(servers):
    """An ingest is added, changed and removed; what stays the same goes on."""
    tags = camera_tags()
    with Camera(tags) as one, Camera(tags) as two, Camera(tags) as three:
        server = puller(servers, ingest(one.url(), "a"), ingest(two.url(), "b"))
        for name in "ab":
            api.wait_stream(server, name, lambda stream: stream["frames"] > 20, seconds=10)
        changed = ingest(three.url().replace("//", "//u:secret@"), "b") + ingest(two.url(), "c")
        reload(server, ingest(two.url(), "b"), changed)
        wanted = {("a", one.url()), ("b", three.url()), ("c", two.url())}
        wait_until(lambda: pulls(server) == wanted, 10, lambda: f"these are pulled: {wanted}; there are {pulls(server)}")
        server.wait_log("reload: .*vhost/ingest/enabled: a .* -> a .*, c ")
        assert "secret" not in server.log(), "a password should not be logged"
        assert one.count("PLAY") == 1, f"an ingest that is the same should go on: {one.count('PLAY')} plays"
        reload(server, changed, "")
        wait_until(lambda: three.count("TEARDOWN") == 1, 10, lambda: "a removed ingest should end")
        gone = lambda: "b" not in api.streams(server) or not api.streams(server)["b"]["publish"]["active"]  # noqa: E731
        wait_until(gone, 10, lambda: f"its stream should end: {api.streams(server)}")
        assert one.count("PLAY") == 1, f"an ingest that is the same should go on: {one.count('PLAY')} plays"


@pytest.mark.long
def test_a_hundred_cameras(servers):
    """At once, half of them by UDP. Then all reboot at the same moment: each comes back, not all in the same second, and
    none holds up the server."""
    tags = media.from_keyframe(media.plain())[:300]
    with contextlib.ExitStack() as stack:
        cameras = [
            stack.enter_context(Camera(tags, transports=("tcp",) if index % 2 else ("udp",), speed=0.2)) for index in range(100)
        ]
        server = puller(servers, *[ingest(camera.url(), f"cam{index}") for index, camera in enumerate(cameras)], rejoin=20_000)

        def flowing():
            return [name for name, stream in api.streams(server).items() if stream["publish"]["active"] and stream["frames"] > 20]

        wait_until(lambda: len(flowing()) == 100, 40, lambda: f"all of 100 should flow, {len(flowing())} do")
        assert len([one for one in api.clients(server) if one["type"] == "rtsp-pull"]) == 100, "each should be listed"
        before = server.rss_kb()
        for camera in cameras:
            camera.drop()
        asked = time.monotonic()
        wait_until(lambda: all(camera.count("PLAY") == 2 for camera in cameras), 20, lambda: "each should be asked once more")
        again = sorted(camera.times("PLAY")[1] - asked for camera in cameras)
        assert again[0] > 2 and again[90] - again[10] > 0.6, f"they should be asked after 2.25 to 3.75 s, by chance: {again[::10]}"
        wait_until(lambda: len(flowing()) == 100, 20, lambda: f"all of 100 should flow again, {len(flowing())} do")
        grown = server.rss_kb() - before
        assert SLOW > 1 or grown < 20_000, f"a second connection should not need more memory, {grown} kB were added"


# --- bad input

NOISE = [(0, b""), (0, b"\x00" * 12), (0, b"\x80\x60"), (2, b"\x9f" + b"\xff" * 20), (1, b""), (3, b"\x80\xc8\xff\xff"), (1, b"\x01" * 100)]


@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
def test_bad_packets_of_a_camera(servers, udp):
    """RTP of length 0, of another version, truncated; RTCP that is none; interleaved on channels up to 255 that nobody set
    up: the frames between them come."""
    tags = camera_tags()
    noise = NOISE + ([] if udp else [(77, b"x" * 1000), (255, b""), (255, b"\x80" * 60_000)])
    with Camera(tags, plays=1, speed=4, noise=noise, transports=("udp",) if udp else ("tcp",)) as camera:
        received = pulled(puller(servers, on_demand(camera)))
    rtsp.assert_arrived(tags, received, "beside bad packets")


def test_the_last_channels(servers):
    """A camera that chooses 252 to 255; and one that chooses what is no channel."""
    tags = camera_tags()
    with Camera(tags, plays=1, speed=4, channel=252) as camera, Camera(tags, channel=254) as beyond:
        server = puller(servers, on_demand(camera), ingest(beyond.url(), "b"))
        rtsp.assert_arrived(tags, pulled(server), "channels 252 to 255")
        server.wait_log("ingest b: .*SETUP: Transport: .*; it is tried again")


NO_MEDIA = "v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=x\r\nt=0 0\r\n"
DESCRIPTIONS = {
    "no-media": (NO_MEDIA, "description: no media"),
    "empty": ("", "description: "),
    "garbage": ("\x01\x02=\n" * 50, "description: "),
    "unknown-codec": (NO_MEDIA + "m=video 0 RTP/AVP 96\r\na=rtpmap:96 NOSUCH/90000\r\n", "NOSUCH"),
    "700-tracks": (NO_MEDIA + "m=audio 0 RTP/AVP 0\r\n" * 700, "more than 64 m= lines"),
    "too-long": (NO_MEDIA + "a=x\r\n" * 10_000, "body"),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_bad_descriptions_of_a_camera(servers, name):
    text, why = DESCRIPTIONS[name]
    with Camera(camera_tags(), change=lambda _: text) as camera:
        server = puller(servers, ingest(camera.url()))
        server.wait_log(f"ingest cam: .*{why}.*; it is tried again")
        assert "cam" not in api.streams(server) or not api.streams(server)["cam"]["publish"]["active"], "nothing should be published"


def test_a_camera_with_sixty_tracks(servers):
    """The first are set up, as many as a session has."""
    with Camera(camera_tags(), change=lambda text: text + "m=audio 0 RTP/AVP 0\r\na=control:x=3\r\n" * 58) as camera:
        server = puller(servers, ingest(camera.url()))
        api.wait_stream(server, "cam", lambda stream: stream["frames"] > 20, seconds=10)
        assert camera.count("SETUP") <= 16, f"at most 16 tracks should be set up: {camera.count('SETUP')}"


def test_udp_goes_to_the_camera_alone(servers):
    """Whatever source the camera's answer names: receiver reports go to the address of the connection."""
    with Camera(camera_tags(), transports=("udp",), source="127.0.0.2") as camera, contextlib.ExitStack() as stack:
        server = puller(servers, ingest(camera.url()))
        api.wait_stream(server, "cam", lambda stream: stream["frames"] > 20, seconds=10)
        victims = []
        for port in camera.server_ports:
            victims.append(stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
            victims[-1].bind(("127.0.0.2", port))
        time.sleep(6)  # reports are sent each 5 s
        for victim in victims:
            victim.setblocking(False)
            with pytest.raises(BlockingIOError):
                victim.recv(2048)
