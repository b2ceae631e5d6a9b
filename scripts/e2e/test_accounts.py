"""What operators have of the past (doc/operations.md): one line of access_log for each session that ends, of every
protocol; usage that survives a restart; changes with who asked; and the questions by their commands."""

import json
import re
import signal
import subprocess
import time

import pytest

from lib import api, ffmpeg, http, media, pion, ports, publishing, rtc, rtmp, signed_urls, srt
from lib.server import ROOT, default_vhost, run_once
from lib.timing import scaled, wait_until

FIELDS = (
    "time id ip agent page token protocol type action vhost app stream started_ms ended_ms duration_ms received_bytes sent_bytes "
    "frames dropped skips skipped_bytes stalls stalled_ms last_stall first_frame_ms lost retransmitted reason text"
).split()


def conf(directory, more="", access="", usage=""):
    return (
        f"access_log {{ enabled on; path {directory}/access.log; {access} }}\n"
        f"audit_log {{ enabled on; path {directory}/audit.log; }}\n"
        f"usage {{ enabled on; path {directory}/usage.txt; {usage} }}\n{more}"
    )


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_line(path, seconds=10, **wanted):
    """The first line with these fields."""

    def found():
        return next((one for one in lines(path) if all(one.get(name) == value for name, value in wanted.items())), None)

    wait_until(lambda: found() is not None, seconds, lambda: f"a line with {wanted} in {path}:\n" + "\n".join(map(str, lines(path))))
    return found()


def check(line, **wanted):
    """A value, or a function that it must satisfy."""
    for name, want in wanted.items():
        got = line[name]
        assert want(got) if callable(want) else got == want, f"{name} is {got!r} in {line}"


def positive(number):
    return number is not None and number > 0


def is_time(number):
    return number is not None and 0 <= number < 20_000


# --- one event for each session, whatever its protocol

# protocol, type, action, what else the line must have
EXPECTED = {
    "publisher": ("rtmp", "fmle-publish", "publish", {"received_bytes": positive, "frames": positive, "first_frame_ms": is_time}),
    "RTMP": ("rtmp", "rtmp-play", "play", {"sent_bytes": positive, "first_frame_ms": is_time}),
    "HTTP-FLV": ("http-flv", "flv-play", "play", {"agent": "test-agent", "page": "http://a.example/watch", "first_frame_ms": is_time}),
    "WS-FLV": ("ws-flv", "flv-play", "play", {"sent_bytes": positive, "first_frame_ms": is_time}),
    "HTTP-TS": ("http-ts", "flv-play", "play", {"sent_bytes": positive, "first_frame_ms": is_time}),
    "HLS": ("hls", "hls-play", "play", {"sent_bytes": positive, "reason": "idle", "first_frame_ms": is_time}),
    "RTSP": ("rtsp", "rtsp-play", "play", {"sent_bytes": positive, "agent": lambda text: "Lavf" in text, "first_frame_ms": is_time}),
    "SRT": ("srt", "srt-play", "play", {"sent_bytes": positive, "agent": lambda text: text.startswith("SRT "), "first_frame_ms": is_time, "frames": positive}),
    "SRT publisher": ("srt", "srt-publish", "publish", {"received_bytes": positive, "frames": positive, "first_frame_ms": is_time}),
    "RTSP publisher": ("rtsp", "rtsp-publish", "publish", {"received_bytes": positive, "frames": positive, "agent": lambda text: "Lavf" in text}),
    "FLV by POST": ("flv-post", "flv-publish", "publish", {"received_bytes": positive, "frames": positive, "agent": lambda text: "Lavf" in text}),
}  # fmt: skip


