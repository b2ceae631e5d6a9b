"""Standby publishers: real encoders that wait, and take over when the active one is killed, freezes or has a lower
priority. Players of every protocol stay on their connection."""

import asyncio
import signal
import time

import pytest

from lib import api, ffmpeg, flv, hls, hooks, http, media, mediamtx, publishing, rtc, rtc_aiortc, rtmp, rtsp
from lib.camera import Camera
from lib.server import run_once
from lib.timing import scaled, wait_until

if mediamtx.PROGRAM:
    pytest.skip("this is about our own server", allow_module_level=True)

TIMEOUT_MS = 3000  # encoders on a busy machine pause, too
TOP = "rtsp_server { enabled on; listen 127.0.0.1:HTTPS_PORT; }\nexporter { enabled on; listen 127.0.0.1:RTMPS_PORT; }\n"


@pytest.fixture
def start(servers):
    def make(publish="standby on;", vhost=""):
        more = f"rtsp {{ enabled on; }} hls {{ enabled on; hls_fragment 1; hls_window 60; hls_ctx off; hls_path ./html; }} {vhost}"
        publish = f"{publish} standby_timeout {TIMEOUT_MS}; normal_timeout 20000;"
        return servers(**rtc.options(top=TOP, vhost=more, publish=publish, play="mw_latency 0;", rejoin=20000))

    return make


def pattern(colour, size="320x180"):
    """One colour, a keyframe a second, and a tone: as a live encoder in real time."""
    return [
        "-re", "-f", "lavfi", "-i", f"color={colour}:size={size}:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000",
        "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-profile:v", "baseline", "-g", 25,
    ]  # fmt: skip


AAC = ["-c:a", "aac", "-b:a", "64k", "-ac", "2"]
OPUS = ["-c:a", "libopus", "-ac", "2", "-b:a", "64k"]


def by_rtmp(server, colour, query=""):
    return ffmpeg.command9(*pattern(colour), *AAC, "-f", "flv", server.rtmp_url("live/one") + query)


def rtsp_url(server, query=""):
    return f"rtsp://127.0.0.1:{server.https_port}/live/one{query}"


def by_rtsp(server, colour, query=""):
    return ffmpeg.command9(*pattern(colour), *AAC, "-f", "rtsp", "-rtsp_transport", "tcp", rtsp_url(server, query))


def by_whip(server, colour, query=""):
    return ffmpeg.command9(*pattern(colour), *OPUS, "-f", "whip", rtc.whip_url(server) + query.replace("?", "&"))


def stream(server):
    return api.streams(server).get("one", {"publish": {"active": False}})


def active(server):
    """The id of the publisher in force; None: there is none."""
    return stream(server)["publish"].get("cid") if stream(server)["publish"]["active"] else None


def standbys(server):
    return stream(server).get("standbys", [])


def wait_active(server, seconds=10, other_than=None):
    return wait_until(
        lambda: active(server) not in (None, other_than) and active(server),
        seconds,
        lambda: f"a publisher other than {other_than}; the stream is {stream(server)}",
        step=0.05,
    )


def wait_standbys(server, count, state="ready"):
    wait_until(
        lambda: [one["state"] for one in standbys(server)] == [state] * count,
        10,
        lambda: f"{count} standbys that are {state}; the stream is {stream(server)}",
        step=0.05,
    )
    return standbys(server)


class HlsPlayer:
    """Reads playlists for as long as the test plays."""

    def __init__(self, server):
        self.server = server
        hls.wait(server, "/live/one.m3u8", lambda playlist: len(playlist.segments) >= 2, 15)

    def wait_other_publisher(self):
        """A segment after a discontinuity; segments before it are still there."""
        playlist = hls.wait(
            self.server, "/live/one.m3u8", lambda found: any(one.discontinuity for one in found.segments[1:]), 15, "a discontinuity"
        )
        assert not playlist.ended, f"the playlist must go on:\n{playlist.text}"
        cut = next(index for index, one in enumerate(playlist.segments) if index and one.discontinuity)
        for segment in playlist.segments[cut - 1 : cut + 1]:
            assert hls.fetch(self.server, "/live/one.m3u8", segment.uri)


