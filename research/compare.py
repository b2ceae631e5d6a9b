#!/usr/bin/env python3
"""Measures this server beside the floor (research/floor) and nginx with its rtmp module, one after the other.

    research/compare.py                       everything: about 20 minutes on two cores
    research/compare.py --quick               small and short: does it work at all
    research/compare.py --json FILE        keep the figures; the tables go to stdout anyway
    research/compare.py --markdown doc/performance.md    put the tables there, between its two marks
    research/compare.py --only players,publishers,latency

The server runs on core 0 and the load (research/bench) on core 1, where there are two. Each run starts its server anew,
so that memory is counted from its beginning. A figure is the median of the repeats; losses are their sum. It ends with
1 when a target of ours is missed (not with --quick) or when a viewer of ours was dropped or starved.
"""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KBPS, INTERVAL_MS = 237, 350
MEDIAN = ("server_cpu_ms_per_mbit", "server_kb_per_player", "server_cpu_percent", "mbit_per_s", "load_cpu_percent")
STARVED_PERCENT = 85  # of the median viewer's bytes

OURS = """listen 127.0.0.1:{rtmp}; max_connections 19000; daemon off; srs_log_tank console; srs_log_level warn;
pid {dir}/srs.pid;
http_server {{ enabled on; listen 127.0.0.1:{http}; dir {dir}; }}
vhost __defaultVhost__ {{
    min_latency {min_latency}; tcp_nodelay {min_latency};
    play {{ gop_cache on; {play} }}
    http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
}}
"""

NGINX = """load_module {module}; daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log;
worker_processes 1; worker_rlimit_nofile 20000; events {{ worker_connections 19500; }}
rtmp {{ access_log off; server {{ listen 127.0.0.1:{port}; chunk_size 60000;
    application live {{ live on; play_restart off; }} }} }}
"""


class Failure(Exception):
    """Something that keeps the comparison from being made."""


def free_ports(count):
    """Ports that nobody uses, or another server would be measured for ours; below those that clients are given."""
    ports = []
    for port in range(21000 + os.getpid() % 1000 * 10, 32000):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise Failure("no free ports between 21000 and 32000")


RTMP_PORT, HTTP_PORT, FLOOR_PORT, NGINX_PORT = free_ports(4)


@contextlib.contextmanager
def alone():
    """Two comparisons at once would measure each other."""
    with open(pathlib.Path(tempfile.gettempdir()) / "compare.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failure("another comparison is running on this machine") from None
        yield


def pinned(core):
    return ["taskset", "-c", str(core)] if (os.cpu_count() or 1) > 1 and shutil.which("taskset") else []


def wait_for_port(port, process, log):
    for _ in range(200):
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise Failure(f"nothing listens on port {port}:\n{log.read_text(errors='replace')[-2000:]}")


class Bench:
    """The programs, where they are, and the stream they play."""

    def __init__(self, objs, directory, stream):
        self.objs, self.directory, self.stream = objs, directory, stream

    @contextlib.contextmanager
    def process(self, words, port, name):
        log = self.directory / f"{name}.log"
        with open(log, "wb") as out:
            process = subprocess.Popen([*pinned(0), *map(str, words)], stdout=out, stderr=out, cwd=self.directory)
        try:
            wait_for_port(port, process, log)
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def floor(self, publish=False):
        words = ["--publish", FLOOR_PORT] if publish else [FLOOR_PORT, KBPS, INTERVAL_MS]
        return self.process([self.objs / "floor", *words], FLOOR_PORT, "floor")

    def ours(self, min_latency=False):
        text = OURS.format(dir=self.directory, rtmp=RTMP_PORT, http=HTTP_PORT,
                           min_latency="on" if min_latency else "off",
                           play="" if min_latency else f"mw_latency {INTERVAL_MS};")  # fmt: skip
        conf = self.directory / "srs.conf"
        conf.write_text(text)
        return self.process([self.objs / "srs", "-c", conf], HTTP_PORT, "srs")

    def nginx(self):
        module = "/usr/lib/nginx/modules/ngx_rtmp_module.so"
        (self.directory / "logs").mkdir(exist_ok=True)
        conf = self.directory / "nginx.conf"
        conf.write_text(NGINX.format(module=module, dir=self.directory, port=NGINX_PORT))
        return self.process(["nginx", "-p", self.directory, "-c", conf], NGINX_PORT, "nginx")

    def load(self, command, url, *words):
        """The load tool's words, on its core."""
        return [*pinned(1), str(self.objs / "bench"), command, url, "-q", *map(str, words)]

    @contextlib.contextmanager
    def publisher(self, url):
        words = self.load("publish", url, *self.source(), "--loop", "--seconds", 3600, "--settle-ms", 0)
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(2.5)  # a whole group of pictures is there
            if process.poll() is not None:
                raise Failure(f"the publisher of {url} has ended")
            yield
        finally:
            process.terminate()
            process.wait()

    def source(self):
        return ["--file", self.stream] if self.stream else ["--kbps", KBPS]

    def run(self, command, url, *words):
        """A run of the load tool; its figures. Viewers that were lost are in the figures, not an error."""
        out = self.directory / "bench.json"
        out.unlink(missing_ok=True)
        done = subprocess.run(self.load(command, url, "--json", out, *words), capture_output=True, timeout=900)
        if not out.exists():
            raise Failure(f"bench {command} {url}: {done.stderr.decode()}")
        return json.loads(out.read_text())


def make_stream(directory, seconds):
    """A test pattern of x264 and AAC: 25 pictures and 43 audio frames a second, a keyframe every two seconds, 237
    kbit/s in all. As long as a run measures, so that every run delivers the same bytes wherever it begins."""
    if not shutil.which("ffmpeg"):
        return None  # the load tool's own made-up stream of the same bitrate
    path = directory / "stream.flv"
    video = "-c:v libx264 -preset fast -profile:v main -bf 0 -g 50 -keyint_min 50 -sc_threshold 0 -b:v 193k"
    rate = "-minrate 193k -maxrate 193k -bufsize 193k -x264-params nal-hrd=cbr -c:a aac -b:a 32k -ar 44100"
    words = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25", "-f", "lavfi", "-i",
             "sine=frequency=440:sample_rate=44100", "-t", str(seconds), *video.split(), *rate.split(),
             str(path)]  # fmt: skip
    subprocess.run(words, check=True)
    return path


