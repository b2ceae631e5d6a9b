"""Why: the reasons of sessions that ended, and what is odd about a stream."""

import json
import re
import time

import pytest

from lib import flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; }\n"


def ask(server, path, status=200):
    response = http.get(server.api_port, path)
    assert response.status == status, f"GET {path} should be answered with {status}: {response.describe()}"
    return json.loads(response.body)


def closed(server, **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return ask(server, f"/api/v1/clients?closed=true&{text}")


def wait_closed(server, kind, reason, at_least=1):
    """The newest sessions that ended as such."""

    def search():
        found = [c for c in closed(server, count=1000)["clients"] if c["type"] == kind and c["reason"] == reason]
        return found if len(found) >= at_least else None

    return wait_until(
        search, 10, lambda: f"{at_least} {kind} that ended with {reason}; there are {closed(server, count=1000)['clients']}"
    )


def start(servers, publish=""):
    hls = "hls { enabled on; hls_path ./hls; hls_fragment 4; }"
    return servers(top=API, vhosts=default_vhost(hls, play="queue_length 1; send_timeout 1500;", publish=publish))


@pytest.fixture
def server(servers):
    return start(servers)


def play_flv(server, name, **options):
    return http.Live(server.http_port, f"/live/{name}.flv", **options)


def test_each_end_has_its_reason(servers):
    server = start(servers, f"normal_timeout {int(scaled(1500))};")
    tags = media.tags(media.plain())
    publisher = rtmp.publisher(server, "live", "a")
    with publishing.Steady(publisher, tags):
        player = rtmp.player(server, "live", "a")
        player.close()
        left = wait_closed(server, "rtmp-play", "peer-closed")[0]
        assert left["ip"] == "127.0.0.1" and left["url"] == "/live/a", f"who left: {left}"
        assert left["send_bytes"] > 3000 and left["recv_bytes"] > 3000, f"it was sent the stream: {left}"
        now = time.time() * 1000
        assert left["started_ms"] <= left["ended_ms"] <= now and now - left["started_ms"] < 600_000, f"its times: {left}"
        assert left["text"] and len(left["id"]) == 8, f"its words and id: {left}"

        with pytest.raises(rtmp.RtmpError):
            rtmp.publisher(server, "live", "a")
        refused = wait_closed(server, "fmle-publish", "refused-busy")[0]
        assert re.search(r"is being published already, by \w{8} for \d+ s", refused["text"]), f"why it was refused: {refused}"

        viewer = play_flv(server, "a")
        viewer.data()
        kicked = next(c for c in ask(server, "/api/v1/clients")["clients"] if c["type"] == "flv-play")
        assert http.get(server.api_port, f"/api/v1/clients/{kicked['id']}", "DELETE").status == 200
        found = wait_closed(server, "flv-play", "kicked")[0]
        assert found["id"] == kicked["id"], f"the one that was kicked, {kicked}; closed is {found}"

        # Nothing is taken from this one.
        stuck = rtmp.player(server, "live", "a", receive_buffer=4096)
        waiting = http.WebSocket(server.http_port, "/live/a.flv")
        waiting.send_frame(8, (1000).to_bytes(2, "big"))
        wait_closed(server, "flv-play", "peer-closed")
        stuck.close()
    # The publisher has left; who watches is ended after rejoin_timeout.
    with rtmp.publisher(server, "live", "b") as silent:
        publishing.send_all(silent, tags[:10])
        watcher = play_flv(server, "b")
        watcher.data()
        wait_closed(server, "fmle-publish", "peer-timeout")
        wait_closed(server, "flv-play", "stream-ended")

    everything = closed(server, count=1000)
    assert everything["total"] == len(everything["clients"]), "all of them are listed"
    ends = [c["ended_ms"] for c in everything["clients"]]
    assert ends == sorted(ends, reverse=True), f"the newest come first: {ends}"
    some = closed(server, start=1, count=2)
    assert some["total"] == everything["total"] and some["clients"] == everything["clients"][1:3], f"a part: {some}"
    assert not ask(server, "/api/v1/clients")["clients"], "those that ended are in no other list"


def test_a_viewer_that_is_too_slow(server):
    """It is dropped to a keyframe, then closed; both can be seen."""
    filler = b"\x06" + bytes(200_000)
    source = media.tags(media.plain())
    header = next(tag for tag in source if tag.type == flv.VIDEO and flv.is_sequence_header(tag))
    key = next(tag for tag in source if flv.is_keyframe(tag))
    body = key.body[:2] + b"\0\0\0" + len(filler).to_bytes(4, "big") + filler + key.body[5:]
    stuck = rtmp.player(server, "live", "heavy", receive_buffer=4096)
    with rtmp.publisher(server, "live", "heavy") as client:
        publishing.send_all(client, [header])
        identity = None

        def closed_for_slowness():
            nonlocal number, identity
            client.send_tag(flv.Tag(flv.VIDEO, number * 40, body))
            number += 1
            if identity is None:
                identity = explained(server, "heavy")
            return [c for c in closed(server, count=10)["clients"] if c["reason"] == "too-slow"]

        number = 0
        slow = wait_until(closed_for_slowness, 10, lambda: f"too-slow; closed are {closed(server)['clients']}", step=0.04)
        assert slow[0]["type"] == "rtmp-play" and "no byte accepted" in slow[0]["text"], f"the slow one: {slow}"
        drops = check_of(explained(server, "heavy"), "viewer_drops")
        assert drops["verdict"] == "warn" and drops["figure"] >= 1 and drops["advice"], f"it was dropped before: {drops}"
    stuck.close()


CHECKS = [
    "publisher",
    "headers",
    "codecs",
    "keyframe_age",
    "gop_length",
    "gop_hls_fragment",
    "gop_cache",
    "b_frames",
    "audio_video_drift",
    "audio_video_offset",
    "clock_rate",
    "timestamp_jumps",
    "frame_rate",
    "bitrate",
    "input_faults",
    "viewer_drops",
    "outputs",
]


def explained(server, name):
    streams = ask(server, "/api/v1/streams?count=100")["streams"]
    identity = next((s["id"] for s in streams if s["name"] == name), None)
    assert identity, f"{name} should be among the streams: {streams}"
    return ask(server, f"/api/v1/streams/{identity}/explain")


def check_of(answer, name):
    found = [check for check in answer["checks"] if check["name"] == name]
    assert len(found) == 1, f"one check {name}; there are {[c['name'] for c in answer['checks']]}"
    return found[0]


def assert_verdicts(answer, **wanted):
    got = {name: check_of(answer, name)["verdict"] for name in wanted}
    assert got == wanted, f"verdicts should be {wanted}; they are {got}\n{json.dumps(answer['checks'], indent=1)}"


def repeated(tags, seconds):
    """The file's frames over and over, for so long by their times."""
    frames = flv.frames(tags)
    span = frames[-1].timestamp - frames[0].timestamp + 40
    yield from (tag._replace(timestamp=0) for tag in tags if not flv.is_frame(tag))
    for base in range(0, seconds * 1000, span):
        yield from (tag._replace(timestamp=tag.timestamp - frames[0].timestamp + base) for tag in frames)


def wait_output(server, name, pattern):
    """Until the check "outputs" is bad, and has such a text."""

    def found():
        answer = explained(server, name)
        check = check_of(answer, "outputs")
        return answer if check["verdict"] == "bad" and re.search(pattern, check["text"]) else None

    answer = wait_until(found, 10, lambda: f"{pattern} in {check_of(explained(server, name), 'outputs')}")
    assert answer["verdict"] == "bad", "a stream with an output that does not work is not healthy"


def test_explain_outputs_that_do_not_work(servers):
    """HLS and a recording whose paths are those of another stream or not possible, a forward to nobody, a transcoding whose
    program ends at once. A stream without them beside these has no such problem."""
    outputs = """hls { enabled on; hls_path ./html; hls_m3u8_file [app][stream].m3u8; hls_ts_file [app][stream]-[seq].ts; }
        forward { enabled on; destination 127.0.0.1:9; }
        transcode { enabled on; ffmpeg /bin/false; engine e { enabled on; vcodec copy; acodec copy; output rtmp://127.0.0.1:[port]/[app]/[stream]_e; } }
        dvr { enabled on; dvr_path /proc/none/[stream].flv; }"""
    server = servers(top=API, vhosts=default_vhost(vhost=outputs) + "vhost plain { http_remux { enabled on; } }")
    tags = media.from_keyframe(media.plain())
    with rtmp.publisher(server, "live", "xfirst") as first, publishing.Steady(first, tags):
        with rtmp.publisher(server, "livex", "first") as second, publishing.Steady(second, tags):
            for pattern in ("hls: its playlist would be that of", "dvr: ", r"forward: to rtmp://127\.0\.0\.1:9/", "transcode: "):
                wait_output(server, "first", pattern)
            assert "hls" not in check_of(explained(server, "xfirst"), "outputs")["text"], "the first publisher has its playlist"
    with rtmp.publisher(server, "live", "good", tc_url="rtmp://plain/live") as good, publishing.Steady(good, tags):
        wait_until(lambda: check_of(explained(server, "good"), "frame_rate")["figure"], 10, "a GOP was seen")
        assert check_of(explained(server, "good"), "outputs")["verdict"] == "ok", explained(server, "good")


def test_a_recording_by_configuration_is_shown(servers):
    dvr = "dvr { enabled on; dvr_apply live/a; dvr_path ./rec/[app]/[stream].flv; }"
    server = servers(top=API, vhosts=default_vhost(vhost=dvr))
    tags = media.from_keyframe(media.plain())[:60]
    with rtmp.publisher(server, "live", "a") as a, rtmp.publisher(server, "live", "b") as b:
        for client in (a, b):
            publishing.send_all(client, tags)
        streams = {one["name"]: one for one in ask(server, "/api/v1/streams")["streams"]}
        assert (streams["a"]["recording"], streams["b"]["recording"]) == (True, False), streams
        answers = [ask(server, f"/api/v1/streams/{streams[name]['id']}/recording") for name in "ab"]
        assert [(one["recording"], one["configured"]) for one in answers] == [(False, True), (False, False)], answers


def test_explain_a_good_stream(server):
    with rtmp.publisher(server, "live", "good") as client, publishing.Steady(client, media.tags(media.plain())):
        wait_until(
            lambda: check_of(explained(server, "good"), "frame_rate")["figure"], 10, "a GOP was seen"
        )
        answer = explained(server, "good")
        assert [check["name"] for check in answer["checks"]] == CHECKS, "the checks' names are kept"
        assert answer["verdict"] == "ok", f"nothing is odd about it: {json.dumps(answer['checks'], indent=1)}"
        assert answer["stream"]["name"] == "good" and answer["stream"]["app"] == "live", f"it: {answer['stream']}"
        assert abs(check_of(answer, "frame_rate")["figure"] - 25) < 1, f"{check_of(answer, 'frame_rate')}"
        for check in answer["checks"]:
            assert not check["advice"], f"there is nothing to do about {check}"
    ask(server, "/api/v1/streams/vid-nothing/explain", 404)


def test_explain_what_is_odd(server):
    with rtmp.publisher(server, "live", "odd") as client:
        publishing.send_all(client, repeated(media.tags(media.with_b_frames()), 12))
        # Commands are answered in order: by then all of it has come.
        client.wait_result(client.send_command("getStreamLength", None, "odd"), "getStreamLength")
        answer = explained(server, "odd")
        assert_verdicts(answer, b_frames="warn", headers="ok", timestamp_jumps="ok")
        assert 10 < check_of(answer, "b_frames")["figure"] < 90, f"their share: {check_of(answer, 'b_frames')}"
        # Its clock jumps by a minute, forth and back.
        frames = flv.frames(media.tags(media.with_b_frames()))[:20]
        for far in (100_000, 160_000, 100_000):
            publishing.send_all(client, [tag._replace(timestamp=tag.timestamp + far) for tag in frames])
        wait_until(
            lambda: (check_of(explained(server, "odd"), "timestamp_jumps")["figure"] or 0) >= 3,
            5,
            lambda: f"three jumps; {check_of(explained(server, 'odd'), 'timestamp_jumps')}",
        )
        assert_verdicts(explained(server, "odd"), timestamp_jumps="warn")


def test_explain_rare_keyframes(server):
    with rtmp.publisher(server, "live", "rare") as client:
        publishing.send_all(client, repeated(media.tags(media.rare_keyframes()), 40))
        wait_until(
            lambda: check_of(explained(server, "rare"), "gop_length")["figure"],
            5,
            lambda: f"a whole GOP; {check_of(explained(server, 'rare'), 'gop_length')}",
        )
        answer = explained(server, "rare")
        assert_verdicts(answer, gop_hls_fragment="warn")
        assert check_of(answer, "gop_hls_fragment")["figure"] > 4, f"{check_of(answer, 'gop_hls_fragment')}"
        assert "keyframe" in check_of(answer, "gop_hls_fragment")["advice"], f"{check_of(answer, 'gop_hls_fragment')}"
