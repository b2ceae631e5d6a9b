"""WebRTC over a bad network (lib/relay.py): loss, duplicates, reordering, jitter; the same packets of them in every run."""

import asyncio
import json
import statistics
import subprocess
import time

import pytest
from aiortc.rtp import RtcpRtpfbPacket

from lib import flv, http, mediamtx, pion, rtc, rtc_aiortc, rtc_plain
from lib.relay import Direction, Harm, Running
from lib.rtc_media import PeerRelay, rtcp_packets
from lib.timing import SLOW, VALGRIND, scaled

MENDED_MS = 1000
BAD = {
    "loss": Harm(loss=10, after=2),
    "disorder": Harm(duplicate=10, reorder=10, after=2),
    "jitter": Harm(jitter=200, after=2),
    "everything": Harm(loss=5, duplicate=3, reorder=3, jitter=200, after=2),
}


@pytest.fixture
def rtc_server(request, servers, tmp_path):
    exporter = "exporter { enabled on; listen 127.0.0.1:RTMPS_PORT; }\n"
    server = rtc.start(servers, tmp_path, top=exporter + getattr(request, "param", ""))
    yield server
    if not rtc.is_ours(server):
        server.stop()


def test_the_relay_itself():
    """A seed decides alike each time, and about as often as it was told."""
    harm = Harm(loss=10, duplicate=5, reorder=5, jitter=200)
    one, two = (Direction(harm, "1") for _ in range(2))
    assert [one.due(i / 100) for i in range(5000)] == [two.due(i / 100) for i in range(5000)], "the same seed, the same fate"
    for name, percent in (("lost", 10), ("duplicated", 5), ("reordered", 5)):
        assert 0.7 * percent < one.counts[name] / 50 < 1.3 * percent, f"{name} should be about {percent} %: {one.counts}"
    order = [Direction(Harm(jitter=200), "2").due(i / 100)[0] for i in range(100)]
    assert order == sorted(order), "jitter alone keeps the order"


@pytest.mark.serial
@pytest.mark.skipif(VALGRIND or SLOW > 1, reason="measures how long the server takes")
@pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is our own server's interval")
def test_a_publishers_missing_packet_is_asked_for_soon(rtc_server):
    """Within 10 ms for packets that overtake one another, and a tick of 20 ms: not with the feedback that comes every 100
    ms. Now and then one packet of the video is not sent."""
    kept_back, noticed, waited = set(), {}, {}

    def note_nacks(data):
        for packet in rtcp_packets(data):
            if isinstance(packet, RtcpRtpfbPacket) and packet.fmt == 1:
                for sequence in set(packet.lost) & noticed.keys():
                    waited.setdefault(sequence, 1000 * (time.monotonic() - noticed[sequence]))
        return data

    async def scene():
        async with PeerRelay(rtc_server.rtc_port) as relay:
            publisher = rtc_aiortc.Publisher(rtc.whip_url(rtc_server), "video/VP8", changing=True, port=relay.port)
            publisher.media.incoming.append(note_nacks)
            async with publisher:
                await publisher.connected()
                last = time.monotonic()

                def is_sent_on(datagram):
                    nonlocal last
                    packet = rtc_plain.read(datagram)  # SRTP leaves the header as it is
                    if packet and packet.ssrc == publisher.ssrcs["video"]:
                        if time.monotonic() - last > 0.25:
                            last = time.monotonic()
                            kept_back.add(packet.sequence)
                            return False
                        if (packet.sequence - 1) % 0x10000 in kept_back:
                            noticed.setdefault((packet.sequence - 1) % 0x10000, time.monotonic())
                    return True

                relay.is_sent_on = is_sent_on
                for _ in range(150):
                    await asyncio.sleep(0.1)
                    if len(waited) >= 20:
                        return

    asyncio.run(scene())
    took = sorted(round(ms) for ms in waited.values())
    assert len(took) >= 20, f"of {len(kept_back)} packets that were not sent {len(took)} were asked for"
    assert statistics.median(took) <= 45, f"a missing packet should be asked for within 45 ms, it took {took} ms"


