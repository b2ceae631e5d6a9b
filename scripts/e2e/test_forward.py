"""Streams that are passed on to other servers: to nginx-rtmp, MediaMTX, another of ours, and to peers that misbehave.
What arrives there is what was published here."""

import itertools
import subprocess
import time

import pytest

from lib import api, ffmpeg, flv, media, nginx, publishing, rtmp, rtsp
from lib.destination import Destination
from lib.server import OBJS, default_vhost
from lib.timing import scaled, wait_until
from lib.web import Web

SPEED = 4  # times real time


def forwarding(*destinations, more="", play="mw_latency 50;", publish="", backend=None):
    words = f"destination {' '.join(destinations)};" if destinations else ""
    words += f"backend {backend};" if backend else ""
    return default_vhost(vhost=f"forward {{ enabled on; {words} }} {more}", play=play, publish=publish)


def packets(path, run=ffmpeg.command):
    done = subprocess.run(run("-i", path, "-c", "copy", "-f", "framemd5", "-"), check=True, capture_output=True)
    return ffmpeg.framemd5(done.stdout.decode())


def after_late_start(want, got):
    """A forwarder that was still connecting when the first keyframe came begins with it: without the audio before it."""
    begin = want[0][0].dts
    for stream in want:
        missing = len(want[stream]) - len(got.get(stream, []))
        if missing > 0 and all(packet.dts <= begin for packet in want[stream][:missing]):
            want[stream] = want[stream][missing:]
    return want


def publish(tool, server, path, name, run=ffmpeg.command):
    return tool(run("-readrate", SPEED, "-i", path, "-c", "copy", "-f", "flv", server.rtmp_url(f"live/{name}")))


def recorder(tool, url, out, run=ffmpeg.command):
    words = ["-rw_timeout", "20000000", "-i", url, "-c", "copy", "-flush_packets", "1", "-f", "framemd5", out]
    return tool(run(*words))


def wait_tags(destination, count, seconds=10):
    wait_until(
        lambda: len(destination.tags) >= count,
        seconds,
        lambda: f"{count} tags at the destination; {len(destination.tags)} came",
    )


def lines(server, text):
    return [line for line in server.log().splitlines() if text in line]


def steady(server, name="s", tags=None, **options):
    return publishing.Steady(
        rtmp.publisher(server, "live", name, **options), tags or media.from_keyframe(media.plain())
    )


@pytest.mark.parametrize("source", [media.with_b_frames, media.plain], ids=lambda source: source.__name__)
def test_nginx_gets_the_same_packets(servers, tool, tmp_path, source):
    with nginx.running(tmp_path) as port:
        server = servers(vhosts=forwarding(f"127.0.0.1:{port}"))
        out = tmp_path / "there.framemd5"
        there = recorder(tool, f"rtmp://127.0.0.1:{port}/live/s", out)
        time.sleep(scaled(1))  # it must be there before the publisher, and nginx does not tell
        publish(tool, server, source(), "s").finish(20)
        # nginx lets its players wait for the next publisher.
        want = packets(source())
        count = sum(map(len, want.values()))

        def came():
            return sum(not line.startswith("#") for line in out.read_text().splitlines()) if out.exists() else 0

        # The last packets of one track wait in ffmpeg for what may follow of the other.
        wait_until(lambda: came() >= count - 8, 5, lambda: f"{count} packets behind nginx; {came()} came")
        time.sleep(scaled(0.3))
    there.finish(10, codes=None)
    got = ffmpeg.framemd5(out.read_text())
    ffmpeg.assert_same_packets(after_late_start(want, got), got, "ffmpeg behind nginx")


def test_a_second_server_gets_the_same_hevc(servers, tool, tmp_path):
    second = servers(vhosts=default_vhost(play="mw_latency 50;"))
    first = servers(vhosts=forwarding(f"127.0.0.1:{second.rtmp_port}"))
    out = tmp_path / "there.framemd5"
    there = recorder(tool, second.rtmp_url("live/s"), out, ffmpeg.command9)
    second.wait_players("live/s", 1)
    publish(tool, first, media.hevc(), "s", ffmpeg.command9).finish(20)
    there.finish(20)
    want = packets(media.hevc(), ffmpeg.command9)
    ffmpeg.assert_same_packets(want, ffmpeg.framemd5(out.read_text()), "FFmpeg 9 behind the second server")


