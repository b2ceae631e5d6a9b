"""What the console shows: the overview, searched and sorted lists, recordings, the log, the flame graph."""

import json
import subprocess
import threading
import time
from urllib.parse import urlencode

import pytest

from lib import api, dvr, ffmpeg, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import VALGRIND, scaled, wait_until

API = api.CONF % ""
READ, ALL = "read-only-0123456789", "all-of-it-0123456789"
AUTH = api.CONF % f"debug on; auth {{ enabled on; tokens {ALL}; read_tokens {READ}; }}"
NUMBER = (int, float)
OVERVIEW = {
    "now_ms": int, "uptime_ms": int, "version": str,
    "process": {"cpu_percent": NUMBER, "memory_bytes": int},
    "machine": {
        "cpu_percent": NUMBER, "processors": int, "memory_bytes": int, "memory_used_bytes": int, "load_1m": NUMBER,
    },
    "traffic": {"recv_bytes": int, "send_bytes": int},
    "connections": {"now": int, "limit": int},
    "streams": {"total": int, "published": int},
    "publishers": dict, "players": dict, "longest_stall_ms": int, "senders": list, "ends": dict, "client_ends": dict,
    "access": {"reads": bool, "changes": bool, "debug": bool},
}  # fmt: skip


def overview(server, **headers):
    found = api.ask(server, "/api/v1/overview", **headers)["overview"]
    api.check(found, OVERVIEW, "overview")
    return found


def wait_overview(server, condition, what, seconds=15):
    """The overview once the condition holds; a new one is made once a second."""
    seen = {}

    def there():
        seen.update(overview(server))
        return condition(seen)

    wait_until(there, seconds, lambda: f"{what}; the overview is {seen}", step=0.2)
    return seen


def names(answer, kind="streams", field="name"):
    return [one[field] for one in answer[kind]]


# --- the overview


def test_figures_of_a_server_without_clients(servers):
    server = servers(top=API + "max_connections 123;")
    found = overview(server)
    assert found["version"] == api.ask(server, "/api/v1/versions")["data"]["server_version"], found
    assert abs(found["now_ms"] - time.time() * 1000) < scaled(5000), found
    assert 0 <= found["uptime_ms"] < scaled(60_000), found
    assert found["connections"]["limit"] == 123 and found["connections"]["now"] >= 1, "this request has a connection"
    assert found["streams"] == {"total": 0, "published": 0}, found
    assert found["publishers"] == found["players"] == {}, found
    assert 0.3 < found["process"]["memory_bytes"] / 1024 / server.rss_kb() < 3, (found["process"], server.rss_kb())
    machine = found["machine"]
    assert machine["processors"] >= 1 and machine["memory_bytes"] > machine["memory_used_bytes"] > 0, machine
    assert 0 <= machine["cpu_percent"] <= 1, machine


def test_figures_move_with_publishers_and_players(servers, tool):
    server = servers(top=API, vhosts=default_vhost("hls { enabled on; hls_ctx on; }"))
    before = overview(server)
    words = ("-re", "-stream_loop", "-1", "-i", media.plain(), "-c", "copy", "-f", "flv", server.rtmp_url("live/cam"))
    publisher = tool(ffmpeg.command(*words))
    api.wait_stream(server, "cam", lambda stream: stream["frames"] > 0)
    viewers = [rtmp.player(server, "live", "cam"), http.Live(server.http_port, "/live/cam.flv")]
    collectors = [publishing.Collector(one) for one in viewers]
    found = wait_overview(server, lambda one: one["players"] == {"rtmp": 1, "flv": 1}, "one player of RTMP, one of FLV")
    assert found["publishers"] == {"rtmp": 1} and found["streams"] == {"total": 1, "published": 1}, found
    assert found["connections"]["now"] >= 3, found
    later = wait_overview(server, lambda one: one["now_ms"] > found["now_ms"], "figures that are made again")
    passed = (later["now_ms"] - found["now_ms"]) / 1000
    for name in ("recv_bytes", "send_bytes"):
        assert later["traffic"][name] > found["traffic"][name] >= before["traffic"][name], f"{name}: {found} {later}"
    rates = {name: (later["traffic"][name] - found["traffic"][name]) / passed for name in later["traffic"]}
    assert 1.2 < rates["send_bytes"] / rates["recv_bytes"] < 3.5, f"two players of one stream: {rates}"
    assert 0 < later["process"]["cpu_percent"] < 1.5, later
    viewers[0].close()
    gone = wait_overview(server, lambda one: one["players"] == {"flv": 1}, "one player less")
    assert sum(gone["ends"].values()) > sum(before["ends"].values()), gone["ends"]
    assert sum(gone["client_ends"].values()) == sum(before["client_ends"].values()) + 1, f"one player has left: {gone['client_ends']}"
    publisher.kill()
    for one in viewers[1:]:
        one.close()
    for one in collectors:
        one.thread.join(scaled(10))
    wait_overview(
        server,
        lambda one: one["publishers"] == one["players"] == {} and one["streams"] == {"total": 0, "published": 0},
        "no client is left",
    )


