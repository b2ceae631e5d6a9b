"""Pictures of streams from the API: what they show, how long they are kept, who gets them, and what there is no picture
of."""

import contextlib
import subprocess
import threading
import time

import pytest

from lib import api, ffmpeg, flv, http, media, metrics, pion, publishing, rtc, rtmp, signed_urls
from lib.server import default_vhost
from lib.timing import scaled, wait_until

SMALL = 160, 90
NO_GOP_CACHE = default_vhost(play="gop_cache off;")


def path_of(server, name="cam", query=""):
    return f"/api/v1/streams/{api.wait_stream(server, name)['id']}/snapshot.jpg{query}"


def get(server, path, method="GET", **headers):
    return http.get(server.api_port, path, method, **headers)


def picture(server, path):
    answer = get(server, path)
    assert answer.status == 200, answer.describe() + answer.body.decode(errors="replace")
    assert answer.headers["content-type"] == "image/jpeg"
    return answer


def run(words, data=None):
    return subprocess.run([str(word) for word in words], input=data, capture_output=True, check=True).stdout


def size_of(jpeg):
    shown = run(["ffprobe", "-v", "error", "-f", "mjpeg", "-show_entries", "stream=width,height", "-of", "csv=p=0", "-"], jpeg)
    return tuple(int(word) for word in shown.decode().split(",")[:2])


def small(*source, data=None):
    """Frames in grey, small."""
    width, height = SMALL
    words = ["-v", "error", *source, "-vf", f"scale={width}:{height}:flags=area,format=gray", "-f", "rawvideo", "-"]
    raw = run(ffmpeg.command9(*words)[:-1] + ["-"], data)
    return [raw[at : at + width * height] for at in range(0, len(raw), width * height)]


def difference(a, b):
    return sum(abs(x - y) for x, y in zip(a, b, strict=True)) / len(a)


@pytest.mark.parametrize("source", [media.with_b_frames, media.plain, media.hevc], ids=lambda source: source.__name__)
def test_a_picture_is_a_keyframe_of_the_stream(servers, source):
    server = servers(top=api.ON)
    path = source()
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(path)):
        shown = small("-f", "mjpeg", "-i", "-", data=picture(server, path_of(server, query="?width=1920")).body)[0]
    keyframes = small("-skip_frame", "nokey", "-i", path, "-fps_mode", "passthrough")
    assert len(keyframes) > 1
    distances = sorted(difference(shown, one) for one in keyframes)
    assert distances[0] < 3, f"one of the keyframes; the differences are {distances}"


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
@pytest.mark.parametrize("codec", ["h264", "av1", "vp8"])
def test_a_stream_of_webrtc_is_converted_meanwhile(servers, tool, codec):
    """Nobody else wants its frames: the next keyframe is waited for."""
    server = servers(**rtc.options())
    publisher = tool(pion.words(codec=codec, whip=rtc.whip_url(server), seconds=12))
    api.wait_stream(server, "one", lambda stream: stream["video"], 20)
    shown = small("-f", "mjpeg", "-i", "-", data=picture(server, path_of(server, "one", "?width=1920")).body)[0]
    keyframes = small("-i", pion.video(codec), "-fps_mode", "passthrough")
    assert min(difference(shown, one) for one in keyframes) < 4
    publisher.kill()


def test_width(servers):
    server = servers(top=api.ON)
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.plain())):
        path = path_of(server)
        whole = size_of(picture(server, path + "?width=1920").body)
        assert whole[0] <= 1920
        for width in (64, 200, 640):
            shown = size_of(picture(server, f"{path}?width={width}").body)
            assert shown[0] == min(width, whole[0]) and abs(shown[1] - shown[0] * whole[1] / whole[0]) <= 1, shown
        assert size_of(picture(server, path).body)[0] == min(640, whole[0])
        for wrong in ("63", "1921", "-1", "abc", "1e3", "9" * 4000):
            api.ask(server, f"{path}?width={wrong}", status=400)


