#!/usr/bin/env python3
"""Reloads a server under load, over and over, half of the times with a broken file, and says whether anybody noticed.

    research/reloads.py --json reloads.json
    research/reloads.py --reloads 40 --viewers 50 --publishers 4

Viewers of RTMP and HTTP-FLV (objs/bench, --verify) check that every frame of what is published reaches them, in order,
from their first to their last. By the debug API: stalls of the loop, with who caused them. From /proc: memory, at each
reload. Fails when a viewer missed a frame or was lost, when a reload answered other than it should, when a stall of the
loop's own was longer than --stall ms, or when memory grows from the second half of the reloads to their end by more than
--growth kB. Needs objs/srs and objs/bench.
"""

import argparse
import contextlib
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
from soak.soaked_server import free_ports  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

CONF = """listen 127.0.0.1:{rtmp}; max_connections 5000; daemon off; pid {dir}/srs.pid; stall_warn 5;
srs_log_tank file; srs_log_file {dir}/srs.log; srs_log_level {level}; auto_reload_for_docker off;
http_server {{ enabled on; listen 127.0.0.1:{http}; dir {dir}; }}
http_api {{ enabled on; listen 127.0.0.1:{api}; debug on; raw_api {{ enabled on; allow_reload on; }} }}
vhost __defaultVhost__ {{
    play {{ gop_cache {gop}; mw_latency {merge}; queue_length {queue}; }}
    http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
    hls {{ enabled {hls}; hls_path {dir}/hls; hls_fragment 2; hls_window 10; }}
}}
{more}
"""
BROKEN = (" nonsense;", " vhost", " max_connections many;", " }", " include /nowhere/x.conf;")


