"""Servers with RTSP, and how tests of it reach them: by UDP, and by a tunnel through HTTP."""

import base64
import socket

from . import rtsp
from .server import default_vhost

CONF = "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; %s }"
API = "http_api { enabled on; listen 127.0.0.1:API_PORT; }"
UDP = "udp { enabled on; listen 127.0.0.1:UDP_PORT; }"


def make(servers, rtsp_server="", vhost="", rtsp_vhost="", top="", play="mw_latency 0;", **options):
    return servers(
        top=CONF % rtsp_server + top,
        vhosts=default_vhost(vhost=f"rtsp {{ enabled on; {rtsp_vhost} }} {vhost}", play=play),
        **options,
    )


def port_pair():
    """An even port and the next one, both free for UDP."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port, port + 1


class Tunnel(rtsp.Client):
    """Requests go base64-encoded on a second connection, cut into pieces."""

    def __init__(self, server, cookie="a-cookie"):
        super().__init__(server.rtc_port)
        head = "{} /live/s HTTP/1.0\r\nx-sessioncookie: {}\r\nContent-Length: 32767\r\n\r\n"
        self.socket.sendall(head.format("GET", cookie).encode())
        while b"\r\n\r\n" not in self.data:
            self._fill()
        self.head, _, self.data = self.data.partition(b"\r\n\r\n")
        self.post = rtsp.Client(server.rtc_port)
        self.post.socket.sendall(head.format("POST", cookie).encode())

    def send(self, data):
        text = base64.b64encode(data)
        for at in range(0, len(text), 7):
            self.post.socket.sendall(text[at : at + 7])

    def close(self):
        super().close()
        self.post.close()
