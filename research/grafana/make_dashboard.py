#!/usr/bin/env python3
"""Writes dashboard.json, which Grafana imports, from the table of panels below.

    research/grafana/make_dashboard.py [--check]     --check: only says whether the file is up to date

In queries: @I is the chosen servers, @V those and the chosen vhosts, @R the range of a rate. Each query must find
something at the servers that check.py runs."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHORT = {
    "@I": '{instance=~"$instance"}',
    "@i": 'instance=~"$instance"',
    "@V": '{instance=~"$instance",vhost=~"$vhost"}',
    "@R": "[$__rate_interval]",
}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
STREAM = "{{app}}/{{stream}}"
LINE = 24  # columns of the grid


def query(text):
    for name, long in SHORT.items():
        text = text.replace(name, long)
    return text


def row(title):
    return {"type": "row", "title": title, "collapsed": False, "gridPos": {"h": 1, "w": LINE}, "panels": []}


def panel(kind, height, title, unit, *queries, width, why="", below_zero=False, most=None):
    """queries: (query, legend) of each line; without a legend the server's name."""
    limits = ({} if below_zero else {"min": 0}) | ({} if most is None else {"max": most})
    pairs = [(one, "{{instance}}") if isinstance(one, str) else one for one in queries]
    return {
        "type": kind,
        "title": title,
        "datasource": SOURCE,
        "gridPos": {"h": height, "w": width},
        "fieldConfig": {"defaults": {"unit": unit, **limits}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "expr": query(text), "legendFormat": legend, "datasource": SOURCE}
            for number, (text, legend) in enumerate(pairs)
        ],
        **({"description": why} if why else {}),
    }


def stat(title, unit, *queries, width=4, **more):
    return panel("stat", 4, title, unit, *queries, width=width, **more)


def plot(title, unit, *queries, width=8, **more):
    return panel("timeseries", 7, title, unit, *queries, width=width, **more)


def by(label, metric, unit="rate", filter="@I"):
    """The sum for each value of a label: a rate, an increase, or (unit "now") the figure itself."""
    text = metric + filter if unit == "now" else f"{unit}({metric}{filter}@R)"
    return f"sum by ({label}) ({text})"


