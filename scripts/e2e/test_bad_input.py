"""Bad input: whatever a peer sends, or does not, the log says what was wrong in a clear line, the offender is closed,
and nobody else is disturbed: a viewer that watches another stream meanwhile has no gap longer than before, but for
150 ms."""

import random
import select
import threading
import time

import pytest

from lib import bad, flv, http, media, publishing, rtmp
from lib.timing import SLOW, VALGRIND, scaled, wait_until
from lib.watched import Watched
from conftest import Servers

# Of the server. Under valgrind the cases are of those that do not wait for one, and the watched stream must get through.
HANDSHAKE_MS, REQUEST_MS, FIRST_PACKET_MS, NORMAL_MS, SEND_MS = (
    int(ms * SLOW) if VALGRIND else ms for ms in (1000, 1000, 800, 1500, 1000)
)


@pytest.fixture(scope="module")
def quick_server(tmp_path_factory):
    """Short time limits, so that tests of them are quick."""
    watched = Watched(
        Servers(tmp_path_factory.mktemp("bad")),
        f"rtmp {{ handshake_timeout {HANDSHAKE_MS}; }}\npithy_print_ms 1000;",
        f"request_timeout {REQUEST_MS};",
        play=f"send_timeout {SEND_MS}; queue_length 5;",
        publish=f"firstpkt_timeout {FIRST_PACKET_MS}; normal_timeout {NORMAL_MS};",
    )
    yield watched
    watched.down()


@pytest.fixture(scope="module")
def default_server(tmp_path_factory):
    """The time limits that are the defaults."""
    watched = Watched(Servers(tmp_path_factory.mktemp("default")))
    yield watched
    watched.down()


@pytest.fixture
def quick(quick_server):
    return quick_server.up()


@pytest.fixture
def default(default_server):
    return default_server.up()


def wait_closed(connections, seconds):
    """Until the server has closed each of them, while what it sends is read. The seconds it took for each."""
    start = time.monotonic()
    took, open_ones = [], {getattr(connection, "socket", connection): connection for connection in connections}
    while open_ones:
        left = start + scaled(seconds) - time.monotonic()
        assert left > 0, (
            f"all {len(connections)} connections should be closed within {scaled(seconds):.1f} s; "
            f"{len(open_ones)} are open"
        )
        poll = select.poll()
        numbers = {one.fileno(): one for one in open_ones}
        for number in numbers:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(left * 1000):
            one = numbers[number]
            try:
                gone = not one.recv(1 << 16)
            except ConnectionError:
                gone = True
            except TimeoutError:
                gone = False
            if gone:
                took.append(time.monotonic() - start)
                open_ones.pop(one).close()
    return took


AT_ONCE = 0.8  # less than any limit
HANDSHAKE = HANDSHAKE_MS / 1000 + 1
REQUEST = REQUEST_MS / 1000 + 1
# A body that cannot be used is dropped; its publisher ends by the time limits, when nothing else comes.
FIRST_PACKET = FIRST_PACKET_MS / 1000 + 1
NORMAL = NORMAL_MS / 1000 + 1
SILENT = r"handshake|did not publish or play|timeout|timed out|\d+ ms"

# What the log says of each of bad.CASES, and how long the connections may stay open.
EXPECTED = {
    "random bytes": (r"C0|version|handshake", HANDSHAKE),
    "HTTP on the RTMP port": (r"version 71", AT_ONCE),
    "a handshake that stalls": (r"waiting for C1", HANDSHAKE),
    "silence after the handshake": (SILENT, HANDSHAKE),
    "silence after connect": (SILENT, HANDSHAKE),
    "random chunks": (r"chunk|AMF|message", HANDSHAKE),
    "half a chunk": (SILENT, HANDSHAKE),
    "half a chunk header": (SILENT, HANDSHAKE),
    "half a chunk, then the end": (r"closed|end of stream", AT_ONCE),
    "chunk size 0": (r"chunk size 0\b", AT_ONCE),
    "chunk size 2^31": (r"chunk size 2147483648", AT_ONCE),
    "a short control message": (r"Set Chunk Size", AT_ONCE),
    "a message of 16 MiB never sent": (SILENT, HANDSHAKE),
    "many messages of 16 MiB never sent": (
        r"unfinished messages|more than|timeout|\d+ ms",
        HANDSHAKE,
    ),
    "a type 3 chunk first": (r"begins with a type 3", AT_ONCE),
    "a type 2 chunk first": (r"begins with a type 2", AT_ONCE),
    "10,000 chunk streams": (r"more than \d+ chunk streams", AT_ONCE),
    "a broken aggregate": (r"no usable audio or video.*aggregate", NORMAL),
    "AMF nested 10,000 deep": (r"nested too deep", AT_ONCE),
    "strings longer than their message": (r"runs past the end", AT_ONCE),
    "an array longer than its message": (r"AMF", AT_ONCE),
    "an unknown AMF type": (r"AMF0: unknown type", AT_ONCE),
    "publish before connect": (r"publish|connect|handshake", HANDSHAKE),
    "a video tag of length 0": (r"no usable audio or video", FIRST_PACKET),
    "an audio tag of length 0": (r"no usable audio or video", FIRST_PACKET),
    "a wrong AVC length prefix": (r"no usable audio or video.*length prefix", NORMAL),
    "a broken AVC sequence header": (r"no usable audio or video.*sequence header", FIRST_PACKET),
    "broken metadata": (r"no usable audio or video.*(data message|AMF)", FIRST_PACKET),
    "random bytes to HTTP": (r"malformed|request|method|URL", REQUEST),
    "an endless HTTP header": (r"431|too large", AT_ONCE),
    "silence to HTTP": (r"request|timeout|408", REQUEST),
    "an unmasked WebSocket frame": (r"mask", AT_ONCE),
    "reserved WebSocket bits": (r"reserved|RSV", AT_ONCE),
    "a huge WebSocket message": (r"WebSocket|message|frame", AT_ONCE),
    "a long WebSocket ping": (r"control", AT_ONCE),
}
VALGRIND_TOO = {
    "random chunks",
    "AMF nested 10,000 deep",
    "a wrong AVC length prefix",
    "10,000 chunk streams",
    "an endless HTTP header",
    "strings longer than their message",
}


