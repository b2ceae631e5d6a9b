"""A cluster under load: a Redis, two origins, two edges, encoders and players. Only its own processes are ended."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.request

from lib import ports

from .network import Loopback
from .players import Careful

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
TAKEN_S = 2.5  # encoders that an origin has not taken after that time try again
GROUPS = ("a", "b")  # streams of the encoders of origin0, and of origin1
SERVER = """listen {address}:{rtmp}; max_connections 4000; daemon off; pid {dir}/{name}.pid;
srs_log_tank file; srs_log_file {log}; srs_log_level trace;
http_server {{ enabled on; listen {address}:{http}; dir {dir}; }}
http_api {{ enabled on; listen {address}:{api}; }}
circuit_breaker {{ enabled off; }}
address_limits {{ exempt 127.0.0.0/8 198.18.0.0/15; }}
redis {{ enabled on; server {redis}; advertise rtmp://{address}:{rtmp} http://{address}:{http}; }}
vhost __defaultVhost__ {{
    cluster {{ registry on; {cluster} }}
    play {{ mw_latency {latency}; }}
    http_remux {{ enabled on; }}
    {more}
}}
"""
HLS = "hls { enabled on; hls_ctx off; hls_storage memory; hls_fragment 2; }"
NGINX = """daemon off; master_process off; worker_processes 1; pid {dir}/nginx.pid; error_log stderr warn;
events {{ worker_connections 1000; }}
http {{
    access_log off;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    proxy_cache_path {dir}/hls keys_zone=hls:10m max_size=100m inactive=60s use_temp_path=off;
    upstream packager {{ server {edge}; }}
    server {{
        listen 127.0.0.1:{port};
        proxy_cache hls; proxy_cache_key $uri; proxy_cache_lock on;
        location ~ \\.m3u8$ {{
            proxy_pass http://packager; proxy_ignore_headers Cache-Control; proxy_cache_valid 200 1s;
        }}
        location / {{ proxy_pass http://packager; }}
    }}
}}
"""


class Failed(Exception):
    pass


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.05)


class Member:
    def __init__(self, name, words, output, prefix=()):
        self.name, self.words, self.output = name, [*prefix, *(str(word) for word in words)], output
        self.process = None

    def start(self):
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            start_new_session=True)  # fmt: skip

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
                return
            self.kill()


class Server(Member):
    """An origin or an edge."""

    def __init__(self, cluster, name, edge, more=""):
        self.address, self.ports = cluster.network.address(name), ports.take(3)
        self.rtmp, self.http, self.api = self.ports
        self.log = cluster.directory / f"{name}.log"
        self.conf = cluster.directory / f"{name}.conf"
        self.conf.write_text(SERVER.format(
            name=name, address=self.address, rtmp=self.rtmp, http=self.http, api=self.api, log=self.log,
            dir=cluster.directory, redis=f"{cluster.redis_address}:{cluster.redis_port}", cluster=edge,
            latency=cluster.latency, more=more,
        ))  # fmt: skip
        words, output = [cluster.objs / "srs", "-c", self.conf], cluster.directory / f"{name}.txt"
        super().__init__(name, words, output, cluster.network.command(name))
        cluster.members.append(self)

    @property
    def rtmp_url(self):
        return f"rtmp://{self.address}:{self.rtmp}"

    def ask(self, path):
        with urllib.request.urlopen(f"http://{self.address}:{self.api}/api/v1/{path}", timeout=3) as answer:
            return json.load(answer)

    def cpu_s(self):
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / TICKS
        except (OSError, IndexError):
            return 0.0

    def warnings(self, skip):
        """The texts of warnings and errors after so many bytes of the log, without those about a busy machine."""
        with self.log.open("rb") as file:
            file.seek(skip)
            lines = file.read().decode(errors="replace").splitlines()
        texts = [re.sub(r"^(\[[^]]*\])+ ", "", line) for line in lines if re.search(r"\]\[(warn|error)\]\[", line)]
        return [text for text in texts if "the loop stalled" not in text]


def bench(cluster, command, url, *words):
    """The load tool."""
    words = [cluster.objs / "bench", command, "-q", "--settle-ms", 0, *words, url]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Encoders:
    """The encoders of a group of streams. They publish to one origin, try again while it refuses them, and can be sent
    to another one, as encoders do that have a second URL."""

    def __init__(self, cluster, group, origin):
        self.cluster, self.group, self.origin, self.over = cluster, group, origin, False
        self.names = {f"{group}{i}" for i in range(cluster.streams // 2)}
        self.changed = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over:
            self.changed.clear()
            url = f"{self.origin.rtmp_url}/live/{self.group}{{i}}"
            process = bench(self.cluster, "publish", url, "--loop", "--file", self.cluster.media, "-n", len(self.names),
                            "--ramp", 0, "--seconds", 600)  # fmt: skip
            end = time.monotonic() + TAKEN_S
            while not self.changed.wait(0.25) and (self.are_published() or time.monotonic() < end):
                pass
            process.kill()  # its connections close at once
            process.wait()

    # An origin that does not answer now is not left: its encoders do not notice.
    def are_published(self):
        try:
            streams = self.origin.ask("streams?count=1000")["streams"]
            return self.names <= {one["name"] for one in streams if one["publish"]["active"]}
        except ConnectionError:
            return False
        except OSError as error:
            return not isinstance(getattr(error, "reason", None), ConnectionError)

    def move(self, origin):
        self.origin = origin
        self.changed.set()

    def end(self):
        self.over = True
        self.changed.set()
        self.thread.join()


class Crowd:
    """The load tool as players of a group at an edge, of all of its streams but the last."""

    def __init__(self, cluster, edge, group, protocol, count, seconds):
        path = f"live/{group}{{i}}"
        url = f"{edge.rtmp_url}/{path}" if protocol == "RTMP" else f"http://{edge.address}:{edge.http}/{path}.flv"
        self.edge, self.count, self.group = edge, count, group
        self.out = cluster.directory / f"crowd{len(cluster.crowds)}.json"
        self.process = bench(cluster, "play", url, "-n", count, "--streams", cluster.streams // 2 - 1, "--ramp", 500,
                             "--seconds", seconds, "--json", self.out)  # fmt: skip
        cluster.crowds.append(self)

    def lost(self):
        """How many connections ended, or could not be made, and why."""
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            raise Failed(f"the players of {self.group} at {self.edge.name} do not end") from None
        figures = json.loads(self.out.read_text())
        return int(figures["lost"] + figures["failed"]), {f"{self.edge.name}: {why}" for why in figures["reasons"]}


class Cluster(contextlib.ExitStack):
    """exclusive: each stream at one origin; otherwise all at both, of which origin0 is registered."""

    def __init__(self, directory, options, media, network=None, exclusive=True, hls=False, wrong=""):
        super().__init__()
        self.directory, self.objs, self.media = pathlib.Path(directory), options.objs, media
        self.streams, self.players, self.latency = options.streams, options.players, options.latency
        self.network = network or Loopback()
        self.callback(self.network.close)
        self.members, self.crowds, self.careful, self.encoders = [], [], [], []
        self.exclusive, self.nginx = exclusive, None
        (self.redis_port,) = ports.take()
        self.redis_address = self.network.address("redis")
        words = ["redis-server", "--bind", self.redis_address, "--port", self.redis_port, "--save", "",
                 "--appendonly", "no", "--protected-mode", "no", "--dir", self.directory]  # fmt: skip
        self.redis = Member("redis", words, self.directory / "redis.txt", self.network.command("redis"))
        kept = "" if exclusive else "exclusive off;"
        self.origins = [Server(self, f"origin{i}", kept, "min_latency on;") for i in range(2)]
        listed = " ".join([wrong, *(f"{one.address}:{one.rtmp}" for one in self.origins)])
        edge = f"mode remote; origin {listed};"
        self.edges = [Server(self, f"edge{i}", edge, HLS if hls else "") for i in range(2)]
        self.callback(self.finish)

    def start(self):
        self.redis.start()
        wait_until(lambda: self.registered() is not None, 10, "Redis answers")
        for one in self.members:
            one.start()
        for one in self.members:
            wait_until(lambda one=one: answers(one), 10, f"{one.name} answers")
        return self

    def publish(self):
        if self.exclusive:
            self.encoders = [Encoders(self, group, origin) for group, origin in zip(GROUPS, self.origins)]
            wait_until(lambda: self.are_registered(dict(zip(GROUPS, self.origins))), 20, "all streams are registered")
            return
        for origin in self.origins:
            self.encoders += [Encoders(self, group, origin) for group in GROUPS]
            first = dict.fromkeys(GROUPS, self.origins[0])
            wait_until(lambda: self.are_registered(first), 20, "all streams are registered")

    def crowd(self, edge, seconds):
        each = self.players // 8
        for group in GROUPS:
            for protocol in ("RTMP", "HTTP-FLV"):
                Crowd(self, edge, group, protocol, each, seconds)

    def play(self, seconds, careful=True):
        for index, edge in enumerate(self.edges):
            self.crowd(edge, seconds)
            for group in GROUPS if careful else ():
                self.add_careful(f"{group}0", edge, self.edges[1 - index])
        wait_until(lambda: all(one.arrivals for one in self.careful), 20, "careful players get frames")

    def add_careful(self, name, *edges):
        added = [Careful(name, protocol, list(edges)) for protocol in ("RTMP", "HTTP-FLV")]
        for one in added:
            one.start()
        self.careful += added
        return added

    def start_nginx(self):
        (self.nginx_port,) = ports.take()
        edge = f"{self.edges[0].address}:{self.edges[0].http}"
        (self.directory / "nginx.conf").write_text(NGINX.format(dir=self.directory, port=self.nginx_port, edge=edge))
        words = ["nginx", "-e", "stderr", "-c", self.directory / "nginx.conf"]
        self.nginx = Member("nginx", words, self.directory / "nginx.txt")
        self.nginx.start()

    def registered(self):
        """{stream: URL of its origin}; None: Redis does not answer."""
        words = ["redis-cli", "-h", self.redis_address, "-p", str(self.redis_port), "--raw"]
        each = "r[#r+1]=k r[#r+1]=redis.call('GET',k)"
        words += ["EVAL", f"local r={{}} for _,k in ipairs(redis.call('KEYS','*')) do {each} end return r", "0"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=0.5, check=True)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            return None
        lines = done.stdout.splitlines()
        pairs = zip(lines[::2], lines[1::2])
        return {key.rpartition("/")[2]: json.loads(value)["rtmp"] for key, value in pairs if value}

    def are_registered(self, wanted):
        """wanted: the origin of each group."""
        found = self.registered()
        names = {f"{group}{i}": origin.rtmp_url for group, origin in wanted.items() for i in range(self.streams // 2)}
        return found is not None and names.items() <= found.items()

    def finish(self):
        for one in self.careful:
            one.leave()
        for one in self.crowds:
            one.process.kill()
            one.process.wait()
        for one in self.encoders:
            one.end()
        for one in [*([self.nginx] if self.nginx else []), *reversed(self.members), self.redis]:
            one.end()
        ports.release([self.redis_port, *(port for one in self.members for port in one.ports)])
        if self.nginx:
            ports.release([self.nginx_port])


def answers(server):
    try:
        return server.ask("versions")["code"] == 0
    except OSError:
        return False
