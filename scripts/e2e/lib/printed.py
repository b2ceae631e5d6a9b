"""The texts that the server prints, as its sources have them."""

import errno
import functools
import os
import re

from .server import ROOT


@functools.cache
def literals():
    """The string literals of the server, those that the compiler joins joined, with `...` for what differs."""
    found = []
    for path in (ROOT / "src").rglob("*.*"):
        if path.suffix in (".cpp", ".h") and not path.stem.endswith(("_test", "_fuzz")):
            joined = re.sub(r'"\s*\n\s*"', "", path.read_text())
            found += re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)
    return [re.sub(r"\{[^}]*\}", "...", text) for text in found]


def is_printed(text):
    """Each part of it between `...` is in the server, or in the system's texts of errors; or all of it is a literal
    with something in it."""
    everything = "\n".join([*literals(), *map(os.strerror, errno.errorcode)])
    if all(piece.strip(" :") in everything for piece in text.split("...")):
        return True
    for literal in literals():
        fixed = literal.replace("...", "")
        if len(fixed) >= 12 and len(fixed) > 0.4 * len(text):
            if re.fullmatch(re.escape(literal).replace(r"\.\.\.", ".+"), text):
                return True
    return False
