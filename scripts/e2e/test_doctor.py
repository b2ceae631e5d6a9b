"""objs/srs doctor: a row for each thing it looks at, what to change, and the exit code."""

import os
import re
import socket
import subprocess

import pytest

from lib import certificates, ports
from lib.server import run_once

ROWS = ["open files", "receive buffers", "send buffers", "listen backlog", "local ports", "memory mappings", "port",
        "disk", "clock source", "clock", "CPU governor", "CPU pinning", "sender threads", "interrupts"]  # fmt: skip
ROW = re.compile(r"^(good|better|BAD|unknown)\s+(\S.{15}) (.*)$")


class Report:
    def __init__(self, text):
        self.text = text
        self.rows = []  # (verdict, check, text, fix)
        for line in text.splitlines():
            if found := ROW.match(line):
                self.rows.append([found.group(1), found.group(2).strip(), found.group(3), ""])
            elif line.strip().startswith("-> "):
                self.rows[-1][3] = line.strip().removeprefix("-> ")

    def of(self, check, text=""):
        found = [row for row in self.rows if row[1] == check and text in row[2]]
        assert len(found) == 1, f"one row {check!r} with {text!r} was expected:\n{self.text}"
        return found[0]


@pytest.fixture
def doctor(tmp_path):
    """Runs it on a configuration: doctor(text) gives the exit code and its Report."""
    taken = ports.take(2)

    def run(more="", connections=100):
        conf = tmp_path / "t.conf"
        conf.write_text(
            f"listen 127.0.0.1:{taken[0]};\nsrs_log_tank console;\nmax_connections {connections};\n"
            f"work_dir {tmp_path};\nvhost __defaultVhost__ {{ }}\n" + more.replace("PORT", str(taken[1]))
        )
        code, text = run_once("doctor", "-c", str(conf), directory=tmp_path, seconds=30)
        return code, Report(text)

    run.ports = taken
    yield run
    ports.release(taken)


def test_every_row_is_there(doctor):
    code, report = doctor()
    for check in ROWS:
        assert any(row[1] == check for row in report.rows), f"a row {check!r} was expected:\n{report.text}"
    for verdict, check, text, fix in report.rows:
        assert text, f"{check} says nothing"
        assert bool(fix) == (verdict in ("better", "BAD")), f"what can be changed has a command: {check}: {text}"
    last = report.text.splitlines()[-1]
    counts = {word: sum(row[0] == word for row in report.rows) for word in ("good", "better", "BAD", "unknown")}
    assert last == (
        f"{counts['good']} good, {counts['better']} could be better, {counts['BAD']} bad, {counts['unknown']} not known"
    ), f"{last}\n{counts}"
    assert code == (1 if counts["BAD"] else 0), f"exit code {code}:\n{report.text}"
    assert report.of("port")[0] == "good", report.text


def test_a_port_in_use(doctor):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", doctor.ports[0]))
        other.listen()
        code, report = doctor()
    verdict, _, text, fix = report.of("port")
    assert code == 1 and verdict == "BAD", f"exit code {code}:\n{report.text}"
    assert "in use by python" in text and str(doctor.ports[0]) in fix, f"who has it, and how to look: {text}, {fix}"


def test_too_few_open_files(doctor):
    code, report = doctor(connections=1_000_000)
    verdict, _, text, fix = report.of("open files")
    assert code == 1 and verdict == "BAD" and "1001124 wanted" in text and "1001124" in fix, report.text


def test_sender_threads(doctor):
    """More of them than processors beside the loop's; by default there are not."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        code, report = doctor("sender_threads 2;")
        found = report.of("sender threads")
        assert code == 0 and found[0] == "better" and found[2].startswith("2 beside the loop, on 1 usable"), report.text
        assert found[3] == "sender_threads 0; or auto", report.text
        _, report = doctor()
        assert report.of("sender threads")[0] == "good", report.text
    finally:
        os.sched_setaffinity(0, before)


def test_certificates(doctor, tmp_path):
    long_key, long_cert = certificates.make(tmp_path, "long", days=90)
    _, short_cert = certificates.make(tmp_path, "short", days=5)

    def look(key, cert):
        code, report = doctor(f"rtmps {{ enabled on; listen 127.0.0.1:PORT; key {key}; cert {cert}; }}")
        return code, report.of("certificate"), report.text

    code, row, text = look(long_key, long_cert)
    assert code == 0 and row[0] == "good" and re.search("good for (89|90) days", row[2]), text
    code, row, text = look(tmp_path / "short.key", short_cert)
    assert code == 0 and row[0] == "better" and re.search("ends in [45] days", row[2]), text
    code, row, text = look(long_key, short_cert)
    assert code == 1 and row[0] == "BAD" and "is not its key" in row[2], text
    code, row, text = look(long_key, tmp_path / "none.crt")
    assert code == 1 and row[0] == "BAD" and "No such file" in row[2] and row[3], text


def test_directories_of_services(doctor, tmp_path):
    """One that does not exist yet is in one that does, whose row stands for both."""
    (tmp_path / "rec").mkdir()
    dvr, hls = "dvr { enabled on; dvr_path rec/[stream].flv; }", "hls { enabled on; hls_path html; }"
    code, report = doctor(f"vhost v {{ {dvr} {hls} }}")
    assert report.of("disk", "vhost v dvr_path in rec")[0] in ("good", "better"), report.text
    assert [row[2].split(":")[0] for row in report.rows if row[1] == "disk"] == ["work_dir in .", "vhost v dvr_path in rec"], report.text
    assert code == 0, report.text


def test_without_a_configuration(tmp_path):
    (tmp_path / "objs").mkdir()
    _, text = run_once("doctor", directory=tmp_path, seconds=30)
    assert "rtmp/listen 1935" in Report(text).of("port")[2], text


def test_a_broken_configuration_is_said(tmp_path):
    (tmp_path / "t.conf").write_text("lisen 1935;\n")
    code, text = run_once("doctor", "-c", "t.conf", directory=tmp_path)
    assert code == 1 and "t.conf:1: error: unknown directive 'lisen'" in text, text