class RtspPlayer:
    def __init__(self, server):
        self.client = rtsp.Client(server.https_port)
        self.client.play(rtsp_url(server))
        self.wait_video("the beginning")

    def wait_video(self, what):
        frames = self.client.read_frames(10, lambda got: len([channel for channel, _ in got if channel == 0]) > 20)
        assert len([channel for channel, _ in frames if channel == 0]) > 20, f"RTSP, {what}: 20 video packets were expected, {len(frames)} came"


@pytest.mark.parametrize("first, second", [(by_rtmp, by_rtmp), (by_rtmp, by_rtsp), (by_rtsp, by_rtmp)])
def test_players_stay_when_the_active_one_is_killed(start, tool, first, second):
    server = start()
    one = tool(first(server, "red"))
    before = wait_active(server)
    other = tool(second(server, "blue"))
    wait_standbys(server, 1)
    watchers = {
        "RTMP": publishing.Collector(rtmp.player(server, "live", "one", timeout=scaled(20))),
        "HTTP-FLV": publishing.Collector(http.Live(server.http_port, "/live/one.flv", timeout=scaled(20))),
    }
    playlist, by_rtsp_player = HlsPlayer(server), RtspPlayer(server)
    players = {client["id"] for client in api.clients(server) if not client["publish"]}
    one.process.kill()
    began = time.monotonic()
    wait_active(server, other_than=before)
    gap = time.monotonic() - began
    print(f"takeover after {gap:.2f} s")
    assert gap < scaled(1.5), f"within a GOP of 1 s, it took {gap:.2f} s"
    counts = {who: len(watcher.tags) for who, watcher in watchers.items()}
    for who, watcher in watchers.items():
        wait_until(
            lambda w=watcher, count=counts[who]: len(w.tags) > count + 60,
            10,
            f"{who}: frames of the second publisher; error {watcher.error}, ended {watcher.source.ended}",
        )
    by_rtsp_player.wait_video("after the takeover")
    playlist.wait_other_publisher()
    left = players - {client["id"] for client in api.clients(server)}
    assert not left, f"players should stay on their connection: {left} of {players} are gone"
    assert other.alive(), other.describe()
    other.kill()
    for who, watcher in watchers.items():
        watcher.source.close()
        flv.assert_monotonic(watcher.tags, who)


def colour_of(player):
    """Of the newest decoded frame."""
    red, _, blue = player.video_frames[-1].places[0]
    return "red" if red > blue else "blue"


async def has_more(player, count):
    want = len(player.video_frames) + count
    await rtc_aiortc.wait(lambda: len(player.video_frames) >= want, 20, lambda: f"{count} more video frames by WHEP; {player.packets}")


@pytest.mark.parametrize("first, second, limit", [(by_rtmp, by_whip, 1.5), (by_whip, by_rtmp, 5), (by_whip, by_whip, 5)])
def test_webrtc_takes_part(start, tool, first, second, limit):
    """A killed WebRTC publisher says nothing: it is frozen. A waiting one is asked for a keyframe."""
    server = start()
    one = tool(first(server, "red"))
    before = wait_active(server, 20)
    flv_player = publishing.Collector(http.Live(server.http_port, "/live/one.flv", timeout=scaled(30)))

    async def scene():
        async with rtc_aiortc.Player(rtc.whep_url(server)) as player:
            await has_more(player, 30)
            assert colour_of(player) == "red", f"the active publisher is red: {player.video_frames[-1]}"
            other = tool(second(server, "blue"))
            await asyncio.to_thread(wait_standbys, server, 1)
            await has_more(player, 10)
            assert colour_of(player) == "red", f"the blue publisher waits: {player.video_frames[-1]}"
            one.process.kill()
            began = time.monotonic()
            await asyncio.to_thread(wait_active, server, 10, before)
            gap = time.monotonic() - began
            assert gap < scaled(limit), f"a takeover within {limit} s, it took {gap:.2f} s"
            print(f"takeover after {gap:.2f} s")
            await has_more(player, 50)
            assert colour_of(player) == "blue", f"the second publisher is blue: {player.video_frames[-1]}"
            count = len(flv.frames(flv_player.tags))
            await asyncio.to_thread(wait_until, lambda: len(flv.frames(flv_player.tags)) > count + 40, 10, "HTTP-FLV goes on")
            assert other.alive(), other.describe()

    asyncio.run(scene())
    assert flv_player.error is None, f"HTTP-FLV: {flv_player.error}"
    flv.assert_monotonic(flv.frames(flv_player.tags), "HTTP-FLV")


