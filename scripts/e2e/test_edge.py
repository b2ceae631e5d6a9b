"""Edges: two or three servers of ours. What an origin has comes through an edge unchanged, by one pull whatever the number
of players; origins that fail are replaced while players keep their connections."""

import asyncio
import signal
import time

import pytest

from lib import api, flv, http, media, mediamtx, nginx, publishing, rtc, rtc_aiortc, rtmp, rtsp
from lib.destination import Destination
from lib.edges import API, PLAY, at, clients, cluster, edge, ended_with, frames_of, kill, origin, steady, tags_of, wait_clients, wait_link, wait_problem
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until
from lib.web import Web


def test_many_players_one_pull(servers):
    """Players by RTMP and HTTP-FLV of two streams: the origin has one player for each."""
    first = origin(servers)
    second = edge(servers, first)
    with steady(first, "a"), steady(first, "b"):
        players = []
        for name in ("a", "b"):
            players += [rtmp.player(second, "live", name) for _ in range(3)]
            players += [http.Live(second.http_port, f"/live/{name}.flv") for _ in range(3)]
        for player in players:
            assert frames_of(player, 20), "each player should get frames"
        assert len(clients(first, "rtmp-play")) == 2, f"two pulls should play at the origin: {api.clients(first)}"
        assert len(clients(second, "edge-pull")) == 2, f"two pulls should be clients of the edge: {api.clients(second)}"
        for player in players:
            player.close()
        api.ended(second, "no player for a while", 15, type="edge-pull", name="a")
        api.ended(second, "no player for a while", 15, type="edge-pull", name="b")
        wait_clients(first, "rtmp-play", 0)


CONTENTS = {
    "b-frames": lambda: media.from_keyframe(media.with_b_frames())[:400],
    "hevc": lambda: media.from_keyframe(media.hevc())[:300],
    "av1-opus": lambda: media.from_keyframe(media.encoded_by_9("libaom-av1", "libopus")),
    "tracks": lambda: media.from_keyframe(media.two_audio_tracks())[:600],
}


@pytest.mark.parametrize("name", CONTENTS)
def test_identity_through_a_chain(servers, name):
    """Publisher, origin, edge, edge of the edge, player: the same packets. The player is there first. FFmpeg leaves AV1's
    sequence header empty, and the origin completes it: there a player of the origin says what should come."""
    tags = CONTENTS[name]()
    first = origin(servers)
    second = edge(servers, first, rejoin=500)
    third = edge(servers, second, rejoin=500)
    player = publishing.Collector(rtmp.player(third, "live", "s", connect={"fourCcList": ["*"], "capsEx": 2}))
    third.wait_players("live/s", 1)
    wait_clients(first, "rtmp-play", 1)  # the pull of the second waits at the first
    wait_clients(second, "rtmp-play", 1)
    direct = publishing.Collector(rtmp.player(first, "live", "s", connect={"fourCcList": ["*"], "capsEx": 2}))
    first.wait_players("live/s", 2)
    with rtmp.publisher(first, "live", "s") as client:
        publishing.send_all(client, tags, speed=4)
    # Each server's players are ended when the publisher does not come back.
    received, at_the_origin = player.finish(30, f"{name} behind two edges"), direct.finish(30, "the origin's player")
    flv.assert_same(at_the_origin, received, f"{name} behind two edges, beside a player of the origin")
    if name != "av1-opus":
        flv.assert_same(tags, received, f"{name} behind two edges")


def test_first_frame_at_a_cold_edge(servers):
    """Within 500 ms of the player's request, by RTMP and by HTTP-FLV."""
    first = origin(servers)
    second = edge(servers, first)
    took = {}
    with steady(first, "a"), steady(first, "b"):
        api.wait_stream(first, "a", lambda stream: stream["frames"] > 60)
        for name, begin in {
            "a": lambda: rtmp.player(second, "live", "a"),
            "b": lambda: http.Live(second.http_port, "/live/b.flv"),
        }.items():
            began = time.monotonic()
            with begin() as player:
                assert frames_of(player, 1)
                took[name] = time.monotonic() - began
    assert max(took.values()) < 0.5 * SLOW, f"the first frame should come within 500 ms: {took}"


