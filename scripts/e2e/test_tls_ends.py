"""The end of a stream or an answer over TLS: everything up to the last byte that was published reaches a reader that
reads, behind it close_notify; how long that may take is bounded. Others notice nothing of those that are slow."""

import os
import socket
import struct
import threading
import time

import pytest

from lib import api, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

FRAMES, FRAME_BYTES = 300, 40_000  # 12 MB: more than the kernel's buffers of a connection


@pytest.fixture
def server(servers, certificate):
    key, cert = certificate[:2]
    files = f"key {key}; cert {cert};"
    return servers(
        top=api.ON + f"rtmps {{ enabled on; listen 127.0.0.1:RTMPS_PORT; {files} }}",
        http=f"https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; {files} }}",
        vhosts=default_vhost(play="queue_length 60; send_timeout 6000;", rejoin=300),
    )


def stream():
    """A keyframe and large frames behind it, 20 ms apart."""
    tags = media.from_keyframe(media.plain())
    headers = [tag for tag in tags if not flv.is_frame(tag)]
    key = next(tag for tag in tags if flv.is_frame(tag) and tag.type == flv.VIDEO)
    start = key.timestamp
    unit = struct.pack(">I", FRAME_BYTES) + b"\x41" + os.urandom(FRAME_BYTES - 1)
    frames = [flv.Tag(flv.VIDEO, start + 20 * n, b"\x27\x01\0\0\0" + unit) for n in range(1, FRAMES + 1)]
    return headers + [key] + frames


def end(publisher):
    """Leaves when the server has read all of it: a close with answers unread would take the last bytes back."""
    publisher.socket.shutdown(socket.SHUT_WR)
    while publisher.socket.recv(1 << 16):
        pass


def rtmps_player(server, **options):
    player = rtmp.player(server, "live", "s", port=server.rtmps_port, tls=True, timeout=scaled(20), **options)
    player.socket.suppress_ragged_eofs = False  # an end without close_notify is an error
    return player


def https_player(server, **options):
    player = http.Live(server.https_port, "/live/s.flv", tls=True, timeout=scaled(20), **options)
    player.socket.suppress_ragged_eofs = False
    return player


def read_all(player, pause=0.0):
    got = []
    while not player.ended:
        got += player.tags()
        time.sleep(pause)
    return got


def last_frames(tags):
    return [tag.timestamp for tag in tags if tag.type == flv.VIDEO and len(tag.body) > FRAME_BYTES]


@pytest.mark.parametrize("make", [rtmps_player, https_player])
def test_a_slow_viewer_gets_the_stream_to_its_end(server, make):
    tags = stream()
    with rtmp.publisher(server, "live", "s") as publisher:
        publishing.send_all(publisher, tags[:5])
        players = [make(server, receive_buffer=32_768) for _ in range(3)]
        bystander = rtmp.player(server, "live", "s", timeout=scaled(20))
        seen = []
        reading = threading.Thread(target=lambda: seen.extend(read_all(bystander)), daemon=True)
        reading.start()
        publishing.send_all(publisher, tags[5:])
        end(publisher)
    api.ended(server, type="fmle-publish")
    reading.join(scaled(10))
    assert not reading.is_alive() and len(last_frames(seen)) == FRAMES, "a plain player gets it all, without delay"
    time.sleep(0.5)  # the stream has ended by now: what is left lies in the server
    for player, pause in zip(players, (0.0, 0.002, 0.0), strict=True):
        words = []
        if make is rtmps_player:
            take = player.take
            player.take = lambda data, take=take, words=words: words.extend(got := take(data)) or got
        got = last_frames(read_all(player, pause))
        assert len(got) == FRAMES, f"{FRAMES - len(got)} of {FRAMES} frames are lost, the last that came is {got[-1:]}"
        if make is rtmps_player:
            commands = [word.command() for word in words if word.type == rtmp.COMMAND]
            codes = [command[-1].get("code") for command in commands if isinstance(command[-1], dict)]
            assert codes[-2:] == ["NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"], codes
    wait_until(lambda: api.ends(server, reason="stream-ended") == 4, 5, lambda: f"all four players have ended with their stream: {server.evidence()}")


def test_who_does_not_read_is_closed_all_the_same(server):
    tags = stream()
    with rtmp.publisher(server, "live", "s") as publisher:
        publishing.send_all(publisher, tags[:5])
        with rtmps_player(server, receive_buffer=32_768), https_player(server, receive_buffer=32_768):
            publishing.send_all(publisher, tags[5:])
            end(publisher)
            # send_timeout, from the last byte that it took.
            for kind in ("rtmp-play", "flv-play"):
                api.ended(server, "no byte accepted for 6", 12, type=kind, reason="too-slow")


def test_an_answer_ends_with_close_notify(server):
    body = os.urandom(8_000_000)
    (server.dir / "html" / "film.bin").write_bytes(body)
    with http.Connection(server.https_port, tls=True, timeout=scaled(20), receive_buffer=32_768) as slow:
        slow.socket.suppress_ragged_eofs = False
        slow.request("GET", "/film.bin", Connection="close")
        head = slow.read_head()
        got = slow._take(4_000_000)
        time.sleep(1.5)  # longer than the server waits for the peer's end
        began = time.monotonic()
        assert http.get(server.http_port, "/film.bin", Range="bytes=0-9").body == body[:10]
        assert time.monotonic() - began < scaled(1), "others do not wait"
        got += slow.read_to_end()
    assert head.status == 200 and got == body, f"{len(got)} of {len(body)} bytes"
