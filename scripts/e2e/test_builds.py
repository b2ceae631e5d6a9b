"""The diagnostic builds: what ./configure says about them, and that each one finds the defect it is for. Each is started and
its result is read by the lines that ./configure prints; the defects are planted (src/server/builds/planted_on.cpp) and run in a
coroutine, so that the call stacks are a coroutine's."""

import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

from lib import api, builds, http, media, publishing, rtmp
from lib.builds import ENTRY, PLANTED, Build, PlantedServer, in_order
from lib.server import BINARY, OBJS, ROOT, VALGRIND_EXIT
from lib.timing import wait_until

SETTINGS = builds.settings(OBJS)
pytestmark = [
    pytest.mark.builds,
    pytest.mark.skipif(SETTINGS["CONFIG_SANITIZER"] == "on", reason="of the normal build; test_builds_sanitizer.py"),
]

# Name: options, and how it is built.
SHARES = {"shares": True}
# Compiled anew: one build for two, and without the services that their tests do not need.
ANEW = {"services": ["rtmp", "http_server", "api"]}
BUILDS = {
    "gperf": (["--gperf"], SHARES),
    "gcp": (["--gperf", "--gcp"], SHARES),
    "gmp": (["--gperf", "--gmp"], SHARES),
    "gmc": (["--gperf", "--gmc"], SHARES),
    "gmd": (["--gperf", "--gmd"], SHARES),
    "gprof": (["--gprof", "--gcov"], ANEW),
    "gcov": (["--gprof", "--gcov"], ANEW),
    "valgrind": (["--valgrind"], SHARES),
}
HOT = ["planted_spin", *PLANTED]


@pytest.fixture(scope="session")
def build():
    """A build by its name, made when it is first asked for."""
    made = {}

    def get(name):
        options, how = BUILDS[name]
        key = tuple(options)
        if key not in made:
            made[key] = Build(name, *options, **how)
        return made[key]

    return get


@pytest.fixture
def planted(build, tmp_path):
    """Starts the server of a build: planted("gcp", "hot")."""
    started = []

    def start(name, defect=None, under=(), wait=True, **options):
        server = PlantedServer(tmp_path / f"{name}{len(started)}", build(name), name, defect, under, tank="console", **options)
        started.append(server)
        server.spawn()
        return wait_listening(server) if wait else server

    yield start
    for server in started:
        server.discard()


def wait_listening(server):
    def runs():
        assert server.alive(), f"it should run; it said\n{server.output()}"
        return "the server runs" in server.output()

    wait_until(runs, 60, lambda: f"the server runs\n{server.output()}")
    return server


def wait_planted(server, what="done", seconds=20):
    wait_until(lambda: f"planted: {what}" in server.output(), seconds, lambda: f"planted: {what}\n{server.output()}")


def read(server, build, option, *more, instead=None):
    """What the line to read the result prints, run where the server ran; more: options for its program."""
    line = build.line(option, "read")
    for old, new in (instead or {}).items():
        assert old in line, f"{line} should have {old} in it"
        line = line.replace(old, new)
    words = line.split()
    code, output = builds.run(["sh", "-c", " ".join([words[0], *more, *words[1:]])], server.dir)
    assert code == 0, f"{line} should succeed, it printed\n{output}"
    return output


# ---- configure


@pytest.mark.smoke
def test_each_option_is_explained():
    code, text = builds.configure("--help")
    assert code == 0, text
    for option in [*BUILDS, "sanitizer", "sanitizer-static", "sanitizer-log"]:
        assert re.search(rf"^  --{option}=on\|off +\S.*\(off\)$", text, re.MULTILINE), f"--{option} in\n{text}"