def test_a_frozen_publisher_waits_when_it_is_back(start, tool):
    server = start()
    one = tool(by_rtmp(server, "red"))
    first = wait_active(server)
    other = tool(by_rtmp(server, "blue"))
    wait_standbys(server, 1)
    one.process.send_signal(signal.SIGSTOP)
    try:
        second = wait_active(server, TIMEOUT_MS / 1000 + 5, other_than=first)
        (waiting,) = standbys(server)
        assert (waiting["cid"], waiting["state"]) == (first, "silent"), f"the frozen one waits: {waiting}"
    finally:
        one.process.send_signal(signal.SIGCONT)
    wait_standbys(server, 1)
    assert active(server) == second, f"the one that is back must not take over: {stream(server)}"
    server.wait_log("sends no video for 3000 ms .standby_timeout")
    other.process.kill()
    assert wait_active(server, other_than=second) == first, "the first one is the next again"
    assert one.alive(), one.describe()


def test_priorities(start, tool):
    server = start()
    one = tool(by_rtmp(server, "red", "?priority=1"))
    first = wait_active(server)
    tool(by_rtmp(server, "green"))
    wait_standbys(server, 1)
    tool(by_rtsp(server, "blue", "?priority=2"))
    wait_standbys(server, 2)
    tool(by_whip(server, "white", "?priority=-3"))
    found = wait_standbys(server, 3)
    assert [entry["priority"] for entry in found] == [0, 2, -3], f"priorities from the URLs: {found}"
    time.sleep(2 * TIMEOUT_MS / 1000)
    assert active(server) == first, f"standby on: a higher priority does not interrupt the active one: {stream(server)}"
    one.process.kill()
    assert wait_active(server, other_than=first) == found[1]["cid"], "the highest priority takes over"


def test_preempt(start, tool):
    server = start("standby preempt;")
    tool(by_rtmp(server, "red"))
    first = wait_active(server)
    tool(by_rtmp(server, "green"))
    wait_standbys(server, 1)
    preferred = tool(by_rtmp(server, "blue", "?priority=5"))
    second = wait_active(server, other_than=first)
    found = wait_standbys(server, 2)
    assert first in [entry["cid"] for entry in found], f"the former one waits: {found}"
    preferred.process.kill()
    third = wait_active(server, other_than=second)
    assert third in [entry["cid"] for entry in found], f"a waiting one takes over: {third} of {found}"


def test_a_camera_and_an_encoder_stand_in_for_each_other(start, tool):
    """A camera that the server pulls from is a publisher, too."""
    tags = media.from_keyframe(media.with_b_frames())[:400]
    with Camera(tags) as camera:
        server = start(vhost=f"ingest one {{ enabled on; input {{ type rtsp; url {camera.url()}; }} }}")
        first = wait_active(server)
        encoder = tool(by_rtmp(server, "red"))
        wait_standbys(server, 1)
        port = camera.port
    second = wait_active(server, other_than=first)
    with Camera(tags, port=port):
        (waiting,) = wait_standbys(server, 1)
        assert active(server) == second, f"the camera that is back waits: {stream(server)}"
        encoder.process.kill()
        third = wait_active(server, other_than=second)
        assert third == waiting["cid"], f"the camera should take over: {third}, {waiting}"


