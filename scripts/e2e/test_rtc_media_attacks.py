"""Bad RTP and RTCP from peers that have the right keys, and replays by those who have not: it is dropped, the session lives,
and nobody else notices."""

import asyncio
import contextlib
import random
import re
import socket
import struct
import time

import pytest
from aiortc import rtcdtlstransport

from lib import mediamtx, rtc, rtc_aiortc, rtc_plain, rtc_raw
from lib.rtc_scene import ABSURD, HEAD, MY_SSRC, Scene, rtcp

if mediamtx.PROGRAM:
    pytest.skip("these attacks are on our own server", allow_module_level=True)

@pytest.fixture
def rtc_server(servers):
    return servers(**rtc.options())


def run(rtc_server, what, attack):
    async def scene():
        async with Scene(rtc_server) as scene:
            await attack(scene)
            await scene.unharmed(what)

    asyncio.run(scene())


def udp_port(answer):
    return int(re.search(r"a=candidate:\S+ 1 udp \d+ \S+ (\d+) typ host", answer, re.IGNORECASE)[1])


@pytest.mark.parametrize("profile", ["SRTP_AEAD_AES_128_GCM", "SRTP_AES128_CM_SHA1_80"])
def test_replayed_srtp(rtc_server, profile, monkeypatch):
    """All that a publisher has sent is sent again, by himself and by a stranger."""
    known = rtcdtlstransport.SRTP_PROFILES
    monkeypatch.setattr(rtcdtlstransport, "SRTP_PROFILES", [one for one in known if one.openssl_profile == profile.encode()])

    async def attack(scene):
        relay, sent = scene.relays["publisher"], []

        def noted(datagram):
            if 128 <= datagram[0] < 192:
                sent.append(datagram)
            return True

        relay.is_sent_on, before = noted, relay.is_sent_on
        await scene.player.has(video_frames=len(scene.player.video_frames) + 20)
        relay.is_sent_on = before
        assert len(sent) > 20, "the publisher's packets were noted"
        scene.losses.clear()
        for datagram in sent * 2:
            scene.send("publisher", datagram)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.settimeout(0.5)
            for datagram in sent[:200]:
                stranger.sendto(datagram, ("127.0.0.1", udp_port(scene.publisher.answer)))
            with contextlib.suppress(TimeoutError):
                answer = await asyncio.to_thread(stranger.recv, 2000)
                raise AssertionError(f"a stranger's replay was answered: {answer}")
        await scene.unharmed("a replay")
        await rtc_aiortc.wait(lambda: len(scene.losses) >= 2, 10, lambda: "reports on what the publisher sent")
        assert min(scene.losses) >= 0, f"a replayed packet counts as received (negative losses): {scene.losses}"
        for ssrc, sequences in scene.sequences.items():
            first = sequences[0]
            steps = sorted((one - first + 0x8000) % 0x10000 - 0x8000 for one in sequences)
            assert steps == list(range(steps[0], steps[0] + len(steps))), f"SSRC {ssrc}: each packet comes once: {steps}"

    run(rtc_server, "a replay", attack)


@pytest.mark.parametrize("who", ["publisher", "player"])
def test_requests_of_another_session_from_their_address(rtc_server, who):
    """The other session is an attacker's own; from whose address its requests come he forges. Its DTLS comes from there,
    too."""

    async def attack(scene):
        thieves = [await asyncio.to_thread(rtc_raw.Session, rtc_server, f"live/thief{i}", kind="whip", direction="sendonly") for i in range(6)]
        hello = b"\x16\xfe\xfd" + bytes(8) + b"\x00\x40" + b"\x01" + bytes(63)
        try:
            for round_ in range(15):
                for thief in thieves:
                    scene.send(who, thief.request())
                scene.send(who, hello)
                seen = len(scene.player.video_frames)
                await scene.player.has(video_frames=seen + 2)
            if who == "player":
                # Its reports come through, and so does what it asks for.
                scene.plis = 0
                video = scene.ssrcs["video"]
                scene.send_rtcp("player", rtcp(206, 1, struct.pack(">II", MY_SSRC, video)))
                await rtc_aiortc.wait(lambda: scene.plis > 0, 10, lambda: "the player's request for a keyframe reaches the publisher")
        finally:
            for thief in thieves:
                await asyncio.to_thread(thief.delete)

    run(rtc_server, f"requests from the {who}'s address", attack)


