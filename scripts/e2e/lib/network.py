"""A network of a test's own, for programs that want more than loopback: a namespace with an interface and a default route,
which lead nowhere."""

import contextlib
import ctypes
import os
import subprocess

ADDRESS = "10.99.0.1"
_NEW = 0x40000000  # CLONE_NEWNET
_SETUP = f"""ip link set lo up && ip link add own type veth peer name other && ip address add {ADDRESS}/24 dev own &&
ip link set own up && ip link set other up && ip route add default via 10.99.0.2"""


def _call(function, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments):
        raise OSError(ctypes.get_errno(), function)


@contextlib.contextmanager
def own():
    """This thread, and what it starts, is in it meanwhile. Only root may make one: for others there is none, None is told."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        try:
            _call("unshare", _NEW)
        except PermissionError:
            yield None
            return
        try:
            subprocess.run(_SETUP, shell=True, check=True)
            yield ADDRESS
        finally:
            _call("setns", before, _NEW)
    finally:
        os.close(before)


def add_interface(name, address):
    """Another one, in the namespace of this thread."""
    words = f"""ip link add {name} type veth peer name {name}-far && ip address add {address}/24 dev {name} &&
ip link set {name} up && ip link set {name}-far up"""
    subprocess.run(words, shell=True, check=True)


def remove_address(name, address):
    """As where its network is gone."""
    subprocess.run(["ip", "address", "del", f"{address}/24", "dev", name], check=True)
