"""External tools (exec, transcode, ingest): with FFmpeg itself, and with a small program in its place where times and arguments
matter. They are restarted, they end with what they are for and with the server, however it ends, and nothing that a client
chooses becomes an option, an argument or a path."""

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from lib import api, flv, http, media, publishing, rtmp
from lib.server import default_vhost, run_once
from lib.timing import scaled, wait_until
from lib.metrics import Metrics

API = api.CONF % ""
EXPORTER = "exporter { enabled on; listen 127.0.0.1:RTMPS_PORT; }\n"
# Writes its arguments, its descriptors and its environment to a file, and runs until it is told to end.
FAKE = """#!/bin/sh
trap 'TRAP' TERM
echo run
{ echo "pid=$$"; for word in "$0" "$@"; do echo "arg=$word"; done
  echo "files=$(ls -l /proc/$$/fd | sed -n 's/.* -> //p' | tr '\\n' ' ')"; env | sed 's/^/env=/'; } > DIR/part.$$
mv DIR/part.$$ DIR/run.$$
while true; do sleep 1000 & echo "child=$!" > DIR/child.$$; wait; done
"""


class Fake:
    """The program in FFmpeg's place; its runs."""

    def __init__(self, directory, trap="exit 0"):
        self.directory = Path(directory)
        self.directory.mkdir()
        self.path = self.directory / "fake"
        self.path.write_text(FAKE.replace("DIR", str(self.directory)).replace("TRAP", trap))
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def runs(self):
        """Of each run: {pid, args, files, env}."""
        found = []
        for path in sorted(self.directory.glob("run.*"), key=lambda path: path.stat().st_mtime_ns):
            run = {"args": [], "env": []}
            for line in path.read_text().splitlines():
                name, _, value = line.partition("=")
                if name in ("arg", "env"):
                    run[name + ("s" if name == "arg" else "")].append(value)
                else:
                    run[name] = value
            found.append(run)
        return found

    def wait_runs(self, count, seconds=10):
        wait_until(lambda: len(self.runs()) >= count, seconds, lambda: f"{count} runs of the tool, there are {self.runs()}")
        return self.runs()

    def children(self):
        return [int(path.read_text().partition("=")[2]) for path in self.directory.glob("child.*")]


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_gone(pids, seconds, who):
    wait_until(lambda: not any(lives(int(pid)) for pid in pids), seconds, lambda: f"{who} should be gone: {[pid for pid in pids if lives(int(pid))]}")


def tools_of(server):
    return api.ask(server, "/api/v1/tools")["tools"]


def one_tool(server, **wanted):
    """The only tool with these values."""
    found = [tool for tool in tools_of(server) if all(tool[name] == value for name, value in wanted.items())]
    assert len(found) == 1, f"one tool with {wanted} was expected: {tools_of(server)}"
    return found[0]


def reload(server, old, new):
    text = server.conf_path.read_text()
    assert old in text, f"{old} should be in the configuration: {text}"
    server.conf_path.write_text(text.replace(old, new, 1))
    server.signal(signal.SIGHUP)


def publish(server, name="s", app="live", params=""):
    """A client that publishes and sends nothing yet."""
    return rtmp.publisher(server, app, name + params)


def exec_conf(*commands):
    return "exec { enabled on; " + " ".join(f"publish {command};" for command in commands) + " }"


OUTPUT = "output rtmp://127.0.0.1:[port]/[app]/[stream]_[engine]?vhost=[vhost];"


def transcode(engines, scope="", more=""):
    return f"transcode {scope} {{ enabled on; {more} {engines} }} "


def copy_engine(name="c"):
    return f"engine {name} {{ enabled on; vcodec copy; acodec copy; {OUTPUT} }} "


def x264_engine(name, size=(320, 180)):
    return (
        f"engine {name} {{ enabled on; vcodec libx264; vbitrate 200; vwidth {size[0]}; vheight {size[1]}; vpreset ultrafast; "
        f"vparams {{ pix_fmt yuv420p; }} acodec copy; {OUTPUT} }} "
    )


# --- the processes, by a small program


