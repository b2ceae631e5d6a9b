"""Clusters: servers of ours that say by a Redis, or by their APIs, which of them has a stream. Players get it at every
server, a name is published at one of them, and neither needs the Redis for what goes on already."""

import asyncio
import json
import signal
import subprocess
import time

import pytest

from lib import api, http, media, publishing, rtc, rtc_aiortc, rtmp, rtsp
from lib.metrics import Metrics
from lib.redis import Line, Redis
from lib.server import default_vhost
from lib.timing import scaled, wait_until
from lib.edges import API, PLAY, at, clients, ended_with, frames_of, kill, steady, wait_clients, wait_link

LEASE = 2  # s
TIMEOUT = 400  # ms
EXPORTER = "exporter { enabled on; listen 127.0.0.1:RTMPS_PORT; }\n"


@pytest.fixture
def redis(tmp_path):
    with Redis(tmp_path) as there:
        yield there


def block(redis, more=""):
    return f"redis {{ enabled on; server {redis.address}; lease {LEASE}; timeout {TIMEOUT}; {more} }}\n"


def node(servers, redis, cluster="registry on;", vhost="", more="", top=API, rejoin=20000, **rest):
    """A server that registers its streams, and pulls those of others."""
    return servers(top=top + block(redis, more), vhosts=default_vhost(vhost=f"cluster {{ {cluster} }} {vhost}", play=PLAY, rejoin=rejoin, **rest))


def mesh(servers, coworkers, more="", vhost="", **rest):
    """An origin of the older mesh."""
    names = " ".join(one if isinstance(one, str) else at(one, "api_port") for one in coworkers)
    text = f"cluster {{ origin_cluster on; coworkers {names}; {more} }} {vhost}"
    return servers(top=API, vhosts=default_vhost(vhost=text, play=PLAY, **rest))


def wait_leases(redis, *names, seconds=10):
    wanted = sorted(f"srs:stream:__defaultVhost__/{name}" for name in names)
    wait_until(lambda: redis.keys() == wanted, seconds, lambda: f"the keys {wanted} are in Redis, there are {redis.keys()}")


def state(server):
    return api.ask(server, "/api/v1/cluster")


def wait_redis(server, wanted, seconds=10):
    wait_until(lambda: state(server)["redis"]["state"] == wanted, seconds, lambda: f"Redis is {wanted}: {state(server)['redis']}")


def refused(server, name):
    """The words with which a publisher is refused."""
    try:
        with rtmp.publisher(server, "live", name):
            raise AssertionError(f"the publisher of {name} should be refused")
    except (rtmp.Refused, ConnectionError) as error:
        return str(error)


def location_of(port, path):
    response = http.get(port, path)
    assert response.status == 302, f"{path} should be redirected: {response.describe()}"
    return response.headers["location"]


def wait_published(server, name, seconds):
    """A publisher that tries until it is taken, as encoders do."""
    last = []

    def attempt():
        try:
            last.append(rtmp.publisher(server, "live", name))
        except (rtmp.Refused, ConnectionError) as error:
            last.append(error)
        return isinstance(last[-1], rtmp.Client)

    wait_until(attempt, seconds, lambda: f"{name} can be published: {last[-1]}", step=0.2)
    return last[-1]


def test_a_stream_is_played_at_every_server(servers, redis):
    """By RTMP, HTTP-FLV and HLS, at another origin and at an edge without origins; each pulls once."""
    hls = "hls { enabled on; hls_path ./hls; hls_fragment 1; hls_window 20; }"
    first, second = node(servers, redis), node(servers, redis, vhost=hls)
    edge = node(servers, redis, cluster="mode remote; registry on;", vhost=hls)
    with steady(first, "s"):
        wait_leases(redis, "live/s")
        (value,) = redis.ask("GET", "srs:stream:__defaultVhost__/live/s")
        record = json.loads(value)
        assert record["rtmp"] == f"rtmp://{at(first)}" and record["http"] == f"http://{at(first, 'http_port')}", record
        assert record["api"] == f"http://{at(first, 'api_port')}" and record["fence"].endswith(f"-{first.pid}"), record
        for server in (second, edge):
            players = [rtmp.player(server, "live", "s"), rtmp.player(server, "live", "s")]
            players += [http.Live(server.http_port, "/live/s.flv")]
            for player in players:
                assert frames_of(player, 20), "each player should get frames"
            wait_until(lambda: http.get_status(server.http_port, "/live/s.m3u8") == 200, 10, "a playlist comes", step=0.2)
            for player in players:
                player.close()
        assert len(clients(first, "rtmp-play")) == 2, f"each server should pull once: {api.clients(first)}"
        assert state(second)["leases"] == [], "what is pulled is not registered"
    wait_leases(redis)


