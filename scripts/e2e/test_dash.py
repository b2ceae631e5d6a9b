"""DASH: the manifest, the segments that it lists, what comes and goes with publishers, tracks and runs of the server. Each
manifest is read by lib/dash.py, which knows the schema."""

import contextlib
import datetime
import gzip
import re
import signal
import time
from urllib.parse import quote

import pytest

from lib import api, dash, edges, http, media, mp4, publishing, rtmp, signed_urls
from lib.timing import scaled, wait_until

FOLDER = ("html", "live", "one")
KEPT = {"window_size": "100", "timeshift": "300"}
LOW = "enabled on; hls_use_fmp4 on; hls_fragment 1; hls_low_latency on; hls_storage memory;"


def publish(server, tags=None, name="one", **options):
    return publishing.Steady(rtmp.publisher(server, "live", name, timeout=scaled(10)), tags or media.from_keyframe(media.frequent_keyframes()), **options)


def whole(server, track):
    """Its initialisation segment and its segments, as a file."""
    return dash.fetch(server, track.initialization) + b"".join(dash.fetch(server, segment.uri) for segment in track.segments)


def check_media(server, tmp_path, track, kind):
    """What is listed is there, plays, and has the times that the manifest says."""
    path = tmp_path / f"{track.id}.mp4"
    path.write_bytes(whole(server, track))
    packets = mp4.packets(path)[kind]
    assert packets, f"{track.id} has frames"
    for segment, following in zip(track.segments, track.segments[1:]):
        assert abs(segment.begin + segment.duration - following.begin) < 0.001, f"{track.id}: one behind the other: {segment}, {following}"
    return packets


FORMS = {
    "disk": {},
    "memory": {"hls": "hls_storage memory;"},
    "both-with-hls": {"hls": "enabled on; hls_fragment 1; hls_use_fmp4 on; hls_storage both;"},
    "with-hls-in-ts": {"hls": "enabled on; hls_fragment 1;"},
    "low-latency": {"hls": LOW},
    "low-latency-in-ts-on-disk": {"hls": "enabled on; hls_fragment 1; hls_low_latency on;"},
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_listed_is_there(servers, tmp_path, form):
    server = servers(vhosts=dash.vhost(**KEPT, **FORMS[form]))
    with publish(server):
        began = time.time()
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 4, what="four segments")
        video, audio = manifest.track("video"), manifest.track("audio")
        assert [track.id for track in manifest.periods[0]] == ["video", "audio"] and len(manifest.periods) == 1, manifest.text
        assert video.codecs.startswith("avc1.") and audio.codecs == "mp4a.40.2", manifest.text
        assert int(video.attributes["width"]) > 0 and int(audio.attributes["audioSamplingRate"]) > 0, manifest.text
        assert manifest.low_latency == form.startswith("low"), manifest.text
        assert abs(video.segments[0].begin - began) < scaled(5), f"times are the clock's: {manifest.text}"
        if manifest.low_latency:
            for track in (video, audio):
                track.segments.pop()  # in the making
        for track in (video, audio):
            packets = check_media(server, tmp_path, track, track.kind)
            first, last = packets[0], packets[-1]
            assert abs(first.pts - 1000 * track.segments[0].time / track.timescale) < 1, f"S@t is the first frame's: {first} {manifest.text}"
            length = 1000 * sum(segment.duration for segment in track.segments)
            assert abs(last.dts - first.dts - length) < 100, f"{track.id}: as long as S@d say: {last} {manifest.text}"
        time.sleep(scaled(2))
        later = dash.get(server)
        assert later.published > manifest.published and later.numbers()[-1] > manifest.numbers()[-1], later.text
        if form != "low-latency":
            hls_there = "hls" in FORMS[form].get("hls", "") and "enabled" in FORMS[form].get("hls", "")
            assert (http.get_status(server.http_port, "/live/one.m3u8") == 200) == hls_there


