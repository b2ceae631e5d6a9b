"""Delivery of files and segments: from the page cache, from memory and from a disk, byte for byte, and by a loop that
never waits."""

import contextlib
import ctypes
import json
import mmap
import os
import random
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib import api, hls, http, media, publishing, rtmp
from lib.server import BENCH, default_vhost
from lib.timing import SLOW, VALGRIND, scaled, wait_until

SEED = 23
BODY = random.Random(SEED).randbytes(3_000_000)
SLOW_MS = 2000
SENT_AT_ONCE = 60 * 1024  # bytes of a file


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def delivery(request, servers, certificate):
    """A server with a file, its port, and whether that is of TLS."""
    key, cert = certificate
    server = servers(
        top=api.DEBUG,
        http="https { enabled on; listen 127.0.0.1:HTTPS_PORT; cert %s; key %s; }" % (cert, key),
        vhosts=default_vhost(),
        environment={"DISK_FAULT": f"path=cold op=read delay_ms={SLOW_MS}"},
    )
    html = server.dir / "html"
    (html / "a.bin").write_bytes(BODY)
    tls = request.param
    return server, html, server.https_port if tls else server.http_port, tls


def drop_from_memory(path):
    """Its pages, which must be on the disk for that."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def pages_in_memory(path):
    size, libc = os.path.getsize(path), ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    with open(path, "rb") as file:
        mapping = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    assert libc.mincore(ctypes.c_void_p(mapping), ctypes.c_size_t(size), pages) == 0
    libc.munmap(ctypes.c_void_p(mapping), ctypes.c_size_t(size))
    return sum(page & 1 for page in pages)


def ranges(size, count=20):
    """Pairs of first and last, from all over, at and around the sizes of pieces too."""
    numbers = random.Random(SEED)
    pairs = [(0, size - 1), (size - 1, size - 1), (4095, 4096), (32767, 65536), (262143, 262145)]
    pairs += [sorted(numbers.choices(range(size), k=2)) for _ in range(count)]
    return [(first, last) for first, last in pairs if last < size]


def check_ranges(port, tls, path, body):
    with http.Connection(port, tls) as connection:
        for first, last in ranges(len(body)):
            connection.request("GET", path, Range=f"bytes={first}-{last}")
            response = connection.read_response()
            assert response.status == 206, f"bytes {first} to {last}: {response.describe()}"
            assert response.headers["content-range"] == f"bytes {first}-{last}/{len(body)}", response.describe()
            assert response.body == body[first : last + 1], f"bytes {first} to {last} are not those of the file"
        connection.request("HEAD", path)
        head = connection.read_response("HEAD")
        assert head.headers["content-length"] == str(len(body)), head.describe()
        connection.request("GET", path, If_None_Match=head.headers["etag"])
        assert connection.read_response().status == 304
        connection.request("GET", path)
        assert connection.read_response().body == body, "the whole file is not what it is"


def test_bytes_of_a_file(delivery):
    _, _, port, tls = delivery
    check_ranges(port, tls, "/a.bin", BODY)


@pytest.mark.parametrize("storage", ["disk", "memory"])
def test_bytes_of_a_segment(servers, certificate, storage):
    key, cert = certificate
    server = servers(
        http="https { enabled on; listen 127.0.0.1:HTTPS_PORT; cert %s; key %s; }" % (cert, key),
        vhosts=hls.vhost(fragment="2", storage=storage),
    )
    with rtmp.publisher(server, "live", "one", timeout=scaled(10)) as client:
        publishing.send_all(client, media.from_keyframe(media.frequent_keyframes()))
        playlist = hls.wait(server, "/live/one.m3u8", lambda list: list.segments)
        uri = playlist.segments[0].uri
        body = hls.fetch(server, "/live/one.m3u8", uri)
        assert len(body) > 40_000 and body[0] == 0x47 and len(body) % 188 == 0, f"{uri} is no TS: {len(body)} bytes"
        check_ranges(server.http_port, False, f"/live/{uri}", body)
        check_ranges(server.https_port, True, f"/live/{uri}", body)


def bytes_in_memory(server):
    """Of the segments that are in memory: the server's anonymous file."""
    files = [number for number, name in server.open_files().items() if name.startswith("/memfd:segments")]
    return os.stat(f"/proc/{server.pid}/fd/{files[0]}").st_blocks * 512


