"""The process among its operators' tools: signals, log rotation, the form of a log line, a session's last line."""

import os
import re
import signal
import socket
import time
from pathlib import Path

import pytest

from lib import flv, http, media, publishing, rtmp
from lib.server import can_connect, default_vhost
from lib.timing import SLOW, scaled, wait_until

LINE = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})\]\[(\w+)\]\[(\d+)\]\[([\w-]*)\]\[(\d+)\] ?(.*)$")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_term_and_int_end_at_once(server, number):
    """Also in the middle of work."""
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        player = rtmp.player(server, "live", "s")
        began = time.monotonic()
        server.signal(number)
        code = server.wait_exit(5)
        took = time.monotonic() - began
        player.close()
    assert code == 0, f"the exit code should be 0, it is {code}"
    assert took < 1 * SLOW, f"it should end at once, it took {took:.1f} s"


def test_quit_waits_for_the_old(servers):
    """No new connections; the viewer that is there goes on until the limit."""
    limit_ms = int(scaled(3000))
    server = servers(top=f"grace_start_wait 300; grace_limit {limit_ms}; grace_final_wait 100;")
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        watcher = publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(10)))
        wait_until(lambda: len(watcher.tags) > 20, 5, "the viewer sees the stream")
        began = time.monotonic()
        server.signal(signal.SIGQUIT)
        wait_until(lambda: not can_connect(server.rtmp_port), 5, "no new connection is taken")
        seen = len(watcher.tags)
        wait_until(
            lambda: len(watcher.tags) > seen + 10,
            2,
            lambda: f"the viewer should go on; the server lives: {server.alive()}, frames since: {len(watcher.tags) - seen}",
        )
        assert server.alive()
        code = server.wait_exit(15)
        took = time.monotonic() - began
    assert code == 0, f"the exit code should be 0, it is {code}"
    assert took > limit_ms / 1000 - 0.5, f"it should wait for the viewer up to its limit; it ended after {took:.1f} s"


def test_quit_ends_when_the_last_has_left(servers):
    server = servers(top="grace_start_wait 100; grace_final_wait 200;")
    client = rtmp.publisher(server, "live", "s")
    publishing.send_all(client, media.tags(media.plain())[:20])
    server.signal(signal.SIGQUIT)
    client.close()
    assert server.wait_exit(5) == 0, "it should end well"


def test_force_grace_quit_makes_term_graceful(servers):
    server = servers(top="force_grace_quit on; grace_start_wait 1500; grace_final_wait 500;")
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    assert server.wait_exit(10) == 0, "it should end well"
    assert time.monotonic() - began > 1.2, "TERM should wait as QUIT does"


@pytest.mark.valgrind
def test_usr1_reopens_the_log(server):
    rotated = server.dir / "srs.log.1"
    rtmp.publisher(server, "live", "before").close()
    server.wait_log("live/before")
    server.log_path.rename(rotated)
    server.signal(signal.SIGUSR1)
    wait_until(server.log_path.exists, 5, "a new log file is there")
    rtmp.publisher(server, "live", "after").close()
    server.wait_log("live/after")
    assert "live/after" not in rotated.read_text(), "after USR1 the old file should be left alone"


def test_log_lines(servers):
    server = servers(vhosts=default_vhost(play="mw_latency 0;"))
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, media.tags(media.plain())[:60])
        rtmp.player(server, "live", "s").close()
    server.wait_log("live/s.*bytes|bytes.*live/s")
    server.stop()
    lines = server.log().splitlines()
    assert len(lines) > 3, lines
    for line in lines:
        match = LINE.match(line)
        assert match, f"a line should read [time][level][pid][context id][errno] text: {line!r}"
        assert int(match.group(3)) == server.pid, f"the process is {server.pid}: {line!r}"


@pytest.mark.parametrize("level, shown", [("error", False), ("trace", True)])
def test_log_level(servers, level, shown):
    server = servers(top=f"srs_log_level {level};")
    rtmp.publisher(server, "live", "s").close()
    time.sleep(scaled(0.3))
    server.stop()
    assert ("live/s" in server.log()) == shown, f"at level {level} a session should be logged: {shown}\n{server.log()}"


ENDS = {
    "rtmp-play": lambda server: rtmp.player(server, "live", "s"),
    "flv-play": lambda server: http.Live(server.http_port, "/live/s.flv"),
    "fmle-publish": lambda server: rtmp.publisher(server, "live", "own"),
    "flash-publish": lambda server: rtmp.publisher(server, "live", "own", fmle=False),
}