def test_the_overview_says_what_its_caller_may_do(servers):
    server = servers(top=API)
    assert overview(server)["access"] == {"reads": True, "changes": True, "debug": False}
    assert overview(server, X_Forwarded_For="192.0.2.1")["access"] == {"reads": True, "changes": False, "debug": False}
    assert overview(server, Origin="http://evil.example")["access"]["changes"] is False
    server = servers(top=AUTH)
    assert http.get(server.api_port, "/api/v1/overview").status == 401
    assert overview(server, Authorization=f"Bearer {READ}")["access"] == {"reads": True, "changes": False, "debug": False}
    assert overview(server, Authorization=f"Bearer {ALL}")["access"] == {"reads": True, "changes": True, "debug": True}


def test_twenty_pollers_cost_one_pass(servers):
    """All callers get the figures of the same moment: they were made at most once a second."""
    server = servers(top=API)
    moments, failures, lock = [], [], threading.Lock()
    begin = time.monotonic()

    def poll():
        try:
            with http.Connection(server.api_port, timeout=scaled(20)) as connection:
                for _ in range(15):
                    connection.request("GET", "/api/v1/overview")
                    body = json.loads(connection.read_response().body)
                    with lock:
                        moments.append(body["overview"]["now_ms"])
                    time.sleep(0.1)
        except Exception as error:  # noqa: BLE001: the thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=poll) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    passed = time.monotonic() - begin
    assert not failures, failures
    assert len(moments) == 300, len(moments)
    most = int(passed) + 2
    assert 2 <= len(set(moments)) <= most, f"figures of {len(set(moments))} moments in {passed:.1f} s, at most {most}"


# --- searched and sorted lists


