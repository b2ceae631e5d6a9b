"""After an upgrade (SIGUSR2) the API and the metrics of the new process have what the old one has."""

import asyncio
import json
import os
import signal
import time

from lib import api, edges, http, publishing, rtc, rtc_aiortc, rtmp
from lib.metrics import EXPORTER, Metrics
from lib.server import default_vhost
from lib.timing import scaled, wait_until
from lib.upgrades import Upgrades, leave

VHOST = default_vhost(play="mw_latency 50;", rejoin=20000)
TOP = api.CONF % "" + EXPORTER % ""


def live(server, name):
    return publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv"))


def wait_tags(player, count):
    wait_until(lambda: len(player.tags) >= count or player.error, 10, lambda: f"{count} tags: {len(player.tags)}, {player.error!r}")
    assert player.error is None, player.error


def earlier(server):
    return api.ask(server, "/api/v1/upgrade")["earlier_process"]


def wait_earlier(server, **figures):
    """Figures come every second."""
    wait_until(
        lambda: {name: (earlier(server) or {}).get(name) for name in figures} == figures,
        5,
        lambda: f"{figures} of the earlier process: {earlier(server)}",
    )


def test_lists_have_both(servers):
    server = servers(top=TOP, vhosts=VHOST)
    assert earlier(server) is None
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        before = live(server, "s")
        wait_tags(before, 20)
        upgrades.upgrade()
        after = live(server, "s")
        wait_tags(after, 20)
        with edges.steady(server, "t"):
            wait_earlier(server, pid=server.pid, publishers=1, players=1)
            clients = api.ask(server, "/api/v1/clients")
            types = sorted((client["type"], client["name"]) for client in clients["clients"])
            wanted = [("flv-play", "s"), ("flv-play", "s"), ("fmle-publish", "s"), ("fmle-publish", "t")]
            assert types == wanted, f"the clients of both, and no connections between them: {clients}"
            assert clients["total"] == 4, clients
            ids = [client["id"] for client in clients["clients"]]
            assert len(set(ids)) == 4, ids
            pages = [api.ask(server, f"/api/v1/clients?start={i}&count=1")["clients"][0]["id"] for i in range(4)]
            assert sorted(pages) == sorted(ids), f"pages {pages} of {ids}"
            oldest = api.ask(server, "/api/v1/clients?sort=-alive&count=1")["clients"][0]
            assert oldest["type"] == "fmle-publish" and oldest["name"] == "s", f"the oldest client: {oldest}"
            found = api.ask(server, "/api/v1/clients?search=/t")
            assert [client["name"] for client in found["clients"]] == ["t"] and found["total"] == 1, found
            for client in clients["clients"]:
                assert api.ask(server, f"/api/v1/clients/{client['id']}")["client"]["type"] == client["type"]

            streams = {one["name"]: one for one in api.ask(server, "/api/v1/streams")["streams"]}
            assert sorted(streams) == ["s", "t"], f"one row for each stream: {streams}"
            assert streams["s"]["clients"] == 3 and streams["t"]["clients"] == 1, f"with the clients of both: {streams}"
            assert streams["s"]["publish"]["cid"] in ids, f"its publisher is a client: {streams['s']}"
            one = api.ask(server, f"/api/v1/streams/{streams['s']['id']}")["stream"]
            assert one["clients"] == 3, f"the stream alone: {one}"
            vhost = api.ask(server, "/api/v1/vhosts")["vhosts"][0]
            assert (vhost["clients"], vhost["streams"]) == (4, 2), f"the vhost has both: {vhost}"

            sessions = api.ask(server, "/api/v1/sessions?action=publish")
            assert sorted(one["stream"] for one in sessions["sessions"]) == ["s", "t"], f"sessions of both: {sessions}"
            overview = api.ask(server, "/api/v1/overview")["overview"]
            assert overview["publishers"] == {"rtmp": 2} and overview["players"] == {"flv": 2}, overview
            assert overview["streams"] == {"total": 2, "published": 2}, overview
            assert overview["earlier_process"]["pid"] == server.pid, overview
            summaries = api.ask(server, "/api/v1/summaries")["data"]
            assert summaries["earlier_process"]["players"] == 1, summaries


