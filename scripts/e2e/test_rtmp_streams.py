"""Several message streams on one RTMP connection: plays beside plays, and beside publishing."""

import threading
import time
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


def status_codes(messages):
    commands = [message.command() for message in messages if message.type == rtmp.COMMAND]
    return {values[3]["code"] for values in commands if values[0] == "onStatus"}


@pytest.mark.valgrind
@pytest.mark.parametrize("way", ["rtmp", "rtmps"])
def test_two_plays_get_both_streams_whole(server, way):
    """The client's buffer is small, so that messages are sent in pieces and the streams have to take turns."""
    sources = {"a": media.tags(media.plain()), "b": media.tags(media.with_b_frames())}
    secure = {"port": server.rtmps_port, "tls": True} if way == "rtmps" else {}
    with client_of(server, receive_buffer=4096, **secure) as client:
        ids = {name: client.play(name) for name in sources}
        assert ids["a"] != ids["b"], f"each play should have a stream of its own: {ids}"
        publishers = Publishing(server, sources)
        got = defaultdict(list)
        tags_by_stream(client, got)
        publishers.finish()
    assert set(got) <= {0, *ids.values()}, f"frames should come on the streams {ids}, they came on {set(got)}"
    for name, tags in sources.items():
        flv.assert_same(tags, got[ids[name]], f"the play of {name}")


@pytest.mark.parametrize("command", ["closeStream", "deleteStream"])
def test_the_end_of_one_play_leaves_the_other(server, command):
    sources = {"a": media.tags(media.with_b_frames()), "b": media.tags(media.plain())}
    with client_of(server) as client:
        ids = {name: client.play(name) for name in sources}
        publishers = Publishing(server, sources)
        got = defaultdict(list)
        tags_by_stream(client, got, until=lambda _: len(flv.frames(got[ids["a"]])) > 20)
        if command == "closeStream":
            client.send_command(command, None, stream_id=ids["a"], answered=False)
        else:
            client.send_command(command, None, ids["a"], answered=False)
        barrier = client.send_command("getStreamLength", None, "b")

        def answered(messages):
            commands = [message.command() for message in messages if message.type == rtmp.COMMAND]
            return any(values[0] == "_result" and values[1] == barrier for values in commands)

        tags_by_stream(client, got, until=answered)
        of_a = len(got[ids["a"]])
        tags_by_stream(client, got)
        publishers.finish()
    after = got[ids["a"]][of_a:]
    # The bytes that the answer came with may hold what was sent before it was.
    assert len(after) <= 1, f"nothing of a closed stream should come, {len(after)} tags came: {after[-1].describe()}"
    published = sum(map(flv.is_frame, sources["a"]))
    assert of_a < published, "the play was to be closed in the middle"
    flv.assert_same(sources["b"], got[ids["b"]], "the play that was not closed")


def test_pause_and_receive_audio_act_on_their_stream(server):
    """One stream is paused and another has no audio, and the third on the same connection is whole."""
    tags = media.tags(media.plain())
    with client_of(server) as client:
        paused, silent, whole = (client.play("a") for _ in range(3))
        client.send_command("pause", None, True, 0, stream_id=paused, answered=False)
        client.send_command("receiveAudio", None, False, stream_id=silent, answered=False)
        client.wait_status("NetStream.Pause.Notify")
        client.wait_result(client.send_command("getStreamLength", None, "a"), "getStreamLength")
        publishers = Publishing(server, {"a": tags})
        got = defaultdict(list)
        tags_by_stream(client, got)
        publishers.finish()
    assert not flv.frames(got[paused]), f"{len(got[paused])} tags came on the paused stream"
    flv.assert_same(tags, got[whole], "the play beside a paused one")
    video = [tag for tag in tags if tag.type != flv.AUDIO]
    flv.assert_same(video, got[silent], "the play without audio")
    assert not [tag for tag in got[silent] if tag.type == flv.AUDIO], "no audio was wanted"


def test_ends_are_told_one_by_one(server):
    sources = {"a": media.tags(media.plain())[:60], "b": media.tags(media.plain())}
    with client_of(server) as client:
        ids = {name: client.play(name) for name in sources}
        publishers = Publishing(server, sources)
        got, codes = defaultdict(list), set()

        def a_has_ended(messages):
            codes.update(status_codes(messages))
            return "NetStream.Play.UnpublishNotify" in codes

        tags_by_stream(client, got, until=a_has_ended)
        tags_by_stream(client, got)
        publishers.finish()
    for name, tags in sources.items():
        flv.assert_same(tags, got[ids[name]], f"the play of {name}")


def test_plays_and_publishes_at_once(server):
    """A stream comes in while another goes out, and the end of the played one is no end of the published one."""
    incoming, outgoing = media.tags(media.plain())[:200], media.tags(media.with_b_frames())
    own = publishing.Collector(rtmp.player(server, "live", "out", timeout=scaled(30)))
    with client_of(server) as client:
        client.set_chunk_size(60000)
        playing_id = client.play("in")
        client.stream_id = client.publish("out")
        got = defaultdict(list)
        publishers = Publishing(server, {"in": incoming})
        begin = time.monotonic()
        client.socket.settimeout(0.01)
        for tag in outgoing:
            while (time.monotonic() - begin) * SPEED < tag.timestamp / 1000:
                try:
                    for message in client.messages():
                        got[message.stream_id] += rtmp.tags_of([message])
                except TimeoutError:
                    pass
            client.socket.settimeout(scaled(20))
            client.send_tag(tag)
            client.socket.settimeout(0.01)
        publishers.finish()
    flv.assert_same(outgoing, own.finish(scaled(30), "the player of what is published"), "what is published")
    flv.assert_same(incoming, got[playing_id], "what is played beside it")


def test_a_refused_play_disturbs_nothing(server):
    tags = media.tags(media.plain())
    with client_of(server) as client:
        stream_id = client.play("a")
        with pytest.raises(rtmp.Refused):
            client.play("no..name")
        publishers = Publishing(server, {"a": tags})
        got = defaultdict(list)
        tags_by_stream(client, got)
        publishers.finish()
    flv.assert_same(tags, got[stream_id], "the play beside a refused one")
