"""RTMP's commands to a player and a publisher, as clients of all ages use them."""

import struct
import time

import pytest

from lib import amf0, flv, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled


@pytest.fixture
def live(servers):
    server = servers(vhosts=default_vhost(play="mw_latency 0;"))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())) as steady:
        steady.server = server
        time.sleep(0.3)
        yield server
        assert steady.error is None, f"the publisher was disturbed: {steady.error}"


def client_of(server, **options):
    client = rtmp.Client("127.0.0.1", server.rtmp_port, timeout=scaled(5), **options).handshake()
    client.connect("live")
    return client


def kinds_within(client, seconds):
    """The kinds of frames that come within that time."""
    kinds, end = [], time.monotonic() + seconds
    client.socket.settimeout(0.05)
    while time.monotonic() < end:
        try:
            kinds += [tag.type for tag in flv.frames(client.tags())]
        except TimeoutError:
            pass
    client.socket.settimeout(scaled(5))
    return kinds


def test_connect_answer(live):
    with rtmp.Client("127.0.0.1", live.rtmp_port).handshake() as client:
        result = client.connect("live", objectEncoding=0)
        assert result[1]["code"] == "NetConnection.Connect.Success", result
        assert result[1].get("objectEncoding", 0) == 0, result
        assert "fmsVer" in result[0], result


def test_amf3_commands(live):
    """A client that asked for AMF3 sends commands of type 17."""
    with rtmp.Client("127.0.0.1", live.rtmp_port, timeout=scaled(5)).handshake() as client:
        info = {"app": "live", "tcUrl": "rtmp://127.0.0.1/live", "objectEncoding": 3}
        client.wait_result(client.send_command("connect", info), "connect")
        result = client.wait_result(client.send_command("createStream", None, amf3=True), "createStream")
        client.send_command("play", None, "s", stream_id=int(result[1]), amf3=True, answered=False)
        client.wait_status("NetStream.Play.Start")
        while not flv.frames(client.tags()):
            pass


def test_amf3_publisher(live):
    """Commands of type 17 and data of type 15, as a publisher that asked for AMF3 sends them."""
    tags = media.tags(media.plain())[:100]
    with rtmp.Client("127.0.0.1", live.rtmp_port, timeout=scaled(5)).handshake() as client, client_of(live) as viewer:
        viewer.play("amf3")
        info = {"app": "live", "tcUrl": "rtmp://127.0.0.1/live", "objectEncoding": 3}
        result = client.wait_result(client.send_command("connect", info), "connect")
        assert result[1].get("objectEncoding") == 3, f"the server should answer that it takes AMF3: {result}"
        client.set_chunk_size(60000)
        for name in ("releaseStream", "FCPublish"):
            client.send_command(name, None, "amf3", amf3=True)
        result = client.wait_result(client.send_command("createStream", None, amf3=True), "createStream")
        client.stream_id = int(result[1])
        client.send_command("publish", None, "amf3", "live", stream_id=client.stream_id, amf3=True)
        client.wait_status("NetStream.Publish.Start")
        metadata = b"\0" + amf0.encode("@setDataFrame", "onMetaData", {"width": 1234})
        client.send(rtmp.Message(rtmp.DATA_AMF3, 0, metadata, client.stream_id), 4)
        publishing.send_all(client, [tag for tag in tags if tag.type != flv.SCRIPT])
        got = []
        while len(flv.frames(got)) < len(flv.frames(tags)):
            got += viewer.tags()
    values = [amf0.decode(tag.body) for tag in got if tag.type == flv.SCRIPT and b"onMetaData" in tag.body]
    assert values and values[0][1].get("width") == 1234, f"the metadata should come through: {values}"
    flv.assert_same(tags, got, "what an AMF3 publisher sent")


