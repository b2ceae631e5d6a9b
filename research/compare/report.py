"""The tables in Markdown, and their place in a page."""

import math
import os
import pathlib
import subprocess
import time

from .figures import (GROWTH, GROWTH_BASE, PLAYERS, ROOMS, SRT_PLAYERS, WEBRTC_PLAYERS, WEBRTC_ROOMS, above_ingest,
                      hls_players_to_nginx, to_base, to_floor, to_nginx)  # fmt: skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
TITLES = {
    "players": "Players of one 237 kbit/s stream, sent to every 350 ms",
    "lowlatency": "Low latency: players of one 237 kbit/s stream, sent to with every video frame (the floor: every 40 ms)",
    "rate3m": "Players of one 3 Mbit/s stream, sent to every 350 ms",
    "rooms1": "Streams of 237 kbit/s with one player each",
    "rooms2": "Streams of 237 kbit/s with two players each",
    "rooms3": "Streams of 237 kbit/s with three players each",
    "growth0": "How cost grows: streams of 237 kbit/s without players",
    "growth1": "How cost grows: streams of 237 kbit/s with one player each",
    "growth3": "How cost grows: streams of 237 kbit/s with three players each",
    "everything": "Streams of 237 kbit/s by RTMP, each made into HLS, recorded as MP4, and played by one HTTP-FLV player",
    "publishers": "Publishers, 237 kbit/s each, without viewers",
    "segments": "Publishers that write 50 bytes at a time, each a TCP segment of its own",
    "recording": "Publishers, 237 kbit/s each, recorded, or made into HLS segments of 10 s",
    "latency": "From the publisher's send to the viewer's receipt",
    "firstframe": "Time to the first frame: from connecting to the first video or audio frame",
    "start": "Start to the first accepted connection, and memory two seconds later",
    "whep": "Players of one 237 kbit/s stream by WebRTC (WHEP)",
    "whip": "Publishers by WebRTC (WHIP), 237 kbit/s each, without viewers",
    "rtcrooms": "Publishers by WebRTC, 237 kbit/s each, with three players each",
    "meetings": "Meetings of ten by WebRTC: publishers of 237 kbit/s with nine players each",
    "rtsp": "Players of one 237 kbit/s stream by RTSP, sent to every 350 ms",
    "rtsp_publish": "Publishers by RTSP, interleaved, 237 kbit/s each, without viewers",
    "srt": "Players of one 237 kbit/s stream by SRT, sent to every 350 ms",
    "srtlow": "Players of one 237 kbit/s stream by SRT, sent to with every video frame",
    "srt3m": "Players of one 3 Mbit/s stream by SRT, sent to every 350 ms",
    "srt_publish": "Publishers by SRT, 237 kbit/s each, without viewers",
    "edges": "Two edges of one origin, players of one 237 kbit/s stream at each, sent to every 350 ms; the edge that took more",
    "delivery": "HLS delivery: a playlist, and a segment of 2 s of 600 kbit/s, requested by wrk on connections that stay",
    "hlsplayers": "Players of one live HLS stream of 1 Mbit/s in segments of 2 s; nginx serves the files that an instance of ours "
                  "writes",
    "lowlatencyhls": "Players of one live stream of 1 Mbit/s by low-latency HLS: each waits for the playlist with the next part "
                     "of 333 ms, and fetches it",
}


