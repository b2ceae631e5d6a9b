"""Every directive of SRS 7, one by one: accepted, and in the state that doc/config.md tells of. directives.csv has each
with a value that would be missed, where it has no effect.

works   nothing is said of it
warns   it is accepted, and a line says that it has no effect, and why"""

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lib.server import BINARY, ROOT

TABLE = Path(__file__).with_name("directives.csv")
SHARED = ROOT.parent / "shared/interface/directives.csv"
# What a directive needs beside it in its block, or a block beside each of its directives.
BESIDE = {
    "vhost/hls/hls_keys": "hls_key_file [app]/[stream]-[seq].key; hls_key_file_path ./keys;",
    "http_api/auth/enabled": "username u; password p;",
    "http_api/auth/username": "password p;",
    "http_api/auth/password": "username u;",
    "rtc_server/black_hole/enabled": "addr 127.0.0.1:10000;",
    "rtmps/enabled": "listen 1443;",
    "rtmps/key": "listen 1443;",
    "rtmps/cert": "listen 1443;",
    "vhost/cluster/mode": "origin 127.0.0.1:1935;",
}
WITHOUT_ENABLED = {
    "rtmp", "vhost", "vhost/play", "vhost/publish", "vhost/cluster", "vhost/ingest/input", "vhost/ingest/engine",
    "vhost/transcode/engine/perfile", "vhost/transcode/engine/vfilter", "vhost/transcode/engine/vparams", "vhost/transcode/engine/aparams",
}  # fmt: skip
NAMED = {"vhost": "__defaultVhost__", "ingest": "live", "transcode": "live", "engine": "live"}
# Of what is switched off nothing is missing.
OFF = {"stats/enabled"}
# It has no effect with either value, and no operator misses one: no line says so.
NO_WARNING = {"empty_ip_ok"}


def table():
    with TABLE.open() as file:
        return {row["directive"]: row["value"] for row in csv.DictReader(file)}


def states():
    """By the documentation: path -> warns, or works."""
    found, scope, block_warns = {}, "", False
    for line in (ROOT / "doc/config.md").read_text().splitlines():
        if line.startswith("## "):
            scope = "" if line == "## Outside of blocks" else line[3:].removesuffix(" NAME") + "/"
            block_warns = False
        elif "No effect:" in line and not line.startswith("|"):
            block_warns = True
            found[scope] = "warns"
        elif line.startswith("Any directives:"):
            found.setdefault(scope, "works")
        elif row := re.match(r"\| `([^`]+)` \|", line):
            found[scope + row[1]] = "warns" if "No effect:" in line or block_warns else "works"
    return found


def state_of(path, documented):
    """Of what a tool is handed, the block's."""
    top = {"listen": "rtmp/listen", "chunk_size": "rtmp/chunk_size"}.get(path, path)
    return documented.get(top) or documented.get(path.rpartition("/")[0] + "/")


def configuration(path, value):
    *blocks, name = path.split("/")
    text = f"{name} {value}; {BESIDE.get(path, '')}"
    for depth in range(len(blocks), 0, -1):
        scope, block = "/".join(blocks[:depth]), blocks[depth - 1]
        enabled = "" if scope in WITHOUT_ENABLED or path == f"{scope}/enabled" else "enabled on;"
        text = f"{block} {NAMED.get(block, '')} {{ {enabled} {text} }}"
    lines = [text]
    if path not in ("rtmp/listen",):
        lines.append("listen 1935;")
    if path.startswith("vhost/rtc/"):
        lines.append("rtc_server { enabled on; }")
    if not path.startswith("vhost/"):
        lines.append("vhost __defaultVhost__ { }")
    return "\n".join(lines) + "\n"


def test_the_table_is_whole():
    if not SHARED.exists():
        pytest.skip("the interface's own table is not here")
    with SHARED.open() as file:
        wanted = {("" if row["section"] == "global" else row["section"] + "/") + row["directive"] for row in csv.DictReader(file)}
    assert wanted - {"include"} == set(table()), wanted ^ set(table())


def test_every_directive_is_in_the_state_that_is_documented(tmp_path, certificate):
    (tmp_path / "conf").mkdir()
    for file, name in zip(certificate, ("server.key", "server.crt")):
        shutil.copy(file, tmp_path / "conf" / name)
    documented, wrong = states(), []
    conf = tmp_path / "one.conf"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SRS_")}
    for path, value in table().items():
        wanted = "works" if path in OFF | NO_WARNING else state_of(path, documented)
        conf.write_text(configuration(path, value))
        done = subprocess.run(
            [str(BINARY), "-t", "-c", conf], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )
        # Of what a tool is handed the block is named.
        names = rf"({re.escape(path)}|{re.escape(path.rpartition('/')[0])})\b"
        warning = rf"no effect of .*{names}|{re.escape(path.rpartition('/')[2])} \S+ has no effect"
        told = any(re.search(warning, line) for line in done.stderr.splitlines())
        came = "refused" if done.returncode else "warns" if told else "works"
        if came != wanted:
            wrong.append(f"{path} should be one that {wanted}, it {came}:\n{done.stderr}{conf.read_text()}")
    assert not wrong, "\n".join(wrong)
