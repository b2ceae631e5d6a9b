"""JSONP in a real page: what srs-console asks the API for, and what a page of another site cannot do by it."""

import json

import pytest

from lib import api, browser, http, media, publishing, rtmp
from lib.timing import scaled, wait_until

# The page is of 127.0.0.1, of another port; asked by that name the API is of its site, as localhost it is not.
PAGE = """<!doctype html><script>
const [host, port, id] = decodeURIComponent(location.hash.slice(1)).split(" ");
const report = what => fetch("/report", {method: "POST", body: JSON.stringify(what)});
window.take = body => report({body});
function ask([query, ...others]) {
    if (!query) return;
    const script = document.createElement("script");
    script.src = `http://${host}:${port}${query}`;
    script.onload = () => ask(others);
    script.onerror = () => { report({error: query}); ask(others); };
    document.head.append(script);
}
ask(["/api/v1/clients?callback=take", `/api/v1/clients/${id}?callback=take&method=DELETE`]);
</script>"""


@pytest.mark.parametrize("host, is_ended", [("127.0.0.1", True), ("localhost", False)], ids=["its site", "another site"])
def test_a_page_reads_and_ends_a_client(servers, tool, tmp_path, host, is_ended):
    if not browser.is_there():
        pytest.skip("scripts/test installs Chromium")
    server = servers(top=api.CONF % "")
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(30)), media.tags(media.plain())):
        victim = wait_until(lambda: [one for one in api.clients(server) if one["publish"]], 10, "the publisher is listed")[0]
        page = browser.Browser(tool, tmp_path, PAGE, f"{host}%20{server.api_port}%20{victim['id']}")
        try:
            wait_until(lambda: len(page.reports) == 2, 60, lambda: f"two answers: {page.reports}")
        finally:
            page.close()
        (listed,) = [one["body"] for one in page.reports if "clients" in one.get("body", {})]
        (ended,) = [one["body"] for one in page.reports if "clients" not in one.get("body", {})]
        assert listed["code"] == 0 and victim["id"] in [one["id"] for one in listed["clients"]], listed
        assert ended["code"] == (0 if is_ended else 403), ended
        left = wait_until(lambda: (not api.clients(server)) == is_ended, 10, lambda: f"the publisher is ended: {is_ended}")
        assert left


def test_a_flood_of_callbacks_costs_others_nothing(servers):
    """Names of any length and kind: refused, and a bystander's calls go on."""
    server = servers(top=api.CONF % "")
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())) as steady:
        api.wait_stream(server, "one", lambda s: s["video_frames"] > 5)
        with http.Connection(server.api_port) as connection:
            for i in range(300):
                name = "%3Cscript%3E" if i % 3 == 0 else "a" * 4000 if i % 3 == 1 else "f"
                connection.request("GET", f"/api/v1/streams?callback={name}")
                answer = connection.read_response("GET")
                assert answer.status == (200 if name == "f" else 400), answer.describe()
                wanted = "text/javascript" if name == "f" else "application/json"
                assert answer.headers["content-type"].startswith(wanted), answer.describe()
                if name != "f":
                    assert b"script>" not in answer.body and json.loads(answer.body)["code"] == 400, answer.body[:200]
        before = api.streams(server)["one"]["video_frames"]
        api.wait_stream(server, "one", lambda s: s["video_frames"] > before)
        assert steady.error is None, steady.error
