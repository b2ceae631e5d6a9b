"""The bridges between RTMP and WebRTC: what becomes of the audio (AAC and G.711 to Opus, Opus and G.711 to AAC), of HEVC and
AV1, of B-frames, and of a stream that nobody watches for a while. That video and audio stay together is in
test_rtc_aiortc.py, too."""

import asyncio
import fractions
import json
import subprocess
import time

import av
import numpy
import pytest
from aiortc import MediaStreamTrack

from lib import api, ffmpeg, media, mediamtx, pion, publishing, rtc, rtc_aiortc, rtmp
from lib.timing import SLOW, scaled

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our bridges")

RATE = 48000
LEFT, RIGHT = 440, 1250  # Hz


class Listener(rtc_aiortc.Player):
    """Keeps the samples: by channels, in order of arrival."""

    def __init__(self, url, rate=RATE, channels=2):
        super().__init__(url)
        self.samples, self.rate, self.channels = [], rate, channels

    async def _read(self, track):
        if track.kind != "audio":
            return await super()._read(track)
        while True:
            frame = await track.recv()
            self.samples.append(frame.to_ndarray().reshape(-1, self.channels))

    def seconds_heard(self):
        return sum(map(len, self.samples)) / self.rate

    async def listen(self, seconds):
        await rtc_aiortc.wait(lambda: self.seconds_heard() > seconds, 20, lambda: f"{seconds} s of audio; {self.seconds_heard()} came")
        # The first second has the player's start in it.
        return numpy.concatenate(self.samples)[self.rate : seconds * self.rate]