def assert_mended(found, did, who, left="holes_left"):
    """All packets, each hole filled within a second."""
    assert any(way["lost"] > 10 for one in did for way in one.values()), f"{who}: the relay has lost packets: {did}"
    video = found["player"]["video"]
    assert video["foreign"] == 0 and video["timestamp_errors"] == 0, f"{who}: every packet in its place: {json.dumps(found)}"
    assert video["holes_mended"] > 0, f"{who}: there were holes to mend: {json.dumps(found)} {did}"
    assert video[left] == 0, f"{who}: no hole is left: {json.dumps(found)} {did}"
    limit = scaled(MENDED_MS)
    assert video["longest_hole_ms"] <= limit, f"{who}: the longest hole should be mended in {limit} ms: {json.dumps(found)}"


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
@pytest.mark.parametrize("rtx", [True, False])
@pytest.mark.parametrize(
    "side, rtc_server",
    [("player", ""), ("publisher", ""), ("player", rtc.BY_THREADS)],
    indirect=["rtc_server"],
    ids=["player", "publisher", "player-by-threads"],
)
def test_lost_packets_are_sent_again(rtc_server, side, rtx):
    """10 % each way: NACK from our ring for the player, and ours to the publisher; by RTX or the same packet again. By RTX
    a player that is pion asks on for what it has got, which may not take from what is for others."""
    port, by_rtx = ("whep_port", "rtx") if side == "player" else ("whip_port", "publisher_rtx")
    with Running(rtc_server.rtc_port, Harm(loss=10, after=1), seed=7) as relay:
        through = {port: relay.port, by_rtx: rtx}
        found = pion.run(codec="h264", whip=rtc.whip_url(rtc_server), whep=rtc.whep_url(rtc_server), seconds=5, **through)
        did = relay.finish()
    # What comes by RTX at the very end pion keeps to itself.
    assert_mended(found, did, f"{side}, RTX {rtx}", "holes_overdue" if side == "player" and rtx else "holes_left")
    if rtc.is_ours(rtc_server):
        assert_counted(rtc_server, side)


def assert_counted(server, side):
    """The metrics tell of the loss on that side, and of how it was mended."""
    if side == "player":
        wanted = ['srs_rtc_nacks_total{direction="in"}', "srs_rtc_sent_again_total"]
    else:
        wanted = ['srs_rtc_nacks_total{direction="out"}', "srs_rtc_publisher_lost_total"]
    text = http.get(server.rtmps_port, "/metrics").body.decode()
    for name in wanted:
        value = next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " ")), None)
        assert value and value > 5, f"{name} should count what the relay lost, it is {value}\n{text}"


def assert_told(kind, players):
    """What the API says of the player's way, by its own reports."""
    assert len(players) == 1, f"{kind}: one player in the API, there are {players}"
    told = players[0]["rtc"]
    assert told["rtt_ms"] is not None and told["rtt_ms"] < 5000, f"{kind}: its reports tell a round trip: {told}"
    if BAD[kind].jitter:
        assert told["rtt_ms"] > 50 and told["jitter_ms"] > 5, f"{kind}: the relay's jitter is seen: {told}"
    if BAD[kind].loss:
        assert told["nacks"] > 2 and told["sent_again"] > 2, f"{kind}: losses are asked for and sent again: {told}"


@pytest.mark.quiet  # the relay is late beside browsers, and 2 s are not much for its round trips
@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
def test_frames_wait_for_what_is_sent_again_from_afar(rtc_server):
    """At a round trip of 300 ms a packet that was lost, and its first retransmission too, comes after 0.7 s. Viewers by
    HTTP-FLV get all frames all the same."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("this is about our HTTP-FLV")
    seconds, rate = 10, 25
    with Running(rtc_server.rtc_port, Harm(loss=5, delay=150), seed=4) as relay:
        words = pion.words(codec="h264", whip=rtc.whip_url(rtc_server), seconds=seconds, whip_port=relay.port)
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as publisher:
            rtc.wait_sessions(rtc_server, "rtc-publish", 1, 20)
            with http.Live(rtc_server.http_port, "/live/one.flv") as viewer:
                tags = http.collect(viewer, lambda tags: tags and tags[-1].timestamp - tags[0].timestamp > 6000)
            publisher.communicate(timeout=scaled(30))
        did = relay.finish()
    times = sorted({tag.timestamp for tag in tags if tag.type == flv.VIDEO and flv.is_frame(tag)})
    wanted = (times[-1] - times[0]) / 1000 * rate + 1 if times else 0
    got = 100 * len(times) / wanted if wanted else 0
    assert wanted > 3 * rate and got >= 97, f"97 % of {wanted:.0f} frames should come, {got:.0f} % did; {did}"


@pytest.mark.skipif(not rtc.there_is_chromium(), reason="scripts/test installs Chromium")
@pytest.mark.parametrize("loss", [0, 3])
def test_a_viewer_who_loses_from_afar_holds_frames_back(rtc_server, pages, tool, loss):
    """Playout delay: two round trips while packets are lost, so that they come in time; none where nothing is lost."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("MediaMTX has no playout delay")
    tool(rtc.bars_and_beeps(rtc_server))
    with Running(rtc_server.rtc_port, Harm(loss=loss, delay=150), seed=1) as relay:
        page = pages(play=rtc.whep_url(rtc_server), relay=relay.port)

        def since(one, before):
            frames = one["player"]["video"]["jitterBufferEmittedCount"] - before["player"]["video"]["jitterBufferEmittedCount"]
            target = one["player"]["video"]["jitterBufferTargetDelay"] - before["player"]["video"]["jitterBufferTargetDelay"]
            return 1000 * target / max(1, frames)

        first = page.wait(lambda one: rtc.decodes(one, 200), 30, "200 frames")
        last = page.wait(lambda one: rtc.decodes(one, 260), 30, "260 frames")
    held = since(last, first)
    if loss:
        assert held >= 400, f"frames should be held back for 500 ms, they are for {held:.0f} ms: {rtc.shortened(last)}"
    else:
        assert held <= scaled(200), f"without loss frames should not be held back, they are for {held:.0f} ms"