def test_mediamtx_gets_the_same_stream(servers, tool, tmp_path):
    """Players of MediaMTX come after its publisher, so this one misses the beginning. It puts H.264 together anew: the
    video frames are the same, its packets are not; audio's are."""
    binary = OBJS / "peers/mediamtx"
    if not binary.exists():
        pytest.skip(f"no {binary}; research/compare/get_mediamtx.sh makes it")
    from lib import ports
    from lib.server import can_connect

    (port,) = ports.take()
    conf = tmp_path / "mediamtx.yml"
    conf.write_text(
        f"logLevel: info\nrtmpAddress: 127.0.0.1:{port}\nrtsp: no\nwebrtc: no\nsrt: no\nhls: no\nmoq: no\n"
        "paths:\n  all_others:\n"
    )
    peer = tool([binary, conf])
    wait_until(lambda: can_connect(port), 20, peer.describe)
    server = servers(vhosts=forwarding(f"127.0.0.1:{port}"))
    publisher = publish(tool, server, media.with_b_frames(), "s")
    wait_until(lambda: "is publishing" in peer.text(), 10, peer.describe)
    out = tmp_path / "there.framemd5"
    words = ["-c:a", "copy", "-c:v", "rawvideo", "-fps_mode", "passthrough", "-f", "framemd5"]
    there = tool(ffmpeg.command("-i", f"rtmp://127.0.0.1:{port}/live/s", *words, out))
    publisher.finish(20)
    there.finish(20, codes=None)
    ports.release([port])
    here = subprocess.run(ffmpeg.command("-i", media.with_b_frames(), *words, "-"), check=True, capture_output=True)
    want, got = ffmpeg.framemd5(here.stdout.decode()), ffmpeg.framemd5(out.read_text())
    assert sorted(got) == sorted(want), f"tracks {sorted(want)} should come, {sorted(got)} came"
    for track, all_of_it in want.items():
        came = [packet.md5 for packet in got[track]]
        whole = [packet.md5 for packet in all_of_it]
        first = whole.index(came[0])
        assert len(came) > 50 and whole[first : first + len(came)] == came, (
            f"track {track}: {len(came)} of {len(whole)} packets came, from number {first} on, but not all of them"
        )


def test_vhost_name_and_parameters_are_kept(servers):
    host = "vhost a.example { %s play { mw_latency 50; rejoin_timeout 500; } }"
    second = servers(vhosts=default_vhost() + host % "")
    destination = Destination()
    with destination:
        to = f"forward {{ enabled on; destination 127.0.0.1:{second.rtmp_port} {destination.address}; }}"
        first = servers(vhosts=default_vhost() + host % to)
        tags = media.from_keyframe(media.with_b_frames())
        there = publishing.Collector(
            rtmp.player(second, "live/deep", "s", tc_url="rtmp://a.example/live/deep", timeout=scaled(20))
        )
        tc_url = "rtmp://a.example/live/deep"
        with rtmp.publisher(first, "live/deep", "s?token=1&x=a/b", tc_url=tc_url) as client:
            publishing.send_all(client, tags, SPEED * 2)
        flv.assert_same(tags, there.finish(scaled(20), "the player"), "a player of the second server, by its vhost")
        wait_until(lambda: destination.unpublished, 5, "the destination is told of the end")
        assert (destination.apps, destination.published) == (["live/deep"], ["s?token=1&x=a/b&vhost=a.example"])
        flv.assert_same(tags, destination.tags, "what came at the destination")
        names = [data[0] for data in destination.metadata]
        assert names and set(names) == {"@setDataFrame"}, f"metadata should come by @setDataFrame, it came by {names}"


