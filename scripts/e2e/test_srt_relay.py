"""SRT from this server's side as a caller: streams that are forwarded by SRT, pulled by it from other servers, and edges
whose origins speak it. Encrypted and not, with servers that restart, and with other peers: srt-live-transmit, FFmpeg."""

import contextlib
import subprocess
import time

import pytest

from lib import api, ffmpeg, flv, http, media, ports, publishing, rtmp, rtsp, srt
from lib.edges import frames_of
from lib.server import default_vhost
from lib.timing import scaled, wait_until

SECRET = "a-long-secret"


def forwarding(servers, *destinations, vhost="", play="mw_latency 0;"):
    words = f"forward {{ enabled on; destination {' '.join(destinations)}; }}"
    return servers(top=srt.API, vhosts=default_vhost(vhost=words + vhost, play=play))


def at(server, **query):
    text = "&".join(f"{key}={value}" for key, value in query.items())
    return f"srt://127.0.0.1:{server if isinstance(server, int) else server.rtc_port}" + (f"?{text}" if text else "")


@contextlib.contextmanager
def publish(server, name="s", source=media.with_b_frames):
    with rtmp.publisher(server, "live", name) as client, publishing.Steady(client, media.tags(source())) as steady:
        yield steady


def clients(server, kind):
    return [one for one in api.clients(server) if one["type"] == kind]


def shown_by(server):
    """All that an operator may see."""
    pages = ("/api/v1/config?set=true&count=1000", "/api/v1/edges", "/api/v1/clients", "/api/v1/streams", "/api/v1/summaries")
    return server.log() + "".join(str(api.ask(server, page)) for page in pages)


@pytest.mark.parametrize("query", [{}, {"passphrase": SECRET, "pbkeylen": 32, "latency": 60}], ids=["clear", "encrypted"])
def test_a_second_server_gets_the_forwarded_frames(servers, query):
    """With their times and the stream's parameters."""
    second = srt.make(servers, f"passphrase {SECRET};" if query else "")
    first = forwarding(servers, at(second, **query))
    collected = publishing.Collector(http.Live(second.http_port, "/live/s.flv", wait=False))
    tags = media.from_keyframe(media.with_b_frames())[:400]
    with rtmp.publisher(first, "live", "s?token=1") as client:
        publishing.send_all(client, tags, speed=1)
        (listed,) = clients(second, "srt-publish")
        (forward,) = clients(first, "srt-forward")
        shown = shown_by(first)
        for one in (listed, forward):
            quality, want = one["srt"], {"dropped": 0, "peer_version": "1.5.5", "key_bits": 256 if query else 0, "latency_ms": 120}
            assert {key: quality[key] for key in want} == want, f"the quality of {one['type']}: {quality}"
            assert quality["rtt_ms"] is not None and quality["rtt_ms"] < 100, f"the round trip is measured: {quality}"
            assert 0 <= quality["lost_percent"] < 5 and 0 <= quality["retransmitted_percent"] < 5, f"few are lost on loopback: {quality}"
    assert listed["name"] == "s" and forward["tcUrl"] == f"srt://127.0.0.1:{second.rtc_port}", f"{listed} {forward}"
    assert SECRET not in shown, "the passphrase should not be shown"
    first.wait_log(rf"forward: .*live/s goes to srt://127.0.0.1:{second.rtc_port}, delay {120} ms{', encrypted' if query else ''}, peer 1.5.5")
    received = collected.finish(20, "a player of the second server")
    rtsp.assert_arrived([tag for tag in tags if flv.is_frame(tag)], received, "forwarded by SRT")


