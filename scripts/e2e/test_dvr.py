"""DVR: what is recorded is what was published, in files that FFmpeg takes without a word: FLV and MP4, one file per
publish or segments, one track or two, tracks that come late or change."""

import time

import pytest

from lib import dvr, ffmpeg, flv, http, media, publishing, rtmp, timing

FORMATS = ["flv", "mp4"]


def publish(server, tags, name="one", speed=None):
    with rtmp.publisher(server, "live", name) as client:
        publishing.send_all(client, tags, speed)


def cuts(tags, duration):
    """Where files of at least that many ms begin."""
    keys = [tag.timestamp for tag in flv.frames(tags) if flv.is_keyframe(tag)]
    found = keys[:1]
    for key in keys:
        if key - found[-1] >= duration:
            found.append(key)
    return found


def recorder(servers, form, **directives):
    return servers(vhosts=dvr.vhost(f"./rec/[app]/[stream].[timestamp].{form}", **directives))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "source", [media.with_b_frames, media.plain, media.hevc, media.h264_mp3], ids=lambda source: source.__name__
)
def test_a_session_is_one_file(servers, form, source):
    server = recorder(servers, form)
    path = source()
    publish(server, media.tags(path))
    (recorded,) = dvr.wait_files(server, 1)
    dvr.assert_same_packets(dvr.packets(path), dvr.packets(recorded), form)
    dvr.check_clean(recorded)
    if form == "flv":
        dvr.assert_flv_head(recorded)
        flv.assert_same(media.tags(path), flv.read_file(recorded), form)
    else:
        found = dvr.boxes(recorded)
        assert found.index("moov") < found.index("mdat"), f"fast start: moov before mdat, it is {found}"
        assert "moof" not in found, f"a plain file has no fragments, it is {found}"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("source", [media.with_b_frames, media.hevc], ids=lambda source: source.__name__)
def test_segments_lose_nothing(servers, form, source):
    server = recorder(servers, form, dvr_plan="segment", dvr_duration=2)
    path = source()
    tags = media.tags(path)
    publish(server, tags, speed=20)
    recorded = dvr.wait_files(server, len(cuts(tags, 2000)))
    dvr.assert_all_there(dvr.packets(path), recorded, form)
    for one in recorded:
        assert dvr.first_is_key(one), f"{one} should begin with a keyframe"
        assert min(track[0][2] for track in dvr.packets(one).values()) < 50, f"{one} should begin at 0"
        dvr.check_clean(one)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["aac", "mp3", "video"])
def test_one_track_only(servers, form, kind):
    server = recorder(servers, form)
    path = media.video_only() if kind == "video" else media.audio_only(kind)
    publish(server, media.tags(path))
    (recorded,) = dvr.wait_files(server, 1)
    dvr.assert_same_packets(dvr.packets(path), dvr.packets(recorded), kind)
    dvr.check_clean(recorded)


def test_audio_only_is_cut_by_time(servers):
    server = recorder(servers, "flv", dvr_plan="segment", dvr_duration=2)
    path = media.audio_only()
    publish(server, media.tags(path), speed=20)
    recorded = dvr.wait_files(server, 3)
    dvr.assert_all_there(dvr.packets(path), recorded, "audio")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("header_too", [True, False], ids=["header-late", "header-early"])
def test_audio_that_starts_30_s_after_video(servers, form, header_too):
    """Thirty seconds of video frames, then ten with audio; sent at once."""
    server = recorder(servers, form)
    tags = media.tags(media.plain())
    video = [tag for tag in tags if tag.type == flv.VIDEO and flv.is_frame(tag)]
    audio = [tag for tag in tags if tag.type == flv.AUDIO and flv.is_frame(tag)]
    headers = [tag for tag in tags if flv.is_sequence_header(tag)]
    late = [tag for tag in headers if tag.type == flv.AUDIO]
    sent = [tag for tag in headers if tag.type == flv.VIDEO or not header_too]
    for turn in range(3):
        sent += [tag._replace(timestamp=tag.timestamp + turn * 10_000) for tag in video]
    sent += [tag._replace(timestamp=30_000) for tag in late] if header_too else []
    both = sorted(video + audio, key=lambda tag: tag.timestamp)
    sent += [tag._replace(timestamp=tag.timestamp + 30_000) for tag in both]
    publish(server, sent)
    (recorded,) = dvr.wait_files(server, 1)
    got = dvr.packets(recorded)
    assert len(got["video"]) == 4 * len(video), f"{4 * len(video)} video frames were published, {len(got['video'])} came"
    assert len(got["audio"]) == len(audio), f"{len(audio)} audio frames were published, {len(got['audio'])} came"
    distance = got["audio"][0][2] - got["video"][0][2]
    assert abs(distance - 30_000) < 100, f"audio should begin 30 s after video, it does after {distance / 1000} s"
    dvr.check_clean(recorded)