def test_failover_and_return(servers):
    """kill -9 of the origin: the players go on within 2 s on the same connections, from the other origin. An origin that
    is back is used again."""
    origins = [origin(servers), origin(servers)]
    second = edge(servers, *origins)
    with steady(origins[0], "s") as one, steady(origins[1], "s") as other:
        players = [rtmp.player(second, "live", "s"), http.Live(second.http_port, "/live/s.flv")]
        for player in players:
            assert frames_of(player, 30)
        (pull,) = clients(second, "edge-pull")
        used = next(i for i, one in enumerate(origins) if str(one.rtmp_port) in pull["tcUrl"])
        killed = time.monotonic()
        kill(origins[used])
        wait_link(second, "edge-pull", f"rtmp://{at(origins[1 - used])}/live/s", 5)
        took = time.monotonic() - killed
        assert took < 2 * SLOW, f"the other origin should send within 2 s of the first one's kill: {took:.1f} s"
        for player in players:
            tags = frames_of(player, 60)
            flv.assert_monotonic(tags, "after the failover")
        assert len(clients(second, "edge-pull")) == 1
        for player in players:
            player.close()


def test_an_origin_that_hangs_is_left(servers):
    """It is stopped by a signal, so its connections are there and say nothing."""
    origins = [origin(servers), origin(servers)]
    second = edge(servers, *origins)
    with steady(origins[0], "s"), steady(origins[1], "s"):
        with rtmp.player(second, "live", "s") as player:
            assert frames_of(player, 30)
            (pull,) = clients(second, "edge-pull")
            used = next(i for i, one in enumerate(origins) if str(one.rtmp_port) in pull["tcUrl"])
            origins[used].signal(signal.SIGSTOP)
            try:
                api.ended(second, "no usable audio or video for 5000 ms", 10, type="edge-pull")
                wait_link(second, "edge-pull", f"rtmp://{at(origins[1 - used])}/live/s", 5)
                assert frames_of(player, 60)
            finally:
                origins[used].signal(signal.SIGCONT)


def test_rings_are_refused(servers):
    """Two edges of each other, and an edge of itself: no request goes around."""
    first = origin(servers)
    second = edge(servers, first)
    api.reload(first, first.conf_path.read_text().replace("http_remux", cluster(at(second)) + " http_remux", 1))
    refusal = "play refused: this server has asked for the stream itself"
    with rtmp.player(first, "live", "s"):
        api.ended(first, refusal, 15, reason="refused")
    own = edge(servers, "127.0.0.1:1")
    api.reload(own, own.conf_path.read_text().replace("127.0.0.1:1;", at(own) + ";", 1))
    with rtmp.player(own, "live", "s"):
        api.ended(own, refusal, 10, reason="refused")


def test_reload_changes_the_origin(servers):
    """Another origin: players go on with its stream. An edge that becomes local ends its pulls."""
    origins = [origin(servers), origin(servers)]
    second = edge(servers, origins[0])
    with steady(origins[0], "s"), steady(origins[1], "s"):
        with rtmp.player(second, "live", "s") as player:
            assert frames_of(player, 30)
            text = second.conf_path.read_text()
            second.conf_path.write_text(text.replace(at(origins[0]), at(origins[1])))
            second.signal(signal.SIGHUP)
            wait_link(second, "edge-pull", f"rtmp://{at(origins[1])}/live/s", 5)
            assert frames_of(player, 60)
            second.conf_path.write_text(second.conf_path.read_text().replace("mode remote", "mode local"))
            second.signal(signal.SIGHUP)
            api.ended(second, "the vhost is no edge any more", 5, type="edge-pull")


def test_hls_whep_rtsp_and_dvr_at_the_edge(servers):
    """Of a stream that an origin got by RTMP: a player of HLS begins the pull, and gets the playlist of its request."""
    first = origin(servers)
    more = (
        "hls { enabled on; hls_path ./hls; hls_fragment 1; hls_window 20; } "
        "dvr { enabled on; dvr_path ./rec/[app]/[stream].flv; dvr_plan session; }"
    )
    second = edge(servers, first, vhost=more)
    with steady(first, "s"):
        response = http.get(second.http_port, "/live/s.m3u8")
        assert response.status == 200, f"the playlist should come: {response.describe()}"
        assert b".m3u8?hls_ctx" in response.body, f"a playlist with the viewer's own: {response.body}"
        path = next(line for line in response.body.decode().splitlines() if "hls_ctx" in line)
        inner = http.get(second.http_port, path if path.startswith("/") else "/live/" + path)
        assert inner.status == 200 and b".ts" in inner.body, f"segments should be there: {inner.describe()}"
        wait_clients(second, "hls-play", 1)
        wait_until(lambda: list((second.dir / "rec").rglob("s.flv*")), 5, "a recording at the edge")