def test_an_edge_pulls_by_srt(servers):
    """On demand, with the frames unchanged; what is published at the edge is passed up."""
    first = srt.make(servers, f"passphrase {SECRET};")
    cluster = f"cluster {{ mode remote; origin {at(first, passphrase=SECRET)}; }}"
    second = servers(top=srt.API, vhosts=default_vhost(vhost=cluster, play="mw_latency 0;"))
    tags = media.from_keyframe(media.with_b_frames())[:400]
    collected = publishing.Collector(http.Live(second.http_port, "/live/s.flv?token=1", wait=False))
    second.wait_players("live/s", 1)
    wait_until(lambda: len(clients(first, "srt-play")) == 1, 10, lambda: f"the pull should wait at the origin: {api.clients(first)}")
    with rtmp.publisher(first, "live", "s") as client:
        publishing.send_all(client, tags, speed=1)
        (pull,) = clients(second, "edge-pull")
        shown = shown_by(second)
        edges = api.ask(second, "/api/v1/edges")
    assert pull["tcUrl"] == f"srt://127.0.0.1:{first.rtc_port}", f"one pull: {pull}"
    assert [one["origin"] for one in edges["origins"]] == [pull["tcUrl"]], f"the origin without its parameters: {edges}"
    assert SECRET not in shown, "the passphrase should not be shown"
    received = collected.finish(40, "a player of the edge")
    rtsp.assert_arrived([tag for tag in tags if flv.is_frame(tag)], received, "pulled by SRT")
    with publish(second, "up"):
        api.wait_stream(first, "up", lambda stream: stream["frames"] > 40)
        (push,) = clients(second, "edge-push")
    assert push["tcUrl"] == pull["tcUrl"], f"it should be passed up by SRT: {push}"


def test_an_origin_that_restarts(servers):
    """Players keep their connections, and the stream goes on."""
    first = srt.make(servers)
    cluster = f"cluster {{ mode remote; origin {at(first)}; }}"
    second = servers(top=srt.API, vhosts=default_vhost(vhost=cluster, play="mw_latency 0;", rejoin=20_000))
    with publish(first):
        player = http.Live(second.http_port, "/live/s.flv")
        assert frames_of(player, 20), "frames should come"
        first.stop()
    first.start()
    with publish(first):
        assert len(frames_of(player, 60, 20)) >= 60, "frames should come again on the same connection"
    player.close()


def test_a_wrong_passphrase(servers):
    """One line of the log on each side, a few handshakes a second at most, and no player for ever."""
    first = srt.make(servers, f"passphrase {SECRET};")
    cluster = f"cluster {{ mode remote; origin {at(first, passphrase='another-secret')}; }}"
    second = servers(top=srt.API, vhosts=default_vhost(vhost=cluster, play="mw_latency 0;", rejoin=20_000))
    with publish(first):
        player = rtmp.player(second, "live", "s")
        second.wait_log(r"edge pull: .*live/s from srt://127.0.0.1:\d+: the listener refused: wrong passphrase \(1010\); it is tried again")
        time.sleep(scaled(4))
        attempts = api.ask(second, "/api/v1/edges")["origins"][0]["connections"]
        player.close()
    assert 1 <= attempts <= 3, f"it should be tried each 3 s: {attempts} times in 4 s"
    lines = [line for line in second.log().splitlines() if "wrong passphrase" in line]
    assert len(lines) == 1, f"one line should say why: {lines}"
    assert "another-secret" not in first.log() + second.log(), "a passphrase should not be logged"


def test_edges_of_each_other_are_no_loop(servers):
    one_port, other_port = ports.take(2)
    edges = []
    for own, other in ((one_port, other_port), (other_port, one_port)):
        top = srt.API + f"srt_server {{ enabled on; listen 127.0.0.1:{own}; }}"
        vhost = f"srt {{ enabled on; }} cluster {{ mode remote; origin {at(other)}; }}"
        edges.append(servers(top=top, vhosts=default_vhost(vhost=vhost, play="mw_latency 0;")))
    player = rtmp.player(edges[0], "live", "s")
    edges[0].wait_log("SRT caller .* refused by 2403: this server has asked for the stream itself: that would be a loop")
    player.close()