@pytest.mark.serial
@pytest.mark.skipif(not rtc.there_is_chromium(), reason="scripts/test installs Chromium")
@pytest.mark.skipif(VALGRIND or SLOW > 1, reason="the browser's estimate is one by time")
def test_a_link_that_is_too_small_has_all_of_the_audio(rtc_server, pages, tool):
    """0.7 of what the stream takes, after a while: the audio is whole, and half of the frames come."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("MediaMTX sends all of the stream")
    tool(rtc.noise(rtc_server, kbps=1200))
    with Running(rtc_server.rtc_port, Harm(kbps=0.7 * 1360, delay=20, after=5), seed=1) as relay:
        page = pages(play=rtc.whep_url(rtc_server), relay=relay.port)
        first = page.wait(lambda one: rtc.decodes(one, 5 * 25), 30, "5 s of frames")
        time.sleep(12)
        last = page.last()
        (told,) = rtc.sessions(rtc_server, "rtc-play")
        relay.finish()
    link = told["rtc"]
    assert link["sent"] in ("heads", "audio") and 100 < link["estimate_kbps"] < 1360, f"the API tells of it: {link}"
    assert "heads" in [one["sent"] for one in link["history"]], f"the API tells of the last minutes: {link}"
    frames = last["player"]["video"]["framesDecoded"] - first["player"]["video"]["framesDecoded"]
    heard, concealed = (
        last["player"]["audio"][name] - first["player"]["audio"][name] for name in ("totalSamplesReceived", "concealedSamples")
    )
    share = 100 * concealed / max(1, heard)
    assert share <= 3, f"at most 3 % of the audio should be concealed, {share:.1f} % is: {rtc.shortened(last)}"
    assert frames >= 0.35 * 25 * 12, f"a third of 300 frames should come at least, {frames} do: {rtc.shortened(last)}"


@pytest.mark.serial
@pytest.mark.skipif(not rtc.there_is_chromium() or not pion.is_there(), reason="scripts/test installs Chromium and Go")
@pytest.mark.skipif(VALGRIND or SLOW > 1, reason="the browser's estimate is one by time")
@pytest.mark.parametrize("codec", ["h264", "vp9"])
def test_a_link_that_is_too_small_has_a_smaller_layer(rtc_server, pages, tool, codec):
    """Half of what the largest layer takes, for ten seconds: the next one comes soon, and the largest again when it fits."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("MediaMTX sends the first layer")
    tool(pion.words(codec, whip=rtc.whip_url(rtc_server), seconds=90, layers=pion.layers(codec, "qhf")))
    rtc.wait_sessions(rtc_server, "rtc-publish", 1, 20)
    with Running(rtc_server.rtc_port, Harm(kbps=450, delay=20, after=6, until=16), seed=1) as relay:
        page = pages(play=rtc.whep_url(rtc_server), relay=relay.port)
        first = page.wait(lambda one: rtc.decodes(one, 50) and one["width"] == 320, 30, "frames of the largest layer")
        page.wait(lambda one: one["width"] == 160, 12, "frames of a smaller layer")
        last = page.wait(lambda one: one["width"] == 320, 40, "frames of the largest layer again")
        relay.finish()
    seconds = (last["now"] - first["now"]) / 1000
    frames = last["player"]["video"]["framesDecoded"] - first["player"]["video"]["framesDecoded"]
    assert frames >= 0.85 * 25 * seconds, f"in {seconds:.0f} s there should be most of the frames, {frames} are: {rtc.shortened(last)}"
    heard, concealed = (
        last["player"]["audio"][name] - first["player"]["audio"][name] for name in ("totalSamplesReceived", "concealedSamples")
    )
    # Until the browser's estimate tells it, the link loses packets.
    share = 100 * concealed / max(1, heard)
    assert share <= 5, f"at most 5 % of the audio should be concealed, {share:.1f} % is: {rtc.shortened(last)}"


