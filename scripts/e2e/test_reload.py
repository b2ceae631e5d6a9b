"""HUP: what changes in the configuration is in force for whoever comes next, and disturbs nobody who is there."""

import re
import signal
import socket
import time

import pytest

from lib import api, dvr, flv, hls, http, media, publishing, rtmp
from lib.server import can_connect, default_vhost
from lib.timing import scaled, wait_until


def reload(server, *changes, expect=r"reload: .* changes, \d+ of them in force"):
    """Writes the configuration with these replacements, (old, new), and has it read. The log's line about it."""
    text = server.conf_path.read_text()
    for old, new in changes:
        assert old in text, f"{old!r} should be in\n{text}"
        text = text.replace(old, new)
    server.conf_path.write_text(text)
    mark = server.log_mark()
    server.signal(signal.SIGHUP)
    return server.wait_log(expect, 5, mark)


@pytest.fixture
def live(servers):
    """A server with a publisher, and viewers that see that they miss nothing."""
    server = servers(vhosts=default_vhost(play="mw_latency 100; gop_cache on;", publish="takeover off;"))
    tags = media.from_keyframe(media.frequent_keyframes())
    by_rtmp = publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(20)))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags) as steady:
        server.steady = steady
        time.sleep(0.3)
        by_http = publishing.Collector(http.Live(server.http_port, "/live/s.flv", timeout=scaled(20)))
        yield server
        time.sleep(0.3)
        assert steady.error is None, f"the publisher was disturbed: {steady.error}"
    flv.assert_same(steady.sent, by_rtmp.finish(scaled(20), "the RTMP viewer"), "the RTMP viewer")
    got, sent = flv.frames(by_http.finish(scaled(20), "the HTTP-FLV viewer")), flv.frames(steady.sent)
    assert got and [tag.body for tag in got] == [tag.body for tag in sent[-len(got) :]], "the HTTP-FLV viewer"


def chunk_size_of(server, **options):
    with rtmp.Client("127.0.0.1", server.rtmp_port, timeout=scaled(5)).handshake() as client:
        client.connect("live", **options)
        return client.reader.chunk_size


def test_new_values_are_for_who_comes_next(live):
    assert chunk_size_of(live) == 60000
    line = reload(live, ("vhost __defaultVhost__ {", "vhost __defaultVhost__ { chunk_size 4096;"))
    assert "1 changes, 1 of them in force" in line, line
    assert chunk_size_of(live) == 4096, "a new connection should have the new chunk size"


def first_frame_against_the_edge(server):
    """How far in time a new viewer's first video frame is from the newest that was published when it asked, ms."""
    newest = server.steady.sent[-1].timestamp
    with rtmp.player(server, "live", "s", timeout=scaled(20)) as viewer:
        video = []
        while not video:
            video = [tag for tag in flv.frames(viewer.tags()) if tag.type == flv.VIDEO]
    assert flv.is_keyframe(video[0]), f"a viewer should begin with a keyframe, not with {video[0].describe()}"
    return video[0].timestamp - newest


def test_play_directives_of_a_live_stream(live):
    """gop_cache is asked when a viewer comes, also to a stream that has begun before."""
    # A keyframe may be under way just then: of several viewers one is enough to tell.
    cached = min(first_frame_against_the_edge(live) for _ in range(3))
    assert cached <= 0, f"with the gop cache a viewer begins in the past; it began {cached} ms later"
    reload(live, ("gop_cache on;", "gop_cache off;"), ("mw_latency 100;", "mw_latency 0;"))
    later = sorted(first_frame_against_the_edge(live) for _ in range(3))[1]
    assert later > 0, f"without the gop cache a viewer begins with what is yet to come; it began {-later} ms before"


def test_takeover_switched_on(live):
    tags = media.from_keyframe(media.plain())[:100]
    with rtmp.publisher(live, "live", "other") as first:
        publishing.send_all(first, tags)
        with pytest.raises(rtmp.Refused):
            rtmp.publisher(live, "live", "other")
        reload(live, ("takeover off;", "takeover on;"))
        with rtmp.publisher(live, "live", "other") as second:
            publishing.send_all(second, tags)


def test_vhosts_come_and_go(live):
    tc_url = "rtmp://more.example/live"
    live_vhost = "\nvhost more.example { chunk_size 1000; }\n"
    before = chunk_size_of(live, tc_url=tc_url)
    reload(live, ("vhost __defaultVhost__", live_vhost + "vhost __defaultVhost__"))
    assert (before, chunk_size_of(live, tc_url=tc_url)) == (60000, 1000), "the new vhost should be in force"
    reload(live, (live_vhost, "\nvhost more.example { enabled off; }\n"))
    with pytest.raises(rtmp.Refused), rtmp.player(live, "live", "s", tc_url=tc_url):
        pass
    reload(live, ("\nvhost more.example { enabled off; }\n", ""))
    assert chunk_size_of(live, tc_url=tc_url) == 60000, "what is not there any more is the default vhost's again"


