#!/usr/bin/env python3
"""Follows an HLS stream as a player does, of any server, and says which rules of live and low-latency HLS it breaks.

    research/hls_check.py http://127.0.0.1:8080/live/livestream.m3u8
    research/hls_check.py URL --seconds 120 --json found.json
    research/hls_check.py --rules          the table of doc/hls-check.md

URL: a multivariant or a media playlist. Exit code: 1 if a rule is broken that is an error, 2 if there is no playlist.
"""

import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True
from hls_check import rules  # noqa: E402
from hls_check.session import NoPlaylist, Session  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--seconds", type=float, default=60, help="how long to follow it")
    parser.add_argument("--slack", type=float, default=0.1, help="seconds added to each limit of time")
    parser.add_argument("--playlists-only", action="store_true", help="fetch no segments and parts")
    parser.add_argument("--insecure", action="store_true", help="accept any certificate")
    parser.add_argument("--json", type=pathlib.Path, help="write the findings to this file")
    parser.add_argument("--rules", action="store_true", help="print the rules and end")
    options = parser.parse_args()
    if options.rules:
        print(rules.markdown())
        return 0
    if not options.url:
        parser.error("a URL is missing")
    session = Session(options)
    try:
        session.run()
    except NoPlaylist as error:
        print(f"hls_check: {error}", file=sys.stderr)
        return 2
    for finding in session.findings.all():
        print(finding)
    errors = session.findings.errors()
    print(f"{session.summary()}; {len(errors)} errors, {len(session.findings.all()) - len(errors)} warnings")
    if options.json:
        found = {"url": options.url, "seconds": options.seconds, "findings": [one.as_json() for one in session.findings.all()]}
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
