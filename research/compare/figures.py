"""From raw runs to medians, and from these to a verdict on the targets of ours."""

import statistics

MEDIAN = ("server_cpu_ms_per_mbit", "server_kb_per_player", "server_cpu_percent", "server_main_thread_percent", "mbit_per_s",
          "load_cpu_percent")  # fmt: skip
STARVED_PERCENT = 85  # of the median viewer's bytes
PLAYERS = ("players", "lowlatency", "rate3m")
ROOMS = ("rooms1", "rooms2", "rooms3")  # by players of each stream
GROWTH = ("growth0", "growth1", "growth3")
GROWTH_BASE = 300  # streams, beside which others are put
WEBRTC_ROOMS = {"rtcrooms": 3, "meetings": 9}  # players of each stream
SRT_PLAYERS = ("srt", "srtlow", "srt3m")
WEBRTC_PLAYERS = ("whep",)
FLOOR, FLOOR_OF_WHIP, FLOOR_OF_UDP, FLOOR_OF_HTTP2 = "floor", "floor, from WHIP", "floor, UDP", "floor, HTTP/2"


def of_players(runs):
    out = {key: round(statistics.median(run.get(key) or 0 for run in runs), 4) for key in MEDIAN}
    out["dropped"] = sum(run["failed"] + run["lost"] for run in runs)
    out["reasons"] = sorted({reason for run in runs for reason in run["reasons"]})
    out["stream_errors"] = sum(run["stream_errors"] for run in runs)
    out["without_frame"] = sum(run["without_frame"] for run in runs)
    out["slowest_viewer_percent"] = min(run["slowest_viewer_percent"] for run in runs)
    out["longest_gap_ms"] = max(run["longest_gap_ms"]["max"] for run in runs)
    return out


def of_rooms(runs):
    """Memory is that of players and of what their stream needs for them, the GOP left out: it is there before."""
    out = of_players(runs)
    players = runs[0]["players_per_stream"]
    out["kb_per_stream"] = round(out["server_kb_per_player"] * players, 1)
    if "first_frame_ms" in runs[0]:
        out["first_frame_p99_ms"] = max(run["first_frame_ms"]["p99"] for run in runs)
    return out


def of_growth(runs):
    """Of each stream with its players, beside the process without any: memory with the GOP."""
    players = runs[0]["players_per_stream"]
    streams = runs[0]["wanted"] // max(1, players)
    if players:
        out = of_players(runs)
    else:
        of_ingest = ("mbit_per_s", "server_cpu_percent", "load_cpu_percent")
        out = {"dropped": sum(run["failed"] + run["lost"] for run in runs),
               **{key: round(statistics.median(run[key] for run in runs), 4) for key in of_ingest}}  # fmt: skip
    cpu_ms = [10 * (run["server_cpu_percent"] - run["idle_cpu_percent"]) / streams for run in runs]
    kb = [(run["server_anonymous_kb"] - run["idle_kb"]) / streams for run in runs]
    out["idle_cpu_percent"] = round(statistics.median(run["idle_cpu_percent"] for run in runs), 2)
    out["cpu_ms_per_s"] = round(statistics.median(cpu_ms), 4)
    out["kb_per_stream"] = round(statistics.median(kb), 1)
    return out


def of_everything(runs):
    out = of_rooms(runs)
    for kind in ("mp4", "ts"):
        out[f"{kind}_percent"] = round(min(100 * run[f"{kind}_bytes"] / run["published_bytes"] for run in runs))
    return out


def of_publishers(runs):
    return {
        "cpu_ms_per_s": round(statistics.median(run["server_cpu_ms_per_s_per_publisher"] for run in runs), 4),
        "kb": round(statistics.median(run["server_kb_per_publisher"] for run in runs), 1),
        "gop_kb": runs[0]["average_gop_kb"],
        "dropped": sum(run["failed"] + run["lost"] for run in runs),
    }