@pytest.mark.smoke
@pytest.mark.parametrize(
    "options, reason",
    [
        ("gcp", "--gcp needs --gperf=on: "),
        ("gmp", "--gmp needs --gperf=on: "),
        ("gmc", "--gmc needs --gperf=on: "),
        ("gmd", "--gmd needs --gperf=on: "),
        ("sanitizer-static", "--sanitizer-static needs --sanitizer=on: "),
        ("sanitizer-log", "--sanitizer-log needs --sanitizer=on: "),
        ("gperf gmc gmp", "--gmc and --gmp cannot be together: "),
        ("sanitizer gperf", "--sanitizer and --gperf cannot be together: "),
        ("sanitizer valgrind", "--sanitizer and --valgrind cannot be together: "),
        ("gperf valgrind", "--gperf and --valgrind cannot be together: "),
        ("gperf gcp gprof", "--gprof and --gcp cannot be together: "),
    ],
)
def test_what_cannot_be_together_is_refused(options, reason, tmp_path):
    code, text = builds.configure(f"--objs={tmp_path}", *(f"--{option}=on" for option in options.split()))
    assert code == 1 and re.search(rf"^configure: error: {reason}\w+", text), f"{options}: {code}, {text}"
    assert not (tmp_path / "config.mk").exists(), "nothing should be configured"


@pytest.mark.smoke
def test_what_is_missing_is_named(tmp_path):
    """All of it, with the line to install it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for entry in os.scandir(directory):
            if not re.match(r"(google-)?pprof$|gcovr$|gprof$", entry.name) and not (programs / entry.name).is_symlink():
                (programs / entry.name).symlink_to(entry.path)
    environment = {**os.environ, "PATH": str(programs)}
    code, text = builds.configure("--gperf", "--gprof", "--gcov", f"--objs={tmp_path}/objs", environment=environment)
    assert code == 1, text
    assert re.search(r"apt-get install .* google-perftools binutils gcovr$", text, re.MULTILINE), text


@pytest.mark.smoke
def test_the_manual_has_the_same_lines():
    table = subprocess.run(
        ["sh", "-c", ". scripts/configure/diagnostics.sh; diagnostics_table"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    assert table in (ROOT / "doc/building.md").read_text(), f"doc/building.md should have this table:\n{table}"


# ---- The normal build


@pytest.mark.smoke
@pytest.mark.skipif(SETTINGS["CONFIG_DEBUG"] == "on", reason="the debug build plants defects")
def test_the_normal_build_has_none_of_it(servers):
    symbols = subprocess.run(["nm", "-C", BINARY], capture_output=True, check=True).stdout.decode()
    assert "server::plant_defect" in symbols, "nm should show the server's functions"
    for name in ("planted_inner", "planted_entry", "ProfilerStart", "HeapProfilerStart", "mcount", "__gcov", "__asan"):
        assert name not in symbols, f"the normal build should not have {name}"
    assert b"PLANT_DEFECT" not in BINARY.read_bytes(), "it should not know PLANT_DEFECT"
    server = servers(environment={"PLANT_DEFECT": "overrun"})
    mapped = open(f"/proc/{server.pid}/maps").read()
    assert not re.search("tcmalloc|profiler|asan", mapped), f"it should link no diagnostic library:\n{mapped}"
    server.stop()
    assert "planted" not in server.log() and not list(server.dir.glob("g*")), server.evidence()


# ---- What each one finds


@pytest.mark.parametrize("name", [name for name in BUILDS if name != "valgrind"])
def test_it_serves_and_ends_well(planted, name):
    """Under the profilers' signals too."""
    server = planted(name)
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        watcher = publishing.Collector(rtmp.player(server, "live", "s"))
        wait_until(lambda: len(watcher.tags) > 60, 20, lambda: f"{len(watcher.tags)} of 60 tags\n{server.output()}")
        code = server.end(signal.SIGINT)
    assert code == 0 and "[error]" not in server.output(), f"exit code {code}\n{server.output()}"


@pytest.mark.smoke
def test_gperf_links_tcmalloc(planted):
    server = planted("gperf")
    assert "libtcmalloc.so" in open(f"/proc/{server.pid}/maps").read()
    assert server.end(signal.SIGINT) == 0