def test_redirects(servers):
    """redirect2 is a whole URL, redirect a tcUrl; a third origin of a ring of redirects is the last."""
    first = origin(servers)
    url = f"rtmp://{at(first)}/live/s"
    with steady(first, "s"), Destination(redirect={"redirect2": url}) as one:
        with Destination(redirect={"redirect": f"rtmp://{one.address}/live"}) as two:
            second = edge(servers, two.address)
            with rtmp.player(second, "live", "s") as player:
                assert frames_of(player, 20)
                wait_link(second, "edge-pull", url)
            assert one.connects[0][0]["tcUrl"] == f"rtmp://{one.address}/live", one.connects
    with Destination() as ring:
        ring.redirect = {"redirect2": f"rtmp://{ring.address}/live/s"}
        third = edge(servers, ring.address)
        with rtmp.player(third, "live", "s"):
            wait_problem(third, f"{ring.address}: more than 3 redirects")


@pytest.mark.parametrize("debug", ["on", "off"])
def test_what_origins_are_told(servers, debug):
    """The vhost as transformed, the parameters of the first player, and who asks."""
    with Destination(reject="no") as there:
        second = edge(servers, there.address, more=f"vhost v.[vhost].com; debug_srs_upnode {debug};")
        with rtmp.player(second, "live", "s?token=t&user=u"):
            wait_until(lambda: there.connects, 10, "a connect at the origin")
        command, *arguments = there.connects[0]
        assert command["tcUrl"] == f"rtmp://v.__defaultVhost__.com:{there.port}/live", command
        assert ("srs_pid" in (arguments[0] if arguments else {})) == (debug == "on"), f"srs_* with debug {debug}: {arguments}"
        if debug == "on":
            assert arguments[0]["srs_pid"] == second.pid and arguments[0]["srs_id"] and arguments[0]["srs_server_ip"], arguments


def test_vhost_and_parameters_reach_the_origin(servers):
    hook = "vhost other.com { http_remux { enabled on; } signed_urls { enabled off; } play { mw_latency 50; } }"
    first = servers(top=API, vhosts=default_vhost(play=PLAY) + hook)
    second = edge(servers, first, more="vhost other.com;")
    with publishing.Steady(rtmp.publisher(first, "live", "s?vhost=other.com"), media.from_keyframe(media.plain())):
        with rtmp.player(second, "live", "s?token=t") as player:
            assert frames_of(player, 20)
            wait_clients(first, "rtmp-play", 1)
        (there,) = clients(first, "rtmp-play")
        assert there["name"] == "s" and there["vhost"] == next(v["id"] for v in api.ask(first, "/api/v1/vhosts")["vhosts"] if v["name"] == "other.com")


# ---- Publishing at the edge


def test_what_is_published_at_the_edge_is_passed_up(servers):
    """A player of the origin, and one of another edge, get the packets of a publisher at the edge."""
    first = origin(servers)
    second, third = edge(servers, first), edge(servers, first, rejoin=500)
    tags = tags_of()
    players = {"origin": first, "other edge": third}
    collectors = {who: publishing.Collector(rtmp.player(server, "live", "s")) for who, server in players.items()}
    for server in players.values():
        server.wait_players("live/s", 1)
    with rtmp.publisher(second, "live", "s") as client:
        publishing.send_all(client, tags, speed=4)
    for who, collector in collectors.items():
        flv.assert_same(tags, collector.finish(30, who), who)


def test_the_publisher_is_told_that_no_origin_takes_it(servers):
    with Destination(refuse="NetStream.Publish.BadName") as there:
        second = edge(servers, there.address)
        with rtmp.publisher(second, "live", "s") as client:
            text = ended_with(client)
        assert f"{there.address}: publish was refused: NetStream.Publish.BadName" in text, text
    second = edge(servers, "127.0.0.1:1", "127.0.0.1:2")
    with rtmp.publisher(second, "live", "s") as client:
        text = ended_with(client)
    assert "no origin takes the stream; 127.0.0.1:" in text and "refused" in text, text


