"""What the players say when something is wrong: addresses that are refused, what servers answer, WebRTC that cannot connect,
streams that nobody publishes, connections that are lost, and audio that a browser does not allow."""

import functools
import itertools
import re

import pytest

from conftest import Servers
from lib import api, page, players, ports, rtc
from lib.players import address, assert_moving, player, wait_problem, wait_state, watch_problems, words
from lib.server import ROOT
from lib.timing import scaled

pytestmark = pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("players")
    with players.site(Servers(directory), directory) as server:
        yield server


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


BAD_ADDRESSES = {
    "javascript:window.hacked=1": "Addresses of javascript: are not played",
    "data:text/html,<script>window.hacked=1</script>": "Addresses of data: are not played",
    "file:///etc/passwd": "Addresses of file: are not played",
    "rtmp://127.0.0.1/live/one": "Addresses of rtmp: are not played",
    "//127.0.0.1/live/one.flv": "This is not an address",
    "<img src=x onerror=window.hacked=1>": "This is not an address",
    "http://a:b@127.0.0.1/live/one.flv": "has a user name or password",
}


@pytest.mark.long
def test_addresses_that_are_refused(site, chromium):
    with page.opened(chromium, address(site, "players/")) as opened:
        for (bad, wanted), protocol in zip(BAD_ADDRESSES.items(), itertools.cycle(("flv", "hls", "whep"))):
            opened.page.goto(address(site, "players/", url=bad, protocol=protocol, autostart=None))
            wait_state(opened, "failed", 10)
            assert wanted in words(opened), f"{bad}: {words(opened)!r} should have {wanted!r}"
            assert opened.page.evaluate("[window.hacked, document.querySelectorAll('main img').length]") == [None, 0], bad
            if bad.startswith("<"):
                assert bad in words(opened), "the address should be shown as text"
        opened.page.goto(address(site, "players/", url="ws://127.0.0.1/live/one.flv", protocol="hls", autostart=None))
        wait_state(opened, "failed", 10)
        assert "Choose WS-FLV" in words(opened)
        opened.check_accessible()
        opened.page.goto(address(site, "players/", url="https://elsewhere.example/whip", protocol="whip", autostart=None))
        opened.page.get_by_text("This address is of another server: elsewhere.example").wait_for()
        assert opened.page.locator(".state").inner_text() == "Stopped", "publishing should never start by itself"


EVIL = "<img src=x onerror=window.hacked=1>"
ANSWERS = {403: "The server refuses this stream", 404: "There is no such stream", 400: "This browser does not play the codec",
           500: "The server answered with status 500", 503: "The server has too many clients"}  # fmt: skip


@pytest.mark.long
def test_what_a_server_says_is_text(site, chromium):
    """Its answers to WHEP, as this test writes them: each has its words, and the body is shown as text."""

    def answer(route, status, body):
        route.fulfill(status=status, body=body)

    with page.opened(chromium, address(site, "players/")) as opened:
        for status, wanted in ANSWERS.items():
            body = f"no common codec {EVIL}" if status == 400 else EVIL
            opened.page.route("**/rtc/v1/whep/**", functools.partial(answer, status=status, body=body))
            opened.page.goto(player(site, "whep", autostart="true"))
            said = words(opened)
            assert wanted in said and EVIL in said, f"{status}: {said!r} should have {wanted!r}"
            assert opened.page.evaluate("[window.hacked, document.querySelectorAll('main img').length]") == [None, 0], status
            opened.page.unroute("**/rtc/v1/whep/**")
        opened.check_accessible()
        opened.errors = [one for one in opened.errors if "Failed to load resource" not in one]


@pytest.mark.long
def test_no_candidate(site, chromium):
    """Answers without candidates, and with one that nothing listens at: the words say CANDIDATE."""
    (dead,) = ports.take()
    with page.opened(chromium, address(site, "players/")) as opened:

        def answer(route, change):
            response = route.fetch()
            route.fulfill(response=response, body=change(response.text()))

        for change, wanted in (
            (lambda sdp: re.sub(r"a=candidate:.*\r\n", "", sdp), "The server named no address"),
            (lambda sdp: re.sub(r"(a=candidate:\S+ \d+ udp \d+ \S+ )\d+", rf"\g<1>{dead}", sdp), f"named 127.0.0.1:{dead}/udp"),
        ):
            opened.page.route("**/rtc/v1/whep/?*app*", functools.partial(answer, change=change))
            opened.page.goto(player(site, "whep", autostart="true"))
            opened.page.locator(".problem").wait_for(timeout=scaled(20) * 1000)
            assert wanted in words(opened) and "CANDIDATE" in words(opened), words(opened)
            # The page tries again by itself: an answer may be on its way.
            opened.page.unroute_all(behavior="wait")
        opened.page.get_by_role("button", name="Try again").click()
        assert_moving(opened)
    ports.release([dead])


