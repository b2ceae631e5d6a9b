"""Builds of the server with other options of ./configure, beside the one that is tested. Those whose compiler flags are
the same share its objects, so that they cost little more than a link."""

import fcntl
import os
import re
import shlex
import shutil
import subprocess

from .server import OBJS, ROOT, VALGRIND_COMMAND, Server
from .timing import scaled

PLANTED = ["planted_inner", "planted_outer", "planted_entry"]
# What every coroutine's stack ends in.
ENTRY = ["runtime_coroutine_main", "first_frame"]
CONF = "conf/console.conf"  # in what configure prints


def relative(path):
    """As make and configure are told it: the tested build's objects know their sources by such paths."""
    return os.path.relpath(path, ROOT) if path.is_relative_to(ROOT) else str(path)


def copy_without(services, tree):
    """What the server is made of, without these folders of src/service and their lines in src/server/services.inc."""
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in ("src", "scripts/configure"):
        shutil.copytree(ROOT / name, tree / name)
    for name in ("Makefile", "configure", "scripts/batches.awk", "scripts/includes.awk"):
        shutil.copy2(ROOT / name, tree / name)
    table = tree / "src/server/services.inc"
    lines = table.read_text().splitlines(keepends=True)
    for service in services:
        assert f"SERVICE({service})\n" in lines, f"{service} should be in {table}"
        lines.remove(f"SERVICE({service})\n")
        shutil.rmtree(tree / "src/service" / service)
    table.write_text("".join(lines))


def all_services():
    return re.findall(r"^SERVICE\((\w+)\)$", (ROOT / "src/server/services.inc").read_text(), re.MULTILINE)


def settings(objs):
    lines = (objs / "config.mk").read_text().splitlines()
    return dict(line.split(" := ", 1) if " := " in line else (line.rstrip(" :="), "") for line in lines[1:])


def configure(*options, environment=None, tree=ROOT):
    """Exit code and output."""
    done = subprocess.run(
        ["./configure", *options],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")


def run(words, directory, seconds=60, **environment):
    """What a tool prints: exit code, output."""
    done = subprocess.run(
        words,
        cwd=directory,
        env={**{k: v for k, v in os.environ.items() if not k.startswith("SRS_")}, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=scaled(seconds),
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")


class Build:
    """tree: its sources; objs; summary: what configure printed at its end.

    shares: it takes over the objects of the tested build, whose compiler flags it has.
    services: those that it has, where it is compiled anew; a copy of the tree without the others is made.
    """

    def __init__(self, name, *options, shares=False, services=None):
        self.tree = ROOT
        self.objs = OBJS / "builds" / name
        self.objs.mkdir(parents=True, exist_ok=True)
        with (OBJS / "builds" / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if services:
                self.tree = self.objs / "tree"
                copy_without([one for one in all_services() if one not in services], self.tree)
            options = [*shlex.split(settings(OBJS)["CONFIGURE_ARGUMENTS"]), *options]
            self._make([*options, f"--objs={self._place()}"], shares)

    def _place(self):
        return relative(self.objs) if self.tree == ROOT else str(self.objs)

    def _make(self, options, shares):
        code, output = configure(*options, tree=self.tree)
        assert code == 0, f"./configure {' '.join(options)} should succeed, it printed\n{output}"
        self.summary = output.partition("To build:")[2]
        words = ["make", f"-j{settings(OBJS)['CONFIG_JOBS']}", f"OBJS={self._place()}", "program"]
        code, output = run(words + ([f"OBJDIR={relative(OBJS)}/obj"] if shares else []), self.tree, 900)
        assert code == 0, f"{' '.join(words)} should succeed, it printed\n{output[-5000:]}"

    @property
    def binary(self):
        return self.objs / "srs"

    def line(self, option, what):
        """What configure printed to start the server, or to read the result."""
        part = re.split(r"^--(\w+) finds.*$", self.summary, flags=re.MULTILINE)
        text = dict(zip(part[1::2], part[2::2]))
        assert option in text, f"--{option} should be explained in\n{self.summary}"
        found = re.search(rf"^    {what}: *(.+)$", text[option], re.MULTILINE)
        assert found, f"--{option} should say how to {what} in\n{self.summary}"
        return re.sub(rf"\./{re.escape(relative(self.objs))}\b", str(self.objs), found.group(1))


class PlantedServer(Server):
    """Started by the line that configure prints; it may end as it likes. defect: what PLANT_DEFECT says."""

    def __init__(self, directory, build, option, defect=None, under=(), **options):
        super().__init__(directory, **options)
        line = build.line(option, "start")
        assert CONF in line, f"{line} should have {CONF} in it"
        self.words = [*under, *shlex.split(line.replace(CONF, str(self.conf_path)))]
        if self.words[0] == "valgrind":
            self.words[:1] = VALGRIND_COMMAND
        self.defect = {"PLANT_DEFECT": defect} if defect else {}

    def command(self, *_):
        return self.words

    def environment(self, **more):
        return super().environment(**self.defect, **more)

    def end(self, number, seconds=30):
        """Its exit code after that signal."""
        self.signal(number)
        return self.wait_exit(seconds)


def in_order(names, text, who):
    """Each name on a later line than the one before."""
    lines = iter(text.splitlines())
    for name in names:
        assert any(name in line for line in lines), f"{who}: {' < '.join(names)} should be there in this order:\n{text}"
