"""Upgrades one after the other while publishers and players of every protocol are there (lib/crowd.py)."""

import os
import shutil
import signal
import time

import pytest

from lib import crowd, edges, flv, http, publishing
from lib.timing import VALGRIND, scaled, wait_until
from lib.upgrades import Upgrades, leave

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.skipif(VALGRIND, reason="hundreds of players are too many for valgrind"),
]


def start(servers, **options):
    return servers(**crowd.conf(**options))


def new_players(server, names):
    """Of each stream the first frame must come within 2 s."""
    for name in names:
        began = time.monotonic()
        player = publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv"))
        wait_until(
            lambda player=player: any(map(flv.is_frame, player.tags)) or player.error,
            2,
            lambda player=player, name=name: f"a frame of {name} for a new player: {len(player.tags)} tags, {player.error!r}",
        )
        assert player.error is None, f"a new player of {name}: {player.error!r}"
        assert time.monotonic() - began <= scaled(2)
        leave(player)


def one_of_each(load):
    return [f"{kind}0" for kind in load.counts]


def judge_watchers(watchers, segments):
    problems = []
    for watcher in watchers:
        watcher.stop()
        problems += [f"HLS of {watcher.name}: {text}" for text in watcher.problems[:10]]
        if len(watcher.seen) < segments:
            problems.append(f"HLS of {watcher.name}: {segments} segments were expected, {watcher.seen} came")
    return problems


@pytest.mark.parametrize(
    "rounds, publishers, players",
    [pytest.param(2, 20, 100, id="few"), pytest.param(20, 20, 500, id="many", marks=[pytest.mark.long, pytest.mark.serial])],
)
def test_upgrades_under_load(servers, tmp_path, rounds, publishers, players):
    """Who is there before an upgrade stays with the old process, and leaves when it has gone on there for a while: there
    is one old process at most. Publishers come again with their names in the next round."""
    server, problems, watchers = start(servers), [], []
    with Upgrades(server) as upgrades:
        for number in range(rounds):
            before = upgrades.pid
            with crowd.Crowd(server, tmp_path, publishers, players) as load:
                load.wait_players()
                watchers = watchers or [crowd.Hls(server, name) for name in one_of_each(load)]
                upgrades.upgrade()
                new_players(server, one_of_each(load))
                time.sleep(scaled(3))
                problems += [f"round {number}: {text}" for text in load.leave()]
            upgrades.wait_end(before, 20)
        problems += judge_watchers(watchers, 3 * rounds)
    recordings = [path.name for path in (server.dir / "recordings").iterdir()]
    if len(recordings) != rounds * crowd.RECORDED or not all(name.endswith(".flv") for name in recordings):
        problems.append(f"{rounds} recordings of each: {sorted(recordings)}")
    assert not problems, "\n".join(problems)


@pytest.mark.long
def test_sessions_of_before_have_media_a_minute_later(servers, tmp_path):
    """Longer than consent (RFC 7675), and than what WebRTC and SRT take for the end of a peer."""
    server = start(servers)
    with Upgrades(server) as upgrades, crowd.Crowd(server, tmp_path, 20, 100) as load:
        load.wait_players()
        upgrades.upgrade()
        time.sleep(scaled(60))
        problems = load.leave()
    assert not problems, "\n".join(problems)


def break_configuration(server):
    server.conf_path.write_text(server.conf + "nonsense on;\n")


def break_program(server):
    binary = server.dir / "srs"
    binary.rename(server.dir / "srs-before")
    binary.write_text("#!/bin/sh\nkill -SEGV $$\n")
    binary.chmod(0o755)


@pytest.mark.parametrize("damage", [break_configuration, break_program])
def test_an_upgrade_that_fails_under_load(servers, tmp_path, damage):
    """Nobody notices."""
    server = servers.make(**crowd.conf())
    shutil.copy(server.command()[0], server.dir / "srs")
    server.command = lambda *_: [str(server.dir / "srs"), "-c", str(server.conf_path)]
    server.start()
    with crowd.Crowd(server, tmp_path, 20, 100) as load:
        load.wait_players()
        damage(server)
        os.kill(server.pid, signal.SIGUSR2)
        server.wait_log("cannot replace this process, which goes on", 10)
        new_players(server, one_of_each(load))
        time.sleep(scaled(1))
        problems = load.leave()
    assert not problems, "\n".join(problems)


def test_the_new_process_is_killed_under_load(servers, tmp_path):
    """All are with the old process, which has the sockets, too, and HLS again."""
    server = start(servers)
    with Upgrades(server) as upgrades, crowd.Crowd(server, tmp_path, 20, 100) as load:
        load.wait_players()
        new = upgrades.upgrade()
        new_players(server, one_of_each(load))
        os.kill(new, signal.SIGKILL)
        server.wait_log(f"process {new} has ended: this one accepts clients again")
        new_players(server, one_of_each(load))
        watchers = [crowd.Hls(server, name) for name in one_of_each(load)]
        time.sleep(scaled(3))
        problems = judge_watchers(watchers, 3)
        # Requests that the new process had are gone with it.
        problems += load.leave(but=("Hls", "LowLatency", "Dash"))
    assert not problems, "\n".join(problems)


def test_the_old_process_is_killed_under_load(servers, tmp_path):
    """Its clients come again, and find the new one."""
    server = start(servers)
    with Upgrades(server) as upgrades:
        with crowd.Crowd(server, tmp_path, 20, 100) as load:
            load.wait_players()
            watchers = [crowd.Hls(server, name) for name in one_of_each(load)]
            upgrades.upgrade()
            new_players(server, one_of_each(load))
            edges.kill(server)
        with crowd.Crowd(server, tmp_path, 20, 100) as load:
            load.wait_players()
            new_players(server, one_of_each(load))
            time.sleep(scaled(1))
            problems = judge_watchers(watchers, 3) + load.leave()
        recordings = [path.name for path in (server.dir / "recordings").iterdir()]
        if len(recordings) != 2 * crowd.RECORDED:
            problems.append(f"two recordings of each: {sorted(recordings)}")
    assert not problems, "\n".join(problems)
