"""Directives of WebRTC: black_hole, keep_original_ssrc, and what a reload changes, for which sessions."""

import asyncio
import contextlib
import re
import socket
import threading

import pytest

from lib import api, http, rtc, rtc_aiortc, rtc_raw
from lib.rtc_offers import SDP, offer
from lib.timing import wait_until

RTCP = range(200, 208)  # the second byte (RFC 5761, 4)


def start(servers, server="", vhost=""):
    """server: directives within rtc_server; vhost: within the vhost's rtc block. It can be reloaded by the API."""
    made = rtc.options(vhost)
    top = made["top"].replace("candidate 127.0.0.1;", f"candidate 127.0.0.1; {server}")
    assert top != made["top"] or not server, top
    raw = "http_api { enabled on; listen 127.0.0.1:API_PORT; raw_api { enabled on; allow_reload on; } }"
    return servers(**made | {"top": re.sub(r"http_api \{.*", lambda _: raw, top)})


def reload(server, *changes):
    """Each change: old text, new text. What the report says: directive -> whether it is in force."""
    text = server.conf_path.read_text()
    for old, new in changes:
        assert old in text, f"{old!r} should be in\n{text}"
        text = text.replace(old, new)
    server.conf_path.write_text(text)
    report = api.ask(server, "/api/v1/raw?rpc=reload")["reload"]
    assert report["ok"], report
    return {change["directive"]: change["in_force"] for change in report["changes"]}


def ask(server, stream, kind="whip", name="chromium_whip"):
    """The answer to an offer, with its fields, as text; the status alone where it is refused."""
    with http.Connection(server.api_port) as connection:
        path = f"/rtc/v1/{kind}/?app=live&stream={stream}"
        connection.request("POST", path, offer(name), **SDP)
        response = connection.read_response("POST")
    if response.status != 201:
        return str(response.status)
    return "".join(f"{name}: {value}\n" for name, value in response.headers.items()) + response.body.decode()


class Hole:
    """Where black_hole sends: what came."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.came, self.ended = [], False
        self.thread = threading.Thread(target=self._read, daemon=True)

    def _read(self):
        while not self.ended:
            try:
                self.came.append(self.socket.recv(65536))
            except TimeoutError:
                pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        self.socket.close()


def test_black_hole(servers):
    """What a publisher sends comes there in the clear, byte by byte; nothing of what a player says, or is sent."""
    sent, said = set(), set()

    def noting(peer, packets):
        def note(data):
            packets.add(data)
            return data

        peer.media.outgoing.append(note)
        return peer

    def copies_of(kind):
        return [data for data in hole.came if data[1] == kind]

    async def scene(server):
        async with noting(rtc_aiortc.Publisher(rtc.whip_url(server)), sent) as publisher:
            await publisher.connected()
            async with noting(rtc_aiortc.Player(rtc.whep_url(server)), said) as player:
                await player.has(video_frames=40)
                # Reports are sent once a second or so.
                await rtc_aiortc.wait(lambda: copies_of(200) and said, 10, lambda: f"reports of both; copied: {len(copies_of(200))}")
                return publisher.ssrcs

    with Hole() as hole:
        server = start(servers, f"black_hole {{ enabled on; addr 127.0.0.1:{hole.port}; }}")
        ssrcs = asyncio.run(scene(server))
    assert said, "the player has said something too, which is not to be copied"
    foreign = [data for data in hole.came if data not in sent]
    assert not foreign, f"{len(foreign)} of {len(hole.came)} copies are not what the publisher has sent: {foreign[0][:40].hex()}"
    for kind, ssrc in ssrcs.items():
        copies = [data for data in hole.came if data[1] not in RTCP and data[8:12] == ssrc.to_bytes(4, "big")]
        assert len(copies) > 30, f"{kind} should be copied: {len(copies)} of {len(hole.came)} copies are of it"
    assert copies_of(200), "and its sender reports"


@pytest.mark.parametrize("kept", [True, False])
def test_keep_original_ssrc(servers, kept):
    """A player sees the publisher's SSRCs where that was wished for, in the answer and in packets, and else others."""
    server = start(servers, vhost="keep_original_ssrc on;" if kept else "")

    def sources(player):
        return {kind: {source.source for source in one.getSynchronizationSources()} for kind, one in player.receivers.items()}

    async def scene():
        async with rtc_aiortc.Publisher(rtc.whip_url(server)) as publisher:
            await publisher.connected()
            async with rtc_aiortc.Player(rtc.whep_url(server)) as player:
                await player.has(video_frames=5)
                await rtc_aiortc.wait(lambda: all(sources(player).values()), 10, lambda: f"packets of both: {sources(player)}")
                return publisher.ssrcs, sources(player), player.answer

    theirs, came, answer = asyncio.run(scene())
    told = {int(ssrc) for ssrc in re.findall(r"a=ssrc:(\d+) ", answer)}
    for kind, ssrc in theirs.items():
        assert came[kind], f"{kind} has come"
        assert (came[kind] == {ssrc}) == kept, f"{kind}: the publisher's is {ssrc}, the player's packets have {came[kind]}"
        assert (ssrc in told) == kept, f"{kind}: the publisher's is {ssrc}, the answer tells {told}"


