"""A reload happens whole or not at all, however it is asked for: HUP, the API, a file that changed."""

import json
import os
import signal
import subprocess
import time

import pytest

from lib import http, media, publishing, rtmp
from lib.server import BENCH, default_vhost
from lib.timing import SLOW, VALGRIND, scaled, wait_until

RAW = "http_api { enabled on; listen 127.0.0.1:API_PORT; debug on; raw_api { %s } }\n"
ALLOWED = RAW % "enabled on; allow_reload on;"


def api(server, path, status=200):
    response = http.get(server.api_port, path)
    body = json.loads(response.body)
    assert response.status == status, f"{path} should be answered with {status}: {response.describe()} {body}"
    assert (body["code"] == 0) == (status == 200), f"code should be 0 when it is good: {body}"
    return body


def reload_by_api(server, status=200):
    return api(server, "/api/v1/raw?rpc=reload", status)["reload"]


def last_reload(server):
    return api(server, "/api/v1/raw?rpc=raw")["reload"]


def reload_counts(server):
    """How many there were: {"total", "failed"}."""
    return api(server, "/api/v1/operations")["data"]["reloads"]


def rewrite(server, *changes):
    text = server.conf_path.read_text()
    for old, new in changes:
        assert old in text, f"{old!r} should be in\n{text}"
        text = text.replace(old, new)
    server.conf_path.write_text(text)


def chunk_size_of(server):
    with rtmp.Client("127.0.0.1", server.rtmp_port, timeout=scaled(5)).handshake() as client:
        client.connect("live")
        return client.reader.chunk_size


def wait_chunk_size(server, size):
    wait_until(lambda: chunk_size_of(server) == size, 10, lambda: f"chunk size {size}; it is {chunk_size_of(server)}")


# --- by API


def test_api_reload(servers):
    server = servers(top=ALLOWED, vhosts=default_vhost("chunk_size 5000;"))
    before = api(server, "/api/v1/raw?rpc=raw")
    raw = before["http_api"]["raw_api"]
    assert raw["enabled"] is True and raw["allow_reload"] is True, before
    assert before["reload"] is None, f"there was no reload yet: {before}"
    rewrite(server, ("chunk_size 5000;", "chunk_size 6000;"), (f"pid {server.pid_path};", "pid /nowhere/a.pid;"))
    began = time.time() * 1000
    report = reload_by_api(server)
    assert report["ok"] is True and report["cause"] == "API" and report["number"] == 1, report
    assert began - 1000 <= report["began_ms"] <= time.time() * 1000 + 1000, f"when it was, in ms: {report}"
    changes = {(c["vhost"], c["directive"]): (c["before"], c["after"], c["in_force"]) for c in report["changes"]}
    assert changes == {
        ("__defaultVhost__", "vhost/chunk_size"): ("5000", "6000", True),
        ("", "pid"): (str(server.pid_path), "/nowhere/a.pid", False),
    }, "what changed, and what of it needs a restart"
    assert chunk_size_of(server) == 6000
    assert last_reload(server) == report, "the last reload stays to be asked for"


def test_api_reload_of_a_broken_file(servers):
    server = servers(top=ALLOWED, vhosts=default_vhost("chunk_size 5000;"))
    rewrite(server, ("chunk_size 5000;", "chunk_size 6000; chunk_sice 1;"))
    body = api(server, "/api/v1/raw?rpc=reload", 409)
    assert body["reload"]["ok"] is False and body["error"], body
    assert any("chunk_sice" in text and "srs.conf:" in text for text in body["reload"]["problems"]), body
    assert chunk_size_of(server) == 5000, "nothing should have changed"


@pytest.mark.parametrize(
    "raw, rpc, status",
    [
        ("enabled off; allow_reload on;", "reload", 403),
        ("enabled off;", "raw", 403),
        ("enabled on;", "reload", 403),
        ("enabled on; allow_reload on;", "update", 400),
        ("enabled on; allow_reload on;", "", 400),
    ],
)
def test_api_refuses(servers, raw, rpc, status):
    server = servers(top=RAW % raw)
    api(server, f"/api/v1/raw?rpc={rpc}", status)
    assert reload_counts(server)["total"] == 0, f"nothing should be reloaded: {reload_counts(server)}"


# --- whole or not at all