def test_hooks_api_and_metrics(start, tool):
    with hooks.HookServer() as asked:
        urls = " ".join(f"{name} {asked.url(name)};" for name in ("on_publish", "on_unpublish", "on_standby"))
        server = start(vhost=f"http_hooks {{ enabled on; {urls} }}")
        one = tool(by_rtmp(server, "red", "?token=a"))
        first = wait_active(server)
        tool(by_rtmp(server, "blue", "?token=b&priority=2"))
        (waiting,) = wait_standbys(server, 1)
        asked.wait("on_publish", 2)
        (begun,) = asked.wait("on_standby")
        second = waiting["cid"]
        want = {"client_id": second, "state": "waiting", "reason": "busy", "other_id": first, "priority": 2, "param": "?token=b&priority=2"}
        assert want.items() <= begun.items(), f"on_standby should have {want}, it has {begun}"
        assert (begun["vhost"], begun["app"], begun["stream"], begun["ip"]) == ("__defaultVhost__", "live", "one", "127.0.0.1"), begun
        assert waiting["ip"] == "127.0.0.1" and waiting["waiting_ms"] >= 0 and 0 <= waiting["keyframe_age_ms"] < 5000, waiting
        api.check(stream(server), api.STREAM, "the stream")
        flags = {client["id"]: client.get("standby", False) for client in api.clients(server)}
        assert flags == {first: False, second: True}, f"the clients' flags: {flags}"
        api.ask(server, f"/api/v1/clients/{first}", method="DELETE")
        (taken,) = asked.wait("on_standby", state="active")
        want = {"client_id": second, "reason": "left", "other_id": "", "priority": 2}
        assert want.items() <= taken.items(), f"on_standby should have {want}, it has {taken}"
        asked.wait("on_unpublish", client_id=first)
        assert active(server) == second and not standbys(server), stream(server)
        one.process.wait(scaled(10))
        text = http.get(server.rtmps_port, "/metrics").body.decode()
        for line in ('srs_standby_takeovers_total{reason="left"} 1', "srs_standby_publishers 0"):
            assert line in text, f"{line} should be in the metrics:\n{text[:3000]}"
        assert len(asked.bodies("on_standby")) == 2, f"two changes: {asked.bodies('on_standby')}"


def test_further_publishers_are_refused(start):
    server = start("standby on; standby_max 2;")
    tags = media.tags(media.plain())
    with publishing.Steady(rtmp.publisher(server, "live", "one"), tags) as running:
        with rtmp.publisher(server, "live", "one"), rtsp.Publisher(server.https_port) as second:
            second.record(rtsp_url(server), tags)
            with pytest.raises(rtmp.Refused, match="2 publishers wait") as refused:
                rtmp.publisher(server, "live", "one").close()
            assert refused.value.code == "NetStream.Publish.BadName", f"the status of the refusal: {refused.value.code}"
            with rtsp.Publisher(server.https_port) as third:
                response = third.announce(rtsp_url(server), tags)
                assert response.status == 403, f"RTSP: 403 was expected, {response} came"
            wait_standbys(server, 2, "silent")
        wait_until(lambda: not standbys(server), 5, lambda: f"no standby; the stream is {stream(server)}")
        rtmp.publisher(server, "live", "one").close()
        assert running.error is None, f"the active publisher was disturbed: {running.error}"


def test_off_is_as_before_and_a_reload_switches_it_on(start):
    server = start("standby off;")
    tags = media.tags(media.plain())
    with publishing.Steady(rtmp.publisher(server, "live", "one"), tags):
        with pytest.raises(rtmp.Refused, match="is being published already"):
            rtmp.publisher(server, "live", "one").close()
        assert "standbys" not in stream(server), stream(server)
        api.reload(server, server.conf_path.read_text().replace("standby off;", "standby on;"))

        def waits():
            try:
                with rtmp.publisher(server, "live", "one"):
                    return len(standbys(server)) == 1
            except rtmp.Refused:
                return False

        wait_until(waits, 10, "after the reload a second publisher waits")


def test_takeover_and_standby_exclude_each_other(servers):
    server = servers.make(vhosts="vhost __defaultVhost__ { publish { takeover on; standby on; } }\n")
    code, text = run_once("-t", "-c", str(server.conf_path))
    assert code != 0 and "takeover and standby exclude each other" in text, f"-t should refuse it, it printed\n{text}"
