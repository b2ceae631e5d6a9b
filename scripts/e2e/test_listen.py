"""What is listened on: IPv6 beside IPv4, and what cannot be bound."""

import socket
import subprocess

import pytest

from lib import media, publishing, rtmp
from lib.server import BINARY
from lib.timing import scaled, wait_until


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def first_bytes(host, port, path):
    with socket.create_connection((host, port), timeout=scaled(10)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: h.example\r\n\r\n".encode())
        return client.recv(100)


def check(server, text):
    server.conf_path.write_text(text)
    return subprocess.run([str(BINARY), "-t", "-c", server.conf_path], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("listen", ["PORT [::]:PORT", "[::]:PORT PORT", "0.0.0.0:PORT [::]:PORT", "PORT", "[::]:PORT"])
def test_ipv4_and_ipv6_reach_it(servers, listen):
    if not has_ipv6():
        pytest.skip("this machine has no ::1")
    server = servers.make()
    here = f"listen 127.0.0.1:{server.rtmp_port};"
    text = server.conf.replace(here, f"listen {listen};".replace("PORT", str(server.rtmp_port)))
    web = f"listen 127.0.0.1:{server.http_port};"
    text = text.replace(web, f"listen {listen};".replace("PORT", str(server.http_port)))
    assert check(server, text).returncode == 0, check(server, text).stderr
    server.start()
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        for host in ("127.0.0.1", "::1"):
            got = first_bytes(host, server.http_port, "/live/one.flv")
            assert got.startswith(b"HTTP/1.1 200 "), f"by {host}: {got}"


@pytest.mark.parametrize(
    "listen, why",
    [
        ("1935 127.0.0.1:1935", "is already used by rtmp/listen 1935"),
        ("[::]:1935 [::1]:1935", "is already used by rtmp/listen [::]:1935"),
        ("localhost:1935", "has no address in numbers"),
        ("192.0.2.77:1935", "binding to 192.0.2.77:1935"),
        ("[2001:db8::77]:1935", "binding to [2001:db8::77]:1935"),
    ],
)
def test_what_cannot_be_bound_does_not_pass_the_check(servers, listen, why):
    done = check(servers.make(), f"listen {listen};\nvhost __defaultVhost__ {{ }}\n")
    assert done.returncode == 1 and why in done.stderr and ":1" in done.stderr, done.stderr


def test_the_check_passes_beside_the_server_that_runs(servers):
    server = servers()
    done = check(server, server.conf)
    assert done.returncode == 0, f"its ports are its own: {done.stderr}"
    wait_until(server.alive, 1, "it runs on")
