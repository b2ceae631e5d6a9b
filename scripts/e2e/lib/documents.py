"""The documents as data: code blocks, code spans, headings and links of Markdown files, and the directives that
doc/config.md lists."""

import functools
import re
import textwrap
from typing import NamedTuple

from .server import ROOT

# Written by programs, or of a time that is past: their links count, their commands do not.
GENERATED = {"doc/config.md"}


def pages():
    """Paths of the documents that users read, as text from the root of the repository."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "doc").glob("*.md"))]
    return [str(path.relative_to(ROOT)) for path in found if str(path.relative_to(ROOT)) not in GENERATED]


def everything():
    """Those, and the decisions and generated ones."""
    return sorted({*pages(), *GENERATED, *(str(p.relative_to(ROOT)) for p in (ROOT / "doc/decisions").glob("*.md"))})


class Block(NamedTuple):
    document: str
    line: int  # of its first line, from 1
    language: str  # of a fence; empty: an indented block, or a fence without a language
    text: str  # without the indentation

    def where(self):
        return f"{self.document}:{self.line}"


def _is_code(line):
    return line.startswith("    ")


def split(document):
    """The code blocks, and the lines beside them as (number, text)."""
    blocks, prose = [], []
    lines = (ROOT / document).read_text().splitlines()
    number, count = 0, len(lines)
    while number < count:
        line = lines[number]
        fence = re.match(r"\s*```(\w*)\s*$", line)
        begin = number
        if fence:
            number += 1
            while number < count and lines[number].strip() != "```":
                number += 1
            text = "\n".join(lines[begin + 1 : number])
            blocks.append(Block(document, begin + 2, fence[1], textwrap.dedent(text)))
            number += 1
        elif _is_code(line) and (number == 0 or not lines[number - 1].strip()):
            while number < count and (_is_code(lines[number]) or not lines[number].strip()):
                number += 1
            text = "\n".join(lines[begin:number]).rstrip()
            blocks.append(Block(document, begin + 1, "", textwrap.dedent(text)))
        else:
            prose.append((number + 1, line))
            number += 1
    return blocks, prose


def paragraphs(block):
    """Its parts between blank lines, each a Block of its own."""
    found, lines = [], block.text.splitlines()
    begin = 0
    for number in range(len(lines) + 1):
        if number < len(lines) and lines[number].strip():
            continue
        if number > begin:
            found.append(block._replace(line=block.line + begin, text="\n".join(lines[begin:number])))
        begin = number + 1
    return found


def spans(document):
    """Code spans beside the blocks, in one line each: (number of the line in which it begins, text)."""
    _, prose = split(document)
    text = "\n".join(line for _, line in prose)
    for match in re.finditer(r"(?<!`)`([^`]+)`(?!`)", text):
        yield prose[text.count("\n", 0, match.start())][0], " ".join(match[1].split())


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


@functools.cache
def anchors(document):
    seen, found = {}, set()
    for _, line in split(document)[1]:
        if heading := re.match(r"#{1,6}\s+(.*)", line):
            name = slug(heading[1])
            number = seen[name] = seen.get(name, -1) + 1
            found.add(f"{name}-{number}" if number else name)
    return found


def links(document):
    """(number of the line, target) of each link and picture."""
    _, prose = split(document)
    text = "\n".join(line for _, line in prose)
    text = re.sub(r"(?<!`)`[^`]+`(?!`)", lambda m: re.sub(r"[^\n]", "x", m[0]), text)
    for match in re.finditer(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", text):
        yield prose[text.count("\n", 0, match.start())][0], match[1]


class Names(NamedTuple):
    top: set  # directives and blocks outside of vhosts
    vhost: set  # within a vhost
    all: set  # of every block


@functools.cache
def directives():
    top, vhost, known, scope = set(), set(), set(), None
    for line in (ROOT / "doc/config.md").read_text().splitlines():
        if heading := re.match(r"## (\S+)( \S.*)?$", line):
            scope = heading[1]
            parts = scope.split("/")
            known.update(parts)
            if scope == "Outside":
                scope = ""
            elif parts[0] == "vhost":
                vhost.update(parts[1:2])
            else:
                top.add(parts[0])
        elif row := re.match(r"\| `([^`]+)` \|", line):
            known.add(row[1])
            if scope in ("", "rtmp"):
                top.add(row[1])
            elif scope == "vhost":
                vhost.add(row[1])
    return Names(top | {"vhost", "include"}, vhost, known)