def test_the_window_and_what_leaves_it(servers):
    server = servers(vhosts=dash.vhost(window_size="4", update_period="1"))
    with publish(server):
        first = dash.wait(server, lambda one: len(one.numbers()) == 4, what="a window of four")
        gone = first.track().segments[0]
        now = dash.wait(server, lambda one: one.numbers()[0] > first.numbers()[-1] + 6, 30, "a window later")
        assert len(now.numbers()) == 4 and now.depth <= 4 * 2, now.text
        assert now.update <= 1, now.text
        wait_until(lambda: http.get_status(server.http_port, gone.uri) == 404, 20, "what left goes")
        files = sorted(path.name for path in server.dir.joinpath(*FOLDER).glob("video-*.m4s"))
        assert len(files) < 16, f"files go: {files}"
        on_disk = dash.Manifest((server.dir / "html/live/one.mpd").read_text())
        assert on_disk.numbers() and on_disk.numbers()[-1] > first.numbers()[-1], on_disk.text


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_one_track_alone(servers, tmp_path, kind):
    server = servers(vhosts=dash.vhost(**KEPT, hls="hls_aof_ratio 1;"))
    tags = media.tags(media.audio_only() if kind == "audio" else media.video_only())
    with publish(server, tags):
        manifest = dash.wait(server, lambda one: len(one.numbers(kind)) >= 3, 30, "three segments")
        assert [track.id for track in manifest.periods[-1]] == [kind], manifest.text
        check_media(server, tmp_path, manifest.track(kind), kind)


def test_codecs_and_languages(servers, tmp_path):
    server = servers(vhosts=dash.vhost(**KEPT))
    with publish(server, media.from_keyframe(media.hevc()), "hevc"), publish(server, media.from_keyframe(media.two_audio_tracks()), "two"):
        hevc = dash.wait(server, lambda one: len(one.numbers()) >= 2, 30, "HEVC", "/live/hevc.mpd")
        assert hevc.track().codecs.startswith("hvc1."), hevc.text
        two = dash.wait(server, lambda one: len(one.numbers("audio2")) >= 2, 30, "two audio tracks", "/live/two.mpd")
        assert [track.id for track in two.periods[-1]] == ["video", "audio", "audio2"], two.text
        for track in two.periods[-1]:
            check_media(server, tmp_path, track, track.kind)
        assert two.track("audio").attributes["audioSamplingRate"] != two.track("audio2").attributes["audioSamplingRate"], two.text


@pytest.mark.parametrize(
    "video, audio, codecs, others",
    [
        ("libaom-av1", "libopus", r"av01\.0\.\d\d[MH]\.08", "Opus"),
        ("libvpx-vp9", "libopus", r"vp09\.00\.\d\d\.08", "Opus"),
        ("libx265", "flac", r"hvc1\.1\.\d\.L\d+(\.[0-9A-F]+)+", "fLaC|flac"),
    ],
)
def test_codecs_of_enhanced_rtmp(servers, tmp_path, video, audio, codecs, others):
    """They have their strings of RFC 6381 and their own sizes, and FFmpeg reads the manifest and what it lists."""
    server = servers(vhosts=dash.vhost(**KEPT))
    with publish(server, media.tags(media.encoded_by_9(video, audio))):
        manifest = dash.wait(server, lambda one: all(len(one.numbers(id)) >= 2 for id in ("video", "audio")), 30, video)
        tracks = [manifest.track("video"), manifest.track("audio")]
        assert re.fullmatch(codecs, tracks[0].codecs) and re.fullmatch(others, tracks[1].codecs), manifest.text
        assert int(tracks[0].attributes["width"]) > 0 and int(tracks[1].attributes["audioSamplingRate"]) > 0, manifest.text
        for track in tracks:
            check_media(server, tmp_path, track, track.kind)


def test_a_publisher_returns(servers):
    """Behind it a Period begins; nothing of the first one changes, nor does availabilityStartTime (lib/dash.py)."""
    server = servers(vhosts=dash.vhost(**KEPT, rejoin=2))
    with publish(server):
        first = dash.wait(server, lambda one: len(one.numbers()) >= 3, what="three segments")
    ended = dash.wait(server, lambda one: one.ended, 20, "it has ended")
    assert ended.periods[0][0].segments[: len(first.track().segments)] == first.track().segments
    with publish(server, media.from_keyframe(media.with_b_frames())):
        both = dash.wait(server, lambda one: len(one.periods) == 2 and len(one.track().segments) >= 2, 20, "a second Period")
        before, after = both.track(period=0), both.track(period=1)
        assert before.segments[: len(first.track().segments)] == first.track().segments, "the first one stays"
        assert not both.ended and after.segments[0].number > before.segments[-1].number, both.text
        end = before.segments[-1].begin + before.segments[-1].duration
        assert after.segments[0].begin >= end - 0.2, f"no Period is in another: {both.text}"
        for segment in (before.segments[0], after.segments[0]):
            dash.fetch(server, segment.uri)