def test_pushes_fail_over(servers):
    """The first origin is not there, the second is killed: the publisher goes on, and the third gets the stream."""
    origins = [origin(servers), origin(servers)]
    second = edge(servers, "127.0.0.1:1", *origins)
    with steady(second, "s") as publisher:
        wait_clients(second, "edge-push", 1)
        (push,) = clients(second, "edge-push")
        used = next(i for i, one in enumerate(origins) if str(one.rtmp_port) in push["tcUrl"])
        with rtmp.player(origins[1 - used], "live", "s") as player:
            kill(origins[used])
            assert frames_of(player, 60, 15), "the other origin should have the stream"
        assert publisher.error is None, f"the publisher should go on: {publisher.error}"


def test_a_publisher_of_the_edge_is_served_before_a_pull(servers):
    """It takes the name over, the origin refuses it because it has the stream, and the pull goes on for the player."""
    first = origin(servers)
    second = edge(servers, first)
    with steady(first, "s"), rtmp.player(second, "live", "s") as player:
        assert frames_of(player, 30)
        with rtmp.publisher(second, "live", "s") as client:
            text = ended_with(client)
        assert "is being published already" in text, text
        since = second.log_mark()
        tags = frames_of(player, 100)
        flv.assert_monotonic(tags, "a player with two publishers and a pull")
        wait_clients(second, "edge-pull", 1)


def test_reload_of_pushes(servers):
    """Another origin: the publisher goes on. A vhost that is no edge any more keeps its publishers."""
    origins = [origin(servers), origin(servers)]
    second = edge(servers, origins[0])

    def reload(old, new):
        text = second.conf_path.read_text()
        assert old in text
        second.conf_path.write_text(text.replace(old, new))
        second.signal(signal.SIGHUP)

    with steady(second, "s") as publisher:
        wait_link(second, "edge-push", f"rtmp://{at(origins[0])}/live/s")
        reload(at(origins[0]), at(origins[1]))
        wait_link(second, "edge-push", f"rtmp://{at(origins[1])}/live/s")
        with rtmp.player(origins[1], "live", "s") as player:
            assert frames_of(player, 30)
        reload("mode remote", "mode local")
        wait_clients(second, "edge-push", 0)
        reload("mode local", "mode remote")
        wait_clients(second, "edge-push", 1)
        assert publisher.error is None, f"the publisher should go on: {publisher.error}"


# ---- token_traverse


def test_an_origin_decides_about_clients(servers):
    with Destination() as there:
        second = edge(servers, there.address, more="token_traverse on;")
        tc_url = f"rtmp://127.0.0.1:{second.rtmp_port}/live?token=good"
        with rtmp.player(second, "live", "s", tc_url=tc_url, connect={"pageUrl": "http://page/"}):
            pass
        asked = there.connects[0][0]
        assert asked["tcUrl"] == tc_url and asked["pageUrl"] == "http://page/" and asked["app"] == "live?token=good", asked
        there.reject = "a wrong token"
        with pytest.raises(rtmp.RtmpError, match="a wrong token"):
            rtmp.player(second, "live", "s", tc_url=tc_url.replace("good", "bad"))
        before = len(there.connects)
        response = http.get(second.http_port, "/live/s.flv?token=bad")
        assert response.status == 403 and b"a wrong token" in response.body, response.describe()
        # The pull for the player before may ask at the same time, without a token.
        urls = [connect[0]["tcUrl"] for connect in there.connects[before:]]
        assert any(url.endswith("/live?token=bad") for url in urls), urls
        with pytest.raises(rtmp.RtmpError, match="a wrong token"):
            rtmp.publisher(second, "live", "s")
    with pytest.raises(rtmp.RtmpError, match="no origin can be asked"):
        rtmp.player(second, "live", "s", tc_url=tc_url)


# ---- Other protocols


def test_publishers_by_rtsp_are_passed_up(servers):
    """They are streams of the edge, which go up by RTMP."""
    first = origin(servers)
    second = edge(servers, first, vhost="rtsp { enabled on; }", top=API + "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }\n")
    tags = tags_of()
    collected = publishing.Collector(rtmp.player(first, "live", "s"))
    first.wait_players("live/s", 1)
    with rtsp.Publisher(second.rtc_port) as client:
        client.record(rtsp.url(second, "live/s"), tags, False)
        publishing.send_all(client, tags, speed=4)
        time.sleep(scaled(0.6))
        assert client.request("TEARDOWN", client.url).status == 200
    rtsp.assert_arrived(tags, collected.finish(20, "the origin's player"), "RTSP at the edge to RTMP at the origin")


