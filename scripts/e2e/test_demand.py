"""Streams that are fetched because a player asks for them, from an origin or a camera: by every protocol a player is
admitted first, then the stream is asked for, then it waits. What players get is one table: a row for what the origin
does, whatever the source and the player.

| the origin                | players that want an answer | players that wait  | recording    |
|---------------------------|-----------------------------|--------------------|--------------|
| is not asked (hook)       | 403                         | 403                | none         |
| refuses the token         | 403                         | 403                | none         |
| is absent                 | 404, after the wait         | wait               | none         |
| does not have the stream  | 404, when it says so        | wait               | none         |
| redirects                 | play                        | play               | one          |
| dies                      | stay                        | stay               | is complete  |
| returns                   | play on                     | play on            | the next one |

Players that wait: RTMP, whose play is answered before media come, and HTTP with wait_publisher. Cells without a meaning:
a camera knows no token of players."""

import contextlib
import itertools
import select
import threading
import time
from typing import NamedTuple

import pytest

from lib import api, dvr, edges, hooks, http, media, ports, publishing, rtc_plain, rtc_raw, rtmp, rtsp
from lib.camera import Camera
from lib.destination import Destination
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until
from lib.web import Web

TOP = """
http_api { enabled on; listen 127.0.0.1:API_PORT; }
rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; }
rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; candidate 127.0.0.1; encrypt off; }
"""
PLAYED = "rtsp { enabled on; } rtc { enabled on; rtmp_to_rtc on; } hls { enabled on; hls_path ./hls; hls_fragment 1; hls_window 20; }"
# Its players by HTTP wait for publishers, and those of HLS have no context.
OTHER = """
vhost other {
    %s
    hls { enabled on; hls_path ./hls-other; hls_fragment 1; hls_window 20; hls_ctx off; }
    http_remux { enabled on; mount [vhost]/[app]/[stream].flv; wait_publisher on; }
    play { rejoin_timeout 20000; mw_latency 50; }
}
"""
RECORDED = "dvr { enabled on; dvr_plan session; dvr_path ./rec/[app]/[stream].[timestamp].flv; } "
HEVC_OFFER = rtc_raw.offer().replace(" 102\r\n", " 102 103\r\n").replace("a=rtpmap:102", "a=rtpmap:103 H265/90000\r\na=rtpmap:102", 1)
PATIENCE = scaled(15)  # of a player for its answer, s


