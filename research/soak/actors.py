"""Who comes and goes during a soak. Each is a thread that does its thing again and again until the end; what it did is
counted, and what should not have happened is noted."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/e2e"))
from lib import rtmp  # noqa: E402  # the tests' own client


class Crew:
    """The actors' threads, and what they have in common: the server's addresses, the load tool, the end. media: an FLV
    file of H.264 and AAC, or None: then what is published is made up, and nobody comes by WebRTC, which looks into it."""

    def __init__(self, server, bench, media):
        self.server, self.bench, self.media = server, bench, media
        self.over = threading.Event()
        self.counts, self.problems, self.lock = {}, [], threading.Lock()
        self.threads, self.dice = [], random.Random(1)
        self.seen_hls = False
        self.insecure = ssl.create_default_context()
        self.insecure.check_hostname, self.insecure.verify_mode = False, ssl.CERT_NONE

    def count(self, what, by=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + by

    def problem(self, text):
        with self.lock:
            self.problems.append(text)

    def pause(self, seconds):
        """False when it is over."""
        return not self.over.wait(seconds)

    def start(self, *bodies):
        for body in bodies:
            thread = threading.Thread(target=self.again_and_again, args=(body,), name=body.__name__)
            thread.start()
            self.threads.append(thread)

    def again_and_again(self, body):
        while not self.over.is_set():
            try:
                body()
            except Exception as error:  # an actor that dies quietly would soak nothing
                self.problem(f"{body.__name__}: {type(error).__name__}: {error}")
                self.pause(1)

    def finish(self):
        self.over.set()
        for thread in self.threads:
            thread.join(40)

    # ---- With the load tool

    def rtmp(self, stream="steady"):
        return f"rtmp://127.0.0.1:{self.server.rtmp}/live/{stream}"

    def flv(self, stream="steady"):
        return f"http://127.0.0.1:{self.server.http}/live/{stream}.flv"

    def load(self, what, command, url, *words):
        """Runs the load tool to its end, or to that of the soak."""
        out = self.server.directory / f"{what}.json"
        out.unlink(missing_ok=True)
        process = subprocess.Popen([self.bench, command, url, "-q", "--json", out, *map(str, words)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        while process.poll() is None and self.pause(0.2):
            pass
        ended_by_us = process.poll() is None
        if ended_by_us:
            process.terminate()
        errors = process.communicate()[1]
        figures = json.loads(out.read_text()) if out.exists() else {}
        bad = figures.get("failed", 0) + figures.get("lost", 0) + figures.get("stream_errors", 0)
        # A run that we cut off has connections that were still opening, or had not begun.
        if not ended_by_us and (bad or process.returncode not in (0, 1)):
            self.problem(f"{what}: {bad} failed or lost: {figures.get('reasons')} {errors[-300:]}")
        return figures

    def rtc(self, kind, stream):
        return f"http://127.0.0.1:{self.server.http}/rtc/v1/{kind}/?app=live&stream={stream}"

    def steady_publisher(self):
        file = ["--file", self.media] if self.media else []
        self.load("steady publisher", "publish", self.rtmp(), "--loop", "--seconds", 86400, *file)
        if not self.over.is_set():
            self.problem("the steady publisher has ended")

    def camera(self):
        """What a browser publishes, all the time."""
        self.load("camera", "whip", self.rtc("whip", "camera"), "--file", self.media, "--seconds", 86400)
        if not self.over.is_set():
            self.problem("the camera has ended")

    def steady_rtmp_viewers(self):
        """They stay for a while, and nobody may be lost."""
        self.load("steady RTMP viewers", "play", self.rtmp(), "-n", 25, "--seconds", 8, "--settle-ms", 100)
        self.count("steady RTMP viewers", 25)

    def steady_http_viewers(self):
        self.load("steady HTTP-FLV viewers", "play", self.flv(), "-n", 25, "--seconds", 10, "--settle-ms", 100)
        self.count("steady HTTP-FLV viewers", 25)

    def rtmp_viewers(self):
        done = self.load("RTMP viewers", "churn", self.rtmp(), "--cycles", 60, "--concurrency", 10)
        self.count("RTMP viewers", done.get("cycles", 60))
        self.pause(0.5)

    def http_viewers(self):
        done = self.load("HTTP-FLV viewers", "churn", self.flv(), "--cycles", 60, "--concurrency", 10)
        self.count("HTTP-FLV viewers", done.get("cycles", 60))
        self.pause(0.5)

    def publishers(self):
        self.load("publishers", "churn", self.rtmp("p{i}"), "--publish", "--cycles", 40, "--concurrency", 8)
        self.count("publishers", 40)
        self.load("publishers in small writes", "publish", self.rtmp("q{i}"), "-n", 5, "--seconds", 2, "--settle-ms",
                  100, "--segment", 50, "--loop")  # fmt: skip
        self.count("publishers in small writes", 5)

    def whep_viewers(self):
        self.load("WebRTC viewers", "whep", self.rtc("whep", "steady"), "-n", 5, "--seconds", 4)
        self.load("WebRTC viewers", "whep", self.rtc("whep", "camera"), "-n", 5, "--seconds", 4, "--nack")
        self.count("WebRTC viewers", 10)

    def short_whep_viewers(self):
        """Some say that they go, some do not."""
        self.load("short WebRTC viewers", "rtc-churn", self.rtc("whep", "steady"), "--cycles", 12, "--concurrency", 4)
        self.count("short WebRTC viewers", 12)
        self.pause(0.5)

    def whip_publishers(self):
        self.load("WebRTC publishers", "whip", self.rtc("whip", "w{i}"), "--file", self.media, "-n", 3, "--seconds", 3)
        self.count("WebRTC publishers", 3)

    def viewers_of_camera(self):
        """By RTMP, so that its Opus becomes AAC."""
        self.load("RTMP viewers of the camera", "play", self.rtmp("camera"), "-n", 5, "--seconds", 4)
        self.count("RTMP viewers of the camera", 5)

    # ---- By hand

    def connect(self, port, secure=False, receive_buffer=0):
        one = socket.socket()
        if receive_buffer:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        one.settimeout(10)
        one.connect(("127.0.0.1", port))
        return self.insecure.wrap_socket(one, server_hostname="localhost") if secure else one

    def get(self, port, path, secure=False, headers="", receive_buffer=0):
        one = self.connect(port, secure, receive_buffer)
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode())
        return one

    def watch(self, what, one, wanted, seconds=1.5):
        """Reads for a while; the answer must begin as wanted and bring some of the stream."""
        with one:
            got, total, end = b"", 0, time.monotonic() + seconds
            while time.monotonic() < end and not self.over.is_set():
                try:
                    piece = one.recv(65536)
                except TimeoutError:
                    break
                if not piece:
                    break
                total += len(piece)
                got = (got + piece)[:4096]
            if not self.over.is_set() and (wanted not in got or b"FLV" not in got or total < 2000):
                self.problem(f"{what}: expected {wanted!r} and a stream, got {total} bytes: {got[:80]!r}")
        self.count(what)

    def https_viewer(self):
        if self.server.https:
            self.watch("HTTPS-FLV viewers", self.get(self.server.https, "/live/steady.flv", True), b" 200 ")
        self.pause(0.2)

    def websocket_viewer(self):
        key = base64.b64encode(os.urandom(16)).decode()
        headers = ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   f"Sec-WebSocket-Key: {key}\r\n")  # fmt: skip
        for secure in (False, True):
            port = self.server.https if secure else self.server.http
            if port:
                one = self.get(port, "/live/steady.flv", secure, headers)
                self.watch(f"{'WSS' if secure else 'WS'}-FLV viewers", one, b" 101 ")

    def rtmps_viewer(self):
        if not self.server.rtmps:
            return self.pause(5)
        frames, end = 0, time.monotonic() + 2
        with rtmp.player(None, "live", "steady", port=self.server.rtmps, tls=True) as player:
            while time.monotonic() < end and not self.over.is_set():
                frames += len(player.tags())
        if frames < 50 and not self.over.is_set():
            self.problem(f"RTMPS viewer: expected two seconds of the stream, got {frames} frames")
        self.count("RTMPS viewers")
        self.pause(0.5)

    def ts_viewers(self):
        url = f"http://127.0.0.1:{self.server.http}/live/steady.ts"
        self.load("HTTP-TS viewers", "play", url, "-n", 5, "--seconds", 3, "--settle-ms", 100)
        self.count("HTTP-TS viewers", 5)

    def fetch(self, url):
        """Status and body; the connection is the next one's."""
        path = url if url.startswith("/") else f"/live/{url}"
        client = http.client.HTTPConnection("127.0.0.1", self.server.http, timeout=10)
        try:
            client.request("GET", path)
            answer = client.getresponse()
            return answer.status, answer.read()
        finally:
            client.close()

    def hls_viewer(self):
        """As a player does: the playlist that names the playlist, that one, and its newest segment."""
        status, text = self.fetch("/live/steady.m3u8")
        lines = [line for line in text.decode().splitlines() if line and line[0] != "#"]
        if status == 200 and lines and ".m3u8" in lines[0]:
            status, text = self.fetch(lines[0])
            lines = [line for line in text.decode().splitlines() if line and line[0] != "#"]
        if status == 404 and not self.seen_hls:
            return self.pause(1)  # its first segment is not complete
        if status != 200 or not lines:
            self.problem(f"HLS viewer: expected a playlist with segments, got {status} {text[:200]!r}")
            return self.pause(1)
        self.seen_hls = True
        status, segment = self.fetch(lines[-1])
        if status != 200 or segment[:1] != b"G" or len(segment) % 188:
            self.problem(f"HLS viewer: {lines[-1]}: expected a TS segment, got {status}, {len(segment)} bytes")
        self.count("HLS viewers")
        self.pause(0.5)

    def janitor(self):
        """Recordings are removed, as an operator's script would, once they are complete."""
        for path in (self.server.directory / "dvr").rglob("*"):
            if path.suffix in (".flv", ".mp4") and path.stat().st_mtime < time.time() - 3:
                if path.stat().st_size == 0:
                    self.problem(f"an empty recording: {path.name}")
                path.unlink()
                self.count("recordings")
        self.pause(3)

    # ---- Faults

    def garbage(self):
        """Bytes that are nothing, on every port."""
        for port in (self.server.rtmp, self.server.http, self.server.rtmps, self.server.https):
            # What the server answers, or that it hangs up in the middle, is its business.
            with contextlib.suppress(OSError):
                if port:
                    with self.connect(port) as one:
                        start = self.dice.choice([b"", b"\3", b"GET / HTTP/1.1\r\n", b"\x16\3\1\2\0\1\0"])
                        one.sendall(start + self.dice.randbytes(self.dice.choice([1, 100, 1536, 20000])))
                        self.count("garbage")
                        if self.dice.random() < 0.5:
                            one.settimeout(0.3)
                            one.recv(1000)
        if self.server.rtc:
            with socket.socket(type=socket.SOCK_DGRAM) as one:
                start = self.dice.choice([b"", b"\0\1\0\10\x21\x12\xa4\x42", b"\x16\xfe\xfd", b"\x80\x60", b"\x80\xc8"])
                one.sendto(start + self.dice.randbytes(self.dice.choice([1, 40, 1200])), ("127.0.0.1", self.server.rtc))
                self.count("garbage")
        self.pause(0.2)

    def half_open(self):
        """Handshakes that are never finished, left for a while and then reset."""
        held = []
        for i in range(15):
            with contextlib.suppress(OSError):
                one = self.connect(self.dice.choice([self.server.rtmp, self.server.http]))
                one.sendall(b"\3" + bytes(100 * i))
                held.append(one)
        self.count("half-open connections", len(held))
        self.pause(3)
        for one in held:
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()

    def frozen_publisher(self):
        """Publishes, is stopped in mid-stream, goes on, and is killed without a word."""
        words = [self.bench, "publish", self.rtmp("frozen"), "-q", "-n", "3", "--seconds", "60", "--loop"]
        words[2] += "{i}"
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.pause(2)
            process.send_signal(signal.SIGSTOP)
            self.pause(3)
            process.send_signal(signal.SIGCONT)
            self.pause(1)
        finally:
            process.kill()
            process.wait()
        self.count("frozen publishers", 3)

    def slow_readers(self):
        """Viewers that take a little now and then, and fall far behind."""
        held = [self.get(self.server.http, "/live/steady.flv", receive_buffer=4096) for _ in range(5)]
        for _ in range(20):
            if not self.pause(0.5):
                break
            for one in held:
                with contextlib.suppress(OSError):
                    one.settimeout(0.01)
                    one.recv(500)
        for one in held:
            one.close()
        self.count("slow readers", len(held))

    def reloads(self):
        """Another configuration, and HUP."""
        self.server.reload(self.counts.get("reloads", 0) + 1)
        self.count("reloads")
        self.pause(5)

    def all_the_time(self):
        return (self.steady_publisher, self.camera) if self.server.rtc else (self.steady_publisher,)

    def everybody(self):
        by_webrtc = (self.whep_viewers, self.short_whep_viewers, self.whip_publishers, self.viewers_of_camera)
        return (*(by_webrtc if self.server.rtc else ()),
                self.steady_rtmp_viewers, self.steady_http_viewers, self.rtmp_viewers, self.http_viewers,
                self.publishers, self.https_viewer, self.websocket_viewer, self.rtmps_viewer, self.ts_viewers,
                self.hls_viewer, self.janitor, self.garbage, self.half_open, self.frozen_publisher, self.slow_readers,
                self.reloads)  # fmt: skip
