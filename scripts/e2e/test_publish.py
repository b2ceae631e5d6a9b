"""Names and rights of publishers: virtual hosts, stream parameters, who waits for whom, who is refused, and what
players see when a publisher goes and comes."""

import signal
import time

import pytest

from lib import ffmpeg, flv, http, media, metrics, publishing, rtmp
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until

OTHER = """
vhost other.example {
    http_remux { enabled on; mount [vhost]/[app]/[stream].flv; }
    play { rejoin_timeout 500; mw_latency 0; }
}
vhost off.example { enabled off; }
"""


def first_frames(source, count=20):
    tags = []
    while len(flv.frames(tags)) < count:
        assert not source.ended, f"the stream ended after {len(tags)} tags"
        tags += source.tags()
    source.close()
    return flv.frames(tags)[:count]


# --- virtual hosts


@pytest.fixture
def vhosts(servers):
    return servers(vhosts=default_vhost(play="mw_latency 0;") + OTHER)


PUBLISHED_AS = {
    "tcUrl": ("live", "rtmp://other.example/live", "s"),
    "tcUrl with port": ("live", "rtmp://other.example:1935/live", "s"),
    "app?vhost=": ("live?vhost=other.example", None, "s"),
    "app...vhost...": ("live...vhost...other.example", None, "s"),
    "stream?vhost=": ("live", None, "s?vhost=other.example"),
    "stream?k=v&vhost=": ("live", None, "s?token=abc&vhost=other.example"),
}


@pytest.mark.parametrize("form", PUBLISHED_AS)
def test_vhost_forms(vhosts, form):
    """Whatever form names it, it is one stream; and not the one of that name in the default vhost."""
    app, tc_url, stream = PUBLISHED_AS[form]
    tags = media.tags(media.plain())
    bodies = {tag.body for tag in flv.frames(tags)}

    def assert_ours(source, how):
        got = first_frames(source)[0]
        assert got.body in bodies, f"published as {form}, played {how}: another stream came, {got.describe()}"

    with rtmp.publisher(vhosts, "live", "s") as default:
        publishing.send_all(default, media.tags(media.with_b_frames())[:60])
        with publishing.Steady(rtmp.publisher(vhosts, app, stream, tc_url=tc_url), tags):
            for name, (app, tc_url, stream) in PUBLISHED_AS.items():
                assert_ours(rtmp.player(vhosts, app, stream, tc_url=tc_url, timeout=scaled(5)), f"as {name}")
            for path, headers in (("/live/s.flv", {"Host": "other.example"}), ("/live/s.flv?vhost=other.example", {})):
                assert_ours(
                    http.Live(vhosts.http_port, path, timeout=scaled(5), **headers), f"by HTTP as {path} {headers}"
                )


def test_unknown_vhost_is_the_default_one(vhosts):
    with publishing.Steady(
        rtmp.publisher(vhosts, "live", "s", tc_url="rtmp://unknown.example/live"), media.tags(media.plain())
    ):
        first_frames(rtmp.player(vhosts, "live", "s", timeout=scaled(5)))


def test_disabled_vhost_is_refused(vhosts):
    with pytest.raises((rtmp.Refused, ConnectionError)):
        rtmp.publisher(vhosts, "live", "s", tc_url="rtmp://off.example/live")
    vhosts.wait_log(r"vhost.*(disabled|off\.example)")


def test_stream_parameters_are_no_part_of_the_name(server):
    with publishing.Steady(rtmp.publisher(server, "live", "s?token=secret&user=1"), media.tags(media.plain())):
        for stream in ("s", "s?token=other"):
            first_frames(rtmp.player(server, "live", stream, timeout=scaled(5)))
        first_frames(http.Live(server.http_port, "/live/s.flv?token=third", timeout=scaled(5)))


# --- playing before publishing


def test_rtmp_player_waits_for_the_publisher(server):
    tags = media.tags(media.plain())
    early = publishing.Collector(rtmp.player(server, "live", "later", timeout=scaled(20)))
    time.sleep(0.5)
    with rtmp.publisher(server, "live", "later") as client:
        publishing.send_all(client, tags, 20)
    flv.assert_same(tags, early.finish(scaled(20), "the early player"), "the early player")


def test_http_player_before_the_publisher_gets_404(servers):
    server = servers(vhosts=default_vhost(remux="wait_publisher off;"))
    for extension in ("flv", "aac", "mp3"):
        response = http.get(server.http_port, f"/live/later.{extension}")
        assert response.status == 404, f"with wait_publisher off the answer should be 404: {response.describe()}"


