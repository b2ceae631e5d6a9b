"""`make install`: what is where, that it runs from there as in SRS's image, and what an upgrade leaves alone."""

import os
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest

from lib import ports
from lib.server import OBJS, ROOT, can_connect
from lib.timing import scaled, wait_until

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("SRS_")}


def install(*words):
    """-o all: what there is, without building it."""
    command = ["make", "-s", f"OBJS={OBJS}", "-o", "all", "install", *words]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=CLEAN,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)} should succeed, it printed\n{done.stdout}"
    return done.stdout


@pytest.fixture
def four_ports():
    taken = ports.take(4)
    yield taken
    ports.release(taken)


def environment(taken):
    rtmp_port, http_port, api_port, rtc_port = taken
    return {
        **CLEAN,
        "SRS_LISTEN": f"127.0.0.1:{rtmp_port}",
        "SRS_HTTP_SERVER_LISTEN": f"127.0.0.1:{http_port}",
        "SRS_HTTP_API_LISTEN": f"127.0.0.1:{api_port} 127.0.0.1:{http_port}",
        "SRS_RTC_SERVER_LISTEN": f"127.0.0.1:{rtc_port}",
        "SRS_RTC_SERVER_TCP_LISTEN": f"127.0.0.1:{rtc_port}",
        "CANDIDATE": "127.0.0.1",
    }


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=scaled(5)) as response:
        return response.status, response.read().decode()


def test_what_is_where(tmp_path):
    install(f"DESTDIR={tmp_path}")
    root = tmp_path / "usr/local/srs"
    wanted = """objs/srs objs/nginx/html conf/docker.conf conf/full.conf conf/http.flv.live.conf etc/init.d/srs
        etc/logrotate.d/srs usr/lib/systemd/system/srs.service usr/share/man/man8/srs.8"""
    for name in wanted.split():
        assert (root / name).exists(), f"{name} should be installed"
    installed = {path.name for path in (root / "conf").iterdir() if not path.name.startswith(".")}
    assert installed == {path.name for path in (ROOT / "conf").iterdir()}, "all of conf/, and nothing else"
    assert os.access(root / "objs/srs", os.X_OK) and os.access(root / "etc/init.d/srs", os.X_OK)
    for name in ("etc/init.d/srs", "etc/logrotate.d/srs", "usr/lib/systemd/system/srs.service"):
        text = (root / name).read_text()
        assert "/usr/local/srs/objs" in text and str(tmp_path) not in text, (
            f"{name} should have the prefix without DESTDIR:\n{text}"
        )
        assert not re.search(r"@[A-Z]+@", text), f"{name} should have no name of a template left:\n{text}"
    if (OBJS / "nginx/pages/start.html").exists():
        for name in ("start.html", "console/index.html", "players/index.html"):
            assert (root / "objs/nginx/pages" / name).read_bytes() == (OBJS / "nginx/pages" / name).read_bytes(), name
    assert not list((root / "objs/nginx/html").iterdir()), "the operator's directory"


def test_it_runs_from_there_as_in_a_container(tmp_path, four_ports):
    """./objs/srs -c conf/docker.conf in PREFIX, with other ports by the environment."""
    install(f"DESTDIR={tmp_path}", "PREFIX=/opt/media")
    root = tmp_path / "opt/media"
    rtmp_port, http_port, api_port, _ = four_ports
    output = (tmp_path / "output").open("w+")
    with subprocess.Popen(
        ["./objs/srs", "-c", "conf/docker.conf"], cwd=root, env=environment(four_ports), stdout=output, stderr=output
    ) as process:
        try:
            wait_until(
                lambda: can_connect(api_port), 10, lambda: f"the API listens\n{(tmp_path / 'output').read_text()}"
            )
            status, _ = get(http_port, "/")
            assert status == 200, f"GET / is what a liveness probe asks: {status}"
            if (root / "objs/nginx/pages/start.html").exists():
                for path in ("/console/", "/players/"):
                    assert get(http_port, path)[0] == 200, f"{path} should be there"
            assert '"code":0' in get(api_port, "/api/v1/versions")[1]
            assert can_connect(rtmp_port)
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(scaled(10))
    text = (tmp_path / "output").read_text()
    assert code == 0, f"it should end well\n{text}"
    assert "the server runs" in text, f"the log goes to the console:\n{text}"


