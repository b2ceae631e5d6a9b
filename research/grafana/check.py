#!/usr/bin/env python3
"""Has a real Prometheus scrape a running server, and evaluates every query of the dashboards in this folder: each must
be understood, and find something. promtool looks at the metrics' form.

    research/grafana/check.py [--objs=objs] [--seconds=12]

Needs Debian's packages prometheus and ffmpeg. All of it is on the loopback; nothing is left behind."""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "scripts/e2e"))
from lib import certificates, ports  # noqa: E402  (found only after the path is set)

# The dashboard's variables, as if all were chosen.
VARIABLES = {"$__rate_interval": "10s", "$instance": ".*", "$vhost": ".*"}

ORIGIN = """
listen 127.0.0.1:{rtmp};
daemon off;
pid {dir}/origin.pid;
srs_log_tank console;
max_connections 1000;
sender_threads 1;
ff_log_dir {dir}/tools;
http_server {{ enabled on; listen 127.0.0.1:{http}; dir {dir}/html;
    https {{ enabled on; listen 127.0.0.1:{https}; key {dir}/server.key; cert {dir}/server.crt; }} }}
exporter {{ enabled on; listen 127.0.0.1:{exporter}; label here; }}
http_api {{ enabled on; listen 127.0.0.1:{api}; }}
rtc_server {{ enabled on; listen 127.0.0.1:{udp}; candidate 127.0.0.1; }}
rtsp_server {{ enabled on; listen 127.0.0.1:{rtsp}; }}
srt_server {{ enabled on; listen 127.0.0.1:{srt}; }}
access_log {{ enabled on; path {dir}/access.log; }}
usage {{ enabled on; path {dir}/usage.txt; }}
vhost __defaultVhost__ {{
    http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
    hls {{ enabled on; hls_path {dir}/hls; hls_fragment 2; }}
    rtc {{ enabled on; rtmp_to_rtc on; rtc_to_rtmp on; }}
    rtsp {{ enabled on; }}
    srt {{ enabled on; }}
    ingest file {{ enabled on; input {{ type file; url {media}; }} ffmpeg ffmpeg;
        engine {{ enabled off; output rtmp://127.0.0.1:{rtmp}/live/file; }} }}
}}
"""
# What an origin does not have: origins, and hooks.
EDGE = """
listen 127.0.0.1:{edge};
daemon off;
pid {dir}/edge.pid;
srs_log_tank console;
max_connections 1000;
exporter {{ enabled on; listen 127.0.0.1:{edge_exporter}; }}
vhost __defaultVhost__ {{
    cluster {{ mode remote; origin 127.0.0.1:{rtmp}; }}
    http_hooks {{ enabled on; on_play http://127.0.0.1:{hook}/; on_stop http://127.0.0.1:{hook}/; }}
}}
"""
PROMETHEUS = """
global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
scrape_configs:
  - job_name: srs
    static_configs: [{{ targets: ["127.0.0.1:{exporter}", "127.0.0.1:{edge_exporter}"] }}]
"""

HOOK_SERVER = """
import http.server, sys

class Yes(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"0")

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Yes).serve_forever()
"""

HLS_PLAYER = """
import sys, time, urllib.parse, urllib.request
url, end = sys.argv[1], time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    try:
        text = urllib.request.urlopen(url, timeout=5).read().decode()
        named = [line for line in text.splitlines() if line and not line.startswith("#")]
        if named:
            urllib.request.urlopen(urllib.parse.urljoin(url, named[-1]), timeout=5).read()
        if named and ".m3u8" in named[-1]:
            url = urllib.parse.urljoin(url, named[-1])
    except OSError:
        pass
    time.sleep(1)
"""


