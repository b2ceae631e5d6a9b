"""A small proxy that does with its backends what the proxy of SRS 8 does: it takes their registrations, picks one for each
stream and stays with it, and passes RTMP, HTTP-FLV, HLS and WebRTC through. Its strictness towards backends is that of the
real one; an error of a backend is a ProxyError.

Where the real one picks a backend at random, this one takes them in turn, so that a test knows that each has a stream."""

import gzip
import http.client
import re
import socket
import struct
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import ports
from .srs_proxy_picks import Picks, ProxyError, port_of, stream_of
from .srs_proxy_rtmp import RtmpSide
from .web import Web

# ---- UDP of WebRTC


def stun_username(data):
    """The USERNAME of a STUN message (RFC 8489, 14.3); None for anything else."""
    if len(data) < 20 or data[0] > 1:
        return None
    at = 20
    while at + 4 <= len(data):
        kind, size = struct.unpack_from(">HH", data, at)
        if kind == 6:
            return data[at + 4 : at + 4 + size].decode()
        at += 4 + (size + 3) // 4 * 4
    return None


class UdpSide:
    """The proxy's UDP port. Sessions are found by the ICE user names of the two descriptions, then by the client's address."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", port))
        self.sessions, self.addresses = {}, {}

    def add(self, offer, answer, backend):
        names = [re.search(r"a=ice-ufrag:(\S+)", text) for text in (answer, offer)]
        if not all(names):
            raise ProxyError(f"no ice-ufrag in {answer}")
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.connect((backend["ip"], port_of(backend, "rtc")))
        session = {"socket": made, "client": None}
        self.sessions[":".join(name[1] for name in names)] = session
        threading.Thread(target=self.back, args=(session,), daemon=True).start()

    def back(self, session):
        try:
            while data := session["socket"].recv(4096):
                self.socket.sendto(data, session["client"])
        except OSError:
            pass  # closed

    def run(self):
        try:
            while True:
                data, address = self.socket.recvfrom(4096)
                session = self.sessions.get(stun_username(data)) or self.addresses.get(address)
                if session:
                    self.addresses[address] = session
                    session["client"] = address
                    try:
                        session["socket"].send(data)
                    except ConnectionError:
                        pass  # an ICMP error of an earlier datagram
        except OSError:
            pass  # closed

    def close(self):
        for one in (self.socket, *(session["socket"] for session in self.sessions.values())):
            one.close()


# ---- HTTP


class HttpHandler(BaseHTTPRequestHandler):
    """Of the ports for streams and for the API. A backend is asked as Go's client does: its own Host, gzip accepted."""

    protocol_version = "HTTP/1.1"
    proxy = None  # set by SrsProxy

    def log_message(self, *_):
        pass

    def handle_any(self):
        try:
            path = urllib.parse.urlsplit(self.path).path
            if path.startswith("/rtc/v1/"):
                self.webrtc()
            elif path.endswith(".m3u8"):
                self.playlist()
            elif path.endswith((".flv", ".ts")):
                self.media()
            else:
                self.reply(404, b"")
        except ProxyError as error:
            self.proxy.errors.append(str(error))
            self.reply(500, str(error).encode())
        except OSError:
            self.close_connection = True  # one of the two has left

    do_GET = do_POST = do_DELETE = handle_any

    def reply(self, status, body, **headers):
        self.send_response(status)
        for name, value in {"Access-Control-Allow-Origin": "*", "Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def query(self):
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))

    def stream(self):
        """By the parameters app and stream, or by the path without its extension."""
        query, path = self.query(), urllib.parse.urlsplit(self.path).path
        named = "".join(f"/{query[name]}" for name in ("app", "stream") if query.get(name))
        return stream_of(f"http://{self.headers['Host']}{named or path.rpartition('.')[0]}")

    def ask(self, backend, kind, path, body=None, good=(200,)):
        client = http.client.HTTPConnection(backend["ip"], port_of(backend, kind), timeout=30)
        client.request(self.command, path, body, {"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"})
        answer = client.getresponse()
        if answer.status not in good:
            raise ProxyError(f"{self.command} {path}: status {answer.status}: {answer.read(200)}")
        return answer

    def whole(self, answer):
        body = answer.read()
        return gzip.decompress(body) if answer.getheader("Content-Encoding") == "gzip" else body

    def playlist(self):
        stream = self.stream()
        hls_id = self.proxy.hls.setdefault(stream, f"id{len(self.proxy.hls)}")
        text = self.whole(self.ask(self.proxy.picks.pick(stream), "http", self.path)).decode()
        if ".ts?" in text:
            text = text.replace(".ts?", f".ts?spbhid={hls_id}&&")
        else:
            text = text.replace(".ts", f".ts?spbhid={hls_id}")
        self.reply(200, text.encode())

    def media(self):
        hls_id = self.query().get("spbhid")
        stream = next((one for one, known in self.proxy.hls.items() if known == hls_id), None) if hls_id else self.stream()
        if stream is None:
            raise ProxyError(f"load stream by spbhid {hls_id}")
        # A live stream is asked for without the parameters of the client's URL.
        path = self.path if hls_id else urllib.parse.urlsplit(self.path).path
        answer = self.ask(self.proxy.picks.pick(stream), "http", path)
        if hls_id:
            self.reply(200, self.whole(answer))
            return
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while data := answer.read1(1 << 16):
            self.wfile.write(data)

    def webrtc(self):
        offer = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        backend = self.proxy.picks.pick(self.stream())
        answer = self.ask(backend, "api", self.path, offer, (200, 201))
        text = self.whole(answer).decode()
        if self.command == "DELETE":
            self.reply(answer.status, text.encode())
            return
        from_port, to_port = (f" {port} typ host" for port in (port_of(backend, "rtc"), self.proxy.rtc_port))
        if from_port not in text:
            raise ProxyError(f"no candidate with {from_port!r} in {text}")
        text = text.replace(from_port, to_port)
        self.proxy.udp.add(offer.decode(), text, backend)
        self.reply(answer.status, text.encode(), Location=answer.getheader("Location"), Content_Type="application/sdp")


