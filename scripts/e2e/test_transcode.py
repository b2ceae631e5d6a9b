"""Live transcoding: FFmpeg publishes a stream, the server has it made into two sizes, and each of these is played by every
protocol, decoded."""

import asyncio
import json
import subprocess

from aiortc.mediastreams import MediaStreamError

from lib import api, ffmpeg, media, rtc, rtc_aiortc
from lib.timing import scaled
from lib.rtsp_server import port_pair

SIZES = {"hd": (384, 160), "sd": (192, 80)}
TOP = "rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; udp { enabled on; listen 127.0.0.1:%d; } }\nff_log_dir logs;\n"
ENGINE = """engine %s { enabled on; vcodec libx264; vbitrate 200; vwidth %d; vheight %d; vpreset ultrafast; vparams { pix_fmt yuv420p; }
    acodec copy; output rtmp://127.0.0.1:[port]/[app]/[stream]_[engine]?vhost=[vhost]; }"""
VHOST = """hls { enabled on; hls_fragment 1; hls_window 20; hls_storage memory; } rtsp { enabled on; }
    transcode { enabled on; keyframe_interval 1; %s }"""


def urls(server, name):
    """By protocol, with the words before it."""
    rtsp = f"rtsp://127.0.0.1:{server.rtmps_port}/live/{name}"
    return {
        "RTMP": [server.rtmp_url(f"live/{name}")],
        "HTTP-FLV": [server.http_url(f"live/{name}.flv")],
        "MPEG-TS": [server.http_url(f"live/{name}.ts")],
        "HLS": [server.http_url(f"live/{name}.m3u8")],
        "RTSP over TCP": [*ffmpeg.RTSP_TRANSPORTS["tcp"], rtsp],
        "RTSP by UDP": [*ffmpeg.RTSP_TRANSPORTS["udp"], rtsp],
    }


def start_player(words):
    """It decodes a second of the stream."""
    shown = ["-count_frames", "-show_entries", "stream=codec_type,codec_name,width,height,nb_read_frames", "-of", "json"]
    return subprocess.Popen(
        ["ffprobe", "-v", "error", "-read_intervals", "%+1", *shown, *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def check_player(player, size, what):
    try:
        out, errors = player.communicate(timeout=scaled(40))
    except subprocess.TimeoutExpired:
        player.kill()
        raise AssertionError(f"{what}: no second of it in {scaled(40)} s; ffprobe said {player.communicate()[1][-1000:]}") from None
    tracks = {one["codec_type"]: one for one in json.loads(out or "{}").get("streams", [])}
    assert sorted(tracks) == ["audio", "video"], f"{what}: video and audio should come: {out} {errors[-1000:]}"
    video, audio = tracks["video"], tracks["audio"]
    assert (video["codec_name"], audio["codec_name"]) == ("h264", "aac"), f"{what}: {out}"
    assert (video["width"], video["height"]) == size, f"{what}: {size} was expected: {out}"
    for track in (video, audio):
        assert int(track.get("nb_read_frames", 0)) >= 15, f"{what}: a second of it should be decoded: {out} {errors[-1000:]}"


class Player(rtc_aiortc.Player):
    """By WHEP; the sizes of the decoded video frames, and the number of all frames."""

    def __init__(self, url):
        super().__init__(url)
        self.sizes, self.count = set(), {"video": 0, "audio": 0}

    async def _read(self, track):
        while True:
            try:
                frame = await track.recv()
            except MediaStreamError:
                return
            self.count[track.kind] += 1
            if track.kind == "video":
                self.sizes.add((frame.width, frame.height))


async def play_whep(server, name, size):
    async with Player(rtc.whep_url(server, f"live/{name}")) as player:
        await rtc_aiortc.wait(lambda: min(player.count.values()) >= 15, 20, lambda: f"WHEP of {name}: 15 frames of each kind, came {player.count}")
        assert player.sizes == {size}, f"WHEP of {name}: {size} was expected, came {player.sizes}"


def test_two_sizes_by_every_protocol(servers, tool):
    engines = " ".join(ENGINE % (name, *size) for name, size in SIZES.items())
    server = servers(**rtc.options(top=TOP % port_pair()[0], vhost=VHOST % engines))
    tool(ffmpeg.command("-re", "-stream_loop", -1, "-i", media.with_b_frames(), "-c", "copy", "-f", "flv", server.rtmp_url("live/avatar")))
    for name in SIZES:
        api.wait_stream(server, f"avatar_{name}", lambda stream: stream["video_frames"] > 30, 30)
    players = {
        (name, protocol): start_player(words) for name in SIZES for protocol, words in urls(server, f"avatar_{name}").items()
    }
    try:
        for name, size in SIZES.items():
            asyncio.run(play_whep(server, f"avatar_{name}", size))
        for (name, protocol), player in players.items():
            check_player(player, SIZES[name], f"{protocol} of {name}")
    finally:
        for player in players.values():
            player.kill()
            player.wait()
    tools = api.ask(server, "/api/v1/tools")["tools"]
    assert [(tool["engines"], tool["restarts"]) for tool in tools] == [(list(SIZES), 0)], f"one process for both: {tools}"