def get(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def wait_for(url, seconds):
    """Until it is answered with 200; its body may have no end."""
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except (OSError, urllib.error.URLError):
            if time.monotonic() > end:
                raise SystemExit(f"nothing answers at {url}") from None
            time.sleep(0.1)


def queries(dashboard):
    """(panel's title, query) of each target, and of each variable that is one."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable.get("definition", ""))
        if found:
            yield f"variable {variable['name']}", f"group by ({found[2]}) ({found[1]})"


def filled_in(query):
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    return query


def check_queries(base):
    """What is wrong with each that is."""
    problems = []
    count = 0
    for path in sorted(HERE.glob("*.json")):
        for title, query in queries(json.loads(path.read_text())):
            count += 1
            text = filled_in(query)
            try:
                answer = json.loads(get(f"{base}/api/v1/query?" + urllib.parse.urlencode({"query": text})))
            except urllib.error.HTTPError as error:
                problems.append(f"{path.name}, {title}: {text}\n    {error.read().decode()}")
                continue
            values = [one["value"][1] for one in answer["data"]["result"]]
            if not values:
                problems.append(f"{path.name}, {title}: {text}\n    finds nothing")
            elif all(value == "NaN" for value in values):
                problems.append(f"{path.name}, {title}: {text}\n    is NaN")
    return count, problems


def run(arguments, directory, processes):
    binary = pathlib.Path(arguments.objs).resolve()
    names = "rtmp http https exporter prometheus api udp rtsp srt edge edge_exporter hook".split()
    at = dict(zip(names, ports.take(len(names)), strict=True))
    exporter, prometheus = at["exporter"], at["prometheus"]
    for name in ("html", "tools"):
        (directory / name).mkdir()
    media = make_media(directory)
    certificates.make(directory)
    for name, text in (("origin.conf", ORIGIN), ("edge.conf", EDGE), ("prometheus.yml", PROMETHEUS)):
        (directory / name).write_text(text.format(**at, dir=directory, media=media))

    def start(name, *words):
        log = (directory / f"{name}.log").open("wb")
        processes.append(subprocess.Popen(list(map(str, words)), cwd=directory, stdout=log, stderr=log))
        return processes[-1]

    servers = {name: start(name, binary / "srs", "-c", directory / f"{name}.conf") for name in ("origin", "edge")}
    metrics = f"http://127.0.0.1:{exporter}/metrics"
    for port in (exporter, at["edge_exporter"]):
        wait_for(f"http://127.0.0.1:{port}/metrics", 30)
    start(
        "prometheus", "prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
        f"--web.listen-address=127.0.0.1:{prometheus}", "--log.level=warn",
    )  # fmt: skip
    load(binary, at, arguments.seconds, start, media)
    base = f"http://127.0.0.1:{prometheus}"
    wait_for(f"{base}/-/ready", 30)
    # A rate needs two samples of what comes and goes.
    end = time.monotonic() + arguments.seconds + 30
    while True:
        count, problems = check_queries(base)
        if not problems or time.monotonic() > end:
            break
        time.sleep(1)
    for name, process in servers.items():
        if process.poll() is not None:
            said = (directory / f"{name}.log").read_text(errors="replace")
            return count, [*problems, f"the {name} ended with {process.returncode}:\n{said[-20000:]}"]
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=get(metrics).encode(), capture_output=True, check=False
    )
    words = (checked.stdout + checked.stderr).decode().strip()
    # It would rather have srs_memory in bytes; that name and unit are older than it.
    bad = [line for line in words.splitlines() if not line.startswith("srs_memory ")]
    if bad or checked.returncode not in (0, 3):
        problems.append("promtool check metrics:\n    " + "\n    ".join(bad or [words]))
    return count, problems


def make_media(directory):
    """A few seconds of H.264 and AAC, which WebRTC carries, too."""
    out = directory / "media.flv"
    words = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=sample_rate=48000", "-t", "4"]
    words += ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:v", "300k", str(out)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return out


def load(binary, at, seconds, start, media):
    """Publishers, players of each protocol that stay, and players that leave."""
    host, rtmp, http = "127.0.0.1", at["rtmp"], at["http"]
    length = ["--seconds", seconds + 60, "-q"]
    start("hook", sys.executable, "-c", HOOK_SERVER, at["hook"])
    start("publish", binary / "bench", "publish", f"rtmp://{host}:{rtmp}/live/s{{i}}", "-n", 3, "--loop", "--file", media, *length)
    for number in range(3):
        wait_for(f"http://{host}:{http}/live/s{number}.flv", 30)
    for name, url in (("rtmp", f"rtmp://{host}:{rtmp}/live/s1"), ("flv", f"http://{host}:{http}/live/s1.flv")):
        start(name, binary / "bench", "play", url, "-n", 5, *length)
    start("edge-play", binary / "bench", "play", f"rtmp://{host}:{at['edge']}/live/s1", "-n", 2, *length)
    start("whip", binary / "bench", "whip", f"http://{host}:{http}/rtc/v1/whip/?app=live&stream=w{{i}}", "-n", 2, "--file", media, *length)
    start("whep", binary / "bench", "whep", f"http://{host}:{http}/rtc/v1/whep/?app=live&stream=s1", "-n", 3, "--nack", *length)
    # HLS, by whatever asks for its playlist; and a player of what came by WebRTC.
    start("hls", sys.executable, "-c", HLS_PLAYER, f"http://{host}:{http}/live/s1.m3u8", seconds + 60)
    start("w0", binary / "bench", "play", f"rtmp://{host}:{rtmp}/live/w0", "-n", 1, *length)
    ffmpeg = ["ffmpeg", "-v", "error", "-nostdin", "-t", seconds + 60]
    start("rtsp", *ffmpeg, "-i", f"rtsp://{host}:{at['rtsp']}/live/s1", "-f", "null", "-")
    streamid = "streamid=#!::r=live/srt,m=publish"
    start("srt", *ffmpeg, "-re", "-stream_loop", -1, "-i", media, "-c", "copy", "-f", "mpegts", f"srt://{host}:{at['srt']}?{streamid}")
    for name, port in (("churn", rtmp), ("edge-churn", at["edge"])):
        start(
            name, binary / "bench", "churn", f"rtmp://{host}:{port}/live/s1", "--cycles", 100_000, "--concurrency", 2, *length
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objs", default="objs")
    parser.add_argument("--seconds", type=int, default=12, help="how long the load lasts")
    arguments = parser.parse_args()
    for program in ("prometheus", "promtool", "ffmpeg"):
        if not shutil.which(program):
            print(f"skipped: there is no {program} (apt install prometheus ffmpeg)")
            return 77
    processes = []
    with tempfile.TemporaryDirectory(prefix="grafana-check-") as name:
        directory = pathlib.Path(name)
        try:
            count, problems = run(arguments, directory, processes)
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    for problem in problems:
        print(problem)
    print(f"{count} queries, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