class Refused(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status


def readable(connection):
    return connection.buffer or select.select([connection.socket], [], [], 0.2)[0]


# --- Players: each function yields how much media has come so far, at least five times a second.


def play_rtmp(server, name):
    try:
        client = rtmp.player(server, "live", name, timeout=PATIENCE)
    except rtmp.RtmpError as error:
        raise Refused(403) from error
    count = 0
    with client:
        while True:
            if select.select([client.socket], [], [], 0.2)[0]:
                count += len(client.tags())
            yield count


def play_http(path):
    def play(server, name):
        count = 0
        with http.Live(server.http_port, path.format(name), timeout=PATIENCE, wait=False) as live:
            while not readable(live):
                yield count
            if live.wait_head().status != 200:
                raise Refused(live.response.status)
            while True:
                count += len(live.data()) if readable(live) else 0
                yield count

    return play


def play_hls(query):
    def ask(server, path):
        with http.Connection(server.http_port, timeout=PATIENCE) as connection:
            connection.request("GET", path)
            answer = connection.read_response("GET")
        if answer.status != 200:
            raise Refused(answer.status)
        return answer.body.decode()

    def play(server, name):
        text = ask(server, f"/live/{name}.m3u8{query}")
        path = next((line for line in text.splitlines() if "hls_ctx" in line), f"{name}.m3u8{query}")
        path = path if path.startswith("/") else f"/live/{path}"
        segments = set()
        while True:
            segments |= {line for line in ask(server, path).splitlines() if ".ts" in line}
            yield len(segments)
            time.sleep(0.2)

    return play


def play_whep(server, name):
    try:
        with http.Connection(server.api_port, timeout=PATIENCE) as connection:
            session = rtc_raw.Session(server, f"live/{name}", connection=connection)
    except rtc_raw.Refused as error:
        raise Refused(error.status) from error
    count = 0
    with session.verify():
        while True:
            session.send(session.request())  # a player that is silent is taken for gone
            count += len([datagram for datagram in session.drain(0.2) if rtc_plain.read(datagram)])
            yield count


def play_rtsp(server, name):
    url = f"rtsp://127.0.0.1:{server.rtmps_port}/live/{name}"
    with rtsp.Client(server.rtmps_port, timeout=PATIENCE) as client:
        status = client.request("DESCRIBE", url, Accept="application/sdp").status
        if status != 200:
            raise Refused(status)
        client.play(url)
        while True:
            yield len(client.read_frames(0.2))


ASKING = {
    "flv": play_http("/live/{}.flv"),
    "ts": play_http("/live/{}.ts"),
    "hls": play_hls(""),
    "hls-plain": play_hls("?vhost=other"),
    "whep": play_whep,
    "rtsp": play_rtsp,
}
WAITING = {"rtmp": play_rtmp, "flv-waits": play_http("/live/{}.flv?vhost=other")}
KINDS = {**ASKING, **WAITING}


class Player:
    """In a thread. state: "waits", "plays", the status of its refusal, or what went wrong."""

    def __init__(self, server, kind, name):
        self.count, self.end, self.took = 0, None, None
        self.stopping = threading.Event()
        self.began = time.monotonic()
        self.thread = threading.Thread(target=self._run, args=(KINDS[kind], server, name), daemon=True)
        self.thread.start()

    def _run(self, play, server, name):
        try:
            for self.count in play(server, name):
                if self.stopping.is_set():
                    return
        except Refused as error:
            self.end = error.status
        except (OSError, AssertionError, rtmp.RtmpError, rtsp.RtspError) as error:
            self.end = repr(error)
        self.took = time.monotonic() - self.began

    @property
    def state(self):
        return self.end or ("plays" if self.count else "waits")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join(PATIENCE)


def begin_all(stack, server, name=None):
    """A player of each kind: each the first of a stream of its own, unless a name is given."""
    return {kind: stack.enter_context(Player(server, kind, name or kind)) for kind in KINDS}


def states(players):
    return {kind: player.state for kind, player in players.items()}


# --- Servers


def fetching(source, address):
    """A vhost's words for fetching from that address."""
    if source == "camera":
        one = "ingest %s { enabled on; input { type rtsp; url rtsp://" + address + "/live/s; on_demand on; } stream live/%s; } "
        return "".join(one % (name, name) for name in ("s", *KINDS))
    more = "protocol flv;" if source == "flv" else ""
    return f"cluster {{ mode remote; origin {address}; vhost __defaultVhost__; {more} }} "


def make(servers, source, address, more=""):
    words = fetching(source, address) + more
    vhost = default_vhost(vhost=words + RECORDED + PLAYED, remux="wait_publisher off;", play="mw_latency 50;", rejoin=20_000)
    return servers(top=TOP, vhosts=vhost + OTHER % words)


def origin(servers):
    """Of ours, whose players do not wait."""
    return servers(top=TOP, vhosts=default_vhost(vhost=PLAYED, play="mw_latency 50;", remux="wait_publisher off;"))


def address_of(server, source):
    return edges.at(server, {"rtmp": "rtmp_port", "flv": "http_port", "camera": "rtmps_port"}[source])


def recordings(server):
    return [path.name for path in (server.dir / "rec").glob("**/*") if path.is_file()]


# --- The table


class Row(NamedTuple):
    asking: object  # the state of players that want an answer
    waiting: object  # the state of those that wait
    within: float  # s
    is_recorded: bool = False
    sources: tuple = ("rtmp", "flv", "camera")


ROWS = {
    "a-hook-refuses": Row(403, 403, within=4),
    "the-token-is-refused": Row(403, 403, within=4, sources=("rtmp", "flv")),
    "the-origin-is-absent": Row(404, "waits", within=13),
    "the-origin-has-no-such-stream": Row(404, "waits", within=8),
    "the-origin-redirects": Row("plays", "plays", within=12, is_recorded=True),
}
CELLS = [(row, source) for row, source in itertools.product(ROWS, ("rtmp", "flv", "camera")) if source in ROWS[row].sources]


@contextlib.contextmanager
def prepared(servers, row, source):
    """The server whose players are to be, with an origin that behaves as the row says."""
    with contextlib.ExitStack() as stack:
        if row == "a-hook-refuses":
            hook = stack.enter_context(hooks.HookServer(play=hooks.answer('{"code": 1}')))
            there, web = stack.enter_context(Destination()), stack.enter_context(Web())
            camera = stack.enter_context(Camera([]))
            address = {"rtmp": there.address, "flv": f"127.0.0.1:{web.port}", "camera": f"127.0.0.1:{camera.port}"}[source]
            yield make(servers, source, address, f"http_hooks {{ enabled on; on_play {hook.url('play')}; }} ")
            asked = (there.connections, len(web.requests), len(camera.requests))
            assert asked == (0, 0, 0), f"nothing should be fetched: {asked}"
            assert len(hook.bodies("on_play")) == len(KINDS), f"each player should be asked about once: {hook.actions()}"
        elif row == "the-token-is-refused":
            there = stack.enter_context(Destination(reject="a wrong token"))
            yield make(servers, source, f"{there.address}; token_traverse on")
            assert len(there.connects) == len(KINDS), "each should be asked about, and nothing pulled"
        elif row == "the-origin-is-absent":
            [port] = ports.take(1)
            stack.callback(ports.release, [port])
            yield make(servers, source, f"127.0.0.1:{port}")
        elif row == "the-origin-has-no-such-stream":
            yield make(servers, source, address_of(origin(servers), source))
        else:
            first = origin(servers)
            there = stack.enter_context(Destination(redirect={"redirect2": f"rtmp://127.0.0.1:{first.rtmp_port}/live/s"}))
            url = f"http://127.0.0.1:{first.http_port}/live/s.flv"
            web = stack.enter_context(Web(lambda request: (302, b"", {"Location": url})))
            camera = stack.enter_context(Camera([], redirect=f"rtsp://127.0.0.1:{first.rtmps_port}/live/s"))
            address = {"rtmp": there.address, "flv": f"127.0.0.1:{web.port}", "camera": f"127.0.0.1:{camera.port}"}[source]
            tags = media.from_keyframe(media.frequent_keyframes())
            stack.enter_context(publishing.Steady(rtmp.publisher(first, "live", "s"), tags))
            api.wait_stream(first, "s", lambda stream: stream["frames"] > 20)
            yield make(servers, source, address)


@pytest.mark.parametrize(("row", "source"), CELLS)
def test_what_players_get(servers, row, source):
    wanted = ROWS[row]
    expected = {**dict.fromkeys(ASKING, wanted.asking), **dict.fromkeys(WAITING, wanted.waiting)}
    with prepared(servers, row, source) as server, contextlib.ExitStack() as stack:
        players = begin_all(stack, server)
        wait_until(lambda: states(players) == expected, wanted.within, lambda: f"{expected}, not {states(players)}")
        took = {kind: player.took for kind, player in players.items() if player.took}
        assert all(seconds < wanted.within * SLOW for seconds in took.values()), f"the answers should come soon: {took}"
        assert bool(recordings(server)) == wanted.is_recorded, f"recordings: {recordings(server)}"


@pytest.mark.parametrize("source", ["rtmp", "flv", "camera"])
def test_players_of_hls_that_come_before_the_first_segment(servers, source):
    """The stream is fetched for another player already: they wait as those for whom it is fetched."""
    first = origin(servers)
    second = make(servers, source, address_of(first, source))
    tags = media.from_keyframe(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(first, "live", "s"), tags), contextlib.ExitStack() as stack:
        stack.enter_context(Player(second, "rtmp", "s"))
        api.wait_stream(second, "s", lambda stream: stream["publish"]["active"])
        players = {kind: stack.enter_context(Player(second, kind, "s")) for kind in ("hls", "hls-plain")}
        wait_until(lambda: set(states(players).values()) == {"plays"}, 8, lambda: f"both should play: {states(players)}")


@pytest.mark.parametrize("source", ["rtmp", "flv", "camera"])
def test_players_stay_when_the_origin_dies_and_play_on_when_it_returns(servers, source):
    """Its publisher's keyframes come twice a second: the players go on within 1.5 s, on their connections, and those of
    HLS when the next segment is complete."""
    first = origin(servers)
    second = make(servers, source, address_of(first, source))
    tags = media.from_keyframe(media.frequent_keyframes())
    with contextlib.ExitStack() as stack:
        with publishing.Steady(rtmp.publisher(first, "live", "s"), tags):
            players = begin_all(stack, second, "s")
            wait_until(lambda: all(player.count > 2 for player in players.values()), 15, lambda: f"all should play: {states(players)}")
            sessions = {client["id"] for client in api.clients(second) if not client["publish"]}
            edges.kill(first)
        dvr.wait_files(second, 1)
        time.sleep(scaled(2))
        assert set(states(players).values()) == {"plays"}, f"all should stay: {states(players)}"
        assert {client["id"] for client in api.clients(second)} == sessions, f"with their sessions: {api.clients(second)}"
        counts = {kind: player.count for kind, player in players.items()}
        first.start()
        with rtmp.publisher(first, "live", "s") as client:
            began = time.monotonic()
            with publishing.Steady(client, tags):
                took = {}

                def all_go_on():
                    for kind, player in players.items():
                        if player.count > counts[kind]:
                            took.setdefault(kind, time.monotonic() - began)
                    return len(took) == len(players)

                wait_until(all_go_on, 10, lambda: f"all should play on: {took} of {states(players)}", step=0.02)
                dvr.wait_growing(second)
    late = {kind: seconds for kind, seconds in took.items() if seconds > (4 if kind.startswith("hls") else 1.5) * SLOW}
    assert not late, f"the players should go on within 1.5 s: {late}"


# --- Beside the table


def ask_whep(server, name, offer=None):
    path = f"/rtc/v1/whep/?app=live&stream={name}"
    with http.Connection(server.api_port) as connection:
        connection.request("POST", path, (offer or rtc_raw.offer()).encode(), Content_Type="application/sdp")
        return connection.read_response("POST")


def test_the_first_whep_player_of_a_camera_gets_its_codec(servers):
    """The camera is another server of ours, whose stream has HEVC."""
    first = origin(servers)
    with publishing.Steady(rtmp.publisher(first, "live", "s"), media.from_keyframe(media.hevc())):
        api.wait_stream(first, "s", lambda stream: stream["frames"] > 20)
        second = make(servers, "camera", address_of(first, "camera"))
        for which in ("first", "second"):
            answer = ask_whep(second, "whep", HEVC_OFFER)
            body = answer.body.decode()
            assert answer.status == 201 and "H265/90000" in body, f"the {which} player: {answer.describe()}"


@pytest.mark.parametrize("hls", ["", "hls_ctx off;"], ids=["hls_ctx", "no-hls_ctx"])
def test_viewers_of_hls_keep_an_idle_publisher(servers, hls):
    """kickoff_for_idle counts them: nobody else watches here."""
    vhosts = default_vhost(vhost=PLAYED.replace("hls_window 20;", "hls_window 20; " + hls), publish="kickoff_for_idle 3;")
    server = servers(top=TOP, vhosts=vhosts)
    tags = media.from_keyframe(media.plain())
    watched, alone = (rtmp.publisher(server, "live", name) for name in ("s", "alone"))
    with publishing.Steady(watched, tags, speed=4), publishing.Steady(alone, tags):
        wait_until(lambda: http.get_status(server.http_port, "/live/s.m3u8") == 200, 3, lambda: "a playlist")
        api.ended(server, r"no viewer for 3 s \(kickoff_for_idle\)", 8, name="alone", reason="no-viewers")
        time.sleep(scaled(0.7))
        streams = {stream["name"]: stream["publish"]["active"] for stream in api.ask(server, "/api/v1/streams")["streams"]}
        assert streams.get("s") and not streams.get("alone"), f"the one that is watched should go on: {streams}"
