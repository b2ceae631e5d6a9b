"""HLS of streams with several audio tracks: the main playlist is as ever, each further track has a playlist of its own with
the same boundaries, and a multivariant playlist names them."""

import gzip
import hashlib
import hmac
import json
import random
import os
import re
import signal
import subprocess
import time

import pytest

from lib import amf0, api, browser, ffmpeg, flv, hls, hooks, http, media, publishing, rtmp
from lib.timing import scaled, wait_until

PATH = "/live/one.m3u8"
SECOND = "/live/one~audio2.m3u8"
MASTER = "/live/one~master.m3u8"
FORMS = {
    "ts-disk": {},
    "ts-memory-ctx": {"storage": "memory", "ctx": "on"},
    "fmp4-disk-keys": {"use_fmp4": "on", "keys": "on", "fragments_per_key": 2},
    "fmp4-both-ctx": {"use_fmp4": "on", "storage": "both", "ctx": "on"},
    "ts-memory-keys": {"storage": "memory", "keys": "on"},
}


def publish(server, tags, name="one", speed=None):
    with rtmp.publisher(server, "live", name, timeout=scaled(10)) as client:
        publishing.send_all(client, tags, speed)


def with_context(server, path):
    """The path that a viewer has from the master playlist, or the path itself where viewers are not told apart."""
    response = wait_until(lambda: (r := http.get(server.http_port, PATH)).status == 200 and r, 10, "a playlist")
    found = re.search(r"hls_ctx=(\w+)", response.body.decode().split("#EXTINF")[0])
    return f"{path}?hls_ctx={found[1]}" if found else path