def test_a_picture_is_shared_and_kept(servers):
    """All who ask at once get the same one, until it is a second old and there is a newer keyframe."""
    server = servers(top=api.ON)
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.frequent_keyframes())):
        path = path_of(server)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(get(server, path))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {one.status for one in answers} == {200}
        assert len({one.headers["etag"] for one in answers}) <= 2, "made once, and again only after a second"
        first = picture(server, path)
        assert first.headers["cache-control"] == "private, max-age=1"
        again = get(server, path, If_None_Match=first.headers["etag"])
        head = get(server, path, "HEAD")
        if head.headers["etag"] == first.headers["etag"]:
            assert again.status == 304 and again.body == b"", again.describe()
            assert int(head.headers["content-length"]) == len(first.body)
        time.sleep(1.6)
        later = picture(server, path)
        assert later.headers["etag"] != first.headers["etag"], "there is a newer keyframe"


def test_without_a_newer_keyframe_it_is_the_same(servers):
    server = servers(top=api.ON)
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.rare_keyframes())):
        path = path_of(server)
        first = picture(server, path)
        time.sleep(1.3)
        assert picture(server, path).headers["etag"] == first.headers["etag"]


def test_another_size_from_the_next_publisher(servers):
    server = servers(top=api.ON)
    sizes = []
    for source in (media.plain(), media.rare_keyframes()):
        with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(source)):
            time.sleep(1.1)
            sizes.append(size_of(picture(server, path_of(server, query="?width=1920")).body))
    assert sizes[1] == (160, 120) and sizes[0] != sizes[1], sizes


def damaged(body):
    """An access unit of H.264 whose NAL units begin and end where they did, and have nonsense in them."""
    made, at = bytearray(body), 5
    while at < len(made):
        end = at + 4 + int.from_bytes(made[at : at + 4], "big")
        for index in range(at + 5, end):
            made[index] = (251 * index + 17) % 256 | 1
        at = end
    return bytes(made)


def test_what_there_is_no_picture_of(servers):
    server = servers(top=api.ON)
    api.ask(server, "/api/v1/streams/vid-nonsense/snapshot.jpg", status=404)
    with publishing.Steady(rtmp.publisher(server, "live", "radio"), media.tags(media.audio_only())):
        assert "no video" in api.ask(server, path_of(server, "radio"), status=409)["error"]
    broken = [tag._replace(body=damaged(tag.body)) if flv.is_keyframe(tag) else tag for tag in media.tags(media.plain())]
    with publishing.Steady(rtmp.publisher(server, "live", "broken"), broken):
        path = path_of(server, "broken")
        assert "decoded" in api.ask(server, path, status=503)["error"]
        assert get(server, path).headers["retry-after"] == "1"
    assert server.alive()


def test_those_who_wait_for_a_keyframe_are_few(servers):
    server = servers(top=api.ON, vhosts=NO_GOP_CACHE)
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.late_keyframes())) as steady:
        while not steady.sent or steady.sent[-1].timestamp < 3500:  # there is none for 12 s
            time.sleep(0.1)
        path = path_of(server)
        waiting = [http.Connection(server.api_port, timeout=scaled(20)) for _ in range(16)]
        for one in waiting:
            one.request("GET", path)
        time.sleep(0.5)
        begin = time.monotonic()
        assert "too many" in api.ask(server, path, status=503)["error"]
        assert time.monotonic() - begin < scaled(2), "at once"
        for one in waiting:
            assert one.read_response().status == 503
            one.close()


def test_pictures_are_content(servers):
    """As files of recordings: not for everybody who may read."""
    server = servers(top=api.CONF % "auth { enabled on; username u; password p; read_tokens reader-0123456789; }")
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.plain())):
        login = api.basic("u:p")
        path = f"/api/v1/streams/{api.streams(server, Authorization=login)['cam']['id']}/snapshot.jpg"
        assert get(server, path).status == 401
        assert get(server, path, Authorization="Bearer reader-0123456789").status == 403
        assert get(server, path, Authorization=login).status == 200
    server = servers(top=api.ON)
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.plain())):
        path = path_of(server)
        assert get(server, path).status == 200
        assert get(server, path, X_Forwarded_For="192.0.2.1").status == 403