def test_streams_and_clients_are_searched_and_sorted(servers):
    server = servers(top=API)
    published = {"Alpha": 1, "beta": 4, "Gamma": 2}
    steadies = [
        publishing.Steady(rtmp.publisher(server, "live", name), media.tags(media.plain()), speed=speed)
        for name, speed in published.items()
    ]
    for name in published:
        api.wait_stream(server, name, lambda stream: stream["frames"] > 0)
    players = [rtmp.player(server, "live", name) for name in ("beta", "beta", "Gamma")]
    collectors = [publishing.Collector(one) for one in players]
    wait_until(lambda: len(api.clients(server)) == 6, 10, "three publishers and three players")
    time.sleep(0.5)  # a snapshot is a quarter of a second old at most

    def streams(query):
        return api.ask(server, f"/api/v1/streams?{query}")

    assert names(streams("search=ALPHA")) == ["Alpha"] and streams("search=ALPHA")["total"] == 1
    assert sorted(names(streams("search=live/"))) == sorted(published)
    assert names(streams("search=nothing")) == [] and streams("search=nothing")["total"] == 0
    assert names(streams("sort=name")) == ["Alpha", "beta", "Gamma"], "without regard to case"
    assert names(streams("sort=-name")) == ["Gamma", "beta", "Alpha"]
    assert names(streams("sort=clients")) == ["Alpha", "Gamma", "beta"]
    assert names(streams("sort=-clients&count=1")) == ["beta"] and streams("sort=-clients&count=1")["total"] == 3
    assert names(streams("sort=-clients&start=1&count=1")) == ["Gamma"]
    rates = [one["kbps"]["recv_30s"] for one in streams("sort=-recv_kbps")["streams"]]
    assert len(rates) == 3 and names(streams("sort=-recv_kbps"))[0] == "beta", f"beta is sent fastest: {rates}"
    beta = streams("search=beta")["streams"][0]

    def clients(query):
        return api.ask(server, f"/api/v1/clients?{query}")

    everyone = api.clients(server)
    assert clients(f"stream={beta['id']}")["total"] == 3, clients(f"stream={beta['id']}")
    assert {one["name"] for one in clients(f"stream={beta['id']}")["clients"]} == {"beta"}
    assert clients(f"stream={beta['id']}&search=gamma")["total"] == 0
    assert clients("stream=vid-none")["clients"] == []
    assert clients("search=GAMMA")["total"] == 2 and clients("search=127.0.0.1")["total"] == 6
    for one in everyone:
        assert names(clients(f"search={one['id'].upper()}"), "clients", "id") == [one["id"]]
    ages = [one["alive"] for one in clients("sort=alive")["clients"]]
    assert len(ages) == 6 and ages == sorted(ages), ages
    ages = [one["alive"] for one in clients("sort=-alive&start=1&count=3")["clients"]]
    assert len(ages) == 3 and ages == sorted(ages, reverse=True), ages

    def fastest():
        return [(one["name"], one["publish"]) for one in clients("sort=-send_kbps&count=2")["clients"]]

    # The GOP that a player gets first counts at the beginning.
    wait_until(lambda: fastest() == [("beta", False)] * 2, 10, lambda: f"the players of beta first, not {fastest()}")
    for path in ("streams?sort=kbps", "streams?sort=-", "clients?sort=", "clients?sort=name", "clients?sort=--alive"):
        assert "sort is one of" in api.ask(server, f"/api/v1/{path}", status=400)["error"], path
    for one in players:
        one.close()
    for one in steadies:
        one.stop()
        one.client.close()
    for one in collectors:
        one.thread.join(scaled(10))


# --- recordings


def recordings(server, query="count=100", **headers):
    return api.ask(server, f"/api/v1/recordings?{query}", **headers)


def wait_recordings(server, condition, what):
    """The list once the condition holds; it is made again every two seconds."""
    seen = {}

    def there():
        seen.update(recordings(server))
        return condition(seen["recordings"])

    wait_until(there, 15, lambda: f"{what}; the list is {seen}", step=0.3)
    return seen["recordings"]


def file_path(one, more=""):
    return f"/api/v1/recordings/file?{urlencode({'vhost': one['root'], 'path': one['path']})}{more}"


def record(server, name, suffix=".flv", app="live"):
    """A second of a stream, recorded; the recording is complete."""
    with publishing.Steady(rtmp.publisher(server, app, name), media.tags(media.plain()), speed=4):
        api.wait_stream(server, name, lambda stream: stream["frames"] > 150)
    return wait_until(
        lambda: next(iter(server.dir.glob(f"rec/**/{name}.*{suffix}")), None), 10, f"a recording of {name}"
    )


