"""The configuration file, the environment and the command line, as an operator meets them."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from lib import api, http, media, publishing, rtmp
from lib.server import ROOT, Server, can_connect, default_vhost, run_once
from lib.timing import wait_until


def check(tmp_path, text, **environment):
    path = tmp_path / "t.conf"
    path.write_text(text)
    return run_once("-t", "-c", str(path), directory=tmp_path, **environment)


GOOD = "listen 1935;\nvhost __defaultVhost__ {\n}\n"


def test_a_good_file(tmp_path):
    code, output = check(tmp_path, GOOD)
    assert code == 0, f"a good file should be accepted:\n{output}"
    assert ": error:" not in output, output


def test_every_error_at_once_with_its_place(tmp_path):
    """Not just the first one."""
    code, output = check(
        tmp_path,
        """listen 1935;
lisen 1936;
max_connections many;
vhost __defaultVhost__ {
    play {
        mw_latencie 350;
        gop_cache_max_frames perhaps;
    }
    no_such_block { on; }
}
""",
    )
    assert code != 0, f"a file with errors should be refused:\n{output}"
    for line, words in (
        (2, ["lisen", "listen"]),
        (3, ["max_connections", "many"]),
        (6, ["mw_latencie", "mw_latency"]),
        (7, ["gop_cache_max_frames", "perhaps"]),
        (9, ["no_such_block"]),
    ):
        said = [text for text in output.splitlines() if f"t.conf:{line}:" in text]
        assert said, f"line {line} should be complained about, with file and line:\n{output}"
        for word in words:
            assert any(word in text for text in said), f"the error of line {line} should name {word!r}: {said}"


@pytest.mark.parametrize(
    "text, line, word",
    [
        ("listen 1935;\nvhost a {\n  play {\n}\n", 2, "}"),
        ("listen 1935\nmax_connections 5;\n", 1, ";"),
        ('listen 1935;\npid "half a string;\n', 2, '"'),
        ("listen 99999;\n", 1, "99999"),
        ("listen 1935;\n}\n", 2, "}"),
        ("listen 1935;\ninclude no-such-file.conf;\n", 2, "no-such-file.conf"),
        ("vhost __defaultVhost__ { }\n", None, "listen"),
    ],
    ids=[
        "block not closed",
        "no semicolon",
        "string not closed",
        "port",
        "closed twice",
        "include",
        "no listen",
    ],
)
def test_errors(tmp_path, text, line, word):
    code, output = check(tmp_path, text)
    assert code != 0, f"this should be refused:\n{text}\n{output}"
    assert word in output, f"the error should name {word!r}:\n{output}"
    if line:
        assert f"t.conf:{line}" in output, f"the error should name line {line}:\n{output}"


def test_a_feature_that_is_missing_is_one_warning(tmp_path):
    """However many directives it has, and behind all other warnings."""
    text = "vhost a {\n    hds {\n        enabled on;\n        hds_window 5;\n    }\n    gop_cache on;\n}\n"
    code, output = check(tmp_path, GOOD + text)
    assert code == 0, f"a directive of a feature to come should be accepted:\n{output}"
    said = [text for text in output.splitlines() if ": warning: " in text]
    assert len(said) == 2 and "gop_cache" in said[0], f"two warnings, the old name's first: {said}"
    assert re.search(r"t\.conf:\d+: warning: HDS is left out: .*no effect of vhost/hds/enabled, vhost/hds/hds_window", said[1]), said[1]


def test_an_edge_needs_an_origin(tmp_path):
    code, output = check(tmp_path, GOOD + "vhost edge {\n    mode remote;\n    origin 127.0.0.1:1935;\n}\n")
    assert code == 0 and "old name of vhost/cluster/mode" in output, f"an edge of an older file should be taken:\n{output}"
    code, output = check(tmp_path, GOOD + "vhost edge {\n    cluster { mode remote; }\n}\n")
    assert code != 0 and "vhost edge is an edge (mode remote) without an origin" in output, f"an origin is missing:\n{output}"


# What SRS reads of its versions 1 to 7, and this server once refused: a warning, and the meaning that it has there.
OLDER = {
    "HLS codecs": ("hls { enabled on; hls_acodec aac; hls_vcodec h264; }", None),
    "HDS": ("hds { enabled on; hds_path ./x; }", "HDS is left out"),
    "forward": ("forward 127.0.0.1:19350;", "old form of vhost/forward"),
    "refer": ("refer github.com github.io; refer_play a.com;", "old form of vhost/refer"),
    "mr": ("mr { enabled off; latency 350; }", "old name of vhost/publish/mr_latency"),
    "nack and twcc": ("nack { enabled on; no_copy on; } twcc { enabled on; }", "old name of vhost/rtc/twcc"),
    "token_traverse": ("token_traverse off; debug_srs_upnode on;", "old name of vhost/cluster/token_traverse"),
    "bandcheck": ("bandcheck { enabled on; key 1; }", "bandcheck is left out"),
    "a directive twice": ("min_latency on; min_latency off;", "this one counts"),
    "a stray word": ("play { gop_cache maybe; }", "neither on nor off"),
}


@pytest.mark.parametrize("what", OLDER)
def test_forms_of_older_files(tmp_path, what):
    text, warning = OLDER[what]
    code, output = check(tmp_path, GOOD.replace("}\n", text + "\n}\n"))
    assert code == 0, f"SRS takes it, so it should be taken:\n{text}\n{output}"
    assert (warning is None) == (": warning: " not in output) and (warning or "") in output, f"the warning should be {warning!r}:\n{output}"


def test_directives_of_casters_and_the_raw_api(tmp_path):
    text = "stream_caster { enabled on; caster gb28181; output rtmp://127.0.0.1/live/[stream]; listen 9000; sip { enabled on; listen 5060; } }\n"
    code, output = check(tmp_path, GOOD + text + "http_api { enabled on; raw_api { enabled on; allow_reload on; allow_query on; } }\n")
    assert code == 0, f"SRS takes it, so it should be taken:\n{output}"
    for words in ("the SIP of GB28181 is left out", "raw API is left out"):
        assert output.count(words) == 1, f"one line should say that {words}:\n{output}"


def test_what_srs_5_to_8_have_and_we_have_not(tmp_path):
    """A block of threads, and variables of blocks of which there may be several: a line says so, and the server starts."""
    code, output = check(tmp_path, GOOD + "threads { interval 5; }\nheartbeat { auth { enabled on; type bearer; token of-a-proxy-0123; } }\n")
    assert code == 0 and output.count("threads is left out") == 1, output
    names = {"SRS_STREAM_CASTER_MEDIA_CONNECT_TIMEOUT": "10", "SRS_STREAM_CASTER_ENABLED": "on", "SRS_TENCENTCLOUD_CLS_ENABLED": "off"}
    conf = tmp_path / "env.conf"
    conf.write_text(GOOD)
    code, output = run_once("-t", "-c", str(conf), directory=tmp_path, **names)
    for name in ("SRS_STREAM_CASTER_MEDIA_CONNECT_TIMEOUT", "SRS_STREAM_CASTER_ENABLED"):
        assert code == 0 and f"{name}: warning: this environment variable sets no directive" in output, output
    assert "tencentcloud" not in output, f"what is off is not missed:\n{output}"


def test_a_stray_word_at_a_guard_is_an_error(tmp_path):
    """SRS reads it as off, and lets everybody in."""
    code, output = check(tmp_path, GOOD.replace("}\n", "security { enabled yes; deny play all; }\n}\n"))
    assert code != 0 and "neither on nor off" in output, f"`security {{ enabled yes; }}` should be refused:\n{output}"


def test_include_comments_quotes_and_several_values(tmp_path):
    (tmp_path / "more.conf").write_text("max_connections 77;  # in a file of its own\n")
    code, output = check(
        tmp_path,
        "# first\nlisten 1935 1936 ;\ninclude more.conf;\npid 'a file.pid';\n"
        "vhost __defaultVhost__ { play { gop_cache   off ; } }\n",
    )
    assert code == 0, output


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "conf").glob("*.conf")))
def test_shipped_files(name, tmp_path, certificate):
    (tmp_path / "conf").mkdir()
    for file, of in zip(certificate, ("server.key", "server.crt")):
        shutil.copy(file, tmp_path / "conf" / of)
    code, output = run_once("-t", "-c", str(ROOT / "conf" / name), directory=tmp_path)
    assert code == 0, f"conf/{name} should be accepted:\n{output}"
    assert ": error:" not in output and ": warning:" not in output, output


def test_names_of_srs_example_files():
    """Which scripts of operators start the server with."""
    wanted = """console docker dvr.mp4 dvr.path dvr.segment dvr.session exporter forward.backend forward.master forward.slave full
        hevc.flv hevc.ts hls hls.mp4 hls.realtime http.aac.live http.api.auth http.flv.live http.heartbeat http.hls
        http.hooks.callback http.mp3.live http.server http.ts.live https.flv.live https.rtc realtime realtime.flv rtc rtc2rtmp
        rtmp rtmp2rtc rtmps security.deny.publish srs"""
    missing = [name for name in wanted.split() if not (ROOT / "conf" / f"{name}.conf").exists()]
    assert not missing, f"conf/ should have these files too: {missing}"


def test_environment_wins_over_the_file(servers):
    server = servers.make()
    port = server.rtmps_port
    server.spawn(SRS_LISTEN=str(port), SRS_MAX_CONNECTIONS="3")
    wait_until(lambda: can_connect(port), 10, "SRS_LISTEN decides the port")
    assert not can_connect(server.rtmp_port), "the file's port should not be used beside SRS_LISTEN's"


def test_environment_alone(servers):
    server = servers.make()
    server.start(
        "-e",
        SRS_LISTEN=f"127.0.0.1:{server.rtmp_port}",
        SRS_DAEMON="off",
        SRS_LOG_TANK="console",
        SRS_PID=str(server.pid_path),
        SRS_HTTP_SERVER_ENABLED="on",
        SRS_HTTP_SERVER_LISTEN=f"127.0.0.1:{server.http_port}",
        SRS_HTTP_SERVER_DIR=str(server.dir / "html"),
        SRS_VHOST_HTTP_REMUX_ENABLED="on",
        SRS_VHOST_PLAY_GOP_CACHE="off",
    )
    rtmp.publisher(server, "live", "s").close()
    assert http.get(server.http_port, "/nothing").status == 404
    assert re.search(
        r"^\[.*\]\[.*\]\[\d+\]", server.output(), re.MULTILINE
    ), f"with the console as log tank, lines should be there:\n{server.output()}"


def test_of_the_environment_alone_the_log_is_on_the_console(servers):
    """As containers want it: neither SRS_DAEMON nor SRS_LOG_TANK has to be said."""
    server = servers.make()
    server.start(
        "-e",
        SRS_LISTEN=f"127.0.0.1:{server.rtmp_port}",
        SRS_PID=str(server.pid_path),
        SRS_HTTP_SERVER_ENABLED="on",
        SRS_HTTP_SERVER_LISTEN=f"127.0.0.1:{server.http_port}",
        SRS_LOG_LEVEL_V2="info",
    )
    rtmp.publisher(server, "live", "s").close()
    wait_until(lambda: "fmle-publish ended" in server.output(), 5, lambda: f"the log is on the console: {server.output()}")
    names = set(re.findall(r"^\[.*?\]\[(\w+)\]\[\d+\]", server.output(), re.MULTILINE))
    assert names and names <= {"INFO", "WARN"}, f"with SRS_LOG_LEVEL_V2 levels have SRS's names: {names}"
    assert not (server.dir / "objs" / "srs.log").exists(), "and no file should be written"


def test_the_environment_names_the_file(servers):
    server = servers.make()
    server.start("-c", "no-such.conf", SRS_CONFIG_FILE=str(server.conf_path))
    rtmp.publisher(server, "live", "s").close()


def test_the_environment_alone_counts_before_a_file(tmp_path):
    bad = tmp_path / "bad.conf"
    bad.write_text("nothing of this is right")
    for arguments, environment in ((["-e"], {}), ([], {"SRS_ENV_ONLY": "on"}), ([], {"SRS_ENV_ONLY": "on", "SRS_CONFIG_FILE": str(bad)})):
        code, output = run_once("-t", "-c", str(bad), *arguments, directory=tmp_path, SRS_LISTEN="1935", **environment)
        assert code == 0 and "the environment: valid" in output, f"{arguments} {environment} should not read the file:\n{output}"


def test_bad_environment_is_an_error(tmp_path):
    code, output = check(tmp_path, GOOD, SRS_MAX_CONNECTIONS="many")
    assert code != 0 and "SRS_MAX_CONNECTIONS" in output, f"the variable should be named: {output}"


@pytest.mark.parametrize("flag", ["-v", "-V"])
def test_version(flag):
    """That alone, as scripts read it."""
    code, output = run_once(flag)
    assert code == 0 and re.fullmatch(r"\d+\.\d+\.\d+\n", output), output


def test_version_and_what_was_built_in():
    code, output = run_once("--version")
    assert code == 0 and output.startswith(run_once("-v")[1]), f"the first line should be what -v prints:\n{output}"
    for what in (
        r"^commit ([0-9a-f]{7,40}\+?|unknown), compiled by g\+\+ \d+\.\d+",
        r"^services: .*\brtmp\b.*\brtc\b",
        r"^libraries: .*\bOpenSSL \d+\.\d+.*\bstate-threads \d+\.\d+",
        r"^loaded to convert audio and pictures: libavcodec \d+",
        r"^diagnostic options: \w+",
    ):
        assert re.search(what, output, re.MULTILINE), f"there should be a line like {what!r}:\n{output}"
    assert len(output.splitlines()) <= 8, f"a few lines:\n{output}"


@pytest.mark.parametrize("flag", ["-g", "-G"])
def test_signature(flag):
    code, output = run_once(flag)
    assert code == 0 and output.strip(), output


@pytest.mark.parametrize("flag", ["-h", "-?", "--help"])
def test_help(flag):
    code, output = run_once(flag)
    assert code == 0, output
    for option in ("-c", "-t", "-e", "-v", "-g", "-h"):
        assert option in output, f"the help should name {option}:\n{output}"


@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["-c"], ["-c", "/no/such/file.conf"]])
def test_bad_command_line(arguments, tmp_path):
    code, output = run_once(*arguments, directory=tmp_path)
    assert code != 0 and output.strip(), f"srs {arguments} should fail and say why; it ended with {code}:\n{output}"


def test_port_in_use_is_said(servers, tmp_path):
    first = servers()
    second = Server(tmp_path / "second", top=f"rtmp {{ listen {first.rtmp_port}; }}")
    second.conf_path.write_text(second.conf.replace(f"listen 127.0.0.1:{second.rtmp_port};\n", ""))
    second.spawn()
    code = second.wait_exit(5)
    said = second.log() + second.output()
    second.discard()
    assert code != 0 and str(first.rtmp_port) in said, f"the port in use should be named; exit code {code}\n{said}"


def test_two_servers_share_a_port(servers, tmp_path):
    """As SRS documents it for several edges on a machine. Without reuse_port in both the error names it."""
    first = servers(top="reuse_port on;")
    conf = first.conf.replace(str(first.dir), str(tmp_path / "second"))
    second = Server(tmp_path / "second")
    second.conf_path.write_text(conf.replace("reuse_port on;", ""))
    second.spawn()
    assert second.wait_exit(5) != 0
    assert "reuse_port on" in second.log() + second.output(), "the error names the directive"
    second.conf_path.write_text(conf)
    second.spawn()
    try:
        second.wait_log("the server runs")
        assert first.alive() and can_connect(first.rtmp_port)
        first.stop()
        assert can_connect(first.rtmp_port), "the other one goes on"
    finally:
        second.discard()


def test_the_image_stays_in_the_foreground(servers):
    """Its variables, where no container is detected, and with a file that has `daemon on`."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    variables = dict(line.split()[1].split("=") for line in lines if line.startswith("ENV SRS_"))
    assert variables == {"SRS_DAEMON": "off", "SRS_IN_DOCKER": "on"}
    server = servers(top="daemon on; disable_daemon_for_docker off;", environment=variables)
    assert server.alive() and int(server.pid_path.read_text()) == server.pid