def of_webrtc_players(runs):
    out = of_players(runs)
    out["packets"] = sum(run["packets"] for run in runs)
    out["packets_lost"] = sum(max(0, run["packets_lost"]) for run in runs)
    return out


def of_rtsp_players(runs):
    """The floor of interleaved players sends no packets."""
    return of_webrtc_players([{"packets": 0, "packets_lost": 0, **run} for run in runs])


def of_edges(runs):
    """The floor has no origin."""
    out = of_players(runs)
    out["origin_cpu_percent"] = max(run.get("origin_cpu_percent", 0) for run in runs)
    out["origin_players"] = max(run.get("origin_players", 0) for run in runs)
    return out


def of_webrtc_publishers(runs):
    return {
        "cpu_ms_per_s": round(statistics.median(run["server_cpu_ms_per_s_per_publisher"] for run in runs), 4),
        "kb": round(statistics.median(run["server_kb_per_publisher"] for run in runs), 1),
        "mbit_per_s": round(statistics.median(run["mbit_per_s"] for run in runs), 2),
        "asked_again": sum(run["packets_asked_again"] for run in runs),
        "dropped": sum(run["failed"] + run["lost"] for run in runs),
    }


def of_recording(runs):
    out = of_publishers(runs)
    out["cpu_percent"] = round(statistics.median(run["server_cpu_percent"] for run in runs), 1)
    out["written_percent"] = round(min(100 * run["written_bytes"] / run["bytes"] for run in runs))
    stalls = [stall for run in runs for stall in run["stalls"] or ()]
    asked = any(run["stalls"] is not None for run in runs)
    # By the clock, but for those in which others had the processor: of them what the loop itself used.
    own = [stall["cpu_ms" if stall["cause"] == "not scheduled" else "ms"] for stall in stalls]
    out["longest_stall_ms"] = max(own, default=0) if asked else None
    return out


def of_latency(runs):
    return {"video": runs[0]["video_latency_ms"], "audio": runs[0]["audio_latency_ms"],
            "dropped": runs[0]["failed"] + runs[0]["lost"]}  # fmt: skip


def of_first_frame(runs):
    return {**runs[0]["first_frame_ms"], "dropped": runs[0]["failed"] + runs[0]["lost"]}


def of_delivery(runs):
    out = {key: round(statistics.median(run[key] for run in runs), 2) for key in ("cpu_us", "per_s", "server_cpu_percent")}
    return {**out, "errors": sum(run["errors"] for run in runs)}


def of_hls_players(runs):
    keys = ("server_cpu_ms_per_mbit", "server_cpu_percent", "server_kb_per_player", "mbit_per_s", "load_cpu_percent")
    out = {key: round(statistics.median(run.get(key) or 0 for run in runs), 4) for key in keys}
    out["dropped"] = sum(run["failed"] + run["lost"] for run in runs)
    for key in ("segments_missed", "segments_late", "stalls"):
        out[key] = sum(run[key] for run in runs)
    return {**out, "segment_p99_ms": max(run["segment_ms"]["p99"] for run in runs)}


def of_waiting_players(runs):
    keys = ("server_cpu_ms_per_s_per_player", "server_cpu_percent", "server_kb_per_player", "mbit_per_s", "load_cpu_percent")
    out = {key: round(statistics.median(run.get(key) or 0 for run in runs), 4) for key in keys}
    out["dropped"] = sum(run["failed"] + run["lost"] for run in runs)
    out["parts_missed"] = sum(run["parts_refused"] + run["parts_missed"] for run in runs)
    # Where a server is late, its players get fewer parts: what one takes can be compared all the same.
    cpu_us = [run["server_cpu_percent"] * 1e4 * run["window_s"] / max(1, run["parts"]) for run in runs]
    out["part_cpu_us"] = round(statistics.median(cpu_us), 2)
    # Of each player as many parts as the stream has.
    out["parts_per_s"] = round(min(run["parts"] / run["window_s"] / run["wanted"] for run in runs), 2)
    for p in ("p50", "p99"):
        out[f"part_{p}_ms"] = round(statistics.median(run["part_ms"][p] for run in runs), 1)
    return out


