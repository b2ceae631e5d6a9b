"""The sanitizer build: that it names planted defects (src/server/builds/planted_on.cpp) by their call stack within a coroutine, and
what --sanitizer-static and --sanitizer-log add."""

import re
import signal
import subprocess

import pytest

from lib import builds
from lib.builds import ENTRY, PLANTED, Build, PlantedServer, in_order
from lib.server import BINARY, OBJS
from lib.timing import wait_until

pytestmark = [
    pytest.mark.builds,
    pytest.mark.skipif(builds.settings(OBJS)["CONFIG_SANITIZER"] == "off", reason="of the sanitizer build"),
]


@pytest.fixture(scope="session")
def build():
    """The tested build once more, with both options: they change the link and one object."""
    return Build("sanitizer", "--sanitizer", "--sanitizer-static", "--sanitizer-log", shares=True)


@pytest.fixture
def planted(build, tmp_path):
    started = []

    def start(defect, binary=None):
        server = PlantedServer(tmp_path, build, "sanitizer", defect)
        server.words = [str(binary) if binary and word == str(build.binary) else word for word in server.words]
        started.append(server)
        return server.spawn()

    yield start
    for server in started:
        server.discard()


COMPILER = builds.settings(OBJS)["CONFIG_COMPILER"]
DEFECTS = {
    "overrun": "AddressSanitizer: heap-buffer-overflow",
    "use-after-free": "AddressSanitizer: heap-use-after-free",
    "null": {"gcc": "AddressSanitizer: SEGV on unknown address 0x000000000010", "clang": "runtime error: member access within null pointer"}[COMPILER],
    "overflow": "runtime error: signed integer overflow",
    "leak": "Direct leak of 1200 byte",
}


def run_to_its_end(server, defect):
    if defect == "leak":
        wait_until(lambda: "planted: done" in server.log(), 20, lambda: f"planted: done\n{server.evidence()}")
        server.signal(signal.SIGINT)
    code = server.wait_exit(30)
    assert code > 0, f"it should end with an error, it ended with {code}\n{server.evidence()}"


@pytest.mark.smoke
@pytest.mark.parametrize("defect", DEFECTS)
def test_it_names_a_defect(planted, defect):
    server = planted(defect, BINARY)
    run_to_its_end(server, defect)
    in_order([DEFECTS[defect], *PLANTED, *ENTRY], server.output(), "the report")
    last = re.search(rf"^ +#\d+ .*{ENTRY[-1]}.*\n(.*)", server.output(), re.MULTILINE)
    assert last and "#" not in last.group(1), f"nothing should follow {ENTRY[-1]}:\n{server.output()}"
    assert DEFECTS[defect] not in server.log(), f"only --sanitizer-log writes to the log:\n{server.log()}"


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_log_has_the_report(planted, defect):
    server = planted(defect)
    run_to_its_end(server, defect)
    in_order([DEFECTS[defect], *PLANTED, *ENTRY], server.log(), "the log")
    lines = [line for line in server.log().splitlines() if "planted_inner" in line]
    assert all("[error]" in line for line in lines), f"each line should be the log's:\n{server.log()}"


def test_without_a_defect_the_log_has_none(planted):
    server = planted("hot")
    wait_until(lambda: "planted: done" in server.log(), 30, lambda: f"planted: done\n{server.evidence()}")
    server.signal(signal.SIGINT)
    assert server.wait_exit(30) == 0 and "[error]" not in server.log(), server.evidence()


def test_static_links_the_libraries_in(build):
    def needs(binary):
        return subprocess.run(["readelf", "-d", binary], capture_output=True, check=True).stdout.decode()

    if COMPILER == "gcc":  # clang's are linked in anyway
        assert "libasan" in needs(BINARY) and "libubsan" in needs(BINARY), needs(BINARY)
    assert "libasan" not in needs(build.binary) and "libubsan" not in needs(build.binary), needs(build.binary)
