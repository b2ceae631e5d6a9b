"""The server under test: a configuration, a process, its log."""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

from . import ports
from .timing import SLOW, VALGRIND, scaled, wait_until

ROOT = Path(__file__).resolve().parents[3]
# With this many, all that can be lent is sent by sender threads.
SENDER_THREADS = os.environ.get("E2E_SENDER_THREADS")
OBJS = Path(os.environ.get("SRS_OBJS", ROOT / "objs"))
if not OBJS.is_absolute():
    OBJS = ROOT / OBJS
BINARY = OBJS / "srs"
BENCH = OBJS / "bench"

# The build of ./configure --extra-flags=-fsanitize=thread.
TSAN = "-fsanitize=thread" in (OBJS / "config.mk").read_text() if (OBJS / "config.mk").exists() else False
TSAN_OPTIONS = f"suppressions={Path(__file__).resolve().parents[1] / 'tsan.supp'}"

VALGRIND_EXIT = 99
VALGRIND_COMMAND = [
    "valgrind",
    f"--error-exitcode={VALGRIND_EXIT}",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
    "--track-fds=no",
    "--max-stackframe=8388608",
    f"--suppressions={Path(__file__).resolve().parents[1] / 'valgrind.supp'}",
]
# What a sanitizer or valgrind writes when it has found something.
REPORT = re.compile(
    r"ERROR: \w*Sanitizer|WARNING: \w*Sanitizer|SUMMARY: \w*Sanitizer|runtime error:|"
    r"ERROR SUMMARY: [1-9]|Process terminating with"
)

DEFAULT_VHOST = """
vhost __defaultVhost__ {
    %s
    http_remux { enabled on; mount [vhost]/[app]/[stream].flv; %s }
    play { rejoin_timeout %d; %s }
    publish { %s }
}
"""


def default_vhost(vhost="", remux="", play="", publish="", rejoin=500):
    """Directives to add to it and to its blocks; rejoin: how long players wait for a publisher that left, ms."""
    return DEFAULT_VHOST % (vhost, remux, rejoin, play, publish)


