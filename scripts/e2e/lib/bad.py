"""Peers that misbehave. Each function misbehaves towards a server and returns the connections it made, which the server
is to close."""

import os
import random
import socket
import struct

from . import amf0, flv, http, media, rtmp


def plain(port, data=b""):
    connection = socket.create_connection(("127.0.0.1", port), 10)
    if data:
        connection.sendall(data)
    return connection


def handshaken(server, scheme=None):
    return rtmp.Client("127.0.0.1", server.rtmp_port, scheme=scheme).handshake()


def connected(server):
    client = handshaken(server)
    client.connect("live")
    return client


def quietly(client, *pieces):
    """Sends what may be answered by a reset before all of it is out."""
    try:
        for piece in pieces:
            client.socket.sendall(piece)
    except OSError:
        pass
    return [client]


def publishing(server, name="bad", headers=True):
    client = rtmp.publisher(server, "live", name)
    if headers:
        for tag in media.tags(media.plain())[:20]:
            client.send_tag(tag)
    return client


# --- handshake


def random_bytes(server):
    return [plain(server.rtmp_port, random.Random(seed).randbytes(4000)) for seed in range(20)]


def http_on_the_rtmp_port(server):
    return [plain(server.rtmp_port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + b" " * 1600)]


def handshake_stalls(server):
    c1 = rtmp.make_c1()
    return [
        plain(server.rtmp_port, piece) for piece in (b"", b"\3", b"\3" + c1[:700], b"\3" + c1, b"\3" + c1 + c1[:700])
    ]


def handshake_then_silence(server):
    return [handshaken(server, scheme) for scheme in (None, 0, 1)]


def connect_then_silence(server):
    return [connected(server)]


# --- chunks


def random_chunks(server):
    clients = []
    for seed in range(20):
        clients += quietly(handshaken(server), random.Random(seed).randbytes(100000))
    return clients


def half_a_chunk(server):
    return quietly(connected(server), rtmp.chunks(rtmp.Message(rtmp.COMMAND, 0, bytes(100)), 3)[:50])


def half_a_chunk_header(server):
    return quietly(connected(server), b"\x03\x00\x00")


def half_a_chunk_and_gone(server):
    client = connected(server)
    quietly(client, rtmp.chunks(rtmp.Message(rtmp.COMMAND, 0, bytes(100)), 3)[:50])
    client.socket.shutdown(socket.SHUT_WR)
    return [client]


def set_chunk_size(size):
    def misbehave(server):
        return quietly(
            handshaken(server), rtmp.chunks(rtmp.Message(rtmp.SET_CHUNK_SIZE, 0, struct.pack(">I", size)), 2)
        )

    return misbehave


def short_control_message(server):
    return quietly(handshaken(server), rtmp.chunks(rtmp.Message(rtmp.SET_CHUNK_SIZE, 0, b"\0\1"), 2))


def longest_message_never_sent(server):
    head = rtmp.basic_header(0, 3) + b"\0\0\0" + b"\xff\xff\xff" + bytes([rtmp.COMMAND]) + bytes(4)
    return quietly(connected(server), head + bytes(128))


def many_longest_messages(server):
    """On 40 chunk streams of each of 5 connections: 3 GB, if a server believed it."""
    clients = []
    for _ in range(5):
        heads = [
            rtmp.basic_header(0, csid) + b"\0\0\0" + b"\xff\xff\xff" + bytes([rtmp.VIDEO]) + bytes(4) + bytes(128)
            for csid in range(3, 43)
        ]
        clients += quietly(connected(server), *heads)
    return clients


def type_3_chunk_first(server):
    return quietly(handshaken(server), rtmp.basic_header(3, 3) + bytes(128))


def type_2_chunk_first(server):
    return quietly(handshaken(server), rtmp.basic_header(2, 7) + b"\0\0\1" + bytes(128))


def ten_thousand_chunk_streams(server):
    client = connected(server)
    for csid in range(64, 10064):
        quietly(
            client, rtmp.basic_header(0, csid) + b"\0\0\0" + b"\0\1\0" + bytes([rtmp.VIDEO]) + bytes(4) + bytes(128)
        )
    return [client]


def broken_aggregate(server):
    client = publishing(server)
    body = bytes([9]) + (1000).to_bytes(3, "big") + bytes(7) + b"\x17\x01"
    return quietly(client, rtmp.chunks(rtmp.Message(rtmp.AGGREGATE, 0, body, client.stream_id), 6, 60000))


# --- AMF


def raw_command(client, payload):
    return quietly(client, rtmp.chunks(rtmp.Message(rtmp.COMMAND, 0, payload), 3))


def amf_nested_deep(server):
    nested = b"\x03\x00\x01a" * 10000 + b"\x05" + b"\x00\x00\x09" * 10000
    return raw_command(handshaken(server), amf0.encode("connect", 1) + nested) + raw_command(
        handshaken(server), amf0.encode("connect", 1) + b"\x0a\0\0\0\1" * 10000 + b"\x05"
    )


def amf_string_too_long(server):
    return (
        raw_command(handshaken(server), b"\x02" + struct.pack(">H", 60000) + b"connect")
        + raw_command(handshaken(server), amf0.encode("connect", 1) + b"\x0c" + struct.pack(">I", 0xFFFFFFF0) + b"x")
        + raw_command(handshaken(server), amf0.encode("connect", 1) + b"\x03" + struct.pack(">H", 60000) + b"app")
    )


def amf_array_too_long(server):
    return raw_command(handshaken(server), amf0.encode("connect", 1) + b"\x0a\xff\xff\xff\xff")