def test_who_changes_something_through_a_proxy(tmp_path):
    """It is refused without auth, unlike in SRS: the check says so."""
    api = "trusted_proxies 10.0.0.1;\nhttp_api { enabled on; %s }\n"
    code, output = check(tmp_path, GOOD + api % "")
    assert code == 0 and "refused when they come through a proxy" in output, output
    code, output = check(tmp_path, GOOD + api % "auth { enabled on; username a; password b; }")
    assert code == 0 and "proxy" not in output, output


def test_mount_is_the_url_of_a_stream(servers):
    server = servers(
        vhosts=default_vhost().replace("mount [vhost]/[app]/[stream].flv;", "mount [vhost]/tv/[stream]/[app].flv;")
    )
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, media.tags(media.plain())[:20])
        assert http.get_status(server.http_port, "/tv/s/live.flv") == 200
        assert http.get_status(server.http_port, "/live/s.flv") == 404


def test_daemon(servers):
    """It goes into the background, the pid file says which process it is, TERM ends that one."""
    server = servers.make(top="daemon on; disable_daemon_for_docker off;")
    server.spawn()
    assert server.wait_exit(5) == 0, "the process that started the daemon should end with 0"
    pid = int(server.pid_path.read_text())
    assert pid != server.pid, "the pid file should name the daemon, not the process that started it"
    try:
        wait_until(lambda: can_connect(server.rtmp_port), 10, "the daemon listens")
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), 5, "the daemon ends on TERM")


