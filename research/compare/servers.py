"""The servers that are measured: how each is started, alone on core 0, and what its addresses are."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

OURS = """listen 127.0.0.1:{rtmp}; max_connections 19500; daemon off; srs_log_tank console; srs_log_level warn;
pid {dir}/srs.pid; {top}
http_server {{ enabled on; listen 127.0.0.1:{http}; dir {dir}; {more_http} }}
vhost __defaultVhost__ {{
    {vhost}
    play {{ gop_cache on; {play} }}
    http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
}}
"""

NGINX = """load_module {module}; daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log;
worker_processes 1; worker_rlimit_nofile 20000; events {{ worker_connections 19500; }}
rtmp {{ access_log off; server {{ listen 127.0.0.1:{port}; chunk_size 60000;
    application live {{ live on; play_restart off; {more} }} }} }}
"""
NGINX_MODULE = pathlib.Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")

MEDIAMTX = """logLevel: error
rtmpAddress: 127.0.0.1:{port}
{rtsp}
{webrtc}
{srt}
moq: no
{top}
paths:
  all_others:
{path}
"""
MEDIAMTX_WEBRTC = """webrtcAddress: 127.0.0.1:{http}
webrtcLocalUDPAddress: 127.0.0.1:{rtc}
webrtcIPsFromInterfaces: no
webrtcAdditionalHosts: [127.0.0.1]"""
MEDIAMTX_SRT = """srt: yes
srtAddress: 127.0.0.1:{srt}"""
MEDIAMTX_RTSP = """rtsp: yes
rtspTransports: [tcp, udp]
rtspAddress: 127.0.0.1:{rtsp}
rtpAddress: 127.0.0.1:{rtp}
rtcpAddress: 127.0.0.1:{rtcp}"""
RTC_TOP = "rtc_server { enabled on; listen {rtc}; candidate 127.0.0.1; }"
RTC_VHOST = "rtc { enabled on; rtmp_to_rtc on; }"
RTSP_TOP = "rtsp_server { enabled on; listen 127.0.0.1:{rtsp}; udp { enabled on; listen 127.0.0.1:{rtp}; } }"
SRT_TOP = "srt_server { enabled on; listen 127.0.0.1:{srt}; }"
SRT_VHOST = "srt { enabled on; }"
RTSP_VHOST = "rtsp { enabled on; }"


class Failure(Exception):
    """Something that keeps the comparison from being made."""


FIRST_PORT = 21000 + os.getpid() % 1000 * 10  # others may look for theirs at the same time


def free_ports(count, first=FIRST_PORT):
    """Ports that nobody uses, or another server would be measured for ours; below those that clients are given."""
    ports = []
    for port in range(first, 32000):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise Failure("no free ports between 21000 and 32000")


def free_udp_pair(first=FIRST_PORT):
    """An even port and the next one, for RTP and RTCP."""
    for port in range(first + first % 2, 32000, 2):
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
            for i, one in enumerate(sockets):
                opened.enter_context(one)
                one.bind(("127.0.0.1", port + i))
            return port
    raise Failure("no free pair of UDP ports between 21000 and 32000")


def pinned(core):
    return ["taskset", "-c", str(core)] if (os.cpu_count() or 1) > 1 and shutil.which("taskset") else []


class Running:
    """A server that listens. start_ms: from its start until it accepted a connection."""

    def __init__(self, process, servers, start_ms):
        self.pid, self.start_ms = process.pid, start_ms
        self.rtmp, self.http, self.api = servers.rtmp_port, servers.http_port, servers.api_port
        self.rtc, self.rtsp, self.rtp, self.srt = servers.rtc_port, servers.rtsp_port, servers.rtp_port, servers.srt_port

    def rtmp_url(self, stream="s"):
        return f"rtmp://127.0.0.1:{self.rtmp}/live/{stream}"

    def rtsp_url(self, stream="s"):
        return f"rtsp://127.0.0.1:{self.rtsp}/live/{stream}"

    def play_url(self, protocol, stream="s"):
        if protocol == "rtsp":
            return self.rtsp_url(stream)
        return f"http://127.0.0.1:{self.http}/live/{stream}.flv" if protocol == "http" else self.rtmp_url(stream)

    def srt_url(self, stream="s", publish=False):
        """By MediaMTX's form of stream ids, which ours reads too."""
        return f"srt://127.0.0.1:{self.srt}/{'publish' if publish else 'read'}:live/{stream}"

    def whip_url(self, kind="whip", stream="s"):
        """Of ours; MediaMTX's has the stream in its path."""
        return f"http://127.0.0.1:{self.http}/rtc/v1/{kind}/?app=live&stream={stream}"

    def stalls(self):
        """Of ours with its API: times at which the loop stalled, the newest. None: not asked for."""
        with contextlib.suppress(OSError):
            url = f"http://127.0.0.1:{self.api}/api/v1/debug/runtime"
            return json.load(urllib.request.urlopen(url, timeout=5))["data"]["last_stalls"]
        return None

    def memory_kb(self, field="Pss"):
        """Pss_Anon: that part of it that is not of files."""
        text = pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{field}:"))


