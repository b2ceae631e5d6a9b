"""A hook server for tests: what it was asked, and answers of any kind, good and bad, plain and over TLS."""

import collections
import hashlib
import hmac
import json
import select
import socket
import ssl
import threading
import time

from .timing import wait_until

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n" + b'{"code":0}'

Call = collections.namedtuple("Call", "method target headers body time")


def answer(body, status="200 OK", **headers):
    body = body if isinstance(body, bytes) else body.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class HookServer:
    """answers: path to bytes, or to a function of (server, socket, call) that does what it likes; else OK."""

    def __init__(self, certificate=None, port=0, **answers):
        self.answers = {f"/{name}": value for name, value in answers.items()}
        self.calls = []
        self.connections = 0
        self.peers = set()
        self.most_open = 0  # at once, as far as who asks has not closed them
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.tls = None
        if certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate[1], certificate[0])
        self.listener = socket.create_server(("127.0.0.1", port), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.closing.set()
        # A close alone would leave accept() where it is.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def url(self, path="hook", host="127.0.0.1"):
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}/{path}"

    def _accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        with self.lock:
            self.connections += 1
            self.peers.add(peer)
            # On a busy machine a thread may be late to see that its peer has gone: here they are asked.
            self.most_open = max(self.most_open, sum(map(_is_established, self.peers)))
        own = peer
        try:
            peer.settimeout(60)
            if self.tls:
                peer = self.tls.wrap_socket(peer, server_side=True)
            self._requests(peer)
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.peers.discard(own)
            peer.close()

    def _requests(self, peer):
        data = b""
        while not self.closing.is_set():
            while b"\r\n\r\n" not in data:
                more = peer.recv(65536)
                if not more:
                    return
                data += more
            head, _, data = data.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:]}
            size = int(headers.get("content-length", "0"))
            while len(data) < size:
                more = peer.recv(65536)
                if not more:
                    return
                data += more
            body, data = data[:size], data[size:]
            method, target, _ = lines[0].split(" ")
            call = Call(method, target, headers, body, time.monotonic())
            with self.lock:
                self.calls.append(call)
            how = self.answers.get(target.partition("?")[0], OK)
            if callable(how):
                how = how(self, peer, call)
            if how is None:
                return
            peer.sendall(how)

    @property
    def open(self):
        """Connections that are not at their end here."""
        with self.lock:
            return len(self.peers)

    # --- what was asked

    def bodies(self, action=None, **fields):
        """The JSON of each call so far, of that action and with these fields."""
        with self.lock:
            found = [json.loads(call.body) for call in self.calls if call.body]
        return [
            body
            for body in found
            if (action is None or body["action"] == action) and all(body.get(k) == v for k, v in fields.items())
        ]

    def actions(self):
        return [body["action"] for body in self.bodies()]

    def wait(self, action, count=1, seconds=10, **fields):
        """That many calls of the action; their bodies."""
        return wait_until(
            lambda: len(self.bodies(action, **fields)) >= count and self.bodies(action, **fields),
            seconds,
            lambda: f"{count} calls of {action} {fields}; these came: {self.bodies()}",
        )


def _is_established(peer):
    """Neither side has closed it (tcp_info's state). TLS takes the descriptor of its socket away: that is not asked."""
    return peer.fileno() < 0 or peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1


# --- answers that are none


def slow(seconds):
    def wait(server, peer, call):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not server.closing.is_set():
            if select.select([peer], [], [], 0.05)[0]:
                return None  # who asked has gone
        return OK

    return wait


def cut(server, peer, call):
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"co")


def huge(server, peer, call):
    """10 MB, as far as they are taken."""
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n")
    for _ in range(160):
        peer.sendall(b"0" * 65536)


def garbage(server, peer, call):
    peer.sendall(b"\x00\xff\x15 this is not HTTP\r\n\r\n")


# --- configuration


def vhost(more="", hls="", dvr="", publish="", **hooks):
    """__defaultVhost__ with http_hooks; a directive of it per keyword."""
    lines = "\n".join(f"        {name} {value};" for name, value in hooks.items())
    return f"""
vhost __defaultVhost__ {{
    http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
    play {{ rejoin_timeout 300; }}
    publish {{ {publish} }}
    {hls}
    {dvr}
    {more}
    http_hooks {{
        enabled on;
{lines}
    }}
}}
"""


def verify(secret, header, body):
    """Whether X-SRS-Signature fits the body: as doc/hooks.md has it."""
    fields = dict(part.split("=", 1) for part in header.split(","))
    expected = hmac.new(secret.encode(), fields["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, fields["v1"]) and abs(time.time() - int(fields["t"])) < 300