class Server:
    def __init__(self, objs, directory):
        self.directory = directory
        self.rtmp, self.http, self.api = free_ports(3)
        self.conf = directory / "srs.conf"
        self.write(0)
        self.process = subprocess.Popen([objs / "srs", "-c", self.conf], cwd=directory)

    def write(self, turn, broken=""):
        """A configuration a little different each time; live streams must not care."""
        text = CONF.format(
            dir=self.directory, rtmp=self.rtmp, http=self.http, api=self.api, level=("trace", "info")[turn % 2],
            gop=("on", "off")[turn // 2 % 2], merge=(350, 200, 100)[turn % 3], queue=(30, 20)[turn % 2],
            hls=("off", "on")[turn // 5 % 2], more=f"vhost turn{turn % 7}.example {{ }}" if turn % 3 else "",
        )  # fmt: skip
        fresh = self.conf.with_suffix(".new")
        fresh.write_text(text + broken)
        fresh.replace(self.conf)

    def ask(self, path):
        with contextlib.suppress(urllib.error.HTTPError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api}{path}", timeout=20) as answer:
                return json.load(answer)
        return None

    def last_reload(self):
        return self.ask("/api/v1/raw?rpc=raw")["reload"]

    def reload(self, number):
        """By HUP, or by the API; what came of it."""
        if number % 2:
            self.ask("/api/v1/raw?rpc=reload")
            return self.last_reload()
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            report = self.last_reload()
            if report and report["number"] == number:
                return report
            time.sleep(0.01)
        return self.last_reload()

    def memory_kb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("Private_Dirty:"))


class Stalls:
    """Those of the loop during the reloads; the server tells only the newest, so they are asked for each time."""

    def __init__(self, server):
        self.server, self.count, self.seen = server, None, []

    def look(self):
        data = self.server.ask("/api/v1/debug/runtime")["data"]
        if self.count is not None:
            fresh = data["stalls"] - self.count
            self.seen += data["last_stalls"][-fresh:] if fresh else []
        self.count = data["stalls"]


def wait(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if condition():
                return
        time.sleep(0.1)
    raise SystemExit(f"reloads: not within {seconds} s: {what}")


def start_players(options, server, bench, seconds):
    players = []
    for number, url in enumerate((f"rtmp://127.0.0.1:{server.rtmp}/live/v{{i}}",
                                  f"http://127.0.0.1:{server.http}/live/v{{i}}.flv")):  # fmt: skip
        out = server.directory / f"play{number}.json"
        words = [bench, "play", url, "-n", options.viewers // 2, "--streams", options.publishers, "--verify", "-q",
                 "--ramp", "200", "--settle-ms", "0", "--seconds", seconds, "--json", out]  # fmt: skip
        players.append((subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL), out))
    return players


def run(options, directory):
    bench = options.objs / "bench"
    server = Server(options.objs, directory)
    processes = [server.process]
    problems, reports, memory, stalls = [], [], [], Stalls(server)
    try:
        wait(lambda: server.ask("/api/v1/versions"), "the server answers")
        words = [bench, "publish", f"rtmp://127.0.0.1:{server.rtmp}/live/v{{i}}", "--loop", "-n",
                 str(options.publishers), "--kbps", str(options.kbps), "--seconds", "600", "-q"]  # fmt: skip
        processes.append(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        time.sleep(2 + options.publishers / 200)
        seconds = int(options.reloads * options.every + 8)
        players = start_players(options, server, bench, seconds)
        processes += [player for player, _ in players]
        time.sleep(options.viewers / 400 + 2)
        stalls.look()
        for number in range(1, options.reloads + 1):
            began = time.monotonic()
            broken = BROKEN[number % len(BROKEN)] if number % 2 == 0 else ""
            # In step with neither, so that good and broken ones come by HUP and by the API.
            server.write(number, broken if number % 4 < 2 or number % 2 else BROKEN[0])
            report = server.reload(number)
            reports.append(report)
            memory.append(server.memory_kb())
            stalls.look()
            if report["number"] != number or report["ok"] == bool(number % 2 == 0):
                problems.append(f"reload {number} of a {'broken' if number % 2 == 0 else 'good'} file: {report}")
            time.sleep(max(0.0, options.every - (time.monotonic() - began)))
        figures = []
        for player, out in players:
            code = player.wait(seconds + 60)
            figures.append(json.loads(out.read_text()))
            if code != 0:
                problems.append(f"viewers lost something: {figures[-1]}")
        if processes[1].poll() is not None:
            problems.append("the publishers ended")
    finally:
        for process in processes[::-1]:
            process.terminate()
        for process in processes:
            process.wait(30)
    return judge(options, reports, memory, stalls, figures, problems)


def judge(options, reports, memory, stalls, figures, problems):
    own = [stall for stall in stalls.seen if stall["cause"] != "not scheduled"]
    longest_own = max((stall["ms"] for stall in own), default=0)
    if longest_own > options.stall:
        problems.append(f"a stall of {longest_own} ms, longer than {options.stall}: {own}")
    half = len(memory) // 2
    grown = statistics.median(memory[-max(1, half // 2):]) - statistics.median(memory[half : half + max(1, half // 2)])
    if grown > options.growth:
        problems.append(f"memory grew by {grown} kB in the second half of the reloads: {memory}")
    took = sorted(report["took_ms"] for report in reports)
    return {
        "reloads": len(reports),
        "refused": sum(not report["ok"] for report in reports),
        "viewers": sum(figure["connected"] for figure in figures),
        "publishers": options.publishers,
        "frames_verified": sum(figure["frames_verified"] for figure in figures),
        "frames_missing": sum(figure["frames_missing"] for figure in figures),
        "viewers_with_a_break": sum(figure["viewers_with_a_break"] for figure in figures),
        "viewers_lost": sum(figure["lost"] + figure["failed"] for figure in figures),
        "reload_ms_p50": took[len(took) // 2],
        "reload_ms_max": took[-1],
        "stalls_of_5_ms": len(stalls.seen),
        "of_them_not_scheduled": len(stalls.seen) - len(own),
        "longest_stall_ms": max((stall["ms"] for stall in stalls.seen), default=0),
        "longest_stall_of_its_own_ms": longest_own,
        "memory_kb_first": memory[0],
        "memory_kb_half": memory[half],
        "memory_kb_last": memory[-1],
        "grown_kb_second_half": grown,
        "problems": problems,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--reloads", type=int, default=200)
    parser.add_argument("--viewers", type=int, default=500)
    parser.add_argument("--publishers", type=int, default=20)
    parser.add_argument("--kbps", type=int, default=237)
    parser.add_argument("--every", type=float, default=0.2, help="seconds from one to the next")
    parser.add_argument("--stall", type=int, default=10, help="longest stall of the loop's own, ms")
    parser.add_argument("--growth", type=int, default=2048, help="kB")
    parser.add_argument("--objs", type=pathlib.Path, default=ROOT / "objs")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.objs = options.objs.resolve()
    with tempfile.TemporaryDirectory(prefix="reloads") as directory:
        result = run(options, pathlib.Path(directory))
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        pathlib.Path(options.json).write_text(text + "\n")
    sys.exit(1 if result["problems"] else 0)


if __name__ == "__main__":
    main()