@pytest.mark.parametrize("form", FORMATS)
def test_codec_change_in_mid_stream(servers, form):
    """H.264, then HEVC: no video frame of either is lost."""
    server = recorder(servers, form)
    first, second = media.tags(media.with_b_frames()), media.tags(media.hevc())
    moved = [tag._replace(timestamp=tag.timestamp + 12_000) for tag in second if tag.type != flv.SCRIPT]
    publish(server, first + moved)
    recorded = dvr.wait_files(server, 2)
    one, two = dvr.packets(media.with_b_frames()), dvr.packets(media.hevc())
    got = [dvr.packets(path)["video"] for path in recorded]
    assert [len(track) for track in got] == [len(one["video"]), len(two["video"])]
    for want, track in zip((one, two), got):
        assert [packet[1] for packet in want["video"]] == [packet[1] for packet in track]
    want = [packet[1] for packet in one["audio"] + two["audio"]]
    got = [packet[1] for path in recorded for packet in dvr.packets(path)["audio"]]
    assert got == want, f"{len(want)} audio frames were published, {len(got)} recorded, or others"


@pytest.mark.parametrize("form", FORMATS)
def test_resolution_change_in_mid_stream(servers, form):
    """Another sequence header of the same codec: a new file."""
    server = recorder(servers, form)
    first, second = media.tags(media.with_b_frames()), media.tags(media.plain())
    moved = [tag._replace(timestamp=tag.timestamp + 12_000) for tag in second if tag.type != flv.SCRIPT]
    publish(server, first + moved)
    recorded = dvr.wait_files(server, 2)
    want = [packet[1] for path in (media.with_b_frames(), media.plain()) for packet in dvr.packets(path)["video"]]
    got = [packet[1] for path in recorded for packet in dvr.packets(path)["video"]]
    assert got == want, f"{len(want)} video frames were published, {len(got)} recorded in {len(recorded)} files, or others"
    for one in recorded:
        dvr.check_clean(one)


@pytest.mark.parametrize("form", FORMATS)
def test_a_stream_that_stops_and_starts(servers, form):
    """As often as each second for a minute."""
    server = recorder(servers, form)
    tags = [tag for tag in media.tags(media.plain()) if tag.timestamp < 1000]
    for _ in range(60):
        publish(server, tags)
    recorded = dvr.wait_files(server, 60)
    want = len(flv.frames(tags))
    # FFmpeg takes its time for each file of MP4.
    for one in recorded if form == "flv" else recorded[::6]:
        got = len(flv.frames(flv.read_file(one))) if form == "flv" else sum(len(track) for track in dvr.packets(one).values())
        assert got == want, f"{one}: {want} frames were published, {got} recorded"


def test_without_a_timestamp_in_its_name_no_file_is_lost(servers):
    server = servers(vhosts=dvr.vhost("./rec/[stream].flv"))
    tags = [tag for tag in media.tags(media.plain()) if tag.timestamp < 1000]
    for count in range(1, 4):
        publish(server, tags)
        dvr.wait_files(server, count)
    names = [path.name for path in dvr.files(server)]
    assert sorted(names) == ["one-1.flv", "one-2.flv", "one.flv"], names


def test_dvr_apply(servers):
    server = servers(vhosts=dvr.vhost("./rec/[stream].flv", dvr_apply="live/two live/three"))
    tags = [tag for tag in media.tags(media.plain()) if tag.timestamp < 500]
    for name in ("one", "two", "three", "four"):
        publish(server, tags, name)
    names = {path.name for path in dvr.wait_files(server, 2)}
    assert names == {"two.flv", "three.flv"}, names


@pytest.mark.parametrize("jitter, want", [("full", 0), ("zero", 0), ("off", 5000)])
def test_time_jitter(servers, jitter, want):
    server = servers(vhosts=dvr.vhost("./rec/[stream].flv", time_jitter=jitter))
    tags = [tag._replace(timestamp=tag.timestamp + 5000) for tag in media.tags(media.plain())]
    publish(server, tags)
    (recorded,) = dvr.wait_files(server, 1)
    first = min(tag.timestamp for tag in flv.frames(flv.read_file(recorded)))
    assert abs(first - want) < 100, f"time_jitter {jitter}: the file should begin at {want} ms, it does at {first}"