def test_pid_file_refuses_a_second_one(servers):
    first = servers()
    assert int(first.pid_path.read_text()) == first.pid, "the pid file should hold the server's id"
    code, output = run_once("-c", str(first.conf_path), directory=first.dir)
    said = output + first.log()
    assert code != 0 and re.search(r"pid|running|lock", said), f"a second instance should be refused: {code}\n{said}"
    assert int(first.pid_path.read_text()) == first.pid, "the refused one should leave the pid file alone"
    assert first.alive() and can_connect(first.rtmp_port), "the first one should go on"
    first.stop()
    assert first.start().alive(), "after the first one's end its pid file is no obstacle"


def test_starts_where_there_is_no_directory_for_its_files(servers):
    """The default pid and log files lie in ./objs, which need not be there."""
    server = servers.make(tank="console")
    server.conf_path.write_text(re.sub(r"^pid .*", "", server.conf, flags=re.MULTILINE))
    server.start()
    assert int((server.dir / "objs" / "srs.pid").read_text()) == server.pid


def test_a_directory_that_cannot_be_made_is_said(servers):
    server = servers.make()
    (server.dir / "file").write_text("in the way")
    server.conf_path.write_text(re.sub(r"^pid .*", "pid ./file/srs.pid;", server.conf, flags=re.MULTILINE))
    code, output = run_once("-c", str(server.conf_path), directory=server.dir)
    said = output + server.log()
    assert code != 0 and re.search(r"pid file \./file/srs\.pid.*making the directory \./file", said), said


