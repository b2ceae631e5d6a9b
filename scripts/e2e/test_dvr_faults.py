"""DVR when things go wrong: kill -9, a quick end, full, slow and missing disks. The stream lives in each case, what was
recorded stays, and recording goes on."""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from lib import api, dvr, flv, media, publishing, rtmp
from lib.timing import scaled, wait_until

FORMATS = ["flv", "mp4"]


def recorder(servers, form, environment=None, path="./rec/[app]/[stream].[timestamp]", **directives):
    return servers(top=api.DEBUG, vhosts=dvr.vhost(f"{path}.{form}", **directives), environment=environment)


def steady(server, name="one", speed=1):
    """A publisher in a loop."""
    return publishing.Steady(rtmp.publisher(server, "live", name), media.tags(media.plain()), speed=speed)


def assert_stream_lives(server, name="one"):
    player = rtmp.player(server, "live", name)
    try:
        wait_until(lambda: any(flv.is_frame(tag) for tag in player.tags()), 5, "frames of the stream")
    finally:
        player.close()


def kill(server):
    server.signal(signal.SIGKILL)
    server.process.wait()


def restart(server):
    server.process = None
    server.log_path.unlink()
    return server.start()


def duration(path):
    """Of what can be played, ms: from the first packet to the end of the last."""
    tracks = dvr.packets(path)
    return max(track[-1][2] - track[0][2] for track in tracks.values())


@pytest.mark.parametrize("form", FORMATS)
def test_kill_9_costs_a_second_at_most_and_the_next_start_finishes(servers, form):
    server = recorder(servers, form)
    with steady(server) as publisher:
        growing = dvr.wait_growing(server, 40_000)
        time.sleep(2)
        sent = publisher.sent[-1].timestamp
        kill(server)
    left = duration(growing)
    assert left >= sent - 1300, f"{sent} ms were sent, {left:.0f} ms can be played of what kill -9 left"
    assert growing.exists() and not dvr.files(server)

    began = time.monotonic()
    restart(server)
    (recorded,) = dvr.wait_files(server, 1, seconds=5)
    took = time.monotonic() - began
    assert str(recorded) == str(growing)[: -len(".tmp")]
    server.wait_log("left by an earlier run")
    server.wait_log(f"{recorded.name} is complete: .* left by an earlier run")
    assert duration(recorded) >= left - 1, f"{left:.0f} ms could be played before, {duration(recorded):.0f} ms now ({took:.1f} s)"
    dvr.check_clean(recorded)
    if form == "flv":
        dvr.assert_flv_head(recorded)
    else:
        assert "moof" not in dvr.boxes(recorded), dvr.boxes(recorded)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.long
def test_killed_at_any_moment(servers, form):
    """Short segments of several streams, so that files begin, end and are finished when it comes."""
    server = recorder(servers, form, dvr_plan="segment", dvr_duration=1)
    sources = [media.frequent_keyframes(), media.with_b_frames()]
    for turn in range(5):
        publishers = [
            publishing.Steady(rtmp.publisher(server, "live", f"s{number}"), media.tags(sources[number % 2]))
            for number in range(4)
        ]
        time.sleep(random.uniform(0.05, 1.5))
        kill(server)
        for publisher in publishers:
            publisher.stop()
            publisher.client.close()
        restart(server)
        wait_until(lambda: not dvr.growing(server), 5, lambda: f"turn {turn}: there still grow {dvr.growing(server)}")
        assert "cannot be finished" not in server.log(), server.log()
        for path in dvr.files(server):
            dvr.check_packets(path)
            path.unlink()


@pytest.mark.parametrize("form", FORMATS)
def test_a_torn_end_is_cut_off(servers, form):
    """Whatever the last bytes are: half a tag or fragment, zeros, garbage."""
    server = recorder(servers, form)
    with steady(server, speed=4):
        growing = dvr.wait_growing(server, 130_000)  # several fragments
        kill(server)
    whole = growing.read_bytes()
    for cut, tail in ((1, b""), (700, b""), (0, bytes(4096)), (0, os.urandom(3000))):
        growing.write_bytes(whole[: len(whole) - cut] + tail)
        for path in dvr.files(server):
            path.unlink()
        journal = f"+\t__defaultVhost__\tlive\tone\t{growing.relative_to(server.dir)}\t"
        journal += f"{growing.relative_to(server.dir)}"[:-4] + "\n"
        (server.dir / "objs" / "dvr.journal").write_text(journal.replace("\trec", "\t./rec"))
        restart(server)
        (recorded,) = dvr.wait_files(server, 1, seconds=5)
        dvr.check_clean(recorded)
        if form == "flv":
            dvr.assert_flv_head(recorded)
        kill(server)
    restart(server)


