"""aiortc as an independent peer: it publishes by WHIP, plays by WHEP, and decodes in the test."""

import asyncio
import signal

import pytest

from lib import api, flashes, http, mediamtx, rtc, rtc_aiortc, timing

AV_MS = 80
# By what our sender reports say, whatever the machine is busy with. Of it 6.5 ms are what Opus looks ahead: who encodes it
# with libopus alone, as aiortc and FFmpeg's WHIP do, leaves them in.
EXACT_MS = 20


@pytest.fixture
def rtc_server(servers, tmp_path):
    server = rtc.start(servers, tmp_path)
    yield server
    if not rtc.is_ours(server):
        server.stop()


def check(player, wanted, who):
    rtc.assert_colours(player.video_frames[-1].places, wanted)
    offsets = player.offsets()
    middle, limit = rtc.median(offsets), AV_MS if mediamtx.PROGRAM else EXACT_MS
    assert abs(middle) <= limit, f"{who}: by the sender reports audio is {middle:.0f} ms behind the video frame: {offsets}"


def test_rtmp_to_whep(rtc_server, tool):
    tool(rtc.bars_and_beeps(rtc_server))

    async def scene():
        with rtc_aiortc.Complaints() as complaints:
            async with rtc_aiortc.Player(rtc.whep_url(rtc_server)) as player:
                await player.has(video_frames=60, flashes=3)
                check(player, rtc.BARS, "RTMP to WHEP")
        later = [line for line in complaints.lines if line[0] > player.video_frames[0].at]
        assert not later, f"from the first video frame on every one can be decoded: {later[:5]}"

    asyncio.run(scene())


@pytest.mark.parametrize("codec", ["video/H264", "video/VP8"])
def test_whip_to_whep(rtc_server, codec):
    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(rtc_server), codec) as publisher:
            await publisher.connected()
            async with rtc_aiortc.Player(rtc.whep_url(rtc_server)) as player:
                await player.has(video_frames=40, flashes=3)
                check(player, rtc.FIELDS, codec)
                print(f"audio behind the video frame {player.offsets()} ms; {publisher.late_reports()}")
                assert codec.split("/")[1] in player.answer, f"{codec} was published:\n{player.answer}"

    asyncio.run(scene())


LAYERS = {"q": (80, 44, 60_000), "h": (160, 90, 150_000), "f": (320, 180, 400_000)}


@pytest.mark.parametrize("order", ["qhf", "fhq"])
def test_of_layers_the_largest_is_played(rtc_server, order):
    """The stream is the largest one, whatever the offer's order is: of pages the smallest is the first, of OBS the last."""
    if mediamtx.PROGRAM:
        pytest.skip("this is about our choice of layers")

    async def scene():
        layers = [(rid, *LAYERS[rid]) for rid in order]
        async with rtc_aiortc.LayersPublisher(rtc.whip_url(rtc_server), layers) as publisher:
            await publisher.connected()
            assert f"a=simulcast:recv {';'.join(order)}" in publisher.answer, publisher.answer
            async with rtc_aiortc.Player(rtc.whep_url(rtc_server)) as player, rtc_aiortc.Player(rtc.whep_url(rtc_server) + "&layer=h") as other:
                await rtc_aiortc.wait(lambda: player.seen((320, 180)) >= 40, 20, player.describe)
                rtc.assert_colours(player.video_frames[-1].places, rtc.FIELDS)
                await rtc_aiortc.wait(lambda: other.seen((160, 90)) >= 40, 20, other.describe)
                rtc.assert_colours(other.video_frames[-1].places, rtc.FIELDS)

    asyncio.run(scene())


def test_ffmpeg_publishes(rtc_server, tool):
    """FFmpeg 9 by WHIP: played by aiortc; it goes in order, which it complains of otherwise."""
    publisher = tool(rtc.bars_and_beeps_by_whip(rtc_server))

    async def scene():
        async with rtc_aiortc.Player(rtc.whep_url(rtc_server)) as player:
            await player.has(video_frames=60, flashes=3)
            check(player, rtc.BARS, "FFmpeg by WHIP")

    asyncio.run(scene())
    publisher.process.send_signal(signal.SIGINT)
    publisher.finish(15, codes=(255,))
    assert "rror" not in publisher.text(), f"FFmpeg complains: {publisher.text()}"


def test_whip_to_http_flv(rtc_server, tmp_path):
    if mediamtx.PROGRAM:
        pytest.skip("this is about our outputs")

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(rtc_server)) as publisher:
            await publisher.connected()
            seen = await asyncio.to_thread(flashes.look, rtc_server.http_url("live/one.flv"), tmp_path, 5)
            print(f"audio behind the video frame {seen.offsets()} ms; {publisher.late_reports()}")
            return seen

    flashes.assert_right("WHIP to HTTP-FLV", asyncio.run(scene()), rtc.FIELDS, AV_MS)


@pytest.mark.parametrize("end", ["delete", "close", "vanish"])
def test_ends(servers, end):
    """However a peer goes, the API forgets it: at once when it says so, within the timeout when it does not."""
    if mediamtx.PROGRAM:
        pytest.skip("this is about our API")
    server = rtc.start(servers, None, rtc="stun_timeout 3;")

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server)) as publisher:
            await publisher.connected()
            async with rtc_aiortc.Player(rtc.whep_url(server)) as player:
                await player.has(video_frames=5)
                await asyncio.to_thread(rtc.wait_sessions, server, "rtc-publish", 1)
                await asyncio.to_thread(rtc.wait_sessions, server, "rtc-play", 1)
                publisher.end = player.end = end

    # With asyncio's end the sockets are gone; what is left behind has no goodbye.
    asyncio.run(scene())
    for kind in ("rtc-play", "rtc-publish"):
        rtc.wait_sessions(server, kind, 0, 8 if end == "vanish" else 3)


def test_packets_are_lost_by_request(servers):
    """/rtc/v1/nack/ of SRS's simulator: a publisher's packets are lost, asked for again, and come."""
    if mediamtx.PROGRAM:
        pytest.skip("this is about our API")
    options = rtc.options()
    options["top"] = options["top"].replace(api.CONF % "", api.CONF % "debug on;")
    server = servers(**options)

    def quality():
        return next(one for one in api.clients(server) if one["type"] == "rtc-publish")["rtc"]

    def lose():
        (client,) = [one for one in api.clients(server) if one["type"] == "rtc-publish"]
        path = f"/rtc/v1/nack/?username={client['id']}&drop="
        for bad in ("x", "", "1001", "-1"):
            api.ask(server, path + bad, status=400)
        api.ask(server, "/rtc/v1/nack/?username=nobody&drop=1", status=404)
        api.ask(server, path + "5", status=403, X_Forwarded_For="10.0.0.1")
        assert quality()["nacks"] == 0, f"nothing is lost yet: {quality()}"
        assert api.ask(server, path + "30")["query"]["drop"] == "30"
        timing.wait_until(lambda: quality()["nacks"] >= 3, 10, lambda: f"what was lost is asked for again: {quality()}")
        timing.wait_until(lambda: quality()["sent_again"] >= 3, 10, lambda: f"and comes again: {quality()}")

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server)) as publisher:
            await publisher.connected()
            async with rtc_aiortc.Player(rtc.whep_url(server)) as player:
                await player.has(video_frames=20)
                await asyncio.to_thread(lose)
                await player.has(video_frames=len(player.video_frames) + 20)

    asyncio.run(scene())
    assert http.get(server.http_port, "/rtc/v1/nack/").status == 404, "it is the API's alone"
