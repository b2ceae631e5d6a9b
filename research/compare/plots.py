"""The figures as SVG plots. Needs matplotlib (requirements.txt)."""

import contextlib

# A colour for each server, the same in every plot, told apart by those who see fewer colours too.
COLOURS = {"floor": "#777777", "ours, RTMP": "#0072b2", "ours, HTTP-FLV": "#56b4e9", "nginx-rtmp, RTMP": "#d55e00",
           "MediaMTX, RTMP": "#009e73", "before, RTMP": "#e69f00", "before, HTTP-FLV": "#f0e442"}  # fmt: skip
MARKERS = {"floor": "x", "ours, RTMP": "o", "ours, HTTP-FLV": "s", "nginx-rtmp, RTMP": "^", "MediaMTX, RTMP": "D",
           "before, RTMP": "P", "before, HTTP-FLV": "X"}  # fmt: skip


def library():
    import matplotlib

    matplotlib.use("svg")
    # The same figures give the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "compare", "svg.fonttype": "none", "font.size": 10,
                                "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
                                "grid.alpha": 0.3, "legend.frameon": False})  # fmt: skip
    from matplotlib import pyplot

    return pyplot


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    # No spaces at the ends of lines, which matplotlib leaves.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def against_players(axes, by_server, key, only=None):
    for server, by_count in by_server.items():
        if only and server not in only:
            continue
        counts = sorted(by_count)
        axes.plot(counts, [by_count[count][key] for count in counts], label=server, color=COLOURS.get(server),
                  marker=MARKERS.get(server, "."))  # fmt: skip
    axes.set_xlabel("players")
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")


def cpu(pyplot, groups, path):
    there = [(group, title) for group, title in (("players", "sent to every 350 ms"),
                                                 ("lowlatency", "sent to with every video frame")) if group in groups]  # fmt: skip
    figure, all_axes = pyplot.subplots(1, len(there), figsize=(5 * len(there), 3.8), sharey=True, squeeze=False)
    for axes, (group, title) in zip(all_axes[0], there):
        against_players(axes, groups[group], "server_cpu_ms_per_mbit")
        axes.set_title(title)
        axes.set_yscale("log")
        axes.set_yticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5], ["0.05", "0.1", "0.2", "0.5", "1", "2", "5"])
        axes.minorticks_off()
    all_axes[0][0].set_ylabel("CPU, ms per Mbit delivered")
    all_axes[0][-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)


def memory(pyplot, groups, path):
    figure, axes = pyplot.subplots(figsize=(6, 3.8))
    servers = [server for server in groups["players"] if server != "floor"]  # which has none of its own
    against_players(axes, groups["players"], "server_kb_per_player", servers)
    axes.set_ylabel("kB of PSS per player")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, 200)
    axes.set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)


def growth(pyplot, groups, path):
    """What a stream with its players takes, against the number of streams."""
    figure, all_axes = pyplot.subplots(1, 2, figsize=(10, 3.8))
    kinds = (("growth0", "no players", "#777777", "x"), ("growth1", "1 player each", "#0072b2", "o"),
             ("growth3", "3 players each", "#d55e00", "^"))  # fmt: skip
    for axes, key, label in ((all_axes[0], "cpu_ms_per_s", "CPU of a stream, ms per second"),
                             (all_axes[1], "kb_per_stream", "kB of PSS of a stream, with its GOP")):  # fmt: skip
        counts = set()
        for group, name, colour, marker in kinds:
            by_count = groups.get(group, {}).get("ours, RTMP", {})
            counts.update(by_count)
            axes.plot(sorted(by_count), [by_count[count][key] for count in sorted(by_count)], label=name, color=colour,
                      marker=marker)  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(sorted(counts), [f"{count:,}" for count in sorted(counts)])
        axes.minorticks_off()
        axes.margins(y=0.1)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("streams")
        axes.set_ylabel(label)
    all_axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)


def first_frame(pyplot, groups, path):
    names, runs = zip(*((name, next(iter(by_count.values()))) for name, by_count in groups["firstframe"].items()))
    figure, axes = pyplot.subplots(figsize=(7, 0.6 + 0.6 * len(names)))
    for offset, (key, shade) in enumerate((("p50", 1.0), ("p95", 0.6), ("max", 0.3))):
        places = [place + (offset - 1) * 0.27 for place in range(len(names))]
        axes.barh(places, [run[key] for run in runs], 0.25, label=key, alpha=shade, color="#0072b2")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("ms from connecting to the first frame")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)


def latency(pyplot, groups, path):
    points = ("p50", "p95", "p99", "max")
    figure, all_axes = pyplot.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for axes, kind in zip(all_axes, ("video", "audio")):
        for name, by_count in groups["latency"].items():
            times = next(iter(by_count.values()))[kind]
            axes.plot(points, [times[point] for point in points], marker="o", markersize=4, label=name)
        axes.set_yscale("log")
        axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        axes.minorticks_off()
        axes.set_title(kind)
    all_axes[0].set_ylabel("ms from send to receipt")
    all_axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)


def webrtc(pyplot, groups, path):
    names, runs = zip(*((name, next(iter(by_count.values()))) for name, by_count in groups["whep"].items()))
    figure, all_axes = pyplot.subplots(1, 2, figsize=(10, 0.6 + 0.4 * len(names)), sharey=True)
    for axes, (key, label) in zip(all_axes, (("server_cpu_ms_per_mbit", "CPU, ms per Mbit delivered"),
                                             ("server_kb_per_player", "kB of PSS per player"))):  # fmt: skip
        bars = axes.barh(range(len(names)), [max(0, run[key]) for run in runs], 0.6, color="#0072b2")
        axes.bar_label(bars, fmt="%.2f", padding=3)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(label)
    all_axes[0].set_yticks(range(len(names)), names)
    all_axes[0].invert_yaxis()
    save(figure, path)


def draw(groups, directory):
    """Draws what the groups allow; (title, file) of each."""
    pyplot = library()
    drawn = []
    for name, group, title, make in (
        ("cpu", "players", "CPU per Mbit against players", cpu),
        ("memory", "players", "Memory per player", memory),
        ("growth", "growth1", "What a stream costs among 100 to 2,000", growth),
        ("first_frame", "firstframe", "Time to the first frame", first_frame),
        ("latency", "latency", "Latency percentiles", latency),
        ("webrtc", "whep", "WebRTC players: CPU and memory", webrtc),
    ):
        if group in groups:
            make(pyplot, groups, directory / f"{name}.svg")
            drawn.append((title, directory / f"{name}.svg"))
    with contextlib.suppress(Exception):
        pyplot.close("all")
    return drawn
