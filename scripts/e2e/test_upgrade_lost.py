"""The old process dies while it has clients, after an upgrade (SIGUSR2): the new one tells of its streams that they have
ended, once, and gets them when their publishers return."""

import json
import time
from urllib.parse import urlencode

import pytest

from lib import api, dvr, edges, hls, hooks, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until
from lib.upgrades import Upgrades, leave

TOP = api.CONF % "" + "alerts { publisher_gone 1; }\n"


def live(server, name):
    return publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv"))


def wait_tags(player, count):
    wait_until(lambda: len(player.tags) >= count or player.error, 10, lambda: f"{count} tags: {len(player.tags)}, {player.error!r}")
    assert player.error is None, player.error


def incidents(server, name):
    return [one for one in api.ask(server, "/api/v1/incidents?count=100")["incidents"] if one["stream"]["name"] == name]


def wait_earlier(server, **figures):
    """Figures come every second."""

    def earlier():
        return api.ask(server, "/api/v1/upgrade")["earlier_process"] or {}

    wait_until(lambda: {name: earlier().get(name) for name in figures} == figures, 5, lambda: f"{figures}: {earlier()}")


@pytest.mark.parametrize("end", ["dies", "is_ended"])
def test_streams_end_with_the_old_process(servers, end):
    with hooks.HookServer() as asked:
        vhosts = default_vhost(play="mw_latency 50;", rejoin=20000, vhost=f"http_hooks {{ enabled on; on_alert {asked.url('alert')}; }}")
        server = servers(top=TOP, vhosts=vhosts)
        with Upgrades(server) as upgrades:
            watched, alone = edges.steady(server, "watched"), edges.steady(server, "alone")
            before = live(server, "watched")
            wait_tags(before, 20)
            upgrades.upgrade()
            after = live(server, "watched")
            wait_tags(after, 20)
            wait_earlier(server, publishers=2, players=1)
            assert incidents(server, "watched") == [], "its publisher is there"
            if end == "dies":
                edges.kill(server)
            else:
                api.ask(server, "/api/v1/upgrade", "DELETE")
                assert server.wait_exit(10) == 0, "the old process should end"
            watched.stop()
            alone.stop()
            for name, players in (("watched", 1), ("alone", 0)):
                wait_until(lambda name=name: incidents(server, name), 5, lambda name=name: f"an incident of {name}: {incidents(server, name)}")
                (one,) = incidents(server, name)
                want = {"kind": "publisher_gone", "to_ms": None, "players_before": players}
                assert want.items() <= one.items(), f"{want} of {name}, it is {one}"
                assert "the other process of the server" in one["text"], one

            def alerts():
                return sorted((one["stream"], one["state"]) for one in asked.bodies("on_alert"))

            raised = [("alone", "raised"), ("watched", "raised")]
            wait_until(lambda: alerts() == raised, 20, lambda: f"on_alert of both streams: {alerts()}")
            with edges.steady(server, "watched"):
                wait_tags(after, len(after.tags) + 20)
                wait_until(lambda: incidents(server, "watched")[0]["to_ms"], 5, lambda: f"it is back: {incidents(server, 'watched')}")
                assert len(incidents(server, "watched")) == 1, incidents(server, "watched")
                assert incidents(server, "alone")[0]["to_ms"] is None, incidents(server, "alone")
                cleared = [("alone", "raised"), ("watched", "cleared"), ("watched", "raised")]
                wait_until(lambda: alerts() == cleared, 20, lambda: f"on_alert that one is back: {alerts()}")
            leave(after)