def server_id(server):
    return api.ask(server, "/api/v1/versions")["server"]


def test_server_id_is_made_up_once(servers):
    server = servers(top=api.ON)
    name = server_id(server)
    assert re.fullmatch(r"vid-[0-9a-z]{7}", name), name
    assert server.pid_path.with_suffix(".id").read_text() == name + "\n", "it should be kept beside the pid file"
    server.stop()
    server.start()
    assert server_id(server) == name, "it should be the same after a restart"
    api.reload(server)
    assert server_id(server) == name, "and after a reload"
    server.stop()
    server.conf_path.write_text("server_id origin-7;\n" + server.conf)
    server.start()
    assert server_id(server) == "origin-7", "what is configured should be used"


# What -t has to say as the start does: text of a configuration, the line, whether it is refused, and words.
# FILE is a file where a directory should be.
RTC = "rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; candidate %s; }\n"
AGREED = {
    "rtmps": ("rtmps { enabled on; listen 127.0.0.1:RTMPS_PORT;\nkey no.key; cert no.crt; }", True, "rtmps: certificate no.crt: No such file"),
    "https": ("HTTP { https { enabled on; listen 127.0.0.1:HTTPS_PORT;\nkey no.key; cert no.crt; } }", True, "http_server/https: certificate no.crt"),
    "https of the API": (
        "http_api { enabled on; listen 127.0.0.1:API_PORT; https { enabled on; listen 127.0.0.1:HTTPS_PORT;\nkey no.key; cert no.crt; } }",
        True,
        "http_api/https: certificate no.crt",
    ),
    "rtsps": (
        "rtsp_server { enabled on; listen 127.0.0.1:API_PORT; rtsps { enabled on; listen 127.0.0.1:RTMPS_PORT;\nkey no.key; cert no.crt; } }",
        True,
        "rtsp_server/rtsps: certificate no.crt",
    ),
    "no key": ("rtmps { enabled on; listen 127.0.0.1:RTMPS_PORT;\nkey FILE; cert CERT; }", True, "rtmps: key FILE"),
    "log": ("srs_log_tank file;\nsrs_log_file FILE/srs.log;", True, "FILE is no directory"),
    "pid": ("# none\npid FILE/pid;", True, "FILE"),
    "work_dir": ("# none\nwork_dir FILE;", True, "Not a directory"),
    "user": ("# none\nuser no-such-user;", True, "there is no user no-such-user"),
    "dvr_path": ("vhost v { dvr { enabled on;\ndvr_path FILE/x.flv; } }", False, "FILE is no directory"),
    "hls_path": ("vhost v { hls { enabled on;\nhls_path FILE; } }", False, "FILE is no directory"),
    "program of exec": ("vhost v { exec { enabled on;\npublish /no/tool [url]; } }", False, "/no/tool does not exist"),
    "program of transcode": (
        "vhost v {\ntranscode { enabled on; ffmpeg /no/ffmpeg; engine e { enabled on; output rtmp://127.0.0.1/live/x; } } }",
        False,
        "/no/ffmpeg does not exist",
    ),
    "program of ingest": (
        "vhost v {\ningest i { enabled on; ffmpeg /no/ffmpeg; input { type file; url a.flv; } engine { enabled on; output rtmp://127.0.0.1/live/x; } } }",
        False,
        "/no/ffmpeg does not exist",
    ),
    "variable of dvr_path": (
        "vhost v { dvr { enabled on;\ndvr_path ./[app]/[streem].[timestamp].flv; } }",
        False,
        "dvr_path has [streem], which is no variable and stays as it is; did you mean 'stream'?",
    ),
    "variable of hls_path": ("vhost v { hls { enabled on;\nhls_path ./[vhost]; } }", False, "hls_path has [vhost], which is no variable"),
    "variable of hls_ts_file": ("vhost v { hls { enabled on;\nhls_ts_file [app]/[stream]-[seqence].[seq].ts; } }", False, "[seqence]"),
    "variable of hls_m3u8_file": ("vhost v { hls { enabled on;\nhls_m3u8_file [ap]/[stream].m3u8; } }", False, "did you mean 'app'?"),
    "variable of exec": ("vhost v { exec { enabled on;\npublish /bin/true [apps]; } }", False, "publish has [apps]"),
    "variable of forward": ("vhost v { forward { enabled on;\ndestination rtmp://127.0.0.1:1/[apps]/[stream]; } }", False, "[apps]"),
    "hls_window": ("vhost v { hls { enabled on; hls_fragment 10;\nhls_window 5; } }", False, "hls_window 5 is below hls_fragment 10"),
    "candidate": ("# none\n" + RTC % "192.168.1.300", False, "'192.168.1.300' is no address"),
    "candidate with a scheme": ("# none\n" + RTC % "http://a.com", False, "'http://a.com' is no address"),
}
GOOD_ROWS = [
    *(RTC % word for word in ("*", "0.0.0.0", "$CANDIDATE", "lo", "192.0.2.1", "192.0.2.1:8000", "[2001:db8::1]:8000", "media.example.com", "localhost")),
    "vhost v { exec { enabled on; publish /bin/true -filter_complex [0:v]split[left][right] -map [left] [url]; } }",
    "vhost v { hls { enabled on; hls_fragment 5; hls_window 5; } dvr { enabled on; dvr_path ./[2006]/[app]/[stream].[timestamp].flv; } }",
]