def test_a_segment_that_many_fetch_is_copied_to_large_pages(servers, certificate):
    """Who has begun before, and who comes afterwards, gets the same bytes. The memory is freed with the segment."""
    key, cert = certificate
    server = servers(
        http="https { enabled on; listen 127.0.0.1:HTTPS_PORT; cert %s; key %s; }" % (cert, key),
        vhosts=hls.vhost(fragment="2", storage="memory", window="4"),
    )
    words = [BENCH, "publish", server.rtmp_url("live/one"), "--kbps", 400, "--loop", "--seconds", "600", "-q"]
    publisher = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
    try:
        uri = hls.wait(server, "/live/one.m3u8", lambda list: list.segments).segments[-1].uri
        with http.Connection(server.http_port, False, receive_buffer=8192) as slow:
            slow.request("GET", f"/live/{uri}")
            head = slow.read_head()
            size = int(head.headers["content-length"])
            got = slow.buffer + slow.socket.recv(1000)
            before = bytes_in_memory(server)
            bodies = set()
            for _ in range(3):  # a connection is for a thousand
                with http.Connection(server.http_port, False) as connection:
                    for _ in range(400):
                        connection.request("GET", f"/live/{uri}")
                        bodies.add(connection.read_response().body)
            (body,) = bodies
            wait_until(lambda: bytes_in_memory(server) - before >= 2 << 20, scaled(3), "a large page is taken")
            check_ranges(server.http_port, False, f"/live/{uri}", body)
            check_ranges(server.https_port, True, f"/live/{uri}", body)
            while len(got) < size and (more := slow.socket.recv(1 << 20)):
                got += more
            assert got == body, f"who was slow got other bytes: {len(got)} of {size}"
        hls.wait(server, "/live/one.m3u8", lambda list: uri not in {one.uri for one in list.segments}, seconds=20)
        wait_until(lambda: bytes_in_memory(server) < 2 << 20, scaled(30), "the segment is not kept any more")
    finally:
        publisher.terminate()
        publisher.wait()


def test_a_file_that_is_replaced_or_removed(delivery):
    _, html, port, tls = delivery

    def get(path):
        response = http.get(port, path, tls=tls)
        return response.body if response.status == 200 else response.status

    def soon(path, expected, what):
        began = time.monotonic()
        while get(path) != expected:
            assert time.monotonic() - began < scaled(1) + 0.2, f"{what} was not noticed in a second: {get(path)!r:.40}"
            time.sleep(0.02)

    for round_number in range(3):
        text = b"file %d" % round_number
        (html / "new").write_bytes(text)
        os.replace(html / "new", html / "changing")
        soon("/changing", text, "a replaced file")
        (html / "changing").write_bytes(text + b" written over")
        soon("/changing", text + b" written over", "a changed file")
    os.remove(html / "changing")
    soon("/changing", 404, "a removed file")
    for name in ("one", "two"):
        (html / name).mkdir()
        (html / name / "x").write_text(name)
        (html / "link.new").symlink_to(name)
        os.replace(html / "link.new", html / "link")
        soon("/link/x", name.encode(), "a link to another directory")
    (html / "two").rename(html / "gone")
    soon("/link/x", 404, "a renamed directory")


def test_a_slow_disk_holds_up_nobody(delivery):
    """Fifty clients want a file that is not in memory, and others one that is."""
    server, html, port, tls = delivery
    (html / "cold.bin").write_bytes(BODY[:200_000])
    drop_from_memory(html / "cold.bin")
    assert pages_in_memory(html / "cold.bin") == 0
    took, wrong = [], []

    def want_cold():
        body = http.get(port, "/cold.bin", tls=tls).body
        took.append(time.monotonic() - started)
        if body != BODY[:200_000]:
            wrong.append(len(body))

    started = time.monotonic()
    clients = [threading.Thread(target=want_cold) for _ in range(50)]
    for client in clients:
        client.start()
    slowest = requests = 0
    with http.Connection(port, tls) as connection:
        while any(client.is_alive() for client in clients):
            began = time.monotonic()
            connection.request("GET", "/a.bin", Range="bytes=1000-151000")
            assert connection.read_response().body == BODY[1000:151001]
            slowest, requests = max(slowest, time.monotonic() - began), requests + 1
            if requests % 900 == 0:  # a connection is for a thousand
                time.sleep(0.01)
                connection.close()
                connection.__init__(port, tls)
    assert not wrong, f"answers of {wrong} bytes, or others than the file's"
    assert min(took) > SLOW_MS / 1000 * 0.9, f"the file was in memory, or was read elsewhere: {min(took):.2f} s"
    assert max(took) < scaled(3 * SLOW_MS / 1000), f"the clients did not share a read: {max(took):.2f} s"
    assert slowest < SLOW_MS / 1000 * 0.7, f"a request for another file took {slowest:.2f} s, {requests} requests"
    assert api.blocked_ms(server) < 1000, f"the loop was blocked for {api.blocked_ms(server)} ms"


