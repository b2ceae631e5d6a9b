"""The API of a server with many streams and clients, and the built pages with their headers: for what the console
does with more than a test can publish. The lists have the parameters of the real ones."""

import http.server
import json
import struct
import threading
import time
import zlib
from urllib.parse import parse_qs, urlsplit

from .server import OBJS

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; media-src 'self' blob:; "
    "connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
PROFILE = """\
main;st::run;rtmp::serve;rtmp::ChunkReader::read 40
main;st::run;rtmp::serve;live::Hub::publish;live::Ring::push 25
main;st::run;live::pump;net::Socket::writev;__libc_writev 210
main;st::run;live::pump;live::Fanout::next 60
main;st::run;http::serve;api::streams;json::write 35
main;st::run;rtc::Session::send;srtp::protect;AES_encrypt 90
main;st::poll;epoll_wait 30
"""


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# A ramp of colours, 16 by 9.
PICTURE = (
    b"\x89PNG\r\n\x1a\n"
    + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 9, 8, 2, 0, 0, 0))
    + png_chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(v for x in range(16) for v in (x * 16, 120, y * 24)) for y in range(9))))
    + png_chunk(b"IEND", b"")
)

FINE = {"level": "fine", "code": "", "text": "", "advice": "", "figure": None, "unit": ""}
# Of streams that are not fine, by their number.
SICK = {
    207: {"level": "sick", "code": "keyframe_age", "text": "since the last keyframe", "advice": "new players wait, or begin far in the past: let the encoder send a keyframe every 2 s", "figure": 34.2, "unit": "s"},
    113: {"level": "notice", "code": "frame_rate", "text": "the longest step between two frames of the last 10 s is 900 ms", "advice": "frames are missing: the encoder drops frames, or its source has gaps", "figure": 17.4, "unit": "fps"},
}  # fmt: skip
LEVELS = ["fine", "notice", "sick"]


def stream(i):
    return {
        "id": f"vid-{i:05}", "name": f"cam{i:05}", "vhost": "vid-0", "app": "live", "url": f"/live/cam{i:05}", "clients": 6,
        "frames": 25 * i, "send_bytes": 10**6 * i, "recv_bytes": 10**5 * i, "kbps": {"recv_30s": 1000 + i, "send_30s": 5000 + i},
        "publish": {"active": True, "cid": "x"}, "video": {"codec": "H264", "profile": "High", "width": 1280, "height": 720},
        "audio": {"codec": "AAC", "sample_rate": 48000, "profile": "LC"}, "memory": {"total": 10**6, "limit": 10**8, "gop": 10**5},
        "verdict": SICK.get(i, FINE),
    }  # fmt: skip


# What WebRTC's players tell of their links; the later, the worse.
LINKS = [
    {"sent": "all", "estimate_kbps": 0, "lost_percent": 0.4, "rtt_ms": 23},
    {"sent": "layer", "layer": "h", "estimate_kbps": 900, "lost_percent": 0, "rtt_ms": 35},
    {"sent": "heads", "estimate_kbps": 640, "lost_percent": 2.7, "rtt_ms": 180},
    {"sent": "audio", "estimate_kbps": 90, "lost_percent": 12, "rtt_ms": None},
]


ENDED = {"reason": "peer-closed", "text": "the peer closed the connection", "started_ms": 1_700_000_000_000, "ended_ms": 1_700_000_060_000}


