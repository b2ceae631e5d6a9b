"""WebRTC over a bad network (lib/relay.py): loss, duplicates, reordering, jitter; the same packets of them in every run."""

import asyncio
import json

import pytest

from lib import mediamtx, pion, rtc, rtc_aiortc
from lib.relay import Direction, Harm, Running
from lib.timing import scaled

MENDED_MS = 1000
BAD = {
    "loss": Harm(loss=10, after=2),
    "disorder": Harm(duplicate=10, reorder=10, after=2),
    "jitter": Harm(jitter=200, after=2),
    "everything": Harm(loss=5, duplicate=3, reorder=3, jitter=200, after=2),
}


@pytest.fixture
def place(servers, tmp_path):
    server = rtc.start(servers, tmp_path)
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


def assert_mended(found, did, who):
    """All packets, each hole filled within a second. At the end some may still be under way."""
    assert any(way["lost"] > 10 for one in did for way in one.values()), f"{who}: the relay has lost packets: {did}"
    video = found["player"]["video"]
    assert video["foreign"] == 0 and video["timestamp_errors"] == 0, f"{who}: every packet in its place: {json.dumps(found)}"
    assert video["holes_mended"] > 0, f"{who}: there were holes to mend: {json.dumps(found)} {did}"
    assert video["holes_left"] == 0, f"{who}: no hole is left: {json.dumps(found)} {did}"
    limit = scaled(MENDED_MS)
    assert video["longest_hole_ms"] <= limit, f"{who}: the longest hole should be mended in {limit} ms: {json.dumps(found)}"


@pytest.mark.skipif(not pion.is_there(), reason="scripts/test installs Go")
@pytest.mark.parametrize("side", ["player", "publisher"])
def test_lost_packets_are_sent_again(place, side):
    """10 % each way: NACK from our ring for the player, and ours to the publisher."""
    with Running(place.rtc_port, Harm(loss=10, after=2), seed=7) as relay:
        through = {"whep_port" if side == "player" else "whip_port": relay.port}
        found = pion.run(codec="h264", whip=rtc.whip_url(place), whep=rtc.whep_url(place), seconds=8, **through)
        did = relay.finish()
    assert_mended(found, did, side)


@pytest.mark.parametrize("kind", BAD)
def test_a_player_goes_on(place, kind):
    """aiortc decodes: pictures keep coming through it all, and after a keyframe none is broken."""

    async def scene(port):
        with rtc_aiortc.Complaints() as complaints:
            async with rtc_aiortc.Publisher(rtc.whip_url(place), changing=True) as publisher:
                await publisher.connected()
                async with rtc_aiortc.Player(rtc.whep_url(place), port) as player:
                    await player.has(pictures=10)
                    await asyncio.sleep(8)
                    return player, complaints.lines, rtc_aiortc.time.monotonic()

    with Running(place.rtc_port, BAD[kind], seed=3) as relay:
        player, complaints, end = asyncio.run(scene(relay.port))
        did = relay.finish()
    late = [picture for picture in player.pictures if picture.at > end - 5]
    assert len(late) >= 5 * rtc_aiortc.RATE * 0.5, f"{kind}: half of the last 5 s' pictures at least, {len(late)} came; {did}"
    gaps = [two.at - one.at for one, two in zip(late, late[1:])]
    # With jitter an answer to a NACK takes up to 400 ms, and aiortc asks again only when it misses more.
    limit = scaled(1.5 if kind != "everything" else 3)
    assert max(gaps) <= limit, f"{kind}: no picture for {max(gaps):.1f} s; {did}"
    rtc.assert_colours(late[-1].places, rtc.FIELDS)
    broken = [line for line in complaints if line[0] > player.pictures[0].at]
    assert not broken, f"{kind}: every hole is mended before its picture is decoded: {broken[:3]}; {did}"
