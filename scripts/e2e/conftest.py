"""End-to-end tests: the built server as a black box, between real and home-made publishers and players.

python -m pip install -r scripts/e2e/requirements.txt      and the Debian packages in scripts/e2e/packages.txt
python -m pytest scripts/e2e -n 8 --dist worksteal -m "not serial and not quiet and not builds"
python -m pytest scripts/e2e -n 6 --dist worksteal -m "quiet and not serial"
python -m pytest scripts/e2e -m "serial"

SRS_OBJS=dir            where srs and bench were built, default objs
SRS_MEDIA=dir           media files, default ../shared/media; equivalents are made where there are none
SRS_E2E_SLOW=3          time limits times 3, for a sanitizer build
SRS_E2E_VALGRIND=1      the server runs under valgrind; use with -m valgrind
SRS_E2E_FAILED=file     gets the names of tests that fail
"""

import itertools
import os

import pytest

from lib import certificates, homes, media, order, rtc, timing
from lib.ffmpeg import Process
from lib.server import BINARY, Server
from lib.watch import Watch


def pytest_sessionstart(session):
    if not BINARY.exists() and not session.config.option.collectonly:
        pytest.exit(f"no server at {BINARY}: build it, or say where it is with SRS_OBJS", returncode=2)


def pytest_runtest_logreport(report):
    """Called in xdist's workers, too."""
    if report.failed and "SRS_E2E_FAILED" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        with open(os.environ["SRS_E2E_FAILED"], "a") as names:
            print(os.path.join(os.path.relpath(os.path.dirname(__file__)), report.nodeid), file=names)


@pytest.hookimpl(tryfirst=True)  # before the choice by -m
def pytest_itemcollected(item):
    if homes.is_under_sanitizers(item):
        item.add_marker(pytest.mark.sanitizer)


@pytest.hookimpl(trylast=True)  # after the choice by -m and -k
def pytest_collection_modifyitems(config, items):
    if workers := getattr(config, "workerinput", {}).get("workercount"):
        items[:] = order.arranged(items, workers)


_shown = []  # what the running test can show when it fails


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for server in _shown:
            report.sections.append((f"server {server.dir}", f"{server.conf}\n{server.evidence()}"))


class Servers:
    """Makes servers, and at the end stops each and checks that it ended well."""

    def __init__(self, directory):
        self.directory = directory
        self.made = []
        self.count = itertools.count()

    def make(self, **options):
        server = Server(self.directory / f"server{next(self.count)}", **options)
        self.made.append(server)
        _shown.append(server)
        return server

    def __call__(self, *arguments, environment=None, **options):
        return self.make(**options).start(*arguments, **(environment or {}))

    def finish(self):
        problems = []
        for server in self.made:
            try:
                server.stop()
            except AssertionError as error:
                problems.append(str(error))
            server.discard()
            _shown.remove(server)
        assert not problems, "\n".join(problems)


@pytest.fixture
def servers(tmp_path):
    """Call it to have a server started: servers(top=..., http=..., vhosts=...)."""
    made = Servers(tmp_path)
    yield made
    made.finish()


@pytest.fixture
def server(servers):
    """A server with the tests' default configuration."""
    return servers()


@pytest.fixture
def tool(tmp_path):
    """Starts a program, and ends it with the test: tool(words)."""
    started = []

    def start(words):
        process = Process(words, tmp_path / f"tool{len(started)}.txt")
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def watch(tmp_path):
    """Starts a publisher with watching viewers: watch(server)."""
    started = []

    def start(server, **options):
        made = Watch(server, media.plain(), tmp_path, **options)
        started.append(made)
        timing.wait_until(
            lambda: all(made.seen(who) > 10 for who in Watch.VIEWERS),
            10,
            lambda: f"the viewers see the stream\n{made.errors.read_text()}",
        )
        return made

    yield start
    for made in started:
        made.stop()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A key and a self-signed certificate of 127.0.0.1 alone, as paths."""
    return certificates.make(tmp_path_factory.mktemp("tls"), subject="127.0.0.1")


@pytest.fixture
def pages(tool, tmp_path):
    """Opens the test page: pages(publish=..., play=...)."""
    opened = []

    def open_page(**wanted):
        opened.append(rtc.Page(tool, tmp_path / f"page{len(opened)}", **wanted))
        return opened[-1]

    yield open_page
    for page in opened:
        page.close()