# Old text, new text, and what an answer has with the new alone (a pattern), or with the old alone ("not ...").
LIVE = {
    "rtc_server/candidate": ("candidate 127.0.0.1;", "candidate 127.0.0.9;", r"candidate:.* 127\.0\.0\.9 "),
    "rtc_server/ice_server": ("encrypt on;", "encrypt on; ice_server stun:stun.example.org;", r"link: <stun:stun\.example\.org>"),
    "vhost/rtc/nack_prefer_rtx": ("nack on;", "nack_prefer_rtx off; nack on;", r"not a=rtpmap:\d+ rtx/90000"),
    "vhost/rtc/nack": ("nack on;", "nack off;", r"not a=rtcp-fb:\d+ nack\r"),
    "vhost/rtc/twcc": ("twcc on;", "twcc off;", r"not a=rtcp-fb:\d+ transport-cc"),
    "vhost/rtc/dtls_role": ("dtls_role passive;", "dtls_role active;", "a=setup:active"),
}
# Those that need a restart.
LATER = {
    "rtc_server/ecdsa": ("ecdsa on;", "ecdsa off;"),
    "rtc_server/tcp/enabled": ("tcp { enabled off;", "tcp { enabled on;"),
    "rtc_server/black_hole/enabled": ("black_hole { enabled off;", "black_hole { enabled on;"),
}


def check_live(server):
    """Each of them by the answer to who comes next."""
    for number, (directive, (old, new, wanted)) in enumerate(LIVE.items()):
        pattern, before = wanted.removeprefix("not "), wanted.startswith("not ")
        answer = ask(server, f"before{number}")
        assert bool(re.search(pattern, answer)) == before, f"{directive} is not changed yet: {wanted!r} in\n{answer}"
        assert reload(server, (old, new)) == {directive: True}, f"{directive} is in force at once"
        answer = ask(server, f"after{number}")
        assert bool(re.search(pattern, answer)) != before, f"{directive} is in force: {wanted!r} in\n{answer}"


def check_switches(server, publisher):
    ssrcs = [str(ssrc) for ssrc in publisher.ssrcs.values()]
    assert not any(f"ssrc:{ssrc} " in ask(server, "one", "whep", "chromium_whep") for ssrc in ssrcs)
    assert reload(server, ("keep_original_ssrc off;", "keep_original_ssrc on;")) == {"vhost/rtc/keep_original_ssrc": True}
    answer = ask(server, "one", "whep", "chromium_whep")
    assert all(f"ssrc:{ssrc} " in answer for ssrc in ssrcs), f"{ssrcs} in\n{answer}"
    # With it go min_latency and mw_latency, which follow it.
    assert reload(server, ("rtc { enabled on;", "rtc { enabled off;"))["vhost/rtc/enabled"]
    assert ask(server, "two") == "404", "WebRTC is off for who comes"
    reload(server, ("rtc { enabled off;", "rtc { enabled on;"))
    assert ask(server, "two") != "404", "and on again"


def check_later(server, hole):
    before = re.search("a=fingerprint:.*", ask(server, "three"))[0]
    assert reload(server, *LATER.values()) == {directive: False for directive in LATER}, "these need a restart, and are named"
    for directive in LATER:
        named = rf"\[warn\].*reload: {directive}: (on|off) -> (on|off) needs a restart"
        server.wait_log(named)
    assert re.search("a=fingerprint:.*", ask(server, "four"))[0] == before, "the certificate is the one made at start"
    assert not hole.came, "nothing is copied"


def test_a_reload(servers):
    """New values are for new sessions; who publishes and plays goes on with what was negotiated."""

    async def scene(server, hole):
        async with rtc_aiortc.Publisher(rtc.whip_url(server)) as publisher:
            await publisher.connected()
            async with rtc_aiortc.Player(rtc.whep_url(server)) as player:
                await player.has(video_frames=5)
                await asyncio.to_thread(check_live, server)
                await asyncio.to_thread(check_switches, server, publisher)
                await asyncio.to_thread(check_later, server, hole)
                await player.has(video_frames=len(player.video_frames) + 20)
                assert player.peer.connectionState == publisher.peer.connectionState == "connected"

    with Hole() as hole:
        server = start(
            servers,
            f"encrypt on; ecdsa on; tcp {{ enabled off; listen 127.0.0.1:RTC_PORT; }} black_hole {{ enabled off; addr 127.0.0.1:{hole.port}; }}",
            "dtls_role passive; keep_original_ssrc off;",
        )
        asyncio.run(scene(server, hole))


def test_stun_timeout_is_that_of_the_session_s_begin(servers, tmp_path):
    server = start(servers, vhost="stun_timeout 60;")
    certificate = rtc_raw.Certificate(tmp_path)

    @contextlib.contextmanager
    def connected(name):
        """A publisher that says nothing more."""
        with rtc_raw.Session(server, f"live/{name}", kind="whip", direction="sendonly", fingerprint=certificate.fingerprint) as session:
            with rtc_raw.Dtls(session.verify(), certificate) as dtls:
                assert dtls.run(rtc_raw.Dtls.established), f"{name}: a handshake: {dtls.told()}"
                yield

    def there():
        return [client["url"] for client in api.clients(server)]

    with connected("old"):
        assert reload(server, ("stun_timeout 60;", "stun_timeout 1;")) == {"vhost/rtc/stun_timeout": True}
        with connected("new"):
            wait_until(lambda: "/live/new" not in there(), 10, "it ends, since nothing is heard of it for a second")
            assert there() == ["/live/old"], f"who was there before has its 60 s: {there()}"
