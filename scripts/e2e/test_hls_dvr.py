"""hls_dvr_window: a playlist in which players can go back, in memory and on disk: what is listed is there, what is too old is
gone, delta updates, restarts."""

import re
import time

import pytest

from lib import api, browser, hls, http, media, publishing, rtmp
from lib.server import run_once
from lib.timing import scaled, wait_until

HLS_JS = "hls.js/dist/hls.min.js"
PATH = "/live/one.m3u8"
SPEED = 20


def make(servers, top=api.ON, **directives):
    settings = {"fragment": "1", "window": "4", "dvr_window": "150", **directives}
    return servers(top=top, vhosts=hls.vhost(**settings))


def steady(server):
    return publishing.Steady(
        rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.frequent_keyframes()), speed=SPEED
    )


def text_of(server, query=""):
    answer = http.get(server.http_port, PATH + query)
    assert answer.status == 200, answer.describe()
    return answer.body.decode()


def playlist(text):
    return hls.Playlist(re.sub(r"#EXT-X-(SERVER-CONTROL|SKIP):.*\n", "", text))


def wait_length(server, seconds, limit=30):
    """Until the playlist is so long, s."""

    def there():
        answer = http.get(server.http_port, PATH)
        found = playlist(answer.body.decode()) if answer.status == 200 else None
        return found if found and sum(one.duration for one in found.segments) >= seconds else None

    return wait_until(there, limit, f"a playlist of {seconds} s")


@pytest.mark.parametrize("storage", ["memory", "disk", "both"])
def test_all_of_a_long_playlist_is_there(servers, storage):
    server = make(servers, storage=storage)
    with steady(server):
        wait_length(server, 140)
        wait_until(lambda: playlist(text_of(server)).sequence > 10, 20, "segments leave")
        found = playlist(text_of(server))
        length = sum(one.duration for one in found.segments)
        assert 145 <= length <= 160, f"as long as hls_dvr_window: {length}"
        assert "#EXT-X-PLAYLIST-TYPE" not in found.text, "its segments leave (RFC 8216bis, 6.2.2)"
        sizes = [len(hls.fetch(server, PATH, one.uri)) for one in found.segments]
        memory = api.streams(server)["one"]["memory"]["outputs"]
    if storage == "both":
        assert memory < sum(sizes) / 4, f"the newest 4 s of {sum(sizes)} bytes are in memory, {memory} bytes"
    if storage == "memory":
        assert memory > sum(sizes) * 0.9


def test_a_small_memory_makes_it_shorter(servers):
    """The oldest segments leave early, and the list begins behind them."""
    server = make(servers, dvr_window="600", storage="memory", more="stream_memory 8;")
    with steady(server):
        wait_length(server, 10)
        wait_until(lambda: playlist(text_of(server)).sequence > 3, 30, "segments leave")
        found = playlist(text_of(server))
        assert len(found.segments) > 10
        sizes = [len(hls.fetch(server, PATH, one.uri)) for one in found.segments]
        assert sum(sizes) <= 4 << 20, "half of stream_memory"


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_delta_updates(servers, storage):
    server = make(servers, storage=storage)
    with steady(server):
        wait_length(server, 60)
        whole, delta = text_of(server), text_of(server, "?_HLS_skip=YES")
        assert http.get(server.http_port, PATH + "?_HLS_skip=maybe").status == 400
        # Nothing waits here.
        begin = time.monotonic()
        text_of(server, "?_HLS_msn=100000")
        assert time.monotonic() - begin < scaled(1)
    target = int(re.search(r"#EXT-X-TARGETDURATION:(\d+)", whole)[1])
    assert f"#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL={6 * target}\n" in whole and "CAN-BLOCK" not in whole
    skipped = int(re.search(r"#EXT-X-SKIP:SKIPPED-SEGMENTS=(\d+)\n", delta)[1])
    long, short = playlist(whole), playlist(delta)
    assert short.sequence - long.sequence in (0, 1, 2)
    kept = [one.uri for one in short.segments]
    assert len(delta) < len(whole) / 2, f"{len(delta)} of {len(whole)} bytes"
    assert sum(one.duration for one in short.segments) <= 8 * target
    first = short.sequence + skipped - long.sequence
    assert [one.uri for one in long.segments][first:] == kept[: len(long.segments) - first]


def test_viewers_share_its_text(servers):
    """Their ids are in the URLs of playlists, but not in those of segments; by gzip it is short."""
    server = make(servers, ctx="on", ts_ctx="on", storage="memory")
    with steady(server):
        wait_until(lambda: http.get_status(server.http_port, PATH) == 200, 10, "a playlist")
        variants = [text_of(server).splitlines()[-1] for _ in range(2)]
        assert variants[0] != variants[1] and all("hls_ctx=" in one for one in variants)
        time.sleep(2)
        answers = [http.get(server.http_port, one, Accept_Encoding="gzip") for one in variants]
        plain = http.get(server.http_port, variants[0]).body
    assert b"hls_ctx" not in plain
    assert all(one.headers["content-encoding"] == "gzip" and len(one.body) < len(plain) / 3 for one in answers)