def amf_unknown_marker(server):
    return raw_command(handshaken(server), b"\x7f\x7f\x7f")


def publish_before_connect(server):
    return raw_command(handshaken(server), amf0.encode("publish", 1, None, "x", "live"))


# --- media


def empty_tag(kind):
    def misbehave(server):
        client = publishing(server)
        client.send_tag(flv.Tag(kind, 1000, b""))
        return [client]

    return misbehave


def wrong_avc_length_prefix(server):
    client = publishing(server)
    frame = next(tag for tag in media.tags(media.plain()) if flv.is_keyframe(tag))
    client.send_tag(frame._replace(timestamp=1000, body=frame.body[:5] + b"\x7f\xff\xff\xff" + frame.body[9:]))
    return [client]


def broken_avc_sequence_header(server):
    client = publishing(server, headers=False)
    client.send_tag(flv.Tag(flv.VIDEO, 0, bytes.fromhex("1700000000" "0164001fffe1ffff67")))
    return [client]


def broken_metadata(server):
    client = publishing(server)
    client.send(
        rtmp.Message(
            rtmp.DATA, 0, amf0.encode("@setDataFrame", "onMetaData") + b"\x08\0\0\0\1\xff\xffwidth", client.stream_id
        ),
        4,
    )
    return [client]


# --- HTTP and WebSocket


def random_http(server):
    return [plain(server.http_port, random.Random(seed).randbytes(4000)) for seed in range(20)]


def endless_header(server):
    connection = plain(server.http_port, b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
    try:
        for _ in range(100):
            connection.sendall(b"a" * 10000)
    except OSError:
        pass
    return [connection]


def silent_http(server):
    return [plain(server.http_port, piece) for piece in (b"", b"GET", b"GET / HTTP/1.1\r\nHost: x\r\n")]


def websocket_sends(first, rest=b""):
    """A WebSocket viewer that sends these raw bytes."""

    def misbehave(server):
        viewer = http.WebSocket(server.http_port, "/live/watched.flv")
        assert viewer.response.status == 101, viewer.response.describe()
        viewer.send(first + rest)
        return [viewer]

    return misbehave


UNMASKED = websocket_sends(b"\x81\x05hello")
RESERVED_BITS = websocket_sends(b"\xf1\x80" + os.urandom(4))
HUGE_MESSAGE = websocket_sends(b"\x82\xff" + struct.pack(">Q", 1 << 62) + bytes(4))
LONG_CONTROL = websocket_sends(b"\x89\xfe" + struct.pack(">H", 1000) + bytes(4), bytes(1000))


# --- viewers


def rtmp_viewer(server, stream):
    client = rtmp.Client("127.0.0.1", server.rtmp_port, receive_buffer=2048).handshake()
    client.connect("live")
    client.play(stream, wait=False)
    return client


def http_viewer(server, stream):
    return http.Live(server.http_port, f"/live/{stream}.flv", receive_buffer=2048, wait=False)


def wild_times():
    """Times as no encoder should have them: back by a second and by an hour, far ahead, over the wrap of 32 bits."""
    frames = flv.frames(media.from_keyframe(media.plain()))[:400]
    starts = [5000, 4000, 3600_000, 0, 0x7FFFFFF0, 0xFFFFFF - 200, 0xFFFFFFFF - 400, 100]
    part = len(frames) // len(starts)
    for index, start in enumerate(starts):
        base = frames[index * part].timestamp
        for tag in frames[index * part : (index + 1) * part]:
            yield tag._replace(timestamp=(tag.timestamp - base + start) & 0xFFFFFFFF)


# Each misbehaves on connections of its own, and returns them.
CASES = {
    "random bytes": random_bytes,
    "HTTP on the RTMP port": http_on_the_rtmp_port,
    "a handshake that stalls": handshake_stalls,
    "silence after the handshake": handshake_then_silence,
    "silence after connect": connect_then_silence,
    "random chunks": random_chunks,
    "half a chunk": half_a_chunk,
    "half a chunk header": half_a_chunk_header,
    "half a chunk, then the end": half_a_chunk_and_gone,
    "chunk size 0": set_chunk_size(0),
    "chunk size 2^31": set_chunk_size(1 << 31),
    "a short control message": short_control_message,
    "a message of 16 MiB never sent": longest_message_never_sent,
    "many messages of 16 MiB never sent": many_longest_messages,
    "a type 3 chunk first": type_3_chunk_first,
    "a type 2 chunk first": type_2_chunk_first,
    "10,000 chunk streams": ten_thousand_chunk_streams,
    "a broken aggregate": broken_aggregate,
    "AMF nested 10,000 deep": amf_nested_deep,
    "strings longer than their message": amf_string_too_long,
    "an array longer than its message": amf_array_too_long,
    "an unknown AMF type": amf_unknown_marker,
    "publish before connect": publish_before_connect,
    "a video tag of length 0": empty_tag(flv.VIDEO),
    "an audio tag of length 0": empty_tag(flv.AUDIO),
    "a wrong AVC length prefix": wrong_avc_length_prefix,
    "a broken AVC sequence header": broken_avc_sequence_header,
    "broken metadata": broken_metadata,
    "random bytes to HTTP": random_http,
    "an endless HTTP header": endless_header,
    "silence to HTTP": silent_http,
    "an unmasked WebSocket frame": UNMASKED,
    "reserved WebSocket bits": RESERVED_BITS,
    "a huge WebSocket message": HUGE_MESSAGE,
    "a long WebSocket ping": LONG_CONTROL,
}