def test_leftovers_of_others_are_not_touched(servers):
    """The journal may name anything: only what lies below a dvr_path and is a recording of ours is changed."""
    server = recorder(servers, "flv")
    server.stop()
    outside, foreign = server.dir / "outside.flv.tmp", server.dir / "rec" / "foreign.flv.tmp"
    foreign.parent.mkdir(exist_ok=True)
    for path in (outside, foreign):
        path.write_bytes(flv.header() + b"".join(map(flv.encode, media.tags(media.plain()))))
    before = [path.read_bytes() for path in (outside, foreign)]
    link = server.dir / "rec" / "link.flv.tmp"
    link.symlink_to(outside)
    names = ("./outside.flv", "./rec/foreign.flv", "./rec/../outside.flv", "./rec/link.flv", "./rec/missing.flv")
    lines = [f"+\tv\tlive\tx\t{name}.tmp\t{name}\n" for name in names]
    (server.dir / "objs").mkdir(exist_ok=True)
    (server.dir / "objs" / "dvr.journal").write_text("".join(lines) + "garbage\n+\thalf a li")
    restart(server)
    server.wait_log("foreign.flv.tmp cannot be finished")
    server.wait_log("missing.flv.tmp does not exist")
    server.wait_log("link.flv.tmp is no plain file")
    assert [path.read_bytes() for path in (outside, foreign)] == before
    assert not (server.dir / "outside.flv").exists() and not dvr.files(server)


@pytest.mark.parametrize("form", FORMATS)
def test_term_completes_the_file(servers, form):
    server = recorder(servers, form)
    with steady(server):
        dvr.wait_growing(server, 40_000)
        server.stop()
    assert not dvr.growing(server)
    (recorded,) = dvr.files(server)
    dvr.check_clean(recorded)


def test_directory_removed(servers):
    """The file ends with an error, the stream lives, the next file makes the directory anew."""
    server = recorder(servers, "flv")
    with steady(server, speed=4):
        dvr.wait_growing(server, 40_000)
        shutil.rmtree(server.dir / "rec")
        server.wait_log(r"\[error\].*was removed while it grew", seconds=10)
        dvr.wait_growing(server, 40_000)
        server.wait_log("recording goes on")
        assert_stream_lives(server)
    (recorded,) = dvr.wait_files(server, 1)
    dvr.check_clean(recorded)


@pytest.mark.parametrize("form", FORMATS)
def test_no_permission(servers, form):
    """A file stands where a directory should be; as soon as it is gone recording begins."""
    server = servers.make(vhosts=dvr.vhost(f"./rec/[stream].[timestamp].{form}"))
    (server.dir / "rec").write_text("in the way")
    server.start()
    with steady(server, speed=4):
        server.wait_log(r"\[error\].*dvr: .*another file begins in 2 s")
        assert_stream_lives(server)
        (server.dir / "rec").unlink()
        dvr.wait_growing(server, 60_000)
        server.wait_log("recording goes on")
    dvr.check_clean(dvr.wait_files(server, 1)[0])


@pytest.mark.parametrize("form", FORMATS)
def test_disk_full(servers, form):
    """On a small tmpfs: what fits is kept, the stream lives, and within 10 s of space returning it is recorded again."""
    server = servers.make(vhosts=dvr.vhost(f"./rec/[stream].[timestamp].{form}", dvr_keyframes=16))
    rec = server.dir / "rec"
    rec.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", rec], capture_output=True).returncode != 0:
        pytest.skip("mounting needs root")
    try:
        (rec / "ballast").write_bytes(bytes(768 * 1024))
        server.start()
        with steady(server, speed=4):
            server.wait_log(r"\[error\].*dvr: .*No space left", seconds=20)
            assert_stream_lives(server)
            (rec / "ballast").unlink()
            for path in dvr.files(server):
                path.unlink()
            server.wait_log("recording goes on", seconds=10)
        server.wait_log("is complete")
        recorded = wait_until(lambda: not dvr.growing(server) and dvr.files(server), 10, "a complete file")
        dvr.check_clean(recorded[-1])
        server.stop()
    finally:
        subprocess.run(["umount", "-l", rec], check=True)


def test_slow_disk(servers, tmp_path):
    """Two seconds of delay for each write: the loop is not held up, and what is recorded is whole."""
    fault = tmp_path / "fault"
    server = recorder(servers, "flv", environment={"DISK_FAULT": f"@{fault}"})
    with steady(server):
        dvr.wait_growing(server, 40_000)
        fault.write_text("path=rec/ op=write delay_ms=2000")
        time.sleep(3)
        assert_stream_lives(server)
        fault.unlink()
    (recorded,) = dvr.wait_files(server, 1, seconds=20)
    dvr.check_clean(recorded)
    dvr.assert_flv_head(recorded)
    # A write that held up the loop would do so for about two seconds; a loaded machine may for a moment.
    assert api.blocked_ms(server) < 1000, f"the loop was blocked for {api.blocked_ms(server)} ms"


def test_write_errors_are_told_and_over_when_they_end(servers, tmp_path):
    fault = tmp_path / "fault"
    server = recorder(servers, "mp4", environment={"DISK_FAULT": f"@{fault}"})
    with steady(server, speed=4):
        dvr.wait_growing(server, 80_000)
        fault.write_text("path=rec/ op=write error=EIO")
        api.explained(server, "one", "outputs", "dvr: .*Input/output error")
        assert_stream_lives(server)
        # The file that was cut off is complete meanwhile, and further ones have failed.
        time.sleep(scaled(4.5))
        api.explained(server, "one", "outputs", "dvr: .*Input/output error", seconds=0)
        fault.unlink()
        api.explained(server, "one", "outputs", "none reports a problem", verdict="ok")
    recorded = wait_until(lambda: not dvr.growing(server) and dvr.files(server), 10, "complete files")
    for path in recorded:
        dvr.check_clean(path)
