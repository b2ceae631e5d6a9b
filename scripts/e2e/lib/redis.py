"""Redis, Debian's, on a port of its own and without a file: what servers of a cluster share."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

from . import ports
from .server import can_connect
from .timing import wait_until


class Redis:
    def __init__(self, directory, password=None):
        assert shutil.which("redis-server"), "redis-server should be installed"
        self.dir = Path(directory) / "redis"
        self.dir.mkdir()
        self.password = password
        (self.port,) = ports.take()
        self.process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        ports.release([self.port])

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        words = ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.dir]
        words += ["--requirepass", self.password] if self.password else []
        output = self.dir / "output.txt"
        with output.open("ab") as file:
            self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        wait_until(lambda: can_connect(self.port), 10, lambda: f"redis-server listens\n{output.read_text()}")

    def stop(self):
        """At once, as in a crash: nothing is kept."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.process = None

    def freeze(self):
        """It accepts connections, as the kernel does for it, and answers nothing."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def ask(self, *words):
        """The answer's lines."""
        password = ["-a", self.password, "--no-auth-warning"] if self.password else []
        command = ["redis-cli", "-p", str(self.port), *password, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.splitlines()

    def keys(self):
        return sorted(line for line in self.ask("KEYS", "*") if line)


class Line:
    """A way to a port that can be cut: connections stay, and nothing passes, as where packets are dropped."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.open = threading.Event()
        self.open.set()
        self.ended = False
        self.sockets = [self.listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True
        self.open.set()
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self):
        self.open.clear()

    def join(self):
        self.open.set()

    def _accept(self):
        while not self.ended:
            with contextlib.suppress(OSError):
                here = self.listener.accept()[0]
                there = socket.create_connection(("127.0.0.1", self.target))
                self.sockets += [here, there]
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.open.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
