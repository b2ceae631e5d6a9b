#!/usr/bin/env python3
"""Has a real Prometheus scrape a running server, and evaluates every query of the dashboards in this folder: each must
be understood, and find something. promtool looks at the metrics' form.

    research/grafana/check.py [--objs=objs] [--seconds=12]

Needs Debian's package prometheus. All of it is on the loopback; nothing is left behind."""

import argparse
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
# The dashboard's variables, as if all were chosen.
VARIABLES = {"$__rate_interval": "10s", "$instance": ".*", "$vhost": ".*"}

SERVER = """
listen 127.0.0.1:{rtmp};
daemon off;
pid {dir}/srs.pid;
srs_log_tank console;
max_connections 1000;
http_server {{ enabled on; listen 127.0.0.1:{http}; dir {dir}/html; }}
exporter {{ enabled on; listen 127.0.0.1:{exporter}; label here; }}
vhost __defaultVhost__ {{
    http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
    hls {{ enabled on; hls_path {dir}/hls; hls_fragment 2; }}
}}
"""
PROMETHEUS = """
global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
scrape_configs:
  - job_name: srs
    static_configs: [{{ targets: ["127.0.0.1:{exporter}"] }}]
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def get(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def wait_for(url, seconds):
    end = time.monotonic() + seconds
    while True:
        try:
            return get(url, 2)
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
    rtmp, http, exporter, prometheus = free_ports(4)
    (directory / "html").mkdir()
    (directory / "srs.conf").write_text(
        SERVER.format(rtmp=rtmp, http=http, exporter=exporter, dir=directory)
    )
    (directory / "prometheus.yml").write_text(PROMETHEUS.format(exporter=exporter))

    def start(name, *words):
        log = (directory / f"{name}.log").open("wb")
        processes.append(subprocess.Popen(list(map(str, words)), cwd=directory, stdout=log, stderr=log))
        return processes[-1]

    start("srs", binary / "srs", "-c", directory / "srs.conf")
    metrics = f"http://127.0.0.1:{exporter}/metrics"
    wait_for(metrics, 10)
    start(
        "prometheus", "prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
        f"--web.listen-address=127.0.0.1:{prometheus}", "--log.level=warn",
    )  # fmt: skip
    load(binary, rtmp, http, arguments.seconds, start)
    base = f"http://127.0.0.1:{prometheus}"
    wait_for(f"{base}/-/ready", 30)
    # A rate needs two samples of what comes and goes.
    end = time.monotonic() + arguments.seconds + 30
    while True:
        count, problems = check_queries(base)
        if not problems or time.monotonic() > end:
            break
        time.sleep(1)
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=get(metrics).encode(), capture_output=True, check=False
    )
    words = (checked.stdout + checked.stderr).decode().strip()
    # It would rather have srs_memory in bytes; that name and unit are older than it.
    bad = [line for line in words.splitlines() if not line.startswith("srs_memory ")]
    if bad or checked.returncode not in (0, 3):
        problems.append("promtool check metrics:\n    " + "\n    ".join(bad or [words]))
    return count, problems


def load(binary, rtmp, http, seconds, start):
    """Publishers, players that stay and players that leave."""
    host = "127.0.0.1"
    length = ["--seconds", seconds + 60, "-q"]
    start("publish", binary / "bench", "publish", f"rtmp://{host}:{rtmp}/live/s{{i}}", "-n", 3, "--loop", *length)
    time.sleep(1)
    for name, url in (("rtmp", f"rtmp://{host}:{rtmp}/live/s1"), ("flv", f"http://{host}:{http}/live/s1.flv")):
        start(name, binary / "bench", "play", url, "-n", 5, *length)
    start(
        "churn", binary / "bench", "churn", f"rtmp://{host}:{rtmp}/live/s1", "--cycles", 100_000, "--concurrency", 2, *length
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objs", default="objs")
    parser.add_argument("--seconds", type=int, default=12, help="how long the load lasts")
    arguments = parser.parse_args()
    for program in ("prometheus", "promtool"):
        if not shutil.which(program):
            print(f"skipped: there is no {program} (apt install prometheus)")
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