def test_what_the_old_process_has_told_is_listed_once(servers):
    server = servers(top=TOP, vhosts=default_vhost(play="mw_latency 50;", rejoin=20000))
    with Upgrades(server) as upgrades:
        with edges.steady(server, "other"):
            wait_tags(live(server, "other"), 20)
            with edges.steady(server, "s"):
                api.wait_stream(server, "s", lambda stream: stream["publish"]["active"])
                upgrades.upgrade()
                wait_earlier(server, publishers=2)
            wait_until(lambda: len(incidents(server, "s")) == 1, 5, lambda: f"its publisher is gone: {incidents(server, 's')}")
            (told,) = incidents(server, "s")
            api.ask(server, "/api/v1/upgrade", "DELETE")
            most = 0
            while server.process.poll() is None:
                most = max(most, len(incidents(server, "s")))
            assert most <= 1, f"{most} incidents of one stream while the old process ended"
            wait_until(lambda: incidents(server, "other"), 5, "what ended with it")
            (kept,) = incidents(server, "s")
            assert kept["from_ms"] == told["from_ms"] and kept["text"] == told["text"], f"the old process's: {told}, {kept}"


def test_a_clip_of_the_old_process_s_stream(servers, tmp_path):
    """HLS has gone over with what it had, so clips come from the new process."""
    server = servers(top=api.ON, vhosts=hls.vhost(rejoin=20000, fragment="1", use_fmp4="on", storage="memory", window="60"))
    with Upgrades(server) as upgrades, edges.steady(server, "one", media.tags(media.frequent_keyframes())):
        hls.wait(server, "/live/one.m3u8", lambda playlist: len(playlist.segments) >= 4, 20)
        began = time.time()
        upgrades.upgrade()
        hls.wait(server, "/live/one.m3u8", lambda playlist: len(playlist.segments) >= 8, 20)
        identity = api.wait_stream(server, "one")["id"]
        path = f"/api/v1/streams/{identity}/clip?from={began - 3:.3f}&to={began + 2:.3f}"
        whole = http.get(server.api_port, path)
        assert whole.status == 200, whole.describe() + whole.body[:200].decode(errors="replace")
        assert whole.headers["content-disposition"].startswith("attachment; filename"), whole.headers
        assert 4 < float(whole.headers["x-clip-duration"]) < 9, whole.headers
        (tmp_path / "clip.mp4").write_bytes(whole.body)
        dvr.check_clean(tmp_path / "clip.mp4")
        part = http.get(server.api_port, path, Range="bytes=10-99", If_Range=whole.headers["etag"])
        assert part.status == 206 and part.body == whole.body[10:100], part.describe()


def test_a_file_of_the_old_process(servers):
    """By ?process=earlier, in parts; the audit says who asked which process."""
    record = "dvr { enabled on; dvr_path ./html/[app]/[stream].[timestamp].flv; dvr_plan session; }"
    top = api.ON + "audit_log { enabled on; path ./audit.log; }\n"
    server = servers(top=top, vhosts=default_vhost(vhost=record, play="mw_latency 50;", rejoin=20000))
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        with edges.steady(server, "done"):
            wait_tags(live(server, "s"), 40)
        upgrades.upgrade()
        wait_earlier(server, publishers=1)
        wait_until(lambda: any(not one["active"] for one in api.ask(server, "/api/v1/recordings")["recordings"]), 5, "a recording")
        (done,) = [one for one in api.ask(server, "/api/v1/recordings")["recordings"] if not one["active"]]
        path = f"/api/v1/recordings/file?{urlencode({'vhost': done['root'], 'path': done['path'], 'download': 1})}&process=earlier"
        part = http.get(server.api_port, path, Range="bytes=1-4")
        assert part.status == 206 and part.body == b"LV\x01\x05", part.describe()
        assert part.headers["content-range"] == f"bytes 1-4/{done['bytes']}", part.headers
        assert part.headers["content-disposition"].startswith("attachment"), part.headers
        id = api.ask(server, "/api/v1/clients?search=/s")["clients"][0]["id"]
        api.ask(server, f"/api/v1/clients/{id}?process=earlier", "DELETE")
        line = server.wait_log(f"{id} is ended by the API, for 127.0.0.1", 5)
        assert f"[{server.pid}]" in line, line

        def lines():
            return [line["what"] for line in map(json.loads, (server.dir / "audit.log").read_text().splitlines()) if line["action"] == "api"]

        want = [f"DELETE /api/v1/clients/{id} process=earlier"]
        wait_until(lambda: lines() == want, 5, lambda: f"a line, of one process: {lines()}")