def test_http_player_before_the_publisher_waits(servers):
    server = servers()
    tags = media.tags(media.plain())
    early = publishing.Collector(http.Live(server.http_port, "/live/later.flv", wait=False, timeout=scaled(20)))
    server.wait_players("live/later", 1)
    with rtmp.publisher(server, "live", "later") as client:
        publishing.send_all(client, tags, 20)
    flv.assert_same(tags, early.finish(scaled(20), "the early player"), "the early player")


def test_a_file_does_not_wait_for_a_publisher(servers):
    server = servers()
    (server.dir / "html/live").mkdir()
    (server.dir / "html/live/song.mp3").write_bytes(b"a song")
    began = time.monotonic()
    assert http.get(server.http_port, "/live/song.mp3").body == b"a song"
    assert time.monotonic() - began < scaled(5), "a file is served at once"


def test_players_that_wait_are_bounded_and_take_nothing_from_others(servers):
    """Of one address and in all; one more gets 404 at once, and a bystander's stream goes on."""
    server = servers(
        top="max_waiting_players 60; address_limits { waiting_players 40; exempt none; }\n" + metrics.EXPORTER % "",
        vhosts=default_vhost(remux=f"wait_publisher_timeout {int(scaled(3000))};"),
    )
    waiting = []
    with publishing.Steady(rtmp.publisher(server, "live", "here"), media.tags(media.plain())) as steady:
        with http.Live(server.http_port, "/live/here.flv") as bystander:
            assert bystander.tags()
            try:
                for i in range(100):
                    source = "127.0.0.2" if i < 70 else "127.0.0.3"
                    waiting.append(http.Live(server.http_port, f"/live/none{i}.flv", wait=False, source=source))
                statuses = [live.read_head().status for live in waiting]
                assert statuses == [404] * 100, statuses
                assert bystander.tags() and steady.error is None, f"the bystander plays on: {steady.error}"
                began = time.monotonic()
                assert http.get_status(server.http_port, "/live/here.flv") == 200, "who need not wait comes in"
                assert time.monotonic() - began < scaled(2), "at once"
            finally:
                for live in waiting:
                    live.close()
    refused = metrics.Metrics(server)
    refusals = {limit: refused.value("srs_waiting_players_refused_total", limit=limit) for limit in ("address", "all")}
    assert refusals == {"address": 30, "all": 10}, f"40 of one address and 20 of the other may wait: {refusals}"


# --- one publisher at a time


def test_second_publisher_is_refused(server):
    with publishing.Steady(rtmp.publisher(server, "live", "busy"), media.tags(media.plain())) as first:
        for fmle in (True, False):
            with pytest.raises(rtmp.Refused) as refused:
                rtmp.publisher(server, "live", "busy", fmle=fmle)
            assert (
                refused.value.code == "NetStream.Publish.BadName"
            ), f"the status should be NetStream.Publish.BadName, it is {refused.value.code}"
        sent = len(first.sent)
        wait_until(lambda: len(first.sent) > sent + 20, 5, "the first publisher goes on")
        assert first.error is None, f"the first publisher was disturbed: {first.error}"
        rtmp.publisher(server, "live", "another").close()


def test_takeover(servers):
    server = servers(vhosts=default_vhost(publish="takeover on;", play="mw_latency 0;"))
    tags = media.tags(media.plain())
    with publishing.Steady(rtmp.publisher(server, "live", "name"), tags) as first:
        watcher = publishing.Collector(rtmp.player(server, "live", "name", timeout=scaled(10)))
        wait_until(lambda: len(watcher.tags) > 40, 5, "the player sees the first publisher")
        with publishing.Steady(rtmp.publisher(server, "live", "name"), media.tags(media.with_b_frames())) as second:
            wait_until(lambda: first.error, 5, "the first publisher is closed")
            marks = {tag.body for tag in flv.frames(second.tags)}
            wait_until(
                lambda: sum(tag.body in marks for tag in watcher.tags) > 40,
                5,
                "the player, which stayed, sees the second publisher",
            )
            assert second.error is None, f"the second publisher was disturbed: {second.error}"
        received = watcher.finish(scaled(10), "the player")
    flv.assert_monotonic(received, "the player")


def test_name_of_a_closed_connection_is_free_at_once(server):
    """No "stream busy" for a connection that is dead, whether or not its coroutine has noticed."""
    for index in range(20):
        client = rtmp.publisher(server, "live", "again")
        publishing.send_all(client, media.tags(media.plain())[:30])
        client.close()
        try:
            rtmp.publisher(server, "live", "again").close()
        except rtmp.Refused as error:
            raise AssertionError(f"turn {index}: the name of a closed connection should be free: {error}") from None


# --- publishers that go and come