def test_players_come_before_the_publisher(servers, redis):
    """At another origin, and at an edge."""
    first, second = node(servers, redis), node(servers, redis)
    edge = node(servers, redis, cluster="mode remote; registry on;")
    with rtmp.player(second, "live", "s") as one, rtmp.player(edge, "live", "s") as two:
        time.sleep(1.5)
        with steady(first, "s"):
            assert frames_of(one, 20) and frames_of(two, 20), "both should get frames"


def test_what_is_nowhere_gets_404(servers, redis):
    """By HTTP, without waiting for long, and a stream of this server is not looked for elsewhere."""
    hls = "hls { enabled on; hls_path ./hls; hls_fragment 1; }"
    first = node(servers, redis, vhost=hls, remux="wait_publisher off;")
    for path in ("/live/none.m3u8", "/live/none.flv"):
        began = time.monotonic()
        status = http.get_status(first.http_port, path)
        assert status == 404 and time.monotonic() - began < scaled(3), f"{path}: {status} after {time.monotonic() - began} s"
    with steady(first, "s"), rtmp.player(first, "live", "s") as player:
        assert frames_of(player, 10)
        assert not clients(first, "edge-pull"), api.clients(first)


def test_one_name_at_two_origins(servers, redis):
    """The second is refused, and told where the stream is. When the first has ended it is taken."""
    first, second = node(servers, redis), node(servers, redis)
    with steady(first, "s"):
        wait_leases(redis, "live/s")
        text = refused(second, "s")
        assert f"is published at rtmp://{at(first)} already" in text, text
        time.sleep(LEASE * 1.5)
        assert "already" in refused(second, "s"), "the lease should be renewed"
    with wait_published(second, "s", 5):
        wait_leases(redis, "live/s")
        assert at(second) in refused(first, "s")


RTSP = "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }\n"


def test_players_and_publishers_by_rtsp(servers, redis):
    """DESCRIBE at another origin has the tracks; a publisher there is refused, and one of another name is registered."""
    first = node(servers, redis)
    second = node(servers, redis, top=API + RTSP + EXPORTER, vhost="rtsp { enabled on; }")
    tags = media.from_keyframe(media.plain())
    with steady(first, "s"):
        wait_leases(redis, "live/s")
        with rtsp.client(second) as client:
            response = client.request("DESCRIBE", rtsp.url(second, "live/s"))
            assert response.status == 200 and "H264" in str(response.body), f"a description with tracks should come: {response}"
        with rtsp.Publisher(second.rtc_port) as client:
            response = client.announce(rtsp.url(second, "live/t"), tags)
            assert response.status == 200, response
        with rtsp.Publisher(second.rtc_port) as client:
            client.record(rtsp.url(second, "live/t"), tags)
            publishing.send_all(client, tags[:100], speed=4)
            wait_leases(redis, "live/s", "live/t")
            assert at(second) in refused(first, "t")
        wait_until(lambda: not clients(second, "rtsp-publish"), 10, lambda: f"the publisher has left: {api.clients(second)}")
        with rtsp.Publisher(second.rtc_port) as client:
            response = client.announce(rtsp.url(second, "live/s"), tags)
            status, said = response.status, str(response)
            if status == 200:
                status = client.request("SETUP", rtsp.url(second, "live/s") + "/streamid=0", Transport=rtsp.TCP.format(0, 1) + ";mode=record").status
            assert status >= 400, f"a publisher of a name that another origin has should be refused: {status} {said}"
        assert Metrics(second).value("srs_cluster_publishers_total", outcome="refused") == 1, "it is refused because the other has it"