def poster(server, query="", port=None, **headers):
    return http.get(port or server.api_port, f"/api/v1/poster?app=live&stream=cam{query}", **headers)


def test_posters_are_for_everybody(servers):
    """Without a login, on both ports, and as wide as it is for all."""
    server = servers(top=api.CONF % "auth { enabled on; username u; password p; }")
    assert poster(server).status == 204, "nobody publishes it: no error, which a browser would note"
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.plain())):
        login = api.basic("u:p")
        wait_until(lambda: "cam" in api.streams(server, Authorization=login), 5, "the stream")
        answer = poster(server)
        assert answer.status == 200, answer.describe()
        assert answer.headers["content-type"] == "image/jpeg" and size_of(answer.body)[0] > 0
        assert answer.headers["cache-control"] == "private, max-age=10"
        assert poster(server, port=server.http_port).status == 200
        assert poster(server, "&width=64").headers["etag"] == answer.headers["etag"], "one size, and the same for some seconds"
        assert poster(server, If_None_Match=answer.headers["etag"]).status == 304
        assert poster(server, "x").status == 204, "another stream"
        assert poster(server, "&vhost=none.example").status in (200, 204)


SIGNED = f"signed_urls {{ enabled on; publish off; secret {signed_urls.SECRET}; }}"
# What the vhost says, the stream of a signature that it allows, and that of one that it refuses; None: without one.
RULES = {
    "address": ("security { enabled on; allow publish all; deny play all; }", None, None),
    "signature": (SIGNED, "cam", None),
    "another-signature": (SIGNED, None, "other"),
    "page": ("refer { enabled on; play example.com; }", None, None),
    "hook": ("http_hooks { enabled on; on_play http://127.0.0.1:1/; }", None, None),
}


@pytest.mark.parametrize("rule", RULES)
def test_posters_follow_the_rules_of_playing(servers, rule):
    """Who is asked for each player is not asked for a picture."""
    vhost, allowed, refused = RULES[rule]
    server = servers(top=api.ON, vhosts="vhost __defaultVhost__ { %s }\n" % vhost)
    with publishing.Steady(rtmp.publisher(server, "live", "cam"), media.tags(media.plain())):
        api.wait_stream(server, "cam")
        signature = f"&{signed_urls.query('play', stream=refused)}" if refused else ""
        assert poster(server, signature).status == 204
        if allowed:
            assert poster(server, f"&{signed_urls.query('play', stream=allowed)}").status == 200


def test_posters_for_a_stranger_are_few(servers):
    """Of many streams; nobody else's picture is later for it."""
    server = servers(top=api.ON + metrics.EXPORTER % "")
    count, burst, a_second = 24, 16, 4
    tags = media.tags(media.frequent_keyframes())[:60]
    with contextlib.ExitStack() as stack:
        for number in range(count):
            client = stack.enter_context(rtmp.publisher(server, "live", f"cam{number}"))
            publishing.send_all(client, tags)
        api.wait_stream(server, f"cam{count - 1}", lambda one: one["video_frames"] > 0)
        began = time.monotonic()
        statuses = [poster(server, str(number)).status for number in range(count)]
        most = burst + 1 + int((time.monotonic() - began) * a_second)
        made = statuses.count(200)
        assert statuses[:burst] == [200] * burst, statuses
        assert made <= most and made + statuses.count(204) == count, f"at most {most} of {statuses}"
        picture(server, path_of(server, f"cam{count - 1}", "?width=1280"))
        seen = metrics.Metrics(server)
        assert seen.value("srs_posters_total") == made, seen.text
        assert seen.value("srs_posters_refused_total", limit="rate") == count - made, seen.text
        assert seen.value("srs_posters_refused_total", limit="waiting") == 0, seen.text
        refused = str(statuses.index(204))
        wait_until(lambda: poster(server, refused).status == 200, 5, "later there is one of a stream that had none")