@pytest.mark.smoke
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=["INT", "QUIT"])
def test_gcp_shows_the_hot_function(planted, build, number):
    server = planted("gcp", "hot")
    wait_planted(server)
    assert server.end(number) == 0, server.output()
    text = read(server, build("gcp"), "gcp")
    top = re.search(r"^Total: \d+ samples\n *\d+ +[\d.]+% .*$", text, re.MULTILINE)
    assert top and "planted_spin" in top.group(0), f"planted_spin should be on top:\n{text}"
    svg = read(server, build("gcp"), "gcp", instead={"--text": "--svg"})
    assert "<svg" in svg and "planted_spin" in svg, f"a drawing with planted_spin should come:\n{svg[:2000]}"


def profile_stacks(text):
    """Those that `pprof --text --stacks --lines` prints: names, innermost first."""
    stacks = []
    for block in re.findall(r"^\d+ +\(\w+\) .*(?:\n +\(\w+\) .*)*", text, re.MULTILINE):
        stacks.append([re.sub(r".*\) ", "", line) for line in block.splitlines()])
    return stacks


def assert_whole(stacks, who):
    """Each with the hot function is its whole chain, and ends where its coroutine does."""
    hot = [stack for stack in stacks if any("planted_spin" in name for name in stack)]
    assert len(hot) >= 5, f"{who}: 5 stacks with planted_spin should be there, of {len(stacks)} there are {len(hot)}"
    for stack in hot:
        in_order([*HOT, *ENTRY], "\n".join(stack), who)
        assert ENTRY[-1] in stack[-1], f"{who}: nothing should follow {ENTRY[-1]}:\n" + "\n".join(stack)
    for stack in stacks:
        if any(ENTRY[0] in name for name in stack):
            assert ENTRY[-1] in stack[-1], f"{who}: nothing should follow {ENTRY[-1]}:\n" + "\n".join(stack)


def test_gcp_stacks_are_whole(planted, build):
    server = planted("gcp", "hot")
    wait_planted(server)
    assert server.end(signal.SIGINT) == 0, server.output()
    assert_whole(profile_stacks(read(server, build("gcp"), "gcp", "--stacks")), "gperf")


@pytest.mark.parametrize("method", ["fp", "dwarf"])
def test_perf_stacks_are_whole(planted, build, method, tmp_path):
    data = tmp_path / "perf.data"
    record = ["perf", "record", "-F", "499", "--call-graph", method, "-o", data]
    code, text = builds.run([*record, "true"], tmp_path)
    if code != 0:
        pytest.skip(f"perf may not sample here, gperf alone shows it: {text.strip().splitlines()[-1:]}")
    server = planted("gperf", "hot", under=[*map(str, record), "--"])
    wait_planted(server)
    # perf passes it on to nobody: the server is told itself, and perf ends with it.
    os.kill(int(server.pid_path.read_text()), signal.SIGINT)
    assert server.wait_exit(30) == 0, server.output()
    code, text = builds.run(["perf", "script", "-i", str(data), "-F", "ip,sym"], tmp_path, 120)
    stacks = [[line.strip() for line in block.splitlines()] for block in text.split("\n\n") if block.strip()]
    assert_whole(stacks, f"perf --call-graph {method}")


@pytest.mark.smoke
def test_gmp_shows_who_holds_memory(planted, build):
    server = planted("gmp", "held")
    wait_planted(server, "held")
    assert server.end(signal.SIGINT) == 0, server.output()
    text = read(server, build("gmp"), "gmp", "--stacks")
    held = [stack for stack in profile_stacks(text) if any("planted_inner" in name for name in stack)]
    assert held, f"a stack with planted_inner should be there:\n{text}"
    in_order([*PLANTED, *ENTRY], "\n".join(held[0]), "gmp")
    svg = read(server, build("gmp"), "gmp", instead={"--text": "--svg"})
    assert "<svg" in svg and "planted_inner" in svg, f"a drawing with planted_inner should come:\n{svg[:2000]}"


