"""All bad input that the tests know, as one list: CASES, a name to what does it to a server. Most of it stands in the
tests that say what each piece is answered with; floods, which those do one by one, stand here.

A case returns when it has done what it does, and leaves nothing open."""

import asyncio
import contextlib
import random
import socket
import struct
import threading
import time

from . import bad, flv, http, http_attacks, media, rtc_offers, rtc_raw, rtc_scene, rtmp
from .timing import SLOW

# How many of a flood: under the sanitizers it takes as long with fewer.
MANY = 1 if SLOW == 1 else 0.2


def many(count):
    return int(count * MANY)


# The server may end a flood's connection at any byte. Whoever begins one must have been let in.
THE_SERVER_MAY_END_IT = contextlib.suppress(OSError, rtmp.RtmpError)


# --- what other tests do one by one


def of_connections(misbehave):
    def run(server):
        for connection in misbehave(server):
            connection.close()

    return run


def of_bytes(data):
    """To each HTTP server. What comes back is read for a moment, so that all of it is sent."""

    def run(server):
        for port in (server.http_port, server.api_port):
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                connection.settimeout(0.05)
                with contextlib.suppress(OSError):
                    connection.sendall(data)
                    while connection.recv(1 << 16):
                        pass

    return run


def of_offer(text):
    def run(server):
        for kind in ("whip", "whep"):
            response = rtc_offers.call(
                server.api_port, "POST", f"/rtc/v1/{kind}/?app=live&stream=bad", text.encode(), **rtc_offers.SDP
            )
            assert 400 <= response.status < 500, response.describe()

    return run


def of_a_peer(attack):
    """An attack by one who has the keys, on a publisher and a player of its own."""

    def run(server):
        async def scene():
            async with rtc_scene.Scene(server) as scene:
                await attack(scene)

        asyncio.run(scene())

    return run


async def absurd_rtcp(scene):
    for who in ("publisher", "player"):
        for datagram in rtc_scene.ABSURD.values():
            for _ in range(5):
                scene.send_rtcp(who, datagram)
        for ssrc in range(1, 300):
            scene.send_rtcp(who, rtc_scene.rtcp(201, 0, struct.pack(">I", ssrc)))


async def requests_for_everything(scene):
    video = scene.ssrcs["video"]
    lost = b"".join(struct.pack(">HH", (17 * i) % 0x10000, 0xFFFF) for i in range(290))
    my_ssrc = rtc_scene.MY_SSRC
    for _ in range(many(100)):
        scene.send_rtcp("player", rtc_scene.rtcp(205, 1, struct.pack(">II", my_ssrc, video) + lost))
        scene.send_rtcp("player", rtc_scene.rtcp(206, 1, struct.pack(">II", my_ssrc, video)) * 50)


# --- floods: connections, contexts, offers


def idle_connections(port_of, count):
    def run(server):
        connections = []
        with contextlib.suppress(OSError):
            for _ in range(many(count)):
                connections.append(bad.plain(port_of(server)))
        time.sleep(0.3)
        for connection in connections:
            connection.close()

    return run


def hls_contexts(server):
    """A context of the client's own each, all on few connections."""
    for start in range(0, many(2000), 500):
        with http.Connection(server.http_port) as connection:
            for number in range(start, min(start + 500, many(2000))):
                connection.request("GET", f"/live/watched.m3u8?hls_ctx=c{number:07}")
                connection.read_response()


def offers(kind, hello=b""):
    """More than there may be half-open, never followed; hello: a datagram to each, behind a right request."""

    def run(server):
        text = rtc_raw.offer(direction="sendonly" if kind == "whip" else "recvonly")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            for start in range(0, many(1500), 500):
                with http.Connection(server.api_port) as connection:
                    for number in range(start, min(start + 500, many(1500))):
                        stream = f"flood{number}" if kind == "whip" else "watched"
                        try:
                            session = rtc_raw.Session(server, f"live/{stream}", text, connection, kind)
                        except AssertionError:
                            continue  # refused, as a flood may be
                        if hello:
                            peer.sendto(session.request(), ("127.0.0.1", session.port))
                            peer.sendto(hello, ("127.0.0.1", session.port))

    return run