def test_a_tool_runs_while_its_stream_is_published(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    command = f"{fake.path} -i [url] [vhost]|[app]|[stream]|[port] ./[stream].flv '[tcUrl] x' > out.txt 2>&1"
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=exec_conf(command)))
    assert tools_of(server) == []
    with publish(server, params="?k=1"):
        run = fake.wait_runs(1)[0]
        url = f"rtmp://127.0.0.1:{server.rtmp_port}/live/s?k=1&vhost=__defaultVhost__"
        assert run["args"] == [
            str(fake.path), "-i", url, f"__defaultVhost__|live|s|{server.rtmp_port}", "./s.flv", f"rtmp://127.0.0.1:{server.rtmp_port}/live x",
        ]  # fmt: skip
        # The shell itself has its script and pipes open.
        assert run["files"].startswith("/dev/null "), f"stdin should be /dev/null: {run['files']}"
        assert not any(word in run["files"] for word in ("socket:", "anon_inode:", "srs.")), f"nothing of the server's: {run['files']}"
        tool = one_tool(server, kind="exec")
        assert (tool["state"], tool["running"], tool["process"], tool["stream"], tool["name"]) == ("running", True, int(run["pid"]), "s", "fake"), tool
        assert (server.dir / "out.txt").read_text() == "run\n"
    wait_gone([run["pid"], *fake.children()], 5, "the tool and what it started")
    wait_until(lambda: tools_of(server) == [], 5, "no tool is left")
    assert len(fake.runs()) == 1, "it is not started again"


def test_the_environment_has_no_secrets(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    server = servers(top=API, vhosts=default_vhost(vhost=exec_conf(fake.path)), environment={"SRS_SERVER_ID": "secret", "NOTIFY_SOCKET": "/nonexistent/notify", "OTHER": "1"})
    with publish(server):
        names = {line.partition("=")[0] for line in fake.wait_runs(1)[0]["env"]}
    assert "OTHER" in names and "PATH" in names, names
    assert not {name for name in names if name.startswith(("SRS_", "NOTIFY_"))}, names


def test_a_killed_tool_is_back(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    server = servers(top=API + EXPORTER + "ff_log_dir logs;", vhosts=default_vhost(vhost=exec_conf(fake.path)))
    with publish(server):
        first = fake.wait_runs(1)[0]
        wait_until(fake.children, 5, "it has a child")
        started = fake.children()
        begin = time.monotonic()
        os.kill(int(first["pid"]), signal.SIGKILL)
        second = fake.wait_runs(2, 6)[-1]
        took = time.monotonic() - begin
        assert 2 < took < scaled(5), f"it should be back after 3 s, it took {took:.1f} s"
        wait_gone(started, 5, "what the killed tool started")
        tool = one_tool(server)
        assert (tool["restarts"], tool["problem"]) == (1, "it was ended by signal 9"), tool
        assert lives(int(second["pid"]))
        metrics = Metrics(server)
        assert metrics.value("srs_tools", kind="exec") == 1, metrics.text
        assert metrics.value("srs_tool_restarts_total", stream="s", kind="exec") == 1, metrics.text
        assert metrics.value("srs_tool_running", stream="s") == 1, metrics.text


def test_a_tool_that_does_not_end_is_killed(servers, tmp_path):
    fake = Fake(tmp_path / "fake", trap="echo TERM")
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=exec_conf(fake.path)))
    with publish(server):
        run = fake.wait_runs(1)[0]
    wait_until(lambda: one_tool(server)["state"] == "ending", 5, "it is ending")
    log = server.dir / "logs/exec-fake-__defaultVhost__-live-s.log"
    wait_until(lambda: "TERM" in log.read_text(), 5, lambda: f"SIGTERM comes first: {log.read_text()}")
    time.sleep(1)
    assert lives(int(run["pid"])), "it has 5 s to end by itself"
    wait_gone([run["pid"], *fake.children()], 8, "the tool")


