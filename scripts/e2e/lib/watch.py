"""One publisher and its watching viewers in a process of their own, in one loop: what each moment of sending and of
receiving was, for gaps and latencies. Started by Watch; `python watch.py HOST RTMP_PORT HTTP_PORT APP STREAM FILE OUT
[API_PORT]`. With a port of the API there are three more, each in a thread: an HLS player, a WHEP player, an API caller.

A line per event in OUT: seconds of the monotonic clock, who (send, rtmp, flv, hls, whep, api), kind, the index of the frame
within the published stream; for hls the number of segments so far, for api the microseconds that the answer took. Since
sending and receiving share a loop, a stall of the machine or of this process shows in the sender's own gaps, and a test
subtracts it."""

import os
import select
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from types import SimpleNamespace

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import flv, http, rtc_raw, rtmp  # noqa: E402  (found only after the path is set)


def loop_file(tags):
    """The file's tags again and again, on one timeline; each with its number, from 0, among the frames."""
    script_and_headers = [tag for tag in tags if not flv.is_frame(tag)]
    frames = flv.frames(tags)
    span = frames[-1].timestamp - frames[0].timestamp + 40
    for tag in script_and_headers:
        yield tag._replace(timestamp=0), None
    number, base = 0, -frames[0].timestamp
    while True:
        for tag in frames:
            yield tag._replace(timestamp=tag.timestamp + base), number
            number += 1
        base += span


class Loop:
    def __init__(self, host, rtmp_port, http_port, app, stream, path, out):
        self.out = out
        self.sender = rtmp.Client(host, rtmp_port).handshake()
        self.sender.connect(app)
        self.sender.set_chunk_size(60000)
        self.stream_id = self.sender.publish(stream)
        self.numbers = {}  # a body to its numbers: frames differ, but for loops of the file
        self.source = loop_file(flv.read_file(path))
        self.poll = select.poll()
        self.viewers = {}
        self.writing = threading.Lock()
        # The headers go out before the viewers come, so that all of them start alike.
        self.next = next(self.source)
        while self.next[1] is None:
            self.sender.send_tag(self.next[0], self.stream_id)
            self.next = next(self.source)
        player = rtmp.Client(host, rtmp_port).handshake()
        player.connect(app)
        player.play(stream)
        self.add("rtmp", player)
        self.add("flv", http.Live(http_port, f"/{app}/{stream}.flv", wait=False))
        self.poll.register(self.sender.fileno(), select.POLLIN)

    def add(self, name, viewer):
        self.viewers[viewer.fileno()] = [name, viewer, 0]
        self.poll.register(viewer.fileno(), select.POLLIN)

    def note(self, who, kind, number):
        with self.writing:
            self.out.write(f"{time.monotonic():.6f} {who} {kind} {number}\n")

    def run(self):
        start = time.monotonic()
        while True:
            while (tag := self.next[0]).timestamp <= (time.monotonic() - start) * 1000:
                self.sender.send_tag(tag, self.stream_id)
                self.note("send", tag.type, self.next[1])
                self.next = next(self.source)
            wait = tag.timestamp - (time.monotonic() - start) * 1000
            for fd, _ in self.poll.poll(max(wait, 0)):
                if fd == self.sender.fileno():
                    self.sender.messages()
                else:
                    self.receive(*self.viewers[fd])
            with self.writing:
                self.out.flush()

    def receive(self, name, viewer, _):
        if name == "flv" and viewer.response is None:
            viewer.wait_head()
            if viewer.response.status != 200:
                raise ConnectionError(f"flv: {viewer.response.describe()}")
            if not viewer.buffer:
                return
        tags = viewer.tags()
        if getattr(viewer, "ended", False):
            raise ConnectionError(f"{name}: the stream ended")
        for tag in flv.frames(tags):
            self.note(name, tag.type, tag.timestamp)


POLL_SECONDS = 0.05  # between two questions of the HLS player and of the API caller
REQUESTS = 900  # of one connection; the server ends it after 1,000


def asked_again(port, requests):
    """The answers to the requests, which is called for each path, one every POLL_SECONDS. With each: its path, and the
    seconds that it took."""
    while True:
        with http.Connection(port) as connection:
            for _ in range(REQUESTS):
                path, began = requests(), time.monotonic()
                connection.request("GET", path)
                response = connection.read_response()
                if response.status != 200:
                    raise ConnectionError(f"{path}: {response.describe()}")
                yield path, response, time.monotonic() - began
                time.sleep(POLL_SECONDS)


