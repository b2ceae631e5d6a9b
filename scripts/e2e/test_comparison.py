"""research/compare.py --report: what it makes of stored runs, tables and verdicts. Nothing is measured."""

import json
import subprocess

from lib.server import ROOT

PLAYED = {"failed": 0, "lost": 0, "reasons": {}, "stream_errors": 0, "without_frame": 0, "slowest_viewer_percent": 99,
          "longest_gap_ms": {"max": 352}, "mbit_per_s": 100, "load_cpu_percent": 9, "server_kb_per_player": 20,
          "first_frame_ms": {"p99": 2}, "players_per_stream": 1}  # fmt: skip


def report(directory, runs):
    """The exit code and the tables of runs by their key, one each or a list of repeats."""
    stored = directory / "figures.json"
    stored.write_text(json.dumps({"machine": {}, "raw": {key: run if isinstance(run, list) else [run] for key, run in runs.items()}}))
    done = subprocess.run([ROOT / "research/compare.py", "--report", "--json", stored], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


def cells(text, *first):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    found = [one for one in rows if one[: len(first)] == list(first)]
    assert found, f"a row {first} in\n{text}"
    return found[0]


def grown(streams, percent, kb, **more):
    """Of a process that takes 0.5 % of a core and 10,000 kB without rooms."""
    return {**PLAYED, "wanted": streams, "server_cpu_percent": percent, "idle_cpu_percent": 0.5, "idle_kb": 10_000,
            "server_anonymous_kb": kb, **more}  # fmt: skip


def test_growth_is_put_beside_300_streams(tmp_path):
    """300 streams: (6.5 - 0.5) % are 0.2 ms a second each; 2,000: (44.5 - 0.5) % are 0.22 ms, 1.1 times as much."""
    runs = {"growth1 / ours, RTMP / 300": grown(300, 6.5, 40_000), "growth1 / ours, RTMP / 2000": grown(2000, 44.5, 230_000)}
    code, text = report(tmp_path, runs)
    assert cells(text, "ours, RTMP", "300")[4:8] == ["0.2", "1.00", "100.0", "1.00"], text
    assert cells(text, "ours, RTMP", "2000")[4:8] == ["0.22", "1.10", "110.0", "1.10"], text
    assert code == 0 and "MISSED" not in text, text


def test_a_stream_that_costs_more_among_many_is_reported(tmp_path):
    runs = {"growth3 / ours, RTMP / 300": grown(900, 6.5, 40_000, players_per_stream=3),
            "growth3 / ours, RTMP / 2000": grown(6000, 60.5, 260_000, players_per_stream=3)}  # fmt: skip
    code, text = report(tmp_path, runs)
    what = "growth: ours, RTMP, 2000 streams with 3 players each"
    assert cells(text, f"{what}: CPU of each to that of 300")[1:] == ["1.5", "1.2", "MISSED"], text
    assert cells(text, f"{what}: kB of each to that of 300")[1:] == ["1.25", "1.2", "MISSED"], text
    assert code == 1, text


def test_growth_is_the_median_of_repeats(tmp_path):
    repeats = [grown(300, 6.5, 46_000), grown(300, 9.5, 37_000), grown(300, 3.5, 40_000)]
    code, text = report(tmp_path, {"growth1 / ours, RTMP / 300": repeats})
    row = cells(text, "ours, RTMP", "300")
    assert (row[4], row[6]) == ("0.2", "100.0"), text
    assert code == 0, text


def test_growth_without_players(tmp_path):
    ingest = {key: value for key, value in grown(300, 6.5, 40_000).items() if key not in ("first_frame_ms", "without_frame")}
    code, text = report(tmp_path, {"growth0 / ours, RTMP / 300": {**ingest, "players_per_stream": 0}})
    assert cells(text, "ours, RTMP", "300")[4] == "0.2", text
    assert code == 0, text


def test_everything_has_a_limit_of_a_core(tmp_path):
    run = {**PLAYED, "server_cpu_percent": 61, "published_bytes": 1000, "mp4_bytes": 1500, "ts_bytes": 900}
    code, text = report(tmp_path, {"everything / ours / 1000": run})
    assert cells(text, "ours", "1000")[2:6] == ["61", "0.610", "150 %", "90 %"], text
    assert cells(text, "everything: ours, 1000 streams: percent of a core")[1:] == ["61", "60", "MISSED"], text
    missing = "everything: ours, 1000 streams: percent of the bytes that are missing"
    assert cells(text, f"{missing}, ts")[1:] == ["10", "5", "MISSED"], text
    assert cells(text, f"{missing}, mp4")[-1] == "met", text
    assert code == 1, text


def test_a_room_has_a_limit_for_the_first_frame(tmp_path):
    run = {**PLAYED, "server_cpu_percent": 6, "first_frame_ms": {"p99": 240}}
    code, text = report(tmp_path, {"rooms1 / ours, RTMP / 300": run})
    what = "rooms: ours, RTMP, 300 streams with 1 players each: first frame, p99 ms"
    assert cells(text, what)[1:] == ["240", "200", "MISSED"], text
    assert code == 1, text


WAITING = {"failed": 0, "lost": 0, "wanted": 2000, "window_s": 10, "parts": 60_000, "parts_refused": 0, "parts_missed": 0,
           "mbit_per_s": 2000, "server_cpu_percent": 16, "server_cpu_ms_per_s_per_player": 0.08, "server_kb_per_player": 1.5,
           "load_cpu_percent": 20, "part_ms": {"p50": 20.04, "p99": 90}}  # fmt: skip


def test_players_that_wait_for_parts_are_put_beside_the_floor(tmp_path):
    runs = {"lowlatencyhls / floor / 2000": {**WAITING, "server_cpu_percent": 10}, "lowlatencyhls / ours / 2000": WAITING,
            "lowlatencyhls / floor, HTTP/2 / 2000": {**WAITING, "parts": 40_000, "server_cpu_percent": 8},
            "lowlatencyhls / ours, HTTP/2 / 2000": {**WAITING, "parts": 40_000}}  # fmt: skip
    code, text = report(tmp_path, runs)
    assert cells(text, "ours", "2000")[2:11] == ["0.08", "26.67", "1.60", "16", "1.5", "2000", "3.0", "20.0", "90"], text
    assert cells(text, "lowlatencyhls: ours, 2000 players: CPU to the floor's")[1:] == ["1.6", "1.5", "MISSED"], text
    assert cells(text, "lowlatencyhls: ours, HTTP/2, 2000 players: CPU to the floor's")[1:] == ["2.0", "1.5", "MISSED"], text
    starved = "lowlatencyhls: ours, HTTP/2, 2000 players: dropped, parts missed, too few parts"
    assert cells(text, starved)[1:] == ["1", "0", "MISSED"], text
    assert code == 1, text
