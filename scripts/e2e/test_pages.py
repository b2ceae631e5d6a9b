"""The web pages: where they are served, with which headers, what comes before them, and what is never served. The pages
are files of this test; those that `make console` makes are tested in test_page*.py."""

import os
import re
import shutil
import signal

from lib import api, http, media, nginx, publishing, rtmp
from lib.server import run_once
from lib.timing import wait_until

FILES = {
    "start.html": "text/html; charset=utf-8",
    "start.js": "text/javascript; charset=utf-8",
    "start.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "console/index.html": "text/html; charset=utf-8",
    "console/console.js": "text/javascript; charset=utf-8",
    "console/console.js.map": "application/json",
    "players/index.html": "text/html; charset=utf-8",
    "players/whep.html": "text/html; charset=utf-8",
}
POLICY = {
    "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data: blob:", "font-src": "'self'",
    "media-src": "'self' blob: http: https:", "connect-src": "'self' http: https: ws: wss:", "worker-src": "'self' blob:",
    "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'self'",
}  # fmt: skip


def put_pages(directory):
    for name in FILES:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(f"page {name}")


def make(servers, console="dir %s;", top=""):
    """With the API, and pages in a directory of their own."""
    server = servers.make(top=api.CONF % "" + top)
    server.pages = server.dir / "pages"
    put_pages(server.pages)
    server.conf += "console { %s }\n" % (console % server.pages if "%s" in console else console)
    server.conf_path.write_text(server.conf)
    return server


def policy_of(answer):
    parts = (part.partition(" ") for part in answer.headers.get("content-security-policy", "").split("; ") if part)
    return {name: value for name, _, value in parts}


def assert_page(answer, name):
    assert answer.status == 200 and answer.body == f"page {name}".encode(), answer.describe()
    assert policy_of(answer) == POLICY, answer.head
    wanted = {
        "content-type": FILES[name],
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }
    assert wanted.items() <= answer.headers.items(), answer.head
    assert answer.headers["etag"] and answer.headers["last-modified"], answer.head


def test_pages_on_both_ports(servers):
    server = make(servers).start()
    for port in (server.http_port, server.api_port):
        for name in FILES:
            path = "/" + name.removesuffix("index.html")
            assert_page(http.get(port, path), name)
            assert_page(http.get(port, path + "?stream=a&lang=zh"), name)
            head = http.get(port, path, "HEAD")
            assert head.status == 200 and int(head.headers["content-length"]) == len(f"page {name}"), head.head
            assert policy_of(head) == POLICY, head.head
            known = http.get(port, path, If_None_Match=head.headers["etag"])
            assert known.status == 304 and policy_of(known) == POLICY, known.head
        for folder in ("console", "players"):
            moved = http.get(port, f"/{folder}?a=b")
            assert moved.status == 301 and moved.headers["location"] == f"{folder}/?a=b", moved.head
        assert http.get(port, "/console/nothing.js").status == 404
        assert http.get(port, "/console/", "DELETE").status == 405
    for path in ("/", "/?a=b", "/index.html"):
        assert_page(http.get(server.http_port, path), "start.html")
    assert api.ask(server, "/")["urls"], "the API's root is its list"
    assert api.ask(server, "/api/v1/versions")["data"]["major"] == 7


def test_an_operators_files_come_first(servers):
    server = make(servers).start()
    own = server.dir / "html"
    (own / "index.html").write_text("<script>own()</script>")
    assert http.get(server.http_port, "/").body == b"<script>own()</script>"
    assert not policy_of(http.get(server.http_port, "/"))
    assert api.ask(server, "/")["urls"], "the API's root stays its list"
    assert_page(http.get(server.http_port, "/console/"), "console/index.html")