def test_recordings_are_listed_downloaded_and_played(servers, tmp_path):
    server = servers(top=API, vhosts=dvr.vhost() + "vhost mp4.example { dvr { enabled on; dvr_path ./rec2/[stream].mp4; } }")
    empty = recordings(server)
    assert (empty["total"], empty["recordings"], empty["truncated"]) == (0, [], False), empty
    with publishing.Steady(rtmp.publisher(server, "live", "growing"), media.tags(media.plain())):
        dvr.wait_growing(server, 1000)
        found = wait_recordings(server, lambda all_: all_ and all_[0]["bytes"] > 1000, "a recording that grows")
        assert len(found) == 1 and found[0]["active"] is True, found
        assert found[0]["path"].startswith("live/growing.") and found[0]["path"].endswith(".flv"), found
        assert http.get(server.api_port, file_path(found[0])).status == 404, "it is not complete"
    complete = dvr.wait_files(server, 1)[0]
    second = record(server, "Second")
    found = wait_recordings(server, lambda all_: len(all_) == 2 and not any(one["active"] for one in all_), "two files")
    assert [one["path"] for one in found] == [f"live/{second.name}", f"live/{complete.name}"], "the newest first"
    for one, path in zip(found, (second, complete)):
        info = path.stat()
        assert one["root"] == "__defaultVhost__" and one["bytes"] == info.st_size, (one, info)
        assert one["modified_ms"] == info.st_mtime_ns // 1_000_000, (one, info)
    assert [one["path"] for one in recordings(server, "search=SECOND")["recordings"]] == [f"live/{second.name}"]
    assert recordings(server, "search=SECOND")["total"] == 1 and recordings(server, "start=1")["total"] == 2
    assert len(recordings(server, "start=1")["recordings"]) == 1

    data = second.read_bytes()
    response = http.get(server.api_port, file_path(found[0]))
    assert response.status == 200 and response.body == data, response.head
    assert response.headers["content-type"] == "video/x-flv" and "content-disposition" not in response.headers
    assert response.headers["x-content-type-options"] == "nosniff", response.head
    assert "access-control-allow-origin" not in response.headers, "not for pages of other sites"
    response = http.get(server.api_port, file_path(found[0], "&download=1"), Range="bytes=100-299")
    assert (response.status, response.body) == (206, data[100:300]), response.head
    assert response.headers["content-range"] == f"bytes 100-299/{len(data)}", response.head
    assert f'attachment; filename="{second.name}"' in response.headers["content-disposition"], response.head
    assert http.get(server.api_port, file_path(found[0]), "HEAD").headers["content-length"] == str(len(data))
    assert http.get(server.api_port, file_path(found[0]), Range=f"bytes={len(data)}-").status == 416
    assert http.get(server.api_port, file_path(found[0], "&download=2")).status == 400

    url = f"http://127.0.0.1:{server.api_port}{file_path(found[0])}"
    words = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name:format=duration", "-of", "json", url]
    told = json.loads(subprocess.run(words, check=True, capture_output=True, timeout=scaled(30)).stdout)
    assert {one["codec_name"] for one in told["streams"]} == {"h264", "aac"}, told
    assert float(told["format"]["duration"]) > 1, told


def test_recordings_requested_of_a_vhost_that_does_not_record(servers):
    server = servers(top=API, vhosts=default_vhost("dvr { dvr_path ./rec/[app]/[stream].[timestamp].mp4; }"))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain()), speed=3):
        stream = api.wait_stream(server, "s", lambda stream: stream["frames"] > 0)
        path = f"/api/v1/streams/{stream['id']}/recording"
        api.ask(server, path, "POST")
        wait_until(lambda: dvr.growing(server), 10, "a recording")
        time.sleep(1)
        api.ask(server, path, "DELETE")
        found = wait_recordings(server, lambda all_: all_ and not all_[0]["active"], "the requested recording")
    response = http.get(server.api_port, file_path(found[0]))
    assert response.status == 200 and response.headers["content-type"] == "video/mp4", response.describe()
    assert response.body == dvr.files(server)[0].read_bytes()