@pytest.mark.parametrize("wait", ["on", "off"])
def test_wait_keyframe(servers, wait):
    """Of a publisher that begins in the middle of a GOP, keyframes 20 s apart: files begin at keyframes, or as
    the publisher does and to the time."""
    server = recorder(servers, "flv", dvr_wait_keyframe=wait, dvr_plan="segment", dvr_duration=5)
    tags = [tag for tag in media.tags(media.rare_keyframes()) if tag.type == flv.VIDEO]
    first = next(number for number, tag in enumerate(tags) if flv.is_keyframe(tag))
    sent = tags[:first] + tags[first + 1 :]
    publish(server, sent)
    frames = flv.frames(sent)
    if wait == "on":
        frames = frames[next(number for number, tag in enumerate(frames) if flv.is_keyframe(tag)) :]
    count = 2 if wait == "on" else 10
    got = [flv.frames(flv.read_file(path)) for path in dvr.wait_files(server, count)]
    assert len(got) == count, f"{count} files, of {[len(one) for one in got]} video frames"
    if wait == "on":
        assert all(flv.is_keyframe(one[0]) for one in got), "each should begin with a keyframe"
    else:
        assert all(4900 <= one[-1].timestamp - one[0].timestamp <= 5000 for one in got[:-1]), "each should have 5 s"
    assert [tag.body for one in got for tag in one] == [tag.body for tag in frames], "every video frame from there on, in order"


def test_http_serves_no_growing_file(servers):
    server = servers(vhosts=dvr.vhost("./html/rec/[stream].flv"))
    html = server.dir / "html"
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        growing = timing.wait_until(lambda: next(html.glob("rec/*.tmp"), None), 10, "a growing file")
        path = f"/{growing.relative_to(html)}"
        status = http.get_status(server.http_port, path)
        assert status == 404, f"{path} should not be served while it is written: 404, it answers {status}"
    recorded = path[: -len(".tmp")]
    timing.wait_until((html / recorded[1:]).exists, 10, "the recording")
    status = http.get_status(server.http_port, recorded)
    assert status == 200, f"{recorded} is complete and should be served: 200, it answers {status}"


def test_reload_begins_and_ends_recordings(servers):
    conf_off = dvr.vhost("./rec/[stream].flv").replace("dvr { enabled on;", "dvr { enabled off;")
    server = servers(vhosts=conf_off)
    text = server.conf_path.read_text()
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        time.sleep(0.3)
        assert not dvr.growing(server) and not dvr.files(server)
        server.conf_path.write_text(text.replace("dvr { enabled off;", "dvr { enabled on;"))
        server.signal(1)
        dvr.wait_growing(server, 20_000)
        server.conf_path.write_text(text)
        server.signal(1)
        (recorded,) = dvr.wait_files(server, 1)
    assert dvr.first_is_key(recorded), "a recording of a running stream begins with the GOP's keyframe"
    dvr.check_clean(recorded)


REFUSED = ["../../etc/x", "x" * 300, "a\nb", "..", "a\\b"]


def test_names_that_are_no_file_names_are_refused(servers):
    """The stream lives and can be played; nothing is written outside of the root, or at all."""
    server = servers(vhosts=dvr.vhost("./rec/[app]/[stream].flv"))
    before = {path for path in server.dir.parent.rglob("*") if "rec" in path.parts}
    tags = [tag for tag in media.tags(media.plain()) if tag.timestamp < 500]
    for name in REFUSED:
        mark = server.log_mark()
        try:
            publish(server, tags, name)
        except rtmp.RtmpError:
            continue  # refused as a stream already
        server.wait_log("dvr: .* is not recorded: ", since=mark)
    publish(server, tags, "good")
    publish(server, tags, "a/b")  # the server's own rule: stream b of the application live/a
    dvr.wait_files(server, 2)
    after = {path for path in server.dir.parent.rglob("*") if "rec" in path.parts} - before
    assert {path.name for path in after} == {"rec", "live", "good.flv", "a", "b.flv"}, after