def call_api(note, port):
    for _, _, seconds in asked_again(port, lambda: "/api/v1/summaries"):
        note("api", 0, int(seconds * 1e6))


def play_hls(note, port, app, stream):
    """Asks for the playlist, and for each segment that is new in it."""
    playlist = f"/{app}/{stream}.m3u8"
    wanted, seen = [], set()
    while http.get(port, playlist).status != 200:  # the first segment is not complete yet
        time.sleep(POLL_SECONDS)
    for path, response, _ in asked_again(port, lambda: wanted.pop(0) if wanted else playlist):
        if path == playlist:
            lines = [line for line in response.body.decode().splitlines() if line and not line.startswith("#")]
            fresh = [line for line in lines if line not in seen]
            if any(".m3u8" in line for line in lines):  # a master playlist: the player's own follows
                playlist = f"/{app}/{lines[0].rsplit('/', 1)[-1]}"
                continue
            seen.update(fresh)
            wanted += [f"/{app}/{line}" for line in fresh]
        note("hls", 0, len(seen))


def play_whep(note, api_port, app, stream):
    """SRTP as it comes; it is not decrypted. Consent is asked for each second."""
    with tempfile.TemporaryDirectory() as directory:
        certificate = rtc_raw.Certificate(Path(directory))
        server = SimpleNamespace(api_port=api_port)
        with rtc_raw.Session(server, f"{app}/{stream}", fingerprint=certificate.fingerprint).verify() as session:
            with rtc_raw.Dtls(session, certificate) as dtls:
                if not dtls.run(rtc_raw.Dtls.established):
                    raise ConnectionError(f"whep: no keys; s_client says {dtls.told()}")
                asked = 0.0
                while True:
                    if time.monotonic() - asked > 1:
                        asked = time.monotonic()
                        session.send(session.request())
                    datagram = session.receive(0.5)
                    if datagram and 128 <= datagram[0] < 192 and not 192 <= datagram[1] < 224:
                        note("whep", datagram[1] & 0x7F, 0)


def in_thread(play, *arguments):
    """A bystander that fails ends the process, which the test sees."""

    def run():
        try:
            play(*arguments)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)

    threading.Thread(target=run, daemon=True).start()


class Watch:
    """The process, from the test's side. Times are of the monotonic clock, which all processes share."""

    VIEWERS = ("rtmp", "flv")
    BYSTANDERS = (*VIEWERS, "hls", "whep", "api")

    def __init__(self, server, path, directory, app="live", stream="watched", all_kinds=False):
        """all_kinds: all the BYSTANDERS; the server has HLS, WebRTC and the API."""
        self.out = Path(directory) / "watch.txt"
        self.errors = Path(directory) / "watch-errors.txt"
        self.server = server
        self.process = subprocess.Popen(
            [
                sys.executable,
                __file__,
                "127.0.0.1",
                str(server.rtmp_port),
                str(server.http_port),
                app,
                stream,
                str(path),
                str(self.out),
                *([str(server.api_port)] if all_kinds else []),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.errors.open("wb"),
        )

    def events(self):
        """(seconds, who, kind, timestamp) of every whole line."""
        self.check()
        text = self.out.read_text() if self.out.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        return [(float(a), who, int(kind), int(c)) for a, who, kind, c in (line.split() for line in lines)]

    def check(self):
        assert (
            self.process.poll() is None
        ), f"the watching viewer or its publisher was disturbed: {self.errors.read_text()}"

    def seen(self, who):
        return sum(1 for event in self.events() if event[1] == who)

    def gap(self, who, since, until):
        """The longest time between two events of who within that time, seconds."""
        times = [since] + [t for t, name, _, _ in self.events() if name == who and since <= t <= until] + [until]
        return max(b - a for a, b in zip(times, times[1:]))

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def main(host, rtmp_port, http_port, app, stream, path, out, api_port=None):
    with open(out, "w", encoding="utf-8") as file:
        loop = Loop(host, int(rtmp_port), int(http_port), app, stream, path, file)
        if api_port:
            in_thread(call_api, loop.note, int(api_port))
            in_thread(play_hls, loop.note, int(http_port), app, stream)
            in_thread(play_whep, loop.note, int(api_port), app, stream)
        loop.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
