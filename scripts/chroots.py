"""For scripts/check_deb and scripts/check_image: a Debian in a directory, a network without anybody else, and counted
checks. Runs as root, with debootstrap; nothing of it is mounted or left running when the script has ended."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def in_own_mounts():
    """Goes on in a mount namespace of its own, so that the kernel removes the mounts at the end, however it ends."""
    if os.geteuid() != 0:
        sys.exit(f"{sys.argv[0]}: only root can make a chroot")
    if os.environ.get("OWN_MOUNTS") != "yes":
        os.execvpe(
            "unshare",
            ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv],
            {**os.environ, "OWN_MOUNTS": "yes"},
        )


def call(command, **options):
    """Its output; an error with the output if it fails."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))} exited with {done.returncode}:\n{done.stdout[-3000:]}"
    return done.stdout


class Chroot:
    """A copy of Debian's base system. name: of the directory in folder, which is made anew."""

    def __init__(self, folder, name, suite="bookworm"):
        base = folder / suite
        if not (base / "etc/debian_version").exists():
            shutil.rmtree(base, ignore_errors=True)
            base.parent.mkdir(parents=True, exist_ok=True)
            call(["debootstrap", "--variant=minbase", suite, base])
        self.path = folder / name
        if self.path.exists():
            assert not os.path.ismount(self.path / "dev"), f"{self.path}/dev is a mount: something else uses it"
            shutil.rmtree(self.path)
        call(["cp", "-a", "--reflink=auto", base, self.path])
        # No service that comes with a package may start by itself.
        policy = self.path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        (self.path / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")  # it need not survive a crash
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        self.mount()

    def mount(self):
        call(["mount", "-t", "proc", "proc", self.path / "proc"])
        call(["mount", "--rbind", "/dev", self.path / "dev"])

    def unmount(self):
        for name in ("proc", "dev"):
            subprocess.run(["umount", "--lazy", self.path / name], check=False)

    def run(self, *command, **environment):
        base = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C",
            "DEBIAN_FRONTEND": "noninteractive",
            "HOME": "/root",
        }
        return call(["chroot", self.path, *command], env={**base, **environment})

    def apt(self, *words):
        keep = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
        return self.run("apt-get", "-y", "-qq", "--no-install-recommends", *keep, *words)

    def files(self):
        """Every path but those that package tools write."""
        ours = (
            "proc",
            "dev",
            "sys",
            "tmp",
            "var/lib/dpkg",
            "var/cache",
            "var/lib/apt",
            "var/log/apt",
            "var/log/dpkg.log",
            "var/log/alternatives.log",
        )
        found = set()
        for folder, folders, names in os.walk(self.path):
            inside = os.path.relpath(folder, self.path)
            folders[:] = [name for name in folders if os.path.normpath(os.path.join(inside, name)) not in ours]
            found.update(os.path.normpath(os.path.join(inside, name)) for name in [*folders, *names])
        return {name for name in found if name not in ours}


@contextlib.contextmanager
def own_network():
    """Here and in what is started here there is a loopback of its own, and nothing else."""
    with open("/proc/self/ns/net") as before:
        assert LIBC.unshare(CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            with socket.socket() as any_socket:
                get_flags, set_flags, is_up = 0x8913, 0x8914, 1
                request = struct.pack("16sH14x", b"lo", 0)
                flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, get_flags, request))[1]
                fcntl.ioctl(any_socket, set_flags, struct.pack("16sH14x", b"lo", flags | is_up))
            yield
        finally:
            assert LIBC.setns(before.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())