def test_rtsp_at_a_cold_edge(servers):
    """DESCRIBE begins the pull, and has its tracks."""
    first = origin(servers)
    second = edge(servers, first, vhost="rtsp { enabled on; }", top=API + "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }\n")
    with steady(first, "s"):
        began = time.monotonic()
        with rtsp.client(second) as client:
            response = client.request("DESCRIBE", rtsp.url(second, "live/s"))
            took = time.monotonic() - began
        assert response.status == 200 and "H264" in str(response.body), f"a description with tracks should come: {response}"
        assert took < 1 * SLOW, f"the description should come soon: {took:.2f} s"


@pytest.mark.parametrize("follow", [False, True], ids=["flv", "follow-client"])
def test_http_flv_pulls(servers, follow):
    """The same packets by HTTP-FLV, with a redirect; what origins are told is the same."""
    first = origin(servers)
    if follow:
        second = edge(servers, at(first, "http_port"), more="follow_client on;", rejoin=500)
    else:
        second = edge(servers, f"http://{at(first, 'http_port')}", rejoin=500)
    tags = tags_of()
    player = publishing.Collector(http.Live(second.http_port, "/live/s.flv?token=t&vhost=", wait=False))
    first.wait_players("live/s", 1)
    with rtmp.publisher(first, "live", "s") as client:
        publishing.send_all(client, tags, speed=4)
        wait_link(second, "edge-pull", f"http://{at(first, 'http_port')}/live/s.flv")
    flv.assert_same(tags, player.finish(30, "HTTP-FLV by HTTP-FLV"), "HTTP-FLV by HTTP-FLV")


def test_http_redirects(servers):
    first = origin(servers)
    target = f"http://{at(first, 'http_port')}/live/s.flv"

    def answer(request):
        return 302, b"", {"Location": target if "/live/s.flv" in request.path else "/live/ring.flv"}

    with steady(first, "s"), Web(answer) as there:
        second = edge(servers, f"http://127.0.0.1:{there.port}")
        with rtmp.player(second, "live", "s") as player:
            assert frames_of(player, 20)
            wait_link(second, "edge-pull", target)
        with rtmp.player(second, "live", "ring"):
            wait_problem(second, "more than 3 redirects")


def test_names_select_no_other_vhost_at_the_origin(servers):
    """A client chooses a name that would be a parameter in the URL for the origin."""
    private = "vhost private.com { http_remux { enabled on; } play { mw_latency 50; } }"
    first = servers(top=API, vhosts=default_vhost(play=PLAY) + private)
    second = edge(servers, first, remux="wait_publisher_timeout 2000;")
    with publishing.Steady(rtmp.publisher(first, "live", "s?vhost=private.com"), media.from_keyframe(media.plain())):
        for path in ("/live/s%3Fvhost=private.com.flv", "/live...vhost...private.com/s.flv", "/live/s.flv?vhost=private.com"):
            status = http.get_status(second.http_port, path)
            assert status in (400, 403, 404), f"{path} should get no stream: {status}"
        (vhost,) = [one["id"] for one in api.ask(first, "/api/v1/vhosts")["vhosts"] if one["name"] == "private.com"]
        asked = [one["url"] for one in api.clients(first) + api.closed(first) if one["vhost"] == vhost and not one["publish"]]
        assert not asked, f"nothing should be asked for at the private vhost: {asked}"


def test_encoded_names_select_no_other_vhost_at_the_origin(servers):
    """By HTTP the origin decodes the names of parameters: a client's vhost is none, in whatever way it is written."""
    inner = "vhost inner { http_remux { enabled on; } play { mw_latency 50; } }"
    first = servers(top=API, vhosts=default_vhost(play=PLAY) + inner)
    second = edge(servers, at(first, "http_port"), more="protocol flv;", remux="wait_publisher_timeout 1500;")
    many = "&".join(["a"] * 80)
    third = edge(servers, at(first, "http_port"), more="protocol flv; vhost inner;")
    with publishing.Steady(rtmp.publisher(first, "live", "s?vhost=inner"), media.from_keyframe(media.plain())):
        asked = [http.Live(second.http_port, f"/live/s.flv?{query}", wait=False) for query in ("%76host=inner", "d%6Fmain=inner", "%74racks=none")]
        answers = [one.wait_head().status for one in asked]
        assert answers == [404] * 3, f"a stream of another vhost: {answers}"
        assert not clients(first, "flv-play"), "nothing should be asked for at the other vhost"
        with http.Live(third.http_port, f"/live/s.flv?{many}") as player:
            assert frames_of(player, 20), "the edge's own vhost counts, behind however many parameters of a client"


