"""MP4 as the server's muxer writes it (objs/remux puts an FLV file through it, without a server), read by others: ffprobe,
ffmpeg's decoders, pymp4, GStreamer. As a recording of fragments, and finished in each of three ways."""

import base64
import json
import os
import random
import re
import subprocess

import pytest

from lib import browser, ffmpeg, flv, media, mp4
from lib.server import OBJS
from lib.timing import wait_until

REMUX = OBJS / "remux"
# How finishing finds room for the tables: in the head, blocks put in by the file system, or another file.
WAYS = {"in its room": ([], []), "room put in": (["--head=4096"], []), "copied": (["--head=4096"], ["--copy"])}

SOURCES = {
    "B-frames": lambda: media.with_b_frames(),
    "no-B-frames": lambda: media.plain(),
    "HEVC": lambda: media.hevc(),
    "AV1-Opus": lambda: media.encoded_by_9("libaom-av1", "libopus"),
    "VP9-FLAC": lambda: media.encoded_by_9("libvpx-vp9", "flac"),
    "H264-AC3": lambda: media.encoded_by_9("libx264", "ac3"),
    "H264-EAC3": lambda: media.encoded_by_9("libx264", "eac3"),
    "H264-MP3": lambda: media.h264_mp3(),
    "AAC-only": lambda: media.audio_only(),
    "MP3-only": lambda: media.audio_only("mp3"),
    "video-only": lambda: media.video_only(),
}


# pymp4 does not know the fields of High profile in avcC, which these have.
NOT_FOR_PYMP4 = ("H264-AC3", "H264-EAC3")


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]()


@pytest.fixture(params=[name for name in SOURCES if name not in NOT_FOR_PYMP4])
def boxed(request):
    return SOURCES[request.param]()