def test_a_bad_key_refuses_the_whole_reload(servers, certificate):
    """Nothing else of the new file is in force, and TLS goes on with the key it has."""
    key, cert = certificate
    tls = f"https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; key KEY; cert {cert}; }}"
    server = servers.make(top=ALLOWED, http=tls, vhosts=default_vhost("chunk_size 5000;"))
    own = server.dir / "own.key"
    own.write_bytes(key.read_bytes())
    (server.dir / "html" / "page").write_text("a page")
    rewrite(server, ("key KEY;", f"key {own};"))
    server.start()
    own.write_text("no key")
    rewrite(server, ("chunk_size 5000;", "chunk_size 6000;"))
    report = reload_by_api(server, 409)
    assert any(str(own) in text for text in report["problems"]), f"the file should be named: {report}"
    assert chunk_size_of(server) == 5000, "with a bad key nothing of the file should be in force"
    assert http.get(server.https_port, "/page", tls=True).status == 200, "the old key should go on"
    own.write_bytes(key.read_bytes())
    assert reload_by_api(server)["ok"], "the key is good again"
    assert chunk_size_of(server) == 6000
    assert http.get(server.https_port, "/page", tls=True).status == 200


def test_a_log_that_cannot_be_opened_refuses_the_whole_reload(servers):
    server = servers(top=ALLOWED, vhosts=default_vhost("chunk_size 5000;"))
    blocked = server.dir / "file" / "srs.log"
    blocked.parent.write_text("a file where a directory should be")
    rewrite(server, ("chunk_size 5000;", "chunk_size 6000;"), (f"file {server.log_path}", f"file {blocked}"))
    report = reload_by_api(server, 409)
    assert "srs_log_file" in report["error"], report
    assert chunk_size_of(server) == 5000
    assert reload_counts(server)["failed"] == 1, reload_counts(server)


def test_the_log_moves(servers):
    server = servers(top=ALLOWED)
    other = server.dir / "new" / "other.log"
    rewrite(server, (f"file {server.log_path}", f"file {other}"))
    assert reload_by_api(server)["ok"]
    rtmp.publisher(server, "live", "after").close()
    wait_until(lambda: other.exists() and "live/after" in other.read_text(), 5, "lines come to the new file")
    assert "live/after" not in server.log(), "the old file should be left alone"


# --- a file that changed


def test_auto_reload(servers):
    """Written in place, replaced by renaming, included, broken and mended; and no reload without a change."""
    server = servers.make(
        top=ALLOWED + "inotify_auto_reload on; include ./part.conf;\n", vhosts="include ./vhost.conf;\n"
    )
    part, vhost = server.dir / "part.conf", server.dir / "vhost.conf"
    part.write_text("utc_time off;")
    vhost.write_text(default_vhost("chunk_size 1000;"))
    server.start()
    server.wait_log("is reloaded when its files change")

    vhost.write_text(default_vhost("chunk_size 2000;"))
    wait_chunk_size(server, 2000)
    assert last_reload(server)["cause"] == "a file changed"

    new = server.dir / "vhost.conf.swp"
    new.write_text(default_vhost("chunk_size 3000;"))
    os.replace(new, vhost)
    wait_chunk_size(server, 3000)

    vhost.write_text(default_vhost("chunk_size 4000; nonsense;"))
    wait_until(lambda: not last_reload(server)["ok"], 10, "the broken file is refused")
    assert chunk_size_of(server) == 3000
    vhost.write_text(default_vhost("chunk_size 4000;"))
    wait_chunk_size(server, 4000)

    number = last_reload(server)["number"]
    (server.dir / "another").write_text("not a file of the configuration")
    os.utime(server.dir)
    time.sleep(scaled(0.5))
    assert last_reload(server)["number"] == number, "other files in the directory should not matter"

    part.write_text("utc_time off;\ninotify_auto_reload off;")
    rewrite(server, ("inotify_auto_reload on;", ""))
    wait_until(lambda: last_reload(server)["number"] > number, 10, "the last reload by itself")
    vhost.write_text(default_vhost("chunk_size 5000;"))
    time.sleep(scaled(0.6))
    assert chunk_size_of(server) == 4000, "switched off it should leave the file alone"


def test_in_a_container_it_reloads_by_itself(servers):
    """And stays in the foreground, though daemon is on."""
    server = servers(top="daemon on;\nin_docker on;\nauto_reload_for_docker on;\n", vhosts=default_vhost("chunk_size 1000;"))
    assert int(server.pid_path.read_text()) == server.pid, "it should not go into the background"
    server.wait_log("is reloaded when its files change")
    rewrite(server, ("chunk_size 1000;", "chunk_size 2000;"))
    wait_chunk_size(server, 2000)


# --- under load


