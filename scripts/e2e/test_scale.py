"""doc/scale.md: its tables are what research/scale.py calculates."""

import subprocess

from lib.server import ROOT


def calculated(*options):
    done = subprocess.run([ROOT / "research/scale.py", *options], capture_output=True, text=True, check=True)
    return done.stdout


def row(text, *cells):
    """The cells of the first row that begins with these."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    found = [one for one in rows if one[: len(cells)] == list(cells)]
    assert found, f"a row {cells} in\n{text}"
    return found[0]


def test_the_document_has_the_calculated_tables():
    document, tables = (ROOT / "doc/scale.md").read_text(), calculated()
    assert tables in document, f"research/scale.py --write doc/scale.md writes them:\n{tables}"


def test_a_calculation_by_hand():
    """8,000 Mbit/s of a card are 8,000 viewers of 1 Mbit/s: 25 machines for 200,000, and three spare ones. An hour of that is
    200,000 x 3,600 s x 125,000 bytes = 90 TB."""
    text = calculated("--viewers", "200000", "--hours", "1", "--price-tb", "2", "--price-hour", "25=9", "100=9")
    assert row(text, "RTMP, HTTP-FLV", "1")[2] == "28 of 8,000, 1 core", text
    assert row(text.rpartition("hours, with")[2], "RTMP, HTTP-FLV", "1")[3:5] == ["28", "90"], text
    assert row(text.rpartition("hours, with")[2], "RTMP, HTTP-FLV", "1")[-1] == "180", text