@pytest.mark.quiet
@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[pytest.mark.valgrind] if name in VALGRIND_TOO else []) for name in bad.CASES]
)
def test_bad_input(quick, case):
    says, seconds = EXPECTED[case]
    mark, since = quick.server.log_mark(), time.monotonic()
    wait_closed(bad.CASES[case](quick.server), seconds)
    quick.server.wait_log(says, 2, mark)
    quick.assert_undisturbed(since)


# --- publishers


@pytest.mark.quiet
def test_timestamps_that_jump_back_and_wrap(quick):
    """The publisher is no attacker and stays; its players get all frames on a timeline that never goes back, nor far
    ahead."""
    mark, since = quick.server.log_mark(), time.monotonic()
    headers = [tag for tag in media.tags(media.plain()) if not flv.is_frame(tag)]
    frames = list(bad.wild_times())
    with rtmp.publisher(quick.server, "live", "wild") as client:
        publishing.send_all(client, headers + frames[:1])
        player = rtmp.player(quick.server, "live", "wild", timeout=scaled(5))
        web = http.Live(quick.server.http_port, "/live/wild.flv", timeout=scaled(5))
        for index in range(1, len(frames), 50):
            publishing.send_all(client, frames[index : index + 50])
            time.sleep(0.05)
        for name, source in (("RTMP", player), ("HTTP-FLV", web)):
            tags = []
            while not tags or tags[-1].body != frames[-1].body:
                tags += source.tags()
                assert not source.ended, f"{name}: the stream ended"
            got = flv.frames(tags)
            want = [tag.body for tag in frames]
            assert [tag.body for tag in got] == want, f"{name}: {len(want)} frames were published, {len(got)} came"
            flv.assert_monotonic(got, name)
            longest = max(b.timestamp - a.timestamp for a, b in zip(got, got[1:]))
            assert longest <= 10000, f"{name}: no step of the timeline should exceed 10 s, one is {longest} ms"
            source.close()
    quick.server.wait_log(r"jump|timestamp|timeline", 3, mark)
    quick.assert_undisturbed(since)


@pytest.mark.quiet
@pytest.mark.parametrize("case, limit_ms", [("normal_timeout", NORMAL_MS), ("firstpkt_timeout", FIRST_PACKET_MS)])
def test_name_of_a_frozen_publisher_is_free_at_its_timeout(quick, case, limit_ms):
    mark = quick.server.log_mark()
    frozen = rtmp.publisher(quick.server, "live", case)
    if case == "normal_timeout":
        publishing.send_all(frozen, media.tags(media.plain())[:40])
    since = time.monotonic()
    while True:
        took = (time.monotonic() - since) * 1000
        try:
            rtmp.publisher(quick.server, "live", case).close()
            break
        except rtmp.Refused as refused:
            assert refused.code == "NetStream.Publish.BadName", refused
        assert took < (limit_ms + 1000) * SLOW, (
            f"the name should be free {limit_ms} ms after the last frame, not later; " f"it is not after {took:.0f} ms"
        )
        time.sleep(0.05)
    assert took > limit_ms - 300, f"the name should be kept for {limit_ms} ms; it was free after {took:.0f} ms"
    wait_closed([frozen], 1)
    quick.server.wait_log(rf"{limit_ms} ms|timeout", 2, mark)
    quick.assert_undisturbed(since)


# --- viewers


def heavy_tags(seconds):
    """A stream of about 6 MB a second, so that sockets fill up soon."""
    source = media.tags(media.plain())
    key = next(tag for tag in source if flv.is_keyframe(tag))
    for tag in source:
        if tag.type == flv.VIDEO and flv.is_sequence_header(tag):
            yield tag
    filler = random.Random(1).randbytes(240000)
    unit = b"\x06" + filler  # an SEI unit
    body = key.body[:2] + b"\0\0\0" + len(unit).to_bytes(4, "big") + unit + key.body[5:]
    for index in range(seconds * 25):
        yield flv.Tag(flv.VIDEO, index * 40, body)