def remux(*words):
    done = subprocess.run([REMUX, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"remux {words}: {done.stderr}"
    return done.stdout


def recorded(source, path, *options):
    remux(*options, source, path)
    return path


def published(source):
    """The packets of an FLV file as they should stand in MP4, by FFmpeg 9, which reads enhanced FLV; which are key frames
    stands in the tags. AV1 loses its temporal delimiters."""
    delimiters = ["-bsf:v", "filter_units=remove_types=2"] if "av1" in source.name else []
    words = ffmpeg.command9("-i", source, "-c", "copy", *delimiters, "-f", "framemd5", "-")
    done = subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    kinds = dict(re.findall(r"^#media_type (\d+): (\w+)", done.stdout, re.MULTILINE))
    keys = [flv.is_keyframe(tag) for tag in media.tags(source) if tag.type == flv.VIDEO and flv.is_frame(tag)]
    found = {}
    for stream, packets in ffmpeg.framemd5(done.stdout).items():
        kind = kinds[str(stream)]
        found[kind] = [
            mp4.Packet(packet.dts, packet.pts, kind == "audio" or keys[index], packet.size, f"MD5:{packet.md5}")
            for index, packet in enumerate(packet for packet in packets if packet.size)
        ]
    return found


def test_packets_are_as_published(source, tmp_path):
    want = published(source)
    file = recorded(source, tmp_path / "a.mp4")
    mp4.assert_same(want, mp4.packets(file), "the recording")
    mp4.decode(file)
    for name, (how, finish) in WAYS.items():
        file = recorded(source, tmp_path / "b.mp4", *how)
        said = remux("--finish", *finish, file)
        # A small moov needs no more room; a file system may not be able to put any in. What comes out is the same.
        assert name in said or (how and "in its room" in said) or (how and "copied" in said), f"should be {name}: {said}"
        mp4.assert_same(want, mp4.packets(file), f"the file finished: {name}")
        mp4.decode(file, 2)  # the same packets were decoded before; what opens the decoders has been written anew


@pytest.mark.parametrize("name", ["B-frames", "AV1-Opus", "AAC-only"])
def test_several_tracks_of_a_kind(name, tmp_path):
    """Each track three times, each 100 ms later than the one before, as they grow and finished."""
    source = SOURCES[name]()
    want = mp4.packets(recorded(source, tmp_path / "one.mp4"))
    languages = {"eng": "eng", "deu-AT": "deu", "pt": "por"}  # as ffprobe shows them: it does not read elng
    file = recorded(source, tmp_path / "a.mp4", f"--languages={','.join(languages)}", "--head=4096")
    for finished in [False, True]:
        if finished:
            remux("--finish", file)
        found = mp4.streams(file)
        mp4.decode(file)
        assert len(found) == 3 * len(want), f"three of each kind should be there: {[s[:4] for s in found]}"
        of_kind = {kind: [stream for stream in found if stream.kind == kind] for kind in want}
        begin = None
        for kind, packets in want.items():
            for index, (stream, (tag, language)) in enumerate(zip(of_kind[kind], languages.items())):
                where = f"{kind} {index}, {'finished' if finished else 'growing'}"
                said = (stream.default, stream.language, stream.label)
                assert said == (index == 0, language, f"In {tag}"), f"{where}: ffprobe shows {said}"
                assert [p[2:] for p in stream.packets] == [p[2:] for p in packets], f"{where}: other packets"
                # All by one shift: the movie begins at 0.
                begin = stream.packets[0].dts - packets[0].dts if begin is None else begin
                for one, two in zip(packets, stream.packets):
                    at = one.dts + begin + 100 * index
                    assert abs(two.dts - at) < 0.05, f"{where}: a packet at {two.dts} should be at {at}"


def test_fragments_box_by_box(boxed, tmp_path):
    file = recorded(boxed, tmp_path / "a.mp4")
    found = mp4.boxes(file)
    types = [box.type for box in found]
    assert types[:3] == [b"ftyp", b"free", b"moov"], f"the head should be ftyp, free, moov; it is {types[:3]}"
    assert found[2].offset == 65536, f"the moov should be at 65536, it is at {found[2].offset}"
    rest = types[3:]
    assert rest == [b"moof", b"mdat", b"free"] * (len(rest) // 3), f"fragments should be moof, mdat, free: {rest}"
    packets = sum(len(of_kind) for of_kind in mp4.packets(file).values())
    samples, next_dts = 0, {}
    for number, (moof, mdat) in enumerate(zip(found[3::3], found[4::3]), 1):
        sequence = mp4.child(moof, "mfhd").sequence_number
        assert sequence == number, f"fragment {number} should say so, it says {sequence}"
        at = mdat.offset + 8
        for run in mp4.runs(moof, found[2]):
            where = f"fragment {number}, track {run.track}"
            assert run.offset == at, f"{where}: data should begin at {at}, {run.offset} is told"
            at += sum(run.sizes)
            # Times go on where the last fragment ended: these sources have no gaps, but for a video frame's rounding.
            last = next_dts.get(run.track, run.dts)
            assert run.dts == last, f"{where}: should begin at {last}, it begins at {run.dts}"
            next_dts[run.track] = run.end
            samples += len(run.sizes)
        assert at == mdat.end, f"fragment {number}: samples end at {at}, the mdat at {mdat.end}"
    assert samples == packets, f"{samples} samples by pymp4, {packets} packets by ffprobe"


def test_plain_file_box_by_box(boxed, tmp_path):
    file = recorded(boxed, tmp_path / "a.mp4")
    remux("--finish", file)
    found = mp4.boxes(file)
    types = [box.type for box in found]
    assert types == [b"ftyp", b"free", b"moov", b"mdat"], f"should be fast start with one mdat, it is {types}"
    moov, mdat = found[2], found[3]
    assert not any(part.type == b"mvex" for part in moov.children), "a plain file should have no mvex"
    seen = mp4.packets(file)
    for trak in (part for part in moov.children if part.type == b"trak"):
        handler = mp4.child(trak, "mdia", "hdlr").handler_type
        kind = {b"vide": "video", b"soun": "audio"}[handler]
        scale = mp4.child(trak, "mdia", "mdhd").timescale
        table = mp4.child(trak, "mdia", "minf", "stbl")
        sizes = mp4.child(table, "stsz").entry_sizes
        assert list(sizes) == [p.size for p in seen[kind]], f"{kind}: sizes by pymp4 and ffprobe differ"
        durations = [e.sample_delta for e in mp4.child(table, "stts").entries for _ in range(e.sample_count)]
        length = sum(durations)
        said = mp4.child(trak, "mdia", "mdhd").duration
        assert length == said, f"{kind}: durations sum to {length}, mdhd says {said}"
        assert len(durations) == len(sizes), f"{kind}: {len(durations)} durations, {len(sizes)} sizes"
        for index, packet in enumerate(seen[kind]):
            at = sum(durations[:index]) * 1000 / scale
            assert abs(at - (packet.dts - seen[kind][0].dts)) < 0.01, f"{kind} {index}: at {at} by stts, {packet} by ffprobe"
        chunks = next(box for box in table.children if box.type in (b"stco", b"co64")).entries
        for chunk in chunks:
            assert mdat.offset < chunk.chunk_offset < mdat.end, f"{kind}: a chunk at {chunk.chunk_offset}, mdat ends at {mdat.end}"
        stss = [box for box in table.children if box.type == b"stss"]
        keys = [index + 1 for index, packet in enumerate(seen[kind]) if packet.key]
        if stss:
            told = [entry.sample_number for entry in stss[0].entries]
            assert told == keys, f"{kind}: sync samples {told} by stss, {keys} by ffprobe"
        else:
            assert len(keys) == len(sizes), f"{kind}: no stss, but ffprobe tells of {len(keys)} key frames of {len(sizes)}"


@pytest.mark.parametrize("name", ["B-frames", "HEVC"])
@pytest.mark.parametrize("finish", [False, True], ids=["fragments", "plain"])
def test_gstreamer_reads_the_same(name, finish, tmp_path):
    file = recorded(SOURCES[name](), tmp_path / "a.mp4")
    if finish:
        remux("--finish", file)
    for kind, want in mp4.packets(file).items():
        got = mp4.gstreamer_buffers(file, kind)
        assert [size for size, _ in got] == [p.size for p in want], f"{kind}: GStreamer hands out others than ffprobe"
        shift = got[0][1] - want[0].pts
        for index, (packet, (_, pts)) in enumerate(zip(want, got)):
            assert abs(packet.pts + shift - pts) < 1, f"{kind} {index}: shown at {packet.pts + shift}, GStreamer says {pts}"


@pytest.mark.long
def test_half_an_hour(tmp_path):
    """The same eleven seconds again and again: every packet, at its time, and none besides."""
    times = 160
    source = media.with_b_frames()
    once = mp4.packets(source)
    file = tmp_path / "a.mp4"
    remux(f"--repeat={times}", source, file)
    remux("--finish", file)
    # As remux puts them one behind the other.
    frames = [tag.timestamp for tag in flv.frames(media.tags(source)) if tag.type != flv.SCRIPT]
    length = frames[-1] - frames[0] + 40
    want = {
        kind: [
            packet._replace(dts=packet.dts + turn * length, pts=packet.pts + turn * length)
            for turn in range(times)
            for packet in packets
        ]
        for kind, packets in once.items()
    }
    # Where the turns meet, audio does not fit to the ms: it is placed by samples within half a frame.
    mp4.assert_same(want, mp4.packets(file), "half an hour", tolerance=12)


# How ffmpeg lays files out; the reader must find the same packets in each.
LAYOUTS = {
    "plain": [],
    "fast-start": ["-movflags", "faststart"],
    "fragments-by-key-frames": ["-movflags", "frag_keyframe+empty_moov"],
    "base-is-moof": ["-movflags", "empty_moov+default_base_moof", "-frag_duration", "700000"],
    "moov-with-samples-and-fragments": ["-movflags", "frag_keyframe", "-frag_duration", "500000"],
    "negative-offsets": ["-movflags", "negative_cts_offsets"],
}


@pytest.mark.parametrize("name", ["B-frames", "HEVC", "AV1-Opus", "MP3-only"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_ffmpeg_writes_is_read(name, layout, tmp_path):
    file = tmp_path / "theirs.mp4"
    words = ffmpeg.command9("-i", SOURCES[name](), "-c", "copy", *LAYOUTS[layout], file)
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    got = {}
    for line in remux("--packets", file).splitlines():
        kind, dts, pts, key, size, place = line.split()
        got.setdefault(kind, []).append((float(dts), float(pts), key == "K", int(size), int(place)))
    words = ["ffprobe", "-v", "error", "-ignore_editlist", "1", "-show_packets", "-of", "json", file]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    want = {}
    for packet in json.loads(done.stdout)["packets"]:
        times = [float(packet[name]) * 1000 for name in ("dts_time", "pts_time")]
        want.setdefault(packet["codec_type"], []).append(
            (*times, packet["flags"].startswith("K"), int(packet["size"]), int(packet["pos"]))
        )
    assert sorted(want) == sorted(got), f"{sorted(want)} by ffprobe, {sorted(got)} by our reader"
    for kind, packets in want.items():
        assert len(packets) == len(got[kind]), f"{kind}: {len(packets)} packets by ffprobe, {len(got[kind])} by ours"
        # ffprobe moves decoding times back where offsets are negative.
        shifts = [packets[0][which] - got[kind][0][which] for which in (0, 1)]
        for index, (one, two) in enumerate(zip(packets, got[kind])):
            same = one[2:] == two[2:] and all(abs(a - b - c) < 0.01 for a, b, c in zip(one, two, shifts))
            assert same, f"{kind} {index}: ffprobe says {one}, our reader {two} (times shifted by {shifts})"


@pytest.mark.long
def test_torn_recordings(tmp_path):
    """Cut at random places, with and without zeros behind: what is whole plays, in order, and nothing else."""
    source = media.plain()
    want = mp4.packets(source)
    whole = recorded(source, tmp_path / "whole.mp4", "--head=4096").read_bytes()
    dice = random.Random(4)
    first = whole.index(b"moof")
    for index in range(12):
        size = dice.randrange(first, len(whole))
        file = tmp_path / f"torn{index}.mp4"
        file.write_bytes(whole[:size] + bytes(4096 - size % 4096 if index % 2 else 0))
        done = subprocess.run([REMUX, "--finish", file], capture_output=True, text=True)
        if done.returncode:
            assert "without a whole fragment" in done.stderr, f"cut at {size}: {done.stderr}"
            continue
        got = mp4.packets(file)
        mp4.decode(file)
        cut = {kind: want[kind][: len(packets)] for kind, packets in got.items()}
        mp4.assert_same(cut, got, f"cut at {size} of {len(whole)}")


def test_copy_keeps_the_mode(tmp_path):
    file = recorded(media.plain(), tmp_path / "a.mp4", "--head=4096")
    os.chmod(file, 0o640)
    remux("--finish", "--copy", file)
    assert file.stat().st_mode & 0o777 == 0o640, f"the mode should be 640, it is {file.stat().st_mode:o}"
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"], f"left behind: {list(tmp_path.iterdir())}"


# Plays the front, jumps to the middle and plays to the end, at four times the speed.
PAGE = """<!doctype html><video id="video" muted src="data:video/mp4;base64,FILE"></video><script>
const video = document.getElementById("video");
let seeked = null, ended = false;
video.playbackRate = 4;
video.play();
setTimeout(() => { video.currentTime = video.duration / 2; }, 500);
video.onseeked = () => { seeked = video.currentTime; };
video.onended = () => { ended = true; };
reportEvery(250, () => ({
    ended, seeked, time: video.currentTime, duration: video.duration, width: video.videoWidth,
    frames: video.getVideoPlaybackQuality().totalVideoFrames, error: video.error && video.error.message,
    seekable: video.seekable.length ? video.seekable.end(0) : 0}));
</script>"""


@pytest.mark.parametrize("name, width", [("B-frames", 768), ("AV1-Opus", 320), ("VP9-FLAC", 320)])
def test_chromium_plays_it_and_seeks(tool, tmp_path, name, width):
    if not browser.is_there():
        pytest.skip("scripts/test installs Chromium")
    source = SOURCES[name]()
    file = recorded(source, tmp_path / "a.mp4", "--head=4096")
    remux("--finish", file)
    length = max(packet.pts for packet in mp4.packets(file)["video"]) / 1000
    page = PAGE.replace("FILE", base64.b64encode(file.read_bytes()).decode())
    chromium = browser.Browser(tool, tmp_path, page, "")
    try:
        wait_until(lambda: (chromium.last() or {}).get("ended") or (chromium.last() or {}).get("error"), 40,
                   lambda: f"should play to its end: {chromium.last()}")  # fmt: skip
    finally:
        chromium.close()
    last = chromium.last()
    assert last["error"] is None, f"no error was expected: {last}"
    assert abs(last["duration"] - length) < 0.5, f"should last about {length} s: {last}"
    assert last["seekable"] > length - 0.5, f"all of it should be seekable: {last}"
    assert last["seeked"] and abs(last["seeked"] - length / 2) < 0.5, f"should have gone to {length / 2} s: {last}"
    if source.parent.name == "media" or name != "B-frames":
        assert last["width"] == width, f"video frames should be {width} wide: {last}"
    assert last["frames"] > 20, f"more video frames should have been shown: {last}"
