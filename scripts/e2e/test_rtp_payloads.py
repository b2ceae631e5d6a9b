"""The packetisers and depacketisers against others': GStreamer's, and FFmpeg's where GStreamer has none (AV1). What one
side makes packets of, the other decodes to the same video frames, and the other way."""

import re
import socket
import subprocess
import threading
import time

import pytest

from lib import ffmpeg
from lib.server import OBJS
from lib.timing import scaled

PAYLOADS = OBJS / "payloads"
CAPS = "media=(string)video,clock-rate=(int)90000,encoding-name=(string){},payload=(int)96"
STREAM = "application/x-rtp-stream," + CAPS
# Name in the codec table; the encoder's words; GStreamer's names of payload and parser; SDP's.
CODECS = {
    "H264": (["libx264", "-bf", 2, "-x264-params", "slices=3:keyint=12"], "h264", "h264parse", "H264"),
    "HEVC": (["libx265", "-x265-params", "keyint=12:bframes=2:log-level=error"], "h265", "h265parse", "H265"),
    "VP8": (["libvpx", "-g", 12, "-deadline", "realtime"], "vp8", None, "VP8"),
    "VP9": (["libvpx-vp9", "-g", 12, "-deadline", "realtime", "-cpu-used", 8], "vp9", None, "VP9"),
    "AV1": (["libsvtav1", "-g", 12, "-preset", 12], None, None, "AV1"),
}


def suffix(codec):
    return ".ivf" if codec.startswith("VP") else ".flv"


