"""objs/srs why URL: what is wrong with a URL, and that the line it names mends it."""

import json
import re
import signal
import urllib.parse

import pytest

from lib import api, media, publishing, rtmp, signed_urls
from lib.server import default_vhost, run_once
from lib.timing import wait_until
from lib.upgrades import Upgrades

TOP = api.ON


def tags():
    return media.from_keyframe(media.frequent_keyframes())


def ask(server, url, **parameters):
    """The answer of the endpoint."""
    query = urllib.parse.urlencode({"url": url, **parameters})
    return api.ask(server, f"/api/v1/why?{query}")


def finding(answer, check, verdict="bad"):
    found = [one for one in answer["findings"] if one["check"] == check and one["verdict"] == verdict]
    assert len(found) == 1, f"one finding {check!r} that is {verdict} was expected:\n{json.dumps(answer, indent=1)}"
    return found[0]


def bad(answer):
    return [one["check"] for one in answer["findings"] if one["verdict"] == "bad"]


def put(text, line):
    """The configuration with the line: within the vhost that it names, where there is one."""
    found = re.fullmatch(r"vhost (\S+) \{ (.*) \}", line)
    if not found or not found.group(2):
        return f"{text}\n{line}\n"
    name, inner = found.groups()
    start = re.search(rf"^vhost {re.escape(name)} \{{", text, re.MULTILINE)
    assert start, f"vhost {name} is not in\n{text}"
    depth, at = 1, start.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return f"{text[: at - 1]}\n    {inner}\n{text[at - 1 :]}"


def mend(server, found):
    """Writes the line that a finding names, and has it read: by a reload, or a restart where the finding says so."""
    assert found["line"], f"a line was expected: {found}"
    server.conf = put(server.conf_path.read_text(), found["line"])
    server.conf_path.write_text(server.conf)
    if "restart" in found["advice"]:
        server.stop()
        server.start()
        return
    mark = server.log_mark()
    server.signal(signal.SIGHUP)
    server.wait_log(r"reload: .* changes", 5, mark)


# name, the vhost's directives, what else is in the configuration, URL, parameters, the finding, a part of its text
MISTAKES = [
    ("flv is off", "remux", "", "http://127.0.0.1:HTTP_PORT/live/s.flv", {},
     "protocol of the vhost", "HTTP-FLV is not enabled"),
    ("hls is off", "", "", "http://127.0.0.1:HTTP_PORT/live/s.m3u8", {},
     "protocol of the vhost", "HLS is not enabled"),
    ("dash is off", "", "", "http://127.0.0.1:HTTP_PORT/live/s.mpd", {},
     "protocol of the vhost", "DASH is not enabled"),
    ("webrtc is off", "rtc { enabled on; rtmp_to_rtc on; }", "", "webrtc://127.0.0.1:API_PORT/live/s", {},
     "protocol", "WebRTC is not enabled"),
    ("webrtc is off in the vhost", "rtc { rtmp_to_rtc on; }", "rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; }",
     "http://127.0.0.1:API_PORT/rtc/v1/whep/?app=live&stream=s", {}, "protocol of the vhost", "WebRTC"),
    ("nothing is converted to webrtc", "rtc { enabled on; }", "rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; }",
     "webrtc://127.0.0.1:API_PORT/live/s", {}, "conversion", "not converted"),
    ("rtsp is off in the vhost", "", "rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; }",
     "rtsp://127.0.0.1:RTMPS_PORT/live/s", {}, "protocol of the vhost", "RTSP is not enabled"),
    ("nothing is converted to rtsp", "rtsp { enabled on; rtmp_to_rtsp off; }",
     "rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; }", "rtsp://127.0.0.1:RTMPS_PORT/live/s", {},
     "conversion", "not converted"),
    ("srt is off in the vhost", "", "srt_server { enabled on; listen 127.0.0.1:RTC_PORT; }",
     "srt://127.0.0.1:RTC_PORT?streamid=#!::r=live/s,m=request", {}, "protocol of the vhost", "SRT is not enabled"),
    ("the address is not allowed", "security { enabled on; allow play 192.0.2.0/24; allow publish all; }", "",
     "rtmp://127.0.0.1:RTMP_PORT/live/s", {"ip": "198.51.100.7"}, "address", "198.51.100.7"),
    ("the page is not allowed", "refer { enabled on; play a.example; }", "",
     "http://127.0.0.1:HTTP_PORT/live/s.flv", {"page": "http://b.example/x"}, "refer", "b.example"),
    ("the url is not signed", "signed_urls { enabled on; secret 0123456789abcdef; publish off; }", "",
     "rtmp://127.0.0.1:RTMP_PORT/live/s", {}, "signature", ""),
    ("the name is taken", "publish { takeover off; }", "", "rtmp://127.0.0.1:RTMP_PORT/live/s", {"publish": 1},
     "publisher", "published already"),
    ("the vhost is off", "enabled off;", "", "rtmp://127.0.0.1:RTMP_PORT/live/s", {}, "vhost", "not enabled"),
]  # fmt: skip