def test_nothing_but_recordings_is_listed_or_sent(servers):
    server = servers(top=API, vhosts=dvr.vhost())
    root = server.dir / "rec"
    (root / "live").mkdir(parents=True)
    (root / "live/good.flv").write_bytes(b"FLV good")
    (server.dir / "outside.flv").write_bytes(b"secret")
    (root / "live/notes.txt").write_bytes(b"secret")
    (root / "live/left.flv.tmp").write_bytes(b"secret")
    (root / "x.flv").mkdir()
    (root / "x.flv/index.html").write_bytes(b"secret")
    (root / "x.flv/inner.mp4").write_bytes(b"inner")
    (root / "out.flv").symlink_to("../outside.flv")
    (root / "absolute.flv").symlink_to(server.dir / "outside.flv")
    (root / "within.flv").symlink_to("live/good.flv")
    (root / "up").symlink_to("..")
    (root / "down").symlink_to("live")
    found = recordings(server)
    assert sorted(one["path"] for one in found["recordings"]) == ["live/good.flv", "x.flv/inner.mp4"], found
    vhost = "__defaultVhost__"

    def fetch(path, vhost=vhost):
        return http.get(server.api_port, file_path({"root": vhost, "path": path}))

    assert fetch("live/good.flv").body == b"FLV good" and fetch("x.flv/inner.mp4").body == b"inner"
    for path in (
        "", ".", "..", "/", "live", "live/", "../outside.flv", "live/../../outside.flv", "live/../live/good.flv",
        "./live/good.flv", "live//good.flv", "/live/good.flv", str(server.dir / "outside.flv"), "/etc/passwd",
        "live/notes.txt", "live/left.flv.tmp", "live/left.flv", "x.flv", "x.flv/", "x.flv/index.html", "out.flv",
        "absolute.flv", "within.flv", "up/outside.flv", "down/good.flv", "live/good.flv/", "live/good.flv\0.flv",
        "live\\good.flv", "none.flv", "a/" * 2000 + "b.flv",
    ):  # fmt: skip
        response = fetch(path)
        assert response.status in (400, 404), f"{path!r} is no recording: {response.describe()}"
        assert b"secret" not in response.body, path
    for vhost_ in ("", "none", "..", "."):
        assert fetch("live/good.flv", vhost_).status == 404, vhost_
    assert http.get(server.api_port, "/api/v1/recordings/file").status == 404
    assert http.get(server.api_port, "/api/v1/recordings/file/../../../etc/passwd").status in (400, 404)


def test_content_and_log_are_for_callers_who_may_change_the_server(servers):
    server = servers(top=AUTH, vhosts=dvr.vhost())
    (server.dir / "rec").mkdir()
    (server.dir / "rec/a.flv").write_bytes(b"FLV")
    path = file_path({"root": "__defaultVhost__", "path": "a.flv"})
    for one, code in ((path, 200), ("/api/v1/log", 200), ("/api/v1/debug/profile?seconds=1", 200)):
        assert http.get(server.api_port, one).status == 401, one
        assert http.get(server.api_port, one, Authorization=f"Bearer {READ}").status == 403, one
        assert http.get(server.api_port, one, Authorization=f"Bearer {ALL}").status == code, one
    assert recordings(server, Authorization=f"Bearer {READ}")["total"] == 1, "reading the list is reading"
    assert http.get(server.api_port, "/api/v1/recordings").status == 401
    server = servers(top=api.CONF % "debug on;", vhosts=dvr.vhost())
    for one in (path, "/api/v1/log", "/api/v1/debug/profile?seconds=1"):
        assert http.get(server.api_port, one, X_Forwarded_For="127.0.0.1").status == 403, one
        assert http.get(server.api_port, one, Origin="http://evil.example").status == 403, one
        script = http.get(server.api_port, one + ("&" if "?" in one else "?") + "callback=f")
        assert b"not by callback" in script.body, f"{one}: {script.describe()}"


# --- the log


def log(server, query="", **headers):
    return api.ask(server, f"/api/v1/log?{query}", **headers)


