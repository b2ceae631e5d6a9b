"""Each alert of research/grafana/rules.yml, provoked at real servers and fired by a real Prometheus. Its times are
shortened, its conditions are those of the file. (Cases by figures alone: rules_test.yml.)"""

import contextlib
import json
import re
import shutil
import signal
import threading
import time
import urllib.error
import urllib.request

import pytest

from lib import api, certificates, edges, flv, hooks, http, media, ports, publishing, rtmp, signed_urls
from lib.metrics import EXPORTER, Metrics
from lib.publishing import Steady
from lib.server import ROOT, VALGRIND, can_connect, default_vhost
from lib.timing import wait_until

RULES = ROOT / "research/grafana/rules.yml"
# Ranges and waits of the rules, in s: long enough for a rate of one sample a second.
SHORTER = {"[30m]": "[60s]", "[5m]": "[20s]", "[2m]": "[5s]", "for: 5m": "for: 2s", "for: 2m": "for: 2s", "for: 1m": "for: 2s", "for: 30s": "for: 2s"}
NOWHERE = "127.0.0.1:9"

pytestmark = [
    pytest.mark.skipif(not shutil.which("prometheus"), reason="there is no prometheus: apt install prometheus"),
    pytest.mark.skipif(VALGRIND, reason="one scrape a second is too much for it there"),
]


class Prometheus:
    def __init__(self, directory, tool, servers):
        directory.mkdir()
        rules = RULES.read_text()
        for long, short in SHORTER.items():
            rules = rules.replace(long, short)
        (directory / "rules.yml").write_text(rules)
        targets = json.dumps([f"127.0.0.1:{server.rtmps_port}" for server in servers])
        (directory / "prometheus.yml").write_text(
            "global: { scrape_interval: 1s, evaluation_interval: 1s }\n"
            f"rule_files: [{directory}/rules.yml]\n"
            f"scrape_configs: [{{ job_name: srs, static_configs: [{{ targets: {targets} }}] }}]\n"
        )
        (port,) = ports.take(1)
        self.base = f"http://127.0.0.1:{port}"
        tool(["prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"])  # fmt: skip
        wait_until(lambda: can_connect(port), 30, "Prometheus listens")
        self.fired = {}
        wait_until(lambda: self.up() == len(servers), 30, lambda: f"it scrapes {len(servers)} servers, not {self.up()}")

    def ask(self, path):
        with urllib.request.urlopen(f"{self.base}/api/v1/{path}", timeout=10) as answer:
            return json.loads(answer.read())["data"]

    def up(self):
        try:
            return len(self.ask("query?query=up==1")["result"])
        except urllib.error.HTTPError:  # it is not ready
            return 0

    def look(self):
        """Remembers those that fire now."""
        for alert in self.ask("alerts")["alerts"]:
            if alert["state"] == "firing":
                self.fired.setdefault(alert["labels"]["alertname"], alert["annotations"]["summary"])
        return self.fired


def repeat(pause, until, call):
    """In a thread, until it is told to end; what the server refuses is meant."""

    def run():
        while not until.wait(pause):
            with contextlib.suppress(OSError):
                call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def fill(server, clients, tags, share):
    """Publishes short groups of pictures, until the server's streams have that share of their memory, which is measured
    every second."""

    def has():
        metrics = Metrics(server)
        return metrics.value("srs_stream_memory_all_bytes") / metrics.value("srs_stream_memory_all_limit_bytes")

    for number in range(30):
        before = has()
        publishing.send_all(clients.enter_context(rtmp.publisher(server, "live", f"s{number}")), tags)
        wait_until(lambda before=before: has() > before, 5, "the streams take more memory")
        if has() > share:
            return
    raise AssertionError(f"the streams should have {share} of their memory, they have {has()}")


def test_every_alert_fires(servers, tmp_path, tool):
    key, cert = certificates.make(tmp_path, days=1)
    (tmp_path / "file").write_text("where a directory should be")
    top = EXPORTER % "" + api.ON
    busy = "stall_warn 1; circuit_breaker { high_threshold 1; high_pulse 1; critical_threshold 1; critical_pulse 1; dying_threshold 100; }"
    streams = servers(
        top=top + busy,
        http=f"https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; key {key}; cert {cert}; }}",
        vhosts=default_vhost(
            vhost=f"dvr {{ enabled on; dvr_path {tmp_path}/file/[stream].flv; }} signed_urls {{ enabled on; secret x; publish off; }}",
            publish="normal_timeout 60000;",
        ),
    )
    limits = servers.make(top=top + "max_connections 20;")
    limits.conf_path.write_text(limits.conf.replace(str(limits.log_path), "/dev/full"))
    limits.start()
    others = servers(
        top=top + f"redis {{ enabled on; server {NOWHERE}; }}",
        vhosts=hooks.vhost(
            more=edges.cluster(NOWHERE),
            on_play=f"http://{NOWHERE}/",
            on_stop=f"http://{NOWHERE}/",
            on_failure="allow",
            outbox_max_age="1",
        ),
    )
    ended = servers(top=top + "total_stream_memory 1;", vhosts=default_vhost(publish="normal_timeout 60000;"))
    prometheus = Prometheus(tmp_path / "prometheus", tool, [streams, limits, others, ended])
    wanted = set(re.findall(r"- alert: (\w+)", RULES.read_text()))

    def play_elsewhere():
        with contextlib.suppress(rtmp.Refused):
            rtmp.player(others, "live", "x").close()

    def stand_still():
        ended.process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        ended.process.send_signal(signal.SIGCONT)

    tags, done = media.tags(media.plain()), threading.Event()
    rare = [tag._replace(timestamp=tag.timestamp * 8) for tag in tags]
    with (
        Steady(rtmp.publisher(streams, "live", "rare"), rare, speed=20),
        rtmp.publisher(streams, "live", "frozen") as frozen,
        rtmp.player(streams, "live", "frozen?" + signed_urls.query("play", "frozen", secret="x")),
        Steady(rtmp.publisher(limits, "live", "s"), tags),
        contextlib.ExitStack() as clients,
    ):
        publishing.send_all(frozen, tags[:40])
        fill(ended, clients, tags[:90], 0.91)
        for _ in range(18):
            clients.enter_context(rtmp.player(limits, "live", "s"))
        with Steady(rtmp.publisher(streams, "live", "gone"), tags):
            time.sleep(3)
        limits.conf_path.write_text(limits.conf_path.read_text() + "nonsense on;\n")
        limits.signal(signal.SIGHUP)
        threads = [
            repeat(0.005, done, lambda: http.get(streams.api_port, "/api/v1/openapi.json")),
            repeat(0.2, done, lambda: http.get(streams.http_port, "/live/rare.flv")),
            repeat(0.02, done, lambda: can_connect(limits.rtmp_port)),
            repeat(0.5, done, play_elsewhere),
        ]
        try:
            stand_still()
            wait_until(lambda: wanted - set(prometheus.look()) <= {"SrsDown"}, 60, lambda: f"alerts that did not fire: {wanted - set(prometheus.fired)}")
            ended.stop()
            wait_until(lambda: "SrsDown" in prometheus.look(), 30, "SrsDown fires")
        finally:
            done.set()
            for thread in threads:
                thread.join()