def client(i):
    rtc = {"rtc": LINKS[i // 10 % 4]} if i % 10 == 4 else {}
    return {
        "id": f"c{i:07}", "vhost": "vid-0", "stream": f"vid-{i % 2000:05}", "ip": f"192.0.2.{i % 250}", "pageUrl": "",
        "url": f"/live/cam{i % 2000:05}", "name": f"cam{i % 2000:05}", "type": "rtc-play" if rtc else "flv-play", "publish": False, "alive": 10000 - i,
        "send_bytes": 10**6, "recv_bytes": 300, "kbps": {"recv_30s": 0, "send_30s": i}, **rtc,
    }  # fmt: skip


def overview(began):
    now = time.time() - began
    return {
        "now_ms": int(time.time() * 1000), "uptime_ms": int(now * 1000), "version": "0.0.0",
        "process": {"cpu_percent": 0.4, "memory_bytes": 3 * 10**8},
        "machine": {"cpu_percent": 0.3, "processors": 8, "memory_bytes": 32 * 10**9, "memory_used_bytes": 9 * 10**9, "load_1m": 2.5},
        "traffic": {"recv_bytes": int(now * 10**8), "send_bytes": int(now * 10**9)},
        "connections": {"now": 12000, "limit": 20000}, "streams": {"total": 2000, "published": 2000},
        "verdicts": {"fine": 2000, "notice": 0, "sick": 0},
        "publishers": {"rtmp": 2000}, "players": {"flv": 6000, "rtmp": 2500, "webrtc": 1500}, "longest_stall_ms": 3,
        "ends": {"peer-closed": 4900, "too-slow": 12}, "client_ends": {"peer-closed": 900, "too-slow": 12}, "access": {"reads": True, "changes": True, "debug": True},
    }  # fmt: skip


def history(query):
    """Of the server or of a stream: every figure grows, and there is a gap at a quarter."""
    step = int(query.get("step", ["1"])[0])
    since = query.get("from", ["-600s"])[0]
    now = int(time.time())
    begin = now - int(since[1:-1]) if since.startswith("-") else int(since) // 1000
    points = max(0, (now - begin) // step)
    present = [not points // 4 <= i < points // 4 + 3 or points < 20 for i in range(points)]
    of_server = {"cpu": 0.01, "machine_cpu": 0.02, "memory_bytes": 10**6, "stall_ms": 1}
    of_stream = {"fps": 0.1, "drops": 1, "silent_s": 0, "lag_ms": 10}
    factors = {"recv_kbps": 10, "send_kbps": 100, "players_rtmp": 3, "players_webrtc": 2}
    factors |= of_stream if "stream" in query else of_server
    figures = {name: [factor * i if there else None for i, there in enumerate(present)] for name, factor in factors.items()}
    return {"stream": None, "from_ms": begin * 1000, "step_ms": step * 1000, "points": points, "next_ms": None, "present": present,
            "figures": figures}  # fmt: skip


class ConsoleApi:
    """Listens from the beginning to close(). prefix: the path below which all is served, as behind a proxy. url: of the
    console. asked: the paths of the API that were requested. is_sick: two of the streams need attention."""

    def __init__(self, streams=2000, clients=10000, prefix="", is_sick=False):
        self.is_sick = is_sick
        self.lists = {
            "streams": [stream(i) | ({} if is_sick else {"verdict": FINE}) for i in range(streams)],
            "clients": [client(i) for i in range(clients)],
        }
        self.prefix = prefix
        self.asked = []
        self.began = time.time()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{prefix}/console/"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        url = urlsplit(request.path)
        path = url.path.removeprefix(self.prefix) if url.path.startswith(f"{self.prefix}/") else "/not-below-the-prefix"
        if path.startswith("/api/v1/"):
            self.asked.append(request.path)
            kind, body = self.body(path.removeprefix("/api/v1/"), parse_qs(url.query))
        else:
            name = path.strip("/") + ("/index.html" if path.endswith("/") else "")
            file = OBJS / "nginx/pages" / name
            kind, body = (TYPES[name.rsplit(".")[-1]], file.read_bytes()) if file.is_file() else (None, b"")
        request.send_response(200 if kind else 404)
        request.send_header("Content-Type", kind or "text/plain")
        request.send_header("Content-Length", str(len(body)))
        request.send_header("Content-Security-Policy", POLICY)
        request.end_headers()
        request.wfile.write(body)

    def verdicts(self):
        """None needs attention unless the test says so: the overview would ask for streams, too."""
        levels = [one["verdict"]["level"] for one in self.lists["streams"]] if self.is_sick else []
        return {level: levels.count(level) for level in LEVELS}

    def body(self, name, query):
        if name == "debug/profile":
            return "text/plain", PROFILE.encode()
        answer = {"code": 0, "server": "s", "service": "v", "pid": "1"}
        if name.endswith("/snapshot.jpg"):
            return "image/png", PICTURE
        if name == "overview":
            answer["overview"] = overview(self.began) | {"verdicts": self.verdicts()}
        elif name == "history":
            answer |= history(query)
        elif name in self.lists:
            search, sort = (query.get(word, [""])[0].lower() for word in ("search", "sort"))
            ended = ENDED if "closed" in query else {}
            rows = [one | ended for one in self.lists[name] if search in f"{one['id']} {one['url']} {one.get('ip', '')}".lower()]
            if level := query.get("verdict"):
                rows = [one for one in rows if one["verdict"]["level"] == level[0]]
            if sort == "-verdict":
                rows.sort(key=lambda one: -LEVELS.index(one["verdict"]["level"]))
            elif column := sort.lstrip("-"):
                kbps = column.replace("_kbps", "_30s")
                rows.sort(key=lambda one: one["kbps"].get(kbps, one.get(column)), reverse=sort[0] == "-")
            start, count = (int(query.get(word, [default])[0]) for word, default in (("start", 0), ("count", 10)))
            answer |= {name: rows[start : start + count], "total": len(rows)}
        elif name.startswith("streams/"):
            _, own, *what = name.split("/")
            one = next(one for one in self.lists["streams"] if one["id"] == own)
            answer |= {"stream": {**one, "vhost": "v"}, "verdict": "ok", "checks": []} if what != ["recording"] else {"recording": None}
        elif name == "incidents":
            answer |= {"incidents": [], "total": 0}
        return "application/json", json.dumps(answer).encode()