SUMMARIES = {**dict.fromkeys((*ROOMS, *WEBRTC_ROOMS), of_rooms), **dict.fromkeys(GROWTH, of_growth),
             "everything": of_everything, "publishers": of_publishers, "segments": of_publishers,
             "recording": of_recording, "latency": of_latency,
             "firstframe": of_first_frame, "start": lambda runs: runs[0], "whep": of_webrtc_players,
             "whip": of_webrtc_publishers, "edges": of_edges, "rtsp": of_rtsp_players, "rtsp_publish": of_publishers,
             **dict.fromkeys(SRT_PLAYERS, of_webrtc_players), "srt_publish": of_webrtc_publishers,
             "delivery": of_delivery, "hlsplayers": of_hls_players, "lowlatencyhls": of_waiting_players}  # fmt: skip


def summarise(raw):
    """group -> server -> count -> figures."""
    out = {}
    for key, runs in raw.items():
        group, server, count = key.split(" / ")
        summary = SUMMARIES.get(group, of_players)(runs)
        out.setdefault(group, {}).setdefault(server, {})[int(count)] = summary
    return out


def floor_of(server):
    floors = {"from WHIP": FLOOR_OF_WHIP, "UDP": FLOOR_OF_UDP, "HTTP/2": FLOOR_OF_HTTP2}
    return next((floor for word, floor in floors.items() if word in server), FLOOR)


def to_floor(groups, group, server, count, key):
    """The figure's ratio to the floor's in the same group, of the same packets, or None."""
    floor = groups.get(group, {}).get(floor_of(server), {}).get(count, {}).get(key)
    figure = groups[group][server][count].get(key)
    return figure / floor if floor and figure else None


class Verdict:
    def __init__(self, quick):
        self.rows, self.quick = [], quick

    def at_most(self, what, figure, limit, always=False):
        """figure None: it was not measured. always: in a quick run too, whose times say nothing."""
        if figure is None:
            self.rows.append((what, "not measured", limit, False))
        elif always or not self.quick:
            self.rows.append((what, round(figure, 3), limit, figure <= limit))

    def served(self, what, run):
        """Every player got the stream, to the end."""
        bad = run["dropped"] + run["stream_errors"] + run["without_frame"] + (not run["mbit_per_s"])
        bad += run["slowest_viewer_percent"] < STARVED_PERCENT
        self.at_most(f"{what}: dropped or starved", bad, 0, always=True)


def ratio_limit(group, count):
    """For 500 players of 3 Mbit/s the floor takes 36 ms a second; what a server does besides sending (ingest, the clock,
    the watchdog) is a tenth of that, or more."""
    if group in ("lowlatency", "rate3m"):
        return 1.3
    return 1.6 if group in ("players", "rtsp") and count <= 1000 else 1.1


def check(groups, quick):
    """(what, figure, limit, ok) for every target of ours."""
    v = Verdict(quick)
    for group in PLAYERS:
        for server, by_count in groups.get(group, {}).items():
            for count, run in by_count.items() if server.startswith("ours") else ():
                what = f"{group}: {server}, {count} players"
                v.served(what, run)
                ratio = to_floor(groups, group, server, count, "server_cpu_ms_per_mbit")
                if "floor" in groups[group]:
                    v.at_most(f"{what}: CPU to the floor's", ratio, ratio_limit(group, count))
                if group == "players":
                    v.at_most(f"{what}: kB each", run["server_kb_per_player"], 1.5)
    check_rooms(groups, v)
    check_growth(groups, v)
    check_everything(groups.get("everything", {}), v)
    for group in ("publishers", "segments"):
        for server, by_count in groups.get(group, {}).items():
            for count, run in by_count.items() if server.startswith("ours") else ():
                v.at_most(f"{group}: {server}: dropped", run["dropped"], 0, always=True)
                if group == "publishers":
                    limit = 0.2 if "uring" in server else 0.26
                    v.at_most(f"{group}: {server}: ms of CPU per second each", run["cpu_ms_per_s"], limit)
                v.at_most(f"{group}: {server}: kB each beside the GOP", run["kb"] - run["gop_kb"], 64)
    check_recording(groups.get("recording", {}), v)
    check_waiting(groups, v)
    check_webrtc(groups, v)
    check_webrtc_rooms(groups, v)
    check_rtsp(groups, v)
    check_srt(groups, v)
    check_edges(groups, v)
    check_delivery(groups.get("delivery", {}), v)
    check_hls_players(groups.get("hlsplayers", {}), v)
    check_waiting_players(groups, v)
    return v.rows