@pytest.mark.parametrize("how", ["TERM", "KILL", "QUIT"])
def test_tools_end_with_the_server(servers, tmp_path, how):
    fake, stubborn = Fake(tmp_path / "fake"), Fake(tmp_path / "stubborn", trap=":")
    ingest = f"ingest i {{ enabled on; input {{ url x; }} ffmpeg {fake.path}; }} ingest j {{ enabled on; input {{ url x; }} ffmpeg {stubborn.path}; }}"
    server = servers(top=API + "grace_start_wait 100; grace_final_wait 100;", vhosts=default_vhost(vhost=ingest))
    pids = [fake.wait_runs(1)[0]["pid"], stubborn.wait_runs(1)[0]["pid"]]
    server.signal(getattr(signal, "SIG" + how))
    server.wait_exit(15)
    if how == "KILL":
        wait_gone(pids, 3, "children of a killed server")
        for pid in fake.children() + stubborn.children():  # the kernel kills no grandchildren
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        servers.made.remove(server)  # it did not end well, and was not to
        server.discard()
        return
    assert server.process.returncode == 0
    wait_gone([*pids, *fake.children(), *stubborn.children()], 1, "the tools and what they started")


def test_nobody_is_a_zombie(servers, tmp_path):
    server = servers(top=API, vhosts=default_vhost(vhost=exec_conf("true", "false", "sleep 1000")))
    with publish(server):
        wait_until(lambda: sum(tool["restarts"] > 0 for tool in tools_of(server)) == 2, 10, lambda: f"two end at once: {tools_of(server)}")
        text = subprocess.run(["ps", "-o", "stat=,comm=", "--ppid", str(server.pid)], capture_output=True, text=True, check=False).stdout
        assert "Z" not in text and "sleep" in text, text


# --- names of clients


def test_hostile_names(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=exec_conf(f"{fake.path} ./[stream].flv > ./[stream].out")))
    harmless = {"-i": "./-i.flv", "$(id)": "./$(id).flv", ";id": "./;id.flv", ">x": "./>x.flv", "a'b\"c": "./a'b\"c.flv", "..": None, "a b": None, "a\nb": None}
    started = 0
    for name, argument in harmless.items():
        try:
            client = publish(server, name)
        except rtmp.RtmpError:
            continue  # the server itself refuses the name
        with client:
            if argument is None:
                api.explained(server, name, "outputs", "has spaces or control bytes|is not")
                continue
            started += 1
            assert fake.wait_runs(started)[-1]["args"][1:] == [argument], fake.runs()[-1]
    assert started >= 4, f"most of these names can be published: {started}"
    written = {path.name for path in server.dir.rglob("*.out")}
    assert all(path.parent == server.dir for path in server.dir.rglob("*.out")), written
    assert "x" not in {path.name for path in server.dir.iterdir()}, "a name is no redirection"


