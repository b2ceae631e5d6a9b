"""asprocess: the server ends with the process that started it."""

import os
import signal
import subprocess
import sys
import time

from lib.server import run_once
from lib.timing import wait_until

# A parent that starts the server, says its number, and waits to be killed.
PARENT = "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:]); print(p.pid, flush=True); time.sleep(600)"


def start_child(server):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *server.command()],
        cwd=server.dir,
        env=server.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    child = int(parent.stdout.readline())
    server.wait_listening()
    return parent, child


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_ends_with_its_parent(servers):
    server = servers.make(top="asprocess on;")
    server.process = None
    parent, child = start_child(server)
    try:
        time.sleep(1)
        assert is_there(child), "it should run while its parent does"
        parent.kill()
        parent.wait()
        wait_until(lambda: not is_there(child), 10, "it ends soon after its parent")
        server.wait_log("the parent process")
        server.wait_log("the server has ended")
    finally:
        parent.kill()
        if is_there(child):
            os.kill(child, signal.SIGKILL)


def test_otherwise_it_goes_on(servers):
    server = servers.make()
    parent, child = start_child(server)
    try:
        parent.kill()
        parent.wait()
        time.sleep(1.5)
        assert is_there(child), "without asprocess it should go on"
    finally:
        os.kill(child, signal.SIGTERM)
        wait_until(lambda: not is_there(child), 10, "it ends on TERM")


def test_not_with_daemon(servers):
    server = servers.make(top="asprocess on;\ndaemon on;")
    code, output = run_once("-t", "-c", str(server.conf_path), directory=server.dir)
    assert code != 0 and "asprocess wants `daemon off;`" in output, output
