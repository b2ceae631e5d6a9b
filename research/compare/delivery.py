"""HLS delivery: a playlist and a segment over HTTP and HTTPS, this server beside nginx. The load is wrk, at full speed,
so that what counts is the processor time of a request. And players of one live stream, by the load tool."""

import glob
import math
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.request

from .servers import Failure, Servers, pinned

KBPS = 600  # segments of 2 s have about 155 kB
SEGMENT_BYTES = 155_000  # of nginx, where none of ours was measured before it
SHORT_SECONDS, LONG_SECONDS, PUBLISH_SECONDS = 2, 6, 7
HANDSHAKES_PER_S = 500  # of TLS, at least
HTTPS = "https {{ enabled on; listen 127.0.0.1:{https}; cert {dir}/cert.pem; key {dir}/key.pem; }}"
VHOST = "hls {{ enabled on; hls_path {out}; hls_storage {storage}; hls_fragment 2; hls_window 60; hls_ctx off; }}"
# As much as nginx can save: no log, and descriptors that it keeps.
LIVE_KBPS = 1000  # of the stream that players play
# A playlist is new every two seconds: it is not kept open.
LIVE = r"location ~ \.m3u8$ {{ open_file_cache off; }}"
NGINX = """daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log; worker_processes 1;
worker_rlimit_nofile 20000; events {{ worker_connections 15000; }}
http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
open_file_cache max=1000 inactive=20s;
types {{ application/vnd.apple.mpegurl m3u8; video/mp2t ts; }}
server {{ listen 127.0.0.1:{http} backlog=4096; listen 127.0.0.1:{https} ssl backlog=4096; root {root}; {more}
ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem; }} }}
"""


def make_certificate(directory):
    if (directory / "cert.pem").exists():
        return
    words = f"openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -keyout {directory}/key.pem"
    subprocess.run([*words.split(), "-out", directory / "cert.pem"], check=True, capture_output=True)


def cpu_us(pid):
    """Of all threads; finer than the ticks of /proc/PID/stat."""
    threads = glob.glob(f"/proc/{pid}/task/*/schedstat")
    return sum(int(pathlib.Path(path).read_text().split()[0]) for path in threads) / 1000


def run_wrk(url, connections, seconds):
    words = [*pinned(1), "wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "30s", url]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds + 60)
    found = re.search(r"(\d+) requests in", done.stdout)
    if not found:
        raise Failure(f"wrk {url}: {done.stdout}{done.stderr}")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+)", done.stdout)
    return int(found[1]), int(refused[1] if refused else 0) + sum(map(int, broken.groups() if broken else ()))


def measure(pid, url, connections):
    """What a longer run takes beyond a shorter one, so that connecting and TLS handshakes do not count."""
    runs, errors = [], 0
    handshakes_s = math.ceil(connections / HANDSHAKES_PER_S) if url.startswith("https") else 0
    for seconds in (SHORT_SECONDS + handshakes_s, LONG_SECONDS + handshakes_s):
        before = cpu_us(pid)
        requests, bad = run_wrk(url, connections, seconds)
        runs.append((cpu_us(pid) - before, requests))
        errors += bad
    (short_us, short_requests), (long_us, long_requests) = runs
    requests, seconds = max(1, long_requests - short_requests), LONG_SECONDS - SHORT_SECONDS
    return {"cpu_us": round((long_us - short_us) / requests, 2), "requests": requests, "errors": errors,
            "per_s": round(requests / seconds), "server_cpu_percent": round((long_us - short_us) / seconds / 10_000, 1)}  # fmt: skip


def fetch(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read()


class Delivery:
    def __init__(self, servers, load):
        self.servers, self.load, self.directory = servers, load, servers.directory
        self.files = self.directory / "delivery"

    def base(self, running, tls):
        return f"https://127.0.0.1:{self.servers.https_port}" if tls else f"http://127.0.0.1:{running.http}"

    def ours(self, what, storage, tls, connections):
        make_certificate(self.directory)
        with self.servers.output():
            out = self.directory / "out"
            start = self.servers.ours(vhost=VHOST.format(out=out, storage=storage),
                                      http=HTTPS.format(https=self.servers.https_port, dir=self.directory))  # fmt: skip
            with start as running, self.load.publisher(running.rtmp_url(), KBPS):
                playlist = f"http://127.0.0.1:{running.http}/live/s.m3u8"
                time.sleep(PUBLISH_SECONDS - 2.5)
                names = [line for line in fetch(playlist).decode().splitlines() if line and not line.startswith("#")]
                segment = fetch(f"http://127.0.0.1:{running.http}/live/{names[-1]}")
                self.keep(fetch(playlist), segment)
                path = "/live/s.m3u8" if what == "playlist" else f"/live/{names[-1]}"
                return {**measure(running.pid, self.base(running, tls) + path, connections), "bytes": len(segment)}

    def keep(self, playlist, segment):
        """The same for nginx."""
        self.files.mkdir(exist_ok=True)
        (self.files / "s.m3u8").write_bytes(playlist)
        (self.files / "s.ts").write_bytes(segment)

    def start_nginx(self, root, more=""):
        make_certificate(self.directory)
        conf = self.directory / "nginx-files.conf"
        conf.write_text(NGINX.format(dir=self.directory, http=self.servers.http_port, https=self.servers.https_port, root=root,
                                     more=more.format()))  # fmt: skip
        return self.servers.process(["nginx", "-p", self.directory, "-c", conf], self.servers.http_port)

    def nginx(self, what, tls, connections):
        if not (self.files / "s.ts").exists():
            self.keep(b"#EXTM3U\n" + b"#EXTINF:2.000, no desc\ns-12.ts\n" * 20, os.urandom(SEGMENT_BYTES))
        with self.start_nginx(self.files) as running:
            path = "/s.m3u8" if what == "playlist" else "/s.ts"
            return measure(running.pid, self.base(running, tls) + path, connections)

    def players(self, storage, count, words):
        """Of one live stream, served by ours. words: of the load tool."""
        with self.servers.output():
            vhost = VHOST.format(out=self.directory / "out", storage=storage)
            with self.servers.ours(vhost=vhost) as running, self.load.publisher(running.rtmp_url(), LIVE_KBPS):
                return self.play(running, running, count, words)

    def nginx_players(self, count, words):
        """The same by nginx, out of the directory into which an instance of ours writes."""
        directory = self.directory / "live"
        directory.mkdir(exist_ok=True)
        source = Servers(self.servers.objs, directory, first=self.servers.last_port + 1)
        with source.output():
            vhost = VHOST.format(out=directory / "out", storage="disk")
            with (source.ours(vhost=vhost) as ours, self.load.publisher(ours.rtmp_url(), LIVE_KBPS),
                  self.start_nginx(directory / "out", LIVE) as running):  # fmt: skip
                return self.play(running, ours, count, words)

    def play(self, running, ours, count, words):
        """ours: who makes the stream."""
        time.sleep(PUBLISH_SECONDS)
        playlist = "/live/s.m3u8"
        if fetch(f"http://127.0.0.1:{ours.http}{playlist}").count(b"#EXTINF") < 2:
            raise Failure("the live stream should have two segments by now")
        return self.load.run("hls", f"http://127.0.0.1:{running.http}{playlist}", "-n", count, "--server-pid", running.pid,
                             *words)  # fmt: skip

    @staticmethod
    def there():
        return bool(shutil.which("wrk"))