def first_line(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return "not there"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else "not there"


def machine(servers, load, options):
    cpu = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    out = {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": f"{os.cpu_count()} x {cpu[0].split(':')[1].strip() if cpu else 'unknown'}",
        "kernel": os.uname().release,
        "compiler": first_line("g++", "--version"),
        "ours": first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
    }
    there = servers.there()
    if there["nginx"]:
        module = first_line("dpkg-query", "-W", "-f", "${Version}", "libnginx-mod-rtmp")
        out["nginx"] = f"{first_line('nginx', '-v')}, rtmp module {module}"
    if there["mediamtx"]:
        out["MediaMTX"] = first_line(str(servers.objs / "peers/mediamtx"), "--version")
    out["command"] = options.command
    out["measured"] = f"{options.seconds} s per run, {options.repeats} repeats, medians"
    out["stream"] = "x264 and AAC by ffmpeg, looped" if load.has_ffmpeg else "made up by the load tool"
    return out


def table(head, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def shown(ratio):
    return "" if ratio is None else f"{ratio:.2f}"


def players_table(groups, group):
    """Where packets are counted, with those that were lost; where threads did much of the work, with the loop's part."""
    runs = [(server, count, run) for server, by_count in groups[group].items() for count, run in sorted(by_count.items())]
    counts_packets = any(run.get("packets") for _, _, run in runs)
    has_threads = any(run.get("server_main_thread_percent", math.inf) < 0.8 * run["server_cpu_percent"] for _, _, run in runs)
    rows = []
    for server, count, run in runs:
        lost = (run["packets_lost"] if run["packets"] else "",) if counts_packets else ()
        loop = (run.get("server_main_thread_percent", ""),) if has_threads else ()
        rows.append((server, count, run["server_cpu_ms_per_mbit"],
                     shown(to_floor(groups, group, server, count, "server_cpu_ms_per_mbit")), run["server_cpu_percent"],
                     *loop, run["server_kb_per_player"], run["mbit_per_s"], run["dropped"], *lost,
                     f"{run['slowest_viewer_percent']} %", run["longest_gap_ms"]))  # fmt: skip
    head = ["server", "players", "CPU ms/Mbit", "to the floor", "CPU %", "kB/player", "Mbit/s", "dropped", "slowest",
            "longest gap ms"]  # fmt: skip
    if counts_packets:
        head.insert(8, "packets lost")
    if has_threads:
        head.insert(5, "of it the loop's")
    return table(head, rows)


def rooms_table(groups, group):
    rows = []
    for server, by_count in groups[group].items():
        for count, run in sorted(by_count.items()):
            ratio = shown(to_floor(groups, group, server, count, "server_cpu_percent"))
            rows.append((server, count, run["server_cpu_percent"], ratio, f"{10 * run['server_cpu_percent'] / count:.3f}",
                         run["kb_per_stream"], run["dropped"], f"{run['slowest_viewer_percent']} %",
                         run["longest_gap_ms"]))  # fmt: skip
    return table(("server", "streams", "CPU %", "to the floor", "CPU ms/s a stream", "kB a stream more, beside the GOP", "dropped",
                  "slowest", "longest gap ms"), rows)  # fmt: skip


def growth_table(groups, group):
    rows = [(server, count, run["server_cpu_percent"], run["idle_cpu_percent"], run["cpu_ms_per_s"],
             shown(to_base(by_count, count, "cpu_ms_per_s")), run["kb_per_stream"],
             shown(to_base(by_count, count, "kb_per_stream")), run["dropped"], run["load_cpu_percent"])
            for server, by_count in groups[group].items() for count, run in sorted(by_count.items())]  # fmt: skip
    return table(("server", "streams", "CPU %", "of it idle", "CPU ms/s a stream", f"to {GROWTH_BASE} streams",
                  "kB a stream, with the GOP", f"to {GROWTH_BASE} streams", "dropped", "CPU % of the load"), rows)  # fmt: skip


def everything_table(groups, group):
    rows = [(server, count, run["server_cpu_percent"], f"{10 * run['server_cpu_percent'] / count:.3f}",
             f"{run['mp4_percent']} %", f"{run['ts_percent']} %", run["dropped"], f"{run['slowest_viewer_percent']} %",
             run["longest_gap_ms"])
            for server, by_count in groups[group].items() for count, run in sorted(by_count.items())]  # fmt: skip
    return table(("server", "streams", "CPU %", "CPU ms/s a stream", "MP4 on disk, of the bytes measured", "HLS on disk",
                  "dropped", "slowest", "longest gap ms"), rows)  # fmt: skip


def publishers_table(groups, group):
    rows = []
    for server, by_count in groups[group].items():
        for count, run in by_count.items():
            ratio = shown(to_floor(groups, group, server, count, "cpu_ms_per_s"))
            rows.append((server, count, run["cpu_ms_per_s"], ratio, run["kb"], run["gop_kb"], run["dropped"]))
    head = ("server", "publishers", "CPU ms/s each", "to the floor", "kB each", "of which GOP kB", "dropped")
    return table(head, rows)


def recording_table(groups, group):
    rows = []
    for server, by_count in groups[group].items():
        for count, run in sorted(by_count.items()):
            more, stall = above_ingest(groups[group], server, count), run["longest_stall_ms"]
            alone = server.endswith("alone")
            rows.append((server, count, run["cpu_ms_per_s"], "" if more is None or alone else f"{more:.3f}",
                         run["cpu_percent"], run["kb"], "" if alone else f"{run['written_percent']} %", run["dropped"],
                         "" if stall is None else stall))  # fmt: skip
    return table(("server", "streams", "CPU ms/s each", "above ingest", "CPU %", "kB each", "on disk, of the bytes measured",
                  "dropped", "longest stall ms"), rows)  # fmt: skip


def latency_table(groups, group):
    rows = [(server, kind, *(run[kind][p] for p in ("p50", "p95", "p99", "max")))
            for server, by_count in groups[group].items() for run in by_count.values()
            for kind in ("video", "audio")]  # fmt: skip
    return table(("server", "frames", "p50 ms", "p95 ms", "p99 ms", "max ms"), rows)


def first_frame_table(groups, group):
    rows = [(server, count, *(run[p] for p in ("p50", "p95", "p99", "max")), run["dropped"])
            for server, by_count in groups[group].items() for count, run in by_count.items()]  # fmt: skip
    return table(("server", "viewers", "p50 ms", "p95 ms", "p99 ms", "max ms", "dropped"), rows)


def start_table(groups, group):
    rows = [(server, run["start_ms"], run["worst_start_ms"], run["idle_pss_kb"])
            for server, by_count in groups[group].items() for run in by_count.values()]  # fmt: skip
    return table(("server", "start ms", "slowest of 9", "idle PSS kB"), rows)


def edges_table(groups, group):
    rows = [(server, count, run["server_cpu_ms_per_mbit"],
             shown(to_floor(groups, group, server, count, "server_cpu_ms_per_mbit")), run["server_cpu_percent"],
             run["server_kb_per_player"], run["dropped"], run["origin_players"] or "", run["origin_cpu_percent"] or "")
            for server, by_count in groups[group].items() for count, run in by_count.items()]  # fmt: skip
    return table(("server", "players each", "CPU ms/Mbit", "to the floor", "CPU %", "kB/player", "dropped",
                  "players of the origin", "its CPU %"), rows)  # fmt: skip


def webrtc_publishers_table(groups, group):
    rows = [(server, count, run["cpu_ms_per_s"], shown(to_floor(groups, group, server, count, "cpu_ms_per_s")), run["kb"],
             run["mbit_per_s"], run["asked_again"], run["dropped"])
            for server, by_count in groups[group].items() for count, run in by_count.items()]  # fmt: skip
    return table(("server", "publishers", "CPU ms/s each", "to the floor", "kB each", "Mbit/s", "packets asked again", "dropped"), rows)


def delivery_table(groups, group):
    rows = [(server, count, run["cpu_us"], shown(to_nginx(groups[group], server, count)) if "ours" in server else "",
             run["per_s"], run["server_cpu_percent"], run["errors"])
            for server, by_count in groups[group].items() for count, run in sorted(by_count.items())]  # fmt: skip
    return table(("server", "connections", "CPU us/request", "to nginx", "requests/s", "CPU %", "errors"), rows)


def hls_players_table(groups, group):
    rows = [(server, count, run["server_cpu_ms_per_mbit"],
             shown(hls_players_to_nginx(groups[group], server, count)) if "ours" in server else "", run["server_cpu_percent"],
             run["mbit_per_s"], run["server_kb_per_player"], run["segment_p99_ms"], run["stalls"],
             run["segments_missed"], run["dropped"])
            for server, by_count in groups[group].items() for count, run in sorted(by_count.items())]  # fmt: skip
    return table(("server", "players", "CPU ms/Mbit", "to nginx", "CPU %", "Mbit/s", "kB/player", "segment p99 ms", "stalls",
                  "segments missed", "dropped"), rows)  # fmt: skip


def waiting_players_table(groups, group):
    rows = [(server, count, run["server_cpu_ms_per_s_per_player"], run["part_cpu_us"],
             shown(to_floor(groups, group, server, count, "part_cpu_us")), run["server_cpu_percent"],
             run["server_kb_per_player"], run["mbit_per_s"], run["parts_per_s"], run["part_p50_ms"], run["part_p99_ms"],
             run["dropped"] + run["parts_missed"], run["load_cpu_percent"])
            for server, by_count in groups[group].items() for count, run in sorted(by_count.items())]  # fmt: skip
    return table(("server", "players", "CPU ms/s each", "CPU us/part", "to the floor", "CPU %", "kB each", "Mbit/s", "parts/s each",
                  "part p50 ms", "part p99 ms", "dropped, missed", "CPU % of the load"), rows)  # fmt: skip


TABLES = {**dict.fromkeys((*ROOMS, *WEBRTC_ROOMS), rooms_table), **dict.fromkeys(GROWTH, growth_table),
          "everything": everything_table, "publishers": publishers_table, "segments": publishers_table,
          "recording": recording_table, "latency": latency_table, "firstframe": first_frame_table, "start": start_table,
          "whip": webrtc_publishers_table, "srt_publish": webrtc_publishers_table, "rtsp": players_table, "rtsp_publish": publishers_table,
          "edges": edges_table,
          "delivery": delivery_table, "hlsplayers": hls_players_table,
          "lowlatencyhls": waiting_players_table}  # fmt: skip


def every_target(targets):
    rows = [(what, figure, limit, "met" if ok else "MISSED") for what, figure, limit, ok in targets]
    return table(("target", "figure", "limit", ""), rows)


def missed_targets(targets):
    missed = [row[:3] for row in targets if not row[3]]
    met = f"{len(targets) - len(missed)} of {len(targets)} targets are met."
    return f"{met} The others:\n\n{table(('target', 'figure', 'limit'), missed)}" if missed else f"{met}\n"


def markdown(facts, groups, targets, plots=(), of_targets=every_target):
    parts = [table(("", ""), facts.items())]
    parts += [f"![{title}]({path})\n" for title, path in plots]
    for group, title in TITLES.items():
        if group in groups:
            make = players_table if group in PLAYERS + WEBRTC_PLAYERS + SRT_PLAYERS else TABLES[group]
            parts.append(f"{title}:\n\n{make(groups, group)}")
    if targets:
        parts.append(of_targets(targets))
    return "\n".join(parts)


MARKS = ("<!-- figures: written by research/compare.py -->\n", "<!-- end of figures -->\n")


def put_between_marks(path, text):
    """Replaces what stands between the marks; without them, or a file, the text is all of it."""
    old = path.read_text() if path.exists() else ""
    before, mark, rest = old.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    path.write_text(f"{before}{mark}\n{text}\n{end}{after}" if mark and end else text)
