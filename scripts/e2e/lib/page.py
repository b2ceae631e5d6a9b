"""The server's web pages in Debian's Chromium, driven by Playwright. A page here notes what no page of ours may do:
errors on its console, requests to other hosts than this machine, and violations of its Content-Security-Policy."""

import contextlib
from urllib.parse import urlsplit

from .browser import FLAGS, MODULES, program
from .server import OBJS
from .timing import scaled

AXE = MODULES / "axe-core/axe.min.js"
# Of axe-core: what WCAG 2.1 wants at level A and AA.
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
PHONE = (375, 740)
DESKTOP = (1280, 800)
SCREENSHOTS = OBJS / "screenshots"


def is_there():
    """Whether there are a Chromium, and the pages, which `make` bundles where there is npm."""
    return bool(program()) and (OBJS / "nginx/pages/console/console.js").exists()


@contextlib.contextmanager
def browser(*flags):
    """A Chromium for several pages. There is one at a time; see another()."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, _launched(playwright.chromium, flags) as chromium:
        yield chromium


def another(chromium, *flags):
    """A second Chromium beside it, with other flags."""
    return _launched(chromium.browser_type, flags)


@contextlib.contextmanager
def _launched(browser_type, flags):
    chromium = browser_type.launch(
        executable_path=program(),
        args=[flag for flag in FLAGS.split() if flag != "--headless"] + list(flags),
    )
    try:
        yield chromium
    finally:
        chromium.close()


class Page:
    """What Playwright calls a page, as `page`, and what went wrong in it."""

    def __init__(self, page, hosts):
        self.page = page
        self.hosts = ("127.0.0.1", "localhost", "::1", *hosts)
        self.errors = []  # texts; the tests of a page end with none
        page.set_default_timeout(scaled(15) * 1000)
        page.on("console", self._note_message)
        page.on("pageerror", lambda error: self.errors.append(f"exception: {error}"))
        page.on("request", self._note_request)

    def _note_message(self, message):
        if message.type == "error":
            self.errors.append(f"console: {message.text} {message.location.get('url', '')}")

    def _note_request(self, request):
        url = urlsplit(request.url)
        if url.scheme in ("http", "https", "ws", "wss") and url.hostname not in self.hosts:
            self.errors.append(f"a request to another host: {request.url}")

    def check(self):
        assert not self.errors, "the page should have no error:\n" + "\n".join(self.errors)

    def check_accessible(self):
        """By axe-core. Its script comes as a string, which a Content-Security-Policy does not forbid to the browser."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate(
            "async (tags) => (await axe.run({ runOnly: tags })).violations.map("
            "(v) => `${v.id}: ${v.help}\\n` + v.nodes.map((n) => `    ${n.html}: ${n.failureSummary}`).join('\\n'))",
            AXE_TAGS,
        )
        assert not found, "axe-core should find nothing:\n" + "\n".join(found)

    def check_width(self):
        """Nothing is wider than the window, but in a box of its own that scrolls."""
        wide, window = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide <= window, f"the page is {wide} px wide in a window of {window} px"

    def screenshot(self, name):
        """For people to look at: objs/screenshots/NAME.png."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")


@contextlib.contextmanager
def opened(chromium, url, size=DESKTOP, dark=False, language="en-US", hosts=(), **context_options):
    """A page of its own context, at url; its errors are checked at the end. hosts: others that it may ask."""
    context = chromium.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        locale=language,
        reduced_motion="reduce",
        **context_options,
    )
    try:
        page = Page(context.new_page(), hosts)
        page.page.goto(url)
        yield page
        page.check()
    finally:
        context.close()


def go(tab, name):
    """To that page of the console, by its navigation, which is behind a button in a narrow window."""
    if tab.page.locator(".side-button[aria-expanded=false]").count():
        tab.page.click(".side-button")
    tab.page.click(f".side a[href='#/{name}']")