def test_a_destination_that_is_down_and_comes_back(servers):
    """Everything is well for the others meanwhile; the log says it once; and it begins with a keyframe."""
    good, bad = Destination(), Destination()
    with good:
        server = servers(vhosts=forwarding(good.address, bad.address))
        viewer = publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(20)))
        with steady(server) as publisher:
            wait_tags(good, 20)
            time.sleep(scaled(2))  # some attempts
            said = lines(server, f"{bad.port}/live/s: connecting to")
            assert len(said) == 1, "the log should say once that it is down:\n" + "\n".join(said)
            with bad:
                wait_tags(bad, 20, 15)
                server.wait_log(r"goes to .*%d.* again" % bad.port, 5)
                bad.stop()
                wait_tags(good, len(good.tags) + 20)
            publisher.stop()
            assert publisher.error is None, f"the publisher was disturbed: {publisher.error}"
        flv.assert_same(publisher.sent, viewer.finish(scaled(20), "the player"), "the player")
    wait_until(lambda: good.unpublished, 5, "the good destination is told of the end")
    flv.assert_same(publisher.sent, good.tags, "the other destination")
    first = flv.frames(bad.tags)[0]
    assert flv.is_keyframe(first), f"it should begin with a keyframe, not with {first.describe()}"


def test_a_destination_that_refuses(servers):
    with Destination(refuse="NetStream.Publish.Denied") as destination:
        server = servers(vhosts=forwarding(destination.address))
        with steady(server) as publisher:
            wait_until(lambda: destination.connections >= 3, 15, "three attempts")
            destination.refuse = None
            wait_tags(destination, 20, 15)
            assert publisher.error is None
    said = lines(server, "NetStream.Publish.Denied")
    assert len(said) == 1 and "as told" in said[0], "its words should stand in one line:\n" + "\n".join(said)


def test_a_slow_destination_goes_on_at_a_keyframe(servers):
    """It takes nothing for a while: it is far behind then, and misses the middle, and nobody else notices."""
    tags = media.from_keyframe(media.plain())
    # 30 s, and more than the sockets' buffers hold. Made before: a publisher that is silent meanwhile would be ended.
    frames = flv.frames(tags[5:])
    big = []
    for index in range(30 * 50):
        tag = frames[index % 50]
        body = tag.body + bytes(40000 if tag.type == flv.VIDEO else 0)
        if tag.type == flv.VIDEO:
            body = bytes([0x27]) + body[1:]  # no keyframe to go on at
        big.append(tag._replace(timestamp=1000 + index * 20, body=body))
    with Destination(receive_buffer=4096) as slow, Destination() as good:
        play = "mw_latency 50; queue_length 1;"
        server = servers(top=api.ON, vhosts=forwarding(slow.address, good.address, play=play))
        with rtmp.publisher(server, "live", "s") as client:
            publishing.send_all(client, tags[:30], SPEED)
            wait_tags(slow, 15)
            slow.holding.set()
            publishing.send_all(client, big, 10)
            wait_tags(good, 25 + len(big), 20)
            slow.holding.clear()
            last = [tag._replace(timestamp=tag.timestamp + 32000) for tag in tags[:60]]
            publishing.send_all(client, last)
        wait_until(lambda: slow.unpublished and good.unpublished, 15, "both are told of the end")
    flv.assert_same(tags[:30] + big + last, good.tags, "the good destination")
    came, sent = len(flv.frames(slow.tags)), len(flv.frames(good.tags))
    assert came < sent, f"the slow destination should have missed some of {sent} frames"
    want = flv.frames(last)
    keyframes = [index for index, tag in enumerate(slow.tags) if tag.body == want[0].body]
    assert keyframes, f"the slow destination should go on at the last keyframe; {came} frames came without it"
    end = flv.frames(slow.tags[keyframes[-1] :])
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0].body == pair[1].body, zip(want, end)))
    assert same == len(want) == len(end), (
        f"the end should come whole: of {len(want)} frames from the last keyframe on {len(end)} came, the first {same} the same"
    )
    api.ended(server, "too slow", type="rtmp-forward")