def test_a_name_becomes_no_option(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    server = servers(top=API, vhosts=default_vhost(vhost=exec_conf(f"{fake.path} [stream]")))
    with publish(server, "-version"):
        api.explained(server, "-version", "outputs", r"'\[stream\]' would become an option: '-version'")
        assert tools_of(server) == [] and fake.runs() == []
    with publish(server, "s"):
        assert fake.wait_runs(1)[0]["args"][1:] == ["s"]


# --- limits, reload, a missing program


def test_max_tools(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    server = servers(top=API + "max_tools 2;", vhosts=default_vhost(vhost=exec_conf(fake.path)))
    with publish(server, "a"), publish(server, "b"):
        fake.wait_runs(2)
        with publish(server, "c"), publish(server, "d"):
            wait_until(lambda: api.ask(server, "/api/v1/tools")["refused"] >= 2, 5, "two tools wait")
            answer = api.ask(server, "/api/v1/tools")
            assert (answer["limit"], len(answer["tools"])) == (2, 2), answer
    with publish(server, "e"):
        wait_until(lambda: any(tool["stream"] == "e" and tool["running"] for tool in tools_of(server)), 10, lambda: f"there is room again: {tools_of(server)}")


def test_reload(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    server = servers(top=API, vhosts=default_vhost(vhost=exec_conf(f"{fake.path} one", f"{fake.path} two")))
    with publish(server):
        one, two = sorted(fake.wait_runs(2), key=lambda run: run["args"])
        reload(server, f"publish {fake.path} two", f"publish {fake.path} three")
        three = fake.wait_runs(3)[-1]
        assert three["args"][1] == "three"
        wait_gone([two["pid"]], 5, "the one that was removed")
        assert lives(int(one["pid"])), "the one that stays the same goes on"
        reload(server, "exec { enabled on;", "exec { enabled off;")
        wait_gone([one["pid"], three["pid"]], 5, "tools of an exec that is off")
        ingest = f"ingest i {{ enabled on; input {{ url x; }} ffmpeg {fake.path}; }} "
        reload(server, "exec { enabled off;", ingest + "exec { enabled off;")
        added = fake.wait_runs(4)[-1]
        assert added["args"][1:6] == ["-re", "-stream_loop", "-1", "-i", "x"], added
        reload(server, ingest, "")
        wait_gone([added["pid"]], 5, "an ingest that was removed")
    assert len(fake.runs()) == 4, f"nothing else ran: {fake.runs()}"


def test_a_missing_program_is_one_error(servers, tmp_path):
    path = tmp_path / "bin" / "ffmpeg"
    vhost = transcode(copy_engine(), more=f"ffmpeg {path};") + "".join(
        f"ingest i{index} {{ enabled on; input {{ url x; }} ffmpeg {path}; }} " for index in range(3)
    )
    server = servers(top=API, vhosts=default_vhost(vhost=vhost))
    with publish(server, "a"), publish(server, "b"):
        time.sleep(4)
        errors = [line for line in server.log().splitlines() if "[error]" in line]
        assert len(errors) == 1, "one error was expected:\n" + "\n".join(errors)
        tools = tools_of(server)
        assert len(tools) == 5 and all(f"{path} does not exist" in tool["problem"] and not tool["running"] for tool in tools), tools
        code, text = run_once("doctor", "-c", str(server.conf_path), directory=server.dir, seconds=30)
        assert code != 0 and f"{path} does not exist" in text, f"the doctor should name it:\n{text}"
        path.parent.mkdir()
        fake = Fake(tmp_path / "fake")
        path.symlink_to(fake.path)
        wait_until(lambda: len(fake.runs()) >= 5, 10, lambda: f"all run as soon as it is there: {tools_of(server)}")


# --- transcode


def playing(server, name, seconds=20):
    """Waits until the stream is published, and a player has a video frame."""
    wait_until(lambda: api.streams(server).get(name, {}).get("publish", {}).get("active"), seconds, lambda: f"{name} is published: {tools_of(server)}")
    live = http.Live(server.http_port, f"/live/{name}.flv", timeout=scaled(15))
    while not any(tag.type == flv.VIDEO for tag in live.tags()):
        pass
    return live


def test_the_arguments_of_transcode(servers, tmp_path):
    """In the order of SRS, at each of the three scopes."""
    fake = Fake(tmp_path / "fake")
    engine = (
        "engine ff { enabled on; perfile { re; rtsp_transport tcp; } iformat flv; vfilter { i logo.png; filter_complex 'overlay=10:10'; } "
        "vcodec libx264; vbitrate 1500; vfps 25; vwidth 769; vheight 321; vthreads 12; vprofile main; vpreset medium; "
        "vparams { t 100; coder 1; } acodec libfdk_aac; abitrate 70; asample_rate 44100; achannels 2; "
        "aparams { profile:a aac_low; bsf:a aac_adtstoasc; } oformat flv; " + OUTPUT + " }"
    )
    more = f"ffmpeg {fake.path};"
    vhost = transcode(engine, "live/s", more) + transcode(copy_engine("app"), "live", more) + transcode(copy_engine("all"), "", more)
    server = servers(top=API + "ff_log_level warning;", vhosts=default_vhost(vhost=vhost + transcode(copy_engine("no"), "live/t", more)))
    with publish(server):
        runs = {run["args"][-1]: run["args"][1:] for run in fake.wait_runs(3)}
    base = f"rtmp://127.0.0.1:{server.rtmp_port}/live/s"
    default = "?vhost=__defaultVhost__"
    assert sorted(runs) == sorted(f"{base}_{name}{default}" for name in ("ff", "app", "all")), runs
    wanted = (
        f"-loglevel warning -re -rtsp_transport tcp -f flv -i {base}{default} -i logo.png -filter_complex overlay=10:10 -vcodec libx264 "
        "-b:v 1500000 -r 25 -s 768x320 -aspect 768:320 -threads 12 -profile:v main -preset medium -t 100 -coder 1 "
        "-acodec libfdk_aac -b:a 70000 -ar 44100 -ac 2 -profile:a aac_low -bsf:a aac_adtstoasc -f flv -y"
    )
    assert " ".join(runs[f"{base}_ff{default}"][:-1]) == wanted


def test_a_ladder_by_ffmpeg(servers):
    """One process, two sizes with keyframes at the same times, and no transcode of its own outputs."""
    vhost = transcode(x264_engine("hd", (320, 180)) + x264_engine("ld", (160, 90)), more="keyframe_interval 1;")
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=vhost))
    client = publish(server)
    with publishing.Steady(client, media.tags(media.plain())):
        for name in ("s_hd", "s_ld"):
            playing(server, name).close()
        tool = one_tool(server)
        assert tool["engines"] == ["hd", "ld"], tool
        sizes, keyframes = {}, {}
        players = {
            name: subprocess.Popen(
                ["ffprobe", "-v", "error", "-read_intervals", "%+6", "-select_streams", "v", "-show_entries", "packet=pts_time,flags:stream=width",
                 "-of", "json", f"rtmp://127.0.0.1:{server.rtmp_port}/live/{name}"],
                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            )
            for name in ("s_hd", "s_ld")
        }  # fmt: skip
        for name, player in players.items():
            answer = json.loads(player.communicate(timeout=scaled(40))[0])
            sizes[name] = answer["streams"][0]["width"]
            keyframes[name] = [round(float(packet["pts_time"]), 2) for packet in answer["packets"] if "K" in packet["flags"]]
        assert sizes == {"s_hd": 320, "s_ld": 160}
        first = max(times[0] for times in keyframes.values())
        last = min(times[-1] for times in keyframes.values())
        common = {name: [time for time in times if first <= time <= last] for name, times in keyframes.items()}
        assert len(common["s_hd"]) >= 3, f"a keyframe each second was expected: {keyframes}"
        assert common["s_hd"] == common["s_ld"], f"keyframes should be at the same times: {keyframes}"
        assert all(0.9 < b - a < 1.1 for a, b in zip(common["s_hd"], common["s_hd"][1:])), f"a second apart: {common}"
        published = {name for name, stream in api.streams(server).items() if stream["publish"]["active"]}
        assert published == {"s", "s_hd", "s_ld"}, f"what a tool makes is not transcoded again: {published}"
        wait_until(lambda: one_tool(server)["cpu_ms"] > 0, 10, "its processor time is counted")
        # A reload looks at all streams again.
        server.signal(signal.SIGHUP)
        time.sleep(1)
        assert len(tools_of(server)) == 1, tools_of(server)
    client.close()
    wait_until(lambda: tools_of(server) == [], 8, "no tool is left")


def test_a_killed_ffmpeg_publishes_again(servers):
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=transcode(copy_engine())))
    client = publish(server)
    with publishing.Steady(client, media.tags(media.plain())):
        playing(server, "s_c").close()
        os.kill(one_tool(server)["process"], signal.SIGKILL)
        begin = time.monotonic()
        wait_until(lambda: not api.streams(server).get("s_c", {}).get("publish", {}).get("active"), 5, "its stream has ended")
        wait_until(lambda: api.streams(server).get("s_c", {}).get("publish", {}).get("active"), 10, "its stream is back")
        took = time.monotonic() - begin
        assert took < scaled(5), f"it should be back within 5 s, it took {took:.1f} s"
        assert {tool["stream"] for tool in tools_of(server)} == {"s"}, tools_of(server)
    client.close()