@pytest.mark.serial
@pytest.mark.skipif(not rtc.there_is_chromium() or not pion.is_there(), reason="scripts/test installs Chromium and Go")
@pytest.mark.skipif(VALGRIND or SLOW > 1, reason="the browser's estimate is one by time")
def test_layers_follow_the_link(rtc_server, pages, tool):
    """A link falls to 0.5 Mbit/s for 12 s: the layer of 300 kbit/s comes within 1 s, with one pause of 0.5 s, until the browser
    has told of the link and its queue has gone; and the one of 1,500 within 12 s when the link has recovered. A frame more of
    a pause is the machine's."""
    if not rtc.is_ours(rtc_server):
        pytest.skip("MediaMTX sends the first layer")
    layers = pion.layers("h264", "qhf", pion.LARGE_LAYERS)
    tool(pion.words("h264", whip=rtc.whip_url(rtc_server), seconds=90, layers=layers, keyframes="true"))
    rtc.wait_sessions(rtc_server, "rtc-publish", 1, 20)
    harm = Harm(kbps=500, delay=20, after=8, until=20)
    with Running(rtc_server.rtc_port, harm, seed=1) as relay:
        page = pages(play=rtc.whep_url(rtc_server), relay=relay.port)
        page.wait(lambda one: rtc.decodes(one, 50) and one["width"] == 640, 30, "frames of the largest layer")
        page.wait(lambda one: one["width"] < 640, 20, "frames of a smaller layer")
        time.sleep(12)
        last = page.wait(lambda one: one["width"] == 640, 30, "frames of the largest layer again")
        (did,) = relay.finish()
    fell = did["back"]["began"] + harm.after
    rose = did["back"]["began"] + harm.until
    sizes = [(round(one["at"] - fell, 2), one["width"]) for one in last["sizes"]]
    gaps = [(round(one["at"] - fell, 2), round(one["ms"])) for one in last["gaps"] if one["at"] > fell - 1]
    told = f"widths and pauses by the seconds since the link fell: {sizes}, {gaps}; {did}"
    lower = next(at for at, width in sizes if at > 0 and width < 640)
    higher = next(at for at, width in sizes if at > rose - fell and width == 640)
    print(f"lower after {lower:.2f} s, higher {higher - (rose - fell):.2f} s after the link rose; {told}")
    assert lower <= 1, f"a smaller layer should come within 1 s: {told}"
    assert higher - (rose - fell) <= 12, f"the largest should be back within 12 s: {told}"
    assert all(ms <= 600 for _, ms in gaps), f"no pause should be longer than 0.5 s: {told}"


@pytest.mark.quiet  # aiortc decodes in Python: beside browsers it has too little time for half of the frames
@pytest.mark.parametrize("kind", BAD)
def test_a_player_goes_on(rtc_server, kind):
    """aiortc decodes: video frames keep coming through it all, and after a keyframe none is broken."""

    async def scene(port):
        with rtc_aiortc.Complaints() as complaints:
            async with rtc_aiortc.Publisher(rtc.whip_url(rtc_server), changing=True) as publisher:
                await publisher.connected()
                async with rtc_aiortc.Player(rtc.whep_url(rtc_server), port) as player:
                    await player.has(video_frames=10)
                    await asyncio.sleep(8)
                    end = rtc_aiortc.time.monotonic()
                    if rtc.is_ours(rtc_server):
                        assert_told(kind, await asyncio.to_thread(rtc.sessions, rtc_server, "rtc-play"))
                    return player, complaints.lines, end

    with Running(rtc_server.rtc_port, BAD[kind], seed=3) as relay:
        player, complaints, end = asyncio.run(scene(relay.port))
        did = relay.finish()
    late = [video_frame for video_frame in player.video_frames if video_frame.at > end - 5]
    assert len(late) >= 5 * rtc_aiortc.RATE * 0.5, f"{kind}: half of the last 5 s' video frames at least, {len(late)} came; {did}"
    gaps = [two.at - one.at for one, two in zip(late, late[1:])]
    limit = scaled(1.5)
    assert max(gaps) <= limit, f"{kind}: no video frame for {max(gaps):.1f} s; {did}"
    rtc.assert_colours(late[-1].places, rtc.FIELDS)
    broken = [line for line in complaints if line[0] > player.video_frames[0].at]
    assert not broken, f"{kind}: every hole is mended before its video frame is decoded: {broken[:3]}; {did}"