def test_foreign_pages_with_inline_scripts(servers):
    """SRS's console and players in http_server's directory, on both ports: a policy would leave them blank. They are
    where every configuration of SRS has them; the server's own pages have another directory by default."""
    server = make(servers, "enabled on;")
    put_pages(server.dir / "objs/nginx/pages")
    inline = "<html><body><script>document.title = 'inline'</script></body></html>"
    names = ["players/index.html", "players/srs_player.html", "players/whep.html", "players/js/a.js", "console/index.html",
             "console/ng_index.html"]  # fmt: skip
    for name in names:
        (server.dir / "objs/nginx/html" / name).parent.mkdir(parents=True, exist_ok=True)
        (server.dir / "objs/nginx/html" / name).write_text(inline)
    server.conf = server.conf.replace(f"dir {server.dir}/html;", "dir ./objs/nginx/html;")
    assert "dir ./objs/nginx/html;" in server.conf
    server.conf_path.write_text(server.conf)
    server.start()
    for port in (server.http_port, server.api_port):
        for name in names:
            answer = http.get(port, "/" + name)
            assert answer.status == 200 and answer.body == inline.encode(), answer.describe()
            assert "content-security-policy" not in answer.headers, answer.head
        for folder in ("console", "players"):
            answer = http.get(port, f"/{folder}/?a=b")
            assert answer.body == inline.encode() and not policy_of(answer), answer.describe()
        assert_page(http.get(port, "/console/console.js"), "console/console.js")


def test_pages_in_the_directory_of_the_site(servers):
    """Nothing tells them from an operator's files, so they are served as they are."""
    server = make(servers, "dir ./html;").start()
    put_pages(server.dir / "html")
    for name in FILES:
        for port in (server.http_port, server.api_port):
            answer = http.get(port, "/" + name)
            assert answer.body == f"page {name}".encode() and not policy_of(answer), answer.describe()
    assert_page(http.get(server.http_port, "/"), "start.html")


def test_without_pages(servers):
    server = make(servers)
    shutil.rmtree(server.pages)
    server.start()
    server.wait_log(f"console: no web pages in {server.pages}; make console builds them")
    start = http.get(server.http_port, "/")
    assert start.status == 200 and b"make console" in start.body and policy_of(start) == POLICY, start.describe()
    assert http.get(server.http_port, "/", "HEAD").status == 200
    for port in (server.http_port, server.api_port):
        for path in ("/console/", "/players/"):
            answer = http.get(port, path)
            assert answer.status == 404 and b"make console" in answer.body, answer.describe()
    # The plain pages that WebRTC has built in.
    for path in ("/players/whip.html", "/players/whep.html"):
        answer = http.get(server.http_port, path)
        assert answer.status == 200 and b"RTCPeerConnection" in answer.body and not policy_of(answer), answer.describe()


def test_no_other_file_is_served(servers, tmp_path):
    server = make(servers).start()
    secret = tmp_path / "secret.html"
    secret.write_text("a secret")
    (server.pages / "secret.html").write_text("a secret")
    (server.pages / "players/recording.mp4").write_text("a secret")
    (server.pages / "players/live.m3u8").write_text("a secret")
    (server.pages / "players/key.pem").write_text("a secret")
    (server.pages / "players/growing.html.tmp").write_text("a secret")
    os.mkfifo(server.pages / "players/fifo.html")
    (server.pages / "console/absolute.html").symlink_to(secret)
    (server.pages / "console/relative.html").symlink_to(os.path.relpath(secret, server.pages / "console"))
    (server.pages / "console/up").symlink_to("../..")
    (server.pages / "console/root").symlink_to("/")
    wanted = {
        400: ["/console/../secret.html", "/console/%2e%2e/secret.html", "/console/..%2fsecret.html", "/players/x/../../secret.html",
              "/console/%2e%2e%2f%2e%2e%2fsecret.html", "/console/index.html%00.js", "/console/..\\secret.html"],
        403: ["/players/fifo.html"],
        404: ["/secret.html", "/players/recording.mp4", "/players/live.m3u8", "/players/key.pem", "/players/growing.html.tmp",
              "/console/absolute.html", "/console/relative.html", "/console/up/secret.html", f"/console/root{secret}",
              f"/console/{secret}", f"/console/%2f{str(secret).strip('/')}",
              "/consolesecret.html", "/start.js/secret.html", "/start.js/"],
    }  # fmt: skip
    for port in (server.http_port, server.api_port):
        for status, paths in wanted.items():
            for path in paths:
                answer = http.get(port, path)
                assert answer.status == status and b"a secret" not in answer.body, f"{path}: {answer.describe()}"