def test_a_stream_that_comes_back_to_its_server_is_refused(servers):
    """Also where a takeover would be allowed: the publisher is not disturbed by its own stream."""
    server = servers.make(vhosts="")
    server.conf_path.write_text(
        server.conf_path.read_text() + forwarding(f"127.0.0.1:{server.rtmp_port}", publish="takeover on;")
    )
    server.start()
    with steady(server) as publisher:
        line = server.wait_log(r"\[error\].*is a loop", 5)
        assert "has come back" in line, line
        time.sleep(scaled(1.5))
        assert publisher.error is None, f"the publisher was disturbed: {publisher.error}"
    assert len(lines(server, "is a loop")) == 1, "a loop is said once, and not tried again"


def test_a_loop_of_two_servers_is_refused(servers):
    first, second = servers.make(vhosts=""), servers.make(top=api.ON, vhosts="")
    for one, other in ((first, second), (second, first)):
        one.conf_path.write_text(
            one.conf_path.read_text() + forwarding(f"127.0.0.1:{other.rtmp_port}", publish="takeover on;")
        )
        one.start()
    there = publishing.Collector(rtmp.player(second, "live", "s", timeout=scaled(20)))
    with steady(first) as publisher:
        api.explained(second, "s", "outputs", "forward: to .*has come back", 5)
        time.sleep(scaled(1))
        assert publisher.error is None, f"the publisher was disturbed: {publisher.error}"
    flv.assert_same(publisher.sent, there.finish(scaled(20), "the player"), "a player of the second server")


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not-trusted"])
def test_rtmps(servers, certificate, trusted):
    key, cert = certificate
    second = servers(
        top=f"rtmps {{ enabled on; listen 127.0.0.1:RTMPS_PORT; key {key}; cert {cert}; }}",
        vhosts=default_vhost(play="mw_latency 50;"),
    )
    first = servers(
        top=api.ON,
        vhosts=forwarding(f"rtmps://127.0.0.1:{second.rtmps_port}"),
        environment={"SSL_CERT_FILE": str(cert)} if trusted else {},
    )
    there = publishing.Collector(rtmp.player(second, "live", "s", timeout=scaled(20)))
    with steady(first) as publisher:
        if not trusted:
            api.explained(first, "s", "outputs", "forward: to rtmps://.*certificate", 5)
        else:
            wait_until(lambda: len(there.tags) > 20, 10, lambda: f"20 tags there; {len(there.tags)} came")
        assert publisher.error is None
    if trusted:
        flv.assert_same(publisher.sent, there.finish(scaled(20), "the player"), "the player")


def test_reload_adds_and_removes_destinations(servers):
    def reload(*change):
        text = server.conf_path.read_text()
        assert change[0] in text
        api.reload(server, text.replace(*change))

    with Destination() as one, Destination() as two:
        server = servers(top=api.ON, vhosts=forwarding(one.address))
        with steady(server) as publisher:
            wait_tags(one, 20)
            reload(f"destination {one.address};", f"destination {one.address} {two.address};")
            wait_tags(two, 20)
            reload(f"destination {one.address} {two.address};", f"destination {two.address};")
            wait_until(lambda: one.unpublished, 5, "the one that is gone is told of the end")
            wait_tags(two, len(two.tags) + 20)
            assert (one.connections, two.connections) == (1, 1), "nobody was disturbed"
            reload("forward { enabled on;", "forward { enabled off;")
            wait_until(lambda: two.unpublished, 5, "the other one is told of the end")
        got, sent = flv.frames(two.tags), flv.frames(publisher.sent)
        first = [tag.body for tag in sent].index(got[0].body)
        want = [tag.body for tag in sent[first : first + len(got)]]
        assert want == [tag.body for tag in got], "what stayed should have missed nothing"


def test_the_backend_names_the_destinations(servers):
    with Destination() as destination, Web() as web:
        web.answer = (200, b'{"code":0,"data":{"urls":["rtmp://%s/far/away?key=1"]}}' % destination.address.encode())
        server = servers(top="server_id srv-1;", vhosts=forwarding(backend=web.url("/forward")))
        tags = media.from_keyframe(media.plain())[:200]
        with rtmp.publisher(server, "live", "s?token=x") as client:
            publishing.send_all(client, tags, SPEED)
        wait_until(lambda: destination.unpublished, 5, "the destination is told of the end")
        assert (destination.apps, destination.published) == (["far"], ["away?key=1"])
        flv.assert_same(tags, destination.tags, "the destination")
        (request,) = web.requests
    assert (request.method, request.path) == ("POST", "/forward")
    assert request.headers["Content-Type"].startswith("application/json"), request.headers
    body = request.json()
    assert len(body.pop("client_id")) == 8 and body.pop("service_id") and body.pop("stream_id").startswith("vid-"), request.body
    assert body == {
        "server_id": "srv-1",
        "action": "on_forward",
        "ip": "127.0.0.1",
        "vhost": "__defaultVhost__",
        "app": "live",
        "tcUrl": f"rtmp://127.0.0.1:{server.rtmp_port}/live",
        "stream": "s",
        "param": "?token=x",
        "stream_url": "/live/s",
    }, f"the question was {request.body}"


