"""Streams that are fetched because a player asks for them, from an origin or a camera: by every protocol a player is
admitted first, then the stream is asked for, then it waits."""

import contextlib
import signal
import time

import pytest

from lib import api, hooks, http, media, publishing, rtc_raw, rtmp, rtsp
from lib.camera import Camera
from lib.destination import Destination
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until
from lib.web import Web

TOP = """
http_api { enabled on; listen 127.0.0.1:API_PORT; }
rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; }
rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; candidate 127.0.0.1; }
"""
PLAYED = "rtsp { enabled on; } rtc { enabled on; rtmp_to_rtc on; } hls { enabled on; hls_path ./hls; hls_fragment 1; hls_window 20; %s }"
HEVC_OFFER = rtc_raw.offer().replace(" 102\r\n", " 102 103\r\n").replace("a=rtpmap:102", "a=rtpmap:103 H265/90000\r\na=rtpmap:102", 1)


def player_server(servers, vhost, hls="", remux=""):
    return servers(top=TOP, vhosts=default_vhost(vhost=vhost + PLAYED % hls, remux="wait_publisher off; " + remux, rejoin=2000))


def ask_whep(server, name, offer=None):
    path = f"/rtc/v1/whep/?app=live&stream={name}"
    with http.Connection(server.api_port) as connection:
        connection.request("POST", path, (offer or rtc_raw.offer()).encode(), Content_Type="application/sdp")
        return connection.read_response("POST")


def ask_rtsp(server, name):
    with rtsp.Client(server.rtmps_port) as client:
        return client.request("DESCRIBE", f"rtsp://127.0.0.1:{server.rtmps_port}/live/{name}").status


def ask_rtmp(server, name):
    try:
        with rtmp.player(server, "live", name):
            return 200
    except rtmp.RtmpError:
        return 403


PLAYERS = {
    "rtmp": ask_rtmp,
    "flv": lambda server, name: http.get_status(server.http_port, f"/live/{name}.flv"),
    "hls": lambda server, name: http.get(server.http_port, f"/live/{name}.m3u8").status,
    "rtsp": ask_rtsp,
    "whep": lambda server, name: ask_whep(server, name).status,
}


def ask_all(server, names=None):
    """What each kind of player is answered, and within how many seconds."""
    answers = {}
    for kind, ask in PLAYERS.items():
        began = time.monotonic()
        answers[kind] = ask(server, names[kind] if names else "s")
        took = time.monotonic() - began
        assert took < 4 * SLOW, f"{kind} should be answered soon: {took:.1f} s, {answers}"
    return answers


def ingests(camera):
    one = "ingest %s { enabled on; input { type rtsp; url %s; on_demand on; } stream live/%s; }"
    return " ".join(one % (kind, camera.url(), kind) for kind in PLAYERS)


@pytest.mark.parametrize("hls", ["", "hls_ctx off;"], ids=["hls_ctx", "no-hls_ctx"])
@pytest.mark.parametrize("source", ["rtmp", "flv", "camera"])
def test_nothing_is_fetched_for_clients_that_a_hook_refuses(servers, source, hls):
    refusing = "http_hooks { enabled on; on_play http://127.0.0.1:%d/play; } "
    with hooks.HookServer(play=hooks.answer('{"code": 1}')) as hook:
        with Destination() as origin, Web() as web, Camera(media.from_keyframe(media.plain())[:200]) as camera:
            vhosts = {
                "rtmp": f"cluster {{ mode remote; origin {origin.address}; }}",
                "flv": f"cluster {{ mode remote; origin 127.0.0.1:{web.port}; protocol flv; }}",
                "camera": ingests(camera),
            }
            server = player_server(servers, vhosts[source] + refusing % hook.port, hls)
            names = {kind: kind for kind in PLAYERS} if source == "camera" else None
            answers = ask_all(server, names)
            assert answers == dict.fromkeys(PLAYERS, 403), answers
            time.sleep(scaled(0.3))
            asked = (origin.connections, len(web.requests), len(camera.requests))
            assert asked == (0, 0, 0), f"nothing should be fetched: {asked}"
            assert len(hook.bodies("on_play")) == len(PLAYERS), hook.actions()


def test_a_token_that_the_origin_refuses(servers):
    """Each player is told at once, and nothing is pulled."""
    with Destination(reject="a wrong token") as origin:
        server = player_server(servers, f"cluster {{ mode remote; origin {origin.address}; token_traverse on; }}")
        assert ask_all(server) == dict.fromkeys(PLAYERS, 403)
        assert len(origin.connects) == len(PLAYERS), "each was asked about, and nothing was pulled"


def test_a_camera_on_demand_is_asked_by_every_player(servers):
    with Camera(media.from_keyframe(media.plain())) as camera:
        server = player_server(servers, ingests(camera))
        answers = {}
        for kind, ask in PLAYERS.items():
            answers[kind] = ask_live_flv(server, kind) if kind == "flv" else ask(server, kind)
        assert answers == {"rtmp": 200, "flv": 200, "hls": 200, "rtsp": 200, "whep": 201}, answers


def ask_live_flv(server, name):
    with http.Live(server.http_port, f"/live/{name}.flv") as player:
        return player.response.status


