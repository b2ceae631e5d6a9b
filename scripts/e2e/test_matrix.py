"""Everything crosses: a stream published by each protocol is played by each other one. Codecs, the identity of access
units where nothing is transcoded, and audio in step with video. The table in doc/rtsp.md states what comes."""

import json
import os
import re
import subprocess

import pytest

from lib import dvr, ffmpeg, flv, hls, http, media, pion, ports, rtc
from lib.server import ROOT
from lib.timing import scaled
from lib.rtsp_server import port_pair

pytestmark = pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")

SECONDS = 4  # that each player reads
IN_STEP_MS = 20
PUBLISHERS = ("RTMP", "RTSP over TCP", "RTSP by UDP", "WHIP")
PLAYERS = ("RTMP", "HTTP-FLV", "WS-FLV", "HTTP-TS", "HLS", "RTSP over TCP", "RTSP by UDP", "WHEP", "DVR")
NAMES = {"h264": "H.264", "aac": "AAC", "opus": "Opus"}
# Video without what each format puts between the slices, audio without ADTS headers.
BARE = ("-bsf:v", "h264_mp4toannexb,filter_units=remove_types=7-9", "-bsf:a", "aac_adtstoasc")
DOC = ROOT / "doc/rtsp.md"
MARKS = ("<!-- written by scripts/e2e/test_matrix.py -->\n", "<!-- end -->\n")
TRANSPORTS = {"RTSP over TCP": ffmpeg.RTSP_TRANSPORTS["tcp"], "RTSP by UDP": ffmpeg.RTSP_TRANSPORTS["udp"]}


class Track:
    """Of what ffmpeg copied: the codec, and (md5, seconds) of each packet, by presentation time."""

    def __init__(self, codec, base, packets):
        self.codec = codec
        self.packets = [(packet.md5, packet.pts * base) for packet in packets]


def tracks(text):
    """Of framemd5, by kind."""
    of = {}
    for name, number, value in re.findall(r"^#(codec_id|media_type|tb) (\d+): (\S+)$", text, re.MULTILINE):
        of.setdefault(int(number), {})[name] = value
    found = ffmpeg.framemd5(text)
    out = {}
    for number, facts in of.items():
        numerator, denominator = map(int, facts["tb"].split("/"))
        out[facts["media_type"]] = Track(facts["codec_id"], numerator / denominator, found.get(number, []))
    return out


def copied(source, *before, seconds=None, audio=True):
    """Words of an ffmpeg that copies a source to framemd5."""
    bare = BARE if audio else BARE[:2]
    limit = ("-t", seconds) if seconds else ()
    return ffmpeg.command9(*before, "-i", source, "-map", "0:v?", "-map", "0:a?", *limit, "-c", "copy", *bare, "-f", "framemd5", "-")


class Site:
    """A server with every protocol, and its URLs of one stream."""

    def __init__(self, servers):
        (self.rtsp,) = ports.take()
        udp, _ = port_pair()
        of_rtsp = f"rtsp_server {{ enabled on; listen 127.0.0.1:{self.rtsp}; udp {{ enabled on; listen 127.0.0.1:{udp}; }} }}\n"
        others = (
            "rtsp { enabled on; } hls { enabled on; hls_fragment 1; hls_window 20; hls_storage memory; hls_ctx off; }"
            "dvr { enabled on; dvr_path ./rec/[app]/[stream].[timestamp].mp4; }"
        )
        self.server = servers(**rtc.options(top=of_rtsp, vhost=others))

    def url(self, protocol):
        of_http = {"HTTP-FLV": "live/one.flv", "HTTP-TS": "live/one.ts", "HLS": "live/one.m3u8"}
        if protocol in of_http:
            return self.server.http_url(of_http[protocol])
        return f"rtsp://127.0.0.1:{self.rtsp}/live/one" if protocol in TRANSPORTS else self.server.rtmp_url("live/one")

    def publisher(self, protocol):
        """Words of a program, and the file whose packets it sends, without an end."""
        if protocol == "WHIP":
            return pion.words(whip=rtc.whip_url(self.server), seconds=60), pion.video("h264")
        path = media.plain()
        form = ("-f", "flv") if protocol == "RTMP" else ("-f", "rtsp", *TRANSPORTS[protocol])
        return ffmpeg.command9("-re", "-stream_loop", -1, "-i", path, "-c", "copy", *form, self.url(protocol)), path


def play_websocket(site, path):
    """What comes in SECONDS, as a file."""
    first = newest = None
    with http.WebSocket(site.server.http_port, "/live/one.flv") as player, path.open("wb") as out:
        while first is None or newest < first + SECONDS * 1000:
            opcode, payload = player.frame()
            if opcode == 2:
                out.write(payload)
                for tag in flv.frames(player.flv.feed(payload)):
                    first, newest = tag.timestamp if first is None else first, tag.timestamp
    return path