class Tone(MediaStreamTrack):
    kind = "audio"

    def __init__(self):
        super().__init__()
        self.start, self.count = time.monotonic(), 0

    async def recv(self):
        first = self.count * rtc_aiortc.SLICE
        self.count += 1
        await asyncio.sleep(max(0, self.start + first / RATE - time.monotonic()))
        seconds = numpy.arange(first, first + rtc_aiortc.SLICE) / RATE
        wave = 12000 * numpy.sin(2 * numpy.pi * LEFT * seconds)
        frame = av.AudioFrame.from_ndarray(wave.astype(numpy.int16).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE, first, fractions.Fraction(1, RATE)
        return frame


def clearness(samples, hertz, rate):
    """By how much the tone is above all else, dB, and the share of 20 ms in which it is weak."""
    loud = samples.astype(float)
    spectrum = numpy.abs(numpy.fft.rfft(loud * numpy.hanning(len(loud)))) ** 2
    at = numpy.fft.rfftfreq(len(loud), 1 / rate)
    tone = spectrum[numpy.abs(at - hertz) < 20].sum()
    window = rate // 50
    rms = numpy.sqrt((loud[: len(loud) // window * window].reshape(-1, window) ** 2).mean(axis=1))
    return 10 * numpy.log10(max(tone, 1) / max(spectrum.sum() - tone, 1)), float((rms < numpy.median(rms) / 1.5).mean())


def assert_clear(samples, hertz, who, rate=RATE):
    """A steady tone of that frequency, through one second at least: a busy machine may cost the peer a packet in another,
    but what is wrong with the conversion is wrong in each."""
    found = [clearness(samples[at : at + rate], hertz, rate) for at in range(0, len(samples) - rate + 1, rate // 2)]
    assert any(ratio > 20 and weak <= 0.04 for ratio, weak in found), (
        f"{who}: {hertz} Hz should be 20 dB above all else and never stop; (dB, share of weak windows) a second: {found}"
    )


def tones(server, rate, audio=("-c:a", "aac", "-b:a", "96k"), path="live/one"):
    """FFmpeg that publishes video, and a tone in each ear, by RTMP."""
    wave = f"aevalsrc='0.4*sin(2*PI*{LEFT}*t)|0.4*sin(2*PI*{RIGHT}*t)':s={rate}"
    video_input = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25"]
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-g", 25, *audio]
    return ffmpeg.command("-re", *video_input, "-re", "-f", "lavfi", "-i", wave, *encode, "-t", 60, "-f", "flv", server.rtmp_url(path))


@pytest.mark.parametrize("rate", [44100, 32000])
def test_aac_becomes_opus(servers, tool, rate):
    server = servers(**rtc.options(rtc="opus_bitrate 96000;"))
    tool(tones(server, rate))

    async def scene():
        async with Listener(rtc.whep_url(server)) as player:
            return await player.listen(4)

    samples = asyncio.run(scene())
    assert_clear(samples[:, 0], LEFT, "the left ear")
    assert_clear(samples[:, 1], RIGHT, "the right ear")


@pytest.mark.parametrize("codec", ["pcm_mulaw", "pcm_alaw"])
def test_g711_becomes_opus(servers, tool, codec):
    server = servers(**rtc.options(rtc="opus_bitrate 96000;"))
    tool(tones(server, 8000, ["-af", "pan=mono|c0=c0", "-c:a", codec]))

    async def scene():
        async with Listener(rtc.whep_url(server)) as player:
            return await player.listen(3)

    assert_clear(asyncio.run(scene())[:, 0], LEFT, codec)


async def record(server, out, seconds):
    words = ffmpeg.command("-i", server.http_url("live/one.flv"), "-t", seconds, "-c", "copy", out)
    await asyncio.to_thread(subprocess.run, list(map(str, words)), check=True, timeout=scaled(40))


def test_opus_becomes_aac(servers, tmp_path):
    server = servers(**rtc.options(rtc="aac_bitrate 96000;"))
    out = tmp_path / "out.flv"

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server), audio_track=Tone()) as publisher:
            await publisher.connected()
            await record(server, out, 4)

    asyncio.run(scene())
    assert_aac(out)


@pytest.mark.parametrize("codec", ["audio/PCMU", "audio/PCMA"])
def test_g711_goes_through_and_becomes_aac(servers, tmp_path, codec):
    """To a player of WebRTC as it was published, to one of HTTP-FLV as AAC, at once."""
    server = servers(**rtc.options(rtc="aac_bitrate 96000;"))
    out = tmp_path / "out.flv"

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server), audio=codec, audio_track=Tone()) as publisher:
            await publisher.connected()
            async with Listener(rtc.whep_url(server), 8000, 1) as player:
                assert f"{codec[6:]}/8000" in player.answer and "opus" not in player.answer, player.answer
                samples, _ = await asyncio.gather(player.listen(4), record(server, out, 4))
                return samples

    assert_clear(asyncio.run(scene())[:, 0], LEFT, codec, 8000)
    assert_aac(out)


def assert_aac(out):
    """The file has Tone() as AAC, frame after frame."""
    words = ffmpeg.command("-i", out, "-map", "0:a", "-ar", RATE, "-ac", 1, "-f", "s16le", "-")
    pcm = subprocess.run(list(map(str, words)), check=True, capture_output=True, timeout=scaled(30)).stdout
    samples = numpy.frombuffer(pcm, numpy.int16)
    assert len(samples) > 3 * RATE, f"4 s of audio at least; there are {len(samples) / RATE:.1f}"
    assert_clear(samples[RATE // 2 : 3 * RATE], LEFT, "WHIP to FLV")
    text = subprocess.run(
        list(map(str, ffmpeg.command("-i", out, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-"))),
        check=True, capture_output=True, text=True, timeout=scaled(30),
    ).stdout  # fmt: skip
    times = [packet.dts for packet in ffmpeg.framemd5(text)[0]]
    steps = [two - one for one, two in zip(times, times[1:])][10:]
    assert all(15 <= step <= 30 for step in steps), f"AAC frames should be 21 or 22 ms apart: {sorted(set(steps))}"


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
def test_hevc_to_webrtc(servers):
    """As it is published by RTMP. pion takes HEVC as RTP; that its payloads are right is in test_rtp_payloads.py."""
    server = servers(**rtc.options())
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.hevc())):
        found = pion.run(codec="h265", whep=rtc.whep_url(server), seconds=3)["player"]
    assert found["video"]["codec"].lower() == "video/h265" and found["audio"]["codec"].lower() == "audio/opus", found
    for kind in ("video", "audio"):
        one = found[kind]
        assert one["got"] > 60 and one["sender_reports"] and (one["holes_left"], one["duplicates"]) == (0, 0), found


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
@pytest.mark.parametrize("codec, name", [("h265", "hevc"), ("av1", "av1")])
def test_to_http_flv_as_it_is(servers, tool, tmp_path, codec, name):
    """What pion publishes: every video frame of the file in its order (by the video frames that FFmpeg 9 decodes)."""
    server = servers(**rtc.options())
    publisher = tool(pion.words(codec=codec, whip=rtc.whip_url(server), seconds=4 if SLOW == 1 else 10))
    out = tmp_path / "out.flv"
    api.wait_stream(server, "one", lambda stream: stream["video_frames"] > 2, 20)
    # To the end, so that what is compared has one.
    tool(ffmpeg.command9("-i", server.http_url("live/one.flv"), "-c", "copy", out)).finish(30)
    publisher.finish(20)
    probe = ffmpeg.command9("-i", out, "-f", "null", "-")
    said = subprocess.run([*map(str, probe), "-loglevel", "info"], capture_output=True, text=True, timeout=scaled(30), check=False).stderr
    assert f"Video: {name}" in said, said
    source, got = video_frames(pion.video(codec)) * 3, video_frames(out)  # pion sends the file again and again
    assert len(got) > 25, f"a second of video frames at least, {len(got)} came"
    assert any(got == source[at : at + len(got)] for at in range(len(source))), "the video frames should be the file's, in order"


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
def test_keyframes_are_asked_for_as_often_as_told(servers, tool):
    """pli_for_rtmp, while somebody takes frames: about one a second, where the default would make one or two in all."""
    server = servers(**rtc.options(rtc="pli_for_rtmp 1;", remux="wait_publisher on;"))
    words = pion.words(whip=rtc.whip_url(server), seconds=7)  # the first call builds the program
    # The viewer is there first: it takes frames for as long as there are any.
    viewer = tool(ffmpeg.command("-i", server.http_url("live/one.flv"), "-c", "copy", "-f", "null", "-"))
    server.wait_players("live/one", 1)
    peer = tool(words)
    peer.finish(40)
    viewer.finish(20)
    found = json.loads(peer.text())["publisher"]
    count = found.get("pli", 0) + found.get("fir", 0)
    assert 4 <= count <= 9, f"in 6 to 7 s there should be 5 to 8 requests: {found}"


def video_frames(path):
    """A checksum of each that FFmpeg 9 decodes; no complaint."""
    words = ffmpeg.command9("-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-")
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=scaled(60), check=True)
    assert not done.stderr, f"{path}: {done.stderr}"
    return [packet.md5 for packet in ffmpeg.framemd5(done.stdout)[0]]


@pytest.mark.parametrize("keep", ["off", "on"])
def test_b_frames(servers, tool, keep):
    """Dropped, those left are in order and can be decoded; kept, they come too."""
    server = servers(**rtc.options(rtc=f"keep_bframe {keep};"))
    # ultrafast makes none.
    video_input = ["-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25"]
    encode = ["-c:v", "libx264", "-preset", "veryfast", "-bf", 3, "-b_strategy", 0, "-g", 24, "-b:v", "200k"]
    tool(ffmpeg.command(*video_input, *encode, "-t", 60, "-f", "flv", server.rtmp_url("live/one")))

    async def scene():
        with rtc_aiortc.Complaints() as complaints:
            async with rtc_aiortc.Player(rtc.whep_url(server)) as player:
                await player.has(video_frames=10)
                await player.has(video_frames=len(player.video_frames) + 25, seconds=30)
                return player.video_frames, [line for line in complaints.lines if line[0] > player.video_frames[0].at]

    video_frames, complaints = asyncio.run(scene())
    times = [video_frame.pts for video_frame in video_frames]
    # The first ones are those of the past, pressed together. A step back is a turn of 2^32 for aiortc.
    steps = [(two - one + (1 << 31)) % (1 << 32) - (1 << 31) for one, two in zip(times[-25:], times[-24:])]
    step = rtc.median(map(abs, steps))
    if keep == "off":
        assert times == sorted(times), "video frames should come in their order"
        assert not complaints, complaints[:5]
        assert step == 4 * 3600, f"one video frame in four is no B-frame, 14400 ticks apart; they are {step}"
    else:
        assert step < 4 * 3600, f"all video frames should come, 3600 ticks apart; they are {steps}"


def test_a_pause_in_watching(servers, tmp_path):
    """The bridge ends when nobody takes frames, and begins again: at the last keyframe, both tracks."""
    server = servers(**rtc.options())

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server)) as publisher:
            await publisher.connected()
            for index in range(2):
                out = tmp_path / f"{index}.flv"
                words = ffmpeg.command("-i", server.rtmp_url("live/one"), "-t", 2, "-c", "copy", out)
                await asyncio.to_thread(subprocess.run, list(map(str, words)), check=True, timeout=scaled(30))
                text = await asyncio.to_thread(
                    subprocess.check_output, list(map(str, ffmpeg.command("-i", out, "-c", "copy", "-f", "framemd5", "-"))), text=True
                )
                counts = {stream: len(packets) for stream, packets in ffmpeg.framemd5(text).items()}
                assert set(counts) == {0, 1} and min(counts.values()) > 20, f"time {index}: two tracks; {counts}"
                told = "nobody takes frames"
                await rtc_aiortc.wait(lambda: server.log().count(told) > index, 5, lambda: f"{told!r} in the log")

    asyncio.run(scene())