PANELS = [
    row("Overview"),
    stat("Clients", "short", "srs_clients@I"),
    stat("Streams", "short", "srs_streams@I"),
    stat("Sent", "bps", "rate(srs_send_bytes_total@I@R) * 8"),
    stat("Received", "bps", "rate(srs_receive_bytes_total@I@R) * 8"),
    stat("Memory", "bytes", "srs_memory@I * 1024"),
    stat("Version", "short", ("srs_build_info@I", "{{version}}")),
    plot("Clients by type", "short", (by("type", "srs_vhost_clients", "now", "@V"), "{{type}}")),
    plot("Sent, by type of client", "bps", ("sum by (type) (rate(srs_vhost_send_bytes_total@V@R)) * 8", "{{type}}")),
    plot("Processor", "percentunit", "rate(srs_cpu_seconds_total@I@R)", why="One is one processor; the event loop has no more."),
    plot("Streams by vhost", "short", (by("vhost", "srs_vhost_streams", "now", "@V"), "{{vhost}}")),
    plot("Received from publishers", "bps", ("sum by (vhost) (rate(srs_vhost_receive_bytes_total@V@R)) * 8", "{{vhost}}")),
    plot("Connections", "short", ("srs_connections@I", "there are"), ("rate(srs_connections_refused_total@I@R)", "refused a second")),
    row("Errors"),
    plot("Sessions that ended, by reason", "short", (by("reason", "srs_sessions_closed_total"), "{{reason}}"), width=12),
    plot("Clients that ended by an error", "short", ("rate(srs_clients_errs_total@I@R)", "a second"), ("rate(srs_clients_total@I@R)", "all that came, a second"), width=12),
    plot("Stalls of the loop", "short", ("rate(srs_loop_stalls_total@I@R)", "a second"), ("rate(srs_loop_stalled_seconds_total@I@R)", "share of time")),
    plot("Longest stall since the start", "s", "srs_loop_longest_stall_seconds@I"),
    plot("Iterations of the loop", "short", "rate(srs_loop_turns_total@I@R)"),
    plot("Load of the loop", "percentunit", ("srs_loop_busy_ratio@I", "busy, {{instance}}"), most=1),
    plot("Circuit breaker: 1 high, 2 critical, 3 dying", "short", ("srs_load_level@I", "level, {{instance}}"), ("rate(srs_overload_refused_total@I@R)", "players refused a second, {{instance}}")),
    plot("Reloads", "short", (by("result", "srs_reloads_total", "increase"), "{{result}}"), ("srs_reload_last_accepted@I == bool 0", "the last one was refused, {{instance}}"), ("srs_draining@I", "draining, {{instance}}")),
    row("From publisher to socket"),
    plot("Median and 99 of 100", "s", ("histogram_quantile(0.5, sum by (le, protocol) (rate(srs_send_latency_seconds_bucket@I@R)))", "{{protocol}} 50 %"), ("histogram_quantile(0.99, sum by (le, protocol) (rate(srs_send_latency_seconds_bucket@I@R)))", "{{protocol}} 99 %"), width=12, why="It includes mw_latency."),
    plot("Mean", "s", ("sum by (protocol) (rate(srs_send_latency_seconds_sum@I@R)) / sum by (protocol) (rate(srs_send_latency_seconds_count@I@R))", "{{protocol}}"), width=12),
    row("Streams"),
    plot("Viewers, the ten with most", "short", ("topk(10, srs_stream_viewers@V)", STREAM)),
    plot("Bitrate", "bps", ("topk(10, srs_stream_bitrate@V)", STREAM)),
    plot("Frame rate", "short", ("bottomk(10, srs_stream_frame_rate@V)", STREAM), why="The ten with the lowest."),
    plot("Distance between keyframes", "s", ("topk(10, srs_stream_gop_seconds@V)", STREAM)),
    plot("Time since the last keyframe", "s", ("topk(10, srs_stream_keyframe_age_seconds@V)", STREAM)),
    plot("Audio ahead of video", "s", ("srs_stream_audio_ahead_seconds@V", STREAM), below_zero=True),
    plot("Delay of the slowest viewer", "s", ("topk(10, srs_stream_lag_seconds@V)", STREAM)),
    plot("Viewers dropped to a keyframe", "short", ("topk(10, rate(srs_stream_viewer_drops_total@V@R))", STREAM), ("sum(rate(srs_stream_skipped_bytes_total@V@R))", "bytes they missed, a second")),
    plot("Jumps of timestamps", "short", ("topk(10, increase(srs_stream_timestamp_jumps_total@V@R))", STREAM)),
    plot("Frames", "short", (by("kind", "srs_stream_frames_total", "rate", "@V"), "{{kind}}")),
    plot("Published", "bps", ("topk(10, rate(srs_stream_published_bytes_total@V@R) * 8)", STREAM)),
    plot("Streams without metrics of their own", "short", "srs_streams_not_shown@I", why="Raise exporter.stream_limit."),
    row("Disk"),
    plot("Written", "Bps", "rate(srs_disk_written_bytes_total@I@R)"),
    plot("Waiting for the disk", "bytes", ("srs_disk_waiting_bytes@I", "waiting"), ("srs_disk_buffer_bytes@I", "memory of buffers")),
    plot("Files", "short", ("srs_disk_files_open@I", "open"), ("increase(srs_disk_files_failed_total@I@R)", "failed"), ("increase(srs_disk_files_too_slow_total@I@R)", "of them, disk too slow")),
    row("WebRTC"),
    plot("Sessions", "short", ("srs_rtc_sessions@I", "sessions"), ("srs_rtc_half_open@I", "of them not connected yet"), (by("reason", "srs_rtc_half_open_dropped_total", "increase"), "{{reason}}")),
    plot("Offers and connections a second", "short", (by("state", "srs_rtc_sessions_total"), "{{state}}")),
    plot("Datagrams", "pps", (by("direction", "srs_rtc_datagrams_total"), "{{direction}}"), (by("reason", "srs_rtc_datagrams_refused_total"), "refused: {{reason}}")),
    plot("Loss from publishers", "pps", ("rate(srs_rtc_publisher_lost_total@I@R)", "missing"), ("rate(srs_rtc_nacks_total{@i,direction='out'}@R)", "asked for again"), ("rate(srs_rtc_publisher_rtx_total@I@R)", "came by RTX"), ("rate(srs_rtc_publisher_given_up_total@I@R)", "given up")),
    plot("Loss to players", "pps", ("rate(srs_rtc_nacks_total{@i,direction='in'}@R)", "asked for again"), ("rate(srs_rtc_sent_again_total@I@R)", "sent again"), (by("reason", "srs_rtc_nacks_unanswered_total"), "not sent: {{reason}}")),
    plot("Requested keyframes, skips of players", "short", (by("direction", "srs_rtc_keyframe_requests_total"), "{{direction}}"), ("rate(srs_rtc_player_jumps_total@I@R)", "jumps")),
    plot("Conversions", "short", ("srs_rtc_bridges@I", "{{direction}}"), ("srs_rtc_audio_converters@I", "audio converters"), ("increase(srs_rtc_audio_dropped_total@I@R)", "audio dropped")),
    plot("UDP", "pps", (by("direction", "srs_udp_datagrams_total"), "{{direction}}")),
    plot("UDP: full socket buffers", "pps", (by("direction", "srs_udp_lost_total"), "{{direction}}")),
    row("HLS, DASH and players that wait"),
    plot("Viewers of HLS", "short", "srs_hls_viewers@I", (by("limit", "srs_hls_viewers_refused_total", "increase"), "refused: {{limit}}")),
    plot("Players that wait for their stream", "short", "srs_waiting_players@I", (by("limit", "srs_waiting_players_refused_total", "increase"), "refused: {{limit}}")),
    plot("Requests that wait: LL-HLS, long polling", "short", "srs_waiting_requests@I", (by("limit", "srs_waiting_requests_refused_total", "increase"), "refused: {{limit}}")),
    plot("Players of nothing", "short", ("srs_unserved_players@I", "there are"), ("increase(srs_unserved_players_ended_total@I@R)", "ended"), why="Of streams that are not published, and paused ones."),
    plot("Standby publishers", "short", ("srs_standby_publishers@I", "waiting"), (by("reason", "srs_standby_takeovers_total", "increase"), "took over: {{reason}}"), ("increase(srs_standby_refused_total@I@R)", "refused")),
    plot("HTTP/2", "short", ("rate(srs_http2_connections_total@I@R)", "connections a second"), ("rate(srs_http2_requests_total@I@R)", "requests a second"), (by("reason", "srs_http2_ended_total", "increase"), "ended: {{reason}}")),
    row("Edges and origins"),
    plot("Streams pulled", "short", (by("state", "srs_edge_pulls", "now"), "{{state}}"), (by("reason", "srs_edge_requests_refused_total", "increase"), "players refused: {{reason}}")),
    plot("Streams passed up", "short", (by("state", "srs_edge_pushes", "now"), "{{state}}"), (by("answer", "srs_edge_clients_asked_total", "increase"), "clients asked about: {{answer}}")),
    plot("Origins that work", "short", ("srs_edge_origin_up@I", "{{origin}}"), most=1),
    plot("Streams of each origin", "short", ("srs_edge_origin_pulls@I", "from {{origin}}"), ("srs_edge_origin_pushes@I", "to {{origin}}")),
    plot("Connections to origins", "short", ("increase(srs_edge_origin_connections_total@I@R)", "{{origin}}"), ("increase(srs_edge_origin_failures_total@I@R)", "failed: {{origin}}")),
    row("Cluster"),
    plot("Redis", "short", ("srs_cluster_redis_up@I", "answers"), ("rate(srs_cluster_redis_calls_total@I@R)", "calls a second"), ("rate(srs_cluster_redis_failures_total@I@R)", "failures a second")),
    plot("Leases of streams", "short", (by("state", "srs_cluster_leases", "now"), "{{state}}"), (by("outcome", "srs_cluster_publishers_total", "increase"), "publishers {{outcome}}")),
    plot("Look-ups", "short", (by("answer", "srs_cluster_lookups_total"), "{{answer}}"), ("srs_cluster_known_streams@I", "streams known"), ("rate(srs_cluster_redirects_total@I@R)", "players sent on")),
    row("Hooks"),
    plot("Hook servers that answer", "short", ("srs_hook_host_up@I", "{{host}}"), ("srs_hook_host_waiting@I", "reports for {{host}}")),
    plot("Calls", "short", (by("hook", "srs_hook_calls_total"), "{{hook}}"), (by("hook", "srs_hook_failures_total"), "failed: {{hook}}"), (by("hook", "srs_hook_refused_total"), "refused: {{hook}}")),
    plot("Mean duration of a call", "s", ("sum by (hook) (rate(srs_hook_seconds_total@I@R)) / (sum by (hook) (rate(srs_hook_calls_total@I@R)) > 0)", "{{hook}}")),
    plot("Reports that wait", "short", ("srs_hook_reports_waiting@I", "reports"), ("srs_hook_host_oldest_seconds@I", "s, the oldest for {{host}}")),
    plot("Reports given up", "short", (by("reason", "srs_hook_reports_dropped_total", "increase"), "{{reason}}"), ("increase(srs_hook_outbox_unsaved_total@I@R)", "not saved")),
    plot("Memory of the outbox", "bytes", ("srs_hook_outbox_bytes@I", "memory"), ("srs_hook_outbox_file_bytes@I", "file")),
    row("RTSP"),
    plot("RTSP sessions", "short", (by("kind, transport", "srs_rtsp_sessions", "now"), "{{kind}} {{transport}}")),
    plot("Cameras", "short", (by("state", "srs_rtsp_pulls", "now"), "{{state}}"), ("srs_rtsp_pull_attempts@I", "connections tried")),
    plot("RTSP over UDP", "pps", (by("direction", "srs_rtsp_datagrams_total"), "{{direction}}"), (by("direction", "srs_rtsp_datagrams_dropped_total"), "dropped {{direction}}"), (by("reason", "srs_rtsp_datagrams_refused_total"), "refused: {{reason}}"), ("rate(srs_rtsp_player_lost_total@I@R)", "lost by players")),
    row("SRT and MPEG-TS over UDP"),
    plot("SRT sessions", "short", ("srs_srt_sessions@I", "sessions"), ("srs_srt_handshakes@I", "being admitted"), (by("state", "srs_srt_pulls", "now"), "pulls {{state}}"), (by("result", "srs_srt_handshakes_total", "increase"), "handshakes: {{result}}")),
    plot("Publishers by SRT", "pps", (by("result", "srs_srt_publisher_packets_total"), "{{result}}")),
    plot("Players by SRT", "pps", (by("result", "srs_srt_player_packets_total"), "{{result}}")),
    plot("Round-trip time", "s", ("srs_srt_rtt_seconds@I", "{{direction}} {{of}}")),
    plot("Links with losses", "short", ("srs_srt_lossy_links@I", "1 % and more, {{direction}}"), ("srs_srt_links@I", "all, {{direction}}")),
    plot("Senders by UDP, GB28181", "short", ("srs_caster_publishers@I", "publishers"), (by("state", "srs_caster_gb28181_channels", "now"), "GB28181 {{state}}"), ("rate(srs_caster_datagrams_total@I@R)", "datagrams a second"), (by("reason", "srs_caster_datagrams_refused_total", "increase"), "refused: {{reason}}")),
    row("Tools: transcode, ingest, exec"),
    plot("Programs that run", "short", (by("kind", "srs_tools", "now"), "{{kind}}"), ("increase(srs_tools_refused_total@I@R)", "wait for max_tools")),
    plot("Their processors", "percentunit", ("rate(srs_tool_cpu_seconds_total@V@R)", "{{kind}} {{name}}, {{app}}/{{stream}}")),
    plot("Their starts", "short", ("srs_tool_running@V", "run: {{kind}} {{name}}"), ("increase(srs_tool_restarts_total@V@R)", "started again: {{kind}} {{name}}")),
    row("Sender threads"),
    plot("Processor of each", "percentunit", ("rate(srs_sender_busy_seconds_total@I@R)", "thread {{thread}}"), ("rate(srs_sender_stalled_seconds_total@I@R)", "stalled, thread {{thread}}"), ("rate(srs_sender_waited_seconds_total@I@R)", "full socket, thread {{thread}}")),
    plot("Calls and datagrams", "short", ("rate(srs_sender_calls_total@I@R)", "calls, thread {{thread}}"), ("rate(srs_sender_datagrams_total@I@R)", "datagrams, thread {{thread}}"), ("rate(srs_sender_datagrams_lost_total@I@R)", "lost, thread {{thread}}")),
    plot("Lent by the loop", "short", (by("kind", "srs_sender_lent_total"), "{{kind}}"), (by("kind", "srs_sender_full_total"), "no room: {{kind}}"), ("rate(srs_sender_awaited_total@I@R)", "awaited"), ("rate(srs_sender_revoked_total@I@R)", "taken back")),
    row("Memory, log, certificates"),
    plot("Memory of streams", "bytes", ("srs_stream_memory_all_bytes@I", "all"), ("srs_stream_memory_all_limit_bytes@I", "limit"), ("srs_unfinished_input_bytes@I", "unfinished input")),
    plot("Memory of streams, the ten with most", "bytes", ("topk(10, sum by (app, stream) (srs_stream_memory_bytes@V))", STREAM)),
    plot("Input and log that was dropped", "short", (by("reason", "srs_unfinished_input_dropped_total", "increase"), "input: {{reason}}"), ("increase(srs_log_lost_lines_total@I@R)", "lines of the log"), (by("file", "srs_records_dropped_total", "increase"), "{{file}}")),
    plot("Records written", "short", (by("file", "srs_records_written_total"), "{{file}}, lines a second"), ("srs_usage_rows@I", "rows of usage"), ("increase(srs_usage_overflows_total@I@R)", "changes without a row")),
    plot("Certificates: time left", "s", ("srs_tls_certificate_not_after_timestamp_seconds@I - time()", "{{listener}}")),
    plot("The process stood still", "s", ("increase(srs_process_paused_seconds_total@I@R)", "{{instance}}")),
    row("Checks of connections"),
    plot("Bytes of checks", "Bps", (by("direction", "srs_bandwidth_check_bytes_total"), "{{direction}}")),
    plot("Checks", "short", ("srs_bandwidth_checks@I", "under way"), ("increase(srs_bandwidth_checks_total@I@R)", "begun"), (by("limit", "srs_bandwidth_checks_refused_total", "increase"), "refused: {{limit}}")),
]


