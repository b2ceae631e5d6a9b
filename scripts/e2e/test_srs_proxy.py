"""Two servers behind the proxy of SRS (lib/srs_proxy.py): they register by their heartbeat, and publishers and players of every
protocol reach the server of their stream through it."""

import asyncio

from lib import api, flv, http, media, publishing, rtc, rtc_aiortc, rtmp
from lib.ffmpeg import command
from lib.srs_proxy import SrsProxy
from lib.timing import scaled, wait_until


def backend(servers, proxy):
    """It listens at ports without an address: the proxy takes no others."""
    heartbeat = f"heartbeat {{ enabled on; interval 0.5; ports on; url {proxy.register_url}; }}\n"
    hls_on = "hls { enabled on; hls_fragment 1; hls_window 20; hls_storage memory; }"
    server = servers.make(**rtc.options(top=heartbeat, vhost=hls_on, play="mw_latency 50;"))
    server.conf_path.write_text(server.conf.replace("listen 127.0.0.1:", "listen "))
    return server.start(SRS_DEVICE_IP="127.0.0.1")


def frames(player, what):
    with player:
        tags = http.collect(player, lambda tags: sum(flv.is_frame(tag) for tag in tags) >= 30, scaled(10))
    kinds = {tag.type for tag in tags if flv.is_frame(tag)}
    assert kinds == {flv.AUDIO, flv.VIDEO}, f"{what}: video and audio should come, these came: {kinds}"


def play_hls(proxy, server, name):
    """The master playlist, the viewer's own one, and a segment by spbhid, which is that of the server."""
    path = f"/live/{name}.m3u8"
    wait_until(lambda: http.get_status(server.http_port, path) == 200, 10, f"{path} at the server itself")
    master = http.get(proxy.http_port, path)
    assert master.status == 200 and b"hls_ctx=" in master.body, f"{path}: {master.describe()}"
    own = next(line for line in master.body.decode().splitlines() if "hls_ctx=" in line)
    own = own if own.startswith("/") else f"/live/{own}"

    def segments():
        answer = http.get(proxy.http_port, own)
        assert answer.status == 200, f"{own}: {answer.describe()}"
        return [line for line in answer.body.decode().splitlines() if ".ts" in line]

    uri = wait_until(segments, 10, f"a segment in {own}")[0]
    assert "?spbhid=id" in uri and "&&hls_ctx=" in uri, f"the proxy adds spbhid before the viewer's parameters: {uri}"
    segment = http.get(proxy.http_port, f"/live/{uri}")
    direct = http.get(server.http_port, f"/live/{uri.partition('?')[0]}")
    assert segment.status == 200 and len(segment.body) > 188 and segment.body[0] == 0x47, segment.describe()
    assert segment.body == direct.body, f"{uri} should have the server's {len(direct.body)} bytes, it has {len(segment.body)}"


async def play_whep(url):
    async with rtc_aiortc.Player(url) as player:
        await player.has(video_frames=10)
        # Converted audio comes later than the first video frames.
        await rtc_aiortc.wait(lambda: player.packets["audio"], 5, lambda: f"packets of audio; {player.describe()}")


def play_everything(proxy, server, name):
    player = rtmp.player(None, "live", name, port=proxy.rtmp_port, scheme=None)
    frames(player, f"RTMP of {name}")
    frames(http.Live(proxy.http_port, f"/live/{name}.flv"), f"HTTP-FLV of {name}")
    play_hls(proxy, server, name)


def test_streams_through_the_proxy(servers, tool):
    """One stream that FFmpeg publishes by RTMP, and one of a WHIP publisher; each backend has one of them."""
    with SrsProxy() as proxy:
        both = [backend(servers, proxy) for _ in range(2)]
        wait_until(lambda: len(proxy.picks.backends) == 2, 10, lambda: f"two registrations: {proxy.picks.backends}")
        url = f"rtmp://127.0.0.1:{proxy.rtmp_port}/live/a"
        tool(command("-re", "-stream_loop", -1, "-i", media.frequent_keyframes(), "-c", "copy", "-f", "flv", url))
        # Any WHIP client will do: here FFmpeg, as it sends a keyframe each second, which HLS needs.
        tool([*rtc.bars_and_beeps_by_whip(both[0], "live/b")[:-1], proxy.url("whip", "b")])

        def homes():
            return {name: server for server in both for name in api.streams(server)}

        wait_until(lambda: sorted(homes()) == ["a", "b"], 10, lambda: f"two streams: {homes()}; {proxy.errors}")
        home = homes()
        assert home["a"] is not home["b"], f"each backend should have a stream: {home}"
        for name, server in home.items():
            play_everything(proxy, server, name)
            asyncio.run(play_whep(proxy.url("whep", name)))
        assert proxy.errors == [], f"the proxy complains: {proxy.errors}"


def test_a_refusal_through_the_proxy(servers):
    """A name that is published already: the backend refuses the second publisher, and the first one goes on."""
    with SrsProxy() as proxy:
        server = backend(servers, proxy)
        wait_until(lambda: proxy.picks.backends, 10, "a registration")
        with publishing.Steady(rtmp.publisher(None, "live", "s", port=proxy.rtmp_port, scheme=None), media.from_keyframe(media.plain())) as first:
            api.wait_stream(server, "s", lambda stream: stream["frames"] > 10)
            try:
                with rtmp.publisher(None, "live", "s", port=proxy.rtmp_port, scheme=None, timeout=scaled(5)):
                    raise AssertionError("the second publisher should be refused")
            except (ConnectionError, OSError, rtmp.RtmpError):
                pass
            wait_until(lambda: proxy.errors, 5, "the proxy sees the refusal")
            assert "NetStream.Publish" in proxy.errors[0], proxy.errors
            assert first.error is None, f"the first publisher should go on: {first.error}"