@pytest.mark.long
def test_an_upgrade_keeps_what_was_changed(tmp_path):
    install(f"PREFIX={tmp_path}")
    conf, html = tmp_path / "conf", tmp_path / "objs/nginx/html"
    changed, untouched, gone = conf / "srs.conf", conf / "rtc.conf", conf / "hls.conf"
    changed.write_text("listen 1936;\nvhost a { }\n")
    older = "# of an earlier version\n" + untouched.read_text()
    untouched.write_text(older)
    sums = conf / ".installed"
    of_older = subprocess.run(["sha256sum", str(untouched)], capture_output=True, text=True, check=True).stdout.split()[
        0
    ]
    sums.write_text(re.sub(r"^\w+(  rtc\.conf)$", of_older + r"\1", sums.read_text(), flags=re.MULTILINE))
    gone.unlink()
    for name in ("index.html", "live.ts"):
        (html / name).write_text("the operator's")
    for name in ("start.html", "start.js", "console/console.js", "console/old.js", "players/srs_player.html"):
        (html / name).parent.mkdir(exist_ok=True)
        (html / name).write_text("of an earlier version, or of SRS")
    pages = tmp_path / "objs/nginx/pages"
    (pages / "console").mkdir(parents=True, exist_ok=True)
    (pages / "console/old.js").write_text("of an earlier version")

    said = install(f"PREFIX={tmp_path}")
    assert changed.read_text() == "listen 1936;\nvhost a { }\n", "a changed file stays"
    shipped = (ROOT / "conf/srs.conf").read_text()
    assert (conf / "srs.conf.new").read_text() == shipped, "the new one is beside it"
    assert "srs.conf was changed and stays; the new one is srs.conf.new" in said, said
    assert untouched.read_text() == (ROOT / "conf/rtc.conf").read_text(), "one that nobody changed is replaced"
    assert not (conf / "rtc.conf.new").exists()
    assert gone.exists(), "one that is not there is installed"
    assert {(html / name).read_text() for name in ("index.html", "live.ts")} == {"the operator's"}, "other files stay"
    assert not any((html / name).exists() for name in ("start.html", "start.js", "console")), "pages of an earlier version go"
    assert (html / "players/srs_player.html").exists(), "SRS's stay"
    if (OBJS / "nginx/pages/start.html").exists():
        assert not (pages / "console/old.js").exists(), "parts of earlier pages go"

    install(f"PREFIX={tmp_path}")
    assert changed.read_text() == "listen 1936;\nvhost a { }\n", "it counts as changed the next time, too"
    changed.write_text(shipped)
    said = install(f"PREFIX={tmp_path}")
    assert not (conf / "srs.conf.new").exists() and "stays" not in said, f"the new one was taken over:\n{said}"


@pytest.mark.long
def test_a_running_server_can_be_upgraded(tmp_path, four_ports):
    """Its program file is replaced, not overwritten."""
    install(f"PREFIX={tmp_path}")
    before = (tmp_path / "objs/srs").stat().st_ino
    with (tmp_path / "output").open("w") as output:
        with subprocess.Popen(
            ["./objs/srs", "-c", "conf/docker.conf"],
            cwd=tmp_path,
            env=environment(four_ports),
            stdout=output,
            stderr=output,
        ) as process:
            try:
                wait_until(lambda: can_connect(four_ports[0]), 10, "it listens")
                install(f"PREFIX={tmp_path}")
                assert (tmp_path / "objs/srs").stat().st_ino != before, "it should be another file"
                assert get(four_ports[1], "/")[0] == 200, "the server goes on"
            finally:
                process.send_signal(signal.SIGTERM)
                assert process.wait(scaled(10)) == 0


@pytest.mark.long
def test_the_init_script(tmp_path, four_ports):
    install(f"PREFIX={tmp_path}")
    script = tmp_path / "etc/init.d/srs"
    log, pid_file = tmp_path / "objs/srs.log", tmp_path / "objs/srs.pid"

    def run(action, wanted=0):
        done = subprocess.run(
            [script, action],
            env=environment(four_ports),
            capture_output=True,
            text=True,
            timeout=scaled(30),
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == wanted, f"{action} should exit with {wanted}, it did with {done.returncode}:\n{said}"
        return said

    assert "does not run" in run("status", 3)
    run("reload", 7)
    assert "usage" in run("nonsense", 2)
    try:
        run("start")
        pid = int(pid_file.read_text())
        assert get(four_ports[1], "/")[0] == 200
        assert f"pid {pid}" in run("status")
        assert "already" in run("start") and int(pid_file.read_text()) == pid
        run("reload")
        wait_until(lambda: "reload: SIGHUP" in log.read_text(), 5, lambda: f"a reload\n{log.read_text()}")
        log.rename(tmp_path / "objs/srs.log.1")
        run("rotate")
        wait_until(log.exists, 5, "a new log file")
        run("restart")
        assert int(pid_file.read_text()) != pid, "restarted, it is another process"
        run("grace")
        run("status", 3)
        pid_file.write_text(str(os.getpid()))
        assert "pid file is there" in run("status", 1), "the number in it may be another program's by now"
        assert "does not run" in run("stop"), "which must not get the signal"
        pid_file.unlink()
        run("start")
    finally:
        run("stop")
    run("status", 3)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
def test_the_unit_is_valid_and_takes_most_rights_away(tmp_path):
    install(f"PREFIX={tmp_path}")
    unit = tmp_path / "usr/lib/systemd/system/srs.service"

    def analyze(*words):
        return subprocess.run(
            ["systemd-analyze", *words, unit], capture_output=True, text=True, timeout=scaled(30), check=False
        )

    verified = analyze("verify", "--man=no")
    said = [line for line in (verified.stdout + verified.stderr).splitlines() if "srs" in line]
    assert verified.returncode == 0 and not said, f"systemd should have nothing to say: {said}"
    rated = analyze("security", "--offline=true", "--no-pager", "--threshold=20")
    assert rated.returncode == 0, f"its exposure should be 2.0 of 10 at most:\n{rated.stdout[-3000:]}"
