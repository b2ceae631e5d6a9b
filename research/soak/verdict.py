"""Whether a series of samples grows. The slope is the median of the slopes between all pairs (Theil and Sen), which a
few spikes do not move; how much it is trusted comes from the two halves agreeing."""

import statistics

MOST_POINTS = 300  # pairs grow with their square


def thinned(points):
    """At most so many points, each the median of its neighbours: a spike is gone before slopes are taken."""
    size = -(-len(points) // MOST_POINTS)
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [(statistics.fmean(t for t, _ in group), statistics.median(v for _, v in group)) for group in groups]


def slope(points):
    """Per second."""
    points = thinned(points)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1 :] if b[0] > a[0]]
    return statistics.median(slopes) if slopes else 0.0


def growth(points):
    """By how much it grew over the time of the points, by the slope; 0 unless both halves' lowest tenth grew too: what
    leaks never comes back, what is in use does."""
    if len(points) < 10:
        return 0.0
    by_slope = slope(points) * (points[-1][0] - points[0][0])
    half = len(points) // 2
    low = [sorted(v for _, v in part)[len(part) // 10] for part in (points[:half], points[half:])]
    return by_slope if low[1] > low[0] else min(by_slope, 0.0)


# What is watched: unit, and how much growth over a run is none: an amount, or a share of the median.
LIMITS = {
    "own_kb": ("kB", 1500, 0.05),
    "descriptors": ("", 12, 0.10),
    "coroutines": ("", 12, 0.10),
}
# Within seconds who comes and goes moves memory by more than a leak does: a short run sees large leaks alone.
SHORT_S = 60
COARSE = 3


def check(samples, warm_up_s, but=()):
    """Lines of text, and whether all is well. samples: dicts with t and the keys of LIMITS, where they are measured.
    but: keys that say nothing here."""
    lines, good = [], True
    for key, (unit, amount, share) in LIMITS.items():
        points = [(s["t"], s[key]) for s in samples if s.get(key) is not None and s["t"] >= warm_up_s]
        if len(points) < 10 or key in but:
            continue
        grown, middle = growth(points), statistics.median(v for _, v in points)
        span = points[-1][0] - points[0][0]
        limit = max(amount, share * middle) * (COARSE if span < SHORT_S else 1)
        flat = grown <= limit
        good &= flat
        lines.append(f"{key}: median {middle:.0f} {unit}, {grown:+.0f} over {span:.0f} s (at most {limit:.0f} is flat): "
                     f"{'flat' if flat else 'GROWS'}")  # fmt: skip
    return lines, good


def self_test():
    """It must see a leak in noise, and none in noise alone."""
    import random

    dice = random.Random(7)

    def series(leak_per_s, noise, spikes=0):
        out = [{"t": t, "own_kb": 20000 + leak_per_s * t + dice.uniform(-noise, noise)} for t in range(300)]
        for s in dice.sample(out, spikes):
            s["own_kb"] += 50000
        return out

    cases = [("flat", series(0, 2000), True), ("spikes", series(0, 2000, 30), True), ("leak", series(15, 2000), False),
             ("leak and spikes", series(15, 2000, 30), False), ("shrinks", series(-15, 100), True)]  # fmt: skip
    for name, samples, expected in cases:
        lines, good = check(samples, 30)
        if good != expected:
            print(f"self-test: {name}: expected flat={expected}, came {lines}")
            return 1
    print(f"soak --self-test: {len(cases)} passed, 0 failed")
    return 0