@pytest.mark.parametrize("name", ["gmp", "gperf"])
def test_the_api_shows_the_heap(planted, build, tmp_path, name):
    """All since the start where the profiler runs anyway; else what has come since it was asked."""
    server = planted(name, "held" if name == "gmp" else None, top=api.CONF % "debug on;")
    clients = []
    if name == "gmp":
        wait_planted(server, "held")
    with http.Connection(server.api_port, timeout=30) as connection:
        connection.request("GET", "/api/v1/debug/pprof/heap?seconds=2")
        time.sleep(0.5)
        for _ in range(50 if name == "gperf" else 0):
            clients.append(rtmp.Client("127.0.0.1", server.rtmp_port).handshake())
        response = connection.read_response()
    for client in clients:
        client.close()
    assert response.status == 200, response.describe()
    (tmp_path / "heap").write_bytes(response.body)
    code, text = builds.run([build(name).objs / "pprof", "--text", "--stacks", "--lines", build(name).binary, tmp_path / "heap"], tmp_path)
    wanted = [*PLANTED, *ENTRY] if name == "gmp" else ["service::rtmp::", *ENTRY]
    found = [stack for stack in profile_stacks(text) if any(wanted[0] in one for one in stack)]
    assert code == 0 and found, f"a stack with {wanted[0]} should be there:\n{text[:5000]}"
    in_order(wanted, "\n".join(found[0]), "the heap by the API")


@pytest.mark.smoke
def test_gmc_names_a_leak(planted):
    server = planted("gmc", "leak")
    wait_planted(server)
    code = server.end(signal.SIGINT, 60)
    text = server.output()
    assert code == 1 and "detected leaks of 1200 bytes in 1 objects" in text, f"exit code {code}\n{text}"
    in_order(["Leak of 1200 bytes in 1 objects", *PLANTED, *ENTRY], text, "gmc")


def test_gmc_finds_none(planted):
    server = planted("gmc")
    code = server.end(signal.SIGINT, 60)
    assert code == 0 and "No leaks found" in server.output(), f"exit code {code}\n{server.output()}"


@pytest.mark.smoke
def test_gmd_stops_at_an_overrun(planted, build):
    server = planted("gmd", "overrun", wait=False)
    assert server.wait_exit(20) == -signal.SIGSEGV, server.output()
    assert "coroutine planted" in server.output(), f"the log should name the coroutine:\n{server.output()}"
    # The same again, under gdb.
    line = build("gmd").line("gmd", "read").replace(builds.CONF, str(server.conf_path))
    code, text = builds.run(["env", "PLANT_DEFECT=overrun", *shlex.split(line)], server.dir)
    in_order(["SIGSEGV", *PLANTED, *ENTRY], text, "gdb")
    assert re.search(rf"#\d+ .*{ENTRY[-1]}[^#]*\Z", text), f"nothing should follow {ENTRY[-1]}:\n{text}"


@pytest.mark.smoke
def test_gprof_shows_the_hot_function(planted, build):
    server = planted("gprof", "hot")
    wait_planted(server)
    assert server.end(signal.SIGINT) == 0, server.output()
    text = read(server, build("gprof"), "gprof")
    flat = re.search(r"calls .*name *\n(.*)", text)
    assert flat and "planted_spin" in flat.group(1), f"planted_spin should be on top:\n{text[:3000]}"
    calls = re.search(r"planted_outer.*\n(?:.*\n)?\[\d+\].*planted_inner.*\n.*planted_spin", text)
    lines = "\n".join(line for line in text.splitlines() if "planted" in line)
    assert calls, f"planted_outer should call planted_inner, and that planted_spin; of them gprof says:\n{lines}"