def in_step(source, player):
    """By how many ms the audio is late against the video, other than in the source. A source that is repeated has its
    packets at several times: the nearest pair counts."""
    offsets = {}
    for kind in ("video", "audio"):
        where = {}
        for md5, seconds in source[kind].packets:
            where.setdefault(md5, []).append(seconds)
        offsets[kind] = {
            round(seconds - where[md5][0], 4) for md5, seconds in player[kind].packets if len(where.get(md5, ())) == 1
        }
        assert offsets[kind], f"{kind}: packets of the source were expected"
    return min((abs(audio - video), audio - video) for audio in offsets["audio"] for video in offsets["video"])[1] * 1000


def assert_same(source, player, kind, who):
    """All but the first and last packets are packets of the source, in its order."""
    want = [md5 for md5, _ in source[kind].packets]
    twice = " ".join(want + want)
    got = [md5 for md5, _ in player[kind].packets][1:-1]
    assert len(got) > 20, f"{who}: more than 20 {kind} packets were expected, {len(got)} came"
    assert " ".join(got) in twice, f"{who}: the {kind} packets should be a run of those published: {differs(want, got)}"


def differs(want, got):
    known = set(want)
    foreign = [index for index, md5 in enumerate(got) if md5 not in known]
    return f"foreign ones: {foreign[:10]} of {len(got)}" if foreign else "the order differs, or one is missing"


def play_all(site, tool_path):
    """Player -> what it read: text of framemd5, or the facts that pion found."""
    running = {}
    for protocol in ("RTMP", "HTTP-FLV", "HTTP-TS", "HLS", *TRANSPORTS):
        words = copied(site.url(protocol), *TRANSPORTS.get(protocol, ()), seconds=SECONDS)
        running[protocol] = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    words = pion.words(whep=rtc.whep_url(site.server), seconds=SECONDS)
    running["WHEP"] = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = {"WS-FLV": read(play_websocket(site, tool_path / "ws.flv"))}
    for protocol, process in running.items():
        text, said = process.communicate(timeout=scaled(60))
        assert process.returncode == 0, f"{protocol}: {said[-2000:]}"
        out[protocol] = json.loads(text) if protocol == "WHEP" else tracks(text)
    return out


def read(path):
    done = subprocess.run(copied(path), capture_output=True, text=True, timeout=scaled(60), check=False)
    assert done.returncode == 0, f"ffmpeg reads {path}: {done.stderr}"
    return tracks(done.stdout)


def cell(publisher, player, got, source):
    """The table's cell; fails where it is not as it should be."""
    who = f"{publisher} to {player}"
    if player == "WHEP":
        of = got["player"]
        assert of["video"]["codec"].lower() == "video/h264" and of["video"]["got"] > 30, f"{who}: {of}"
        assert of["audio"]["codec"].lower() == "audio/opus" and of["audio"]["got"] > 30, f"{who}: {of}"
        return "H.264, Opus"
    assert sorted(got) == ["audio", "video"], f"{who}: audio and video were expected, {sorted(got)} came"
    assert_same(source, got, "video", who)
    if publisher != "WHIP":
        assert_same(source, got, "audio", who)
        late = in_step(source, got)
        assert abs(late) <= IN_STEP_MS, f"{who}: audio should be in step within {IN_STEP_MS} ms, it is {late:.1f} ms late"
    assert len(got["audio"].packets) > 30, f"{who}: {len(got['audio'].packets)} audio packets"
    return f"{NAMES[got['video'].codec]}, {NAMES[got['audio'].codec]}"


def row(publisher):
    return next((line for line in DOC.read_text().splitlines() if line.startswith(f"| {publisher} |")), None)


# The others have tests of their own, which are shorter.
@pytest.mark.parametrize(
    "publisher", [one if one == "RTMP" else pytest.param(one, marks=pytest.mark.long) for one in PUBLISHERS]
)
def test_everything_crosses(servers, tool, tmp_path, publisher):
    site = Site(servers)
    words, path = site.publisher(publisher)
    is_whip = publisher == "WHIP"
    source = tracks(subprocess.run(copied(path, audio=not is_whip), capture_output=True, text=True, check=True).stdout)
    process = tool(words)
    hls.wait(site.server, "/live/one.m3u8", lambda playlist: len(playlist.segments) >= 2, 20)
    got = play_all(site, tmp_path)
    process.kill()
    (recorded,) = dvr.wait_files(site.server, 1)
    got["DVR"] = read(recorded)
    cells = [cell(publisher, player, got[player], source) for player in PLAYERS]
    line = f"| {publisher} | {' | '.join(cells)} |"
    if os.environ.get("SRS_E2E_WRITE_DOC"):
        before, _, rest = DOC.read_text().partition(MARKS[0])
        table, _, after = rest.partition(MARKS[1])
        head = [f"| published by | {' | '.join(PLAYERS)} |", "|" + "---|" * (len(PLAYERS) + 1)]
        lines = {one: old for one in PUBLISHERS for old in table.splitlines() if old.startswith(f"| {one} |")} | {publisher: line}
        DOC.write_text(before + MARKS[0] + "\n".join(head + [lines[one] for one in PUBLISHERS if one in lines]) + "\n" + MARKS[1] + after)
    assert row(publisher) == line, f"doc/rtsp.md should have the row {line}; SRS_E2E_WRITE_DOC=1 writes it"
