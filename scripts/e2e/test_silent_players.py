"""Players that get nothing: of streams that nobody publishes, and paused ones. A thousand of them closed a server with the
default configuration for everybody else, for ever."""

import time

import pytest

from lib import api, media, publishing, rtmp, rtsp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

API = api.CONF % ""
OTHER = "127.0.0.2"
LIMITED = "address_limits { exempt none; waiting_players 5; }\n"


def conf(limits):
    return API + "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }\n" + limits


def server_of(servers, limits):
    return servers(top=conf(limits), vhosts=default_vhost("rtsp { enabled on; } min_latency on;"))


def pause_rtmp(server):
    client = rtmp.player(server, "live", "a")
    client.send_command("pause", None, True, 0, stream_id=client.stream_id, answered=False)
    client.wait_status("NetStream.Pause.Notify")
    return client


def mute_rtmp(server):
    client = rtmp.player(server, "live", "a")
    for command in ("receiveAudio", "receiveVideo"):
        client.send_command(command, None, False, stream_id=client.stream_id, answered=False)
    return client


def pause_rtsp(server):
    client = rtsp.Client(server.rtc_port)
    client.play(rtsp.url(server, "live/a"))
    response = client.request("PAUSE", rtsp.url(server, "live/a"))
    assert response.status == 200, response
    return client


SILENT = {
    "unpublished": lambda server: rtmp.player(server, "live", "nobody"),
    "paused": pause_rtmp,
    "muted": mute_rtmp,
    "paused-rtsp": pause_rtsp,
}


def is_open(client):
    client.socket.setblocking(False)
    try:
        while client.socket.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        client.socket.settimeout(scaled(5))


@pytest.fixture
def published(servers):
    """A server with limits, and a stream with frames."""
    held = []

    def make(limits):
        server = server_of(servers, limits)
        publisher = rtmp.publisher(server, "live", "a", source=OTHER)
        steady = publishing.Steady(publisher, media.tags(media.plain()))
        held.extend([steady.stop, publisher.close])
        api.wait_stream(server, "a", lambda stream: stream["video_frames"] > 5)
        return server

    yield make
    for end in held:
        end()


@pytest.mark.parametrize("kind", SILENT)
def test_an_address_may_have_so_many(published, kind):
    """Beyond its limit the one that has waited longest is closed. Players that are served do not count."""
    server = published(LIMITED)
    served = [rtmp.player(server, "live", "a") for _ in range(7)]
    clients = [SILENT[kind](server) for _ in range(8)]
    wait_until(lambda: [is_open(one) for one in clients] == [False] * 3 + [True] * 5, 5, "the oldest three are closed")
    assert all(is_open(one) for one in served)
    api.ended(server, r"6 players of this address get nothing \(address_limits\.waiting_players\)")
    for client in [*served, *clients]:
        client.close()


@pytest.mark.parametrize("kind", SILENT)
def test_their_time_is_limited(published, kind):
    server = published("waiting_timeout 1500;\n")
    client = SILENT[kind](server)
    wait_until(lambda: not is_open(client), 8, "its time is over")
    api.ended(server, r"the player got nothing for 1500 ms \(waiting_timeout\)")
    client.close()


def test_who_is_served_again_stays(published):
    """A pause that ends, and a stream that is published after all."""
    server = published("waiting_timeout 2500;\n")
    early, paused = rtmp.player(server, "live", "later"), pause_rtmp(server)
    paused.send_command("pause", None, False, 0, stream_id=paused.stream_id, answered=False)
    publisher = rtmp.publisher(server, "live", "later")
    steady = publishing.Steady(publisher, media.tags(media.plain()))
    lost = SILENT["unpublished"](server)
    wait_until(lambda: not is_open(lost), 10, "the one that gets nothing is closed")
    assert is_open(early) and is_open(paused)
    steady.stop()
    for client in (early, paused, lost, publisher):
        client.close()


def test_they_make_room_in_a_full_server(published):
    """60 silent players of one address: a publisher and a player of another address come in, and a lonely silent one stays."""
    server = published("max_connections 60; address_limits { exempt none; connections 0; }\n")
    lonely = rtmp.player(server, "live", "nobody", source="127.0.0.3")
    silent = []
    while len(silent) < 56:
        silent.append(SILENT["unpublished" if len(silent) % 2 else "paused"](server))
    time.sleep(scaled(1.1))  # the lonely one is not alone in having waited for a second
    players = []

    def comes_in():
        try:
            players.append(rtmp.player(server, "live", "a", source="127.0.0.4"))
        except ConnectionError:
            return False
        return len(players) == 10

    wait_until(comes_in, 10, "who gets nothing for a second makes room")
    closed = sum(not is_open(one) for one in silent)
    assert 8 <= closed <= 10, f"as many silent ones are closed as there are too many, {closed} were"
    assert is_open(lonely), "the address with most gives way"
    for client in [lonely, *silent, *players]:
        client.close()


def test_one_address_does_not_fill_a_server(servers):
    """By default a quarter of the places is for others."""
    server = server_of(servers, "max_connections 40; address_limits { exempt none; waiting_players 0; }\n")
    clients = []
    with pytest.raises((ConnectionError, TimeoutError)):
        for _ in range(40):
            clients.append(rtmp.player(server, "live", "nobody"))
    assert len(clients) == 30, f"three quarters of 40, there are {len(clients)}"
    server.wait_log(r"30 connections from this address, the limit of address_limits.connections")
    with rtmp.player(server, "live", "nobody", source=OTHER):
        pass
    for client in clients:
        client.close()