def measure_players(bench, options):
    """name -> players -> figures."""
    peers = {
        "floor": (bench.floor, None, f"http://127.0.0.1:{FLOOR_PORT}/s.flv", options.players),
        "ours, RTMP": (bench.ours, f"rtmp://127.0.0.1:{RTMP_PORT}/live/s", None, options.players),
        "ours, HTTP-FLV": (bench.ours, f"rtmp://127.0.0.1:{RTMP_PORT}/live/s",
                           f"http://127.0.0.1:{HTTP_PORT}/live/s.flv", options.players),
        "nginx-rtmp, RTMP": (bench.nginx, f"rtmp://127.0.0.1:{NGINX_PORT}/live/s", None, options.nginx_players),
    }  # fmt: skip
    results = {name: {} for name in peers}
    # The repeats go round all of them, so that a slow minute of the machine does not hit one alone.
    for repeat in range(options.repeats):
        for name, (server, publish, play, players) in peers.items():
            for count in players:
                with contextlib.ExitStack() as stack:
                    pid = stack.enter_context(server())
                    if publish:
                        stack.enter_context(bench.publisher(publish))
                    figures = bench.run("play", play or publish, "-n", count, "--ramp", options.ramp, "--seconds",
                                        options.seconds, "--settle-ms", 4000, "--server-pid", pid)  # fmt: skip
                results[name].setdefault(count, []).append(figures)
                say(f"{name}, {count} players, {repeat + 1}: {figures.get('server_cpu_ms_per_mbit')} ms/Mbit")
                for reason, times in figures["reasons"].items():
                    say(f"    {times} x {reason}")
    return {name: {n: summary(runs) for n, runs in by_count.items()} for name, by_count in results.items()}


def summary(runs):
    out = {key: round(statistics.median(run.get(key) or 0 for run in runs), 4) for key in MEDIAN}
    out["dropped"] = sum(run["failed"] + run["lost"] for run in runs)
    out["reasons"] = sorted({reason for run in runs for reason in run["reasons"]})
    out["stream_errors"] = sum(run["stream_errors"] for run in runs)
    out["without_frame"] = sum(run["without_frame"] for run in runs)
    out["slowest_viewer_percent"] = min(run["slowest_viewer_percent"] for run in runs)
    out["longest_gap_ms"] = max(run["longest_gap_ms"]["max"] for run in runs)
    out["first_frame_ms_p95"] = statistics.median(run["first_frame_ms"]["p95"] for run in runs)
    return out