def check_rooms(groups, v):
    for players, group in enumerate(ROOMS, 1):
        for server, by_count in groups.get(group, {}).items():
            for streams, run in by_count.items() if server.startswith("ours") else ():
                what = f"rooms: {server}, {streams} streams with {players} players each"
                v.served(what, run)
                if "floor" in groups[group]:
                    v.at_most(f"{what}: CPU to the floor's", to_floor(groups, group, server, streams, "server_cpu_percent"), 1.4)
                v.at_most(f"{what}: kB each stream more", run["kb_per_stream"], 32 + 1.5 * players)
                if "first_frame_p99_ms" in run:
                    v.at_most(f"{what}: first frame, p99 ms", run["first_frame_p99_ms"], 200)


def to_base(by_count, count, key):
    """The figure's ratio to that of GROWTH_BASE streams, or None."""
    base = by_count.get(GROWTH_BASE, {}).get(key)
    return by_count[count][key] / base if base else None


def check_growth(groups, v):
    """A stream among many may cost less than one among few, but not more."""
    for group in GROWTH:
        players = int(group.removeprefix("growth"))
        for server, by_count in groups.get(group, {}).items():
            for streams, run in by_count.items() if server.startswith("ours") else ():
                what = f"growth: {server}, {streams} streams with {players} players each"
                if players:
                    v.served(what, run)
                else:
                    v.at_most(f"{what}: dropped", run["dropped"], 0, always=True)
                for key, name in (("cpu_ms_per_s", "CPU"), ("kb_per_stream", "kB")) if streams != GROWTH_BASE else ():
                    ratio = to_base(by_count, streams, key)
                    if ratio is not None:
                        v.at_most(f"{what}: {name} of each to that of {GROWTH_BASE}", ratio, 1.2)


def check_everything(everything, v):
    for server, by_count in everything.items():
        for streams, run in by_count.items():
            what = f"everything: {server}, {streams} streams"
            v.served(what, run)
            v.at_most(f"{what}: percent of a core", run["server_cpu_percent"], 60)
            for kind in ("mp4", "ts"):
                v.at_most(f"{what}: percent of the bytes that are missing, {kind}", 100 - run[f"{kind}_percent"], 5, True)


ABOVE_INGEST = {"FLV": 0.10, "MP4": 0.15, "HLS": 0.15}  # ms of processor time a second and stream
HLS_KEEPS = 5  # percent of the bytes sent that must be there at the end at least: segments are removed again


def above_ingest(recording, server, count):
    """Processor time beside the same server's ingest alone, or None."""
    alone = recording.get(server.split(",")[0] + ", ingest alone", {}).get(count)
    return recording[server][count]["cpu_ms_per_s"] - alone["cpu_ms_per_s"] if alone else None


def check_recording(recording, v):
    for server, by_count in recording.items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"recording: {server}, {count} streams"
            v.at_most(f"{what}: dropped", run["dropped"], 0, always=True)
            if server.endswith("late"):
                v.at_most(f"{what}: longest stall of the loop's own, ms", run["longest_stall_ms"], 5)
                continue
            if server.endswith("alone"):
                continue
            kept = HLS_KEEPS if server.endswith("HLS") else 95
            v.at_most(f"{what}: percent of the bytes that are missing", 100 - run["written_percent"], 100 - kept, True)
            v.at_most(f"{what}: kB each", run["kb"], 300)
            v.at_most(f"{what}: ms of CPU per second each", run["cpu_ms_per_s"], 0.35)
            v.at_most(f"{what}: percent of a core", run["cpu_percent"], 100)
            limit, more = ABOVE_INGEST.get(server.removeprefix("ours, ")), above_ingest(recording, server, count)
            if limit and more is not None:
                v.at_most(f"{what}: of it above ingest", more, limit)