def sip(connection, stopping):
    while not stopping.wait(1):
        try:
            if not getattr(connection, "socket", connection).recv(1):
                return
        except OSError:
            return


@pytest.mark.quiet
@pytest.mark.parametrize("way", [bad.rtmp_viewer, bad.http_viewer], ids=["rtmp", "http-flv"])
@pytest.mark.parametrize("reads", ["never", "a byte a second"])
def test_viewer_that_does_not_read(quick, way, reads):
    mark, since = quick.server.log_mark(), time.monotonic()
    before = quick.server.rss_kb()
    client = rtmp.publisher(quick.server, "live", "heavy")
    stopping = threading.Event()
    # For longer than the limit.
    speed = 3 if SLOW == 1 else 1
    sender = threading.Thread(target=publishing.send_all, args=(client, list(heavy_tags(5 * max(1, int(SLOW)))), speed))
    publishing.send_all(client, list(heavy_tags(1))[:2])
    viewer = way(quick.server, "heavy")
    sender.start()
    if reads == "a byte a second":
        threading.Thread(target=sip, args=(viewer, stopping), daemon=True).start()
    try:
        quick.server.wait_log(r"play ended: .*/heavy .*no byte accepted", SEND_MS / 1000 + 4, mark)
        took = time.monotonic() - since
        assert took >= SEND_MS / 1000 - 0.2, f"it should be closed after {SEND_MS} ms, it was after {took:.1f} s"
    finally:
        stopping.set()
        sender.join()
        client.close()
    wait_closed([viewer], 2)
    quick.assert_undisturbed(since)
    grown = quick.server.rss_kb() - before
    # At most queue_length of the stream (5 s) and a GOP are kept for it, plus what one slack block costs.
    assert (
        grown < 80_000 or SLOW > 1
    ), f"a viewer that does not read should cost no more than queue_length; RSS grew by {grown} kB"


# --- many


@pytest.mark.quiet
def test_1000_silent_connections_are_closed_within_10_seconds(default):
    mark, since = default.server.log_mark(), time.monotonic()
    took = wait_closed([bad.plain(default.server.rtmp_port) for _ in range(1000)], 11)
    assert min(took) > 5, f"a peer should have some seconds to begin; the first was closed after {min(took):.1f} s"
    assert max(took) <= 10.5 * SLOW, f"all should be closed within 10 s; the last was after {max(took):.1f} s"
    default.server.wait_log(r"waiting for C0|handshake", 2, mark)
    default.assert_undisturbed(since)


@pytest.mark.quiet
def test_300_requests_a_byte_at_a_time_are_closed_within_15_seconds(default):
    mark, since = default.server.log_mark(), time.monotonic()
    request = b"GET /live/watched.flv HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: " + b"slow " * 100 + b"\r\n\r\n"
    slow = [bad.plain(default.server.http_port) for _ in range(300)]
    alive, stopping = set(slow), threading.Event()

    def drip():
        for byte in request:
            for connection in list(alive):
                try:
                    connection.send(bytes([byte]))
                except OSError:
                    alive.discard(connection)
            if stopping.wait(0.25):
                return

    sender = threading.Thread(target=drip, daemon=True)
    sender.start()
    try:
        took = wait_closed(slow, 15)
    finally:
        stopping.set()
        sender.join()
    assert (
        min(took) > 3
    ), f"a peer should have some seconds for its request; the first was closed after {min(took):.1f} s"
    default.server.wait_log(r"request|408|timeout", 2, mark)
    default.assert_undisturbed(since)


@pytest.mark.skipif(VALGRIND, reason="valgrind's own limits on connections")
def test_connections_over_the_limit_are_refused(servers):
    server = servers(top="max_connections 20;")
    mark = server.log_mark()
    for kind in ("rtmp", "http"):  # the connections that looked whether it listens
        server.wait_log(f"{kind} ended")
    before = server.fds()
    # Those that say nothing would make room.
    first = [rtmp.Client("127.0.0.1", server.rtmp_port) for _ in range(20)]
    for client in first:
        client.handshake()
        client.connect("live")
    wait_until(lambda: server.fds() >= before + 20, 5, "20 connections are taken")
    wait_closed([bad.plain(server.rtmp_port) for _ in range(5)], AT_ONCE)
    server.wait_log(r"max_connections|limit|too many", 2, mark)
    for connection in first:
        connection.close()
    with publishing.Steady(
        wait_until(lambda: try_publish(server), 5, "publishing works again"), media.tags(media.plain())
    ):
        time.sleep(0.2)


def try_publish(server):
    try:
        return rtmp.publisher(server, "live", "after")
    except (OSError, ConnectionError):
        return None