def datagrams(server):
    """To the media port, by one whom nobody knows."""
    chance = random.Random(3)
    kinds = [rtc_raw.stun(rtc_raw.REQUEST), b"\x80\x60" + bytes(1000), b"\x80\xc8" + bytes(100), b"", b"\xff" * 1400]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        for _ in range(many(30_000)):
            peer.sendto(chance.choice(kinds) or rtc_raw.garbage(chance), ("127.0.0.1", server.rtc_port))


def garbage_after_consent(server):
    """By one who is verified and never shakes hands."""
    chance = random.Random(4)
    with rtc_raw.Session(server, "live/watched").verify() as session:
        for _ in range(many(20_000)):
            session.send(rtc_raw.garbage(chance))


def ice_frames_of_two_bytes(server):
    """ICE over TCP (RFC 4571): frames of nothing and of two bytes, as fast as one sender can."""
    for frame in (b"\0\0", b"\0\2ab"):
        with socket.create_connection(("127.0.0.1", server.rtc_port), 5) as connection, THE_SERVER_MAY_END_IT:
            end = time.monotonic() + 1
            while time.monotonic() < end:
                connection.sendall(frame * 16_000)


def ice_frames_of_garbage(server):
    for body in (b"\x00\x05hello" + b"\xff\xff" + bytes(100), b"\xff\xff" + bytes(65_535), b"\x00"):
        with socket.create_connection(("127.0.0.1", server.rtc_port), 5) as connection, THE_SERVER_MAY_END_IT:
            connection.sendall(body * 10)


# --- floods: what a publisher can send


def publisher_that(send):
    """send: what it does with a client that publishes, and has sent its headers."""

    def run(server):
        client = bad.publishing(server, f"flood_{send.__name__}")
        # What the server acknowledges must not fill its socket.
        drain = threading.Thread(target=_drain, args=(client,), daemon=True)
        drain.start()
        with THE_SERVER_MAY_END_IT:
            send(client)
        with THE_SERVER_MAY_END_IT:
            client.socket.shutdown(socket.SHUT_RDWR)
        drain.join()
        client.close()

    return run


def _drain(client):
    with contextlib.suppress(OSError):
        while client.socket.recv(1 << 16):
            pass


def keyframe(size):
    frame = next(tag for tag in media.tags(media.plain()) if flv.is_keyframe(tag))
    unit = b"\x65" + bytes(size)
    return frame._replace(body=frame.body[:5] + len(unit).to_bytes(4, "big") + unit)


def large_keyframes_at_one_time(client):
    body = keyframe(1_000_000)
    for _ in range(many(400)):
        client.send_tag(body._replace(timestamp=0))


def an_aggregate(*tags):
    """Of (type, time, body)."""
    out = b""
    for kind, timestamp, body in tags:
        out += bytes([kind]) + len(body).to_bytes(3, "big") + timestamp.to_bytes(3, "big") + bytes(4) + body
        out += (len(body) + 11).to_bytes(4, "big")
    return out


def aggregates_with_one_frame(client):
    """Fifteen megabytes of another type beside a small frame."""
    small = keyframe(100).body
    for number in range(many(40)):
        body = an_aggregate((flv.VIDEO, 0, small), (flv.SCRIPT, 0, bytes(15_000_000)))
        client.send(rtmp.Message(rtmp.AGGREGATE, number, body, client.stream_id), 6)


def an_aggregate_of_many_frames(client):
    """Frames of two bytes: 900,000 of them in one message."""
    one = an_aggregate((flv.AUDIO, 0, b"\xaf\x01"))
    client.send(rtmp.Message(rtmp.AGGREGATE, 0, one * 900_000, client.stream_id), 6)


def frames_of_no_bytes(client):
    for number in range(many(100_000)):
        client.send(rtmp.Message(rtmp.AUDIO, number, b"\xaf\x01", client.stream_id), 4)


def metadata_again_and_again(client):
    body = bad.amf0.encode("@setDataFrame", "onMetaData", {f"key{i}": "x" * 100 for i in range(500)})
    for number in range(many(200)):
        client.send(rtmp.Message(rtmp.DATA, number, body, client.stream_id), 4)