def check_waiting(groups, v):
    for server, by_count in groups.get("latency", {}).items():
        for run in by_count.values() if server.startswith("ours") else ():
            v.at_most(f"latency: {server}: dropped", run["dropped"], 0, always=True)
            video, audio = (400, 400) if "350" in server else (20, 60) if "mw_latency" in server else (20, 20)
            for kind, limit in (("video", video), ("audio", audio)):
                times = run[kind]
                v.at_most(f"latency: {server}: {kind}, p99 ms", times["p99"] if times["count"] else None, limit)
    for server, by_count in groups.get("firstframe", {}).items():
        for run in by_count.values() if server.startswith("ours") else ():
            v.at_most(f"time to first frame: {server}: dropped", run["dropped"], 0, always=True)
    if start := groups.get("start", {}).get("ours", {}).get(0):
        v.at_most("start to listening, ms", start["start_ms"], 50)
        v.at_most("idle memory, kB PSS", start["idle_pss_kb"], 15000)


def check_webrtc(groups, v):
    for server, by_count in groups.get("whep", {}).items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"whep: {server}, {count} players"
            v.served(what, run)
            v.at_most(f"{what}: packets lost, percent", 100 * run["packets_lost"] / max(1, run["packets"]), 0.1)
            v.at_most(f"{what}: CPU, ms per Mbit", run["server_cpu_ms_per_mbit"], 1.1)
            if FLOOR in groups["whep"]:
                v.at_most(f"{what}: CPU to the floor's", to_floor(groups, "whep", server, count, "server_cpu_ms_per_mbit"), 1.5)
            v.at_most(f"{what}: kB each", run["server_kb_per_player"], 64)
    for server, by_count in groups.get("whip", {}).items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            v.at_most(f"whip: {server}, {count} publishers: dropped", run["dropped"], 0, always=True)


def check_webrtc_rooms(groups, v):
    for group, players in WEBRTC_ROOMS.items():
        for server, by_count in groups.get(group, {}).items():
            for streams, run in by_count.items() if server.startswith("ours") else ():
                what = f"{group}: {server}, {streams} streams with {players} players each"
                v.served(what, run)
                if FLOOR in groups[group]:
                    v.at_most(f"{what}: CPU to the floor's", to_floor(groups, group, server, streams, "server_cpu_percent"), 1.3)


def check_rtsp(groups, v):
    for server, by_count in groups.get("rtsp", {}).items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"rtsp: {server}, {count} players"
            v.served(what, run)
            lost = 100 * run["packets_lost"] / max(1, run["packets"])
            if server.endswith("UDP"):
                v.at_most(f"{what}: packets lost, percent", lost, 0.1)
                continue
            v.at_most(f"{what}: packets left out, percent", lost, 0, always=True)
            if FLOOR in groups["rtsp"]:
                ratio = to_floor(groups, "rtsp", server, count, "server_cpu_ms_per_mbit")
                v.at_most(f"{what}: CPU to the floor's", ratio, ratio_limit("rtsp", count))
            v.at_most(f"{what}: kB each", run["server_kb_per_player"], 1.5)
    for server, by_count in groups.get("rtsp_publish", {}).items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            v.at_most(f"rtsp: {server}, {count} publishers: dropped", run["dropped"], 0, always=True)