def test_signed_urls(servers):
    """The server signs what its own tools play and publish, for its own address."""
    signed = "signed_urls { enabled on; secret 0123456789abcdef0123456789abcdef; publish on; play on; } "
    vhost = signed + ingest("a", media.plain()) + transcode(copy_engine(), "live/a")
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=vhost))
    wait_until(lambda: api.streams(server).get("a_c", {}).get("frames", 0) > 20, 20, lambda: f"both tools are admitted: {tools_of(server)}")
    assert all(tool["restarts"] == 0 for tool in tools_of(server)), tools_of(server)
    with pytest.raises(rtmp.RtmpError):
        publish(server, "b")


def test_a_loop_is_left_alone(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    engine = "engine ff { enabled on; vcodec copy; output rtmp://localhost:[port]/[app]/[stream]?vhost=[vhost]; }"
    server = servers(top=API, vhosts=default_vhost(vhost=transcode(engine, more=f"ffmpeg {fake.path};")))
    with publish(server):
        api.explained(server, "s", "outputs", "engine ff publishes to its own input: a loop")
        assert tools_of(server) == [] and fake.runs() == []


# --- ingest


def ingest(name, path, more=""):
    return f"ingest {name} {{ enabled on; input {{ type file; url {path}; }} {more} }} "


def test_a_file_is_played_again_and_again(servers, tmp_path):
    short = tmp_path / "short.flv"
    subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", media.plain(), "-t", "2", "-c", "copy", short], check=True, stdin=subprocess.DEVNULL
    )
    engine = "engine { enabled off; output rtmp://127.0.0.1:[port]/live/movie?vhost=[vhost]; }"
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=ingest("a", short, engine) + transcode(copy_engine(), "live/movie")))
    live = playing(server, "movie")
    begin = time.monotonic()
    last = 0
    while last < 5000 and time.monotonic() - begin < scaled(20):
        last = max([last, *(tag.timestamp for tag in live.tags())])
    live.close()
    took = time.monotonic() - begin
    assert last >= 5000, f"it should begin anew at its end, the last timestamp is {last}"
    assert took > 2.5, f"it should be in real time, 5 s took {took:.1f} s"
    assert one_tool(server, kind="ingest")["restarts"] == 0, tools_of(server)
    playing(server, "movie_c").close()


