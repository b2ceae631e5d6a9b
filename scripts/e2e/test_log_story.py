"""What the log says to an operator who looks for the first time: what is published and how it goes, who is refused and from
where, how requests were answered. And what it leaves out."""

import configparser
import re
import time

import pytest

from lib import api, http, media, publishing, rtmp, rtsp
from lib.server import ROOT, default_vhost
from lib.timing import scaled, wait_until

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; auth { enabled on; username ops; password s3cret-word; tokens good-token-0123456789; } }\n"
RTSP = "rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; auth { enabled on; username u; password pw-of-rtsp; } }\n"


def text_of(line):
    """A line without what is before its text."""
    return re.sub(r"^(\[[^\]]*\])+ ", "", line)


def test_what_is_published(servers):
    """One line when the tracks and the first GOP are known, figures from time to time, another line when it changes."""
    server = servers(top="pithy_print_ms 1000;")
    tags = media.from_keyframe(media.with_b_frames())
    with rtmp.publisher(server, "live", "x") as client:
        with publishing.Steady(client, tags, speed=4):
            line = server.wait_log(r"__defaultVhost__/live/x: H\.264 ", 15)
            published = server.wait_log("RTMP publish: .*live/x", 1)
            with rtmp.player(server, "live", "x"):
                figures = server.wait_log(r"live/x: in \d+ kbit/s, 1 player, out \d+ kbit/s, 0 drops", 10)
    pattern = r"__defaultVhost__/live/x: H\.264 \w+ \d+x\d+ [\d.]+ fps, AAC [\d.]+ kHz (mono|stereo), GOP [\d.]+ s"
    assert re.fullmatch(pattern, text_of(line)), line
    ids = {re.findall(r"\[(\w+)\]\[0\]", one)[0] for one in (line, published, figures)}
    assert len(ids) == 1, f"they have the id of the publisher: {line} {published} {figures}"
    assert server.log_count("live/x: H.264") == 1, "it is said once"


def test_a_change_of_the_tracks_is_told(servers):
    server = servers()
    with rtmp.publisher(server, "live", "x") as client:
        publishing.send_all(client, media.from_keyframe(media.with_b_frames())[:300])
        server.wait_log(r"live/x: H\.264 ", 15)
        publishing.send_all(client, media.from_keyframe(media.hevc())[:200])
        server.wait_log(r"live/x is now: HEVC ", 15)


def test_recordings_begin_and_end(servers):
    server = servers(vhosts=default_vhost(vhost="dvr { enabled on; dvr_path ./rec/[app]/[stream].flv; }"))
    with rtmp.publisher(server, "live", "x") as client:
        publishing.send_all(client, media.from_keyframe(media.with_b_frames())[:100])
        server.wait_log(r"dvr: __defaultVhost__/live/x: \./rec/live/x\.flv begins", 5)
    server.wait_log(r"dvr: __defaultVhost__/live/x: \./rec/live/x\.flv is complete: \d+ ms, \d+ bytes", 5)


def test_how_requests_were_answered(server):
    for method, path, status in (("GET", "/none.html", 404), ("HEAD", "/none.html?k=v", 404), ("POST", "/", 405)):
        with http.Connection(server.http_port) as connection:
            connection.request(method, path)
            connection.read_head()
        name = path.partition("?")[0]
        server.wait_log(rf"http ended: {re.escape(name)} \({method} {status}\) from 127\.0\.0\.1, ", 5)


def test_who_publishes_already(server):
    """The second publisher, and the log, get the id of the first one's session, by which its address is found."""
    with rtmp.publisher(server, "live", "x") as first:
        publishing.send_all(first, media.from_keyframe(media.with_b_frames())[:20])
        first_id = re.findall(r"\[(\w+)\]\[0\]", server.wait_log("RTMP publish: .*live/x, ", 5))[0]
        with pytest.raises(rtmp.Refused, match=rf"is being published already, by {first_id} for \d+ s"):
            rtmp.publisher(server, "live", "x")
    server.wait_log(rf"publish.* is being published already, by {first_id} for \d+ s", 5)


def test_nothing_is_said_of_what_does_not_move(servers):
    server = servers(top="pithy_print_ms 100; rtc_server { enabled on; listen RTC_PORT; candidate 127.0.0.1; }")
    time.sleep(scaled(1.3))
    assert server.log_count("UDP: ") == 0, server.log()
    log = server.log()
    assert "the loop stalled" not in log.partition("the server runs")[0], f"nobody waits for the start: {log}"


def filter_of_fail2ban():
    """Its date and its expression as Python's: fail2ban takes the date off before it looks for the expression."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "packaging/fail2ban/srs.conf")
    definition = parser["Definition"]
    date = definition["datepattern"]
    for directive, digits in (("%Y", r"\d{4}"), ("%f", r"\d+"), *((f"%{one}", r"\d\d") for one in "mdHMS")):
        date = date.replace(directive, digits)
    return re.compile(date), re.compile(definition["failregex"].replace("<ADDR>", r"(?P<address>\[?[0-9a-fA-F:.]+\]?)"))


def banned(log):
    date, wanted = filter_of_fail2ban()
    found = []
    for line in log.splitlines():
        assert date.search(line), f"a line begins with its date: {line}"
        if match := wanted.search(date.sub("", line, count=1)):
            found.append(match["address"])
    return found


def test_refused_logins_are_told_and_found_by_fail2ban(servers):
    server = servers(top=API + RTSP + "exporter { enabled on; listen 127.0.0.1:HTTPS_PORT; }")
    http.get(server.api_port, "/api/v1/streams")  # without credentials: a browser asks so first
    http.get(server.api_port, "/api/v1/streams", Authorization=api.basic("ops:s3cret-word"))
    assert not banned(server.log()), "nobody has given wrong ones yet"
    http.get(server.api_port, "/api/v1/streams", Authorization=api.basic("ops:wrong"))
    http.get(server.https_port, "/metrics", Authorization="Bearer wrong")
    with rtsp.Client(server.rtmps_port) as client:
        client.request("DESCRIBE", rtsp.url(server, "live/x"), Authorization=rtsp.basic("u", "wrong"))
    wait_until(lambda: len(banned(server.log())) == 3, 5, lambda: f"three lines: {server.log()}")
    assert set(banned(server.log())) == {"127.0.0.1"}, server.log()
    assert server.log_count("s3cret-word") + server.log_count("wrong\"") == 0, "no password is in the log"


def test_nobody_is_banned_by_a_name(servers):
    """Names that a client chooses look like such lines; what is counted after many is still one."""
    server = servers(top=API)
    forged = "[warn][1][a][0] HTTP API: wrong user, password or token from 192.0.2.1"
    for name in (forged, f"x\n[2026-11-28 05:52:11.403]{forged}"):
        with pytest.raises((rtmp.RtmpError, OSError)):
            with rtmp.publisher(server, "live", name) as client:
                raise OSError(client)
    http.get(server.http_port, "/" + forged.replace(" ", "%20"))
    for _ in range(25):
        http.get(server.api_port, "/api/v1/streams", Authorization="Bearer wrong")
    wait_until(lambda: len(banned(server.log())) >= 20, 5, lambda: f"lines: {server.log()}")
    time.sleep(scaled(1.1))
    http.get(server.api_port, "/api/v1/streams", Authorization="Bearer wrong")
    server.wait_log(r"token from 127\.0\.0\.1 \(\d+ more", 5)
    found = banned(server.log())
    assert set(found) == {"127.0.0.1"} and len(found) >= 21, found