@pytest.mark.parametrize("form", ["alone", "with-hls"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def test_a_run_ends_and_the_next_begins(servers, number, form):
    """Files of the first run go, and numbers go on: no cache has another segment by a URL."""
    hls = "enabled on; hls_fragment 1;" if form == "with-hls" else ""
    server = servers(vhosts=dash.vhost(**KEPT, hls=hls))
    with publish(server):
        before = dash.wait(server, lambda one: len(one.numbers()) >= 4, what="four segments")
        server.signal(number)
        server.wait_exit(20)
    old = set(server.dir.joinpath(*FOLDER).glob("*-[0-9]*.m4s"))
    assert len(old) >= 8, f"segments are left: {old}"
    server.start()
    with publish(server):
        after = dash.wait(server, lambda one: len(one.numbers()) >= 2, 20, "it goes on")
        # HLS says where numbers go on: a killed run may have listed a segment here and not there.
        again = 1 if form == "with-hls" and number == signal.SIGKILL else 0
        assert after.numbers()[0] > before.numbers()[-1] - again, after.text
        left = wait_until(lambda: not [path for path in old if path.exists()] or None, 20, "the old files go")
        assert left
        for segment in after.track().segments:
            dash.fetch(server, segment.uri)


def test_it_is_disposed_of(servers):
    server = servers(vhosts=dash.vhost(dispose="2"))
    with publish(server):
        dash.wait(server, lambda one: len(one.numbers()) >= 2, what="two segments")
    folder = server.dir.joinpath(*FOLDER)
    assert folder.exists() and (server.dir / "html/live/one.mpd").exists()
    wait_until(lambda: not folder.exists() and not (server.dir / "html/live/one.mpd").exists(), 20, lambda: f"it goes: {list(folder.glob('*'))}")
    response = http.get(server.http_port, "/live/one.mpd")
    assert response.status == 404 and b"not published" in response.body, response.describe()


def test_viewers_have_contexts(servers):
    """The first manifest gives the id; the next ones, and the segments, are asked for with it: one viewer."""
    server = servers(top=api.ON, vhosts=dash.vhost(ctx="on", **KEPT))
    with publish(server):
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 2, what="two segments", path="/live/one.mpd?token=a%26b")
        assert "hls_ctx=" in manifest.location and manifest.location.endswith("&token=a%26b"), manifest.location
        context = manifest.location.partition("hls_ctx=")[2].partition("&")[0]
        assert all(f"?hls_ctx={context}" in uri for uri in (manifest.track().initialization, manifest.track().segments[0].uri))
        for _ in range(3):
            again = dash.get(server, f"/live/{manifest.location}")
            assert again.location.startswith(f"one.mpd?hls_ctx={context}"), again.location
            dash.fetch(server, again.track().segments[-1].uri)
        viewers = [one for one in api.clients(server) if one["type"] == "hls-play"]
        assert [viewer["id"] for viewer in viewers] == [context], viewers
        assert http.get_status(server.http_port, "/live/one.mpd?hls_ctx=a/b") == 400


@pytest.mark.parametrize("ctx", ["off", "on"])
def test_an_edge_fetches_what_a_manifest_is_asked_of(servers, ctx):
    """The first request waits for the first segment, and gets the manifest."""
    origin = edges.origin(servers)
    edge = servers(vhosts=dash.vhost(ctx=ctx, more=edges.cluster(edges.at(origin)), **KEPT))
    with publish(origin):
        api.wait_stream(origin, "one")
        manifest = dash.get(edge)
        assert manifest and manifest.numbers() and bool(manifest.location) == (ctx == "on"), manifest and manifest.text
        path = f"/live/{manifest.location or 'one.mpd'}"
        later = dash.wait(edge, lambda one: len(one.numbers()) >= 4, what="it goes on", path=path)
        dash.fetch(edge, later.track().segments[-1].uri)
    missing = http.get(edge.http_port, "/live/two.mpd")
    assert missing.status == 404 and missing.headers["cache-control"] == "no-store", missing.describe()


@pytest.mark.parametrize("form", ["alone", "group", "low-latency"])
def test_which_signature_opens_what(servers, form):
    """That of the manifest opens it, and by the id in it all that it lists; no other one does."""
    name, hls = {"alone": ("one", ""), "group": ("x", GROUP), "low-latency": ("one", LOW)}[form]
    signed = f"signed_urls {{ enabled on; secret {signed_urls.SECRET}; publish off; }}"
    server = servers(vhosts=dash.vhost(ctx="on", hls=hls, more=signed, **KEPT))
    track = "x_180p-video" if form == "group" else "video"

    def status(path):
        return http.get_status(server.http_port, path)

    with published_group(server) if form == "group" else publish(server):
        query = signed_urls.query("play", name)
        manifest = wait_group(server, lambda one: len(one.numbers(track)) >= 2, path=f"/live/{name}.mpd?{query}")
        again = dash.get(server, f"/live/{manifest.location}")
        assert again.numbers(track), again.text
        uris = [again.track(track).initialization, again.track(track).segments[0].uri]
        if form == "low-latency":
            uris.append(again.track(track).segments[-1].uri)  # in the making
        for uri in uris:
            bare = uri.partition("?")[0]
            for bad in (bare, f"{bare}?hls_ctx=zzzzzzzz", f"{bare}?{query}"):
                assert status(bad) == 403, bad
            assert status(uri) == 200, uri
        for bad in ("", f"?{signed_urls.query('play', 'other')}", "?hls_ctx=zzzzzzzz"):
            assert status(f"/live/{name}.mpd{bad}") == 403, bad


def test_rules_hold_for_each_request(servers):
    server = servers(vhosts=dash.vhost(**KEPT, more="security { enabled on; allow publish all; deny play 127.0.0.1; }"))
    with publish(server):
        wait_until(lambda: list(server.dir.joinpath(*FOLDER).glob("video-*.m4s")), 10, "files")
        name = next(server.dir.joinpath(*FOLDER).glob("video-*.m4s")).name
        for path in ("/live/one.mpd", f"/live/one/{name}"):
            assert http.get_status(server.http_port, path) == 403, path


def test_http(servers):
    server = servers(vhosts=dash.vhost(**KEPT))
    assert b"not published" in http.get(server.http_port, "/live/one.mpd").body
    with publish(server):
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 2, what="two segments")
        response = http.get(server.http_port, "/live/one.mpd", Accept_Encoding="gzip")
        assert dash.Manifest(gzip.decompress(response.body).decode()).numbers(), response.describe()
        assert response.headers["cache-control"] == "public, max-age=1", response.describe()
        assert http.get(server.http_port, "/live/one.mpd", method="HEAD").status == 200
        clock = http.get(server.http_port, manifest.time_url)
        off = datetime.datetime.fromisoformat(clock.body.decode()).timestamp() - time.time()
        assert abs(off) < scaled(0.3) and clock.headers["cache-control"] == "no-store", clock.describe()
        assert clock.headers["access-control-allow-origin"] == "*", clock.describe()
        segment = manifest.track().segments[0]
        part = http.get(server.http_port, segment.uri, Range="bytes=0-9")
        assert part.status == 206 and part.body == dash.fetch(server, segment.uri)[:10], part.describe()
        assert http.get_status(server.http_port, "/live/one/video-99.m4s") == 404
        assert http.get_status(server.http_port, "/live/one/nothing") == 404


