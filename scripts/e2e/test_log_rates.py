"""What a client, or a condition that lasts, can make the server write into its log: a line when it begins and one when it
is over, or a few and then one a second that tells how many were left out."""

import os
import re
import struct
import time

from lib import api, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

DENY = "vhost denied.example { security { enabled on; deny play all; } http_remux { enabled on; mount [vhost]/[app]/[stream].flv; wait_publisher on; } }"
FLOOD = 600


def test_a_viewer_that_drains_for_long_is_two_lines(servers):
    server = servers(vhosts=default_vhost(play="queue_length 60;", rejoin=300))
    tags = media.from_keyframe(media.plain())
    key = next(tag for tag in tags if flv.is_frame(tag) and tag.type == flv.VIDEO)
    large = b"\x27\x01\0\0\0" + struct.pack(">I", 40_000) + b"\x41" + os.urandom(39_999)
    frames = [flv.Tag(flv.VIDEO, key.timestamp + 20 * n, large) for n in range(1, 301)]
    with rtmp.publisher(server, "live", "s") as publisher:
        publishing.send_all(publisher, [tag for tag in tags if not flv.is_frame(tag)] + [key])
        slow = rtmp.player(server, "live", "s", receive_buffer=32_768, timeout=scaled(20))
        publishing.send_all(publisher, frames)
        with rtmp.player(server, "live", "s") as bystander:
            wait_until(lambda: any(tag.type == flv.VIDEO for tag in bystander.tags()), 10, "it sees the stream")
    begins = r"the publisher has not come back for 300 ms, its \d+ viewers are ended"
    server.wait_log(begins, 10)
    time.sleep(1.5)  # it does not read yet: fifteen passes of the housekeeping
    while not slow.ended:
        slow.tags()
    server.wait_log(r"live/s: its viewers had what there was after \d+ ms", 10)
    lines = re.findall(begins, server.log())
    assert len(lines) == 1, f"one line when it begins, there are {len(lines)}"


def lines_of(server, pattern):
    """How many lines there are, and how many they say were left out."""
    found = [line for line in server.log().splitlines() if re.search(pattern, line)]
    return len(found), sum(int(count) for line in found for count in re.findall(r"\((\d+) more like it", line))


def check_flood(server, flood, pattern, last):
    began = time.monotonic()
    flood()
    time.sleep(1.1)
    last()  # this line tells of those before it
    wait_until(lambda: sum(lines_of(server, pattern)) >= FLOOD + 1, 5, lambda: f"all are counted: {lines_of(server, pattern)}")
    lines, left_out = lines_of(server, pattern)
    most = 21 + int(time.monotonic() - began) + 1
    assert lines <= most and lines + left_out == FLOOD + 1, f"{lines} lines of at most {most}, {left_out} left out"


def test_floods_of_refusals_are_a_few_lines(servers):
    server = servers(top=api.CONF % "", vhosts=default_vhost() + DENY)
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.from_keyframe(media.plain())) as steady:
        with rtmp.player(server, "live", "s") as bystander:

            def plays(count=FLOOD):
                connection = http.Connection(server.http_port)
                for _ in range(count):
                    connection.request("GET", "/live/x.flv", Host="denied.example")
                    assert connection.read_response().status == 403

            check_flood(server, plays, r"play of denied\.example/live/x by .* refused", lambda: plays(1))

            def bad_heads(count=FLOOD):
                for _ in range(count):
                    with http.Connection(server.http_port) as connection:
                        connection.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
                        assert connection.read_head().status == 400

            check_flood(server, bad_heads, r"HTTP request from .* refused with 400", lambda: bad_heads(1))
            assert api.ask(server, "/api/v1/versions")["data"]["version"]
            wait_until(lambda: any(tag.type == flv.VIDEO for tag in bystander.tags()), 10, "the bystander sees the stream")
        assert steady.error is None