def test_codec_that_mp4_cannot_hold(servers):
    """Audio in G.711 has no place in MP4: said once, the video frame is recorded."""
    server = recorder(servers, "mp4", dvr_plan="segment", dvr_duration=2)
    video = [tag for tag in media.tags(media.plain()) if tag.type == flv.VIDEO]
    audio = [flv.Tag(flv.AUDIO, time, b"\x7e" + bytes(320)) for time in range(0, 10_000, 40)]
    publish(server, sorted(video + audio, key=lambda tag: tag.timestamp), speed=20)
    recorded = dvr.wait_files(server, len(cuts(media.tags(media.plain()), 2000)))
    want = [packet[1] for packet in dvr.packets(media.plain())["video"]]
    got = [packet[1] for path in recorded for packet in dvr.packets(path)["video"]]
    assert got == want, f"{len(want)} video frames were published, {len(got)} recorded"
    told = [line for line in server.log().splitlines() if "is not recorded" in line]
    assert len(told) == 1, f"it should be said once, it was said {len(told)} times\n" + "\n".join(told)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "video, audio", [("libaom-av1", "libopus"), ("libvpx-vp9", "flac"), ("libx264", "ac3")], ids=["AV1", "VP9", "AC3"]
)
def test_enhanced_codecs(servers, tmp_path, form, video, audio):
    server = recorder(servers, form)
    path = media.encoded_by_9(video, audio)
    publish(server, [tag for tag in media.tags(path) if flv.enhanced(tag) is None or len(tag.body) > 5])
    (recorded,) = dvr.wait_files(server, 1)
    # FFmpeg ends some tracks with an empty packet, which is no frame; AV1 in MP4 has no temporal delimiters.
    reference = dvr.remuxed(path, form, tmp_path) if video == "libaom-av1" else path
    want = {kind: [p for p in track if p[0] > 0] for kind, track in dvr.packets(reference).items()}
    dvr.assert_same_packets(want, dvr.packets(recorded), form)
    dvr.check_clean(recorded)


@pytest.mark.parametrize("form", FORMATS)
def test_seek(servers, tool, form):
    """A player that jumps to 7 s finds the keyframe before it, without reading the file from its beginning."""
    server = recorder(servers, form)
    publish(server, media.tags(media.plain()))
    (recorded,) = dvr.wait_files(server, 1)
    words = ffmpeg.command9("-ss", "7", "-i", recorded, "-frames:v", "1", "-f", "null", "-")
    tool(words).finish(10)
    words = ["ffprobe", "-v", "error", "-read_intervals", "7%+#1", "-select_streams", "v"]
    words += ["-show_entries", "packet=pts_time,flags", "-of", "csv=p=0", recorded]
    probe = tool(words)
    probe.finish(10)
    time_text, flags = probe.text().strip().split(",")[:2]
    keys = [tag.timestamp for tag in flv.frames(media.tags(media.plain())) if flv.is_keyframe(tag)]
    want = max(key for key in keys if key <= 7000) / 1000
    assert flags.startswith("K") and abs(float(time_text) - want) < 0.2, f"keyframe at {want} s, got {probe.text()}"


@pytest.mark.parametrize("form", FORMATS)
def test_timestamps_that_jump_and_wrap(servers, form):
    """By an hour forward, by 90 s back, over 2^32 ms: nothing is lost, and time in the file goes on as if nothing were."""
    server = recorder(servers, form)
    tags = media.tags(media.plain())
    frames = [tag for tag in flv.frames(tags) if tag.timestamp < 8000]
    sent = [tag._replace(timestamp=0) for tag in tags if not flv.is_frame(tag)]
    moves = [0, 3_600_000, 3_510_000, 2**32 - 6000]
    for frame in frames:
        sent.append(frame._replace(timestamp=(frame.timestamp + moves[frame.timestamp // 2000]) % 2**32))
    publish(server, sent)
    (recorded,) = dvr.wait_files(server, 1)
    got = dvr.packets(recorded)
    count = sum(len(track) for track in got.values())
    assert count == len(frames), f"{len(frames)} frames were published, {count} recorded"
    for kind, track in got.items():
        times = [packet[2] for packet in track]
        assert times == sorted(times), f"{kind}: time goes back"
        assert times[-1] - times[0] < 9000, f"{kind}: 8 s were published, the file has {times[-1] - times[0]} ms"
    dvr.check_clean(recorded)


@pytest.mark.parametrize("form", FORMATS)
def test_a_keyframe_only_every_20_s(servers, form):
    """A segment is as long as it must be; the file is flushed by time all the same."""
    server = recorder(servers, form, dvr_plan="segment", dvr_duration=5)
    tags = media.tags(media.plain())
    video = [tag for tag in flv.frames(tags) if tag.type == flv.VIDEO]
    key, other = next(tag for tag in video if flv.is_keyframe(tag)), [t for t in video if not flv.is_keyframe(t)]
    sent = [tag for tag in tags if flv.is_sequence_header(tag) and tag.type == flv.VIDEO]
    for index in range(45 * 25):
        frame = key if index % 500 == 0 else other[index % len(other)]
        sent.append(frame._replace(timestamp=index * 40))
    publish(server, sent)
    recorded = dvr.wait_files(server, 3)
    lengths = [len(dvr.packets(path)["video"]) for path in recorded]
    assert lengths == [500, 500, 125], lengths
    assert all(dvr.first_is_key(path) for path in recorded)