@pytest.mark.skipif(VALGRIND, reason="fifty viewers are too many for it")
@pytest.mark.long
def test_reloads_under_load(servers):
    """40 reloads, half of them of broken files, by HUP and by API; 50 viewers of both protocols miss no frame."""
    reloads, viewers, publishers = (40, 50, 4) if SLOW == 1 else (16, 20, 2)
    seconds = 12 if SLOW == 1 else 20
    server = servers(top=ALLOWED, vhosts=default_vhost("hls { enabled off; hls_path ./html; }", play="mw_latency 100;"))
    good = server.conf_path.read_text()
    variants = [
        good.replace("mw_latency 100;", "mw_latency 200; gop_cache off;").replace("hls { enabled off", "hls { enabled on"),
        good + "\nnonsense;",
        good.replace("mw_latency 100;", "mw_latency 50;") + "vhost more.example { }",
        good.replace("mw_latency 100;", "mw_latency soon;"),
        good,
        good[: len(good) // 2],
    ]
    words = [BENCH, "publish", server.rtmp_url("live/v{i}"), "--loop", "-n", str(publishers), "--seconds", "300", "-q"]
    players = []
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as publishing_all:
        try:
            wait_until(
                lambda: http.get_status(server.http_port, f"/live/v{publishers - 1}.flv") == 200, 20, "publishers came"
            )
            for number, url in enumerate((server.rtmp_url("live/v{i}"), server.http_url("live/v{i}.flv"))):
                out = server.dir / f"bench{number}.json"
                play = [BENCH, "play", url, "-n", str(viewers // 2), "--streams", str(publishers), "--verify", "-q"]
                play += ["--ramp", "0", "--settle-ms", "0", "--seconds", str(seconds), "--json", str(out)]
                players.append((subprocess.Popen(play, stdout=subprocess.PIPE, stderr=subprocess.STDOUT), out))
            server.wait_players("v0", viewers // publishers)
            expected_bad = 0
            for number in range(reloads):
                text = variants[number % len(variants)]
                bad = number % 2 == 1
                expected_bad += bad
                server.conf_path.write_text(text)
                if number % 4 < 2:
                    reload_by_api(server, 409 if bad else 200)
                else:
                    before = number
                    server.signal(signal.SIGHUP)
                    wait_until(lambda: last_reload(server)["number"] > before, 10, "HUP reloads", step=0.01)
            done = last_reload(server)
            assert done["number"] == reloads, f"{reloads} reloads should have been counted: {done}"
            assert all(player.poll() is None for player, _ in players), "the viewers should outlast the reloads"
            for player, out in players:
                said, _ = player.communicate(timeout=scaled(60))
                assert player.returncode == 0, f"a viewer lost something: {said.decode()}"
                result = json.loads(out.read_text())
                assert result["viewers_with_a_break"] == 0 and result["frames_missing"] == 0, result
                assert result["frames_verified"] > viewers // 2 * seconds * 30, f"it should have seen it all: {result}"
            assert publishing_all.poll() is None, "the publishers should go on"
        finally:
            for process in [publishing_all, *(player for player, _ in players)]:
                process.kill()
    failed = reload_counts(server)["failed"]
    assert failed == expected_bad, f"{expected_bad} of the files were broken, {failed} were refused"


def test_a_publisher_and_its_viewer_through_a_vhost_that_goes(servers):
    """Who is there stays, with what it began with, even when its vhost leaves the configuration."""
    server = servers(top=ALLOWED, vhosts=default_vhost() + "vhost going.example { play { mw_latency 50; } }\n")
    tc_url = "rtmp://going.example/live"
    tags = media.from_keyframe(media.plain())
    publisher = rtmp.Client("127.0.0.1", server.rtmp_port, timeout=scaled(10)).handshake()
    publisher.connect("live", tc_url=tc_url)
    publisher.publish("s")
    with publishing.Steady(publisher, tags) as steady:
        viewer = rtmp.Client("127.0.0.1", server.rtmp_port, timeout=scaled(20)).handshake()
        viewer.connect("live", tc_url=tc_url)
        viewer.play("s")
        watcher = publishing.Collector(viewer)
        wait_until(lambda: len(watcher.tags) > 20, 10, "the viewer sees the stream")
        rewrite(server, ("vhost going.example { play { mw_latency 50; } }", ""))
        assert reload_by_api(server)["ok"]
        seen = len(watcher.tags)
        wait_until(lambda: len(watcher.tags) > seen + 60, 10, "the viewer goes on")
        assert steady.error is None, f"the publisher was disturbed: {steady.error}"