class Servers:
    """One server at a time. first: of the ports that it looks for; another server beside it begins behind last_port."""

    def __init__(self, objs, directory, first=FIRST_PORT):
        self.objs, self.directory, self.program = objs, directory, objs / "srs"
        self.more_top = ""
        (self.rtmp_port, self.http_port, self.api_port, self.rtc_port, self.https_port,
         self.rtsp_port, self.srt_port) = free_ports(7, first)  # fmt: skip
        self.rtp_port = free_udp_pair(first)
        self.last_port = max(self.srt_port, self.rtp_port + 1)
        (directory / "logs").mkdir(exist_ok=True)

    @contextlib.contextmanager
    def output(self):
        """A directory for what a server writes, known to it as directory/out, far from where others wrote before it.

        ext4 passes over the inodes of files that were removed in the last minutes, one by one, each time it makes a
        file: 0.4 ms where some thousand recordings have just gone, 0.01 ms elsewhere. Below a directory marked T each
        directory is given another part of the disk."""
        spread, link = self.directory / "outputs", self.directory / "out"
        if not spread.exists():
            spread.mkdir()
            with contextlib.suppress(OSError):  # no chattr: then as it comes
                subprocess.run(["chattr", "+T", spread], check=False, stderr=subprocess.DEVNULL)
        fresh = pathlib.Path(tempfile.mkdtemp(dir=spread))
        link.symlink_to(fresh)
        try:
            yield fresh
        finally:
            link.unlink()
            shutil.rmtree(fresh, ignore_errors=True)

    def there(self):
        """Which of the others can be measured here."""
        return {"nginx": bool(shutil.which("nginx")) and NGINX_MODULE.exists(),
                "mediamtx": (self.objs / "peers/mediamtx").exists()}  # fmt: skip

    @contextlib.contextmanager
    def process(self, words, port, environment=None):
        log = self.directory / "server.log"
        with open(log, "wb") as out:
            began = time.monotonic()
            process = subprocess.Popen([*pinned(0), *map(str, words)], stdout=out, stderr=out, cwd=self.directory,
                                       env={**os.environ, **(environment or {})})  # fmt: skip
        try:
            start_ms = self.wait_for(port, process, log, began)
            yield Running(process, self, start_ms)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @staticmethod
    def wait_for(port, process, log, began):
        if port is None:  # UDP alone, bound at once
            time.sleep(0.3)
            return 300
        while time.monotonic() < began + 10 and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return (time.monotonic() - began) * 1000
            time.sleep(0.001)
        raise Failure(f"nothing listens on port {port}:\n{log.read_text(errors='replace')[-2000:]}")

    def floor(self, kbps, interval_ms):
        return self.process([self.objs / "floor", self.http_port, kbps, interval_ms], self.http_port)

    def floor_publish(self, how="", ms=0):
        """how: "" for a recv per arrival, "-turns" or "-uring" with their interval."""
        words = [f"--publish{how}", self.rtmp_port, *([ms] if how else [])]
        return self.process([self.objs / "floor", *words], self.rtmp_port)

    def floor_rooms(self, kbps, interval_ms):
        """For publishers by bare TCP and players by HTTP."""
        return self.process([self.objs / "floor", "--rooms", self.http_port, kbps, interval_ms], self.http_port)

    def floor_srtp(self, kbps, sound_ms):
        return self.process([self.objs / "floor", "--srtp", self.rtc_port, kbps, sound_ms], None)

    def floor_srtp_rooms(self):
        """For publishers and players by UDP."""
        return self.process([self.objs / "floor", "--srtp-rooms", self.rtc_port], None)

    def floor_datagrams(self, kbps, interval_ms):
        return self.process([self.objs / "floor", "--datagrams", self.rtp_port, kbps, interval_ms], None)

    def floor_srt(self, kbps, interval_ms):
        return self.process([self.objs / "floor", "--srt", self.srt_port, kbps, interval_ms], None)

    def floor_hls(self, kbps, part_ms, tls):
        files = [self.directory / "cert.pem", self.directory / "key.pem"] if tls else []
        return self.process([self.objs / "floor", "--hls", self.http_port, kbps, part_ms, *files], self.http_port)

    def ours(self, play="", vhost="", top="", environment=None, http=""):
        conf = self.directory / "srs.conf"
        conf.write_text(OURS.format(dir=self.directory, rtmp=self.rtmp_port, http=self.http_port, play=play,
                                    vhost=vhost, top=self.with_ports(top + self.more_top), more_http=http))  # fmt: skip
        return self.process([self.program, "-c", conf], self.http_port, environment)

    @contextlib.contextmanager
    def replaced(self, program):
        """Within it `ours` starts this program."""
        ours, self.program = self.program, program
        try:
            yield
        finally:
            self.program = ours

    @contextlib.contextmanager
    def configured(self, directives):
        """Within it `ours` has these at the top level too."""
        self.more_top = f"\n{directives}\n"
        try:
            yield
        finally:
            self.more_top = ""

    def with_ports(self, text):
        for name in ("api", "rtc", "rtsp", "rtp", "srt"):
            text = text.replace(f"{{{name}}}", str(getattr(self, f"{name}_port")))
        return text

    def ours_webrtc(self):
        return self.ours("", RTC_VHOST, RTC_TOP)

    def ours_rtsp(self, play=""):
        return self.ours(play, RTSP_VHOST, RTSP_TOP)

    def ours_srt(self, play="", top=""):
        return self.ours(play, SRT_VHOST, SRT_TOP + top)

    def mediamtx_srt(self):
        return self.mediamtx(srt=MEDIAMTX_SRT.format(srt=self.srt_port))

    def mediamtx_rtsp(self):
        return self.mediamtx(rtsp=MEDIAMTX_RTSP.format(rtsp=self.rtsp_port, rtp=self.rtp_port, rtcp=self.rtp_port + 1))

    def mediamtx_webrtc(self):
        return self.mediamtx(webrtc=MEDIAMTX_WEBRTC.format(http=self.http_port, rtc=self.rtc_port))

    def nginx(self, more=""):
        conf = self.directory / "nginx.conf"
        conf.write_text(NGINX.format(module=NGINX_MODULE, dir=self.directory, port=self.rtmp_port, more=more))
        return self.process(["nginx", "-p", self.directory, "-c", conf], self.rtmp_port)

    def mediamtx(self, top="hls: no", path="", webrtc="webrtc: no", rtsp="rtsp: no", srt="srt: no"):
        conf = self.directory / "mediamtx.yml"
        conf.write_text(MEDIAMTX.format(port=self.rtmp_port, top=top, path=path, webrtc=webrtc, rtsp=rtsp, srt=srt))
        return self.process([self.objs / "peers/mediamtx", conf], self.rtmp_port)
