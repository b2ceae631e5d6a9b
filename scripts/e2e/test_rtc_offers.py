"""What an offer may do before it is connected: nothing. Names are checked at the offer and taken when connected. And whose an
address is that several sessions show: nobody takes it from the one that is there."""

import contextlib
import json
import time

import pytest

from lib import api, hooks, http, media, mediamtx, publishing, rtc, rtc_plain, rtc_raw, rtmp
from lib.rtc_plain import Peer, VideoFrames, Watcher
from lib.timing import scaled, wait_until

if mediamtx.PROGRAM:
    pytest.skip("this is about our own server", allow_module_level=True)


@pytest.fixture
def start(servers):
    def make(publish="", vhost=""):
        return servers(**rtc_plain.options(publish=publish, vhost=vhost))

    return make


def offer(server, path="live/one"):
    return Peer(server, path, kind="whip", direction="sendonly")


def publishing_rtmp(server, name="one"):
    return publishing.Steady(rtmp.publisher(server, "live", name), media.tags(media.plain()))


def send_video(publisher, seconds=0.4, ssrc=0x1234, at=0):
    """Video frames at 25 a second; where they got to."""
    for i in range(int(seconds * 25)):
        VideoFrames(publisher, ssrc, 2 * (at + i)).send((at + i) * 3600)
        time.sleep(0.04)
    return at + int(seconds * 25)


def publisher_of(server, name="one"):
    """The id of who publishes it; None: nobody."""
    stream = api.streams(server).get(name)
    return stream["publish"].get("cid") if stream and stream["publish"]["active"] else None


def ends(server, kind="rtc-publish"):
    with http.Connection(server.api_port) as connection:
        connection.request("GET", "/api/v1/clients?closed=true&count=100")
        found = json.loads(connection.read_response("GET").body)["clients"]
    return {one["id"]: one["reason"] for one in found if one["type"] == kind}


def id_of(session):
    return session.response.headers["location"].split("session=")[1].split("&")[0]


def wait_end(server, session, reason):
    wait_until(lambda: id_of(session) in ends(server), 5, lambda: f"the end of {id_of(session)}; these ended: {ends(server)}")
    assert ends(server)[id_of(session)] == reason, ends(server)


# ---- Names


def test_an_offer_cuts_nobody(start):
    """With `takeover on`: the running publisher and its viewer stay until somebody has connected."""
    server = start(publish="takeover on;")
    with publishing_rtmp(server) as running, Watcher(server) as viewer:
        viewer.wait_more(5, "the beginning")
        cid = publisher_of(server)
        assert cid, api.streams(server)
        began = time.monotonic()
        with offer(server), offer(server):
            viewer.wait_more(30, "offers that never connect")
            assert publisher_of(server) == cid, f"the publisher should be {cid}: {api.streams(server)['one']}"
            assert viewer.longest_gap(began) < scaled(1.5) and running.error is None, viewer.describe()
        viewer.wait_more(10, "the offers' end")
        assert publisher_of(server) == cid
        with offer(server).verify() as taker:
            wait_until(lambda: publisher_of(server) == id_of(taker), 5, lambda: f"who connects takes over: {api.streams(server)}")
            wait_until(lambda: running.error, 5, "the first one is ended")
            before = len(viewer.times)
            send_video(taker, 1)
            viewer.wait(lambda times: len(times) > before + 10, "frames of the one that took over")


def test_an_offer_holds_no_name(start):
    """A free name stays free; who offers, and connects when another one publishes, is told so."""
    server = start()
    with offer(server) as late:
        assert publisher_of(server) is None, api.streams(server)
        with publishing_rtmp(server), Watcher(server) as viewer:
            viewer.wait_more(5, "the beginning")
            cid, began = publisher_of(server), time.monotonic()
            late.verify()
            wait_end(server, late, "refused-busy")
            viewer.wait_more(20, "the refusal")
            assert publisher_of(server) == cid and viewer.longest_gap(began) < scaled(1.5), viewer.describe()
            with http.Connection(server.api_port) as connection:
                connection.request("POST", "/rtc/v1/whip/?app=live&stream=one", rtc_raw.offer(direction="sendonly").encode(), Content_Type="application/sdp")
                response = connection.read_response("POST")
            assert response.status == 409, f"an offer for a name in use is refused as ever: {response.describe()}"