def measure_publishers(bench, options):
    peers = {
        "floor": (lambda: bench.floor(publish=True), f"tcp://127.0.0.1:{FLOOR_PORT}"),
        "ours": (bench.ours, f"rtmp://127.0.0.1:{RTMP_PORT}/live/p{{i}}"),
        "nginx-rtmp": (bench.nginx, f"rtmp://127.0.0.1:{NGINX_PORT}/live/p{{i}}"),
    }
    results = {name: [] for name in peers}
    for repeat in range(options.repeats):
        for name, (server, url) in peers.items():
            with server() as pid:
                figures = bench.run("publish", url, *bench.source(), "--loop", "-n", options.publishers, "--ramp", 250,
                                    "--seconds", options.seconds, "--settle-ms", 4000, "--server-pid", pid)  # fmt: skip
            results[name].append(figures)
            say(f"{name}, publishers, {repeat + 1}: {figures['server_cpu_ms_per_s_per_publisher']} ms/s each")
    out = {}
    for name, runs in results.items():
        out[name] = {
            "publishers": options.publishers,
            "cpu_ms_per_s": statistics.median(run["server_cpu_ms_per_s_per_publisher"] for run in runs),
            "kb": round(statistics.median(run["server_kb_per_publisher"] for run in runs), 1),
            "gop_kb": runs[0]["average_gop_kb"],
            "dropped": sum(run["failed"] + run["lost"] for run in runs),
        }
    return out


def measure_latency(bench, options):
    cases = {
        "ours, min_latency on, RTMP": (lambda: bench.ours(min_latency=True), "rtmp"),
        "ours, min_latency on, HTTP-FLV": (lambda: bench.ours(min_latency=True), "http"),
        f"ours, mw_latency {INTERVAL_MS}, RTMP": (bench.ours, "rtmp"),
        "nginx-rtmp, RTMP": (bench.nginx, "nginx"),
    }
    results = {}
    for name, (server, kind) in cases.items():
        port = NGINX_PORT if kind == "nginx" else RTMP_PORT
        publish = f"rtmp://127.0.0.1:{port}/live/s"
        play = f"http://127.0.0.1:{HTTP_PORT}/live/s.flv" if kind == "http" else publish
        with server():
            figures = bench.run("latency", play, "--publish", publish, "-n", options.viewers, "--ramp", 100,
                                "--seconds", options.seconds)  # fmt: skip
        results[name] = {key: figures[f"{key}_latency_ms"] for key in ("video", "audio")}
        results[name]["dropped"] = figures["failed"] + figures["lost"]
        say(f"latency, {name}: {results[name]['video']}")
    return results


def check(results, quick):
    """(what, figure, limit, ok) for every target of ours."""
    rows = []

    def at_most(what, figure, limit, always=False, measured=True):
        if always or not quick:
            rows.append((what, round(figure, 3), limit, bool(measured) and figure <= limit))

    players = results.get("players", {})
    for name in ("ours, RTMP", "ours, HTTP-FLV"):
        for count, run in players.get(name, {}).items():
            bad = run["dropped"] + run["stream_errors"] + run["without_frame"]
            bad += run["slowest_viewer_percent"] < STARVED_PERCENT
            at_most(f"{name}, {count} players: dropped or starved", bad, 0, always=True)
            floor = players["floor"][count]["server_cpu_ms_per_mbit"]
            if count in (1000, 10000) and floor:
                limit = 2 if count == 1000 else 1.25
                at_most(f"{name}, {count} players: CPU to the floor's", run["server_cpu_ms_per_mbit"] / floor, limit,
                        measured=run["mbit_per_s"])  # fmt: skip
            at_most(f"{name}, {count} players: kB each", run["server_kb_per_player"], 2, measured=run["mbit_per_s"])
    if "publishers" in results:
        ours = results["publishers"]["ours"]
        at_most("publishers: dropped", ours["dropped"], 0, always=True)
        at_most("publishers: ms of CPU per second each", ours["cpu_ms_per_s"], 0.35)
        at_most("publishers: kB each beside the GOP", ours["kb"] - ours["gop_kb"], 100)
    for name, run in results.get("latency", {}).items():
        if name.startswith("ours"):
            at_most(f"latency, {name}: dropped", run["dropped"], 0, always=True)
            for kind in ("video", "audio"):
                at_most(f"latency, {name}: {kind}, p99 ms", run[kind]["p99"], 30 if "min" in name else INTERVAL_MS + 50,
                        measured=run[kind]["count"])  # fmt: skip
    return rows


def first_line(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return "not there"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else "not there"


def machine(bench, options):
    cpu = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    module = first_line("dpkg-query", "-W", "-f", "${Version}", "libnginx-mod-rtmp")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": f"{os.cpu_count()} x {cpu[0].split(':')[1].strip() if cpu else 'unknown'}",
        "kernel": os.uname().release,
        "compiler": first_line("g++", "--version"),
        "ours": first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "nginx": f"{first_line('nginx', '-v')}, rtmp module {module}",
        "measured": f"{options.seconds} s per run, {options.repeats} repeats",
        "stream": "x264 and AAC by ffmpeg, looped" if bench.stream else "made up by the load tool",
    }