def ingests(servers, *inputs, **options):
    """A server that pulls live/one, live/two, ...; input: its directives."""
    blocks = "".join(f"ingest {name} {{ enabled on; input {{ type srt; {words} }} }}" for name, words in zip(("one", "two"), inputs))
    return servers(top=srt.API, vhosts=default_vhost(vhost=blocks, play="mw_latency 0;", **options))


def test_an_ingest(servers):
    """All the time, and on demand."""
    first = srt.make(servers, f"passphrase {SECRET};")
    address = at(first, passphrase=SECRET, streamid="#!::r=live/s,m=request")
    with publish(first):
        second = ingests(servers, f'url "{address}";', f'url "{address}"; on_demand on;')
        api.wait_stream(second, "one", lambda stream: stream["frames"] > 40)
        assert [one["name"] for one in clients(second, "srt-pull")] == ["one"], "the second should be pulled on demand"
        player = http.Live(second.http_port, "/live/two.flv")
        assert frames_of(player, 20), "a player should get the stream that is pulled for it"
        assert sorted(one["name"] for one in clients(second, "srt-pull")) == ["one", "two"]
        shown = shown_by(second)
        player.close()
        api.ended(second, "no player for a while", 15, type="srt-pull", name="two")
    assert SECRET not in shown, "the passphrase should not be shown"


@contextlib.contextmanager
def transmitting(tool, name, tmp_path):
    """srt-live-transmit or FFmpeg as a listener that sends a stream; its port."""
    (port,) = ports.take()
    if name == "ffmpeg":
        tool(ffmpeg.command("-re", "-stream_loop", "-1", "-i", media.plain(), "-c", "copy", "-f", "mpegts", at(port, mode="listener")))
    else:
        (local,) = ports.take()
        tool(["srt-live-transmit", "-a:no", "-chunk:1316", f"udp://127.0.0.1:{local}", at(port, mode="listener")])
        tool(ffmpeg.command("-re", "-stream_loop", "-1", "-i", media.plain(), "-c", "copy", "-f", "mpegts", f"udp://127.0.0.1:{local}?pkt_size=1316"))
    yield port


@pytest.mark.parametrize("name", ["ffmpeg", "srt-live-transmit"])
def test_other_listeners_are_pulled_from(servers, tool, tmp_path, name):
    with transmitting(tool, name, tmp_path) as port:
        server = ingests(servers, f'url "{at(port)}";')
        stream = api.wait_stream(server, "one", lambda stream: stream["frames"] > 60, 20)
    assert stream["video"]["codec"] == "H264" and stream["audio"]["codec"] == "AAC", f"both tracks should come: {stream}"


@pytest.mark.parametrize("name", ["ffmpeg", "srt-live-transmit"])
def test_other_listeners_are_forwarded_to(servers, tool, tmp_path, name):
    (port,) = ports.take()
    out = tmp_path / "out.ts"
    query = {"mode": "listener", "passphrase": SECRET}
    if name == "ffmpeg":
        receiver = tool(ffmpeg.command("-i", at(port, **query), "-t", "4", "-c", "copy", out))
    else:
        receiver = tool(["sh", "-c", f"exec srt-live-transmit -q -a:no '{at(port, **query)}' file://con >{out}"])
    server = forwarding(servers, at(port, passphrase=SECRET))
    with publish(server, source=media.plain):
        server.wait_log(r"forward: .*live/s goes to srt://127.0.0.1:\d+, delay 120 ms, encrypted")
        if name == "ffmpeg":
            receiver.finish(30)
        else:
            time.sleep(scaled(4))
            receiver.kill()
    words = ["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=codec_type,nb_read_packets", "-of", "csv=p=0", out]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    got = {kind: int(count) for kind, count in (line.split(",")[:2] for line in lines)}
    assert got.get("video", 0) > 40 and got.get("audio", 0) > 60, f"both tracks should come: {got}"