def same_said(servers, certificate, text):
    """A server of that configuration, not started, and what -t says: exit code, lines of the configuration's problems."""
    server = servers.make(http_enabled=False, vhosts="")
    blocked = server.dir / "blocked"
    blocked.write_text("a file where a directory should be")
    http = f"http_server {{ enabled on; listen 127.0.0.1:{server.http_port};"
    for name, value in (("FILE", blocked), ("CERT", certificate[1]), ("HTTP {", http)):
        text = text.replace(name, str(value))
    for name in ("RTMPS_PORT", "HTTPS_PORT", "API_PORT", "RTC_PORT"):
        text = text.replace(name, str(getattr(server, name.lower())))
    drop = [f"{name} " for name in ("pid", "srs_log_tank", "srs_log_file") if re.search(rf"^{name} ", text, re.MULTILINE)]
    lines = [line for line in server.conf.splitlines() if not line.startswith(tuple(drop))] if drop else server.conf.splitlines()
    server.conf_path.write_text("\n".join([*(line for line in lines if line.strip()), text]) + "\n")
    number = len([line for line in lines if line.strip()]) + 2
    code, output = run_once("-t", "-c", str(server.conf_path), directory=server.dir)
    return server, str(blocked), number, code, output


@pytest.mark.parametrize("what", AGREED)
def test_t_and_the_start_agree(servers, certificate, what):
    """What -t refuses the start refuses, and where the server starts with something that cannot work both warn."""
    text, is_refused, words = AGREED[what]
    if what == "user" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    server, blocked, number, code, output = same_said(servers, certificate, text)
    words = words.replace("FILE", blocked)
    kind = "error" if is_refused else "warning"
    said = [line for line in output.splitlines() if f"srs.conf:{number}: {kind}: " in line and words in line]
    assert said and (code != 0) == is_refused, f"-t should have a {kind} of line {number} with {words!r}; exit code {code}\n{output}"
    if is_refused:
        server.spawn()
        code = server.wait_exit(10)
        told = server.log() + server.output()
        server.process = None
        assert code != 0 and words in told and f"srs.conf:{number}" in told, f"the start should refuse it, too; exit code {code}\n{told}"
    else:
        server.start()
        place, text = said[0].split(f": {kind}: ", 1)
        server.wait_log(re.escape(text))