@pytest.mark.valgrind
def test_killed_publisher_comes_back(servers, tool):
    """Players stay connected and the timeline goes on."""
    server = servers(vhosts=default_vhost(play="mw_latency 0;", rejoin=10000))
    words = ffmpeg.command("-re", "-i", media.plain(), "-c", "copy", "-f", "flv", server.rtmp_url("live/again"))
    first = tool(words)
    wait_until(lambda: http.get_status(server.http_port, "/live/again.flv") == 200, 10, "the stream is there", step=0.1)
    watchers = {
        "RTMP": publishing.Collector(rtmp.player(server, "live", "again", timeout=scaled(20))),
        "HTTP-FLV": publishing.Collector(http.Live(server.http_port, "/live/again.flv", timeout=scaled(20))),
    }
    for name, watcher in watchers.items():
        wait_until(lambda w=watcher: len(flv.frames(w.tags)) > 60, 10, f"{name} sees the stream")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    time.sleep(1)
    counts = {name: len(watcher.tags) for name, watcher in watchers.items()}
    last = {name: watcher.tags[-1].timestamp for name, watcher in watchers.items()}
    second = tool(words)
    for name, watcher in watchers.items():
        wait_until(
            lambda w=watcher, n=name: len(flv.frames(w.tags)) > counts[n] + 60,
            10,
            f"{name} sees the publisher that came back; error {watcher.error}, ended {watcher.source.ended}",
        )
    assert second.alive(), f"the publisher that came back should go on: {second.describe()}"
    for name, watcher in watchers.items():
        flv.assert_monotonic(watcher.tags, name)
        went_on = watcher.tags[counts[name] :]
        step = next(tag for tag in went_on if flv.is_frame(tag)).timestamp - last[name]
        assert 0 <= step <= 5000 * SLOW, f"{name}: time should go on from {last[name]} ms, it jumps by {step} ms"
        video = [tag for tag in went_on if tag.type == flv.VIDEO and flv.is_frame(tag)]
        assert flv.is_keyframe(video[0]), f"{name}: the first video after the return should be a keyframe"


@pytest.mark.parametrize("timeout", [300, 1500])
def test_players_end_when_the_publisher_does_not_come_back(servers, timeout):
    server = servers(vhosts=default_vhost(rejoin=timeout))
    tags = media.tags(media.plain())[:100]
    client = rtmp.publisher(server, "live", "ends")
    publishing.send_all(client, tags)
    players = {
        "RTMP": rtmp.player(server, "live", "ends"),
        "HTTP-FLV": http.Live(server.http_port, "/live/ends.flv"),
        "WebSocket-FLV": http.WebSocket(server.http_port, "/live/ends.flv"),
    }
    collectors = {name: publishing.Collector(player) for name, player in players.items()}
    for name, collector in collectors.items():
        wait_until(lambda c=collector: len(flv.frames(c.tags)) > 20, 5, f"{name} sees the stream")
    closed = time.monotonic()
    client.close()
    for name, collector in collectors.items():
        collector.finish(scaled(timeout / 1000 + 3), name)
    took = (time.monotonic() - closed) * 1000
    assert (
        timeout - 50 <= took <= (timeout + 1500) * SLOW
    ), f"players should end {timeout} ms after their publisher; the last ended after {took:.0f} ms"


def test_rtmp_player_is_told_of_the_end(server):
    client = rtmp.publisher(server, "live", "told")
    publishing.send_all(client, media.tags(media.plain())[:60])
    player = rtmp.player(server, "live", "told", timeout=scaled(5))
    client.send_command("FCUnpublish", None, "told")
    client.send_command("deleteStream", None, client.stream_id, answered=False)
    codes = []
    try:
        while True:
            codes += [
                message.command()[3].get("code")
                for message in player.messages()
                if message.type == rtmp.COMMAND and message.command()[0] == "onStatus"
            ]
    except ConnectionError:
        pass
    assert {"NetStream.Play.Stop", "NetStream.Play.UnpublishNotify", "NetStream.Play.Complete"} & set(
        codes
    ), f"before the connection ends a player should be told; its statuses were {codes}"
    client.close()


@pytest.mark.parametrize("command", [ffmpeg.command, ffmpeg.command9], ids=["ffmpeg", "ffmpeg9"])
def test_ffmpeg_pulls_audio_and_video_alone(server, tool, tmp_path, command):
    """Every stream that FFmpeg sees can be copied into an MP4: a data message before the media made one of no codec."""
    out = tmp_path / "pulled.mp4"
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        words = command("-t", 1, "-i", server.rtmp_url("live/s"), "-map", 0, "-c", "copy", out)
        tool(words).finish(20)
    probe = tool(["ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", out])
    probe.finish(10)
    kinds = sorted(probe.text().split())
    assert kinds == ["audio", "video"], f"one of audio and one of video were published, FFmpeg pulled {kinds}"