def variable(name, label, definition):
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": definition, "refId": name},
        "definition": definition,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
        "refresh": 2,
        "sort": 1,
    }


def laid_out(panels):
    """With ids and places: from the left to the right, a row of its own line."""
    x = y = height = 0
    for number, one in enumerate(panels, 1):
        size = one["gridPos"]
        if x + size["w"] > LINE or one["type"] == "row" or height not in (0, size["h"]):
            x, y, height = 0, y + height, 0
        one["id"] = number
        one["gridPos"] = {**size, "x": x, "y": y}
        x, height = x + size["w"], size["h"]
    return panels


def main():
    dashboard = {
        "title": "Live media server",
        "uid": "live-media-server",
        "tags": ["srs", "live"],
        "schemaVersion": 38,
        "version": 1,
        "editable": True,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}},
                variable("instance", "Server", "label_values(srs_build_info, instance)"),
                variable("vhost", "Vhost", "label_values(srs_vhost_streams, vhost)"),
            ]
        },
        "panels": laid_out(PANELS),
    }
    path, text = HERE / "dashboard.json", json.dumps(dashboard, indent=1) + "\n"
    if "--check" not in sys.argv[1:]:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit("research/grafana/dashboard.json is not that of make_dashboard.py: run it")


if __name__ == "__main__":
    main()
