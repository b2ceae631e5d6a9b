"""What the API says of streams that WebRTC publishes, and another publisher in the place of the first: players stay."""

import asyncio

import pytest

from lib import api, mediamtx, rtc, rtc_aiortc

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our API")


@pytest.mark.parametrize("codec,name", [("video/H264", "H264"), ("video/VP8", "VP8")])
def test_streams_are_listed(servers, tmp_path, codec, name):
    """As they are published, though nobody wants frames of them."""
    server = rtc.start(servers, tmp_path)

    def complete(stream):
        return (stream["video"] or {}).get("width") and stream["audio"] and stream["video_frames"] > 20

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server), codec) as publisher:
            await publisher.connected()
            return await asyncio.to_thread(api.wait_stream, server, "one", complete)

    stream = asyncio.run(scene())
    video, audio = stream["video"], stream["audio"]
    assert (video["codec"], video["width"], video["height"]) == (name, rtc_aiortc.WIDTH, rtc_aiortc.HEIGHT), stream
    assert (audio["codec"], audio["sample_rate"], audio["channel"]) == ("Opus", 48000, 2), stream
    assert stream["audio_frames"] > 20 and stream["recv_bytes"] > 1000 and stream["publish"]["active"], stream


def test_another_publisher_takes_over(servers, tmp_path):
    """The player keeps its session: the second one's video frames follow those of the first."""
    server = rtc.start(servers, tmp_path, publish="takeover on;")

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server)) as first:
            await first.connected()
            async with rtc_aiortc.Player(rtc.whep_url(server)) as player:
                await player.has(video_frames=20)
                first.end = "vanish"
                async with rtc_aiortc.Publisher(rtc.whip_url(server)) as second:
                    await second.connected()
                    await asyncio.to_thread(rtc.wait_sessions, server, "rtc-publish", 1)
                    await player.has(video_frames=len(player.video_frames) + 20)
                rtc.assert_colours(player.video_frames[-1].places, rtc.FIELDS)
                times = [video_frame.pts for video_frame in player.video_frames]
                assert times == sorted(times), f"times go on: {times}"

    asyncio.run(scene())