def test_log_level(live):
    reload(live, ("daemon off;", "daemon off;\nsrs_log_level info;"))
    mark = live.log_mark()
    http.get_status(live.http_port, "/nothing")
    live.wait_log(r"\[info\].*HTTP GET /nothing", 5, mark)


def test_what_needs_a_restart_is_said(live):
    line = reload(
        live,
        (f"listen 127.0.0.1:{live.rtmp_port}", "listen 127.0.0.1:1"),
        expect=r"reload: .*listen.* needs a restart; the old value stays",
    )
    assert "[warn]" in line, line
    assert chunk_size_of(live) == 60000, "the old address should still be listened on"


def test_a_broken_file_changes_nothing(live):
    line = reload(live, ("mw_latency 100;", "mw_latency soon; chunk_sice 5;"), expect=r"nothing was changed")
    assert "[error]" in line, line
    log = live.log()
    assert "mw_latency" in log and "chunk_sice" in log, "each error should be said"
    assert chunk_size_of(live) == 60000
    line = reload(live, ("mw_latency soon; chunk_sice 5;", "mw_latency 50;"))
    assert "1 changes, 1 of them in force" in line, line


HLS_OFF = "hls { enabled off; hls_fragment 0.5; hls_window 60; hls_path ./html; hls_ctx off; hls_wait_keyframe off; }"
PLAYLIST = "/live/s.m3u8"


def with_block(block):
    return ("vhost __defaultVhost__ {", f"vhost __defaultVhost__ {{ {block}")


def test_hls_is_switched_on_and_off(live):
    """For a stream that is being published; its playlist begins with the switch, and ends with it."""
    reload(live, with_block(HLS_OFF))
    assert hls.get(live, PLAYLIST) is None, "no HLS is there while it is off"
    reload(live, ("hls { enabled off;", "hls { enabled on;"))
    hls.wait(live, PLAYLIST, lambda playlist: len(playlist.segments) >= 2, what="two segments")
    reload(live, ("hls { enabled on;", "hls { enabled off;"))
    ended = hls.wait_end(live, PLAYLIST)
    for segment in ended.segments:
        assert hls.fetch(live, PLAYLIST, segment.uri), f"{segment.uri} should be complete"
    reload(live, ("hls { enabled off;", "hls { enabled on;"))
    again = hls.wait(live, PLAYLIST, lambda p: p.sequence + len(p.segments) > ended.sequence + len(ended.segments))
    assert not again.ended, f"it goes on:\n{again.text}"


def test_dvr_is_switched_on_and_off(live):
    """A recording begins and ends with the switch, and is a whole file; each time a new one."""
    block = "dvr { enabled on; dvr_path ./rec/[app]/[stream].[timestamp].flv; dvr_plan session; }"
    for count in (1, 2):
        reload(live, with_block(block))
        dvr.wait_growing(live, 10_000)
        reload(live, (block, ""))
        files = dvr.wait_files(live, count)
        tags = flv.read_file(files[-1])
        assert len(flv.frames(tags)) > 5, f"{files[-1]} should have frames, it has {len(tags)} tags"
    wait_until(lambda: not dvr.growing(live), 5, "nothing grows any more")


def test_a_check_opens_no_port_and_makes_no_file(servers):
    server = servers.make(top=api.ON + "hook_outbox DIRECTORY/outbox/reports;\n")
    server.conf_path.write_text(server.conf.replace("DIRECTORY", str(server.dir)))
    server.start()
    caster = "stream_caster { enabled on; caster flv; listen 127.0.0.1:%d; output rtmp://127.0.0.1/[app]/[stream]; }\n"
    hooks = "vhost __defaultVhost__ { http_hooks { enabled on; outbox on; on_unpublish http://127.0.0.1:1/; }"

    def check():
        answer = api.ask(server, "/api/v1/config/changes")
        assert not (server.dir / "outbox").exists(), f"a check makes no file: {answer}"
        return answer

    holder = socket.create_server(("127.0.0.1", 0))
    port = holder.getsockname()[1]
    problem = f"caster: stream_caster.listen: binding to 127.0.0.1:{port}"
    text = server.conf_path.read_text().replace("vhost __defaultVhost__ {", hooks)
    server.conf_path.write_text(caster % port + text)
    with holder:
        answer = check()
        assert not answer["ok"] and "cannot be put in force" in answer["error"], answer
        assert [one for one in answer["problems"] if one.startswith(problem) and "in use" in one], answer
    answer = check()
    assert answer["ok"] and not answer["error"], answer
    assert not can_connect(port), "a check opens no port"
    with socket.create_server(("127.0.0.1", port)):
        server.signal(signal.SIGHUP)
        server.wait_log(rf"reload: {re.escape(problem)}.* in use", 5)
    server.signal(signal.SIGHUP)
    server.wait_log(r"reload: .* changes, \d+ of them in force", 5)
    assert can_connect(port) and (server.dir / "outbox/reports").exists(), "a reload opens them"