def test_whip_and_whep(servers, redis, tmp_path):
    """Published by WHIP at one origin, played by WHEP and HTTP-FLV at the other."""
    text = "cluster { registry on; }"
    first = rtc.start(servers, tmp_path, vhost=text, top=block(redis), play=PLAY)
    second = rtc.start(servers, tmp_path, vhost=text, top=block(redis), play=PLAY)

    def frames():
        with http.Live(second.http_port, "/live/s.flv", wait=False) as player:
            return frames_of(player, 30, 20)

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(first, "live/s"), "video/H264") as publisher:
            await publisher.connected()
            await asyncio.to_thread(wait_leases, redis, "live/s")
            assert await asyncio.to_thread(frames), "frames should come by HTTP-FLV"
            async with rtc_aiortc.Player(rtc.whep_url(second, "live/s")) as player:
                await player.has(video_frames=20)

    asyncio.run(scene())
    wait_leases(redis)


def test_kill_of_the_origin(servers, redis):
    """Its publisher comes to the other origin, which takes the name over at once, and players at an edge keep their connections."""
    first, second = node(servers, redis), node(servers, redis, top=API + EXPORTER)
    edge = node(servers, redis, cluster="mode remote; registry on;")
    with rtmp.player(edge, "live", "s") as player:
        with steady(first, "s"):
            assert frames_of(player, 30)
            kill(first)
        began = time.monotonic()
        with steady(second, "s"):
            assert frames_of(player, 30, 15), "the player at the edge should get the stream of the other origin"
            took = time.monotonic() - began
            assert took < scaled(2), f"without waiting for the end of the lease, it took {took:.1f} s"
    assert Metrics(second).value("srs_cluster_publishers_total", outcome="inherited") == 1, "the name is taken over"


def test_an_origin_hangs(servers, redis):
    """It may still be there, for all that others know: its name is free when its lease has ended."""
    first, second = node(servers, redis), node(servers, redis)
    with rtmp.publisher(first, "live", "s"):
        wait_leases(redis, "live/s")
        first.signal(signal.SIGSTOP)
        try:
            assert f"is published at rtmp://{at(first)} already" in refused(second, "s")
            with wait_published(second, "s", LEASE + 5):
                assert f'"rtmp":"rtmp://{at(second)}"' in redis.ask("GET", "srs:stream:__defaultVhost__/live/s")[0]
        finally:
            first.signal(signal.SIGCONT)


def test_two_origins_have_the_stream(servers, redis):
    """exclusive off: neither publisher is refused or ended. The registered origin is killed: the player goes on at once, with the
    other one, which is registered when the lease has ended."""
    both = "registry on; exclusive off;"
    first, second = node(servers, redis, cluster=both), node(servers, redis, cluster=both)
    edge = node(servers, redis, cluster=f"mode remote; registry on; origin {at(first)} {at(second)};")
    with steady(second, "s") as other:
        with steady(first, "s") as publisher, rtmp.player(edge, "live", "s") as player:
            wait_until(lambda: [one["state"] for one in state(first)["leases"]] == ["waiting"], 5, lambda: f"one waits: {state(first)}")
            assert frames_of(player, 30)
            wait_link(edge, "edge-pull", f"rtmp://{at(second)}/live/s", 5)
            time.sleep(LEASE)
            assert publisher.error is None and other.error is None, f"{publisher.error} {other.error}"
            kill(second)
            began = time.monotonic()
            wait_link(edge, "edge-pull", f"rtmp://{at(first)}/live/s", 5)
            assert frames_of(player, 30), "the player should go on"
            took = time.monotonic() - began
            assert took < scaled(2.5), f"at once, it took {took:.1f} s"
            wait_until(lambda: [one["state"] for one in state(first)["leases"]] == ["held"], LEASE + 3, lambda: f"it is registered: {state(first)}")


def test_a_stopped_server_leaves_no_lease(servers, redis):
    first = node(servers, redis)
    with steady(first, "s"):
        wait_leases(redis, "live/s")
        first.stop()
        assert redis.keys() == [], "the lease should be released when the server stops"


def test_redis_is_killed_and_restarted(servers, redis):
    """Streams and their players go on, publishers are taken, known streams are found; then all are registered again."""
    first, second = node(servers, redis), node(servers, redis)
    with steady(first, "s") as publisher, rtmp.player(second, "live", "s") as player:
        assert frames_of(player, 20)
        redis.stop()
        wait_redis(first, "away")
        wait_redis(second, "away")
        time.sleep(LEASE + 1)
        assert frames_of(player, 40), "the player should go on without Redis"
        with rtmp.player(second, "live", "s") as another:
            assert frames_of(another, 20)
        with steady(first, "t") as other:
            began = time.monotonic()
            with rtmp.player(second, "live", "unknown"):
                assert time.monotonic() - began < scaled(1), "a player should not wait for a Redis that is away"
            redis.start()
            wait_leases(redis, "live/s", "live/t")
            assert publisher.error is None and other.error is None, f"publishers should go on: {publisher.error} {other.error}"
            with rtmp.player(second, "live", "t") as late:
                assert frames_of(late, 20)
    assert len([line for line in first.log().splitlines() if "redis:" in line and "away" in line]) <= 2, "a line per change, not per attempt"


