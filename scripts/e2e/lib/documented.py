"""Runs a document's commands as a user would, in a directory like a clone of the repository, beside a server of their
own: with other ports, files of two seconds, and FFmpeg's programs in front that end by themselves."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

from . import ffmpeg, http, media, ports
from .server import BINARY, ROOT, can_connect
from .timing import scaled, wait_until

SECONDS = 20  # that a command may take
# In the order in which Sandbox.ports has them.
PORTS = {"rtmp": 1935, "http": 8080, "api": 1985, "rtc": 8000, "https": 8443, "rtsp": 8554, "srt": 10080, "flv": 8936, "gb": 9000}
PLAYER = re.compile(r"(?:(?:rtmp|rtsp|https?)://127\.0\.0\.1:\d+/(?!api/|rtc/)|srt://127\.0\.0\.1:\d+\?streamid=#!::r=)([\w/]+)/(\w+)(?:\.\w+)?")
PUBLISHES = re.compile(r"-f (?:mpegts \S*:r=([\w/]+)/(\w+),m=publish|(?:flv|whip|rtsp -rtsp_transport \w+)\s+\S*?(?:://[^/]+/(?:rtc/v1/whip/\?app=(\w+)&stream=(\w+)|([\w/]+)/(\w+))))")
ENDS = r"kill -(TERM|QUIT|INT)\b"
WRAPPERS = {
    # Debian's FFmpeg has neither WHIP nor several tracks by RTMP.
    "ffmpeg": 'case "$*" in *whip*|*"-map 0:a:1"*) program={new};; *) program={old};; esac\n'
    'exec "$program" -nostdin -hide_banner -loglevel error "$@"',
    # It would play until somebody closes its window: it has done enough when it shows what the stream is.
    "ffplay": """export SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy
log=$(mktemp)
{ffplay} -hide_banner -autoexit -probesize 100000 -analyzeduration 500000 "$@" >"$log" 2>&1 &
for _ in $(seq 150); do
    grep -q 'Stream #0' "$log" || ! kill -0 $! 2>/dev/null && break
    sleep 0.1
