"""Log rotation by USR1: under load, and where the new file cannot be had."""

import os
import signal
import subprocess

import pytest

from lib import rtmp
from lib.server import BENCH
from lib.timing import SLOW, VALGRIND, scaled, wait_until


def all_lines(directory):
    return "".join(path.read_text(errors="replace") for path in sorted(directory.glob("srs.log*")) if path.is_file())


def wait_line(directory, text, count=1):
    wait_until(
        lambda: all_lines(directory).count(text) >= count, 10, lambda: f"{text!r} x {count}\n{all_lines(directory)[-2000:]}"
    )


@pytest.mark.skipif(VALGRIND, reason="a thousand connections take it too long")
def test_no_line_is_lost_under_load(server):
    """The file is moved away and opened again, over and over, while connections come and go: each line is in one of them."""
    cycles = 1000 if SLOW == 1 else 200
    words = [BENCH, "churn", server.rtmp_url("live/p{i}"), "--publish", "--messages", "5", "-q"]
    words += ["--cycles", str(cycles), "--concurrency", "5"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as churn:
        for number in range(10):
            server.log_path.rename(server.dir / f"srs.log.{number}")
            server.signal(signal.SIGUSR1)
            wait_until(server.log_path.exists, 10, "a new file")
            wait_line(server.dir, "the log was opened again", number + 1)
        assert churn.wait(scaled(60)) == 0
    ended = "fmle-publish ended"
    wait_line(server.dir, ended, cycles)
    assert all_lines(server.dir).count(ended) == cycles, "one line for each connection, in one of the files"


def test_where_the_new_file_cannot_be_had(servers):
    """Its directory is gone, or it is a directory, or the disk says no: an error, and the old file goes on."""
    server = servers.make()
    folder = server.dir / "logs"
    folder.mkdir()
    path = folder / "srs.log"
    server.conf_path.write_text(server.conf.replace(str(server.log_path), str(path)))
    server.start()
    wait_until(lambda: "the server runs" in path.read_text(), 5, "it runs")

    moved = server.dir / "moved"
    folder.rename(moved)
    old = moved / "srs.log"

    def fails(reason, count):
        server.signal(signal.SIGUSR1)
        wait_until(
            lambda: old.read_text().count("SIGUSR1: opening the log file") == count and reason in old.read_text(),
            5,
            lambda: f"error {count} with {reason!r} in the old file\n{old.read_text()[-1500:]}",
        )
        name = f"after{count}"
        rtmp.publisher(server, "live", name).close()
        wait_until(lambda: f"live/{name}" in old.read_text(), 5, "lines go on in the old file")

    fails("No such file or directory", 1)
    path.mkdir(parents=True)
    fails("Is a directory", 2)
    path.rmdir()
    folder.rmdir()
    folder.write_text("a file")
    fails("Not a directory", 3)
    folder.unlink()
    folder.mkdir()
    server.signal(signal.SIGUSR1)
    wait_until(lambda: path.exists() and "opened again" in path.read_text(), 5, "with its directory back it is a new file")
    assert "opened again" not in old.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="to lose a permission one must have had it")
def test_without_permission(servers):
    """A server of an ordinary user whose log directory is no longer its own."""
    server = servers.make()
    for parent in [server.dir, *server.dir.parents]:
        if parent.stat().st_uid == 0 and parent != parent.parent:
            parent.chmod(parent.stat().st_mode | 0o055)
    folder = server.dir / "logs"
    folder.mkdir()
    os.chown(server.dir, 65534, 65534)
    os.chown(folder, 65534, 65534)
    path = folder / "srs.log"
    server.conf_path.write_text(server.conf.replace(str(server.log_path), str(path)))
    command = server.command
    server.command = lambda *words: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command(*words)]
    server.start()
    moved = folder / "old.log"
    path.rename(moved)
    os.chown(folder, 0, 0)
    server.signal(signal.SIGUSR1)
    wait_until(lambda: "Permission denied" in moved.read_text(), 5, lambda: f"an error\n{moved.read_text()}")
    rtmp.publisher(server, "live", "after").close()
    wait_until(lambda: "live/after" in moved.read_text(), 5, "lines go on in the old file")
