"""http_server and http_api on one port, as SRS documents it: one listener, both routes, and the bounds of both."""

import json
import signal
import subprocess

from lib import api, certificates, http, media, publishing, rtmp
from lib.server import BINARY
from lib.timing import wait_until

ONE = "http_api { enabled on; listen 127.0.0.1:%d; %s }\n"


def one_port(servers, api_more="", http_more="", top="", vhosts=None):
    server = servers.make(top=top, http=http_more, vhosts=vhosts)
    server.api_port = server.http_port
    server.conf = server.conf + ONE % (server.http_port, api_more)
    server.conf_path.write_text(server.conf)
    return server


def test_the_api_streams_and_files_answer_on_it(servers):
    server = one_port(servers)
    (server.dir / "html/index.html").write_text("front")
    (server.dir / "html/players").mkdir()
    (server.dir / "html/players/whep.html").write_text("the operator's")
    server.start()
    assert "listens on" in server.log() and "with the API" in server.log(), server.log()
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        with http.Live(server.http_port, "/live/one.flv") as live:
            assert live.tags(), "the stream plays"
            assert api.wait_stream(server, "one", lambda s: s["clients"] == 2)["name"] == "one"
    assert http.get(server.http_port, "/").body == b"front", "the site's, not the API's list"
    assert api.ask(server, "/api/v1/versions")["data"]["major"] == 7
    assert http.get(server.http_port, "/players/whep.html").body == b"the operator's"
    assert b"RTCPeerConnection" in http.get(server.http_port, "/players/whip.html").body
    assert http.get(server.http_port, "/healthz").status == 200
    assert http.get(server.http_port, "/api/v1/nothing").status == 404
    # Who may call what is the API's.
    for page in ({"Origin": "http://evil.example"}, {"X_Forwarded_For": "10.0.0.1"}):
        assert http.get(server.http_port, "/api/v1/clients/x", "DELETE", **page).status == 403, page
    # A publisher's names hide none of it.
    with publishing.Steady(rtmp.publisher(server, "api/v1", "versions"), media.tags(media.plain())):
        api.wait_stream(server, "versions")
        assert api.ask(server, "/api/v1/versions")["data"]["major"] == 7


def test_credentials_are_asked_for_there_too(servers):
    server = one_port(servers, "auth { enabled on; username ops; password s3cret; }").start()
    (server.dir / "html/a.txt").write_text("a file")
    assert http.get(server.http_port, "/api/v1/versions").status == 401
    assert http.get(server.http_port, "/a.txt").body == b"a file"


def test_both_over_tls(servers, tmp_path):
    key, cert = certificates.make(tmp_path)
    tls = "https { enabled on; listen 127.0.0.1:HTTPS_PORT; key %s; cert %s; }" % (key, cert)
    server = servers.make(http=tls)
    tls = tls.replace("HTTPS_PORT", str(server.https_port))
    server.conf += ONE % (server.http_port, tls)
    server.conf_path.write_text(server.conf)
    server.start()
    for port, is_tls in ((server.http_port, False), (server.https_port, True)):
        answer = http.get(port, "/api/v1/versions", tls=is_tls)
        assert answer.status == 200 and json.loads(answer.body)["data"]["major"] == 7, answer.describe()


def test_a_full_server_answers_its_operator(servers):
    """What strangers hold keeps nobody of this machine from the API; a player is refused all the same."""
    server = one_port(servers, top="max_connections 20;\n").start()
    players = []
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        try:
            for _ in range(19):
                players.append(http.Live(server.http_port, "/live/one.flv"))
            assert all(player.response.status == 200 for player in players)
            assert api.ask(server, "/api/v1/summaries")["data"]["self"]["version"] == "7.0.18"
            assert http.get(server.http_port, "/api/v1/summaries", X_Forwarded_For="10.0.0.1").status == 503
            assert all(player.tags() for player in players), "they play on"
        finally:
            for player in players:
                player.close()


def test_while_it_drains_the_api_answers_and_players_do_not_come(servers):
    server = one_port(servers, top="grace_start_wait 0; grace_final_wait 0;\n").start()
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        with http.Live(server.http_port, "/live/one.flv") as live:
            assert live.tags()
            server.signal(signal.SIGQUIT)
            wait_until(lambda: api.ask(server, "/api/v1/operations")["data"]["draining"], 5, "it drains")
            wait_until(lambda: http.get_status(server.http_port, "/live/one.flv") == 503, 5, "no player is taken")
            assert http.get(server.http_port, "/readyz").status == 503
            assert live.tags(), "who is there plays on"
    assert server.wait_exit(20) == 0, "with the last one gone it should end well"


def test_crossdomain_must_be_one(servers):
    server = one_port(servers, "crossdomain off;")
    done = subprocess.run([str(BINARY), "-t", "-c", server.conf_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "give both the same crossdomain" in done.stderr, done.stderr