class Quiet(ThreadingHTTPServer):
    daemon_threads, block_on_close = True, False


class SrsProxy:
    """A context manager. errors: what backends got wrong. register_url: for their heartbeat."""

    def __init__(self):
        self.picks, self.hls, self.errors = Picks(), {}, []
        self.taken = ports.take(4)
        self.rtmp_port, self.http_port, self.api_port, self.rtc_port = self.taken
        self.system = Web(self.picks.register)
        self.register_url = self.system.url("/api/v1/srs/register")

    def __enter__(self):
        self.system.start()
        handler = type("Handler", (HttpHandler,), {"proxy": self})
        self.servers = [Quiet(("127.0.0.1", port), handler) for port in (self.http_port, self.api_port)]
        self.udp = UdpSide(self.rtc_port)
        self.listener = socket.create_server(("127.0.0.1", self.rtmp_port))
        self.sides = []
        for target in (*(server.serve_forever for server in self.servers), self.udp.run, self.accept):
            threading.Thread(target=target, daemon=True).start()
        return self

    def url(self, protocol, name):
        """For "whip" or "whep" of live/NAME."""
        return f"http://127.0.0.1:{self.api_port}/rtc/v1/{protocol}/?app=live&stream={name}"

    def accept(self):
        try:
            while True:
                side = RtmpSide(self.listener.accept()[0], self.picks)
                self.sides.append(side)
                threading.Thread(target=self.serve, args=(side,), daemon=True).start()
        except OSError:
            pass  # closed

    def serve(self, side):
        try:
            side.run()
        except (ProxyError, TimeoutError, ValueError) as error:
            self.errors.append(f"RTMP: {error}")
        except OSError:
            pass  # one of the two has left
        finally:
            side.close()

    def __exit__(self, *_):
        # A thread that is within accept() or recvfrom() is woken by shutdown() alone.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for server in self.servers:
            server.shutdown()
            server.server_close()
        for side in self.sides:
            side.close()
        self.udp.close()
        self.system.stop()
        ports.release(self.taken)
