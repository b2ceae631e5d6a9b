"""HLS when things go wrong: kill -9, restarts, publishers that come and go, full, slow and missing disks, times that
jump, keyframes that are rare, tracks that come late.

SRS_HLS_KILLS=1000      how often the server is killed while it writes; 20 unless given"""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from lib import api, flv, hls, http, media, publishing, rtmp, ts
from lib.timing import scaled, wait_until

PATH = "/live/one.m3u8"
KILLS = int(os.environ.get("SRS_HLS_KILLS", "20"))


def steady(server, name="one", speed=1):
    """A publisher in a loop."""
    client = rtmp.publisher(server, "live", name, timeout=scaled(10))
    return publishing.Steady(client, media.from_keyframe(media.frequent_keyframes()), speed=speed)


def publish(server, tags, speed=None, name="one"):
    with rtmp.publisher(server, "live", name, timeout=scaled(10)) as client:
        publishing.send_all(client, tags, speed)


def looped(path, rounds):
    """Headers, and the frames so many times over on one timeline."""
    tags = media.from_keyframe(path)
    frames = flv.frames(tags)
    span = frames[-1].timestamp - frames[0].timestamp + 40
    moved = [tag._replace(timestamp=tag.timestamp + n * span) for n in range(rounds) for tag in frames]
    return [tag for tag in tags if not flv.is_frame(tag)] + moved


def read_all(server, playlist, **options):
    """Our checker over all segments."""
    checker = ts.Checker(**options)
    for segment, goes_on in playlist.there():
        checker.segment(hls.segment_bytes(server, PATH, segment), not goes_on)
    return checker.assert_good(playlist.text)


def kill(server):
    server.signal(signal.SIGKILL)
    server.process.wait()


def restart(server):
    server.process = None
    return server.start()


def check_files(server, path="live/one.m3u8"):
    """The playlist on disk as whoever comes now finds it: each file is there and whole. None: no playlist yet."""
    file = server.dir / "html" / path
    if not file.exists():
        return None
    playlist = hls.Playlist(file.read_text())
    # A publisher that is cut off may leave audio that is later than its last video frame, which has the clock.
    checker = ts.Checker(clock_ms=200)
    for segment, goes_on in playlist.there():
        data = file.parent / segment.uri
        assert data.exists(), f"{segment.uri} is named and not there:\n{playlist.text}"
        before = len(checker.pes)
        checker.segment(data.read_bytes(), not goes_on)
        video_frames = [pes for pes in checker.pes[before:] if pes.stream_type == ts.H264]
        span = (video_frames[-1].dts - video_frames[0].dts) / 90_000
        assert abs(span + 0.04 - segment.duration) < 0.15, f"{segment.uri} has {span} s:\n{playlist.text}"
    if playlist.segments:
        checker.assert_good(playlist.text)
    return playlist


@pytest.mark.parametrize("cleanup", ["on", "off"])
@pytest.mark.long
def test_kill_9_while_segments_are_written(servers, cleanup):
    """No playlist ever names a missing or partial segment, and the media sequence never goes back."""
    rounds = KILLS if cleanup == "on" else min(KILLS, 6)
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    server = servers.make(vhosts=hls.vhost(fragment="0.5", window="4", cleanup=cleanup))
    tags = looped(media.with_b_frames(), 200)
    first, after, named = 0, 0, 0
    for round_ in range(rounds):
        restart(server)
        try:
            client = rtmp.publisher(server, "live", "one", timeout=scaled(10))
            until = time.monotonic() + scaled(dice.uniform(0.1, 0.6))
            for number, tag in enumerate(tags):
                if number % 20 == 0:
                    time.sleep(0.005)
                if time.monotonic() > until:
                    break
                client.send_tag(tag)
        finally:
            kill(server)
            client.close()
        playlist = check_files(server)
        if not playlist:
            continue
        end = playlist.sequence + len(playlist.segments)
        who = f"round {round_}, seed {seed}:\n{playlist.text}"
        assert playlist.sequence >= first, f"the media sequence was {first} before, {who}"
        assert end >= after, f"the playlist went to {after} before, {who}"
        first, after, named = playlist.sequence, end, named + len(playlist.segments)
        server.log_path.unlink()
    assert named > rounds, f"{named} segments were named in {rounds} rounds"
    # What grew or waited for its name at a kill is taken away or named over by the next stream.
    restart(server)
    publish(server, media.tags(media.with_b_frames()))
    last = hls.wait_end(server, PATH)
    files = {file.name for file in (server.dir / "html/live").glob("*")}
    if cleanup == "on":
        assert len(files) <= len(last.segments) + 64, f"{len(files)} files are left after {rounds} rounds"
    else:
        ever_named = {f"one-{number}.ts" for number in range(last.sequence + len(last.segments))}
        assert files == ever_named | {"one.m3u8"}, f"left: {files - ever_named}, missing: {ever_named - files}"


