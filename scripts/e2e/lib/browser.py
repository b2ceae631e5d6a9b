"""Chromium on a page of ours, and what the page reports. Scripts come from npm, by scripts/test."""

import http.server
import json
import os
import shutil
import threading

from .server import ROOT
from .timing import scaled

SHELL = "/usr/lib/chromium/chromium-headless-shell"
MODULES = ROOT / "objs/node/node_modules"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --autoplay-policy=no-user-gesture-required --disable-dev-shm-usage"
)


def program():
    """Chromium's headless shell, the same engine without the browser's own windows and services: its start takes 0.2 s of a
    processor and not 1.5 s. Not by its name in PATH, a script that does not pass signals on. The whole browser where there is
    no shell; None where there is neither."""
    return SHELL if os.access(SHELL, os.X_OK) else shutil.which("chromium")


def is_there(*scripts):
    """Whether there is a Chromium, and these scripts below MODULES."""
    return program() and all((MODULES / script).exists() for script in scripts)


# For pages: tells the facts each so many ms, one report after the other; heard gets the commands that answer it.
REPORT = """<script>
async function reportEvery(ms, facts, heard = () => {}) {
    try {
        const answer = await fetch("/report", {method: "POST", body: JSON.stringify(facts())});
        (await answer.json()).forEach(heard);
    } catch {}
    setTimeout(() => reportEvery(ms, facts, heard), ms);
}
</script>"""


class Browser:
    """page: HTML that gets scripts by their path below MODULES, the source's URL by location.hash, and posts JSON to
    /report, by the function of REPORT or itself. flags: more of them for Chromium."""

    def __init__(self, tool, directory, page, source, flags=""):
        self.reports = []
        self.commands = []  # words for the page: the answer to its next report
        browser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                script = MODULES / self.path[1:]
                is_script = self.path.endswith(".js") and script.exists()
                body = script.read_bytes() if is_script else page.replace("<!doctype html>", "<!doctype html>" + REPORT, 1).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/javascript" if is_script else "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                browser.reports.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                body, browser.commands = json.dumps(browser.commands).encode(), []
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_address[1]}/#{source}"
        self.process = tool(self.words(directory / "profile", flags, url))

    def words(self, directory, flags, url):
        """Of the program, whose profile is in that directory."""
        return [program(), *FLAGS.split(), *flags.split(), f"--user-data-dir={directory}", url]

    def last(self):
        return self.reports[-1] if self.reports else None

    def close(self):
        self.process.process.terminate()
        self.process.process.wait(scaled(10))
        self.server.shutdown()
        self.server.server_close()