class Site:
    def __init__(self, servers, tmp_path):
        self.rtsp, self.flv = ports.take(2)
        self.dir = tmp_path
        top = (
            f"rtsp_server {{ enabled on; listen 127.0.0.1:{self.rtsp}; }}\n"
            f"stream_caster {{ enabled on; caster flv; listen 127.0.0.1:{self.flv}; output rtmp://127.0.0.1/[app]/[stream]; }}\n"
        )
        vhost = "rtsp { enabled on; } hls { enabled on; hls_fragment 1; hls_window 10; hls_storage memory; hls_dispose 3; } "
        self.server = srt.make(servers, vhost=vhost, top=conf(tmp_path, top))

    def line(self, name, **more):
        protocol, kind, action, wanted = EXPECTED[name]
        line = wait_line(self.dir / "access.log", 25, type=kind, protocol=protocol, **more)
        check(line, action=action, **wanted)
        return line


@pytest.fixture
def site(servers, tmp_path):
    return Site(servers, tmp_path)


def copy(*words):
    return ffmpeg.command9(*words)


def test_players_of_every_protocol(site, tool):
    server = site.server
    begin_ms = time.time() * 1000
    with rtmp.publisher(server, "live", "one") as client, publishing.Steady(client, media.tags(media.plain())):
        api.wait_stream(server, "one", lambda stream: stream["frames"] > 30)
        with rtmp.player(server, "live", "one") as player:
            assert player.tags()
        headers = {"User-Agent": "test-agent", "Referer": "http://a.example/watch?token=hidden"}
        with http.Live(server.http_port, "/live/one.flv?token=hidden", **headers) as player:
            assert player.tags()
        with http.WebSocket(server.http_port, "/live/one.flv") as player:
            assert player.tags()
        with http.Live(server.http_port, "/live/one.ts") as player:
            assert player.data()
        wait_until(lambda: http.get(server.http_port, "/live/one.m3u8").status == 200, 10, "a playlist")
        running = [
            tool(copy("-rtsp_transport", "tcp", "-i", f"rtsp://127.0.0.1:{site.rtsp}/live/one", "-t", 1, "-c", "copy", "-f", "null", "-")),
            tool(copy("-i", srt.url(server, "live/one"), "-t", 1, "-c", "copy", "-f", "null", "-")),
            tool(copy("-i", server.http_url("live/one.m3u8"), "-t", 1, "-c", "copy", "-f", "null", "-")),
        ]
        for one in running:
            one.finish(30)
        for name in ("RTMP", "HTTP-FLV", "WS-FLV", "HTTP-TS", "RTSP", "SRT", "HLS"):
            line = site.line(name, stream="one")
            assert list(line) == FIELDS, f"{name}: {line}"
            check(line, ip="127.0.0.1", vhost="__defaultVhost__", app="live", token="", skips=0)
            assert begin_ms - 1000 < line["started_ms"] <= line["ended_ms"] < time.time() * 1000 + 1000, line
            assert abs(line["ended_ms"] - line["started_ms"] - line["duration_ms"]) < 1000, line
    line = site.line("publisher", stream="one")
    check(line, reason="peer-closed", dropped=0)
    assert "hidden" not in (site.dir / "access.log").read_text()


def test_publishers_of_other_protocols(site, tool):
    server = site.server
    source = media.with_b_frames()
    srt.publisher(tool, server, source, name="live/srt").finish(30)
    to = {"rtsp": ("-rtsp_transport", "tcp", "-f", "rtsp", f"rtsp://127.0.0.1:{site.rtsp}/live/rtsp"), "flv": ("-f", "flv", f"http://127.0.0.1:{site.flv}/live/posted.flv")}
    for words in to.values():
        tool(copy("-re", "-i", source, "-t", 2, "-c", "copy", *words)).finish(30)
    site.line("SRT publisher", stream="srt")
    site.line("RTSP publisher", stream="rtsp")
    site.line("FLV by POST", stream="posted")


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
def test_webrtc(servers, tmp_path):
    server = servers(**rtc.options(top=conf(tmp_path)))
    with subprocess.Popen(pion.words(whip=rtc.whip_url(server), seconds=6), stdout=subprocess.PIPE, text=True) as whip:
        api.wait_stream(server, "one", lambda stream: stream["frames"] > 30)
        pion.run(seconds=2, whep=rtc.whep_url(server))
        whip.communicate(timeout=scaled(60))
    player = wait_line(tmp_path / "access.log", type="rtc-play", stream="one")
    check(player, protocol="webrtc", action="play", sent_bytes=positive, frames=positive, first_frame_ms=is_time)
    publisher = wait_line(tmp_path / "access.log", type="rtc-publish", stream="one")
    check(publisher, protocol="webrtc", action="publish", received_bytes=positive, frames=positive, first_frame_ms=is_time)