def test_a_forged_via_harms_nobody_else(servers):
    """Edge, edge, origin: what a client says that its request has passed ends nobody's stream but its own."""
    first = origin(servers)
    middle = edge(servers, first)
    last = edge(servers, middle, rejoin=500)
    with steady(first, "s"):
        with http.Live(middle.http_port, "/live/s.flv", **{"Via": "1.1 x"}) as asked:
            name = asked.response.headers["via"].split()[-1]
        forger = http.Live(last.http_port, "/live/s.flv", wait=False, **{"Via": f"1.1 {name}"})
        with rtmp.player(last, "live", "s") as player:
            assert frames_of(player, 40), "everybody gets the stream, though the forger was the first"
        forger.close()
        refused = [one for one in api.closed(middle) if "has asked for the stream itself" in one["text"]]
        assert not refused, f"nobody is refused: {refused}"


# ---- API and metrics


def test_edges_in_api_and_metrics(servers):
    first = origin(servers)
    exporter = "exporter { enabled on; listen 127.0.0.1:RTMPS_PORT; }\n"
    dead = "127.0.0.1:1"
    second = edge(servers, dead, first, top=API + exporter)
    with steady(first, "down"), steady(second, "up"), rtmp.player(second, "live", "down") as player:
        assert frames_of(player, 20)
        wait_clients(second, "edge-push", 1)
        answer = api.ask(second, "/api/v1/edges")
        (pull,), (push,) = answer["pulls"], answer["pushes"]
        assert (pull["stream"], pull["state"], pull["origin"], pull["problem"]) == ("down", "streaming", at(first), ""), pull
        assert (push["stream"], push["state"], push["origin"], push["problem"]) == ("up", "publishing", at(first), ""), push
        origins = {one["origin"]: one for one in answer["origins"]}
        there = origins[at(first)]
        assert (there["up"], there["pulls"], there["pushes"], there["connections"]) == (True, 1, 1, 2), there
        assert not origins[dead]["up"] and origins[dead]["failures"] and "refused" in origins[dead]["problem"], origins[dead]
        assert api.ask(second, "/api/v1/edges?start=1")["pulls"] == []
        assert api.ask(second, "/api/v1/edges?count=x")["pulls"], "a count that is none is the default, as in other lists"
        text = http.get(second.rtmps_port, "/metrics").body.decode()
        for line in (
            'srs_edge_pulls{state="streaming"} 1',
            'srs_edge_pushes{state="publishing"} 1',
            f'srs_edge_origin_up{{origin="{at(first)}"}} 1',
            f'srs_edge_origin_up{{origin="{dead}"}} 0',
            f'srs_edge_origin_pulls{{origin="{at(first)}"}} 1',
            f'srs_edge_origin_connections_total{{origin="{at(first)}"}} 2',
        ):
            assert line in text.splitlines(), f"{line} should be in the metrics: {[x for x in text.splitlines() if 'srs_edge' in x]}"
        (one,) = clients(second, "edge-pull")
        api.ask(second, f"/api/v1/clients/{one['id']}", "DELETE")
        assert frames_of(player, 60), "a pull that is kicked begins again"


# ---- WebRTC


@pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our edges")
def test_whep_at_a_cold_edge(servers, tmp_path):
    """Of a stream that the origin got by RTMP: the answer waits for the tracks."""
    first = origin(servers)
    second = rtc.start(servers, tmp_path, vhost=cluster(at(first)))
    tags = media.from_keyframe(media.plain())

    async def scene():
        async with rtc_aiortc.Player(rtc.whep_url(second, "live/s")) as player:
            await player.has(video_frames=20)

    with steady(first, "s", tags):
        asyncio.run(scene())
        wait_clients(second, "edge-pull", 1)


@pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our edges")
def test_http_flv_of_a_whip_publisher(servers, tmp_path):
    """One publishes to the origin by WHIP, another to the edge, whose stream is passed up."""
    first = rtc.start(servers, tmp_path)
    second = rtc.start(servers, tmp_path, vhost=cluster(at(first)), play=PLAY)

    def frames(server, name):
        with http.Live(server.http_port, f"/live/{name}.flv", wait=False) as player:
            return frames_of(player, 30, 20)

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(first, "live/down"), "video/H264") as down:
            await down.connected()
            got = await asyncio.to_thread(frames, second, "down")
            assert {tag.type for tag in got} == {flv.VIDEO, flv.AUDIO}, "video and audio should come"
            async with rtc_aiortc.Publisher(rtc.whip_url(second, "live/up"), "video/H264") as up:
                await up.connected()
                got = await asyncio.to_thread(frames, first, "up")
                assert {tag.type for tag in got} == {flv.VIDEO, flv.AUDIO}, "video and audio should go up"

    asyncio.run(scene())


# ---- Origins of other kinds


def test_nginx_is_an_origin(servers, tmp_path):
    """Its players wait for the publisher, and its streams have the packets that it got."""
    with nginx.running(tmp_path) as port:
        second = edge(servers, f"127.0.0.1:{port}", rejoin=500)
        with publishing.Steady(rtmp.publisher(None, "live", "s", port=port), media.from_keyframe(media.plain())) as source:
            with rtmp.player(second, "live", "s") as player:
                # It begins with the next keyframe.
                tags = http.collect(player, lambda tags: sum(tag.type == flv.VIDEO and flv.is_frame(tag) for tag in tags) >= 20)
            with rtmp.publisher(second, "live", "up") as client:
                publishing.send_all(client, tags_of()[:100], speed=4)
                wait_clients(second, "edge-push", 1)
    # A frame may arrive before its publisher has noted it, so the publisher has ended.
    sent = [tag.body for tag in source.sent if tag.type == flv.VIDEO and flv.is_frame(tag)]
    came = [tag.body for tag in tags if tag.type == flv.VIDEO and flv.is_frame(tag)]
    begin = sent.index(came[0])
    assert len(came) > 15 and sent[begin : begin + len(came)] == came, "the video should be the published one"


@pytest.mark.parametrize("pushes", [True, False], ids=["push", "origin"])
def test_nginx_without_audio(servers, tmp_path, pushes):
    """With interleave on it says by an empty message that a stream has no audio: when it pushes, and as an origin."""
    ours = servers(top=API, vhosts=default_vhost(play=PLAY)) if pushes else None
    push = f"push rtmp://{at(ours)}/live;" if pushes else ""
    video = [tag for tag in media.from_keyframe(media.frequent_keyframes()) if tag.type == flv.VIDEO]
    with nginx.running(tmp_path, more=f"wait_key on; wait_video on; interleave on; {push}") as port:
        where = ours or edge(servers, f"127.0.0.1:{port}", rejoin=5000)
        with publishing.Steady(rtmp.publisher(None, "live", "s", port=port), video):
            with rtmp.player(where, "live", "s") as player:
                tags = http.collect(player, lambda tags: sum(tag.type == flv.VIDEO and flv.is_frame(tag) for tag in tags) >= 20)
    assert sum(tag.type == flv.VIDEO and flv.is_frame(tag) for tag in tags) >= 20


def test_nginx_is_an_origin_of_video_alone(servers, tmp_path):
    """It sends an empty audio message to every player of such a stream, in the place of AAC's sequence header."""
    with nginx.running(tmp_path, "interleave on; wait_key on; wait_video on;") as port:
        second = edge(servers, f"127.0.0.1:{port}", rejoin=500)
        video = [tag for tag in media.from_keyframe(media.plain()) if tag.type != flv.AUDIO]
        with publishing.Steady(rtmp.publisher(None, "live", "s", port=port), video, speed=2):
            with rtmp.player(second, "live", "s") as player:
                assert len(frames_of(player, 60)) >= 60
                assert api.ends(second, type="edge-pull") == 0, "one pull, which goes on"


def test_many_players_at_once(servers):
    """A hundred players that come together, and leave and come again, are one pull."""
    first = origin(servers)
    second = edge(servers, first)
    with steady(first, "s"):
        for _ in range(3):
            players = [rtmp.player(second, "live", "s") for _ in range(50)]
            players += [http.Live(second.http_port, "/live/s.flv", wait=False) for _ in range(50)]
            assert frames_of(players[0], 10) and frames_of(players[-1], 10)
            for player in players:
                player.close()
        assert len(clients(first, "rtmp-play")) == 1
        assert len(clients(second, "edge-pull")) == 1 and api.ends(second, type="edge-pull") == 0, "the pull should have gone on"
