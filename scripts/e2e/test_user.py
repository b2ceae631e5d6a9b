"""user: what root starts becomes somebody else, and works as such: files, rotation of the log, reload, the end."""

import os
import pwd
import re
import shutil
import signal
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import Servers
from lib import dvr, http, media, ports, publishing, rtmp
from lib.server import BINARY, default_vhost, run_once
from lib.timing import VALGRIND, scaled, wait_until

NOBODY = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0 or VALGRIND, reason="only root can become somebody else")


@pytest.fixture
def home():
    """A directory that nobody (the user) can reach and owns."""
    directory = Path(tempfile.mkdtemp(prefix="srs-user-", dir="/tmp"))
    os.chown(directory, NOBODY.pw_uid, NOBODY.pw_gid)
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def nobodys(home):
    """Makes servers in a directory that belongs to nobody."""
    made = Servers(home)

    def make(**options):
        server = made.make(**options)
        for path in (server.dir, *server.dir.iterdir()):
            os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
        return server

    yield make
    made.finish()


def ids(server):
    """Uids, gids, and groups of every thread of the process, as sets."""
    uids, gids, groups = set(), set(), set()
    for status in Path(f"/proc/{server.pid}/task").glob("*/status"):
        text = status.read_text()
        uids.add(re.search(r"^Uid:\s+(.*)", text, re.MULTILINE).group(1))
        gids.add(re.search(r"^Gid:\s+(.*)", text, re.MULTILINE).group(1))
        groups.add(re.search(r"^Groups:\s*(.*)", text, re.MULTILINE).group(1).strip())
    return uids, gids, groups


def four(number):
    return {"\t".join([str(number)] * 4)}


def owner(path):
    return path.stat().st_uid


@needs_root
def test_the_server_becomes_the_user_and_works(nobodys, certificate):
    """All threads, for good; a port below 1024 and a key that only root reads; then records, rotates, reloads, ends."""
    key, cert = certificate
    low = next(port for port in range(1023, 600, -1) if not in_use(port))
    server = nobodys(
        top=f"user nobody;\ndvr_journal ./dvr.journal;\nrtmps {{ enabled on; listen 127.0.0.1:{low}; key {key}; cert {cert}; }}\n"
        "http_api { enabled on; listen 127.0.0.1:API_PORT; }",
        vhosts=default_vhost("dvr { enabled on; dvr_path ./rec/[app]/[stream].[timestamp].flv; }"),
    ).start()
    assert os.stat(key).st_uid == 0, "the key is root's"
    # It listens a moment before it takes the first client, and is somebody else by then.
    server.wait_log(rf"the server is user nobody \(uid {NOBODY.pw_uid}, gid {NOBODY.pw_gid}\) from here on")
    uids, gids, groups = ids(server)
    assert uids == four(NOBODY.pw_uid) and gids == four(NOBODY.pw_gid), f"every thread should be nobody: {uids} {gids}"
    assert groups == {str(NOBODY.pw_gid)}, f"root's groups should be gone: {groups}"
    capabilities = re.search(r"^CapPrm:\s+(\w+)", Path(f"/proc/{server.pid}/status").read_text(), re.MULTILINE).group(1)
    assert int(capabilities, 16) == 0, f"no capability should be left: {capabilities}"
    server.wait_log(r"rtmps/key .*: uid \d+ cannot read it again at a reload")
    tags = media.from_keyframe(media.plain())
    with rtmp.publisher(server, "live", "s", port=low, tls=True) as client:
        publishing.send_all(client, tags[:200])
    recorded = dvr.wait_files(server, 1)
    for path in (server.log_path, server.pid_path, server.dir / "srs.id", recorded[0], recorded[0].parent):
        assert owner(path) == NOBODY.pw_uid, f"{path} should be nobody's, it is uid {owner(path)}'s"
    rotated = server.dir / "srs.log.1"
    server.log_path.rename(rotated)
    server.signal(signal.SIGUSR1)
    wait_until(server.log_path.exists, 5, "a new log file is there")
    text = server.conf_path.read_text()
    server.conf_path.write_text(text.replace("user nobody;", "user nobody;\nsrs_log_level info;"))
    mark = server.log_mark()
    server.signal(signal.SIGHUP)
    server.wait_log(r"reload: .* changes, 1 of them in force", 5, mark)
    server.wait_log(rf"rtmps: uid {NOBODY.pw_uid} may not read .* again; the old ones stay", 5, mark)
    assert http.get(server.api_port, "/api/v1/versions").status == 200
    server.stop()
    assert not server.pid_path.exists(), "the pid file should be removed at the end"


def in_use(port):
    import socket

    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


@needs_root
def test_supplementary_groups(nobodys):
    """Those of the user, so that a key may belong to a group; and a group that is named beside it."""
    user, group = next(
        (entry.pw_name, entry) for entry in pwd.getpwall() if entry.pw_name in ("man", "games", "www-data", "daemon")
    )
    server = nobodys(top=f"user {user}:nogroup;")
    for path in (server.dir, *server.dir.iterdir(), server.dir.parent):
        os.chown(path, group.pw_uid, group.pw_gid)
    server.start().wait_log(rf"the server is user {user} .* from here on")
    uids, gids, groups = ids(server)
    wanted = " ".join(str(gid) for gid in sorted(set(os.getgrouplist(user, NOBODY.pw_gid))))
    assert uids == four(group.pw_uid) and gids == four(NOBODY.pw_gid), f"{user}:nogroup was expected: {uids} {gids}"
    assert {" ".join(sorted(one.split(), key=int)) for one in groups} == {wanted}, f"{wanted} was expected: {groups}"