def test_a_forward_and_a_refusal(servers, tmp_path):
    target = servers(top=api.ON)
    vhosts = default_vhost(vhost=f"forward {{ enabled on; destination 127.0.0.1:{target.rtmp_port}; }} refer {{ enabled on; play b.example; }}")
    server = servers(top=conf(tmp_path), vhosts=vhosts)
    with rtmp.publisher(server, "live", "one") as client, publishing.Steady(client, media.tags(media.plain())):
        api.wait_stream(target, "one", lambda stream: stream["frames"] > 10)
        answer = http.get(server.http_port, "/live/one.flv", Referer="http://a.example/")
        assert answer.status == 403, answer.describe()
    log = tmp_path / "access.log"
    check(wait_line(log, type="rtmp-forward"), action="forward", sent_bytes=positive, stream="one")
    check(wait_line(log, type="flv-play"), reason="refused-refer", stream="one", first_frame_ms=None, sent_bytes=0)


def test_a_stall_of_the_publisher_and_of_a_player(servers, tmp_path):
    server = servers(top=conf(tmp_path), vhosts=default_vhost(publish="normal_timeout 10000;", play="mw_latency 0;"))
    tags = media.tags(media.plain())
    with rtmp.publisher(server, "live", "one") as client:
        publishing.send_all(client, tags[:50])
        time.sleep(1.5)
        publishing.send_all(client, tags[50:60])
        time.sleep(0.3)
    line = wait_line(tmp_path / "access.log", type="fmle-publish")
    check(line, stalls=1, stalled_ms=lambda ms: 1400 < ms < 3000, last_stall=lambda text: text.startswith("20"))


# --- the file

def play_once(server, path="/live/one.flv"):
    with http.Live(server.http_port, path) as player:
        assert player.tags()


def test_rotation_fields_and_reload(servers, tmp_path):
    server = servers(top=conf(tmp_path, access="fields ip reason ended_ms;"))
    log = tmp_path / "access.log"
    with rtmp.publisher(server, "live", "one") as client, publishing.Steady(client, media.tags(media.plain())):
        play_once(server)
        (line, _) = wait_lines(tmp_path, 2)  # the first is of a connection that asked for nothing
        assert list(line) == ["ip", "reason", "ended_ms"], line
        log.rename(tmp_path / "access.log.1")
        play_once(server)
        wait_until(lambda: len(lines(log)) == 1, 5, lambda: f"a new file: {list(tmp_path.iterdir())}")
        assert len(lines(tmp_path / "access.log.1")) == 2
        server.conf_path.write_text(server.conf.replace("fields ip reason ended_ms;", "format clf;"))
        server.signal(signal.SIGHUP)
        server.wait_log("reload: .* in force", 10)
        play_once(server)
        wait_until(lambda: len(log.read_text().splitlines()) == 2, 5, log.read_text)
        assert re.fullmatch(
            r'127\.0\.0\.1 - - \[\d\d/\w+/\d{4}:[\d:]{8} \+0000\] "PLAY /live/one http-flv" 200 \d+ "-" "-"', log.read_text().splitlines()[1]
        ), log.read_text()
        server.conf_path.write_text(server.conf.replace("access_log { enabled on;", "access_log { enabled off;"))
        server.signal(signal.SIGHUP)
        wait_until(lambda: server.log_count("changes, ") == 2, 10, server.log)
        play_once(server)
    server.stop()
    assert len(log.read_text().splitlines()) == 2, "off: nothing is written"