def test_fifty_ingests(servers):
    vhost = "".join(ingest(f"i{index}", media.plain()) for index in range(50))
    server = servers(top=API + "ff_log_dir logs;", vhosts=default_vhost(vhost=vhost))

    def published():
        return sum(one["publish"]["active"] for one in api.streams(server).values())

    wait_until(lambda: published() == 50, 60, lambda: f"50 streams, there are {published()}: {tools_of(server)[:3]}")
    pids = [tool["process"] for tool in tools_of(server)]
    assert len(set(pids)) == 50 and all(map(lives, pids))
    killed = pids[:10]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: published() < 50, 5, "some have ended")
    wait_until(lambda: published() == 50, 30, lambda: f"all are back: {published()}")
    pids = [tool["process"] for tool in tools_of(server)]
    server.stop()
    wait_gone(pids, 1, "the ingests")


def test_rtsp_with_an_engine_is_left_to_ffmpeg(servers, tmp_path):
    fake = Fake(tmp_path / "fake")
    rtsp = "input {{ type rtsp; url rtsp://127.0.0.1:1/{0}; }} ffmpeg {1};"
    vhost = f"ingest a {{ enabled on; {rtsp.format('a', fake.path)} }} ingest b {{ enabled on; {rtsp.format('b', fake.path)} engine {{ enabled on; vcodec libx264; }} }}"
    server = servers(top=API, vhosts=default_vhost(vhost=vhost))
    assert fake.wait_runs(1)[0]["args"][1:4] == ["-re", "-i", "rtsp://127.0.0.1:1/b"]
    server.wait_log("ingest a: .*Connection refused")
    time.sleep(0.5)
    assert len(fake.runs()) == 1, fake.runs()
