"""The server under a soak: its configuration, its process, and what can be seen of it from outside."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

CONF = """listen 127.0.0.1:{rtmp}; max_connections 2000; daemon off; pid {dir}/srs.pid;
srs_log_tank file; srs_log_file {dir}/srs.log; srs_log_level {level};
{rtmps}
{rtc_server}
http_server {{ enabled on; listen 127.0.0.1:{http}; dir {dir}; {https} }}
{api}
vhost __defaultVhost__ {{
    play {{ gop_cache on; mw_latency {merge}; queue_length {queue}; rejoin_timeout 2000; }}
    publish {{ normal_timeout 2000; }}
    http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
    {rtc}
    hls {{ enabled on; hls_path {dir}/hls; hls_fragment 2; hls_window 10; hls_dispose 3; hls_storage {storage}; }}
    dvr {{ enabled on; dvr_plan segment; dvr_duration 5; dvr_path {dir}/dvr/[app]/[stream].[timestamp].{recorded}; }}
}}
"""
RTC_SERVER = "rtc_server {{ enabled on; listen 127.0.0.1:{port}; candidate 127.0.0.1; }}"
# Who falls silent is to be forgotten within a short run's warm-up.
RTC = "rtc { enabled on; rtmp_to_rtc on; rtc_to_rtmp on; stun_timeout 4; }"
API = "http_api {{ enabled on; listen 127.0.0.1:{port}; debug on; }}"


def free_ports(count):
    with contextlib.ExitStack() as stack:
        found = []
        for port in range(22000 + os.getpid() % 900 * 10, 32000):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
            if len(found) == count:
                return found
    raise SystemExit("soak: no free ports")


class SoakedServer:
    """webrtc: whether it is to be served."""

    def __init__(self, objs, directory, webrtc):
        self.objs, self.directory = objs, directory
        self.sanitized = "CONFIG_SANITIZER := on" in (objs / "config.mk").read_text()
        self.rtmp, self.http, self.rtmps, self.https, self.api, self.rtc = free_ports(6)
        if not webrtc:
            self.rtc = 0
        self.cert = self.make_certificate()
        if not self.cert:
            self.rtmps = self.https = 0
        self.conf = directory / "srs.conf"
        # Where the server knows no API yet there is none to ask.
        self.write(0)
        if not self.accepted():
            self.api = 0
            self.write(0)
        self.process = None

    def make_certificate(self):
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.directory / "key.pem",
                 "-out", self.directory / "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1"]  # fmt: skip
        with contextlib.suppress(OSError):
            return subprocess.run(words, capture_output=True, check=False).returncode == 0
        return False

    def accepted(self):
        return subprocess.run([self.objs / "srs", "-t", "-c", self.conf], capture_output=True, cwd=self.directory,
                              check=False).returncode == 0  # fmt: skip

    def write(self, turn):
        """The configuration, a little different each time."""
        tls = f"key {self.directory}/key.pem; cert {self.directory}/cert.pem;"
        text = CONF.format(
            dir=self.directory, rtmp=self.rtmp, http=self.http, level=("info", "trace")[turn % 2],
            merge=(350, 100, 0)[turn % 3], queue=(10, 5)[turn % 2],
            storage=("both", "memory", "disk")[turn % 3], recorded=("flv", "mp4")[turn % 2],
            rtmps=f"rtmps {{ enabled on; listen 127.0.0.1:{self.rtmps}; {tls} }}" if self.rtmps else "",
            https=f"https {{ enabled on; listen 127.0.0.1:{self.https}; {tls} }}" if self.https else "",
            rtc_server=RTC_SERVER.format(port=self.rtc) if self.rtc else "", rtc=RTC if self.rtc else "",
            api=API.format(port=self.api) if self.api else "",
        )  # fmt: skip
        fresh = self.conf.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self.conf)

    def start(self):
        with open(self.directory / "stderr.txt", "wb") as out:
            self.process = subprocess.Popen([self.objs / "srs", "-c", self.conf], cwd=self.directory, stdout=out,
                                            stderr=out)  # fmt: skip
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.http), 1):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise SystemExit(f"soak: the server does not start:\n{self.last_words()}")

    def last_words(self):
        files = [self.directory / "stderr.txt", self.directory / "srs.log"]
        return "\n".join(f.read_text(errors="replace")[-3000:] for f in files if f.exists())

    def alive(self):
        return self.process.poll() is None

    def reload(self, turn):
        self.write(turn)
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        """Its exit code, or None where it had to be killed."""
        if self.alive():
            self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    # ---- What can be seen

    def memory_kb(self):
        """PSS, RSS, and what is its own and written to: heap and stacks. PSS moves when other processes map the same
        libraries, or stop to; the last does not."""
        text = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        values = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines() if line.endswith(" kB")}
        return values["Pss"], values["Rss"], values["Private_Dirty"]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def open_files(self):
        """What each descriptor is: "socket:[4711]", "/path"."""
        directory = pathlib.Path(f"/proc/{self.process.pid}/fd")
        found = []
        for name in directory.iterdir():
            with contextlib.suppress(OSError):
                found.append(f"{name.name} {os.readlink(name)}")
        return sorted(found)

    def debug(self, what):
        """What the debug API says; empty where it does not."""
        if not self.api:
            return {}
        with contextlib.suppress(OSError, ValueError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api}/api/v1/debug/{what}", timeout=5) as answer:
                return json.loads(answer.read())
        return {}


    def turn_ms(self):
        """How long a small request waits for its answer: what a stall of the loop would add to."""
        began = time.monotonic()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.http), 10) as one:
            one.sendall(b"GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            if one.recv(1000):
                return round((time.monotonic() - began) * 1000, 2)
        return None

    def sample(self, t):
        pss, rss, own = self.memory_kb()
        loop = self.debug("runtime").get("data", {})
        return {"t": round(t, 1), "pss_kb": pss, "rss_kb": rss, "own_kb": own, "descriptors": self.descriptors(),
                "coroutines": loop.get("coroutines"), "stalls": loop.get("stalls"),
                "longest_stall_ms": loop.get("longest_stall_ms"), "last_stalls": loop.get("last_stalls", []),
                "turn_ms": self.turn_ms()}  # fmt: skip