def gone_on(server):
    """The playlist with the segments of the next run."""
    answer = http.get(server.http_port, PATH)
    found = playlist(answer.body.decode()) if answer.status == 200 else None
    return found if found and any(one.discontinuity for one in found.segments) else None


def test_a_long_playlist_survives_kill_9(servers):
    server = make(servers, storage="disk")
    with steady(server):
        before = wait_length(server, 100)
        server.process.kill()
        server.process.wait()
    server.start()
    with steady(server):
        after = wait_until(lambda: gone_on(server), 20, "it goes on")
        kept = [one.uri for one in before.segments]
        there = [one.uri for one in after.segments if one.uri in set(kept)]
        assert there == kept[-len(there) :] and len(there) > 90, f"{len(there)} of {len(kept)}"
        for one in after.segments[:20]:
            assert hls.fetch(server, PATH, one.uri)


def test_what_had_left_is_deleted_after_kill_9(servers):
    server = make(servers, storage="disk", dvr_window="100")
    with steady(server):
        wait_length(server, 90)
        before = wait_until(lambda: found if (found := playlist(text_of(server))).sequence > 85 else None, 30, "segments leave")
        server.process.kill()
        server.process.wait()
    numbers = lambda: sorted(int(one.stem.rpartition("-")[2]) for one in (server.dir / "html/live").glob("one-*.ts"))  # noqa: E731
    assert before.sequence - numbers()[0] > 70, "they were kept"
    server.start()
    with steady(server):
        wait_until(lambda: gone_on(server), 20, "it goes on")
    assert numbers()[0] >= before.sequence, f"files from {numbers()[0]} on; the playlist began with {before.sequence}"


def test_it_is_disposed_of(servers):
    server = make(servers, storage="both", dispose="1")
    with steady(server):
        wait_length(server, 30)
        files = list((server.dir / "html/live").glob("one-*.ts"))
        assert len(files) > 20
    wait_until(lambda: not list((server.dir / "html/live").glob("one*")), 20, "no file is left")
    assert http.get_status(server.http_port, PATH) == 404


# It goes back once it has played, and tells how far its playlist reaches.
PAGE = """<!doctype html><video id="video" muted autoplay></video><script src="/hls.js/dist/hls.min.js"></script><script>
const video = document.getElementById("video"), errors = [];
let skips = 0, listed = 0, went = 0;
const player = new Hls({lowLatencyMode: false});
player.on(Hls.Events.ERROR, (_, data) => errors.push({fatal: data.fatal, details: data.details, why: String(data.reason || data.error)}));
player.on(Hls.Events.LEVEL_LOADED, (_, data) => {
    skips += data.networkDetails.responseURL.includes("_HLS_skip=");
    listed = data.details.fragments.length;
});
player.loadSource(decodeURIComponent(location.hash.slice(1)));
player.attachMedia(video);
reportEvery(250, () => {
    if (!went && video.currentTime > 0 && video.getVideoPlaybackQuality().totalVideoFrames > 40 && skips > 1) {
        went = video.currentTime;
        video.currentTime = video.seekable.start(0) + 12;
    }
    return {time: video.currentTime, from: video.seekable.length ? video.seekable.start(0) : -1, went, skips, listed, errors,
            seeking: video.seeking, frames: video.getVideoPlaybackQuality().totalVideoFrames};
});
</script>"""


def test_hls_js_goes_back(servers, tool, tmp_path):
    if not browser.is_there(HLS_JS):
        pytest.skip("scripts/test installs hls.js and Chromium")
    server = make(servers, ctx="on", dvr_window="600", storage="both", use_fmp4="on")
    tags = media.tags(media.frequent_keyframes())
    client = rtmp.publisher(server, "live", "one", timeout=scaled(10))
    fast = publishing.Steady(client, tags, speed=SPEED)
    wait_until(lambda: fast.sent and fast.sent[-1].timestamp > 150_000, 30, "150 s are published")
    fast.stop()
    with publishing.Steady(client, tags, start_at=fast.sent[-1].timestamp + 40):
        page = browser.Browser(tool, tmp_path, PAGE, server.http_url(PATH[1:]))
        try:

            def is_back():
                last = page.last()
                assert not last or not [error for error in last["errors"] if error["fatal"]], f"hls.js gave up: {last}"
                return last and last["went"] and last["from"] + 14 < last["time"] < last["from"] + 60 and last

            seen = wait_until(is_back, 60, lambda: f"it plays 12 s behind the beginning; {page.last()}\n{page.process.text()[-2000:]}", 0.2)
        finally:
            page.close()
    assert seen["went"] - seen["time"] > 60 and seen["listed"] > 70, seen
    assert seen["skips"] > 1, "its reloads are delta updates"


def test_it_has_at_most_10000_segments(tmp_path):
    conf = tmp_path / "srs.conf"
    conf.write_text("listen 1935;\nvhost v { hls { enabled on; hls_fragment 2; hls_dvr_window 20001; } }\n")
    code, output = run_once("-t", "-c", str(conf))
    assert code != 0 and "more than 10000 segments" in output, output
