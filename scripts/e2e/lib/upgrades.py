"""A server that is upgraded (SIGUSR2): its processes, one after the other."""

import contextlib
import ctypes
import os
import signal
import socket

from .timing import wait_until

PR_SET_CHILD_SUBREAPER = 36


class Upgrades:
    """Of a server that runs: the process that is its main one now, and those that it has replaced. All have ended, and
    well, when this is left."""

    def __init__(self, server):
        adopt_orphans(True)
        self.server = server
        self.pids = [server.pid]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The daemons of other tests are not this process's to wait for.
        adopt_orphans(False)
        problems = []
        for pid in self.pids[:0:-1]:
            if not alive(pid):
                continue
            os.kill(pid, signal.SIGTERM)
            try:
                wait_until(lambda pid=pid: not alive(pid), 10, f"the end of process {pid} after TERM")
            except AssertionError as error:
                problems.append(str(error))
                os.kill(pid, signal.SIGKILL)
        assert not problems, "\n".join(problems)

    @property
    def pid(self):
        return self.pids[-1]

    def written_pid(self):
        text = self.server.pid_path.read_text() if self.server.pid_path.exists() else ""
        return int(text) if text.strip() else 0

    def ask(self, pid=None):
        os.kill(pid or self.pid, signal.SIGUSR2)

    def upgrade(self, seconds=15):
        """Returns when the new process serves."""
        mark = self.server.log_mark()
        self.ask()
        wait_until(
            lambda: self.written_pid() not in (0, self.pid) or self.server.log_count("cannot replace", mark),
            seconds,
            lambda: f"another process writes {self.server.pid_path}: {self.server.log()[-3000:]}",
        )
        assert self.written_pid() not in (0, self.pid), f"the upgrade failed\n{self.server.log()[-3000:]}"
        self.pids.append(self.written_pid())
        self.server.wait_log(r"upgrade: this process serves from now on", since=mark)
        return self.pid

    def wait_end(self, pid, seconds=10):
        """Until that process has ended by itself."""
        wait_until(lambda: not alive(pid), seconds, lambda: f"the end of process {pid}: {self.server.log()[-3000:]}")


def adopt_orphans(on):
    """Whether a process whose parent has ended becomes a child of this one, so that its exit code is known."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def alive(pid):
    """Whether it runs. One that has ended is waited for, if it is a child."""
    try:
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    except ChildProcessError:
        pass
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def leave(collector):
    """The end of a player whose thread is reading."""
    with contextlib.suppress(OSError):
        collector.source.socket.shutdown(socket.SHUT_RDWR)
    collector.thread.join()
    collector.source.close()