done
kill $! 2>/dev/null
cat "$log"
grep -q 'Stream #0' "$log" """,
    "curl": 'exec {curl} --fail-with-body --max-time 10 --noproxy "*" "$@"',
    "python3": 'exec {python} "$@"',
}


class Sandbox:
    def __init__(self, directory, certificate):
        self.dir = directory
        self.numbers = ports.take(len(PORTS))
        self.ports = dict(zip(PORTS, self.numbers))
        self.other = ports.take(len(PORTS))  # of the servers that commands start
        self.server = self.publisher = None
        self.published = ""
        self.certificate = certificate
        self._fill()

    def _fill(self):
        (self.dir / "bin").mkdir(parents=True)
        (self.dir / "objs/nginx/html").mkdir(parents=True)
        shutil.copytree(ROOT / "conf", self.dir / "conf")
        for name, path in (("scripts", ROOT / "scripts"), ("research", ROOT / "research"), ("objs/srs", BINARY)):
            (self.dir / name).symlink_to(path)
        import imageio_ffmpeg

        programs = {name: shutil.which(name) or name for name in ("ffplay", "curl")}
        programs |= {"old": shutil.which("ffmpeg"), "new": imageio_ffmpeg.get_ffmpeg_exe(), "python": sys.executable}
        for name, text in WRAPPERS.items():
            path = self.dir / "bin" / name
            path.write_text("#!/bin/sh\n" + text.format(**programs) + "\n")
            path.chmod(0o755)
        for name, maps in (("input.mp4", []), ("film.mkv", ["-map", "0:v", "-map", "1:a", "-map", "1:a"])):
            shutil.copyfile(media.short(name, *maps), self.dir / name)

    def environment(self, numbers, **more):
        """For a server on these ports, whatever its configuration has. Without numbers: of other programs."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SRS_")}
        kept |= {"PATH": f"{self.dir / 'bin'}:{os.environ['PATH']}", "HOME": str(self.dir)}
        if not numbers:
            return kept | more
        at = {name: f"127.0.0.1:{number}" for name, number in zip(PORTS, numbers)}
        return kept | {
            "SRS_LISTEN": at["rtmp"],
            "SRS_HTTP_SERVER_LISTEN": at["http"],
            "SRS_HTTP_SERVER_HTTPS_LISTEN": at["https"],
            "SRS_HTTP_API_LISTEN": f"{at['api']} {at['http']}",
            "SRS_HTTP_API_HTTPS_LISTEN": at["https"],
            "SRS_RTC_SERVER_LISTEN": at["rtc"],
            "SRS_RTC_SERVER_TCP_LISTEN": at["rtc"],
            "SRS_RTSP_SERVER_ENABLED": "on",
            "SRS_RTSP_SERVER_LISTEN": at["rtsp"],
            "SRS_VHOST_RTSP_ENABLED": "on",
            "SRS_SRT_SERVER_ENABLED": "on",
            "SRS_SRT_SERVER_LISTEN": at["srt"],
            "SRS_VHOST_SRT_ENABLED": "on",
            "SRS_DAEMON": "off",
            "SRS_CIRCUIT_BREAKER_ENABLED": "off",
            "SRS_GRACE_START_WAIT": "100",
            "SRS_GRACE_FINAL_WAIT": "100",
            **more,
        }

    # --- the server beside the commands, and what it has to play

    def start_server(self):
        if self.server and self.server.poll() is None:
            return
        conf = self.dir / "beside.conf"
        text = (ROOT / "conf/srs.conf").read_text()
        # What the documents say that some calls need.
        dvr = "dvr { dvr_path ./rec/[app]/[stream].[timestamp].flv; }"
        text = re.sub(r"(vhost __defaultVhost__ \{)", rf"\1\n    {dvr}", text)
        text = re.sub(r"(http_api \{)", r"\1\n    debug on;\n    raw_api { enabled on; allow_reload on; }", text)
        # These have no variables of the environment.
        text += f"stream_caster {{ enabled on; caster flv; listen 127.0.0.1:{self.ports['flv']}; output rtmp://127.0.0.1/[app]/[stream]; }}\n"
        text += f"stream_caster {{ enabled on; caster gb28181; listen 127.0.0.1:{self.ports['gb']}; output rtmp://127.0.0.1/live/[stream]; }}\n"
        conf.write_text(text)
        # Documents rotate the log, and show its end.
        log = {"SRS_LOG_TANK": "file", "SRS_LOG_FILE": "./objs/srs.log"}
        # Documents ask for what was.
        log |= {"SRS_ACCESS_LOG_ENABLED": "on", "SRS_USAGE_ENABLED": "on"}
        self.server = self._spawn(["objs/srs", "-c", conf], self.environment(self.numbers, **log), "server.txt")
        self._wait_listening(self.server, self.numbers, "server.txt")

    def _spawn(self, words, environment, output):
        with open(self.dir / output, "ab") as file:
            return subprocess.Popen(
                [str(word) for word in words],
                cwd=self.dir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    def _wait_listening(self, process, numbers, output):
        def text():
            return (self.dir / output).read_text(errors="replace")[-2000:]

        def listens():
            assert process.poll() is None, f"the server ended with {process.returncode} as it started:\n{text()}"
            return all(can_connect(number) for number in numbers[: 3 if numbers is self.numbers else 1])

        wait_until(listens, 10, lambda: f"the server listens on {numbers}:\n{text()}")

    def publish(self, name):
        """Has that stream there, and no other. Empty: none."""
        if self.published == name and (not name or self.publisher.poll() is None):
            return
        if self.publisher:
            self.publisher.kill()
            self.publisher.wait()
            wait_until(lambda: not self._is_live(self.published), 10, f"{self.published} ends")
            self.publisher = None
        self.published = name
        if name:
            url = f"rtmp://127.0.0.1:{self.ports['rtmp']}/{name}"
            words = ffmpeg.command("-re", "-stream_loop", -1, "-i", "input.mp4", "-c", "copy", "-f", "flv", url)
            self.publisher = self._spawn(words, self.environment(None), "publisher.txt")
            wait_until(lambda: self._is_live(name), 10, f"{name} is published")
            # A session that has ended, for commands that list them.
            with http.Live(self.ports["http"], f"/{name}.flv") as live:
                live.data()

    def _is_live(self, name):
        answer = json.loads(http.get(self.ports["api"], "/api/v1/streams?count=100").body)
        return any(f"{one['app']}/{one['name']}" == name and one["publish"]["active"] for one in answer["streams"])

    def _wait_playlist(self, path):
        def answer():
            return http.get(self.ports["http"], path)

        wait_until(lambda: answer().status == 200, 10, lambda: f"{path} is there: {answer().describe()}", step=0.1)

    # --- commands

    def rewritten(self, command):
        """For this server and its ports."""
        for name, number in PORTS.items():
            command = re.sub(rf"(127\.0\.0\.1|localhost|HOST):{number}\b", f"127.0.0.1:{self.ports[name]}", command)
        command = re.sub(r"(rtmp://)(127\.0\.0\.1|localhost|HOST)/", rf"\g<1>127.0.0.1:{self.ports['rtmp']}/", command)
        command = re.sub(r"\bPID\b", str(self.server.pid), command)
        command = re.sub(r"seconds=\d+", "seconds=1", command)
        return command.replace("vid-.../", "vid-k8mbdxjqscw/")

    def run(self, command):
        """Nothing, or what went wrong."""
        if re.search(r"(^|\s)(\./)?objs/srs (-c \S+|-e)\s*(#|$)", command):
            return self._run_server(command)
        if re.match(ENDS, command):
            # Another one: viewers of HLS from before would keep a graceful shutdown waiting.
            self.publish("")
            self._end(self.server)
        self.start_server()
        text = self.rewritten(command)
        published = PUBLISHES.search(text)
        if published:
            self.publish("")
        elif re.match(ENDS, command):
            pass
        elif played := PLAYER.search(text):
            self.publish(f"{played[1]}/{played[2]}")
            if ".m3u8" in text:
                self._wait_playlist(f"/{self.published}.m3u8")
        else:
            self.publish("live/livestream")
        for host in re.findall(r"\w+://([^/\s\"']+)", text) if "sign_url" not in text else []:
            assert urlsplit(f"x://{host}").hostname == "127.0.0.1", f"{text} reaches {host}"
        mark = self._log_size()
        try:
            done = self._bash(text, self.environment(None))
        except subprocess.TimeoutExpired as error:
            said = (error.output or b"").decode(errors="replace")
            return f"it had not ended after {scaled(SECONDS)} s: {text}\n{said}"
        if done.returncode:
            return f"it ended with {done.returncode}: {text}\n{done.stdout.decode(errors='replace')}\n{self._log(mark)}"
        if published:
            name = "/".join(part for part in published.groups() if part)
            if not re.search(rf"((?:RT[MS]P|FLV) publish|(?:rtc|srt)-publish began): \S+/{name}\b", self._log(mark)):
                return f"{name} should have been published: {text}\n{self._log(mark)}"
        if re.match(ENDS, command):
            code = self.server.wait(scaled(SECONDS))
            return f"the server should have ended with 0, it was {code}" if code else None
        if text.startswith("kill") and self.server.poll() is not None:
            return f"the server ended: {text}"
        return None

    def _bash(self, text, environment):
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", text],
            cwd=self.dir,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=scaled(SECONDS),
            check=False,
        )

    def _run_server(self, command):
        """One that runs until it is ended: it must listen, and end well."""
        extra = {"SRS_PID": "./objs/other.pid", "SRS_LOG_FILE": "./objs/other.log"}
        # Ports that the command chooses are ours all the same.
        command = re.sub(r"\bSRS_\w*LISTEN=\S+ ", "", command)
        process = self._spawn(["bash", "-c", f"exec env {command}"], self.environment(self.other, **extra), "other.txt")
        try:
            self._wait_listening(process, self.other, "other.txt")
            process.terminate()
            code = process.wait(scaled(SECONDS))
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return f"{command}: {error}"
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return f"{command}: it ended with {code}" if code else None

    def _log_size(self):
        path = self.dir / "objs/srs.log"
        return path.stat().st_size if path.exists() else 0

    def _log(self, since):
        path = self.dir / "objs/srs.log"
        text = path.read_bytes() if path.exists() else b""
        return text[since if len(text) >= since else 0 :].decode(errors="replace")[-6000:]

    # --- configurations

    def check(self, text):
        """What -t prints of it, and its exit code."""
        conf = self.dir / "shown.conf"
        key, cert = self.certificate
        text = re.sub(r"\bkey\s+[^;\s]+;", f"key {key};", text)
        text = re.sub(r"\bcert\s+[^;\s]+;", f"cert {cert};", text)
        # The user, the directories and the program that the pages have the reader make or install.
        text = re.sub(r"\buser srs;", "", text)
        text = re.sub(r"/(run|var/log)/srs/", "./", text)
        tool = self.dir / "objs/ffmpeg/bin/ffmpeg"
        tool.parent.mkdir(parents=True, exist_ok=True)
        if not tool.exists():
            tool.symlink_to(self.dir / "bin/ffmpeg")
        conf.write_text(text)
        done = subprocess.run(
            [BINARY, "-t", "-c", conf],
            cwd=self.dir,
            env=self.environment(None),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=scaled(10),
            check=False,
        )
        return done.returncode, done.stdout.decode(errors="replace")

    @staticmethod
    def _end(process):
        if process and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(scaled(10))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self):
        self._end(self.publisher)
        self._end(self.server)
        ports.release(self.numbers)
        ports.release(self.other)