def table(head, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def ratio(figure, floor):
    return f"{figure / floor:.2f}" if floor else ""


def markdown(results, targets):
    parts = [table(("", ""), results["machine"].items())]
    if "players" in results:
        floor = results["players"]["floor"]
        rows = [(name, count, run["server_cpu_ms_per_mbit"],
                 ratio(run["server_cpu_ms_per_mbit"], floor.get(count, {}).get("server_cpu_ms_per_mbit")),
                 run["server_cpu_percent"], run["server_kb_per_player"],
                 run["mbit_per_s"], run["dropped"], f"{run['slowest_viewer_percent']} %", run["longest_gap_ms"])
                for name, by_count in results["players"].items() for count, run in by_count.items()]  # fmt: skip
        head = ("server", "players", "CPU ms/Mbit", "to the floor", "CPU %", "kB/player", "Mbit/s", "dropped", "slowest",
                "longest gap ms")  # fmt: skip
        parts.append(table(head, rows))
    if "publishers" in results:
        floor = results["publishers"]["floor"]["cpu_ms_per_s"]
        rows = [(name, run["publishers"], run["cpu_ms_per_s"], ratio(run["cpu_ms_per_s"], floor), run["kb"],
                 run["gop_kb"], run["dropped"])
                for name, run in results["publishers"].items()]  # fmt: skip
        head = ("server", "publishers", "CPU ms/s each", "to the floor", "kB each", "of which GOP kB", "dropped")
        parts.append(table(head, rows))
    if "latency" in results:
        rows = [(name, kind, *(run[kind][p] for p in ("p50", "p95", "p99", "max")))
                for name, run in results["latency"].items() for kind in ("video", "audio")]  # fmt: skip
        parts.append(table(("server", "frames", "p50 ms", "p95 ms", "p99 ms", "max ms"), rows))
    if targets:
        rows = [(what, figure, limit, "met" if ok else "MISSED") for what, figure, limit, ok in targets]
        parts.append(table(("target", "figure", "limit", ""), rows))
    return "\n".join(parts)


MARKS = ("<!-- figures: written by research/compare.py -->\n", "<!-- end of figures -->\n")


def put_between_marks(path, text):
    """Replaces what stands between the marks; without them, or a file, the text is all of it."""
    old = path.read_text() if path.exists() else ""
    before, mark, rest = old.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    path.write_text(f"{before}{mark}\n{text}\n{end}{after}" if mark and end else text)


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(n) for n in text.split(",") if n]  # noqa: E731
    parser.add_argument("--objs", type=pathlib.Path, default=ROOT / "objs", help="where srs, bench and floor are")
    parser.add_argument("--players", type=numbers, default=[1000, 5000, 10000])
    parser.add_argument("--nginx-players", type=numbers, default=[1000, 5000])
    parser.add_argument("--publishers", type=int, default=500)
    parser.add_argument("--viewers", type=int, default=100, help="of the latency measurement")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="measured per run")
    parser.add_argument("--ramp", type=int, default=800, help="connections per second")
    parser.add_argument("--only", default="players,publishers,latency")
    parser.add_argument("--quick", action="store_true", help="small and short, no targets")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.quick:
        options.players, options.nginx_players = [100], [100]
        options.publishers, options.viewers, options.repeats, options.seconds = 20, 20, 1, 3
    if not shutil.which("nginx"):
        raise Failure("nginx is not there: apt install nginx-light libnginx-mod-rtmp")
    return options


def main():
    options = parse_options()
    measures = {"players": measure_players, "publishers": measure_publishers, "latency": measure_latency}
    with alone(), tempfile.TemporaryDirectory(prefix="compare-") as name:
        directory = pathlib.Path(name)
        bench = Bench(options.objs.resolve(), directory, make_stream(directory, options.seconds))
        results = {"machine": machine(bench, options)}
        for part, measure in measures.items():
            if part in options.only.split(","):
                results[part] = measure(bench, options)
    targets = check(results, options.quick)
    results["targets"] = [{"what": what, "figure": f, "limit": limit, "met": ok} for what, f, limit, ok in targets]
    text = markdown(results, targets)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.markdown:
        put_between_marks(options.markdown, text)
    return 0 if all(ok for *_, ok in targets) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"compare: {failure}", file=sys.stderr)
        sys.exit(2)
