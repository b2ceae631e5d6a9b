"""Publishing with our own client, as the published tags are then known to the byte."""

import threading
import time

from . import flv, rtmp


def send_all(client, tags, speed=None):
    """All tags, paced by their timestamps times speed, or as fast as they go."""
    start = time.monotonic()
    for tag in tags:
        if speed:
            time.sleep(max(0.0, tag.timestamp / 1000 / speed - (time.monotonic() - start)))
        client.send_tag(tag)


class Steady:
    """Publishes a file in a loop, on one timeline, from a thread, until it is stopped; speed times as fast as real time."""

    def __init__(self, client, tags, start_at=0, speed=1):
        self.client = client
        self.tags = tags
        self.start_at = start_at  # ms, of the first timestamp
        self.speed = speed
        self.sent = []
        self.error = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _timeline(self):
        frames = flv.frames(self.tags)
        first, span = frames[0].timestamp, frames[-1].timestamp - frames[0].timestamp + 40
        for tag in self.tags:
            if not flv.is_frame(tag):
                yield tag._replace(timestamp=self.start_at)
        base = self.start_at - first
        while True:
            for tag in frames:
                yield tag._replace(timestamp=tag.timestamp + base)
            base += span

    def _run(self):
        begin = time.monotonic()
        try:
            for tag in self._timeline():
                pause = (tag.timestamp - self.start_at) / 1000 / self.speed - (time.monotonic() - begin)
                if self.stopping.wait(max(pause, 0)):
                    return
                self.client.send_tag(tag)
                self.sent.append(tag)
        except (OSError, rtmp.RtmpError) as error:
            self.error = error

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.client.close()


class Collector:
    """Collects the tags of a player in a thread, to its end."""

    def __init__(self, source):
        self.source = source
        self.tags = []
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            while not self.source.ended:
                self.tags += self.source.tags()
        except (OSError, ValueError, AssertionError) as error:
            self.error = error

    def finish(self, seconds, who):
        """The tags, once the stream has ended."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), f"{who}: no end within {seconds} s; {len(self.tags)} tags came"
        assert self.error is None, f"{who}: {self.error!r} after {len(self.tags)} tags"
        self.source.close()
        return self.tags