def test_the_first_whep_player_of_a_camera_gets_its_codec(servers):
    """The camera is another server of ours, whose stream has HEVC."""
    first = servers(top=TOP, vhosts=default_vhost(vhost=PLAYED % ""))
    with publishing.Steady(rtmp.publisher(first, "live", "s"), media.from_keyframe(media.hevc())):
        api.wait_stream(first, "s", lambda stream: stream["frames"] > 20)
        url = f"rtsp://127.0.0.1:{first.rtmps_port}/live/s"
        vhost = f"ingest cam {{ enabled on; input {{ type rtsp; url {url}; on_demand on; }} stream live/cam; }}"
        second = player_server(servers, vhost)
        for which in ("first", "second"):
            answer = ask_whep(second, "cam", HEVC_OFFER)
            body = answer.body.decode()
            assert answer.status == 201 and "H265/90000" in body, f"the {which} player: {answer.describe()}"


@pytest.mark.parametrize("source", ["rtmp", "flv", "camera"])
def test_players_go_on_when_the_server_is_back(servers, source):
    """The server that a stream comes from is killed and comes back. Its publisher's keyframes come twice a second: the
    players go on within 1.5 s, on their connections."""
    play = "mw_latency 50;"
    first = servers(top=TOP, vhosts=default_vhost(vhost=PLAYED % "", play=play))
    url = f"rtsp://127.0.0.1:{first.rtmps_port}/live/s"
    vhosts = {
        "rtmp": f"cluster {{ mode remote; origin 127.0.0.1:{first.rtmp_port}; }}",
        "flv": f"cluster {{ mode remote; origin 127.0.0.1:{first.http_port}; protocol flv; }}",
        "camera": f"ingest cam {{ enabled on; input {{ type rtsp; url {url}; on_demand on; }} stream live/s; }}",
    }
    second = servers(top=TOP, vhosts=default_vhost(vhost=vhosts[source] + PLAYED % "", play=play, rejoin=20_000))
    tags = media.from_keyframe(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(first, "live", "s"), tags):
        players = [rtmp.player(second, "live", "s"), http.Live(second.http_port, "/live/s.flv", wait=False)]
        collected = [publishing.Collector(player) for player in players]
        wait_until(lambda: all(len(one.tags) > 60 for one in collected), 10, lambda: "frames should come")
        first.signal(signal.SIGKILL)
        first.process.wait()
        first.process = None
    time.sleep(scaled(3))
    counts = [len(one.tags) for one in collected]
    first.start()
    with rtmp.publisher(first, "live", "s") as client:
        began = time.monotonic()
        with publishing.Steady(client, tags):
            goes_on = lambda: all(len(one.tags) > count for one, count in zip(collected, counts))  # noqa: E731
            wait_until(goes_on, 10, lambda: "the players should go on")
            took = time.monotonic() - began
    assert took < 1.5 * SLOW, f"the players should go on within 1.5 s: {took:.2f} s"


def redirecting(source, stack, first):
    """A vhost's words for a server that sends whoever asks it for live/s to the first one."""
    if source == "camera":
        there = stack.enter_context(Camera([], redirect=f"rtsp://127.0.0.1:{first.rtmps_port}/live/s"))
        return f"ingest cam {{ enabled on; input {{ type rtsp; url {there.url()}; on_demand on; }} stream live/s; }}"
    if source == "flv":
        url = f"http://127.0.0.1:{first.http_port}/live/s.flv"
        there = stack.enter_context(Web(lambda request: (302, b"", {"Location": url})))
        return f"cluster {{ mode remote; origin 127.0.0.1:{there.port}; protocol flv; }}"
    there = stack.enter_context(Destination(redirect={"redirect2": f"rtmp://127.0.0.1:{first.rtmp_port}/live/s"}))
    return f"cluster {{ mode remote; origin {there.address}; }}"


@pytest.mark.parametrize("kind", PLAYERS)
@pytest.mark.parametrize("source", ["rtmp", "flv", "camera"])
def test_a_redirect_reaches_every_player(servers, source, kind):
    """Of each kind the first player of a stream, for which it is asked for."""
    first = servers(top=TOP, vhosts=default_vhost(vhost=PLAYED % ""))
    with contextlib.ExitStack() as stack:
        second = player_server(servers, redirecting(source, stack, first))
        stack.enter_context(publishing.Steady(rtmp.publisher(first, "live", "s"), media.from_keyframe(media.frequent_keyframes())))
        api.wait_stream(first, "s", lambda stream: stream["frames"] > 20)
        status = ask_live_flv(second, "s") if kind == "flv" else PLAYERS[kind](second, "s")
        assert status == (201 if kind == "whep" else 200), f"{kind} of a stream that is redirected to: {status}"
        api.wait_stream(second, "s", lambda stream: stream["frames"] > 0)


@pytest.mark.parametrize("hls", ["", "hls_ctx off;"], ids=["hls_ctx", "no-hls_ctx"])
def test_viewers_of_hls_keep_an_idle_publisher(servers, hls):
    """kickoff_for_idle counts them: nobody else watches here."""
    vhosts = default_vhost(vhost=PLAYED % hls, publish="kickoff_for_idle 3;")
    server = servers(top=TOP, vhosts=vhosts)
    tags = media.from_keyframe(media.plain())
    watched, alone = (rtmp.publisher(server, "live", name) for name in ("s", "alone"))
    with publishing.Steady(watched, tags, speed=4), publishing.Steady(alone, tags):
        wait_until(lambda: http.get_status(server.http_port, "/live/s.m3u8") == 200, 3, lambda: "a playlist")
        server.wait_log("no viewer for 3 s .kickoff_for_idle.", 8)
        time.sleep(scaled(0.7))
        streams = {stream["name"]: stream["publish"]["active"] for stream in api.ask(server, "/api/v1/streams")["streams"]}
        assert streams.get("s") and not streams.get("alone"), f"the one that is watched should go on: {streams}"