def test_the_end_of_the_server_is_an_end(servers, tmp_path):
    server = servers(top=conf(tmp_path))
    with rtmp.publisher(server, "live", "one") as client:
        publishing.send_all(client, media.tags(media.plain())[:50])
        with http.Live(server.http_port, "/live/one.flv") as player:
            assert player.tags()
            server.stop()
    for kind in ("fmle-publish", "flv-play"):
        check(wait_line(tmp_path / "access.log", type=kind), reason="server-stop")
    check(lines(tmp_path / "audit.log")[-1], action="signal", what="SIGTERM", user=lambda text: text.startswith("uid "))


# --- what the API answers

def test_sessions_present_and_past(servers, tmp_path):
    server = servers(top=conf(tmp_path, api.ON))
    with rtmp.publisher(server, "live", "one") as client, publishing.Steady(client, media.tags(media.plain())):
        for _ in range(3):
            play_once(server)
        ids = [one["id"] for one in wait_lines(tmp_path, 4) if one["type"] == "flv-play"]
        answer = api.ask(server, "/api/v1/sessions?stream=one")
        got = [(one["action"], one["reason"]) for one in answer["sessions"]]
        assert got == [("publish", ""), *[("play", "peer-closed")] * 3], answer
        assert answer["total"] == 4 and answer["sessions"][0]["ended_ms"] is None
        assert [one["id"] for one in answer["sessions"][1:]] == ids[::-1], "the newest first"
        assert api.ask(server, "/api/v1/sessions?stream=live/one&count=1&start=1")["sessions"][0]["id"] == ids[2]
        assert api.ask(server, f"/api/v1/sessions?client={ids[0]}")["total"] == 1
        assert api.ask(server, "/api/v1/sessions?action=publish")["total"] == 1
        for nothing in ("stream=two", "client=192.0.2.1", "to=-1h", "stream=ne"):
            assert api.ask(server, f"/api/v1/sessions?{nothing}")["total"] == 0, nothing
        for bad in ("from=yesterday", "to=2026-13-01", "action=watch"):
            api.ask(server, f"/api/v1/sessions?{bad}", status=400)
    server.stop()
    server.start()
    answer = api.ask(server, "/api/v1/sessions?stream=one&from=-1h&count=100")
    assert answer["total"] == 4 and answer["complete"], f"those of the run before are in the file: {answer}"
    assert {one["id"] for one in answer["sessions"]} >= set(ids)


def wait_lines(directory, count):
    wait_until(lambda: len(lines(directory / "access.log")) >= count, 10, f"{count} lines")
    return lines(directory / "access.log")


def usage(server, query=""):
    return api.ask(server, f"/api/v1/usage?count=100{query}")["usage"]


def test_usage_survives_a_restart(servers, tmp_path):
    vhosts = default_vhost(vhost="signed_urls { enabled on; secret %s; publish off; }" % signed_urls.SECRET)
    server = servers(top=conf(tmp_path, api.ON), vhosts=vhosts)
    with rtmp.publisher(server, "live", "one") as client, publishing.Steady(client, media.tags(media.plain())):
        for name in ("acme", "acme", "", "other"):
            with http.Live(server.http_port, f"/live/one.flv?{signed_urls.query('play', name=name)}") as player:
                assert player.tags()
        forged = signed_urls.query("play", name="acme").replace("sign_name=acme", "sign_name=other")
        assert http.get(server.http_port, f"/live/one.flv?{forged}").status == 403, "the signature covers the name"
        wait_until(lambda: sum(row["sessions"] for row in usage(server, "&by=token")) == 5, 5, lambda: str(usage(server, "&by=token")))

    def check_rows():
        rows = {row["token"]: row for row in usage(server, "&by=token")}
        assert {name: row["sessions"] for name, row in rows.items()} == {"acme": 2, "": 2, "other": 1}, rows
        assert all(row["sent_bytes"] > 1000 for row in rows.values()), rows
        assert rows["acme"]["unique_viewers"] == 1 and rows["acme"]["peak_viewers"] == 1, rows
        (day,) = usage(server, "&by=day,vhost,app,stream")
        check(day, day=lambda text: re.fullmatch(r"20\d\d-\d\d-\d\d", text), vhost="__defaultVhost__", app="live", stream="one", sessions=5)
        assert day["sent_bytes"] == sum(row["sent_bytes"] for row in rows.values())
        assert day["received_bytes"] > 1000 and usage(server, "&by=token&token=acme") == [rows["acme"]]
        assert usage(server, "&to=2020-01-01") == []

    wait_until(lambda: not api.streams(server), 10, "all have left")
    check_rows()
    before = usage(server)
    server.stop()
    server.start()
    assert usage(server) == before, "a restart changes nothing"
    check_rows()
    for bad in ("by=color", "from=today"):
        api.ask(server, f"/api/v1/usage?{bad}", status=400)