def test_switched_off_and_on_again_by_reload(servers):
    server = make(servers).start()
    text = server.conf_path.read_text()
    server.conf_path.write_text(text.replace("console { dir", "console { enabled off; dir"))
    server.signal(signal.SIGHUP)
    for path in ("/console/", "/players/", "/icon.svg", "/"):
        wait_until(lambda path=path: http.get(server.http_port, path).status == 404, 5, f"no {path}")
    assert http.get(server.api_port, "/console/").status == 404
    server.conf_path.write_text(text)
    server.signal(signal.SIGHUP)
    wait_until(lambda: http.get(server.http_port, "/console/").status == 200, 5, "/console/ is back")


def test_the_api_needs_credentials_and_the_pages_do_not(servers):
    server = make(servers)
    server.conf = server.conf.replace("http_api { enabled on;", "http_api { enabled on; auth { enabled on; username u; password p; }")
    server.conf_path.write_text(server.conf)
    server.start()
    assert http.get(server.api_port, "/api/v1/versions").status == 401
    assert_page(http.get(server.api_port, "/console/"), "console/index.html")


def test_one_origin_and_a_second_port_of_the_api(servers):
    """http_api { listen 1985 8080; } beside http_server's 8080, as in conf/srs.conf: -t, the doctor, reload."""
    server = make(servers)
    listen = f"listen 127.0.0.1:{server.api_port}"
    server.conf = server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}")
    server.conf_path.write_text(server.conf)
    code, text = run_once("-t", "-c", str(server.conf_path))
    assert code == 0, text
    _, text = run_once("doctor", "-c", str(server.conf_path), directory=server.dir)
    rows = re.findall(r"^(\w+)\s+port\s.*http_.*$", text, re.MULTILINE)
    assert len(rows) == 3 and "BAD" not in rows, rows
    server.start()
    assert_page(http.get(server.http_port, "/"), "start.html")
    assert api.ask(server, "/")["urls"], "the API's list, on its own port"
    for _ in range(2):
        for port in (server.http_port, server.api_port):
            assert http.get(port, "/api/v1/versions").status == 200
            assert_page(http.get(port, "/console/"), "console/index.html")
            evil = http.get(port, "/api/v1/clients/x", "DELETE", Origin="http://evil.example")
            assert evil.status == 403, evil.describe()
            assert http.get(port, "/api/v1/clients/x", "DELETE").status == 200, "from this machine it is allowed"
        server.conf_path.write_text(server.conf.replace("max_connections 3000", "max_connections 2999"))
        server.signal(signal.SIGHUP)
        server.wait_log("1 changes, 1 of them in force")


def test_behind_nginx_below_another_path(servers, tmp_path):
    server = make(servers)
    server.conf = server.conf.replace(f"listen 127.0.0.1:{server.api_port}", f"listen 127.0.0.1:{server.http_port}")
    server.conf_path.write_text(server.conf)
    server.start()
    with nginx.in_front_of(server, tmp_path) as port:
        check_below_media(server, port)


def check_below_media(server, port):
    assert_page(http.get(port, "/media/"), "start.html")
    assert_page(http.get(port, "/media/console/"), "console/index.html")
    moved = http.get(port, "/media/console?a=b")
    location = moved.headers["location"]
    assert moved.status == 301 and location in ("console/?a=b", f"http://127.0.0.1:{port}/media/console/?a=b"), moved.head
    assert http.get(port, "/media/api/v1/versions").status == 200
    refused = http.get(port, "/media/api/v1/clients/x", "DELETE")
    assert refused.status == 403, f"who comes by the proxy is not this machine: {refused.describe()}"
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        with http.Live(port, "/media/live/one.flv") as live:
            assert live.tags(), "the stream plays"
        with http.WebSocket(port, "/media/live/one.flv") as live:
            assert live.tags(), "by WebSocket, too"