def run(*words, seconds=60):
    done = subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=scaled(seconds), text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n--- it said\n{done.stdout[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    directory = tmp_path_factory.mktemp("payloads")
    made = {}

    def source(codec):
        """A file of two seconds, 50 video frames large enough for several packets."""
        if codec not in made:
            path = directory / f"{codec}{suffix(codec)}"
            source_input = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2"]
            run(*ffmpeg.command9(*source_input, "-pix_fmt", "yuv420p", "-c:v", *CODECS[codec][0], "-b:v", "600k", path))
            made[codec] = path
        return made[codec]

    return source


def frame_hashes(path, *options):
    """The decoded video frames' hashes, in their order."""
    # Without what it says of times: packets have one, that of the video frame's presentation.
    text = run(*ffmpeg.command9("-loglevel", "fatal", *options, "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-"))
    return [packet.md5 for packet in ffmpeg.framemd5(text).get(0, [])]


def gst(*words):
    return run("gst-launch-1.0", "-q", *words)


def unpack(codec, packets, out, *options):
    said = run(PAYLOADS, "--unpack", codec, *options, packets, out)
    return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", said)}


def assert_same(want, got, who):
    assert len(want) == 50, f"the source should have 50 video frames, it has {len(want)}"
    same = sum(one == two for one, two in zip(want, got))
    assert want == got, f"{who}: {len(got)} video frames came, {same} of the first {len(want)} are those of the source"


@pytest.mark.parametrize("codec", [name for name in CODECS if name != "AV1"])
def test_gstreamer_reads_ours(sources, tmp_path, codec):
    _, name, parser, encoding = CODECS[codec]
    source, packets = sources(codec), tmp_path / "ours.rtp"
    run(PAYLOADS, "--pack", "--max=700", source, packets)
    chain = ["filesrc", f"location={packets}", "!", STREAM.format(encoding), "!", "rtpstreamdepay", "!", f"rtp{name}depay"]
    if parser:
        out, options = tmp_path / "out.bin", ["-f", "hevc" if codec == "HEVC" else "h264"]
        chain += ["!", f"video/x-{name},stream-format=byte-stream,alignment=au"]
    else:
        out, options = tmp_path / "out.ivf", []
        chain += [*(["!", "vp9parse"] if codec == "VP9" else []), "!", "avmux_ivf"]
    gst(*chain, "!", "filesink", f"location={out}")
    assert_same(frame_hashes(source), frame_hashes(out, *options), f"GStreamer of our {codec} packets")


@pytest.mark.parametrize("codec", [name for name in CODECS if name != "AV1"])
def test_we_read_gstreamer(sources, tmp_path, codec):
    _, name, parser, _ = CODECS[codec]
    source, packets, out = sources(codec), tmp_path / "theirs.rtp", tmp_path / f"out{suffix(codec)}"
    plain = source
    if parser:
        plain = tmp_path / ("plain.h264" if codec == "H264" else "plain.hevc")
        run(*ffmpeg.command9("-i", source, "-c", "copy", plain))
    read = [parser] if parser else ["ivfparse"]
    more = ["config-interval=-1", "aggregate-mode=zero-latency"] if parser else ["picture-id-mode=15-bit"]
    gst("filesrc", f"location={plain}", "!", *read, "!", f"rtp{name}pay", "mtu=700", "pt=96", *more, "!", "rtpstreampay",
        "!", "filesink", f"location={packets}")  # fmt: skip
    counters = unpack(codec, packets, out)
    assert not any(counters.values()), f"of GStreamer's {codec} packets: {counters}"
    assert_same(frame_hashes(source), frame_hashes(out), f"we of GStreamer's {codec} packets")


@pytest.mark.parametrize("codec", CODECS)
def test_there_and_back(sources, tmp_path, codec):
    """And with losses: whatever comes out can be decoded without a complaint."""
    source, packets = sources(codec), tmp_path / "ours.rtp"
    run(PAYLOADS, "--pack", "--max=300", source, packets)
    whole, holed = tmp_path / f"whole{suffix(codec)}", tmp_path / f"holed{suffix(codec)}"
    assert not any(unpack(codec, packets, whole).values())
    want = frame_hashes(source)
    assert_same(want, frame_hashes(whole), f"{codec} there and back")
    counters = unpack(codec, packets, holed, "--lose=97")
    got = frame_hashes(holed, "-xerror")
    assert counters["malformed"] == 0 and counters["skipped"] > 0, counters
    assert 0 < len(got) < 50 and set(got) <= set(want), f"{len(set(got) - set(want))} of {len(got)} video frames are none of the source"


AUDIO_STREAM = "application/x-rtp-stream,media=(string)audio,payload=(int)96,"
# Of audio: the encoder's words; the clock rate of our packets; GStreamer's names of their format and of its
# depayloader; what parses the result.
AUDIO = {
    "AAC": (["aac", "-ar", 48000], 48000, "encoding-name=(string)MPEG4-GENERIC,mode=(string)AAC-hbr,sizelength=(string)13,"
            "indexlength=(string)3,indexdeltalength=(string)3,config=(string)1190", "rtpmp4gdepay", "aacparse"),
    "MP3": (["libmp3lame", "-ar", 44100], 90000, "encoding-name=(string)MPA", "rtpmpadepay", "mpegaudioparse"),
}  # fmt: skip
# GStreamer's payloader; the words of a description for its packets.
AUDIO_PAYLOADERS = {
    "AAC": ("AAC", ["rtpmp4gpay"], "mpeg4-generic/48000/2",
            "mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1190"),
    "LATM": ("AAC", ["rtpmp4apay"], "MP4A-LATM/48000", "cpresent=0;config=40002320"),
    "MP3": ("MP3", ["rtpmpapay"], "MPA/90000", None),
}  # fmt: skip


@pytest.fixture(scope="module")
def audio_sources(tmp_path_factory):
    directory = tmp_path_factory.mktemp("audio")
    made = {}

    def source(codec):
        if codec not in made:
            path = directory / f"{codec}.flv"
            run(*ffmpeg.command9("-f", "lavfi", "-i", "sine=frequency=440:duration=2", "-ac", 2, "-c:a", *AUDIO[codec][0], path))
            made[codec] = path
        return made[codec]

    return source


def frames_of_audio(path):
    """The encoded audio frames' hashes, of AAC without their ADTS headers."""
    words = ["-loglevel", "fatal", "-i", path, "-map", "0:a", "-c", "copy"]
    if path.suffix == ".aac":
        words += ["-bsf:a", "aac_adtstoasc"]
    return [packet.md5 for packet in ffmpeg.framemd5(run(*ffmpeg.command9(*words, "-f", "framemd5", "-"))).get(0, [])]


def assert_same_audio(want, got, who):
    assert len(want) > 70, f"the source should have more than 70 audio frames, it has {len(want)}"
    assert want == got, f"{who}: {len(got)} audio frames came, those of the source are {len(want)}; equal ones: {len(set(want) & set(got))}"


@pytest.mark.parametrize("most", [1400, 100])
@pytest.mark.parametrize("codec", AUDIO)
def test_gstreamer_reads_our_audio(audio_sources, tmp_path, codec, most):
    """Whole frames, and fragments of them."""
    _, clock, caps, depayloader, parser = AUDIO[codec]
    source, packets = audio_sources(codec), tmp_path / "ours.rtp"
    out = tmp_path / ("out.aac" if codec == "AAC" else "out.mp3")
    run(PAYLOADS, "--pack", f"--max={most}", source, packets)
    chain = ["filesrc", f"location={packets}", "!", f"{AUDIO_STREAM}clock-rate=(int){clock},{caps}", "!", "rtpstreamdepay",
             "!", depayloader, "!", parser]  # fmt: skip
    if codec == "AAC":
        chain += ["!", "audio/mpeg,stream-format=adts"]
    gst(*chain, "!", "filesink", f"location={out}")
    assert_same_audio(frames_of_audio(source), frames_of_audio(out), f"GStreamer of our {codec} packets")


# LATM's fragments are in the units: GStreamer's have wrong lengths in rtpstreampay.
@pytest.mark.parametrize("name, mtu", [("AAC", 1400), ("AAC", 100), ("LATM", 1400), ("MP3", 1400), ("MP3", 100)])
def test_we_read_gstreamers_audio(audio_sources, tmp_path, name, mtu):
    codec, payloader, rtpmap, fmtp = AUDIO_PAYLOADERS[name]
    source, packets, out = audio_sources(codec), tmp_path / "theirs.rtp", tmp_path / "out.flv"
    plain = tmp_path / ("plain.aac" if codec == "AAC" else "plain.mp3")
    run(*ffmpeg.command9("-i", source, "-c", "copy", *([] if codec == "AAC" else ["-write_xing", 0, "-id3v2_version", 0]), plain))
    gst("filesrc", f"location={plain}", "!", AUDIO[codec][4], "!", *payloader, f"mtu={mtu}", "pt=96", "!", "rtpstreampay",
        "!", "filesink", f"location={packets}")  # fmt: skip
    description = tmp_path / "in.sdp"
    lines = ["v=0", "m=audio 0 RTP/AVP 96", f"a=rtpmap:96 {rtpmap}"] + ([f"a=fmtp:96 {fmtp}"] if fmtp else [])
    description.write_text("\n".join(lines) + "\n")
    counters = unpack(codec, packets, out, f"--sdp={description}")
    assert not any(counters.values()), f"of GStreamer's {name} packets: {counters}"
    assert_same_audio(frames_of_audio(source), frames_of_audio(out), f"we of GStreamer's {name} packets")


def sdp(port, encoding):
    lines = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", f"m=video {port} RTP/AVP 96",
             f"a=rtpmap:96 {encoding}/90000"]  # fmt: skip
    return "\r\n".join(lines) + "\r\n"


def packets_of(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 2], "big")
        yield data[at + 2 : at + 2 + size]
        at += 2 + size


