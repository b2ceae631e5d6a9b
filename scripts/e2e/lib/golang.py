"""Programs in Go, built by the first test that needs them."""

import fcntl
import json
import os
import re
import shutil
import subprocess

from .server import OBJS

# Debian's Go is older than the sources need; the module proxy has newer ones. Go checks what it gets there.
TOOLCHAIN_COPY = OBJS / "pion" / "go"
TOOLCHAIN = "golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64"


def is_there():
    return bool(shutil.which("go"))


def _go():
    """The program, of 1.21 or later: these fetch a newer toolchain themselves where a module needs one."""
    version = subprocess.run(["go", "version"], capture_output=True, text=True, check=True).stdout
    if int(re.search(r"go1\.(\d+)", version)[1]) >= 21:
        return "go"
    got = subprocess.run(["go", "mod", "download", "-json", TOOLCHAIN], cwd=OBJS, capture_output=True, text=True, check=False)
    assert got.returncode == 0, f"{version} is too old, and there is no {TOOLCHAIN}: {got.stdout}{got.stderr}"
    root = TOOLCHAIN_COPY
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(json.loads(got.stdout)["Dir"], root, copy_function=shutil.copyfile)
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o755)
        if folder.startswith((str(root / "bin"), str(root / "pkg/tool"))):
            for name in files:
                os.chmod(os.path.join(folder, name), 0o755)
    return str(root / "bin/go")


def build(source, program):
    """The program of the sources in a folder, newer than these."""
    TOOLCHAIN_COPY.parent.mkdir(parents=True, exist_ok=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    with (TOOLCHAIN_COPY.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for path in source.iterdir())
        if not program.exists() or program.stat().st_mtime < newest:
            environment = {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOROOT": ""}
            done = subprocess.run([_go(), "build", "-o", program, "."], cwd=source, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"go build in {source}: {done.stderr[-3000:]}"
    return program