@pytest.mark.parametrize("takeover", ["off", "on"])
def test_two_offers_race(start, takeover):
    """Each is asked at the gate and told of once; the first to connect has the name, or the last where they take over."""
    with hooks.HookServer() as asked:
        names = " ".join(f"{name} {asked.url(name)};" for name in ("on_publish", "on_unpublish"))
        server = start(f"takeover {takeover};", f"http_hooks {{ enabled on; {names} }}")
        with contextlib.ExitStack() as stack:
            one, two = stack.enter_context(offer(server)), stack.enter_context(offer(server))
            assert [body["client_id"] for body in asked.wait("on_publish", 2)] == [id_of(one), id_of(two)]
            two.verify()
            wait_until(lambda: publisher_of(server) == id_of(two), 5, lambda: f"{id_of(two)} publishes: {api.streams(server)}")
            viewer = stack.enter_context(Watcher(server))
            send_video(two, 0.4)
            viewer.wait(lambda times: len(times) > 3, "frames of the first to connect")
            one.verify()
            if takeover == "off":
                loser, winner, reason = one, two, "refused-busy"
            else:
                loser, winner, reason = two, one, "publisher-replaced"
            wait_end(server, loser, reason)
            before = len(viewer.times)
            send_video(winner, 1, at=100)
            viewer.wait(lambda times: len(times) > before + 10, f"frames of {id_of(winner)}")
            assert publisher_of(server) == id_of(winner)
            (ended,) = asked.wait("on_unpublish")
            assert ended["client_id"] == id_of(loser), asked.bodies()
        asked.wait("on_unpublish", 2)
        wait_until(lambda: not rtc.sessions(server, "rtc-publish"), 5, "no session is left")
        told = [(body["action"], body["client_id"]) for body in asked.bodies()]
        wanted = [(action, id_of(who)) for action, who in (("on_publish", one), ("on_publish", two), ("on_unpublish", loser), ("on_unpublish", winner))]
        assert told == wanted, f"each beginning has one end: {told}"


def test_segments_are_the_publishers(start):
    """on_hls names the session that publishes, though another one has offered before it."""
    with hooks.HookServer() as asked:
        names = " ".join(f"{name} {asked.url(name)};" for name in ("on_publish", "on_hls"))
        more = f"hls {{ enabled on; hls_path ./hls; hls_fragment 1; }} http_hooks {{ enabled on; {names} }}"
        server = start(vhost=more)
        with offer(server) as early, publishing_rtmp(server):
            segment = asked.wait("on_hls", seconds=20)[0]
            cid = publisher_of(server)
            assert segment["client_id"] == cid != id_of(early), f"{cid} publishes: {asked.bodies()}"


def test_players_of_an_offer_know_its_codecs(start):
    """A page that publishes and plays at once: what it will send is what its player is answered with."""
    server = start()
    h264, opus = rtc_raw.offer(direction="sendonly"), "m=video"
    audio_only = h264[: h264.index(opus)].replace("BUNDLE 0 1", "BUNDLE 0")
    with Peer(server, text=audio_only, kind="whip"):
        with Peer(server) as player:
            assert "m=video 0 " in player.answer or "a=inactive" in player.answer or "H264" in player.answer, player.answer
    both = rtc_raw.offer(direction="recvonly").replace("m=video 9 UDP/TLS/RTP/SAVPF 102", "m=video 9 UDP/TLS/RTP/SAVPF 102 96")
    both = both.replace("a=rtpmap:102 H264/90000", "a=rtpmap:96 VP8/90000\r\na=rtpmap:102 H264/90000")
    vp8 = h264.replace("SAVPF 102", "SAVPF 96").replace("a=rtpmap:102 H264/90000", "a=rtpmap:96 VP8/90000")
    vp8 = "\r\n".join(line for line in vp8.split("\r\n") if not line.startswith("a=fmtp:102"))
    with Peer(server, text=vp8, kind="whip"), Peer(server, text=both) as player:
        assert "VP8/90000" in player.answer and "H264" not in player.answer, player.answer
    wait_until(lambda: not rtc.sessions(server, "rtc-publish"), 5, "no offer is left")
    with Peer(server, text=both) as player:
        assert "H264" in player.answer, f"without an offer the first codec of ours: {player.answer}"


# ---- Addresses


def test_a_claimed_address(start):
    """Requests of another session come from a publisher's address: its media goes on, while it is heard of; and after a
    silence its next request brings it back."""
    server = start()
    with offer(server).verify() as victim, Watcher(server) as viewer, offer(server, "live/thief") as thief:
        at = send_video(victim, 0.6)
        viewer.wait(lambda times: len(times) >= 5, "the beginning")
        thief.socket = victim.socket  # as from its address
        thief.verify()
        for i in range(20):
            thief.send(thief.request())
            at = send_video(victim, 0.04, at=at)
        viewer.wait(lambda times: len(times) >= 20, "frames under forged requests")
        time.sleep(3.2)  # longer than ice::kSilentMs
        victim.drain(0)
        thief.verify()
        before = len(viewer.times)
        victim.drain(0.1)
        victim.verify()
        for i in range(20):
            thief.send(thief.request())
            at = send_video(victim, 0.04, at=at + 80)
        viewer.wait(lambda times: len(times) >= before + 10, "frames after its next request")
        thief.socket = None
        assert not [one for one in ends(server) if one == id_of(victim)], ends(server)


def test_one_socket_for_several_sessions(start):
    """A client that has ended a session begins another one from the same socket."""
    server = start()
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(offer(server).verify())
        send_video(first)
        second = stack.enter_context(offer(server, "live/two"))
        second.socket = first.socket
        first.delete()
        second.verify()
        viewer = stack.enter_context(Watcher(server, "live/two"))
        send_video(second, 1)
        viewer.wait(lambda times: len(times) >= 10, "frames of the second session")
        first.socket = None