@needs_root
def test_in_the_background(nobodys):
    """The daemon is the user's too, and says that it runs."""
    server = nobodys(top="user nobody;\ndaemon on;\ndisable_daemon_for_docker off;")
    code, text = run_once("-c", str(server.conf_path), directory=server.dir)
    assert code == 0, f"it should start: {text}"
    pid = int(server.pid_path.read_text())
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        assert re.search(rf"^Uid:\s+{NOBODY.pw_uid}\s+{NOBODY.pw_uid}\s+{NOBODY.pw_uid}", status, re.MULTILINE), status
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), 10, "it ends")


def refused(server, **more):
    """What a start that must fail says."""
    code, text = run_once("-c", str(server.conf_path), directory=server.dir, **more)
    assert code == 1, f"it should not start; it said {text}"
    return text + server.log()


@needs_root
@pytest.mark.parametrize(
    "user, why",
    [
        ("no-such-user", "there is no user no-such-user"),
        ("nobody:no-such-group", "there is no group no-such-group"),
        ("root", "user must not be root"),
        ("4242424", "has no name here: write UID:GID"),
    ],
)
def test_who_cannot_be(nobodys, user, why):
    text = refused(nobodys(top=f"user {user};"))
    assert why in text and re.search(r"user \(\S+srs\.conf:\d+\)", text), f"{why!r} and the line were expected: {text}"


@needs_root
def test_what_the_user_cannot_write_is_said(nobodys):
    server = nobodys(top="user nobody;")
    os.chown(server.dir, 0, 0)
    text = refused(server)
    assert "pid" in text and "ermission denied" in text, f"the pid file's directory is root's: {text}"
    os.chown(server.dir, NOBODY.pw_uid, NOBODY.pw_gid)
    (server.dir / "roots").mkdir()
    server.conf_path.write_text(
        server.conf + "vhost other { hls { enabled on; hls_path ./roots; }\n dvr { enabled on; dvr_path ./roots/rec; } }"
    )
    text = refused(server)
    for what in ("vhost other hls_path ./roots", "vhost other dvr_path ./roots/rec"):
        assert re.search(rf"{re.escape(what)}\S*: uid {NOBODY.pw_uid} cannot write to the directory", text), text


@needs_root
def test_capabilities_of_the_program_file(nobodys, home):
    """`setcap cap_net_bind_service=ep objs/srs`: a port below 1024 without root, and no request for large pages."""
    binary = home / "srs"
    shutil.copy(BINARY, binary)
    # Version 2 and effective, CAP_NET_BIND_SERVICE permitted, nothing inheritable: linux/capability.h.
    os.setxattr(binary, "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))
    low = next(port for port in range(1023, 600, -1) if not in_use(port))
    server = nobodys(top=f"listen 127.0.0.1:{low};")
    server.process = subprocess.Popen(
        [str(binary), "-c", str(server.conf_path)],
        cwd=server.dir,
        env={name: value for name, value in server.environment().items() if name != "GLIBC_TUNABLES"},
        stdin=subprocess.DEVNULL,
        stdout=server.stdout_path.open("ab"),
        stderr=server.stderr_path.open("ab"),
        user=NOBODY.pw_uid,
        group=NOBODY.pw_gid,
        extra_groups=[],
    )
    server.wait_log("the server runs")
    environment = Path(f"/proc/{server.process.pid}/environ").read_bytes()
    assert b"GLIBC_TUNABLES" not in environment, "newer versions of glibc remove it, the program must not add it again"
    with rtmp.publisher(server, "live", "s", port=low) as client:
        publishing.send_all(client, media.tags(media.plain())[:20])
    server.stop()


def test_not_by_others_than_root(tmp_path):
    """Said with what to do; but who is that user already may go on."""
    directory = Path(tempfile.mkdtemp(prefix="srs-user-", dir="/tmp"))
    port = ports.take(1)
    try:
        as_root = os.geteuid() == 0
        uid = NOBODY.pw_uid if as_root else os.geteuid()
        if as_root:
            os.chown(directory, NOBODY.pw_uid, NOBODY.pw_gid)
        conf = directory / "srs.conf"
        conf.write_text(
            f"listen 127.0.0.1:{port[0]};\ndaemon off;\npid ./srs.pid;\nsrs_log_tank console;\nuser daemon;\n"
            "vhost __defaultVhost__ { }\n"
        )
        binary = directory / "srs"
        shutil.copy(BINARY, binary)
        done = subprocess.run(
            [str(binary), "-c", "srs.conf"],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=scaled(10),
            check=False,
            **({"user": uid, "group": NOBODY.pw_gid, "extra_groups": []} if as_root else {}),
        )
        text = done.stdout.decode()
        assert done.returncode == 1, f"it should not start: {text}"
        wanted = f"only root can become daemon, and the server was started by uid {uid}"
        assert wanted in text, f"{wanted!r} was expected: {text}"
    finally:
        ports.release(port)
        shutil.rmtree(directory)