def check_srt(groups, v):
    """The memory of 1,000 players is more than theirs: 2.5 MB are there once, for sending and for handshakes."""
    for group in SRT_PLAYERS:
        for server, by_count in groups.get(group, {}).items():
            for count, run in by_count.items() if server.startswith("ours") else ():
                what = f"{group}: {server}, {count} players"
                v.served(what, run)
                v.at_most(f"{what}: packets lost, percent", 100 * run["packets_lost"] / max(1, run["packets"]), 0.1)
                if server == "ours":
                    ratio = to_floor(groups, group, server, count, "server_cpu_ms_per_mbit")
                    v.at_most(f"{what}: CPU to the floor's", ratio, 1.3)
                    if group == "srt" and count > 1000:
                        v.at_most(f"{what}: kB each", run["server_kb_per_player"], 2)
    for server, by_count in groups.get("srt_publish", {}).items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"srt: {server}, {count} publishers"
            v.at_most(f"{what}: dropped", run["dropped"], 0, always=True)
            v.at_most(f"{what}: CPU to the floor's", to_floor(groups, "srt_publish", server, count, "cpu_ms_per_s"), 1.5)


def check_edges(groups, v):
    for server, by_count in groups.get("edges", {}).items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"edges: {server}, {count} players each"
            v.served(what, run)
            v.at_most(f"{what}: players of the origin", run["origin_players"], 2, always=True)
            if FLOOR in groups["edges"]:
                v.at_most(f"{what}: CPU to the floor's", to_floor(groups, "edges", server, count, "server_cpu_ms_per_mbit"), 1.3)


DELIVERY_TO_NGINX = {"playlist": 1.2, "segment": 1.3}


def to_nginx(delivery, server, count):
    """Processor time of a request to that of nginx for the same, or None."""
    peer = server.replace("ours", "nginx").replace(", disk", "").replace(", memory", "")
    nginx = delivery.get(peer, {}).get(count)
    return delivery[server][count]["cpu_us"] / nginx["cpu_us"] if nginx and nginx["cpu_us"] else None


def check_delivery(delivery, v):
    for server, by_count in delivery.items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"delivery: {server}, {count} connections"
            v.at_most(f"{what}: errors", run["errors"], 0, always=True)
            ratio = to_nginx(delivery, server, count)
            if ratio is not None:
                v.at_most(f"{what}: CPU to nginx's", ratio, DELIVERY_TO_NGINX[server.split(", ")[1]])


def hls_players_to_nginx(players, server, count):
    """Processor time of a megabit to that of nginx, or None."""
    nginx = players.get("nginx", {}).get(count)
    return players[server][count]["server_cpu_ms_per_mbit"] / nginx["server_cpu_ms_per_mbit"] if nginx else None


def check_hls_players(players, v):
    for server, by_count in players.items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"hlsplayers: {server}, {count} players"
            bad = run["dropped"] + run["segments_missed"] + run["stalls"] + (not run["mbit_per_s"])
            v.at_most(f"{what}: dropped, segments missed, stalls", bad, 0, always=True)
            ratio = hls_players_to_nginx(players, server, count)
            if ratio is not None:
                v.at_most(f"{what}: CPU to nginx's", ratio, DELIVERY_TO_NGINX["segment"])


PARTS_PER_S = 2.5  # at least, of parts of 333 ms
WAITING_KB, IDLE_KB = 2, 0.75  # of a player that waits, beyond an idle connection


def check_waiting_players(groups, v):
    for server, by_count in groups.get("lowlatencyhls", {}).items():
        for count, run in by_count.items() if server.startswith("ours") else ():
            what = f"lowlatencyhls: {server}, {count} players"
            bad = run["dropped"] + run["parts_missed"] + (run["parts_per_s"] < PARTS_PER_S)
            v.at_most(f"{what}: dropped, parts missed, too few parts", bad, 0, always=True)
            if floor_of(server) in groups["lowlatencyhls"]:
                v.at_most(f"{what}: CPU to the floor's", to_floor(groups, "lowlatencyhls", server, count, "part_cpu_us"), 1.5)
            # Those of TLS have what OpenSSL keeps.
            if not server.endswith("HTTP/2"):
                v.at_most(f"{what}: kB each", run["server_kb_per_player"], WAITING_KB + IDLE_KB)
