"""Input whose end does not come: it is counted for its address, for all and for its stream, whatever the protocol, and it
is dropped after a time. What cannot be unfinished for long by its protocol (HTTP heads and bodies) is in test_attacks.py."""

import struct

import pytest

from lib import api, media, rtmp, rtsp
from lib.server import default_vhost
from lib.timing import SLOW, scaled

MB = 1 << 20
API = api.CONF % ""
PATIENT = "firstpkt_timeout 60000; normal_timeout 60000;"


def begun(kind, csid=6, size=0xFFFFFF, stream_id=1):
    """The head of a chunk that announces so many bytes."""
    return bytes([csid]) + b"\0\0\0" + size.to_bytes(3, "big") + bytes([kind]) + struct.pack("<I", stream_id)


def pour(client, data):
    """False: the server closed."""
    try:
        client.socket.sendall(data)
        return True
    except OSError:
        return False


def is_closed(client):
    client.socket.settimeout(scaled(5))
    try:
        while client.socket.recv(65536):
            pass
        return True
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def grown_kb(server, before):
    return server.rss_kb() - before


@pytest.mark.parametrize("kind", [rtmp.COMMAND, rtmp.DATA, rtmp.VIDEO], ids=["command", "data", "video"])
def test_large_messages_before_publishing(servers, kind):
    """40 messages of 16 MB that never end: 520 MB were kept before anything was known of their clients."""
    server = servers(top=API)
    before = server.rss_kb()
    clients = [rtmp.Client("127.0.0.1", server.rtmp_port).handshake() for _ in range(40)]
    for client in clients:
        pour(client, begun(kind, 3, stream_id=0) + bytes(128))
    assert all(is_closed(client) for client in clients), "each of them is closed at the announcement"
    assert SLOW > 1 or grown_kb(server, before) < 20_000, f"{grown_kb(server, before)} kB more"
    api.ended(server, rf"a message of type {kind} with 16777215 bytes: at most 65536 are accepted")


def test_publishers_of_one_address(servers):
    """20 publishers with an unfinished message each had 340 MB. Another address publishes beside them."""
    server = servers(
        top=API + "address_limits { exempt none; input_memory 32; }\n",
        vhosts=default_vhost("min_latency on;", publish=PATIENT),
    )
    beside = rtmp.publisher(server, "live", "beside", source="127.0.0.2")
    before = server.rss_kb()
    publishers = [rtmp.publisher(server, "live", f"s{i}", chunk_size=0xFFFFFF) for i in range(20)]
    for publisher in publishers:
        pour(publisher, begun(rtmp.VIDEO, stream_id=publisher.stream_id) + bytes(15 * MB))
    api.ended(server, r"unfinished input of \d+ kB from this address \(address_limits.input_memory\)", reason="refused-limit")
    assert SLOW > 1 or grown_kb(server, before) < 60_000, f"{grown_kb(server, before)} kB more"
    assert not is_closed_now(beside), "another address is not concerned"
    for publisher in [*publishers, beside]:
        publisher.close()


def is_closed_now(client):
    client.socket.setblocking(False)
    try:
        return client.socket.recv(65536) == b""
    except BlockingIOError:
        return False
    finally:
        client.socket.setblocking(True)


def test_unfinished_messages_belong_to_the_stream(servers):
    """And with it to total_stream_memory, of which all unfinished input may have a quarter, or 32 MB."""
    server = servers(
        top=API + "total_stream_memory 64;\n",
        vhosts=default_vhost("min_latency on; stream_memory 12;", publish=PATIENT),
    )
    before = server.rss_kb()
    first = rtmp.publisher(server, "live", "first", chunk_size=0xFFFFFF)
    pour(first, begun(rtmp.VIDEO, stream_id=first.stream_id) + bytes(4 * MB))
    api.wait_stream(server, "first", lambda stream: 4 * MB <= stream["memory"]["input"] <= stream["memory"]["total"])
    pour(first, bytes(10 * MB))
    # Its connection may be open until it sends more, or is silent for too long.
    server.wait_log(r"live/first: its publisher is ended: 12 MB of memory are not enough")
    # Loopback is exempt from what an address may have, but not from what all may.
    publishers = [rtmp.publisher(server, "live", f"s{i}", chunk_size=0xFFFFFF) for i in range(12)]
    for publisher in publishers:
        pour(publisher, begun(rtmp.VIDEO, stream_id=publisher.stream_id) + bytes(8 * MB))
    api.ended(server, r"unfinished input of \d+ kB in all", reason="refused-limit")
    assert SLOW > 1 or grown_kb(server, before) < 90_000, f"{grown_kb(server, before)} kB more"
    for publisher in [first, *publishers]:
        publisher.close()


def test_fragments_by_rtsp(servers):
    """Five publishers with eight tracks of endless fragments each had 361 MB."""
    server = servers(
        top=API + "address_limits { exempt none; input_memory 16; }\nrtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }\n",
        vhosts=default_vhost("rtsp { enabled on; publish on; }", publish=PATIENT),
    )
    before = server.rss_kb()
    tags = media.tags(media.plain())
    clients = []
    fragment = bytes([0x7C, 0x05]) + bytes(60_000)
    for number in range(3):
        client = rtsp.Publisher(server.rtc_port)
        clients.append(client)
        client.record(rtsp.url(server, f"live/s{number}"), tags)
        try:
            for index in range(130):
                payload = bytes([0x7C, 0x85]) + fragment[2:] if index == 0 else fragment
                client.send_packet(0, struct.pack("!BBHII", 0x80, 96, index, 0, 1000) + payload)
        except OSError:
            pass  # it was closed
    api.ended(server, r"unfinished input of \d+ kB from this address", reason="refused-limit")
    assert SLOW > 1 or grown_kb(server, before) < 60_000, f"{grown_kb(server, before)} kB more"
    assert any(api.streams(server)[f"s{number}"]["publish"]["active"] for number in range(3)), "the first may stay"
    for client in clients:
        client.close()
