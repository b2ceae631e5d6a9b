"""One RTMP connection plays or publishes one stream at a time: others follow when it has ended, and are refused before."""

import threading
from collections import defaultdict

import pytest

from lib import flv, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled

SPEED = 16  # times real time


@pytest.fixture
def server(servers, certificate):
    key, cert = certificate
    return servers(
        top=f"rtmps {{ enabled on; listen 127.0.0.1:RTMPS_PORT; key {key}; cert {cert}; }}",
        vhosts=default_vhost(play="mw_latency 50;"),
    )


def client_of(server, **options):
    client = rtmp.Client("127.0.0.1", options.pop("port", server.rtmp_port), timeout=scaled(20), **options).handshake()
    client.connect("live")
    return client


class Publishing:
    """Publishes some files at once, each on a connection of its own, from threads."""

    def __init__(self, server, sources):
        self.clients = [rtmp.publisher(server, "live", name) for name in sources]
        self.threads = [
            threading.Thread(target=self._run, args=(client, tags))
            for client, tags in zip(self.clients, sources.values())
        ]
        for thread in self.threads:
            thread.start()

    def _run(self, client, tags):
        with client:
            publishing.send_all(client, tags, SPEED)

    def finish(self):
        for thread in self.threads:
            thread.join(scaled(60))


def tags_by_stream(client, got, until=None):
    """Adds what comes, by message stream id, until the connection ends or until(messages) is true."""
    try:
        while True:
            messages = client.messages()
            for message in messages:
                got[message.stream_id] += rtmp.tags_of([message])
            if until and until(messages):
                return
    except ConnectionError:
        assert until is None, "the server closed the connection"


@pytest.mark.valgrind
@pytest.mark.parametrize("way", ["rtmp", "rtmps"])
@pytest.mark.parametrize("command", ["closeStream", "deleteStream"])
def test_plays_follow_each_other(server, way, command):
    """The client's buffer is small, so that messages are sent in pieces. Nothing of a closed stream follows the next."""
    sources = {"a": media.tags(media.with_b_frames()), "b": media.tags(media.plain())}
    secure = {"port": server.rtmps_port, "tls": True} if way == "rtmps" else {}
    with client_of(server, receive_buffer=4096, **secure) as client:
        stream_id = client.play("a")
        publishers = Publishing(server, {"a": sources["a"]})
        got = defaultdict(list)
        tags_by_stream(client, got, until=lambda _: len(flv.frames(got[stream_id])) > 20)
        if command == "closeStream":
            client.send_command(command, None, stream_id=stream_id, answered=False)
        else:
            client.send_command(command, None, stream_id, answered=False)
        assert client.play("b") == stream_id, "a connection has one message stream"
        got.clear()
        second = Publishing(server, {"b": sources["b"]})
        tags_by_stream(client, got)
        publishers.finish()
        second.finish()
    flv.assert_same(sources["b"], got[stream_id], "the second play")


@pytest.mark.parametrize("second", ["play", "publish"])
def test_a_second_stream_beside_a_play_is_refused(server, second):
    tags = media.tags(media.plain())
    with client_of(server) as client:
        stream_id = client.play("a")
        with pytest.raises(rtmp.Refused, match="the connection plays a stream already"):
            getattr(client, second)("b")
        publishers = Publishing(server, {"a": tags})
        got = defaultdict(list)
        tags_by_stream(client, got)
        publishers.finish()
    flv.assert_same(tags, got[stream_id], "the play beside a refused request")


@pytest.mark.parametrize("second", ["play", "publish"])
def test_a_second_stream_beside_a_publication_is_refused(server, second):
    tags = media.tags(media.plain())
    own = publishing.Collector(rtmp.player(server, "live", "out", timeout=scaled(30)))
    with rtmp.publisher(server, "live", "out") as client:
        with pytest.raises(rtmp.Refused, match="the connection publishes a stream already"):
            getattr(client, second)("b")
        publishing.send_all(client, tags, SPEED)
    flv.assert_same(tags, own.finish(scaled(30), "the player of what is published"), "what is published")