def test_what_has_no_row_is_counted_together(servers, tmp_path):
    server = servers(top=conf(tmp_path, api.ON, usage="rows 20;"))
    for number in range(14):
        with rtmp.publisher(server, "live", f"s{number}") as client:
            publishing.send_all(client, media.tags(media.plain())[:20])
    wait_until(lambda: sum(row["sessions"] for row in usage(server)) == 14, 10, lambda: str(usage(server)))
    other = [row for row in usage(server) if row["stream"] == "(other)"]
    # A day takes half of the rows.
    assert len(usage(server)) == 11 and other[0]["sessions"] == 4, usage(server)


def test_without_usage(servers):
    server = servers(top=api.ON)
    api.ask(server, "/api/v1/usage", status=404)
    assert api.ask(server, "/api/v1/sessions?action=play")["sessions"] == []


# --- who did it

AUTH = "auth { enabled on; username admin; password secret-word; tokens first-token-0001 second-token-002; read_tokens reading-token-03; } raw_api { enabled on; allow_reload on; }"


def test_changes_are_recorded_with_who_asked(servers, tmp_path):
    server = servers(top=conf(tmp_path, api.CONF % AUTH))
    log = tmp_path / "audit.log"
    admin = {"Authorization": "Basic YWRtaW46c2VjcmV0LXdvcmQ="}
    with rtmp.publisher(server, "live", "one") as client:
        publishing.send_all(client, media.tags(media.plain())[:50])
        with http.Live(server.http_port, "/live/one.flv"):
            (player,) = [one for one in api.ask(server, "/api/v1/clients", **admin)["clients"] if one["type"] == "flv-play"]
            api.ask(server, f"/api/v1/clients/{player['id']}", "DELETE", Authorization="Bearer second-token-002")
            line = wait_line(log, what=f"DELETE /api/v1/clients/{player['id']}")
            check(line, action="api", ip="127.0.0.1", user="token 2", about="flv-play __defaultVhost__/live/one 127.0.0.1", result="200")
            check(wait_line(tmp_path / "access.log", type="flv-play"), reason="kicked")
    api.ask(server, "/api/v1/raw?rpc=reload", **admin)
    check(wait_line(log, what="GET /api/v1/raw rpc=reload"), user="admin", result="200")
    check(wait_line(log, action="reload"), what="API", result="accepted")
    server.conf_path.write_text(server.conf.replace("max_connections 3000;", "max_connections 2000;"))
    server.signal(signal.SIGHUP)
    check(wait_line(log, what="SIGHUP", action="signal"), result="accepted")
    check(wait_line(log, what="SIGHUP", action="reload"), about="max_connections: 3000 -> 2000")
    server.conf_path.write_text("nonsense")
    server.signal(signal.SIGHUP)
    wait_until(lambda: any(one["result"].startswith("refused") for one in lines(log)), 5, log.read_text)
    api.ask(server, "/api/v1/clients/x", "DELETE", status=403, Authorization="Bearer reading-token-03")
    check(wait_line(log, what="DELETE /api/v1/clients/x"), user="read token 1", result="403")
    assert "first-token" not in log.read_text() and "secret-word" not in log.read_text()


