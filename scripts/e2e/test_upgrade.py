"""An upgrade without a cut: SIGUSR2 has a new process of the program replace the running one."""

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time

import pytest

from lib import edges, flv, hls, http, media, publishing, rtc, rtc_aiortc, rtmp, rtsp, rtsp_server, srt, timing
from lib.server import default_vhost
from lib.timing import scaled, wait_until
from lib.upgrades import Upgrades, alive, leave

VHOST = default_vhost(play="mw_latency 50;", rejoin=20000)


def live(server, name, **options):
    return publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv", **options))


def wait_tags(player, count, seconds=5, who="a player"):
    wait_until(
        lambda: len([t for t in player.tags if flv.is_frame(t)]) >= count or player.error,
        seconds,
        lambda: f"{count} frames for {who}: {len(player.tags)} tags came, {player.error!r}",
    )
    assert player.error is None, f"{who}: {player.error!r}"


def assert_goes_on(player, who):
    assert player.thread.is_alive() and player.error is None, f"{who}: its connection has ended: {player.error!r}"
    wait_tags(player, len([t for t in player.tags if flv.is_frame(t)]) + 20, who=who)


def test_clients_of_before_stay_and_new_ones_find_them(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        before_flv = live(server, "s")
        before_rtmp = publishing.Collector(rtmp.player(server, "live", "s"))
        wait_tags(before_flv, 20)
        wait_tags(before_rtmp, 20)
        upgrades.upgrade()
        began = time.monotonic()
        after_flv = live(server, "s")
        wait_tags(after_flv, 1, seconds=2, who="a new player of the old process's stream")
        assert time.monotonic() - began < scaled(2)
        after_rtmp = publishing.Collector(rtmp.player(server, "live", "s"))
        wait_tags(after_rtmp, 1, seconds=2, who="a new player by RTMP")
        for who, player in (("FLV of before", before_flv), ("RTMP of before", before_rtmp), ("FLV", after_flv)):
            assert_goes_on(player, who)
        flv.assert_monotonic(after_flv.tags, "the new player")
        assert alive(server.pid), "the old process should last while it has clients"
    # Its last client has left.


def test_the_replaced_process_ends_with_its_last_client(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades:
        with edges.steady(server, "s"):
            player = live(server, "s")
            wait_tags(player, 20)
            upgrades.upgrade()
            assert alive(server.pid), "it has clients"
        leave(player)
        assert server.wait_exit(10) == 0
        assert upgrades.written_pid() == upgrades.pid, "the pid file is the new process's"
        with edges.steady(server, "s"):
            wait_tags(live(server, "s"), 20, who="a player of the new process")


def test_a_publisher_that_returns_comes_to_the_new_process(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades:
        with edges.steady(server, "s"):
            before = live(server, "s")
            wait_tags(before, 20)
            upgrades.upgrade()
            after = live(server, "s")
            wait_tags(after, 20)
        with edges.steady(server, "s"):
            assert_goes_on(after, "a player of the new process, when the publisher has come there")
            assert_goes_on(before, "a player of the old process, when the publisher has come to the new one")


def test_a_name_that_is_live_in_the_old_process(servers):
    server = servers(vhosts=VHOST.replace("publish {", "publish { takeover off;"))
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        upgrades.upgrade()
        with pytest.raises(rtmp.RtmpError, match="is being published already"):
            rtmp.publisher(server, "live", "s")
        wait_tags(live(server, "s"), 20)
        with edges.steady(server, "t"):
            wait_tags(live(server, "t"), 20, who="a player of another name")


def test_several_upgrades_in_a_row(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades:
        for i in range(4):
            before = upgrades.pid
            with edges.steady(server, f"s{i}"):
                player = live(server, f"s{i}")
                wait_tags(player, 10)
                upgrades.upgrade()
                again = live(server, f"s{i}")
                wait_tags(again, 10, who="a player after the upgrade")
                assert_goes_on(player, "a player of before")
            leave(player)
            leave(again)
            upgrades.wait_end(before)


def test_there_is_one_old_process_at_most(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        new = upgrades.upgrade()
        upgrades.ask(new)
        server.wait_log("the process that this one has replaced still has clients")
        upgrades.ask(server.pid)
        server.wait_log(f"process {new} replaces this one already")
        wait_tags(live(server, "s"), 20)


def test_a_broken_configuration(servers):
    server = servers(vhosts=VHOST)
    with edges.steady(server, "s"):
        player = live(server, "s")
        wait_tags(player, 10)
        server.conf_path.write_text(server.conf + "nonsense on;\n")
        os.kill(server.pid, signal.SIGUSR2)
        line = server.wait_log("cannot replace this process, which goes on", 10)
        assert "nonsense" in line, f"the reason should be in the log: {line}"
        assert_goes_on(player, "a player")
        wait_tags(live(server, "s"), 10, who="a new player")
        server.conf_path.write_text(server.conf)
        with Upgrades(server) as upgrades:
            upgrades.upgrade()
            wait_tags(live(server, "s"), 10, who="a player after the second attempt")


@pytest.mark.parametrize("program", ["exit 3", "kill -SEGV $$"], ids=["exits", "crashes"])
def test_a_program_that_does_not_start(servers, tmp_path, program):
    binary = tmp_path / "srs"
    server = servers.make(vhosts=VHOST)
    command = server.command()
    shutil.copy(command[0], binary)
    server.command = lambda *arguments: [str(binary), *command[1:]]
    server.start()
    binary.rename(tmp_path / "before")
    binary.write_text(f"#!/bin/sh\n{program}\n")
    binary.chmod(0o755)
    with edges.steady(server, "s"):
        os.kill(server.pid, signal.SIGUSR2)
        line = server.wait_log("cannot replace this process, which goes on", 10)
        assert ("status 3" in line) == (program == "exit 3"), line
        wait_tags(live(server, "s"), 10, who="a new player")
        assert int(server.pid_path.read_text()) == server.pid


def test_the_new_process_is_killed(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        before = live(server, "s")
        wait_tags(before, 10)
        new = upgrades.upgrade()
        os.kill(new, signal.SIGKILL)
        server.wait_log(f"process {new} has ended: this one accepts clients again")
        assert_goes_on(before, "a player of the old process")
        wait_tags(live(server, "s"), 10, who="a new player, of the old process")
        wait_until(lambda: upgrades.written_pid() == server.pid, 5, "the pid file is the old process's again")


def test_the_old_process_is_killed(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades:
        publisher = edges.steady(server, "s")
        upgrades.upgrade()
        player = live(server, "s")
        wait_tags(player, 10)
        edges.kill(server)
        publisher.stop()
        with edges.steady(server, "s"):
            assert_goes_on(player, "a player of the new process, whose publisher comes again")


# The server's channel is its descriptor 3, as a process that it is to replace has it.
AS_SUCCESSOR = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_the_old_process_dies_before_the_commit(servers):
    server = servers.make(vhosts=VHOST)
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = server.command()
    server.command = lambda *_: [sys.executable, "-c", AS_SUCCESSOR, str(theirs.fileno()), *command]
    theirs.set_inheritable(True)
    server.inherited = (theirs.fileno(),)

    def message(kind):
        came = json.loads(mine.recv(65536) or "{}")
        assert came.get("kind") == kind, f"{kind} was expected, {came} came\n{server.evidence()}"

    with mine:
        mine.settimeout(scaled(10))
        server.spawn(SRS_UPGRADE_CHANNEL="3")
        theirs.close()
        message("hello")
        mine.send(b'{"kind": "start"}')
        message("ready")
    server.wait_log("because the one that it was to replace has died")
    with edges.steady(server, "s"):
        wait_tags(live(server, "s"), 10, who="a player of the process that was to replace another")
    assert int(server.pid_path.read_text()) == server.pid
    server.stop()
    assert not server.pid_path.exists(), "its pid file should be gone"
    assert "bug:" not in server.log() + server.output(), server.evidence()


def test_a_stop_ends_both(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        new = upgrades.upgrade()
        os.kill(new, signal.SIGTERM)
        assert server.wait_exit(10) == 0, "the replaced process should end with its successor"


def test_clients_are_closed_after_the_limit(servers):
    """One after the other: thirty players in a minute, and the publisher behind them."""
    server = servers(top="upgrade_limit 1;\n", vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s") as publisher:
        players = [live(server, "s") for _ in range(30)]
        for player in players:
            wait_tags(player, 1)
        upgrades.upgrade()
        server.wait_log("upgrade_limit has passed: the last clients are closed", 10)

        def closed():
            return sum(not player.thread.is_alive() for player in players)

        wait_until(lambda: closed() >= 3, 10, lambda: f"{closed()} of {len(players)} players are closed")
        assert closed() < 20, f"{closed()} of {len(players)} players were closed at once"
        assert publisher.error is None, f"players come first: {publisher.error!r}"
        wait_tags(live(server, "s"), 10, who="a player that comes again")


def test_players_wait_for_a_publisher(servers):
    server = servers(vhosts=VHOST)
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        upgrades.upgrade()
        waiting = publishing.Collector(rtmp.player(server, "live", "later"))
        with edges.steady(server, "later"):
            wait_tags(waiting, 10, who="a player that came before its publisher")


def test_the_old_process_reloads(servers):
    """By a signal: not because a file has changed, which is the new process's business. Its HLS is that one's, too."""
    server = servers(
        top="inotify_auto_reload on;\n", vhosts=hls.vhost(rejoin=20000, fragment="1", window="8", dispose="60")
    )
    path = server.dir / "html/live/s.m3u8"
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        hls.wait(server, "/live/s.m3u8", lambda playlist: len(playlist.segments) >= 2, 15)
        new = upgrades.upgrade()
        server.conf_path.write_text(server.conf + "\n# changed\n")
        server.wait_log(rf"\[{new}\].*reload: a file changed", 10)
        os.kill(server.pid, signal.SIGHUP)
        server.wait_log(rf"\[{server.pid}\].*reload: SIGHUP")
        before, seen = hls.Playlist(path.read_text()).segments[-1].sequence, {}

        def goes_on():
            for segment in hls.Playlist(path.read_text()).segments:
                known = seen.setdefault(segment.sequence, segment)
                assert segment == known, f"one process should write the playlist: {segment} was {known}"
            return max(seen) >= before + 5

        wait_until(goes_on, 20, lambda: f"five more segments: {seen}")
        opened = [name for name in server.open_files().values() if "/html/live/" in name]
        assert not opened, f"the old process should have no files of HLS: {opened}"
        lines = [line for line in server.log().splitlines() if f"[{server.pid}]" in line and "a file changed" in line]
        assert not lines, f"the old process should not watch its files: {lines}"


def test_a_recording_is_not_cut(servers):
    server = servers(
        vhosts=default_vhost(vhost="dvr { enabled on; dvr_path ./html/[app]/[stream].[timestamp].flv; dvr_plan session; }")
    )
    with Upgrades(server) as upgrades:
        with edges.steady(server, "s") as steady:
            wait_until(lambda: len(steady.sent) > 50, 5, "some frames")
            upgrades.upgrade()
            player = live(server, "s")
            wait_tags(player, 20)
            files = list((server.dir / "html/live").iterdir())
            assert len(files) == 1, f"one process should record it: {files}"
            leave(player)
        assert server.wait_exit(10) == 0
        files = list((server.dir / "html/live").glob("*.flv"))
        assert len(files) == 1, f"one complete recording: {list((server.dir / 'html/live').iterdir())}"
        recorded = [tag for tag in flv.read_file(files[0]) if flv.is_frame(tag)]
        assert len(recorded) >= len(flv.frames(steady.sent)) - 20, f"{len(recorded)} frames of {len(steady.sent)}"


def rtsp_frames(player, count, who):
    before = len(player.frames)
    player.read_frames(5, lambda frames: len(frames) >= before + count)
    assert len(player.frames) >= before + count, f"{count} frames for {who}: {len(player.frames) - before} came"


def test_rtsp_stays_and_finds_streams(servers):
    server = servers(
        top="rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; udp { enabled on; listen 127.0.0.1:UDP_PORT; } }\n".replace(
            "UDP_PORT", str(rtsp_server.port_pair()[0])
        ),
        vhosts=default_vhost(play="mw_latency 50;", vhost="rtsp { enabled on; }", rejoin=20000),
    )
    with Upgrades(server) as upgrades, edges.steady(server, "s") as steady:
        wait_until(lambda: len(steady.sent) > 50, 5, "some frames")
        with rtsp.client(server) as before, rtsp.client(server) as by_udp, rtsp.client(server) as after:
            before.play(rtsp.url(server, "live/s"))
            rtsp_frames(before, 20, "a player of before")
            by_udp.play_udp(rtsp.url(server, "live/s"))
            upgrades.upgrade()
            rtsp_frames(before, 20, "a player of before, after the upgrade")
            assert by_udp.read_datagrams(5, lambda frames: len(frames) >= 20), "a player by UDP should go on"
            # after's connection is the old process's: it was made before the upgrade.
            with rtsp.client(server) as new:
                new.play(rtsp.url(server, "live/s"))
                rtsp_frames(new, 20, "a new player of the old process's stream")
            after.play(rtsp.url(server, "live/s"))
            rtsp_frames(after, 20, "a player whose connection is older than the upgrade")


def test_webrtc_goes_on(servers, tmp_path):
    server = rtc.start(servers, tmp_path)

    async def some(player, what):
        await rtc_aiortc.wait(
            lambda: len(player.video_frames) >= 20, 20, lambda: f"20 frames {what}: {len(player.video_frames)} came"
        )

    async def more(player, what):
        before = player.packets["video"]
        await rtc_aiortc.wait(
            lambda: player.packets["video"] > before + 40, 10, lambda: f"40 more packets {what}: {player.packets}"
        )

    async def scene(upgrades):
        async with rtc_aiortc.Publisher(rtc.whip_url(server), "video/H264") as publisher:
            await publisher.connected()
            async with rtc_aiortc.Player(rtc.whep_url(server)) as before:
                publisher.end = before.end = "close"  # of its resource the new process knows nothing
                await some(before, "for a player before the upgrade")
                await asyncio.to_thread(upgrades.upgrade)
                await more(before, "for a player of before")
                async with rtc_aiortc.Player(rtc.whep_url(server)) as after:
                    await some(after, "for a new player")
                    # Longer than consent (RFC 7675) lasts without answers.
                    await asyncio.sleep(timing.scaled(8))
                    await more(before, "for a player of before, 8 s later")
                    await more(after, "for a new player")

    with Upgrades(server) as upgrades:
        asyncio.run(scene(upgrades))
        assert server.wait_exit(40) == 0


def test_srt_goes_on(servers, tool):
    server = srt.make(servers)
    with Upgrades(server) as upgrades:
        srt.publisher(tool, server, media.plain(), words=("-c", "copy"))
        player = live(server, "s")
        wait_tags(player, 20, 15)
        upgrades.upgrade()
        assert_goes_on(player, "a player of before")
        wait_tags(live(server, "s"), 20, who="a new player of a stream that comes by SRT")
        assert_goes_on(player, "a player of before")


def test_a_standby_of_a_name_that_has_gone_is_told(servers):
    server = servers(vhosts=default_vhost(play="mw_latency 50;", publish="standby on;", rejoin=20000))
    with Upgrades(server) as upgrades:
        active = edges.steady(server, "s")
        server.wait_log("RTMP publish: __defaultVhost__/live/s")
        standby = edges.steady(server, "s")
        server.wait_log("as a standby")
        before = live(server, "s")
        upgrades.upgrade()
        active.stop()
        active.client.close()
        server.wait_log("fmle-publish ended")
        # It comes to the new process before the one that waits has taken over.
        with edges.steady(server, "s"):
            wait_until(lambda: standby.error, 10, "the standby of the old process is closed")
            standby.client.close()
            with edges.steady(server, "s") as again:
                server.wait_log(rf"\[{upgrades.pid}\].*as a standby", 10)
                assert_goes_on(before, "a player of the old process")
                assert again.error is None
