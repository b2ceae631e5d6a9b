#!/usr/bin/env python3
"""How many edges an event needs, and what it costs: the tables of doc/scale.md, from measured costs and named assumptions.

    research/scale.py                                   the tables of the document, which are for a million viewers
    research/scale.py --viewers 20000 --hours 3         another event
    research/scale.py --price-tb 2 --price-hour 10=0.4  other prices
    research/scale.py --write doc/scale.md              writes them into the document

Costs that were measured at other bitrates are calculated by a straight line: so much for a call or a packet, so much for a
byte. The document says which these are."""

import argparse
import math
import pathlib
import re
from typing import NamedTuple

RATES = (1, 3, 6)  # Mbit/s
CARDS = (10, 25, 100)  # Gbit/s
BEGIN, END = "<!-- written by research/scale.py -->\n", "<!-- end of the tables -->\n"

# Measured, doc/performance.md: (players, ms of CPU per Mbit, Mbit/s of all) of 350 ms sends, at 237 kbit/s and 3 Mbit/s.
SENDS_PER_S = 1000 / 350
SMALL, LARGE = (10_000, 0.0846, 2428.6), (500, 0.0287, 1494.5)
# With every video frame (mw_latency 0), at 237 kbit/s.
FRAMES_PER_S, EACH_FRAME = 25, (5_000, 0.4829, 1210.6)
# WebRTC from RTMP, at 237 kbit/s: 58 packets a second and player.
PACKETS_PER_S, WEBRTC = 58, (400, 1.0201, 105.1)
PACKET_BYTES, AUDIO_PACKETS_PER_S = 1_150, 25
# Decision 129: us of CPU for a segment of 149 kB and for a playlist by nginx with 2,000 connections; the same segment of ours
# over TLS and without.
SEGMENT_KB, SEGMENT_US, PLAYLIST_US = 149, 30, 15
TLS_US_PER_KB = (127 - 30) / SEGMENT_KB
HLS_FRAGMENT_S = 4
PLAYER_KB = {"WebRTC": 55.4, "RTMP, HTTP-FLV": 2.81}


def us_per_second(measured):
    """Of one player."""
    players, ms_per_mbit, mbit = measured
    return 1000 * ms_per_mbit * mbit / players


def line():
    """us of a send without its bytes, and us of a kB."""
    points = [(us_per_second(one) / SENDS_PER_S, 1000 * one[2] / one[0] / 8 / SENDS_PER_S) for one in (SMALL, LARGE)]
    (small_us, small_kb), (large_us, large_kb) = points
    per_kb = (large_us - small_us) / (large_kb - small_kb)
    return small_us - per_kb * small_kb, per_kb


def merged(mbit):
    per_send, per_kb = line()
    return per_send * SENDS_PER_S + per_kb * mbit * 125


def over_tls(mbit):
    return merged(mbit) + TLS_US_PER_KB * mbit * 125


def each_frame(mbit):
    _, per_kb = line()
    small_kb_per_s = 1000 * EACH_FRAME[2] / EACH_FRAME[0] / 8
    return us_per_second(EACH_FRAME) + per_kb * (mbit * 125 - small_kb_per_s)


def webrtc(mbit):
    packets = mbit * 1e6 / 8 / PACKET_BYTES + AUDIO_PACKETS_PER_S
    return packets * us_per_second(WEBRTC) / PACKETS_PER_S


def hls(mbit):
    return SEGMENT_US / SEGMENT_KB * mbit * 125 + PLAYLIST_US / HLS_FRAGMENT_S


PROTOCOLS = {
    "RTMP, HTTP-FLV": merged,
    "HTTP-FLV over TLS": over_tls,
    "RTMP, HTTP-FLV, each frame at once": each_frame,
    "HLS by nginx": hls,
    "WebRTC": webrtc,
}


class Fit(NamedTuple):
    viewers: int  # of a machine
    processes: int
    machines: int  # with the spare ones
    bound: str


def fit(cost_us, mbit, card, options):
    """Of a machine with that card: viewers by the card, and as many processes (one core each) as these need."""
    by_card = int(card * 1000 * options.card / mbit)
    by_core = int(1e6 * options.core / cost_us)
    processes = min(math.ceil(by_card / by_core), options.cores)
    viewers = min(by_card, processes * by_core)
    machines = math.ceil(math.ceil(options.viewers / viewers) * (1 + options.spare))
    return Fit(viewers, processes, machines, "card" if viewers == by_card else "cores")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in row) + " |\n" for row in lines) + "\n"


def number(value):
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"


def cost_rows():
    for name, cost in PROTOCOLS.items():
        cells = []
        for mbit in RATES:
            us = cost(mbit)
            cells.append(f"{us:.0f} us, {us / 1000 / mbit:.3f} ms/Mbit")
        yield [name, *cells]


def machine_rows(options):
    for name, cost in PROTOCOLS.items():
        for mbit in RATES:
            cells = []
            for card in CARDS:
                one = fit(cost(mbit), mbit, card, options)
                cells.append(f"{number(one.machines)} of {number(one.viewers)}, {one.processes} {'core' if one.processes == 1 else 'cores'}")
            yield [name, mbit, *cells]


def price_rows(options):
    for name, cost in PROTOCOLS.items():
        for mbit in RATES:
            traffic = options.viewers * mbit * 1e6 / 8 * options.hours * 3600 / 1e12
            best = min(CARDS, key=lambda card: fit(cost(mbit), mbit, card, options).machines * options.price_hour[card])
            machines = fit(cost(mbit), mbit, best, options).machines
            hours = machines * options.hours
            bill = hours * options.price_hour[best], traffic * options.price_tb
            yield [name, mbit, f"{number(machines)} with {best} Gbit/s", number(hours), number(traffic), *map(number, bill)]


def text(options):
    per_send, per_kb = line()
    out = f"A send costs {per_send:.1f} us and {per_kb:.2f} us per kB. Processor time of one viewer per second:\n\n"
    out += table(["", *(f"{mbit} Mbit/s" for mbit in RATES)], cost_rows())
    out += f"Machines for {number(options.viewers)} viewers, with {options.spare:.0%} of spare ones, and the viewers and busy cores of each:\n\n"
    out += table(["protocol", "Mbit/s", *(f"{card} Gbit/s" for card in CARDS)], machine_rows(options))
    out += f"{options.hours:g} hours, with the cheapest of the three machines:\n\n"
    head = ["protocol", "Mbit/s", "machines", "machine-hours", "TB", "price of the machines", "price of the traffic"]
    return out + table(head, price_rows(options)).rstrip("\n") + "\n"


def prices(words):
    found = dict(word.split("=") for word in words)
    return {int(card): float(price) for card, price in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewers", type=int, default=1_000_000)
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument("--card", type=float, default=0.8, help="part of a card that is used")
    parser.add_argument("--core", type=float, default=0.7, help="part of a core that is used")
    parser.add_argument("--cores", type=int, default=16, help="of a machine that servers may use")
    parser.add_argument("--spare", type=float, default=0.1, help="part of the machines that may fail")
    parser.add_argument("--price-tb", type=float, default=5)
    parser.add_argument("--price-hour", nargs="*", default=[], metavar="GBIT=PRICE", help="of a machine with that card")
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    options.price_hour = {10: 0.5, 25: 1, 100: 4, **prices(options.price_hour)}
    if not options.write:
        print(text(options), end="")
        return
    path = pathlib.Path(options.write)
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    path.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text(options)}\n{END}", path.read_text()))


if __name__ == "__main__":
    main()