# --- the questions of doc/operations.md

def questions():
    """Heading -> the command under it."""
    found, heading = {}, ""
    for line in (ROOT / "doc/operations.md").read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        command = re.match(r"    ((?:curl|grep|objs/srs) .*)", line)
        if command and heading not in found:
            found[heading] = command[1]
    return found


def test_the_five_questions(servers, tmp_path):
    vhosts = default_vhost(vhost="signed_urls { enabled on; secret %s; publish off; }" % signed_urls.SECRET)
    server = servers(top=conf(tmp_path, api.ON), vhosts=vhosts)
    with rtmp.publisher(server, "live", "cam") as client, publishing.Steady(client, media.tags(media.plain())):
        for _ in range(2):
            with http.Live(server.http_port, f"/live/cam.flv?{signed_urls.query('play', stream='cam', name='acme')}", **{"User-Agent": "one"}) as player:
                assert player.tags()
        with http.Live(server.http_port, f"/live/cam.flv?{signed_urls.query('play', stream='cam')}", **{"User-Agent": "two"}) as player:
            assert player.tags()
            (kicked,) = [one for one in api.ask(server, "/api/v1/clients")["clients"] if one["type"] == "flv-play"]
            api.ask(server, f"/api/v1/clients/{kicked['id']}", "DELETE")
            wait_line(tmp_path / "audit.log", action="api")
            wait_line(tmp_path / "access.log", reason="kicked")
    wait_line(tmp_path / "access.log", action="publish")

    def answer(heading):
        commands = [command for name, command in questions().items() if heading in name]
        assert len(commands) == 1, f"one command for {heading!r} in doc/operations.md: {questions()}"
        text = commands[0].replace("127.0.0.1:1985", f"127.0.0.1:{server.api_port}").replace("./objs/", f"{tmp_path}/")
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=scaled(20), check=False)
        assert done.returncode == 0, f"{text}: {done.stderr}"
        return done.stdout

    froze = json.loads(answer("freeze"))["sessions"]
    assert [one["action"] for one in froze] == ["publish", "play", "play", "play"], froze
    assert all(one["skips"] == 0 and "last_stall" in one for one in froze), froze
    published = json.loads(answer("published last night"))["sessions"]
    assert [(one["stream"], one["ip"], one["reason"]) for one in published] == [("cam", "127.0.0.1", "peer-closed")]
    (viewers,) = json.loads(answer("unique viewers"))["usage"]
    check(viewers, unique_viewers=2, peak_viewers=1, stream="cam")
    command = [one for name, one in questions().items() if "customer" in name][0]
    assert "from=2026-11-01" in command
    traffic = json.loads(answer("traffic"))["usage"]
    assert {row["token"] for row in traffic} == {"acme", ""}, traffic
    assert traffic[0]["sent_bytes"] >= traffic[1]["sent_bytes"] > 0, "sorted"
    kick = json.loads(answer("kicked"))
    check(kick, what=f"DELETE /api/v1/clients/{kicked['id']}", ip="127.0.0.1", about=lambda text: "/live/cam" in text)


def test_why_a_url_does_not_play(servers):
    server = servers(top=api.ON)
    (command,) = [one for name, one in questions().items() if "URL" in name]
    words = command.replace("conf/srs.conf", str(server.conf_path)).replace(":8080", f":{server.http_port}").split()
    assert words.pop(0) == "objs/srs", command
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.plain())):
        api.wait_stream(server, "cam")
        code, said = run_once(*words, seconds=scaled(20))
    assert code == 1, said
    for quoted in ("HLS is not enabled in vhost __defaultVhost__", "-> vhost __defaultVhost__ { hls { enabled on; } }"):
        assert quoted in said, f"{quoted!r} should be in\n{said}"
        assert quoted in " ".join((ROOT / "doc/operations.md").read_text().split()), quoted