def test_a_pull_goes_on_from_the_last_known_origin(servers, redis):
    """The pull breaks while Redis is away: the stream is where it was."""
    first, second = node(servers, redis), node(servers, redis)
    with steady(first, "s"), rtmp.player(second, "live", "s") as player:
        assert frames_of(player, 20)
        redis.stop()
        wait_redis(second, "away")
        (pull,) = clients(second, "edge-pull")
        api.ask(second, f"/api/v1/clients/{pull['id']}", "DELETE")
        assert frames_of(player, 60), "it should be pulled again"


def test_redis_hangs(servers, redis):
    """Nobody waits longer than the timeout, and after the first ones nobody waits at all."""
    first, second = node(servers, redis), node(servers, redis)
    with steady(first, "s") as publisher:
        wait_leases(redis, "live/s")
        redis.freeze()
        try:
            longest = 0
            for i in range(4):
                began = time.monotonic()
                with rtmp.publisher(second, "live", f"p{i}"), rtmp.player(second, "live", f"n{i}"):
                    longest = max(longest, time.monotonic() - began)
            assert longest < scaled(TIMEOUT / 1000 + 0.7), f"a publisher and a player waited {longest:.2f} s"
            wait_redis(second, "away")
            began = time.monotonic()
            with rtmp.publisher(second, "live", "q"):
                assert time.monotonic() - began < scaled(0.3), "Redis is known to be away"
            assert f"no answer for {TIMEOUT} ms" in state(second)["redis"]["problem"] or "time" in state(second)["redis"]["problem"], state(second)["redis"]
            assert publisher.error is None, publisher.error
        finally:
            redis.thaw()
        wait_redis(second, "up")
        wait_leases(redis, "live/s")


def test_two_publications_meet(servers, redis):
    """Published at two origins while Redis was away: the earlier one stays, the other publisher is told why, and the
    players there get the stream of the first."""
    first, second = node(servers, redis), node(servers, redis)
    redis.stop()
    wait_redis(first, "away")
    wait_redis(second, "away")
    with steady(first, "s") as publisher:
        time.sleep(0.1)
        with rtmp.publisher(second, "live", "s") as client, rtmp.player(second, "live", "s") as player:
            publishing.send_all(client, media.from_keyframe(media.plain())[:50], speed=4)
            redis.start()
            text = ended_with(client)
            assert f"the stream is published at rtmp://{at(first)}, too, where it began earlier" in text, text
            wait_link(second, "edge-pull", f"rtmp://{at(first)}/live/s")
            assert frames_of(player, 60), "the player should get the stream that stayed"
        assert publisher.error is None, f"the earlier publisher should go on: {publisher.error}"
    wait_leases(redis)


def test_an_origin_is_cut_off_from_redis(servers, redis):
    """Its lease ends, another origin gets the name; when it is back, the publication that began first is kept."""
    with Line(redis.port) as line:
        first, second = node(servers, line), node(servers, redis)
        edge = node(servers, redis, cluster="mode remote; registry on;")
        with steady(first, "s") as publisher, rtmp.player(first, "live", "s") as player:
            wait_leases(redis, "live/s")
            line.cut()
            client = wait_published(second, "s", LEASE + 5)
            with rtmp.player(edge, "live", "s") as far:
                publishing.send_all(client, media.from_keyframe(media.plain())[:150], speed=4)
                assert frames_of(far, 20), "the edge should get the stream of the origin that Redis names"
                assert frames_of(player, 30), "the player of the origin that is cut off should go on"
                line.join()
                text = ended_with(client)
                assert f"the stream is published at rtmp://{at(first)}, too, where it began earlier" in text, text
                wait_link(second, "edge-pull", f"rtmp://{at(first)}/live/s")
                assert frames_of(far, 60, 15), "the player of the edge should get the stream that stayed, by way of the second origin"
            assert publisher.error is None, publisher.error
            assert api.ask(first, "/api/v1/cluster")["leases"][0]["state"] == "held"
            client.close()


