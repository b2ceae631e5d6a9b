"""One publisher and its watching viewers in a process of their own, in one loop: what each moment of sending and of
receiving was, for gaps and latencies. Started by Watch; `python watch.py HOST RTMP_PORT HTTP_PORT APP STREAM FILE OUT`.

A line per event in OUT: seconds of the monotonic clock, who (send, rtmp, flv), kind, the place of the frame within the
published stream. Since sending and receiving share a loop, a stall of the machine or of this process shows in the
sender's own gaps, and a test subtracts it."""

import select
import subprocess
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import flv, http, rtmp  # noqa: E402  (found only after the path is set)


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


class Watch:
    """The process, from the test's side. Times are of the monotonic clock, which all processes share."""

    VIEWERS = ("rtmp", "flv")

    def __init__(self, server, path, directory, app="live", stream="watched"):
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


def main(host, rtmp_port, http_port, app, stream, path, out):
    with open(out, "w", encoding="utf-8") as file:
        Loop(host, int(rtmp_port), int(http_port), app, stream, path, file).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