def test_names_that_xml_and_urls_must_not_see(servers):
    server = servers(vhosts=dash.vhost(**KEPT))
    name = "a&b<c>$Number$ü"
    with publish(server, name=name):
        path = "/live/" + quote(name) + ".mpd"
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 2, what="two segments", path=path)
        for uri in (manifest.track().initialization, manifest.track().segments[0].uri, manifest.time_url):
            dash.fetch(server, uri)


# ---- Groups: hls_variants

GROUP = "enabled on; hls_fragment 1; hls_use_fmp4 on; hls_variants live/x_540p live/x_180p;"
QUALITIES = ["x_540p-video", "x_540p-audio", "x_180p-video", "x_180p-audio"]


@contextlib.contextmanager
def published_group(server, names=("x_540p", "x_180p")):
    """As one encoder does it: it connects for all of them, and then sends."""
    tags = {name: media.tags(media.ladder(name.rpartition("_")[2])) for name in names}
    clients = {name: rtmp.publisher(server, "live", name, timeout=scaled(10)) for name in names}
    with contextlib.ExitStack() as stack:
        for name, client in clients.items():
            stack.enter_context(publishing.Steady(client, tags[name]))
        yield


def wait_group(server, condition, seconds=20, path="/live/x.mpd"):
    return dash.wait(server, condition, seconds, "the group", path)