def audio_packets(source, track=0, adts=False):
    """(size, md5) of each packet of an audio track."""
    words = ["-allowed_extensions", "ALL"] if str(source).startswith("http") else []
    words += ["-i", source, "-map", f"0:a:{track}", "-c", "copy", *(["-bsf:a", "aac_adtstoasc"] if adts else [])]
    done = subprocess.run(ffmpeg.command9(*words, "-f", "framemd5", "-"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"ffmpeg reads {source}: {done.stderr}"
    return [(packet.size, packet.md5) for packet in ffmpeg.framemd5(done.stdout)[0]]


def ended(server):
    """Both playlists when they are complete."""
    main, second = (with_context(server, path) for path in (PATH, SECOND))
    return hls.wait_end(server, main), hls.wait_end(server, second)


def assert_alike(main, second):
    """What lets a player change from one playlist to the other."""
    for field in ("target", "sequence", "discontinuities"):
        assert getattr(main, field) == getattr(second, field), f"{field} of\n{main.text}\nand of\n{second.text}"
    rows = [[(one.sequence, one.duration, one.discontinuity) for one in list_.segments] for list_ in (main, second)]
    assert rows[0] == rows[1], f"the same segments:\n{main.text}\n{second.text}"


@pytest.mark.parametrize("form", FORMS)
def test_each_track_has_its_packets(servers, form):
    server = servers(vhosts=hls.vhost(fragment="1", **FORMS[form]))
    path = media.two_audio_tracks()
    publish(server, media.tags(path))
    main, second = ended(server)
    assert_alike(main, second)
    assert len(main.segments) == 8, main.text
    adts = form.startswith("ts")
    for track, playlist in enumerate((PATH, SECOND)):
        url = server.http_url(with_context(server, playlist)[1:])
        assert audio_packets(url, adts=adts) == audio_packets(path, track), f"packets of track {track}"
    uris = [segment.uri.split("?")[0] for segment in second.segments]
    extension = "ts" if adts else "m4s"
    assert uris == [f"one-{number}~audio2.{extension}" for number in range(8)], second.text
    if form.endswith("keys"):
        keys = [{segment.key.uri for segment in playlist.segments} for playlist in (main, second)]
        assert not keys[0] & keys[1], f"each playlist has keys of its own: {keys}"
        secrets = [hls.fetch(server, PATH, uri) for uri in keys[0] | keys[1]]
        assert len(set(secrets)) == len(secrets), "each key is another one"
    files = {file.name for file in (server.dir / "html").rglob("*") if file.is_file()}
    if "memory" in form:
        assert not files, files
    else:
        assert {"one.m3u8", "one~audio2.m3u8", "one~master.m3u8", *uris} <= files, files


@pytest.mark.parametrize("context", ["on", "off"])
@pytest.mark.parametrize("form", ["ts", "fmp4"])
def test_the_multivariant_playlist(servers, form, context):
    """In TS the first track is in the variant. MP4 cannot be taken apart by players on Media Source Extensions: there the
    variant is the video alone."""
    server = servers(vhosts=hls.vhost(fragment="1", ctx=context, use_fmp4="on" if form == "fmp4" else "off"))
    publish(server, media.tags(media.two_audio_tracks()))
    hls.wait_end(server, with_context(server, SECOND))
    at = PATH if context == "on" else MASTER
    lines = http.get(server.http_port, at + "?token=a%20b").body.decode().splitlines()
    query = "?token=a%20b"
    if context == "on":
        query = "?" + lines[-1].split("?")[1]
        assert re.fullmatch(r"\?hls_ctx=\w+&token=a%20b", query), lines
    apart = f',URI="/live/one~audio1.m3u8{query}"' if form == "fmp4" else ""
    variant = "/live/one~video.m3u8" if form == "fmp4" else PATH
    assert lines[:4] == [
        "#EXTM3U",
        "#EXT-X-INDEPENDENT-SEGMENTS",
        f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="Audio 1",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="1"{apart}',
        f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="Audio 2",CHANNELS="1",URI="/live/one~audio2.m3u8{query}"',
    ], lines
    described = hls.Multivariant("\n".join(lines) + "\n").variant
    assert sorted(described) == ["AUDIO", "AVERAGE-BANDWIDTH", "BANDWIDTH", "CODECS", "FRAME-RATE", "RESOLUTION"], lines
    assert re.fullmatch(r"avc1\.[0-9a-f]{6},mp4a\.40\.2", described["CODECS"]), lines
    assert described["RESOLUTION"] == "320x180" and described["FRAME-RATE"] == "25.000", lines
    assert lines[5:] == [f"{variant}{query}"], lines
    # That of its parts with the highest rate, together.
    rates = []
    for path in (variant, SECOND):
        playlist = hls.get(server, with_context(server, path))
        sizes = [len(hls.fetch(server, path, one.uri)) * 8 / one.duration for one in playlist.segments]
        rates.append(max(sizes))
    bandwidth = int(re.search(r"BANDWIDTH=(\d+)", lines[4])[1])
    assert abs(bandwidth - sum(rates)) < 0.02 * sum(rates), f"{rates}: {lines}"
    probe = ["ffprobe", "-v", "error", "-show_streams", "-of", "json", server.http_url(at[1:])]
    streams = json.loads(subprocess.run(probe, check=True, capture_output=True, timeout=60).stdout)["streams"]
    kinds = sorted(stream["codec_type"] for stream in streams)
    assert kinds == ["audio", "audio", "video"], streams
    on_disk = (server.dir / "html/live/one~master.m3u8").read_text().splitlines()
    assert on_disk[3].endswith('URI="one~audio2.m3u8"') and on_disk[-1] == variant.removeprefix("/live/"), on_disk


def test_names_and_languages(servers):
    """As onMetaData tells them; a label cannot leave its quotes."""
    server = servers(vhosts=hls.vhost(fragment="1"))
    names = {"0": {"language": "ger", "label": "Stadion"}, "1": {"language": "en-GB", "label": 'Engl"ish,\nURI="x"'}}
    metadata = amf0.encode("onMetaData", {"audioTrackIdInfoMap": names})
    tags = [tag for tag in media.tags(media.two_audio_tracks()) if tag.type != flv.SCRIPT]
    publish(server, [flv.Tag(flv.SCRIPT, 0, metadata), *tags])
    hls.wait_end(server, SECOND)
    lines = http.get(server.http_port, MASTER).body.decode().splitlines()
    assert 'NAME="Stadion",LANGUAGE="de",DEFAULT=YES,AUTOSELECT=YES,' in lines[2], lines
    second = ',NAME="Engl\'ish, URI=\'x\'",LANGUAGE="en-GB",AUTOSELECT=YES,CHANNELS="1",URI="/live/one~audio2.m3u8"'
    assert lines[3].endswith(second) and len(lines) == 6, lines


def with_first_track(tags, form, video):
    """The first audio track is one that the segments do not carry: FLAC in MPEG-TS, Speex in MP4."""
    out = []
    for tag in tags:
        if tag.type == flv.VIDEO and not video:
            continue
        if tag.type != flv.AUDIO or tag.body[0] >> 4 != 10:
            out.append(tag)
        elif tag.body[1] == 1:
            out.append(tag._replace(body=(b"\x91fLaC" if form == "ts" else b"\xb6") + tag.body[2:]))
    return out


@pytest.mark.parametrize("video", [True, False], ids=["video", "audio-only"])
@pytest.mark.parametrize("form", ["ts", "fmp4"])
def test_the_first_audio_track_that_the_segments_carry_leads(servers, form, video):
    """It is the audio of the playlist, and the track before it is named once by the log. There is no group of one track."""
    server = servers(vhosts=hls.vhost(fragment="1", use_fmp4="on" if form == "fmp4" else "off"))
    path = media.two_audio_tracks()
    publish(server, with_first_track(media.tags(path), form, video))
    hls.wait_end(server, PATH)
    got = audio_packets(server.http_url(PATH[1:]), adts=form == "ts")
    assert got == audio_packets(path, 1), "the packets of the second audio track"
    for other in (MASTER, SECOND):
        assert http.get_status(server.http_port, other) == 404, f"{other} with one track that is carried"
    why = "MPEG-TS does not carry FLAC" if form == "ts" else "MP4 track: Speex is not supported in MP4"
    lines = [line for line in server.log().splitlines() if "is left out" in line]
    assert len(lines) == 1 and lines[0].endswith(f"live/one: audio track 1 is left out: {why}"), lines


def test_video_that_the_segments_do_not_carry_is_named_by_the_log(servers):
    """AV1 in MPEG-TS: the playlist has the audio alone."""
    server = servers(vhosts=hls.vhost(fragment="1"))
    publish(server, media.tags(media.encoded_by_9("libaom-av1", "libopus")))
    assert hls.wait_end(server, PATH).segments, "segments of the audio"
    lines = [line for line in server.log().splitlines() if "is left out" in line]
    assert len(lines) == 1 and lines[0].endswith("video track 1 is left out: MPEG-TS does not carry AV1"), lines


def test_one_audio_track_is_as_ever(servers):
    """No group, no multivariant playlist."""
    server = servers(vhosts=hls.vhost(fragment="1"))
    tags = [tag for tag in media.tags(media.plain())]
    publish(server, tags)
    hls.wait_end(server, PATH)
    for path in (MASTER, SECOND):
        assert http.get_status(server.http_port, path) == 404
    assert {"one.m3u8"} == {file.name for file in (server.dir / "html/live").glob("*.m3u8")}


def test_ffmpeg_publishes_and_a_bystander_is_not_disturbed(servers, tool):
    """FFmpeg itself by RTMP; beside it a stream with one track, whose playlist is what it is alone."""
    server = servers(vhosts=hls.vhost(fragment="1"))
    path = media.two_audio_tracks()
    alone = media.tags(media.plain())
    publish(server, alone, "alone")
    want = hls.without_dates(hls.wait_end(server, "/live/alone.m3u8").text)
    url = server.rtmp_url("live/one") if hasattr(server, "rtmp_url") else f"rtmp://127.0.0.1:{server.rtmp_port}/live/one"
    process = tool(ffmpeg.command9("-re", "-i", path, "-map", "0", "-c", "copy", "-f", "flv", url))
    publish(server, alone, "beside", speed=4)
    process.finish(60)
    main, second = ended(server)
    assert_alike(main, second)
    assert audio_packets(server.http_url(SECOND[1:]), adts=True) == audio_packets(path, 1), "FFmpeg's second track"
    assert hls.without_dates(hls.wait_end(server, "/live/beside.m3u8").text) == want.replace("alone", "beside")


def steady(server, tags=None, name="one", speed=1):
    """Both tracks in a loop."""
    client = rtmp.publisher(server, "live", name, timeout=scaled(10))
    return publishing.Steady(client, tags or media.tags(media.two_audio_tracks()), speed=speed)


def moved(tags, by):
    return [tag._replace(timestamp=tag.timestamp + by) for tag in tags]


def without_track(tags, track):
    return [tag for tag in tags if tag.type != flv.AUDIO or flv.track_of(tag) != track]


# It tells what it hears: the frequency at which the spectrum of what the element plays has its peak.
PAGE = """<!doctype html><video id="video" autoplay></video><script src="/hls.js/dist/hls.min.js"></script><script>
const video = document.getElementById("video"), errors = [], fragments = {main: [], audio: []}, switched = [];
const player = new Hls({liveSyncDurationCount: 2});
player.on(Hls.Events.ERROR, (_, data) => errors.push({fatal: data.fatal, details: data.details, why: String(data.reason || data.error)}));
player.on(Hls.Events.FRAG_BUFFERED, (_, data) => fragments[data.frag.type].push(data.frag.relurl.split("?")[0]));
player.on(Hls.Events.AUDIO_TRACK_SWITCHED, (_, data) => switched.push(data.id));
player.loadSource(decodeURIComponent(location.hash.slice(1)));
player.attachMedia(video);
let analyser = null, bins = null;
function listen() {
    const context = new AudioContext();
    analyser = context.createAnalyser();
    analyser.fftSize = 8192;
    bins = new Float32Array(analyser.frequencyBinCount);
    const source = context.createMediaElementSource(video);
    source.connect(analyser);
    analyser.connect(context.destination);
}
video.addEventListener("playing", () => analyser || listen());
function hears() {
    if (!analyser) return 0;
    analyser.getFloatFrequencyData(bins);
    const loudest = bins.indexOf(Math.max(...bins));
    return bins[loudest] > -90 ? loudest * analyser.context.sampleRate / analyser.fftSize : 0;
}
reportEvery(250, () => ({
    time: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames, hears: hears(), errors, fragments,
    switched, tracks: player.audioTracks.map((track) => track.name), track: player.audioTrack}), (word) => player.audioTrack = word);
</script>"""


@pytest.mark.parametrize("form", ["ts", *(pytest.param(form, marks=pytest.mark.long) for form in ("fmp4", "fmp4-keys"))])
def test_hls_js_changes_to_the_second_track(servers, tool, tmp_path, form):
    if not browser.is_there("hls.js/dist/hls.min.js"):
        pytest.skip("scripts/test installs hls.js and Chromium")
    settings = {"use_fmp4": "on" if form.startswith("fmp4") else "off", "keys": "on" if form.endswith("keys") else "off"}
    server = servers(top=api.ON, vhosts=hls.vhost(fragment="1", window="20", ctx="on", **settings))
    with steady(server):
        wait_until(lambda: http.get_status(server.http_port, PATH) == 200, 15, "a playlist")
        page = browser.Browser(tool, tmp_path, PAGE, server.http_url(PATH[1:]))
        try:

            def plays(frequency, frames):
                last = page.last()
                assert not last or not [error for error in last["errors"] if error["fatal"]], f"hls.js gave up: {last}"
                return last and abs(last["hears"] - frequency) < 20 and last["frames"] > frames and last

            before = wait_until(lambda: plays(440, 25), 60, lambda: f"440 Hz; {page.last()}\n{page.process.text()[-2000:]}", 0.2)
            assert before["tracks"] == ["Audio 1", "Audio 2"] and before["track"] == 0, before
            has_first = any("~audio1" in name for name in before["fragments"]["audio"])
            assert has_first == form.startswith("fmp4"), f"the first track is in the main segments of TS: {before}"
            page.commands.append(1)
            after = wait_until(lambda: plays(880, before["frames"] + 50), 60, lambda: f"880 Hz; {page.last()}", 0.2)
            assert after["track"] == 1 and after["switched"][-1] == 1, after
            assert any("~audio2" in name for name in after["fragments"]["audio"]), after
            page.commands.append(0)
            wait_until(lambda: plays(440, after["frames"] + 25), 60, lambda: f"440 Hz again; {page.last()}", 0.2)
        finally:
            page.close()
    viewers = [one for one in api.clients(server) if one["type"] == "hls-play"]
    assert len(viewers) == 1, f"the browser is one viewer, whatever it fetches: {viewers}"


def files_of(server):
    """Directories may go while they are listed."""
    return {name for _, _, names in os.walk(server.dir / "html") for name in names}


@pytest.mark.parametrize("form", ["ts-disk", "fmp4-memory"])
def test_a_track_that_comes_and_goes(servers, form):
    """It begins with the next segment, with the same number; it ends its playlist when the next publisher has it no more."""
    more = {"use_fmp4": "on", "storage": "memory"} if form == "fmp4-memory" else {}
    server = servers(vhosts=hls.vhost(fragment="1", window="9", rejoin=60_000, dispose="1", **more))
    tags = media.tags(media.two_audio_tracks())
    header = [tag for tag in tags if flv.track_of(tag) == 1 and not flv.is_frame(tag)]
    late = [tag for tag in without_track(tags, 1) if tag.timestamp < 3500] + moved(header, 3500)
    late += [tag for tag in tags if tag.timestamp >= 3500]
    publish(server, late)
    main = hls.wait(server, PATH, lambda found: len(found.segments) == 8)
    second = hls.wait(server, SECOND, lambda found: len(found.segments) == 4)
    assert main.segments[4].discontinuity and second.segments[0].discontinuity, f"{main.text}\n{second.text}"
    assert second.sequence == 4 and second.discontinuities == main.discontinuities == 0, second.text
    assert [one.duration for one in second.segments] == [one.duration for one in main.segments[4:]], second.text
    assert "~audio2" in http.get(server.http_port, MASTER).body.decode()
    # Without it.
    with steady(server, without_track(tags, 1), speed=4):
        ended_list = hls.wait_end(server, SECOND)
        assert [one.uri for one in ended_list.segments] == [one.uri for one in second.segments][-len(ended_list.segments):]
        assert http.get_status(server.http_port, MASTER) == 404, "no player is to begin with it"
        wait_until(lambda: http.get_status(server.http_port, SECOND) == 404, 30, "its playlist goes with the main one's")
        wait_until(lambda: not [name for name in files_of(server) if "~" in name], 30, lambda: f"its files go: {files_of(server)}")
        hls.wait(server, PATH, lambda found: found.segments and not found.ended)
    # With it again.
    with steady(server, tags, speed=4):
        second = hls.wait(server, SECOND, lambda found: len(found.segments) >= 2 and not found.ended, 20)
        main = hls.wait(server, PATH, lambda found: found.segments[-1].sequence >= second.segments[-1].sequence)
        numbers = {one.sequence: one for one in main.segments}
        for one in second.segments:
            assert one.duration == numbers[one.sequence].duration, f"{main.text}\n{second.text}"
    wait_until(lambda: not files_of(server), 20, lambda: f"all goes with hls_dispose: {files_of(server)}")


@pytest.mark.parametrize("recover", ["on", "off"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def test_after_a_restart(servers, number, recover):
    """Both playlists go on with the same numbers, or both begin anew; a track that is there no more ends."""
    server = servers(vhosts=hls.vhost(fragment="1", recover=recover, rejoin=1500, use_fmp4="on"))
    tags = media.tags(media.two_audio_tracks())
    publish(server, tags)
    before = hls.wait(server, SECOND, lambda found: len(found.segments) == 8)
    server.signal(number)
    server.wait_exit(10)
    server.start()
    publish(server, tags)
    main, second = ended(server)
    assert_alike(main, second)
    count = len(before.segments) if recover == "on" else 0
    assert len(second.segments) == count + 8, second.text
    assert [one.discontinuity for one in second.segments].index(True) == count if count else not second.segments[0].discontinuity
    for one in second.segments:
        hls.segment_bytes(server, SECOND, one)
    assert audio_packets(server.http_url(SECOND[1:])) == audio_packets(media.two_audio_tracks(), 1) * (2 if count else 1)
    server.stop()
    server.start()
    publish(server, without_track(tags, 1))
    hls.wait_end(server, PATH)
    assert http.get_status(server.http_port, MASTER) == 404
    wait_until(lambda: "one~master.m3u8" not in files_of(server), 10, "the multivariant playlist is gone")
    if recover == "on":
        assert hls.wait_end(server, SECOND).segments[-1].uri == second.segments[-1].uri
    else:
        wait_until(lambda: not [name for name in files_of(server) if "~" in name], 10, lambda: str(files_of(server)))


def test_kill_9_while_segments_of_all_tracks_are_written(servers):
    """No playlist ever names what is not there, none goes back, and of the next run all go on alike."""
    server = servers.make(vhosts=hls.vhost(fragment="1", window="6", use_fmp4="on"))
    tags = media.tags(media.two_audio_tracks())
    dice = random.Random(120)
    paths = [server.dir / "html/live" / name for name in ("one.m3u8", "one~video.m3u8", "one~audio1.m3u8", "one~audio2.m3u8")]
    ends = dict.fromkeys(paths, 0)
    for _ in range(8):
        server.process = None
        server.start()
        client = rtmp.publisher(server, "live", "one", timeout=scaled(10))
        try:
            until = time.monotonic() + scaled(dice.uniform(0.05, 0.3))
            for number, tag in enumerate(tags * 20):
                if number % 20 == 0:
                    time.sleep(0.005)
                if time.monotonic() > until:
                    break
                client.send_tag(tag)
        finally:
            server.signal(signal.SIGKILL)
            server.process.wait()
            client.close()
        for path in paths:
            if not path.exists():
                continue
            playlist = hls.Playlist(path.read_text())
            for segment, _ in playlist.there():
                for uri in (segment.uri, segment.map):
                    assert (path.parent / uri).stat().st_size > 0, f"{uri} is named:\n{playlist.text}"
            end = playlist.sequence + len(playlist.segments)
            assert end >= ends[path], f"{path.name} went to {ends[path]} before:\n{playlist.text}"
            ends[path] = end
        server.log_path.unlink()
    assert min(ends.values()) > 8, ends
    server.process = None
    server.start()
    publish(server, tags)
    lists = [hls.wait_end(server, f"/live/{path.name}") for path in paths]
    for other in lists[1:]:
        assert len(other.segments) >= 6, other.text
        for mine, its in zip(lists[0].segments[-6:], other.segments[-6:]):
            assert (mine.sequence, mine.duration, mine.discontinuity) == (its.sequence, its.duration, its.discontinuity), (
                f"{lists[0].text}\n{other.text}"
            )


def test_what_a_run_left_of_all_tracks_is_disposed_of(servers):
    server = servers(top="hls_roll ./state/hls.roll;\n", vhosts=hls.vhost(fragment="1", dispose="3", rejoin=60_000))
    with rtmp.publisher(server, "live", "one", timeout=scaled(10)) as client:
        publishing.send_all(client, media.tags(media.two_audio_tracks()))
        hls.wait(server, SECOND, lambda found: len(found.segments) >= 2)
        roll = server.dir / "state" / "hls.roll"
        wait_until(lambda: roll.exists() and "one" in roll.read_text(), 5, "the stream is listed")
        server.signal(signal.SIGKILL)
        server.wait_exit(10)
    server.start()
    hls.wait(server, SECOND, lambda found: found.segments, what="what the last run left")
    assert "~audio2" in http.get(server.http_port, MASTER).body.decode()
    wait_until(lambda: not files_of(server), 15, lambda: f"left: {files_of(server)}")
    assert http.get_status(server.http_port, SECOND) == 404


def test_a_stream_that_is_called_like_a_track_has_no_hls(servers):
    server = servers(top=api.ON, vhosts=hls.vhost(fragment="1"))
    tags = media.tags(media.two_audio_tracks())
    with rtmp.publisher(server, "live", "one~audio2") as client:
        publishing.send_all(client, media.tags(media.plain()))
        api.explained(server, "one~audio2", "outputs", "hls: .* has '~audio', which marks files of other streams' tracks")
    publish(server, tags)
    publish(server, media.tags(media.plain()), "one~audio2")
    main, second = ended(server)
    assert_alike(main, second)
    assert audio_packets(server.http_url(SECOND[1:]), adts=True) == audio_packets(media.two_audio_tracks(), 1)


def test_who_may_not_play_the_stream_gets_no_track(servers):
    secret = "correct-horse"
    block = "signed_urls { enabled on; publish off; secret %s; }" % secret
    server = servers(vhosts=hls.vhost(fragment="1", ctx="on", keys="on", path="./hls", more=block))
    publish(server, media.tags(media.two_audio_tracks()))
    wait_until(lambda: (server.dir / "hls/live/one-7~audio2.ts").exists(), 10, "the last segment")
    for path in (PATH, SECOND, MASTER, "/live/one-0~audio2.ts", "/live/one-0~audio2.key"):
        for query in ("", "?hls_ctx=abcd1234", "?sign=1&expires=99999999999"):
            assert http.get_status(server.http_port, path + query) == 403, path + query
    expires = int(time.time()) + 60
    sign = hmac.new(secret.encode(), f"play\n__defaultVhost__/live/one\n{expires}\n".encode(), hashlib.sha256).hexdigest()
    for path in (PATH, SECOND, MASTER):
        text = http.get(server.http_port, f"{path}?expires={expires}&sign={sign}").body.decode()
        assert "#EXT-X-MEDIA" in text, f"without hls_ctx each is the multivariant playlist: {text}"
    uri = re.search('URI="([^"]*)"', text)[1]
    second = hls.wait(server, uri, lambda found: found.segments)
    assert hls.segment_bytes(server, uri, second.segments[0])[:1] == b"G"


def test_hooks_are_told_of_each_tracks_segments(servers):
    with hooks.HookServer() as asked:
        server = servers(vhosts=hooks.vhost(
            hls="hls { enabled on; hls_fragment 1; hls_path ./html; }", on_hls=asked.url("on_hls")))  # fmt: skip
        publish(server, media.tags(media.two_audio_tracks()))
        bodies = asked.wait("on_hls", 16)
    by_list = {}
    for body in bodies:
        by_list.setdefault(body["m3u8_url"], []).append(body)
    assert sorted(by_list) == ["live/one.m3u8", "live/one~audio2.m3u8"], by_list.keys()
    for name, told in by_list.items():
        assert [body["seq_no"] for body in told] == list(range(8)), told
        assert {body["m3u8"] for body in told} == {f"./html/{name}"}, told
    assert by_list["live/one~audio2.m3u8"][3]["file"] == "./html/live/one-3~audio2.ts"


@pytest.mark.parametrize("policy", ["continue", "ignore"])
def test_a_track_that_cannot_be_written(servers, policy):
    """continue: the main playlist goes on, and no list names what is not there. ignore: HLS is off, as for any failure."""
    server = servers(
        vhosts=hls.vhost(fragment="1", on_error=policy),
        environment={"DISK_FAULT": "path=one~audio2.m3u8. op=write error=EIO"},
    )
    tags = media.tags(media.two_audio_tracks())
    if policy == "ignore":
        with steady(server, tags, speed=4):
            server.wait_log("is off until it is published again", 15)
        return
    publish(server, tags)
    server.wait_log("HLS of .* failed: .*Input/output error")
    main = hls.wait_end(server, PATH)
    assert len(main.segments) == 8 and not any(one.discontinuity for one in main.segments), main.text
    assert audio_packets(server.http_url(PATH[1:]), adts=True) == audio_packets(media.two_audio_tracks(), 0)
    assert http.get_status(server.http_port, SECOND) == http.get_status(server.http_port, MASTER) == 404


def test_http_of_a_track(servers):
    """As of the main playlist: gzip, types, ETag, ranges, what may be kept."""
    for storage in ("disk", "memory"):
        server = servers(vhosts=hls.vhost(fragment="1", storage=storage))
        publish(server, media.tags(media.two_audio_tracks()))
        second = hls.wait_end(server, SECOND)
        zipped = http.get(server.http_port, SECOND, Accept_Encoding="gzip")
        assert gzip.decompress(zipped.body).decode() == second.text and "no-store" in zipped.headers["cache-control"]
        assert http.get(server.http_port, MASTER).headers["content-type"] == "application/vnd.apple.mpegurl"
        path = f"/live/{second.segments[0].uri}"
        whole = http.get(server.http_port, path)
        assert whole.headers["content-type"] == "video/mp2t" and "max-age" in whole.headers["cache-control"]
        part = http.get(server.http_port, path, Range="bytes=188-375")
        assert part.status == 206 and part.body == whole.body[188:376], part.describe()
        assert http.get(server.http_port, path, If_None_Match=whole.headers["etag"]).status == 304
        for name in ("one~audio2.m3u8.tmp", "one~audio2.m3u8.1.tmp", "one~audio9.m3u8", "one~audio02.m3u8"):
            assert http.get_status(server.http_port, f"/live/{name}") == 404, name
