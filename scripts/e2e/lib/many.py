"""Many publishers for little: one thread sends each of them a small frame now and then, on timelines without a gap."""

import threading
import time

from . import flv, media, rtmp

PERIOD_MS = 500


class Many:
    """Publishes live/cam00000 and so on until it is left: keyframes alone, those of a file of 160x120. The stream whose
    number is `sick` has one keyframe, and then frames that need it."""

    def __init__(self, server, count, sick):
        self.sick = sick
        tags = [tag for tag in media.from_keyframe(media.rare_keyframes()) if tag.type == flv.VIDEO]
        self.header = next(tag for tag in tags if flv.is_sequence_header(tag))
        frames = [tag for tag in tags if flv.is_frame(tag)]
        self.keyframe, self.others = frames[0], [tag for tag in frames[1:] if not flv.is_keyframe(tag)]
        self.error = None
        self.stopping = threading.Event()
        self.clients = {}
        self.thread = threading.Thread(target=self._run, daemon=True)
        try:
            # The sick one first: its keyframe ages meanwhile.
            for number in [sick, *(number for number in range(count) if number != sick)]:
                client = self.clients[number] = rtmp.publisher(server, "live", name(number))
                client.send_tag(self.header._replace(timestamp=0))
                client.send_tag(self.keyframe._replace(timestamp=0))
        except BaseException:
            self._close()
            raise
        self.thread.start()

    def _run(self):
        """Late frames are sent at once, with the times that they should have had."""
        begin = time.monotonic()
        try:
            for round in range(1, 1_000_000):
                for number, client in self.clients.items():
                    tag = self.others[round % len(self.others)] if number == self.sick else self.keyframe
                    client.send_tag(tag._replace(timestamp=round * PERIOD_MS))
                if self.stopping.wait(max(0, begin + round * PERIOD_MS / 1000 - time.monotonic())):
                    return
        except (OSError, rtmp.RtmpError) as error:
            self.error = error

    def _close(self):
        for client in self.clients.values():
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        self._close()


def name(number):
    return f"cam{number:05}"