@pytest.mark.parametrize("form", ["disk", "low-latency"])
def test_a_group_is_one_presentation(servers, tmp_path, form):
    """Its streams are Representations of one AdaptationSet, whose segments of equal numbers begin at the same time."""
    low = "hls_low_latency on; hls_storage memory;" if form == "low-latency" else ""
    server = servers(vhosts=dash.vhost(hls=GROUP + low, **KEPT))
    with published_group(server):
        manifest = wait_group(server, lambda one: all(len(one.numbers(id)) >= 4 for id in QUALITIES))
        assert len(manifest.periods) == 1 and manifest.low_latency == bool(low), manifest.text
        tracks = {id: manifest.track(id) for id in QUALITIES}
        assert len({track.set for track in tracks.values()}) == 2, manifest.text
        assert {tracks[id].set for id in QUALITIES[::2]} != {tracks[id].set for id in QUALITIES[1::2]}, manifest.text
        assert [tracks[id].attributes["height"] for id in QUALITIES[::2]] == ["270", "90"], manifest.text
        if low:
            for track in tracks.values():
                track.segments.pop()  # in the making
        begins = [{one.number: one.begin for one in tracks[id].segments} for id in QUALITIES[::2]]
        common = begins[0].keys() & begins[1].keys()
        assert len(common) >= 3 and all(abs(begins[0][one] - begins[1][one]) < 0.002 for one in common), manifest.text
        for track in tracks.values():
            check_media(server, tmp_path, track, track.kind)


def test_a_variant_of_a_presentation_leaves_and_returns(servers):
    server = servers(vhosts=dash.vhost(hls=GROUP + "hls_storage memory;", rejoin=2, **KEPT))
    with published_group(server, ["x_180p"]):
        with published_group(server, ["x_540p"]):
            first = wait_group(server, lambda one: len(one.numbers("x_540p-video")) >= 3 and len(one.numbers("x_180p-video")) >= 3)
        gone = wait_group(server, lambda one: not one.track("x_540p-video"))
        assert [period[0].period for period in gone.periods] == [period[0].period for period in first.periods], "the Period stays"
        assert not gone.ended and http.get_status(server.http_port, "/live/x_540p.mpd") == 404, gone.text
        with published_group(server, ["x_540p"]):
            again = wait_group(server, lambda one: len(one.numbers("x_540p-video")) >= 2)
            newest = [again.track(f"{name}-video").segments[-1] for name in ("x_540p", "x_180p")]
            assert abs(newest[0].number - newest[1].number) <= 1, again.text
            assert abs(newest[0].begin - newest[1].begin) < 2.5, again.text
            for segment in newest:
                dash.fetch(server, segment.uri)
    assert wait_group(server, lambda one: one.ended).ended