def test_the_log_is_followed(servers):
    server = servers(top=API)
    first = log(server)
    assert first["lines"] and first["next"] == first["lines"][-1]["seq"], first
    assert any("the server runs" in line["text"] for line in first["lines"]), first
    seqs = [line["seq"] for line in first["lines"]]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs))), "no line is missing"
    for line in first["lines"]:
        api.check(line, {"seq": int, "time_ms": int, "level": str, "id": str, "text": str}, "line")
        assert abs(line["time_ms"] - time.time() * 1000) < scaled(60_000), line
    rtmp.publisher(server, "live", "followed").close()
    seen, last = [], first["next"]

    def there():
        nonlocal last
        more = log(server, f"after={last}&count=2")
        assert all(last < line["seq"] <= more["next"] for line in more["lines"]) and len(more["lines"]) <= 2, (last, more)
        seen.extend(more["lines"])
        last = more["next"]
        return any("fmle-publish ended: __defaultVhost__/live/followed" in line["text"] for line in seen)

    wait_until(there, 10, lambda: f"the end of the publisher; there are {seen}")
    seqs = [line["seq"] for line in seen]
    assert seqs == list(range(first["next"] + 1, first["next"] + 1 + len(seqs))), f"each line once: {seqs}"
    ended = next(line for line in seen if "fmle-publish ended" in line["text"])
    assert ended["level"] == "trace" and f"[{ended['id']}]" in server.log() and len(ended["id"]) == 8, ended
    assert ended["text"] in server.log(), "the same text as in the file"
    assert {line["id"] for line in log(server, f"search={ended['id']}")["lines"]} >= {ended["id"]}
    found = log(server, "search=FMLE-publish&count=1000")["lines"]
    assert found and all("fmle-publish" in line["text"].lower() for line in found), found
    http.Connection(server.api_port).request("GET", "/bad\x01path")
    wait_until(lambda: log(server, "level=warn")["lines"], 10, "a warning")
    assert {line["level"] for line in log(server, "level=warn")["lines"]} <= {"warn", "error"}
    assert len(log(server, "after=999999999&count=3")["lines"]) == 3, "a number of an earlier run"
    for query in ("after=-1", "after=x", "count=0", "count=2001", "level=loud", "level=", "level=off", f"search={'x' * 257}"):
        api.ask(server, f"/api/v1/log?{query}", status=400)


def test_the_log_in_memory_is_bounded(servers):
    server = servers(top=API)
    for _ in range(2100):
        http.get(server.api_port, "/healthz")  # each connection's end is a line
    wait_until(lambda: log(server)["next"] > 2100, 10, "more lines than are kept")
    total = log(server, "count=2000")
    assert len(total["lines"]) == 2000 and sum(len(one["text"]) for one in total["lines"]) <= 512 * 1024
    assert total["lines"][0]["seq"] == total["next"] - 1999, "the oldest have left"


# --- the flame graph


@pytest.mark.skipif(VALGRIND, reason="valgrind runs the code elsewhere")
def test_stacks_in_folded_form(servers):
    server = servers(top=api.CONF % "debug on;")
    path = "/api/v1/debug/profile?seconds=2&format=folded"
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain()), speed=5), Busy(server):
        with http.Connection(server.api_port, timeout=scaled(20)) as connection:
            connection.request("GET", path)
            response = connection.read_response()
    assert response.status == 200 and response.headers["content-type"].startswith("text/plain"), response.describe()
    samples, named = 0, 0
    lines = response.body.decode().splitlines()
    for line in lines:
        stack, count = line.rsplit(" ", 1)
        samples += int(count)
        named += int(count) if "service::api::" in stack else 0
        assert all(stack.split(";")), f"each function has a name: {line}"
    assert samples == int(response.headers["x-profile-samples"]) >= 5, (samples, response.head)
    assert named / samples > 0.3, f"the load's functions: {named} of {samples}\n" + "\n".join(lines[:30])
    cut = [line for line in lines if "service::api" in line.split(";")[0]]
    assert not cut, "the outermost function is first, but not in\n" + "\n".join(cut)
    assert len(lines) == len({line.rsplit(" ", 1)[0] for line in lines}), "each stack once"
    for query in ("seconds=0", "seconds=301", "seconds=x", "format=svg", "format="):
        assert http.get(server.api_port, f"/api/v1/debug/profile?{query}").status == 400, query


class Busy:
    """Asks for a long list again and again, in a thread."""

    def __init__(self, server):
        self.server, self.stopping = server, threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        with http.Connection(self.server.api_port, timeout=scaled(20)) as connection:
            for _ in range(100_000):
                if self.stopping.is_set():
                    return
                connection.request("GET", "/api/v1/config?count=1000", Connection="keep-alive")
                if connection.read_response().headers.get("connection") == "close":
                    return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