def test_the_backend_is_asked_as_other_hooks_are(servers):
    """tcUrl and param of a publisher by RTSP, whose URL has both the stream and parameters."""
    with Web() as web:
        web.answer = (200, b'{"code":0,"data":{"urls":[]}}')
        hooks = f"rtsp {{ enabled on; }} http_hooks {{ enabled on; on_publish {web.url('/hook')}; }}"
        server = servers(top="rtsp_server { enabled on; listen RTC_PORT; }", vhosts=forwarding(backend=web.url("/forward"), more=hooks))
        with rtsp.Publisher(server.rtc_port) as client:
            client.record(rtsp.url(server, "live/s") + "?token=x", media.tags(media.plain()))
            wait_until(lambda: len(web.requests) == 2, 5, "hook and backend are asked")
        bodies = {request.json()["action"]: request.json() for request in web.requests}
    asked, told = bodies["on_forward"], bodies["on_publish"]
    assert {**asked, "action": "on_publish"} == told, f"{asked}\n{told}"
    assert (told["tcUrl"], told["param"]) == (f"rtsp://127.0.0.1:{server.rtc_port}/live", "?token=x"), told


BAD_ANSWERS = {
    "500": (500, b"{}"),
    "no-json": (200, b"<html>"),
    "code-1": (200, b'{"code":1}'),
    "huge": (200, b" " * 10_000_000),
}


@pytest.mark.parametrize("bad", [*BAD_ANSWERS, "down", "slow"])
def test_a_bad_backend_disturbs_nobody(servers, bad):
    """The stream is published and played all the same, and goes there once the backend has answered."""
    good = b'{"code":0,"data":{"urls":["%s"]}}'
    with Destination() as destination, Web() as web:
        web.answer = BAD_ANSWERS.get(bad, (200, good % destination.address.encode()))
        if bad == "down":
            web.stop()
        elif bad == "slow":
            web.delay = 60
        server = servers(vhosts=forwarding(backend=web.url()))
        viewer = publishing.Collector(rtmp.player(server, "live", "s", timeout=scaled(20)))
        with steady(server) as publisher:
            wait_until(lambda: len(viewer.tags) > 20, 5, "the player sees the stream")
            if bad == "slow":
                wait_until(lambda: web.requests, 5, "the backend is asked")
            else:
                server.wait_log(r"\[warn\].*the backend of .*asked again", 5)
                web.answer = (200, good % destination.address.encode())
                if bad == "down":
                    web.start()
                wait_tags(destination, 10, 15)
            assert publisher.error is None
        flv.assert_same(publisher.sent, viewer.finish(scaled(20), "the player"), "the player")
        web.delay = 0
    assert len(lines(server, "the backend of")) == (bad != "slow"), "it is said once"


def test_the_forwarding_is_in_no_ones_way_at_the_end(servers):
    """Destinations that are down, silent, and holding: the server ends soon all the same."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent, Destination(receive_buffer=4096) as holding:
        server = servers(
            top=api.ON,
            vhosts=forwarding(f"127.0.0.1:{silent.getsockname()[1]}", "127.0.0.1:1", holding.address),
        )
        with steady(server):
            wait_tags(holding, 5)
            holding.holding.set()
            api.explained(server, "s", "outputs", "127.0.0.1:1/live/s.*refused", 5)
            began = time.monotonic()
            server.stop()
            took = time.monotonic() - began
    assert took < scaled(8), f"it took {took:.1f} s"