def test_a_viewer_of_a_groups_presentation_is_one_viewer(servers):
    server = servers(top=api.ON, vhosts=dash.vhost(ctx="on", hls=GROUP, **KEPT))
    with published_group(server):
        manifest = wait_group(server, lambda one: all(len(one.numbers(id)) >= 2 for id in QUALITIES), path="/live/x.mpd?token=1")
        context = manifest.location.partition("hls_ctx=")[2].partition("&")[0]
        for _ in range(2):
            again = dash.get(server, f"/live/{manifest.location}")
            assert again.location == manifest.location, again.location
            for id in QUALITIES:
                dash.fetch(server, again.track(id).segments[-1].uri)
        viewers = [one for one in api.clients(server) if one["type"] == "hls-play"]
        assert [(viewer["id"], viewer["name"]) for viewer in viewers] == [(context, "x")], viewers
        assert viewers[0]["send_bytes"] > 10_000, viewers


def test_an_edge_fetches_the_streams_of_a_groups_presentation(servers):
    origin = edges.origin(servers)
    edge = servers(vhosts=dash.vhost(hls=GROUP, more=edges.cluster(edges.at(origin)), **KEPT))
    with published_group(origin):
        api.wait_stream(origin, "x_180p")
        first = dash.get(edge, "/live/x.mpd")
        assert first and first.numbers("x_540p-video"), first and first.text
        wait_group(edge, lambda one: all(len(one.numbers(id)) >= 2 for id in QUALITIES))


# ---- Low latency


def test_a_segment_is_fetched_while_it_grows(servers):
    server = servers(vhosts=dash.vhost(hls=LOW.replace("fragment 1", "fragment 2"), **KEPT))
    with publish(server):
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 3, what="three segments")
        assert manifest.low_latency and manifest.track().early > 1, manifest.text
        for _ in range(2):
            now = dash.wait(server, lambda one: one.numbers()[-1] > manifest.numbers()[-1], what="another one")
            segment = now.track().segments[-1]
            began = time.monotonic()
            response = http.get(server.http_port, segment.uri, Range="bytes=0-9")
            took = time.monotonic() - began
            assert response.status == 200 and "content-length" not in response.headers, response.describe()
            assert took > 0.3, f"it has come as it was made, in {took:.2f} s"
            again = http.get(server.http_port, segment.uri)
            assert again.body == response.body and "content-length" in again.headers, "the same bytes when it is complete"
            manifest = now


def test_a_request_that_is_a_little_early_waits(servers):
    server = servers(vhosts=dash.vhost(hls=LOW, **KEPT))
    with publish(server):
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 3, what="three segments")
        segment = manifest.track().segments[-1]
        http.get(server.http_port, segment.uri)  # it is complete
        following = segment.uri.replace(str(segment.number), str(segment.number + 1))
        response = http.get(server.http_port, following)
        assert response.status == 200 and response.body[4:8] == b"styp", response.describe()
        began = time.monotonic()
        assert http.get_status(server.http_port, segment.uri.replace(str(segment.number), str(segment.number + 9))) == 404
        assert time.monotonic() - began < scaled(0.5), "what is far ahead is not waited for"


def test_waiting_is_bounded(servers):
    server = servers(top="max_waiting_requests 2;\n", vhosts=dash.vhost(hls=LOW, **KEPT))
    with publish(server):
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 3, what="three segments")
        segment = manifest.track().segments[-1]
        following = segment.uri.replace(str(segment.number), str(segment.number + 1))
        dash.wait(server, lambda one: one.numbers()[-1] > segment.number, what="it begins")
        connections = [http.Connection(server.http_port, timeout=scaled(20)) for _ in range(4)]
        for connection in connections:
            connection.request("GET", following)
        statuses = sorted(connection.read_response().status for connection in connections)
        assert statuses == [200, 200, 503, 503], statuses


def test_a_publisher_dies_in_a_segment(servers):
    """Who gets the segment then gets it to its end: it is complete when its publisher is gone."""
    server = servers(vhosts=dash.vhost(hls=LOW.replace("fragment 1", "fragment 5"), **KEPT))
    with publish(server):
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 1, what="a segment in the making")
        connection = http.Connection(server.http_port, timeout=scaled(20))
        connection.request("GET", manifest.track().segments[-1].uri)
        time.sleep(0.5)
    response = connection.read_response()
    assert response.status == 200 and response.body[4:8] == b"styp", response.describe()
    assert http.get(server.http_port, manifest.track().segments[-1].uri).body == response.body