class Server:
    """top: directives outside of vhosts. vhosts: text. http: directives within http_server."""

    def __init__(self, directory, top="", http="", vhosts=None, http_enabled=True, tank="file"):
        self.dir = Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        (self.dir / "html").mkdir(exist_ok=True)
        self.ports = ports.take(6)
        self.rtmp_port, self.http_port, self.rtmps_port, self.https_port, self.api_port, self.rtc_port = self.ports
        self.log_path = self.dir / "srs.log"
        self.pid_path = self.dir / "srs.pid"
        self.conf_path = self.dir / "srs.conf"
        self.stderr_path = self.dir / "stderr.txt"
        self.stdout_path = self.dir / "stdout.txt"
        self.process = None
        self.max_rss_kb = 0
        self.conf = self._configuration(top, http, default_vhost() if vhosts is None else vhosts, http_enabled, tank)
        self.conf_path.write_text(self.conf)

    def _configuration(self, top, http, vhosts, http_enabled, tank):
        lines = [
            f"listen 127.0.0.1:{self.rtmp_port};",
            f"pid {self.pid_path};",
            f"srs_log_tank {tank};",
            f"srs_log_file {self.log_path};",
        ]
        defaults = [("daemon", "off"), ("max_connections", "3000"), ("auto_reload_for_docker", "off")]
        if VALGRIND:
            # Under valgrind the loop is slow all the time, and the watchdog's search of a stack reads, meaning to, what
            # nobody wrote.
            defaults.append(("stall_warn", "0"))
        for name, value in defaults:
            if not re.search(rf"^\s*{name}\s", top, re.MULTILINE):
                lines.append(f"{name} {value};")
        if SENDER_THREADS and "sender_threads" not in top:
            lines.append(f"sender_threads {SENDER_THREADS}; sender_min_batch 0;")
        if SLOW > 1 and "circuit_breaker" not in top:
            # A slow build may be busy all the time; that is no reason to refuse its players.
            lines.append("circuit_breaker { enabled off; }")
        text = "\n".join(lines) + "\n" + top + "\n"
        if http_enabled:
            text += f"http_server {{ enabled on; listen 127.0.0.1:{self.http_port}; dir {self.dir}/html; {http} }}\n"
        for name in ("RTMPS_PORT", "HTTPS_PORT", "API_PORT", "RTC_PORT"):
            text = text.replace(name, str(getattr(self, name.lower())))
        return text + vhosts

    # --- process

    def command(self, *arguments):
        return (VALGRIND_COMMAND if VALGRIND else []) + [str(BINARY), *(arguments or ("-c", str(self.conf_path)))]

    def environment(self, **more):
        sanitizer = {"TSAN_OPTIONS": TSAN_OPTIONS} if TSAN else {}
        return {**{k: v for k, v in os.environ.items() if not k.startswith("SRS_")}, **sanitizer, **more}

    file_limit = None  # RLIMIT_NOFILE of the process
    inherited = ()  # descriptors that it gets

    def spawn(self, *arguments, **environment):
        """Starts the process without waiting for anything."""
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (self.file_limit,) * 2)) if self.file_limit else None
        self.process = subprocess.Popen(
            self.command(*arguments),
            cwd=self.dir,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=self.stdout_path.open("ab"),
            stderr=self.stderr_path.open("ab"),
            preexec_fn=limit,
            pass_fds=self.inherited,
        )
        return self

    def start(self, *arguments, **environment):
        """Starts it and waits until it listens."""
        self.spawn(*arguments, **environment)
        return self.wait_listening()

    def wait_listening(self):
        wanted = [self.rtmp_port] + ([self.http_port] if "http_server" in self.conf else [])
        if re.search(rf"http_api \{{ enabled on; listen 127\.0\.0\.1:{self.api_port};", self.conf):
            wanted.append(self.api_port)
        for port in (self.rtmps_port, self.https_port):
            if re.search(rf"(exporter|rtmps|https) \{{ enabled on; listen 127\.0\.0\.1:{port};", self.conf):
                wanted.append(port)

        left, looks = list(wanted), []
        with contextlib.ExitStack() as stack:

            def ready():
                if self.process and self.process.poll() is not None:
                    raise AssertionError(f"the server ended with {self.process.returncode} as it started")
                while left and (look := connection(left[0])):
                    looks.append(stack.enter_context(look))
                    left.pop(0)
                return not left

            wait_until(ready, 10, lambda: f"the server listens on {left}")
            for look in looks:
                look.setblocking(False)
                with contextlib.suppress(OSError):  # it may have refused it already
                    look.shutdown(socket.SHUT_WR)
            # They count for its limits: a test begins when it has closed them.
            wait_until(lambda: all(map(was_closed, looks)), 10, "the connections that looked whether it listens are closed")
        return self

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        os.kill(self.pid, number)

    def wait_exit(self, seconds):
        """Its exit code; fails where it has not ended by then."""
        try:
            return self.process.wait(scaled(seconds))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server should have ended within {scaled(seconds)} s") from None

    def stop(self):
        """TERM, and what must be so at every end: exit code 0 and no report."""
        if self.process is None:
            return
        if self.alive():
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(scaled(10))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(
                    f"the server did not end within {scaled(10)} s of TERM\n{self.evidence()}"
                ) from None
        self.check_clean()

    def check_clean(self):
        code = self.process.returncode
        assert code == 0, f"the server's exit code should be 0, it is {code}\n{self.evidence()}"
        output = self.output()
        report = REPORT.search(output)
        assert not report, f"the server's run has a report, {report.group(0)!r}\n{output[-8000:]}"

    def discard(self):
        """Whatever happened before, nothing of it is left."""
        if self.alive():
            self.process.kill()
            self.process.wait()
        if self.ports:
            ports.release(self.ports)
            self.ports = []

    # --- evidence

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def output(self):
        return "".join(
            path.read_text(errors="replace") for path in (self.stdout_path, self.stderr_path) if path.exists()
        )

    def evidence(self, size=6000):
        return f"--- log\n{self.log()[-size:]}\n--- output\n{self.output()[-size:]}"

    def log_mark(self):
        """A place in the log, for wait_log(since=...)."""
        return self.log_path.stat().st_size if self.log_path.exists() else 0

    def wait_log(self, pattern, seconds=5, since=0):
        """The first line after that place that matches."""

        def search():
            if not self.log_path.exists():
                return None
            with self.log_path.open("rb") as file:
                file.seek(since)
                for line in file.read().decode(errors="replace").splitlines():
                    if re.search(pattern, line, re.IGNORECASE):
                        return line
            return None

        def what():
            with self.log_path.open("rb") as file:
                file.seek(since)
                return f"a log line with {pattern!r}; the log has\n" + file.read().decode(errors="replace")[-3000:]

        return wait_until(search, seconds, what)

    def log_count(self, text, since=0):
        """How many times the log has that text behind the place."""
        with self.log_path.open("rb") as file:
            file.seek(since)
            return file.read().count(text.encode())

    def wait_players(self, path, count):
        """Until it has taken that many players of the stream, app/name."""
        joined = re.compile(rf"RTMP play: \S+/{path}\b")
        waits_or_plays = re.compile(rf"\[(\w+)\]\[\d+\] (?:a player waits|flv-play started): \S+/{path}\b")

        def playing():
            log = self.log()
            return len(joined.findall(log)) + len(set(waits_or_plays.findall(log)))

        wait_until(lambda: playing() >= count, 10, lambda: f"{count} players of {path}; {playing()} came")

    def rss_kb(self):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def open_files(self):
        """What its descriptors lead to, {number: name}."""
        names = {}
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                names[int(link.name)] = os.readlink(link)
            except FileNotFoundError:
                pass  # closed meanwhile
        return names

    def rtmp_url(self, path):
        return f"rtmp://127.0.0.1:{self.rtmp_port}/{path}"

    def http_url(self, path):
        return f"http://127.0.0.1:{self.http_port}/{path}"


def connection(port):
    """None when nobody listens there."""
    made = socket.socket()
    made.settimeout(1)
    if made.connect_ex(("127.0.0.1", port)) == 0:
        return made
    made.close()
    return None


def can_connect(port):
    made = connection(port)
    if made:
        made.close()
    return made is not None


def was_closed(look):
    """Whether the other side has closed that socket, which does not block. What comes on it is discarded."""
    try:
        while look.recv(4096):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


def run_once(*arguments, directory=None, seconds=10, **environment):
    """The binary with those arguments until it ends: exit code, and all it printed."""
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("SRS_")}, **environment}
    started = time.monotonic()
    try:
        done = subprocess.run(
            [str(BINARY), *arguments],
            cwd=directory,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=scaled(seconds),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode(errors="replace")
        raise AssertionError(
            f"srs {' '.join(arguments)} should have ended within {time.monotonic() - started:.0f} s; "
            f"it printed\n{text}"
        ) from None
    return done.returncode, done.stdout.decode(errors="replace")