@pytest.mark.parametrize("form, keys", [("off", "off"), ("on", "off"), ("on", "on")])
def test_a_restart_goes_on_behind_a_discontinuity(servers, form, keys):
    server = servers(vhosts=hls.vhost(use_fmp4=form, keys=keys, rejoin=1500))
    tags = media.tags(media.with_b_frames())
    publish(server, tags)
    before = hls.wait(server, PATH, lambda playlist: playlist.span() > 11)  # with the short one at the end
    server.stop()
    restart(server)
    publish(server, tags)
    after = hls.wait_end(server, PATH)
    count = len(before.segments)
    assert after.sequence == before.sequence and len(after.segments) == 2 * count, f"{before.text}\n{after.text}"
    assert [segment.uri for segment in after.segments][:count] == [segment.uri for segment in before.segments]
    jumps = [segment.discontinuity for segment in after.segments]
    assert jumps == [number == count for number in range(2 * count)], after.text
    assert len({segment.map for segment in after.segments}) == 1, f"the same tracks, the same map:\n{after.text}"
    for segment in after.segments:
        hls.segment_bytes(server, PATH, segment)
    assert not list((server.dir / "html/live").glob("*.tmp"))


def test_without_recovery_it_begins_anew(servers):
    server = servers(vhosts=hls.vhost(recover="off"))
    tags = media.tags(media.with_b_frames())
    publish(server, tags)
    before = hls.wait_end(server, PATH)
    server.stop()
    restart(server)
    publish(server, tags[: len(tags) // 2])
    after = hls.wait_end(server, PATH)
    assert after.sequence == 0 and not any(segment.discontinuity for segment in after.segments), after.text
    files = {file.name for file in (server.dir / "html/live").glob("*.ts")}
    assert files == {segment.uri for segment in after.segments}, f"{files} are left of\n{before.text}"


def test_a_stream_that_stops_and_starts_each_second(servers):
    server = servers(vhosts=hls.vhost(rejoin=20_000))
    tags = media.from_keyframe(media.with_b_frames())
    second = [tag for tag in tags if tag.timestamp < tags[0].timestamp + 1000 or not flv.is_frame(tag)]
    rounds = 60  # as many as in a minute
    for _ in range(rounds):
        publish(server, second)
    playlist = hls.wait(server, PATH, lambda found: len(found.segments) >= rounds, what=f"{rounds} segments")
    assert len(playlist.segments) == rounds
    jumps = [segment.discontinuity for segment in playlist.segments]
    assert jumps == [False] + [True] * (rounds - 1), playlist.text
    video_frames = len(read_all(server, playlist).of_kind(flv.VIDEO))
    want = sum(tag.type == flv.VIDEO for tag in flv.frames(second)) * rounds
    assert video_frames == want, f"{want} video frames were published, {video_frames} came"


@pytest.mark.parametrize("jump_ms, mended", [(3_600_000, True), (-90_000, True), (3_600_000, False), (-90_000, False)])
def test_times_that_jump(servers, jump_ms, mended):
    server = servers(vhosts=hls.vhost(play="" if mended else "time_jitter off;"))
    tags = looped(media.with_b_frames(), 2)
    start = 200_000
    middle = tags[-1].timestamp // 2
    moved = [
        tag._replace(timestamp=start + tag.timestamp + (jump_ms if tag.timestamp > middle else 0)) for tag in tags
    ]
    publish(server, moved)
    playlist = hls.wait_end(server, PATH)
    assert sum(segment.discontinuity for segment in playlist.segments) == 1, playlist.text
    assert playlist.target <= 6, f"keyframes are 5 s apart at most:\n{playlist.text}"
    checker = read_all(server, playlist, keyframes=mended)
    video_frames = len(checker.of_kind(flv.VIDEO))
    want = sum(tag.type == flv.VIDEO for tag in flv.frames(tags))
    assert video_frames == want, f"{want} video frames were published, {video_frames} came\n{playlist.text}"


@pytest.mark.parametrize("form", ["off", "on"])
def test_codec_change_in_mid_stream(servers, tmp_path, form):
    """H.264, then HEVC: said by a discontinuity, and no video frame of either is lost."""
    server = servers(vhosts=hls.vhost(use_fmp4=form))
    paths = (media.with_b_frames(), media.hevc())
    first, second = map(media.tags, paths)
    moved = [tag._replace(timestamp=tag.timestamp + 12_000) for tag in second if tag.type != flv.SCRIPT]
    publish(server, first + moved)
    playlist = hls.wait_end(server, PATH)
    assert sum(segment.discontinuity for segment in playlist.segments) == 1, playlist.text
    change = next(number for number, segment in enumerate(playlist.segments) if segment.discontinuity)
    for path, tags, segments in zip(paths, (first, moved), (playlist.segments[:change], playlist.segments[change:])):
        if form == "off":
            checker = ts.Checker()
            for number, segment in enumerate(segments):
                checker.segment(hls.segment_bytes(server, PATH, segment), number == 0)
            ts.assert_same(tags, checker.assert_good(playlist.text), f"HLS of {path.name}")
            continue
        (map_,) = {segment.map for segment in segments}
        whole = hls.fetch(server, PATH, map_) + b"".join(hls.segment_bytes(server, PATH, segment) for segment in segments)
        (tmp_path / "whole.mp4").write_bytes(whole)
        hls.assert_same(hls.packets(path), hls.packets(tmp_path / "whole.mp4"), f"HLS of {path.name}")


def test_times_that_wrap(servers):
    """At 2^32 ms: no discontinuity, for nothing jumps."""
    server = servers(vhosts=hls.vhost())
    tags = looped(media.with_b_frames(), 2)
    start = (1 << 32) - tags[-1].timestamp // 2
    publish(server, [tag._replace(timestamp=(tag.timestamp + start) % (1 << 32)) for tag in tags])
    playlist = hls.wait_end(server, PATH)
    assert not any(segment.discontinuity for segment in playlist.segments), playlist.text
    checker = read_all(server, playlist)
    ts.assert_same(tags, checker, "HLS over the wrap")


def test_a_keyframe_each_20_seconds(servers):
    server = servers(vhosts=hls.vhost())
    tags = media.tags(media.rare_keyframes())
    publish(server, tags)
    playlist = hls.wait_end(server, PATH)
    assert [round(segment.duration) for segment in playlist.segments] == [20, 20, 10], playlist.text
    assert playlist.target == 20, playlist.text
    ts.assert_same(tags, read_all(server, playlist), "HLS with rare keyframes")


@pytest.mark.parametrize("form", ["off", "on"])
def test_audio_that_starts_30_seconds_after_video(servers, tmp_path, form):
    server = servers(vhosts=hls.vhost(use_fmp4=form))
    tags = looped(media.plain(), 4)
    late = [tag for tag in tags if tag.type == flv.VIDEO or (tag.type == flv.AUDIO and tag.timestamp >= 30_000)]
    header = next(tag for tag in tags if tag.type == flv.AUDIO and flv.is_sequence_header(tag))
    at = next(number for number, tag in enumerate(late) if tag.type == flv.AUDIO and flv.is_frame(tag))
    late = [tag for tag in late[:at] if tag.type == flv.VIDEO] + [header._replace(timestamp=30_000)] + late[at:]
    publish(server, late)
    playlist = hls.wait_end(server, PATH)
    assert [segment.discontinuity for segment in playlist.segments].count(True) == 1, playlist.text
    audio_frames = sum(tag.type == flv.AUDIO for tag in flv.frames(late))
    if form == "off":
        checker = read_all(server, playlist)
        ts.assert_same(late, checker, "late audio")
        return
    maps = list(dict.fromkeys(segment.map for segment in playlist.segments))
    assert len(maps) == 2, f"with audio it is another initialisation segment:\n{playlist.text}"
    whole = hls.fetch(server, PATH, maps[1])
    whole += b"".join(hls.segment_bytes(server, PATH, segment) for segment in playlist.segments if segment.map == maps[1])
    (tmp_path / "whole.mp4").write_bytes(whole)
    got = len(hls.packets(tmp_path / "whole.mp4")["audio"])
    assert got == audio_frames, f"{audio_frames} audio frames were published, {got} came"


def test_the_directory_is_removed(servers):
    server = servers(vhosts=hls.vhost(fragment="1"))
    with steady(server):
        hls.wait(server, PATH, lambda playlist: len(playlist.segments) >= 1)
        shutil.rmtree(server.dir / "html/live")

        # From the first playlist on that is there again, it names what is there.
        def with_segments():
            found = check_files(server)
            return found if found and found.segments else None

        on_disk = wait_until(with_segments, 15, "another playlist with segments")
        assert on_disk.sequence > 0, on_disk.text
        seen = hls.wait(server, PATH, lambda playlist: playlist.sequence >= on_disk.sequence)
        for segment in seen.segments:
            hls.fetch(server, PATH, segment.uri)


def test_no_permission(servers):
    """A file stands where a directory should be: the API says so, the stream lives, and HLS begins as soon as it is
    gone."""
    server = servers.make(top=api.CONF % "debug on;", vhosts=hls.vhost(fragment="1"))
    (server.dir / "html/live").write_text("in the way")
    server.start()
    with steady(server):
        api.explained(server, "one", "outputs", "hls: .*Not a directory")
        disk = api.ask(server, "/api/v1/debug/runtime")["data"]["disk"]
        assert disk["files_failed"] >= 1 and disk["bytes_written"] == 0, disk
        player = rtmp.player(server, "live", "one")
        wait_until(lambda: any(flv.is_frame(tag) for tag in player.tags()), 5, "frames of the stream")
        player.close()
        (server.dir / "html/live").unlink()
        playlist = hls.wait(server, PATH, lambda found: len(found.segments) >= 2, 10)
        for segment in playlist.segments:
            hls.fetch(server, PATH, segment.uri)
        assert check_files(server)


def test_disk_full(servers):
    """On a small tmpfs: nothing partial is named, the stream lives, and within 10 s of space returning it goes on."""
    server = servers.make(top=api.ON, vhosts=hls.vhost(fragment="1", path="./html/small"))
    small = server.dir / "html/small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    try:
        (small / "ballast").write_bytes(bytes(812 * 1024))
        server.start()
        with steady(server, speed=4):
            api.explained(server, "one", "outputs", "hls: .*No space left", 30)
            player = rtmp.player(server, "live", "one")
            wait_until(lambda: any(flv.is_frame(tag) for tag in player.tags()), 5, "frames of the stream")
            player.close()
            full = check_files(server, "small/live/one.m3u8")
            (small / "ballast").unlink()
            end = full.sequence + len(full.segments)
            later = hls.wait(server, PATH, lambda playlist: any(found.sequence >= end for found, _ in playlist.there()), 10)
            assert any(segment.gap for segment in later.segments), f"what was lost should be told:\n{later.text}"
        server.stop()
        check_files(server, "small/live/one.m3u8")
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_a_slow_disk_holds_up_nobody(servers, tmp_path):
    fault = tmp_path / "fault"
    server = servers(top=api.DEBUG, vhosts=hls.vhost(fragment="1"), environment={"DISK_FAULT": f"@{fault}"})
    with steady(server):
        hls.wait(server, PATH, lambda playlist: playlist.segments)
        fault.write_text("path=live/ op=write delay_ms=2000")
        time.sleep(2)
        player = rtmp.player(server, "live", "one")
        wait_until(lambda: any(flv.is_frame(tag) for tag in player.tags()), 5, "frames of the stream")
        player.close()
        fault.unlink()
    playlist = hls.wait_end(server, PATH, 20)
    read_all(server, playlist)
    # A write that held up the loop would do so for about two seconds; a loaded machine may for a moment.
    assert api.blocked_ms(server) < 1000, f"the loop was blocked for {api.blocked_ms(server)} ms"


def test_both_storages_fail_one_by_one(servers, tmp_path):
    """With a broken disk the memory still serves."""
    server = servers(
        vhosts=hls.vhost(fragment="1", storage="both"), environment={"DISK_FAULT": "path=live/ op=write error=EIO"}
    )
    tags = media.tags(media.with_b_frames())
    publish(server, tags)
    playlist = hls.wait_end(server, PATH)
    ts.assert_same(tags, read_all(server, playlist), "HLS from memory")
    server.wait_log("Input/output error")


@pytest.mark.parametrize("policy", ["ignore", "disconnect", "continue"])
def test_on_error(servers, policy):
    server = servers(
        top=api.ON, vhosts=hls.vhost(fragment="0.5", on_error=policy), environment={"DISK_FAULT": "path=live/ op=write error=EIO"}
    )
    with steady(server) as publisher:
        if policy == "disconnect":
            api.ended(server, "HLS failed", 20, type="fmle-publish", reason="output-failed")
            return
        api.explained(server, "one", "outputs", "hls: .*Input/output error", 15)
        if policy == "ignore":
            server.wait_log("is off until it is published again", 5)
        since = server.log_mark()
        if policy == "continue":
            server.wait_log("HLS of .* failed", 15, since)
        else:
            time.sleep(2.5)
            assert "failed" not in server.log()[since:], "it should have been tried once"
        assert publisher.error is None and publisher.thread.is_alive(), "the publisher should not notice"
    assert http.get_status(server.http_port, PATH) == 404