def test_a_restarted_server_takes_its_names_back(servers, redis):
    """After kill -9, at once: the lease is of a process that had its address."""
    first = node(servers, redis)
    with rtmp.publisher(first, "live", "s"):
        wait_leases(redis, "live/s")
        kill(first)
    first.start()
    with rtmp.publisher(first, "live", "s"):
        wait_until(lambda: f"-{first.pid}" in redis.ask("GET", "srs:stream:__defaultVhost__/live/s")[0], 5, "the lease is of the new process")


def test_wrong_password(servers, tmp_path):
    """One clear line; publishers and players are served. With the right password, by a reload, all is registered."""
    with Redis(tmp_path, password="s3cret") as redis:
        first = node(servers, redis, more="password wrong;")
        other = node(servers, redis)
        with steady(first, "s"):
            wait_redis(first, "away")
            time.sleep(2)
            lines = [line for line in first.log().splitlines() if "redis:" in line]
            assert len(lines) == 1 and "it refuses this server: WRONGPASS" in lines[0], f"one line should say why: {lines}"
            wait_until(lambda: "NOAUTH" in state(other)["redis"]["problem"], 5, lambda: f"NOAUTH is the problem: {state(other)['redis']}")
            assert redis.keys() == []
            first.conf_path.write_text(first.conf_path.read_text().replace("password wrong", "password s3cret"))
            first.signal(signal.SIGHUP)
            wait_leases(redis, "live/s")
            assert "s3cret" not in first.log(), "the password should not be in the log"


def test_reload(servers, redis):
    """registry off releases, on registers; another prefix and other addresses are said at once."""
    first = node(servers, redis)

    def change(before, after):
        text = first.conf_path.read_text()
        assert before in text, f"{before} should be in {text}"
        first.conf_path.write_text(text.replace(before, after))
        first.signal(signal.SIGHUP)

    with steady(first, "s") as publisher:
        wait_leases(redis, "live/s")
        change("registry on;", "registry off;")
        wait_leases(redis)
        change("registry off;", "registry on;")
        wait_leases(redis, "live/s")
        change("lease 2;", "lease 2; key_prefix other; advertise rtmp://media.example:1936;")
        wait_until(lambda: redis.keys() == ["other:stream:__defaultVhost__/live/s"], 10, lambda: f"the key has the new prefix: {redis.keys()}")
        (value,) = redis.ask("GET", "other:stream:__defaultVhost__/live/s")
        assert json.loads(value)["rtmp"] == "rtmp://media.example:1936", value
        assert publisher.error is None, publisher.error


def test_names_are_no_commands(servers, redis):
    """What looks like a part of a command, or of a key, is a part of the key's last part, and the stream is found."""
    first, second = node(servers, redis), node(servers, redis)
    for name in ("*1$4'FLUSHALL", "a|b%2Fc", "ключ", "x" * 250):
        with steady(first, name), rtmp.player(second, "live", name) as player:
            assert frames_of(player, 10), f"{name!r} should be played at the other server"
            (key,) = redis.keys()
            assert key.startswith("srs:stream:__defaultVhost__/live/") and key.count("/") == 2, key
        wait_leases(redis)


def test_http_players_are_redirected(servers, redis):
    """redirect on: to the server that has the stream, with path and parameters; not where the stream is."""
    hls = "hls { enabled on; hls_path ./hls; hls_fragment 1; hls_window 20; }"
    first = node(servers, redis, cluster="registry on; redirect on;", vhost=hls)
    second = node(servers, redis, cluster="registry on; redirect on;", vhost=hls)
    with steady(first, "s"):
        wait_leases(redis, "live/s")
        there = f"http://{at(first, 'http_port')}"
        for path in ("/live/s.flv?token=a%20b", "/live/s.m3u8?token=t", "/live/s.flv"):
            location = location_of(second.http_port, path)
            assert location == there + path, f"{path} should be at {there}: {location}"
        # A client that follows: it ends by its time limit, because the stream does not.
        command = ["curl", "--silent", "--location", "--max-time", str(scaled(2)), f"http://{at(second, 'http_port')}/live/s.flv"]
        body = subprocess.run(command, capture_output=True, timeout=scaled(20)).stdout
        assert body.startswith(b"FLV") and len(body) > 10_000, f"curl should get the stream: {len(body)} bytes, {body[:100]!r}"
        with http.Live(first.http_port, "/live/s.flv") as player:
            assert frames_of(player, 20), "the first server has it"
        assert not clients(second, "edge-pull"), "nothing should be pulled for them"
        with rtmp.player(second, "live", "s") as player:
            assert frames_of(player, 20), "players by RTMP get it here"
        with http.Live(second.http_port, "/live/s.flv") as player:
            assert frames_of(player, 20), "what is here already is played here"