def test_memory_that_is_dropped_all_the_time(delivery):
    server, html, port, tls = delivery
    (html / "warm.bin").write_bytes(BODY)
    end = time.monotonic() + 3
    wrong, done = [], []

    def client():
        while time.monotonic() < end:
            body = http.get(port, "/warm.bin", tls=tls).body
            done.append(1)
            if body != BODY:
                wrong.append(len(body))

    clients = [threading.Thread(target=client) for _ in range(4)]
    for one in clients:
        one.start()
    while time.monotonic() < end:
        drop_from_memory(html / "warm.bin")
    for one in clients:
        one.join()
    assert not wrong and len(done) >= 4, f"{len(done)} answers, wrong: {wrong}"
    assert api.blocked_ms(server) < 1000, f"the loop was blocked for {api.blocked_ms(server)} ms"


def disk_read_ms(path):
    """How long the disk takes for what a call sends of a file at most, which is not in memory."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.monotonic()
        os.pread(file.fileno(), SENT_AT_ONCE, 0)
        return (time.monotonic() - begin) * 1000


def drop_until(end, directory, pattern, again):
    """Drops the files from memory until the end: as soon as they are there, and again and again, or each once. How many times
    one that was in memory was not any more; and the longest read of a file of our own meanwhile, ms."""
    dropped, on_disk, slowest = 0, set(), 0
    own = directory.parent / "own.bin"
    own.write_bytes(os.urandom(SENT_AT_ONCE))
    with open(own, "rb") as file:
        os.fsync(file.fileno())
    while time.monotonic() < end:
        slowest = max(slowest, disk_read_ms(own))
        for path in directory.glob(pattern):
            if path in on_disk and not again:
                continue
            with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:  # removed meanwhile, or empty
                before = pages_in_memory(path)
                if path not in on_disk:
                    os.fsync(file.fileno())
                    on_disk.add(path)
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                dropped += pages_in_memory(path) < before
        time.sleep(0.005)
    return dropped, slowest


@pytest.mark.serial
@pytest.mark.skipif(VALGRIND or SLOW > 1, reason="measures how long the loop takes")
def test_players_of_files_that_leave_memory_do_not_stall_the_loop(servers):
    """Two hundred players of a live stream, whose segments are dropped from memory all the time, on a disk and, beside it,
    on one that is late. There each read by a worker takes 2 s, and each segment is dropped once, or nothing that was read
    would be there any more when its readers continue. No iteration of a loop may be longer than 5 ms: in a call by the
    clock, in code by the processor time. A page that is dropped between the look at memory and the call that sends it is
    read in that call, which may then take as long as a read of the disk takes at that time. Afterwards the servers end in
    time, whatever is being read.

    The heap has small pages: where a virtual machine has no large page ready, the first touch of one takes up to 7 ms
    (doc/decisions/146), which has nothing to do with files."""
    limit_ms = 5
    disks = [(4000, 0), (1000, SLOW_MS)]  # kbit/s, how late it is
    made = [
        servers(
            top=api.CONF % "debug on;" + f"stall_warn {limit_ms};",
            vhosts=hls.vhost(fragment="2", window="60"),
            environment={"DISK_FAULT": f"path=.ts op=read delay_ms={late_ms}", "GLIBC_TUNABLES": ""},
        )
        for _, late_ms in disks
    ]
    with ThreadPoolExecutor() as pool:
        for one in [pool.submit(play_and_drop, server, *disk, limit_ms) for server, disk in zip(made, disks)]:
            one.result()


def play_and_drop(server, kbps, late_ms, limit_ms):
    who, seconds = f"a disk that is {late_ms} ms late", 16
    words = [BENCH, "publish", server.rtmp_url("live/one"), "--kbps", kbps, "--loop", "--seconds", "600", "-q"]
    publisher = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
    try:
        hls.wait(server, "/live/one.m3u8", lambda playlist: len(playlist.segments) >= 3, seconds=30)
        before = api.ask(server, "/api/v1/debug/runtime")["data"]["stalls"]
        out = server.dir / "players.json"
        words = [BENCH, "hls", server.http_url("live/one.m3u8"), "-n", "200", "--seconds", seconds, "-q", "--json", out]
        end = time.monotonic() + seconds + 4
        players = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
        dropped, disk_ms = drop_until(end, server.dir / "html/live", "*.ts", again=late_ms == 0)
        players.wait(scaled(60))
    finally:
        publisher.terminate()
        publisher.wait()
    figures = json.loads(out.read_text())
    assert dropped > 5, f"{who}: segments should have left memory many times: {dropped}"
    assert figures["lost"] == 0 and figures["segments"] >= 100, f"{who}: the players should get segments: {figures}"
    if late_ms == 0:
        assert figures["segments_missed"] == 0 and figures["stalls"] == 0, f"{who}: {figures}"
    else:
        assert figures["segment_ms"]["max"] > late_ms * 0.9, f"{who}: no segment was read from the late disk: {figures}"
    state = api.ask(server, "/api/v1/debug/runtime")["data"]
    took = [max(one["ms"] - disk_ms, 0) if one["cause"] == "blocked" else one["cpu_ms"] for one in state["last_stalls"]]
    assert max(took, default=0) <= limit_ms, (
        f"{who}: the loop should never take more than {limit_ms} ms beside a read of {disk_ms:.1f} ms; of {state['stalls'] - before} stalls the last took "
        f"{took}: {json.dumps(state['last_stalls'], indent=1)}"
    )


def test_clients_that_stop_reading(delivery):
    server, html, port, tls = delivery
    (html / "large.bin").write_bytes(BODY * 10)
    assert http.get(port, "/a.bin", tls=tls).body == BODY
    before = server.rss_kb()
    stopped = [http.Connection(port, tls, receive_buffer=8192) for _ in range(60)]
    for connection in stopped:
        connection.request("GET", "/large.bin")
        connection.read_head()
    time.sleep(1)
    each = (server.rss_kb() - before) / len(stopped)
    limit = 250 if tls else 120
    assert each < limit, f"each client that does not read makes the server hold {each:.0f} kB, the limit is {limit}"
    assert http.get(port, "/a.bin", tls=tls).body == BODY
    for connection in stopped:
        connection.close()
    wait_until(lambda: not any("large.bin" in name for name in server.open_files().values()), 10, "the file is closed")


def test_a_file_cut_while_it_is_sent(delivery):
    server, html, port, tls = delivery
    for size in (10_000_000, 9_999_000, 4_096_000, 10):
        (html / "cut.bin").write_bytes(b"x" * 20_000_000)
        with http.Connection(port, tls, receive_buffer=8192) as connection:
            connection.request("GET", "/cut.bin")
            head = connection.read_head()
            assert head.headers["content-length"] == "20000000", head.describe()
            os.truncate(html / "cut.bin", size)
            got = 0
            with contextlib.suppress(OSError):  # over TLS the end without close_notify is one
                while more := len(connection.socket.recv(1 << 20)):
                    got += more
            assert got < 20_000_000, f"a file cut to {size} bytes was sent with {got}"
    assert http.get(port, "/a.bin", tls=tls).body == BODY


def test_names_that_clients_choose(delivery):
    """A walk over many files leaves no descriptors behind, and names of none are not remembered."""
    server, html, port, tls = delivery
    for number in range(300):
        (html / f"n{number}").write_text(str(number))
    before = server.fds()
    with http.Connection(port, tls) as connection:
        for number in range(300):
            connection.request("GET", f"/n{number}")
            assert connection.read_response().body == str(number).encode()
            connection.request("GET", f"/none{number}")
            assert connection.read_response().status == 404
    wait_until(lambda: server.fds() <= before, 5, lambda: f"{server.fds()} descriptors, {before} before")