def with_ssrc(data, old, new):
    """RTP of the new SSRC, or RTCP that names it: with the new one wherever a word is the old one."""
    rtp = rtc_plain.read(data)
    end = 12 if rtp else len(data)
    words = [data[at : at + 4] for at in range(0, end, 4)]
    return b"".join(new.to_bytes(4) if word == old.to_bytes(4) else word for word in words) + data[end:]


def test_another_ssrc_of_the_video(rtc_server):
    """RFC 3550, 8.2: the publisher's camera goes on with another SSRC. The viewer decodes on."""

    async def attack(scene):
        media, own = scene.publisher.media, scene.publisher.ssrcs["video"]
        media.outgoing.append(lambda data: with_ssrc(data, own, ssrc))
        media.incoming.insert(0, lambda data: with_ssrc(data, ssrc, own))
        for ssrc in (0x0A0B0C0D, 0x0A0B0C0E):
            seen, sequences = len(scene.player.video_frames), scene.sequences[scene.ssrcs["video"]]
            await scene.player.has(video_frames=seen + 30)
        steps = {(b - a) % 0x10000 for a, b in zip(sequences, sequences[1:])}
        assert steps == {1}, f"the viewer sees one source without a hole: steps of {steps}"

    run(rtc_server, "another SSRC", attack)


@pytest.mark.parametrize("who", ["publisher", "player"])
def test_rtcp_of_absurd_lengths(rtc_server, who):
    async def attack(scene):
        for datagram in ABSURD.values():
            for _ in range(5):
                scene.send_rtcp(who, datagram)
        any_bytes = random.Random(6)
        for _ in range(500):
            junk = HEAD + bytes([0x80 | any_bytes.randrange(64), any_bytes.randrange(192, 224)])
            scene.send_rtcp(who, junk + any_bytes.randbytes(any_bytes.randrange(200)))
        whole = getattr(scene, who).media.encrypt_rtcp(HEAD)
        for size in range(1, len(whole)):
            scene.send(who, whole[:size])

    run(rtc_server, f"absurd RTCP of a {who}", attack)


def test_more_ssrcs_than_are_followed(rtc_server):
    async def attack(scene):
        for ssrc in range(1, 300):
            scene.send_rtcp("player", rtcp(201, 0, struct.pack(">I", ssrc)))
            scene.send_rtcp("publisher", rtcp(201, 0, struct.pack(">I", ssrc)))

    run(rtc_server, "RTCP of 300 SSRCs", attack)


def test_floods_of_requests(rtc_server):
    """Keyframes are asked of the publisher once a second at most; what is sent again has a bound."""

    async def attack(scene):
        def sent():
            return rtc.sessions(scene.server, "rtc-play")[0]["send_bytes"]

        async def seconds(each_tenth=None):
            """How long it took, 2 s where nobody is late, and what was sent meanwhile."""
            before, began = await asyncio.to_thread(sent), time.monotonic()
            for _ in range(20):
                if each_tenth:
                    await each_tenth()
                await asyncio.sleep(0.1)
            return time.monotonic() - began, await asyncio.to_thread(sent) - before

        async def ask():
            newest = scene.sequences[video][-1]
            lost = b"".join(struct.pack(">HH", (newest - 17 * i) % 0x10000, 0xFFFF) for i in range(1, 290))
            for _ in range(10):
                scene.send_rtcp("player", rtcp(205, 1, struct.pack(">II", MY_SSRC, video) + lost))
                scene.send_rtcp("player", rtcp(206, 1, struct.pack(">II", MY_SSRC, video)) * 50)

        video = scene.ssrcs["video"]
        took, usual = await seconds()
        usual *= 2 / took
        scene.plis = 0
        took, flooded = await seconds(ask)
        assert 1 <= scene.plis <= took + 2, f"10,000 requests for keyframes within {took:.1f} s became {scene.plis}"
        flooded *= 2 / took
        assert flooded < 3 * usual + 400_000, f"in 2 s {usual} bytes are sent as a rule, and with a million NACKs {flooded}"

    run(rtc_server, "floods of NACK and PLI", attack)