def with_ports(server, text):
    for name in ("RTMP_PORT", "HTTP_PORT", "API_PORT", "RTC_PORT"):
        text = text.replace(name, str(getattr(server, name.lower())))
    return text.replace("RTMPS_PORT", str(server.rtmps_port))


@pytest.mark.parametrize("mistake", MISTAKES, ids=[one[0].replace(" ", "_") for one in MISTAKES])
def test_the_line_mends_it(servers, mistake):
    name, vhost, more, url, parameters, check, text = mistake
    vhosts = default_vhost(remux="enabled off;") if vhost == "remux" else default_vhost(vhost)
    server = servers(top=TOP + more + "\n", vhosts=vhosts)
    url = url.replace("RTMPS_PORT", str(server.rtmps_port))
    url = with_ports(server, url)
    publishes = name != "the vhost is off"

    def publisher():
        return publishing.Steady(rtmp.publisher(server, "live", "s"), tags())

    steady = publisher() if publishes else None
    if steady:
        wait_until(lambda: steady.sent, 5, "the publisher sends")
    answer = ask(server, url, play=0, **parameters)
    found = finding(answer, check)
    assert text in found["text"], f"{name}: {found}"
    assert answer["verdict"] == "bad", answer
    restarts = "restart" in found["advice"]
    if steady and restarts:
        steady.stop()
    mend(server, found)
    if not publishes or restarts:
        if steady:
            steady.client.close()
        steady = publisher()
        wait_until(lambda: steady.sent, 5, "the publisher sends")
    answer = ask(server, url, play=0, **parameters)
    steady.stop()
    assert not bad(answer), f"{name}: the line {found['line']!r} should mend it:\n{json.dumps(answer, indent=1)}"


def command(server, *arguments):
    return run_once("why", "-c", str(server.conf_path), *arguments, directory=server.dir, seconds=20)


def test_it_plays(servers):
    server = servers(top=TOP)
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags()):
        for url in (server.rtmp_url("live/s"), server.http_url("live/s.flv"), server.http_url("live/s.ts")):
            code, text = command(server, url)
            assert code == 0, f"{url}: exit code {code}:\n{text}"
            got = re.search(r"^ok +playing +(\d+) video and (\d+) audio frames, (\d+) kbit/s, the first after (\d+) ms; "
                            r"(.*)$", text, re.MULTILINE)  # fmt: skip
            assert got, f"{url}: what was played was expected:\n{text}"
            video, audio, kbps = (int(one) for one in got.groups()[:3])
            assert video > 10 and audio > 10 and kbps > 10, f"{url}: two seconds were expected:\n{text}"
            assert "H264" in got.group(5) and "AAC" in got.group(5), text
            assert text.splitlines()[-1] == "nothing is in the way", text


def test_what_is_published_under_another_name(servers):
    server = servers(top=TOP)
    with publishing.Steady(rtmp.publisher(server, "live", "livestream"), tags()) as steady:
        wait_until(lambda: steady.sent, 5, "the publisher sends")
        code, text = command(server, server.rtmp_url("live/livestrem"))
        assert code == 1, text
        assert "live/livestrem is not published, live/livestream is" in text, text
        right = re.search(r"-> (rtmp://\S+)", text).group(1)
        code, text = command(server, right)
        assert code == 0, f"the URL that it names should play:\n{text}"