@pytest.mark.long
def test_nothing_of_that_name(site, chromium):
    """By HLS the server says so at once, by WebSocket it waits: the page asks the API."""
    with page.opened(chromium, player(site, "hls", stream="none", autostart="true")) as opened:
        # The first pauses are short.
        opened.page.locator(".state", has_text=re.compile(r"Next attempt in \d+ s \([5-9] of 10\)")).wait_for()
        assert "Nobody publishes this stream" in words(opened) and "404" in words(opened), words(opened)
        opened.screenshot("player-unpublished")
        opened.check_accessible()
        opened.page.goto(player(site, "ws-flv", stream="none", autostart="true"))
        opened.page.locator(".state", has_text="Nobody publishes this stream yet").wait_for()
        opened.page.get_by_role("button", name="Stop", exact=True).click()
        # Chromium writes so of each 404, and when a page closes a WebSocket that is not open yet.
        expected = "none.m3u8|before the connection is established"
        opened.errors = [one for one in opened.errors if not re.search(expected, one)]


def test_viewers_need_no_credentials_of_the_api(servers, chromium):
    """With http_api { auth } a viewer is not asked to sign in, and gets the reason from the stream's own answers."""
    server = players.start_server(servers, "auth { enabled on; username u; password p; }")
    with page.opened(chromium, player(server, "ws-flv", stream="none", autostart="true")) as opened:
        sent = []
        opened.page.on("request", lambda request: sent.append(request))
        opened.page.reload()
        opened.page.locator(".state", has_text="Nobody publishes this stream yet").wait_for()
        refused = [one.response() for one in sent if "/api/v1/" in one.url]
        assert refused and all(one.status == 401 for one in refused if one), [one.status for one in refused if one]
        opened.page.get_by_role("button", name="Stop", exact=True).click()
        opened.errors = [one for one in opened.errors if not re.search("401|404|before the connection is established", one)]
    sources = "".join(path.read_text() for path in (ROOT / "src/web/players").glob("*.js"))
    assert 'credentials: "omit"' in sources and "same-origin" not in sources, "else Chromium shows its sign-in box"


@pytest.mark.parametrize("protocol", ["flv", "ws-flv"])
def test_plays_again_after_a_loss(site, chromium, protocol):
    """The API ends its connection; the page says so and begins again by itself."""
    name = protocol.replace("-", "")
    with page.opened(chromium, player(site, protocol, app="live", stream="one", vhost="", autostart="true", who=name)) as opened:
        assert_moving(opened)
        before = opened.page.evaluate("document.querySelector('video').currentTime")
        watch_problems(opened)
        for client in api.clients(site):
            if client["type"] == "flv-play" and not client["publish"]:
                api.ask(site, f"/api/v1/clients/{client['id']}", "DELETE")
        problem = wait_problem(opened)
        assert before > 0 and re.search("has ended|cannot be reached", problem), problem
        assert_moving(opened)
        assert opened.page.locator(".problem").count() == 0, "the problem is over"


def test_without_autoplay(site, chromium):
    """Nobody has clicked: a browser that refuses to play with audio is asked to play without."""
    with page.another(chromium, "--autoplay-policy=document-user-activation-required") as browser:
        with page.opened(browser, address(site)) as opened:
            # Every evaluation by Playwright counts as a gesture of a person, a click by script does not. So the page clicks
            # itself and says when the button is there; nothing is evaluated in it before.
            opened.page.add_init_script(
                """setInterval(() => {
                    document.querySelector('.buttons .primary:enabled')?.click();
                    if (document.querySelector('.screen-unmute')) console.info('plays without audio');
                }, 100)"""
            )
            with opened.page.expect_console_message(lambda message: message.text == "plays without audio"):
                opened.page.goto(player(site, "flv"))
            opened.page.get_by_role("button", name="Unmute").wait_for()
            assert_moving(opened)
            assert opened.page.evaluate("document.querySelector('video').muted"), "it should play without audio"