def test_a_kick_goes_to_the_process_that_has_the_client(servers):
    server = servers(top=TOP + "audit_log { enabled on; path ./audit.log; }\n", vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        player = live(server, "s")
        wait_tags(player, 20)
        upgrades.upgrade()
        id = next(one["id"] for one in api.clients(server) if one["type"] == "flv-play")
        api.ask(server, f"/api/v1/clients/{id}", "DELETE")
        wait_until(lambda: not player.thread.is_alive(), 5, "the end of the player that was kicked")
        api.ask(server, f"/api/v1/clients/{id}", "DELETE", code=2049)

        def lines():
            return [json.loads(line) for line in (server.dir / "audit.log").read_text().splitlines()]

        def kicks():
            return [line for line in lines() if line["what"] == f"DELETE /api/v1/clients/{id}"]

        wait_until(lambda: len(kicks()) == 2, 5, lambda: f"a line for each: {lines()}")
        assert kicks()[0]["about"].startswith("flv-play "), f"whom it was about: {kicks()}"
        results = [line["result"] for line in lines() if line["action"] == "upgrade"]
        assert results == ["serves new clients"], f"what came of the signal: {lines()}"
        upgrades.ask(server.pid)
        wait_until(
            lambda: any(line["action"] == "upgrade" and "refused" in line["result"] for line in lines()),
            5,
            lambda: f"a refused upgrade: {lines()}",
        )


def test_the_earlier_process_can_be_ended(servers):
    server = servers(top=TOP, vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        player = live(server, "s")
        wait_tags(player, 20)
        upgrades.upgrade()
        wait_earlier(server, players=1)
        api.ask(server, "/api/v1/upgrade", "DELETE")
        assert server.wait_exit(10) == 0, "the old process should end"
        wait_until(lambda: earlier(server) is None, 5, lambda: f"no earlier process: {earlier(server)}")
        api.ask(server, "/api/v1/upgrade", "DELETE", status=404, code=404)


def test_counters_go_on(servers):
    server = servers(top=TOP, vhosts=VHOST)
    with Upgrades(server) as upgrades:
        with edges.steady(server, "s"):
            player = live(server, "s")
            wait_tags(player, 20)
            first = Metrics(server)
            upgrades.upgrade()
            wait_earlier(server, players=1)
            both = Metrics(server)
            names = ("srs_send_bytes_total", "srs_receive_bytes_total", "srs_clients_total")
            for name in names:
                assert both.value(name) >= first.value(name), f"{name} goes on: {first.value(name)}, {both.value(name)}"
            assert both.value("srs_clients") == 2 and both.value("srs_streams") == 1, both.text
            assert both.value("srs_stream_viewers", stream="s") == 1, both.text
            assert both.value("srs_earlier_process") == 1 and both.value("srs_earlier_process_clients") == 2
            leave(player)
        assert server.wait_exit(10) == 0, "the old process ends with its last client"
        time.sleep(scaled(0.3))  # the text is kept so long
        last = Metrics(server)
        for name in names:
            assert last.value(name) >= both.value(name), f"{name} goes on: {both.value(name)}, {last.value(name)}"
        closed = last.value("srs_sessions_closed_total", reason="peer-closed")
        assert closed >= 2, f"the ends of the old process's clients are counted: {closed}"
        assert last.value("srs_earlier_process") == 0 and last.value("srs_clients") == 0, last.text


def test_one_that_stands_still_costs_nobody_anything(servers):
    server = servers(top=TOP, vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        wait_tags(live(server, "s"), 20)
        before = Metrics(server).value("srs_send_bytes_total")
        upgrades.upgrade()
        wait_earlier(server, players=1)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            with edges.steady(server, "t"):
                wait_tags(live(server, "t"), 20)
                api.ask(server, "/api/v1/clients")  # by whom it is found out
                began = time.monotonic()
                for path in ("clients", "streams", "vhosts", "overview", "sessions"):
                    api.ask(server, f"/api/v1/{path}")
                assert Metrics(server).value("srs_send_bytes_total") >= before, "its last figures count"
                took = time.monotonic() - began
                assert took < scaled(1), f"nobody should wait for it: {took:.2f} s"
        finally:
            os.kill(server.pid, signal.SIGCONT)


def test_limits_are_of_both(servers):
    server = servers(top=TOP + "address_limits { exempt none; connections 6; }\n", vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        players = [live(server, "s") for _ in range(3)]
        for player in players:
            wait_tags(player, 10)
        upgrades.upgrade()
        wait_earlier(server, connections=4)
        more = live(server, "s")
        wait_tags(more, 10)
        held = http.Connection(server.http_port)
        response = http.get(server.http_port, "/crossdomain.xml")
        assert response.status == 429, f"six connections of an address, in both processes: {response.describe()}"
        held.close()


def test_webrtc_sessions_of_the_old_process_are_ended_there(servers, tmp_path):
    server = rtc.start(servers, tmp_path)

    async def scene(upgrades):
        publisher = rtc_aiortc.Publisher(rtc.whip_url(server), "video/H264")
        async with publisher:
            await publisher.connected()
            await asyncio.to_thread(upgrades.upgrade)
            # Its resource is deleted at the new process.

    with Upgrades(server) as upgrades:
        asyncio.run(scene(upgrades))
        line = server.wait_log(r"rtc-publish ended: .*", 10)
        assert f"[{server.pid}]" in line and "DELETE" in line, f"the old process ends it because of DELETE: {line}"


DVR = "dvr { enabled on; dvr_path ./html/[app]/[stream].[timestamp].flv; dvr_plan session; }"


def test_what_only_the_old_process_knows(servers):
    """Of a stream whose publisher is there: what is odd about it, its recording, its figures; and its log."""
    server = servers(top=TOP, vhosts=default_vhost(vhost=DVR))
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        wait_until(lambda: len(api.streams(server)) == 1, 5, "the stream")
        id = api.streams(server)["s"]["id"]
        time.sleep(scaled(2.5))  # figures of the past need seconds
        upgrades.upgrade()
        wait_earlier(server, pid=server.pid, publishers=1)
        # Nobody plays it: the new process has no such stream.
        explained = api.ask(server, f"/api/v1/streams/{id}/explain")
        checks = {check["name"]: check["verdict"] for check in explained["checks"]}
        assert checks["publisher"] == "ok", f"the old process has its publisher: {explained}"
        recording = api.ask(server, f"/api/v1/streams/{id}/recording")
        assert recording["configured"] is True, f"the old process records it: {recording}"
        assert recording["pid"] == str(server.pid), f"the old process answers: {recording}"
        files = api.ask(server, "/api/v1/recordings")["recordings"]
        assert [one["active"] for one in files] == [True], f"the file that the old process writes: {files}"
        history = api.ask(server, f"/api/v1/history?stream={id}")
        assert history["stream"]["published"] is True, f"its figures: {history}"
        api.ask(server, f"/api/v1/streams/{id}/recording", "POST")
        assert api.ask(server, f"/api/v1/streams/{id}/recording")["recording"] is True, "recorded by request, too"
        api.ask(server, f"/api/v1/streams/{id}/recording", "DELETE")

        player = live(server, "s")
        wait_tags(player, 20)
        explained = api.ask(server, f"/api/v1/streams/{id}/explain")
        checks = {check["name"]: check["text"] for check in explained["checks"]}
        assert checks["publisher"] == "the time since its publication began", f"both have it now: {explained}"
        outputs = api.ask(server, f"/api/v1/streams/{id}")["stream"]["outputs"]
        assert [one["output"] for one in outputs] == ["dvr"], f"the outputs of both: {outputs}"

        lines = api.ask(server, "/api/v1/log?process=earlier&count=2000")
        assert lines["pid"] == str(server.pid), f"the old process answers: {lines['pid']}"
        assert any("serves new clients from now on" in line["text"] for line in lines["lines"]), lines["lines"][-3:]
        leave(player)


def test_incidents_of_both(servers):
    server = servers(top=TOP, vhosts=VHOST)
    with Upgrades(server) as upgrades:
        with edges.steady(server, "other"):
            player = live(server, "other")
            wait_tags(player, 20)
            with edges.steady(server, "s"):
                wait_until(lambda: len(api.streams(server)) == 2, 5, "the streams")
                upgrades.upgrade()
                wait_earlier(server, publishers=2)

            def incidents():
                return api.ask(server, "/api/v1/incidents")

            wait_until(lambda: incidents()["total"] == 1, 5, lambda: f"its publisher is gone: {incidents()}")
            time.sleep(scaled(1.2))  # what is shorter is none
            with edges.steady(server, "s"):
                wait_until(lambda: incidents()["incidents"][0]["to_ms"], 5, lambda: f"it is back, here: {incidents()}")
                before = incidents()
                assert before["total"] == 1, before
                leave(player)
        assert server.wait_exit(10) == 0, "the old process ends with its last client"
        wait_until(lambda: earlier(server) is None, 5, "no earlier process")
        after = [one for one in incidents()["incidents"] if one["stream"]["name"] == "s"]
        kept = [(one["kind"], one["from_ms"]) for one in before["incidents"]]
        assert [(one["kind"], one["from_ms"]) for one in after][-1:] == kept, f"kept: {before}, {incidents()}"
