"""Prepares and checks the site of the documents, for scripts/build_site.

assemble.py pages DIR     fills DIR/pages and DIR/mkdocs.yml from the documents of the repository
assemble.py check DIR     fails if a page of DIR/html loads anything from elsewhere
"""

import html.parser
import os
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Documents that do not come from doc/, and their names on the site.
MOVED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}


def place(path):
    """The page of a document or picture, both relative: to the root of the repository, and to that of the site."""
    return MOVED.get(path) or path.removeprefix("doc/")


def moved_links(text, source):
    """The text of a document with its links as the site needs them."""
    page_folder = os.path.dirname(place(source))

    def moved(match):
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", target) or not target:
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(source), target))
        if path not in MOVED and not path.startswith("doc/"):
            return match[0]
        return f"]({os.path.relpath(place(path), page_folder or '.')}{'#' + anchor if anchor else ''})"

    return re.sub(r"\]\(([^)\s]+)\)", moved, text)


def decisions():
    """The section of the decisions in nav, in the groups of their index."""
    lines = ["  - Decisions:", "      - decisions/README.md"]
    for line in (ROOT / "doc/decisions/README.md").read_text().splitlines():
        if line.startswith("## "):
            lines.append(f"      - {line[3:].rstrip('/')}:")
        elif match := re.match(r"- \[(\d+)\]\(([^)]+)\)", line):
            lines.append(f"          - decisions/{match[2]}")
    return "\n".join(lines) + "\n"


def pages(directory):
    target = directory / "pages"
    shutil.rmtree(target, ignore_errors=True)
    for path in [ROOT / name for name in MOVED] + sorted(p for p in (ROOT / "doc").rglob("*") if p.is_file()):
        source = str(path.relative_to(ROOT))
        page = target / place(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            page.write_text(moved_links(path.read_text(), source))
        else:
            shutil.copyfile(path, page)
    settings = (HERE / "mkdocs.yml").read_text()
    (directory / "mkdocs.yml").write_text(settings.replace("  - Decisions: []\n", decisions()))
    shutil.copytree(HERE / "theme", directory / "theme", dirs_exist_ok=True)


class Loads(html.parser.HTMLParser):
    """The addresses that a browser loads for a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(values.get("href") or "")
        elif tag != "a":
            self.found.append(values.get("src") or "")


def check(directory):
    files = sorted((directory / "html").rglob("*.html"))
    wrong = [] if files else ["there are no pages"]
    for path in files:
        loads = Loads()
        loads.feed(path.read_text())
        wrong += [f"{path}: {url}" for url in loads.found if re.match(r"(https?:)?//", url)]
    if wrong:
        sys.exit("the site loads from elsewhere:\n" + "\n".join(wrong))


if __name__ == "__main__":
    {"pages": pages, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())