@pytest.mark.smoke
def test_gcov_counts_lines(planted, build):
    made = build("gcov")
    for old in (made.objs / "obj").rglob("*.gcda"):
        old.unlink()
    server = planted("gcov", "leak")
    wait_planted(server)
    assert server.end(signal.SIGINT) == 0, server.output()
    code, text = builds.run(shlex.split(made.line("gcov", "read")), made.tree, 300)
    assert code == 0 and re.search(r"^src/server/builds/planted_on.cpp +\d+ +\d+ +\d+%", text, re.MULTILINE), text[-3000:]
    assert (made.objs / "coverage/index.html").stat().st_size > 1000, "the lines should be written"
    code, text = builds.run(
        ["gcovr", "-r", ".", "-f", "src/server/builds/planted_on.cpp", "--json", "-", f"{made.objs}/obj/src/server/builds"], made.tree
    )
    lines = {line["line_number"]: line["count"] for line in json.loads(text)["files"][0]["lines"]}
    source = (ROOT / "src/server/builds/planted_on.cpp").read_text().splitlines()
    counts = {
        what: lines[next(number for number, line in enumerate(source, 1) if what in line)]
        for what in ("new char[kBlock]", "blind[kBlock] = 'o'")
    }
    assert list(counts.values()) == [1, 0], f"the leak's line ran once and the overrun's never: {counts}"


# ---- valgrind


def test_valgrind_finds_nothing_without_a_defect(planted):
    """With coroutines at work, and what is still there at the end known to somebody."""
    server = planted("valgrind")
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        watcher = publishing.Collector(rtmp.player(server, "live", "s", timeout=60))
        wait_until(lambda: len(watcher.tags) > 30, 60, lambda: f"{len(watcher.tags)} of 30 tags\n{server.output()}")
        code = server.end(signal.SIGINT, 60)
    text = server.output()
    assert code == 0 and "ERROR SUMMARY: 0 errors" in text, f"exit code {code}\n{text}"
    assert re.search("definitely lost: 0 bytes", text), text


def test_valgrind_needs_to_know_the_stacks(planted, build, tmp_path):
    """So the flag does something: in the normal build, which does not tell, it sees errors where there are none."""
    server = PlantedServer(tmp_path, build("valgrind"), "valgrind", tank="console")
    words = [str(BINARY) if word == str(build("valgrind").binary) else word for word in server.words]
    assert words != server.words, server.words
    server.words = [word for word in words if not word.startswith("--max-stackframe")]
    try:
        wait_listening(server.spawn())
        server.end(signal.SIGINT, 60)
        assert re.search("ERROR SUMMARY: [1-9]", server.output()), server.output()
    finally:
        server.discard()


@pytest.mark.smoke
@pytest.mark.parametrize(
    "defect, report",
    [
        ("overrun", "Invalid write of size 1"),
        ("use-after-free", "Invalid read of size 1"),
        ("undefined", "Conditional jump or move depends on uninitialised value"),
        ("leak", "1,200 bytes in 1 blocks are definitely lost"),
    ],
)
def test_valgrind_names_a_defect(planted, defect, report):
    server = planted("valgrind", defect)
    wait_planted(server, seconds=60)
    code = server.end(signal.SIGINT, 60)
    assert code == VALGRIND_EXIT, f"the exit code should be {VALGRIND_EXIT}, it is {code}\n{server.output()}"
    text = server.output()
    in_order([report, *PLANTED, *ENTRY], text, "valgrind")
    assert re.search(r"ERROR SUMMARY: 1 errors from 1 contexts", text), f"there should be one error:\n{text}"


def test_valgrind_sees_what_a_waiting_coroutine_holds(planted):
    server = planted("valgrind", "held")
    wait_planted(server, "held", seconds=60)
    code = server.end(signal.SIGINT, 60)
    text = server.output()
    assert code == 0 and "definitely lost: 0 bytes" in text and "possibly lost: 0 bytes" in text, text
    held = int(re.search(r"still reachable: ([\d,]+) bytes", text).group(1).replace(",", ""))
    assert held > 1200, f"the 1,200 bytes it holds should be reachable:\n{text}"