def test_pause_and_resume(live):
    with client_of(live) as client:
        stream_id = client.play("s")
        assert kinds_within(client, 0.5), "frames come"
        client.send_command("pause", None, True, 0, stream_id=stream_id, csid=8)
        client.wait_status("NetStream.Pause.Notify")
        kinds_within(client, 0.3)
        paused = kinds_within(client, 0.6)
        assert not paused, f"nothing should come while it is paused, {len(paused)} frames came"
        client.send_command("pause", None, False, 0, stream_id=stream_id, csid=8)
        client.wait_status("NetStream.Unpause.Notify")
        tags = []
        while not [tag for tag in flv.frames(tags) if tag.type == flv.VIDEO]:
            tags += client.tags()
        video = [tag for tag in flv.frames(tags) if tag.type == flv.VIDEO]
        assert flv.is_keyframe(video[0]), f"after a pause video should go on with a keyframe, not {video[0].describe()}"


@pytest.mark.parametrize("command, other", [("receiveVideo", flv.AUDIO), ("receiveAudio", flv.VIDEO)])
def test_receive_audio_and_video(live, command, other):
    with client_of(live) as client:
        stream_id = client.play("s")
        assert set(kinds_within(client, 0.5)) == {flv.AUDIO, flv.VIDEO}, "both come at first"
        client.send_command(command, None, False, stream_id=stream_id, csid=8, answered=False)
        kinds_within(client, 0.4)
        kinds = set(kinds_within(client, 0.6))
        assert kinds == {other}, f"after {command} false only {flv.NAMES[other]} should come, {kinds} came"
        client.send_command(command, None, True, stream_id=stream_id, csid=8, answered=False)
        kinds = set()
        end = time.monotonic() + scaled(6)
        while kinds != {flv.AUDIO, flv.VIDEO} and time.monotonic() < end:
            kinds |= set(kinds_within(client, 0.3))
        assert kinds == {flv.AUDIO, flv.VIDEO}, f"after {command} true both should come again, {kinds} came"


def test_play_for_a_duration(live):
    """play with a duration of 1 s ends after that much of the stream."""
    with client_of(live) as client:
        client.play("s", -1, 1)
        stamps = []
        try:
            while True:
                got = client.messages()
                stamps += [tag.timestamp for tag in flv.frames(rtmp.tags_of(got))]
                statuses = [
                    message.command()[3].get("code")
                    for message in got
                    if message.type == rtmp.COMMAND and message.command()[0] == "onStatus"
                ]
                if {"NetStream.Play.Stop", "NetStream.Play.Complete"} & set(statuses):
                    break
        except (ConnectionError, TimeoutError):
            pass
        span = max(stamps) - min(stamps)
        assert 800 <= span <= 1500, f"1 s of the stream should come, {span} ms came"


def test_get_stream_length(live):
    with client_of(live) as client:
        result = client.wait_result(client.send_command("getStreamLength", None, "s"), "getStreamLength")
        assert result[1] == 0, f"a live stream's length is 0: {result}"


def test_unpublish_and_publish_again_on_one_connection(live):
    with client_of(live) as client:
        client.set_chunk_size(60000)
        for _ in range(3):
            client.stream_id = client.publish("again")
            publishing.send_all(client, media.tags(media.plain())[:20])
            client.send_command("FCUnpublish", None, "again")
            client.send_command("deleteStream", None, client.stream_id, answered=False)


def test_ping_is_answered(live):
    with client_of(live) as client:
        client.send(rtmp.Message(rtmp.USER_CONTROL, 0, struct.pack(">HI", 6, 12345)), 2)
        answer = client.wait_for(
            lambda message: message.type == rtmp.USER_CONTROL and message.payload[:2] == b"\0\x07", "ping response"
        )
        assert struct.unpack(">I", answer.payload[2:6])[0] == 12345, answer


def test_acknowledgements(live):
    """A publisher that asks for acknowledgements gets them."""
    with client_of(live) as client:
        client.set_chunk_size(60000)
        client.send(rtmp.Message(rtmp.WINDOW_ACK_SIZE, 0, struct.pack(">I", 20000)), 2)
        client.stream_id = client.publish("acked")
        publishing.send_all(client, media.tags(media.plain()))
        ack = client.wait_for(lambda message: message.type == rtmp.ACK, "acknowledgement")
        assert struct.unpack(">I", ack.payload)[0] >= 10000, ack


def test_unknown_commands_are_no_error(live):
    with client_of(live) as client:
        client.send_command("_checkbw", None)
        client.send_command("noSuchCommand", {"a": 1}, "x", [1, 2])
        client.send(rtmp.Message(99, 0, b"of an unknown type"))
        client.send(rtmp.Message(rtmp.DATA, 0, amf0.encode("onSomething", 1)))
        client.play("s")