def test_ffmpeg_reads_our_av1(sources, tmp_path):
    """By UDP, since FFmpeg has no other way in."""
    source, ours, out = sources("AV1"), tmp_path / "ours.rtp", tmp_path / "out.mkv"
    run(PAYLOADS, "--pack", "--max=700", source, ours)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1] & ~1
        description = tmp_path / "in.sdp"
        description.write_text(sdp(port, "AV1"))
        words = ffmpeg.command9("-protocol_whitelist", "file,udp,rtp", "-i", description, "-c", "copy", "-frames:v", 48, out)
        receiver = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            # Over and over, with numbers that go on: who comes late still sees a whole round.
            packets, deadline, round_ = list(packets_of(ours)), time.monotonic() + scaled(30), 0
            while receiver.poll() is None and time.monotonic() < deadline:
                for index, packet in enumerate(packets):
                    sequence = (round_ * len(packets) + index) & 0xFFFF
                    stamp = int.from_bytes(packet[4:8], "big") + round_ * 180000
                    sender.sendto(packet[:2] + sequence.to_bytes(2, "big") + stamp.to_bytes(4, "big") + packet[8:], ("127.0.0.1", port))
                    if index % 4 == 3:
                        time.sleep(0.002)
                round_ += 1
        finally:
            receiver.kill()
            said = receiver.communicate()[0].decode(errors="replace")
    got, want = frame_hashes(out), frame_hashes(source)
    assert len(got) >= 40, f"FFmpeg read {len(got)} video frames: {said[-2000:]}"
    assert set(got) <= set(want), f"{len(set(got) - set(want))} of {len(got)} video frames are none of the source"


def test_we_read_ffmpegs_av1(sources, tmp_path):
    source, theirs, out = sources("AV1"), tmp_path / "theirs.rtp", tmp_path / "out.flv"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, theirs.open("wb") as file:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(0.2)
        done = threading.Event()

        def take():
            while True:
                try:
                    packet = receiver.recv(2048)
                except TimeoutError:
                    if done.is_set():
                        return
                    continue
                if packet[1] & 0x7F == 96:
                    file.write(len(packet).to_bytes(2, "big") + packet)

        reader = threading.Thread(target=take)
        reader.start()
        try:
            target = f"rtp://127.0.0.1:{receiver.getsockname()[1]}?pkt_size=700"
            run(*ffmpeg.command9("-re", "-i", source, "-c", "copy", "-strict", "experimental", "-payload_type", 96, "-f", "rtp", target))
        finally:
            done.set()
            reader.join()
    counters = unpack("AV1", theirs, out)
    assert not any(counters.values()), f"of FFmpeg's AV1 packets: {counters}"
    assert_same(frame_hashes(source), frame_hashes(out), "we of FFmpeg's AV1 packets")