def test_the_end_of_who_never_began(servers):
    """Connections that never publish, play or ask are told apart too."""
    server = servers()
    mark = server.log_mark()
    with rtmp.Client("127.0.0.1", server.rtmp_port).handshake() as client:
        client.connect("live")
    server.wait_log(r"\brtmp ended: - from 127\.0\.0\.1, closed by the peer", 5, mark)
    mark = server.log_mark()
    socket.create_connection(("127.0.0.1", server.http_port)).close()
    server.wait_log(r"\bhttp ended: - from 127\.0\.0\.1, closed by the peer", 5, mark)
    assert "unknown" not in server.log(), server.log()


@pytest.mark.parametrize("kind", ENDS)
def test_a_sessions_end_is_one_line(servers, kind):
    """Who, what, how long, how many bytes, and why; with the id that its other lines have."""
    server = servers(vhosts=default_vhost(play="mw_latency 0;"))
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, media.tags(media.plain())[:60])
        mark = server.log_mark()
        session = ENDS[kind](server)
        if kind.endswith("play"):
            while not flv.frames(session.tags()):
                pass
        else:
            publishing.send_all(session, media.tags(media.plain())[:60])
        session.close()
        line = server.wait_log(rf"{kind} ended", 5, mark)
    text = LINE.match(line).group(6)
    for what, pattern in (
        ("who", r"127\.0\.0\.1"),
        ("what", r"live/(s|own)"),
        ("how long", r"\d+(\.\d+)? ?(ms|s)\b"),
        ("bytes received", r"received [1-9]\d* bytes"),
        ("bytes sent", r"sent [1-9]\d* bytes"),
        ("why", r"closed|end of stream|left|unpublish"),
    ):
        assert re.search(pattern, text), f"the last line of a {kind} session should say {what}: {line}"
    assert LINE.match(line).group(4), f"the line should carry the session's id: {line}"


@pytest.mark.skipif(SLOW > 1, reason="the sanitizers and valgrind have heaps of their own")
@pytest.mark.parametrize("tunables", [None, "", "glibc.malloc.tcache_count=3"], ids=["not-set", "empty", "others"])
def test_large_pages_for_the_heap(servers, tunables):
    """Requested by the server itself where the kernel leaves it to programs, unless the operator has decided."""
    mode = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not mode.exists() or "[madvise]" not in mode.read_text(encoding="ascii"):
        pytest.skip("the kernel decides about large pages here")
    server = servers.make()
    environment = {name: value for name, value in os.environ.items() if name not in ("GLIBC_TUNABLES", "LD_PRELOAD")}
    if tunables is not None:
        environment["GLIBC_TUNABLES"] = tunables
    server.environment = lambda: environment
    server.start()
    process = Path(f"/proc/{server.process.pid}")
    assert (process / "comm").read_text() == "srs\n", "the process should have the program's name"
    heap = re.search(r"\[heap\]\n(?:.*\n)*?VmFlags:(.*)", (process / "smaps").read_text())
    assert heap, "the process should have a heap"
    wanted = tunables is None
    assert ("hg" in heap.group(1).split()) == wanted, (
        f"with GLIBC_TUNABLES {tunables!r} large pages should {'' if wanted else 'not '}be requested: {heap.group(1)}"
    )


def metric(server, name):
    text = http.get(server.api_port, "/metrics").body.decode()
    return float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE).group(1))


@pytest.mark.quiet
def test_a_pause_of_the_process(servers):
    """Stopped for a while, as a machine that moves: one line with the length, no stall of the loop, and nobody is thrown out."""
    server = servers(top="http_api { enabled on; listen 127.0.0.1:API_PORT; }\nexporter { enabled on; }")
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        player = publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(10)))
        wait_until(lambda: len(player.tags) > 20, 5, "the player sees the stream")
        mark = server.log_mark()
        server.signal(signal.SIGSTOP)
        time.sleep(3)
        server.signal(signal.SIGCONT)
        server.wait_log("the process stood still for", since=mark)
        seen = len(player.tags)
        wait_until(lambda: len(player.tags) > seen + 50, 5, "the player goes on")
        lines = server.log()
        (length,) = re.findall(r"the process stood still for (\d+) ms", lines)
        assert 2500 < int(length) < 4000, f"a pause of 3,000 ms was expected, the log says {length}"
        assert not re.findall(r"stalled for \d{4}", lines), lines
        assert metric(server, "srs_process_pauses_total") == 1
        assert 2.5 < metric(server, "srs_process_paused_seconds_total") < 4
        player.source.close()
