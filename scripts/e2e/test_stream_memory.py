"""What a stream may hold in memory: whatever its publisher sends and its players ask for, it stays within its limit, by
allocation and not by payload, and who plays and publishes beside it has all of it in time."""

import threading
import time

import pytest

from lib import flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until

MB = 1 << 20


def headers():
    return [tag for tag in media.tags(media.plain()) if flv.is_sequence_header(tag) and tag.type == flv.VIDEO][:1]


def picture(timestamp, size, keyframe=True):
    """A video tag of H.264 with so many bytes behind its header."""
    unit = (b"\x65" if keyframe else b"\x41") + bytes(size - 5)
    head = (b"\x17" if keyframe else b"\x27") + b"\1\0\0\0"
    return flv.Tag(flv.VIDEO, timestamp, head + len(unit).to_bytes(4, "big") + unit)


class Grown:
    """How much more memory the server has than at the beginning, the most of it. Under a sanitizer it says nothing."""

    def __init__(self, server):
        self.server, self.before, self.most = server, server.rss_kb(), 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, self.server.rss_kb() - self.before)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def assert_below(self, mb):
        assert SLOW > 1 or self.most < mb * 1024, f"the server should grow by less than {mb} MB, it grew by {self.most} kB"


def test_players_do_not_choose_how_many_logs_there_are(servers):
    """Each of 60 players plays on another message stream id, and is sent all on that. Beside them one that does not."""
    server = servers(vhosts=default_vhost("min_latency on;"))
    with rtmp.publisher(server, "live", "a") as publisher, rtmp.player(server, "live", "a") as bystander:
        for tag in headers():
            publisher.send_tag(tag)
        published = [picture(0, 3 * MB)] + [picture(40 * i, 2000, False) for i in range(1, 4)]
        for tag in published:
            publisher.send_tag(tag)
        players = []
        with Grown(server) as grown:
            for number in range(1, 61):
                stream_id = 2 + number if number % 2 else 0x1000000 * number + number
                player = rtmp.Client("127.0.0.1", server.rtmp_port).handshake()
                player.connect("live")
                player.play("a", stream_id=stream_id, wait=False)
                got = [player.wait_for(lambda m: m.type == rtmp.VIDEO and len(m.payload) > MB, "the keyframe")]
                assert got[0].stream_id == stream_id, f"asked on {stream_id}, it came on {got[0].stream_id}"
                players.append((stream_id, player))
            last = picture(1000, 5000, False)
            publisher.send_tag(last)
            for stream_id, player in players:
                message = player.wait_for(lambda m: m.timestamp == 1000, "the last frame")
                assert (message.stream_id, message.payload) == (stream_id, last.body)
        grown.assert_below(60)
        tags = []
        while not tags or tags[-1].timestamp != 1000:
            tags += bystander.tags()
        flv.assert_same(headers() + published + [last], tags, "the player beside them")
        for _, player in players:
            player.close()