# ---- The older mesh


def redirected(server, name):
    """Where a player by RTMP is sent."""
    with rtmp.Client("127.0.0.1", server.rtmp_port).handshake() as client:
        client.connect("live")
        client.play(name, wait=False)
        return client.wait_for(lambda message: message.type == rtmp.COMMAND and message.command()[0] == "onStatus", "onStatus").command()[3]


def test_coworkers_redirect_rtmp(servers):
    """As SRS did: a player by RTMP gets 302 with the URL and the tcUrl; players of other protocols get the stream."""
    first = mesh(servers, ["127.0.0.1:1"])
    second = mesh(servers, [first])
    third = servers(top=API, vhosts=default_vhost(vhost=f"cluster {{ mode remote; origin {at(second)}; }}", play=PLAY))
    with steady(first, "s"):
        told = redirected(second, "s?token=t")
        assert (told["level"], told["code"]) == ("error", "NetConnection.Connect.Rejected"), told
        expected = {"code": 302, "redirect": f"rtmp://{at(first)}/live", "redirect2": f"rtmp://{at(first)}/live/s?token=t"}
        assert told["ex"] == expected, f"{expected} should be told: {told}"
        with rtmp.player(third, "live", "s") as player:
            assert frames_of(player, 20), "an edge should follow the redirect"
            wait_link(third, "edge-pull", f"rtmp://{at(first)}/live/s")
            (pull,) = api.ask(third, "/api/v1/edges")["pulls"]
            assert pull["origin"] == at(second), pull
        with http.Live(second.http_port, "/live/s.flv") as player:
            assert frames_of(player, 20), "a player by HTTP-FLV should get it at the second origin"
        with rtmp.player(first, "live", "s") as player:
            assert frames_of(player, 20), "no redirect where the stream is"
        answer = api.ask(second, "/api/v1/clusters?vhost=__defaultVhost__&app=live&stream=s")
        assert answer["data"]["origin"] is None, f"what is pulled is not published there: {answer}"


def test_a_coworker_that_is_not_there(servers):
    """The others are asked all the same; without any answer a player waits, as for every publisher."""
    first = mesh(servers, ["127.0.0.1:1"])
    second = mesh(servers, ["127.0.0.1:1", first])
    with steady(first, "s"):
        assert redirected(second, "s")["ex"]["redirect2"] == f"rtmp://{at(first)}/live/s"
    third = mesh(servers, ["127.0.0.1:1"])
    with rtmp.player(third, "live", "s") as player:
        (coworker,) = state(third)["coworkers"]
        assert not coworker["up"] and "refused" in coworker["problem"], coworker
        with steady(third, "s"):
            assert frames_of(player, 20)
    assert third.log().count("cluster: coworker 127.0.0.1:1: ") == 1, "a line per change, not per attempt"


# ---- API and metrics


def test_cluster_in_api_and_metrics(servers, redis):
    first = node(servers, redis, top=API + EXPORTER)
    with steady(first, "s"):
        wait_leases(redis, "live/s")
        answer = state(first)
        assert answer["redis"]["state"] == "up" and answer["redis"]["server"] == redis.address, answer
        assert answer["self"]["rtmp"] == f"rtmp://{at(first)}", answer
        (lease,) = answer["leases"]
        assert (lease["app"], lease["stream"], lease["state"]) == ("live", "s", "held"), lease
        assert api.ask(first, "/api/v1/cluster?start=1")["leases"] == []
        api.ask(first, "/api/v1/cluster?count=x")  # the default, as in other lists
        text = http.get(first.rtmps_port, "/metrics").body.decode()
        for line in ("srs_cluster_redis_up 1", 'srs_cluster_leases{state="held"} 1', 'srs_cluster_publishers_total{outcome="refused"} 0'):
            assert line in text.splitlines(), f"{line} should be in the metrics: {[x for x in text.splitlines() if 'srs_cluster' in x]}"
    wait_clients(first, "fmle-publish", 0)
    assert state(first)["leases_total"] == 0