def headers_again_and_again(client):
    header = next(tag for tag in media.tags(media.plain()) if tag.type == flv.VIDEO and flv.is_sequence_header(tag))
    for number in range(many(1_000)):
        client.send_tag(header._replace(timestamp=number, body=header.body + bytes([number % 256])))
        client.send_tag(keyframe(10)._replace(timestamp=number))


def wild_times(client):
    for tag in bad.wild_times():
        client.send_tag(tag)


# --- floods: what a player can ask for


def players_of_many_kinds(server):
    """Each with a message stream id, and a chunk size, of its own."""
    players = []
    for number in range(1, 101):
        client = rtmp.Client("127.0.0.1", server.rtmp_port, receive_buffer=4096).handshake()
        players.append(client)
        client.connect("live")
        client.set_chunk_size(128 + number)
        client.play("watched", stream_id=number, wait=False)
    time.sleep(1)
    for client in players:
        client.close()


def commands_without_an_end(server):
    client = bad.connected(server)
    words = ("play", "pause", "seek", "closeStream", "FCUnpublish")
    with THE_SERVER_MAY_END_IT:
        for number in range(many(20_000)):
            client.send_command(words[number % 5], None, "x", stream_id=number % 7)
    client.close()


def names(server):
    """Streams, playlists and files of which there are none, by names without an end."""
    chance = random.Random(5)
    for _ in range(many(4)):
        with http.Connection(server.http_port) as connection:
            for _ in range(500):
                name = "".join(chance.choices("abc%2f.~", k=chance.randrange(1, 200)))
                connection.request("GET", f"/live/{name}.{chance.choice(('flv', 'm3u8', 'ts', 'mp4'))}")
                if connection.read_head().status != 404:
                    break
                connection.buffer = b""
                break


def _all():
    for name, misbehave in bad.CASES.items():
        yield name, of_connections(misbehave)
    for table in ("TRAVERSALS", "SMUGGLING", "OVERSIZED", "SLOW"):
        for name, value in getattr(http_attacks, table).items():
            data = value if isinstance(value, bytes) else value[0]
            if table == "TRAVERSALS":
                data = b"GET " + value.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            yield f"HTTP, {table.lower()}: {name}", of_bytes(data)
    for name, text in rtc_offers.bad_offers():
        yield f"an offer: {name}", of_offer(text)
    yield "absurd RTCP", of_a_peer(absurd_rtcp)
    yield "NACK and PLI without an end", of_a_peer(requests_for_everything)
    for name, port_of in {
        "RTMP": lambda server: server.rtmp_port,
        "HTTP": lambda server: server.http_port,
        "API": lambda server: server.api_port,
        "ICE": lambda server: server.rtc_port,
    }.items():
        yield f"700 idle connections, {name}", idle_connections(port_of, 700)
    yield "HLS contexts", hls_contexts
    yield "WHEP offers", offers("whep")
    yield "WHIP offers", offers("whip")
    yield "WHEP offers with a hello", offers("whep", b"\x16\xfe\xfd" + bytes(10) + b"\x01" + bytes(200))
    yield "datagrams of a stranger", datagrams
    yield "garbage after consent", garbage_after_consent
    yield "ICE frames of two bytes", ice_frames_of_two_bytes
    yield "ICE frames of garbage", ice_frames_of_garbage
    yield "keyframes of 1 MB at one time", publisher_that(large_keyframes_at_one_time)
    yield "aggregates with one frame", publisher_that(aggregates_with_one_frame)
    yield "an aggregate of 900,000 frames", publisher_that(an_aggregate_of_many_frames)
    yield "100,000 frames of no bytes", publisher_that(frames_of_no_bytes)
    yield "metadata again and again", publisher_that(metadata_again_and_again)
    yield "sequence headers again and again", publisher_that(headers_again_and_again)
    yield "wild times", publisher_that(wild_times)
    yield "players of a hundred kinds", players_of_many_kinds
    yield "commands without an end", commands_without_an_end
    yield "names of nothing", names


CASES = dict(_all())
