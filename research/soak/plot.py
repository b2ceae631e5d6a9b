"""The samples of a soak as an SVG plot. Needs matplotlib (research/compare/requirements.txt)."""


def draw(kept, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "soak", "svg.fonttype": "none", "font.size": 10, "axes.grid": True,
                                "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False,
                                "legend.frameon": False})  # fmt: skip
    from matplotlib import pyplot

    samples = kept["samples"]
    panels = [("memory, MB", [("pss_kb", "PSS", 1 / 1024), ("rss_kb", "RSS", 1 / 1024),
                             ("own_kb", "its own, written to", 1 / 1024)]),
              ("descriptors", [("descriptors", None, 1)]), ("coroutines", [("coroutines", None, 1)]),
              ("stalls of the\nloop, in all", [("stalls", None, 1)]),
              ("ms for a small\nHTTP request", [("turn_ms", None, 1)])]  # fmt: skip
    panels = [(name, lines) for name, lines in panels if any(s.get(lines[0][0]) is not None for s in samples)]
    figure, all_axes = pyplot.subplots(len(panels), 1, figsize=(9, 1.9 * len(panels)), sharex=True, squeeze=False)
    for axes, (name, lines) in zip(all_axes[:, 0], panels):
        for key, label, scale in lines:
            points = [(s["t"] / 60, s[key] * scale) for s in samples if s.get(key) is not None]
            axes.plot(*zip(*points), label=label, linewidth=0.9)
        axes.axvline(kept["warm_up_s"] / 60, color="#999999", linestyle=":", linewidth=1)
        axes.set_ylabel(name)
        if name.startswith("ms"):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        if len(lines) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    all_axes[-1, 0].set_xlabel("minutes (growth is looked for behind the dotted line)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