@pytest.mark.parametrize("text", GOOD_ROWS)
def test_what_is_no_problem_is_not_said(servers, certificate, text):
    *_, code, output = same_said(servers, certificate, text)
    assert code == 0 and not re.search("candidate|variable|hls_window|does not exist|no directory", output), output


def test_a_reload_says_what_t_says(servers, certificate):
    server = servers(top=api.CONF % "raw_api { enabled on; allow_reload on; }", vhosts=default_vhost("chunk_size 5000;"))
    conf = server.conf_path.read_text()
    blocked = server.dir / "blocked"
    blocked.write_text("a file where a directory should be")
    server.conf_path.write_text(conf + f"vhost v {{ dvr {{ enabled on; dvr_path {blocked}/x.flv; }} exec {{ enabled on; publish /no/tool; }} }}\n")
    problems = api.ask(server, "/api/v1/raw?rpc=reload")["reload"]["problems"]
    for wanted in ("warning: vhost v dvr_path .* is no directory", "warning: exec of vhost v: /no/tool does not exist"):
        assert any(re.search(wanted, problem) for problem in problems), f"{wanted!r} should be among {problems}"


def test_a_missing_semicolon_is_hinted(tmp_path):
    """Also where the directive takes all words up to the next one's end."""
    for text, line, words in (
        ("rtc_server { enabled off;\ncandidate 192.0.2.1\nlisten 8000; }", 5, "candidate has words of several lines; is a ; missing before 'listen'"),
        ("max_connections 100\npid a.pid;", 4, "is a ; missing before 'pid'"),
        ("vhost v {\nhls\nmin_latency on; }", 5, "'hls' is a block: hls { ... }; is a ; missing before 'min_latency'"),
    ):
        _, output = check(tmp_path, GOOD + text)
        assert any(f"t.conf:{line}:" in one and words in one for one in output.splitlines()), f"{words!r}:\n{output}"