@pytest.mark.parametrize("repeat", [True, False], ids=["repeated", "not repeated"])
def test_extended_timestamps(live, repeat):
    """Type 3 chunks with and without the extended timestamp; both kinds of encoders exist."""
    tags = media.from_keyframe(media.plain())
    with client_of(live) as client:
        client.stream_id = client.publish("extended")
        with client_of(live) as viewer:
            viewer.play("extended")
            for tag in tags[:100]:
                kind = rtmp.DATA if tag.type == flv.SCRIPT else tag.type
                message = rtmp.Message(kind, tag.timestamp + 0x1000000, tag.body, client.stream_id)
                client.socket.sendall(rtmp.chunks(message, 6 if tag.type == flv.VIDEO else 4, 128, repeat))
            got = []
            want = [tag.body for tag in flv.frames(tags[:100])]
            while len(got) < len(want):
                got += [tag.body for tag in flv.frames(viewer.tags())]
            assert got == want, "the frames should arrive as they were published"


def test_all_header_types(live):
    """Type 1, 2 and 3 chunks begin messages too, with deltas."""
    frame = next(tag for tag in media.tags(media.audio_only("mp3")) if flv.is_frame(tag))
    size = len(frame.body)
    with client_of(live) as client:
        client.set_chunk_size(4096)
        stream_id = client.publish("types")
        with client_of(live) as viewer:
            viewer.play("types")
            head = size.to_bytes(3, "big") + bytes([rtmp.AUDIO])
            client.socket.sendall(
                rtmp.basic_header(0, 4)
                + (1000).to_bytes(3, "big")
                + head
                + struct.pack("<I", stream_id)
                + frame.body
                + rtmp.basic_header(1, 4)
                + (30).to_bytes(3, "big")
                + head
                + frame.body
                + rtmp.basic_header(2, 4)
                + (20).to_bytes(3, "big")
                + frame.body
                + rtmp.basic_header(3, 4)
                + frame.body
                + rtmp.basic_header(3, 4)
                + frame.body
            )
            stamps = []
            while len(stamps) < 5:
                stamps += [tag.timestamp for tag in flv.frames(viewer.tags())]
        steps = [b - a for a, b in zip(stamps, stamps[1:])]
        assert steps == [30, 20, 20, 20], f"the steps between frames should be 30, 20, 20, 20 ms, they are {steps}"


def test_abort_message(live):
    """Abort drops the half message of a chunk stream; the next one is read from its start."""
    tags = media.from_keyframe(media.plain())[:60]
    with client_of(live) as client:
        client.stream_id = client.publish("abort")
        client.socket.sendall(
            rtmp.chunks(rtmp.Message(rtmp.VIDEO, 0, bytes(1000), client.stream_id), 6, 128)[: 12 + 128]
        )
        client.send(rtmp.Message(rtmp.ABORT, 0, struct.pack(">I", 6)), 2)
        with client_of(live) as viewer:
            viewer.play("abort")
            publishing.send_all(client, tags)
            got = []
            while len(got) < len(flv.frames(tags)):
                got += flv.frames(viewer.tags())
            assert [tag.body for tag in got] == [tag.body for tag in flv.frames(tags)]


def test_aggregate_message(live):
    """FMS-style encoders put several frames into one message."""
    tags = flv.frames(media.tags(media.audio_only("mp3")))[:6]
    body = b"".join(flv.encode(tag) for tag in tags)
    with client_of(live) as client:
        client.set_chunk_size(60000)
        client.stream_id = client.publish("aggregate")
        with client_of(live) as viewer:
            viewer.play("aggregate")
            client.send(rtmp.Message(rtmp.AGGREGATE, tags[0].timestamp, body, client.stream_id), 6)
            got = []
            while len(got) < len(tags):
                got += flv.frames(viewer.tags())
        assert [tag.body for tag in got] == [tag.body for tag in tags]
        steps = [tag.timestamp - got[0].timestamp for tag in got]
        assert steps == [tag.timestamp - tags[0].timestamp for tag in tags], steps
