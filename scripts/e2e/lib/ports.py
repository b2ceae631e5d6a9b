"""Ports for servers under test. A lock file per port keeps test workers, and test runs side by side, off each other's
ports between the moment a port is chosen and the moment its server listens."""

import fcntl
import os
import random
import socket
import tempfile

# Below the range that the kernel gives to clients.
BEGIN, END = 12_000, 32_000

_held = {}


def _reserve(port):
    path = os.path.join(tempfile.gettempdir(), f"e2e-port-{port}.lock")
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    except PermissionError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(type=kind) as probe:
                if kind == socket.SOCK_STREAM:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
    except OSError:
        os.close(handle)
        return False
    _held[port] = handle
    return True


def take(count=1):
    """Ports that are free, of TCP and of UDP. Held until release()."""
    ports = []
    for _ in range(2000):
        port = random.randrange(BEGIN, END)
        if port not in _held and _reserve(port):
            ports.append(port)
            if len(ports) == count:
                return ports
    raise RuntimeError(f"no {count} free ports")


def release(ports):
    for port in ports:
        os.close(_held.pop(port))
