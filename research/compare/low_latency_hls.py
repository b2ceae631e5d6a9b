"""Players of low-latency HLS: each waits for the playlist with the next part and fetches it, on one connection; this
server beside a floor that answers prepared bytes, and MediaMTX; over HTTP/1.1, and over HTTP/2 with TLS."""

import contextlib
import time

from .delivery import HTTPS, make_certificate

KBPS, PART_MS = 1000, 333
WARM_S = 6  # a few segments
TOP = "max_waiting_requests 19500; address_limits {{ waiting_requests 0; }}"
VHOST = ("hls {{ enabled on; hls_path {dir}/out; hls_storage memory; hls_use_fmp4 on; hls_fragment 2; hls_window 20; "
         "hls_ctx off; hls_low_latency on; hls_part {part}; }}")  # fmt: skip
MEDIAMTX = """hlsAddress: 127.0.0.1:{port}
hlsAlwaysRemux: yes
hlsVariant: lowLatency
hlsSegmentDuration: 2s
hlsPartDuration: {part}ms
"""
MEDIAMTX_TLS = "hlsEncryption: yes\nhlsServerKey: {dir}/key.pem\nhlsServerCert: {dir}/cert.pem\n"


class LowLatencyHls:
    def __init__(self, servers, load):
        self.servers, self.load, self.directory = servers, load, servers.directory

    def run(self, server, tls, count, words):
        make_certificate(self.directory)
        start = {"floor": self.floor, "ours": self.ours, "MediaMTX": self.mediamtx}[server]
        with start(tls) as (running, url):
            return self.load.run("low-latency-hls", url, "-n", count, "--server-pid", running.pid, *words)

    @contextlib.contextmanager
    def floor(self, tls):
        with self.servers.floor_hls(KBPS, PART_MS, tls) as running:
            yield running, f"http{'s' if tls else ''}://127.0.0.1:{running.http}/live/s.m3u8"

    @contextlib.contextmanager
    def ours(self, tls):
        port = self.servers.https_port if tls else self.servers.http_port
        start = self.servers.ours(top=TOP.format(), vhost=VHOST.format(dir=self.directory, part=PART_MS),
                                  http=HTTPS.format(https=self.servers.https_port, dir=self.directory))  # fmt: skip
        with start as running, self.published(running):
            yield running, f"http{'s' if tls else ''}://127.0.0.1:{port}/live/s.m3u8"

    @contextlib.contextmanager
    def mediamtx(self, tls):
        top = MEDIAMTX.format(port=self.servers.http_port, part=PART_MS)
        if tls:
            top += MEDIAMTX_TLS.format(dir=self.directory)
        with self.servers.mediamtx(top=top) as running, self.published(running):
            yield running, f"http{'s' if tls else ''}://127.0.0.1:{running.http}/live/s/index.m3u8"

    @contextlib.contextmanager
    def published(self, running):
        """Video alone, as fragments of one track: then MediaMTX's players have one playlist, too."""
        with self.load.publisher(running.rtmp_url(), KBPS, audio=False):
            time.sleep(WARM_S - 2.5)
            yield