def test_the_wrong_port(servers):
    server = servers(top=TOP)
    answer = ask(server, f"http://127.0.0.1:{server.rtmp_port}/live/s.flv", play=0)
    found = finding(answer, "port")
    assert "the port of rtmp" in found["text"], found
    assert found["url"] == f"http://127.0.0.1:{server.http_port}/live/s.flv", found


def test_without_a_server_the_configuration_is_evaluated(servers):
    server = servers(top=TOP, vhosts=default_vhost("hls { enabled off; }"))
    server.stop()
    code, text = command(server, server.http_url("live/s.m3u8"))
    assert code == 1 and "no server answers at" in text, text
    assert "-> vhost __defaultVhost__ { hls { enabled on; } }" in text, text


def test_the_api_needs_to_be_asked_by_who_may(servers):
    server = servers(top=api.CONF % "auth { enabled on; tokens t0ken-of-the-api; read_tokens read-t0ken-of-the-api; }")
    path = f"/api/v1/why?url={urllib.parse.quote(server.rtmp_url('live/s'))}"
    api.ask(server, path, status=401, code=401)
    api.ask(server, path, status=403, code=403, Authorization="Bearer read-t0ken-of-the-api")
    code, text = command(server, server.rtmp_url("live/s"), "--dry")
    assert "the running server" in text, f"the command has the token of the configuration:\n{text}"
    assert code == 1 and "is not published" in text, text


def test_it_connects_to_nothing_else(servers):
    """Whatever address a URL has, it is evaluated alone, and no secret of it is repeated."""
    server = servers(top=TOP)
    for url in ("http://127.0.0.1:1/live/s.flv?token=s3cret", "rtmp://169.254.169.254/live/s?token=s3cret",
                "rtsp://u:s3cret@192.0.2.1/live/s"):  # fmt: skip
        answer = ask(server, url)
        assert "s3cret" not in json.dumps(answer), answer
        assert answer["played"] is None or answer["played"]["not_tried"], answer


def test_what_the_other_process_of_an_upgrade_has(servers):
    server = servers(top=TOP)
    with Upgrades(server) as upgrades, publishing.Steady(rtmp.publisher(server, "live", "s"), tags()) as steady:
        wait_until(lambda: steady.sent, 5, "the publisher sends")
        upgrades.upgrade()
        url = server.rtmp_url("live/s")

        def found():
            return next(one for one in ask(server, url, play=0)["findings"] if one["check"] == "publisher")

        wait_until(lambda: found()["verdict"] == "ok", 5, lambda: f"the other process publishes it: {found()}")
        assert "other process" in found()["text"], found()
        answer = ask(server, url)
        assert not bad(answer) and answer["played"]["video_frames"] > 0, f"it should be played from there: {answer}"


def test_hooks_are_named_and_not_asked(servers):
    server = servers(top=TOP, vhosts=default_vhost(
        "http_hooks { enabled on; on_play http://127.0.0.1:1/play?token=s3cret; }"))  # fmt: skip
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags()) as steady:
        wait_until(lambda: steady.sent, 5, "the publisher sends")
        answer = ask(server, server.rtmp_url("live/s"))
        found = finding(answer, "hook", "unknown")
        assert "http://127.0.0.1:1/play," in found["text"] and "s3cret" not in json.dumps(answer), answer
        assert "hooks" in answer["played"]["not_tried"], answer


def test_a_signed_url(servers):
    secret = "0123456789abcdef"
    server = servers(top=TOP, vhosts=default_vhost(f"signed_urls {{ enabled on; secret {secret}; publish off; }}"))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags()) as steady:
        wait_until(lambda: steady.sent, 5, "the publisher sends")
        query = signed_urls.query("play", "s", secret=secret)
        answer = ask(server, f"{server.rtmp_url('live/s')}?{query}")
        assert not bad(answer) and not answer["played"]["error"], answer
        assert answer["played"]["video_frames"] > 0, answer


def test_what_is_no_url(servers):
    server = servers(top=TOP)
    assert "is missing" in api.ask(server, "/api/v1/why", status=400, code=400)["error"]
    api.ask(server, "/api/v1/why?url=rtmp://h/a/b&ip=x", status=400, code=400)
    answer = ask(server, "ftp://h/live/s")
    assert answer["verdict"] == "bad" and answer["target"] is None, answer
    assert "rtmp" in finding(answer, "url")["text"], answer