@contextlib.contextmanager
def network_of(pid):
    """That of a process."""
    with open("/proc/self/ns/net") as before, open(f"/proc/{pid}/ns/net") as other:
        assert LIBC.setns(other.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert LIBC.setns(before.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())


# What systemd expects of a container: its own namespaces, cgroup, /dev and a root that is a mount.
BOOT = """
mount --bind "$ROOT" "$ROOT" && cd "$ROOT" || exit 1
mount -t proc proc proc && mount -t sysfs sysfs sys && mount -t cgroup2 none sys/fs/cgroup || exit 1
mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp && mount -t tmpfs -o mode=755,dev tmpfs dev || exit 1
mknod -m 666 dev/null c 1 3; mknod -m 666 dev/zero c 1 5; mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8; mknod -m 666 dev/urandom c 1 9; mknod -m 666 dev/tty c 5 0
mkdir dev/shm dev/pts run/old; ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd
pivot_root . run/old && cd / && umount -l /run/old || exit 1
exec /usr/bin/env -i container=check PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
"""


class Booted:
    """systemd as process 1 of a chroot, unmounted before. OSError, AssertionError: it cannot start here."""

    def __init__(self, chroot):
        rows = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        unified = [row[1] for row in rows if row[2] == "cgroup2"]
        assert unified, "no cgroup2 is mounted"
        self.group = pathlib.Path(unified[0]) / f"check-{os.getpid()}"
        self.group.mkdir()
        words = [
            "unshare",
            "--mount",
            "--pid",
            "--net",
            "--uts",
            "--ipc",
            "--cgroup",
            "--propagation",
            "private",
            "--fork",
            "sh",
            "-c",
            BOOT,
        ]
        command = ["sh", "-c", f'echo $$ >"{self.group}/cgroup.procs" && exec "$@"', "sh", *words]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "ROOT": str(chroot.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until(self.find, 20, "systemd starts")
            wait_until(
                lambda: "running" in self.state() or "degraded" in self.state(),
                60,
                lambda: f"systemd is up: {self.state()}",
            )
        except AssertionError:
            self.end()
            raise
        self.run("ip", "link", "set", "lo", "up")

    pid = 0  # in the outer namespace; 0: it does not run

    def find(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.pid = int(children[0]) if children else 0
        return self.pid and pathlib.Path(f"/proc/{self.pid}/comm").read_text() == "systemd\n"

    def state(self):
        done = subprocess.run(
            [*self.enter(), "systemctl", "is-system-running"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    def enter(self):
        return ["nsenter", "-t", str(self.pid), "-m", "-p", "-n", "-u", "-i", "-C", "-r", "-w"]

    def run(self, *command):
        return call([*self.enter(), *command], timeout=60)

    def alive(self, pid):
        """pid: as it is inside."""
        return subprocess.run([*self.enter(), "test", "-d", f"/proc/{pid}"], check=False).returncode == 0

    def end(self):
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, 9)
        self.process.kill()
        self.process.wait()

        def remove_group():
            """Possible when its last process has ended."""
            for folder in sorted([self.group, *self.group.rglob("*/")], reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            return not self.group.exists()

        wait_until(remove_group, 10, f"{self.group} is empty")


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"within {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.1)


def get(url):
    """The status and the body; status 0: nobody answered."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status, response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError as error:
        return 0, str(error)


@contextlib.contextmanager
def publisher():
    """ffmpeg publishes live/livestream by RTMP. Yields its process when the API lists the stream."""
    source = ["-f", "lavfi", "-i", "testsrc=size=320x180:rate=25", "-f", "lavfi", "-i", "sine", "-t", "90"]
    codecs = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac"]
    words = ["ffmpeg", "-v", "error", "-re", *source, *codecs, "-f", "flv", "rtmp://127.0.0.1/live/livestream"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(
                lambda: '"name":"livestream"' in get("http://127.0.0.1:1985/api/v1/streams/")[1],
                15,
                "the API lists the stream",
            )
            yield process
        finally:
            process.terminate()
            process.wait(10)


def play():
    """By HTTP-FLV and HLS; what ffprobe says must be what was published."""
    probe = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name,width"]
    probe += ["-of", "csv=p=0", "-rw_timeout", "10000000"]
    said = call([*probe, "http://127.0.0.1:8080/live/livestream.flv"], timeout=20)
    assert sorted(said.split()) == ["aac", "h264,320"], f"ffprobe should see H.264 of 320 pixels and AAC: {said!r}"
    # The first segment has 10 s by default.
    playlist = "http://127.0.0.1:8080/live/livestream.m3u8"
    wait_until(lambda: "#EXTM3U" in get(playlist)[1], 30, lambda: f"there is a playlist: {get(playlist)}")


def publish_and_play():
    with publisher():
        play()


class Checks:
    """Runs steps and counts them. After a step that fails the others still run."""

    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, name, step):
        began = time.monotonic()
        try:
            step()
        except Exception as error:  # a step may fail in any way
            self.failed += 1
            text = str(error) if isinstance(error, AssertionError) and str(error) else traceback.format_exc()
            print(f"FAILED  {name}\n        " + text.strip().replace("\n", "\n        "), flush=True)
        else:
            self.passed += 1
            print(f"passed  {name} ({time.monotonic() - began:.1f} s)", flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
