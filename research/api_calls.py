#!/usr/bin/env python3
"""How long API calls take while thousands watch, and whether they hold the loop up.

    research/api_calls.py [--objs=objs] [--viewers=5000] [--calls=40] [--json=FILE]

Starts the server, publishers and viewers on the loopback, waits until all watch, looks at the loop for some seconds, then
calls each path again and again over one connection. Stalls are those that the server's own watchdog saw, of 2 ms and
more, and it says who held the loop up: its calls, or others that had the processor. Exits 1 when a call's 95 of 100 took
20 ms or more, or a call held the loop up for more than 2 ms."""

import argparse
import http.client
import json
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import time

LIMIT_MS = 20
STALL_MS = 2

CONF = """
listen 127.0.0.1:{rtmp};
daemon off;
pid {dir}/srs.pid;
srs_log_tank file;
srs_log_file {dir}/srs.log;
max_connections 12000;
stall_warn {stall};
http_api {{ enabled on; listen 127.0.0.1:{api}; debug on; }}
http_server {{ enabled on; listen 127.0.0.1:{http}; dir {dir}; }}
exporter {{ enabled on; listen 127.0.0.1:{exporter}; }}
vhost __defaultVhost__ {{ http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }} }}
"""

API_PATHS = [
    "/api/v1/versions",
    "/api/v1/summaries",
    "/api/v1/vhosts",
    "/api/v1/streams",
    "/api/v1/streams?count=1000",
    "/api/v1/clients",
    "/api/v1/clients?start=4900&count=100",
    "/api/v1/clients?count=1000",
    "/api/v1/clients?closed=true&count=1000",
    "/api/v1/clients/{client}",
    "/api/v1/streams/{stream}/explain",
]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Caller:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def get(self, path):
        """The body, and how long it took, ms."""
        begin = time.perf_counter()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        took = (time.perf_counter() - begin) * 1000
        if answer.status != 200:
            raise SystemExit(f"GET {path}: {answer.status} {body[:300]!r}")
        return body, took

    def json(self, path):
        return json.loads(self.get(path)[0])


def until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.2)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def measure(caller, path, calls):
    times, size = [], 0
    for _ in range(calls):
        body, took = caller.get(path)
        times.append(took)
        size = len(body)
        time.sleep(0.03)
    return {
        "path": path,
        "bytes": size,
        "median_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
        "max_ms": round(max(times), 2),
    }


def stalls(caller):
    return caller.json("/api/v1/debug/runtime")["data"]


def by_calls(stall):
    return stall["coroutine"] == "http" and stall["cause"] == "busy" and stall["ms"] > STALL_MS


def run(arguments, directory, processes):
    binary = pathlib.Path(arguments.objs).resolve()
    rtmp, api, http_port, exporter = free_ports(4)
    (directory / "srs.conf").write_text(
        CONF.format(rtmp=rtmp, api=api, http=http_port, exporter=exporter, dir=directory, stall=STALL_MS)
    )

    def start(name, *words):
        log = (directory / f"{name}.log").open("wb")
        processes.append(subprocess.Popen(list(map(str, words)), cwd=directory, stdout=log, stderr=log))

    def listens():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", api)) == 0

    start("server", binary / "srs", "-c", directory / "srs.conf")
    until(listens, 10, "the API listens")
    bench = binary / "bench"
    start("publish", bench, "publish", f"rtmp://127.0.0.1:{rtmp}/live/s{{i}}", "-n", arguments.streams, "--seconds", 600, "--loop", "-q")
    until(lambda: caller_for(api).json("/api/v1/streams")["total"] >= arguments.streams, 20, "the streams are there")
    half = arguments.viewers // 2
    for name, url, count in (
        ("rtmp", f"rtmp://127.0.0.1:{rtmp}/live/s1", arguments.viewers - half),
        ("flv", f"http://127.0.0.1:{http_port}/live/s1.flv", half),
    ):
        start(name, bench, "play", url, "-n", count, "--ramp", 1000, "--seconds", 600, "-q")
    caller = caller_for(api)
    wanted = arguments.viewers + arguments.streams
    until(lambda: caller.json("/api/v1/clients?count=1")["total"] >= wanted, 90, f"{wanted} clients are there")
    time.sleep(3)

    before = stalls(caller)
    time.sleep(5)
    quiet = stalls(caller)
    clients = caller.json("/api/v1/clients?count=1")["clients"]
    streams = caller.json("/api/v1/streams?count=1")["streams"]
    rows, seen = [], []
    known = {json.dumps(one) for one in quiet["last_stalls"]}
    metrics = Caller(exporter)
    for path in API_PATHS + ["/metrics"]:
        asked = path.format(client=clients[0]["id"], stream=streams[0]["id"])
        row = measure(metrics if path == "/metrics" else caller, asked, arguments.calls)
        row["path"] = path
        # The server keeps the last 16: none is missed.
        now = [one for one in stalls(caller)["last_stalls"] if json.dumps(one) not in known]
        known |= {json.dumps(one) for one in now}
        mine = [one for one in now if by_calls(one)]
        row["stalls_by_calls"] = len(mine)
        row["longest_stall_ms"] = max((one["ms"] for one in mine), default=0)
        seen += mine
        rows.append(row)
        print(
            f"{path:45} {row['bytes']:9} bytes  median {row['median_ms']:7.2f}  95 % {row['p95_ms']:7.2f}  "
            f"most {row['max_ms']:7.2f} ms  stalls {row['stalls_by_calls']}",
            flush=True,
        )
    after = stalls(caller)
    lost = caller.json("/api/v1/clients?closed=true&count=1000")["clients"]
    if lost:
        raise SystemExit(f"{len(lost)} clients were lost meanwhile, the last one: {lost[0]}")
    return {
        "viewers": arguments.viewers,
        "streams": arguments.streams,
        "rows": rows,
        "stalls_without_calls": quiet["stalls"] - before["stalls"],
        "stalls_with_calls": after["stalls"] - quiet["stalls"],
        "by_calls": seen,
    }


def caller_for(port):
    return Caller(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objs", default="objs")
    parser.add_argument("--viewers", type=int, default=5000)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--calls", type=int, default=40, help="of each path")
    parser.add_argument("--json", help="the figures go there too")
    arguments = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    processes = []
    with tempfile.TemporaryDirectory(prefix="api-load-") as name:
        try:
            result = run(arguments, pathlib.Path(name), processes)
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")
    slow = [row["path"] for row in result["rows"] if row["p95_ms"] >= LIMIT_MS]
    for one in result["by_calls"]:
        print(f"the loop was held up for {one['ms']} ms ({one['cpu_ms']} ms of processor time): {one['calls'][:6]}")
    print(
        f"{result['viewers']} viewers; stalls of {STALL_MS} ms and more: {result['stalls_without_calls']} in 5 s without "
        f"calls, {result['stalls_with_calls']} with them, {len(result['by_calls'])} by them; too slow: {slow or 'none'}"
    )
    return 1 if slow or result["by_calls"] else 0


if __name__ == "__main__":
    sys.exit(main())
