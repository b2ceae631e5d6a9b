// A line chart over time by uPlot. Its legend is text, with the newest values or, under the pointer, those of that time;
// so the canvas itself is hidden from screen readers.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { theme } from "../../shared/preferences.js";
import { protocolsOf } from "../history.js";
import { protocolName } from "../text.js";

const MIN_SECONDS = 60; // of the time axis
// The sample under the pointer, common to all charts; null: none.
const hovered = signal(null);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const clock = (seconds) => new Date(seconds * 1000).toTimeString().slice(0, 8);

const PLAYER_COLOURS = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6"];

// A line for each protocol that had a player.
export function playerSeries(samples) {
    const found = protocolsOf(samples).map((key, i) => ({
        key,
        label: protocolName(key),
        colour: PLAYER_COLOURS[i % PLAYER_COLOURS.length],
        value: (sample) => (sample.unknown ? null : (sample.players[key] ?? 0)),
    }));
    return found.length ? found : [{ key: "none", label: t("nobody plays"), colour: "--series-1", value: () => 0 }];
}

// Values of each line, bottom up; stacked lines are sums of those below.
function columns(samples, series, stacked) {
    const lines = series.map((line) => samples.map(line.value));
    if (stacked) {
        for (let i = 1; i < lines.length; ++i) lines[i] = lines[i].map((value, at) => (value === null ? null : value + (lines[i - 1][at] ?? 0)));
    }
    return [samples.map((sample) => sample.time), ...lines];
}

/** @returns {[number, number]} */
const timeRange = (_, min, max) => {
    const end = max ?? Date.now() / 1000;
    return [Math.min(min ?? end, end - MIN_SECONDS), end];
};

/** @returns {import("uplot").Options} */
function options({ series, stacked, format, floor, ceiling }, width, height) {
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    return {
        width,
        height,
        padding: [8, 26, 0, 0],
        legend: { show: false },
        cursor: { sync: { key: "console" }, drag: { x: false, y: false }, y: false, points: { size: 6 } },
        scales: { x: { time: true, range: timeRange }, y: { range: (_, min, max) => [0, ceiling ?? Math.max(floor, (max ?? 0) * 1.12)] } },
        axes: [
            { ...axis, size: 26, space: 70, values: (_, at) => at.map(clock) },
            { ...axis, size: 48, space: 30, values: (_, at) => at.map(format) },
        ],
        series: [
            {},
            ...series.map((line, i) => ({
                stroke: colour(line.colour),
                width: 1.5,
                fill: stacked && i > 0 ? undefined : `${colour(line.colour)}${stacked ? "55" : "22"}`,
                points: { show: false },
                spanGaps: false,
            })),
        ],
        bands: stacked ? series.slice(1).map((line, i) => ({ series: [i + 2, i + 1], fill: `${colour(line.colour)}55` })) : [],
        hooks: { setCursor: [(plot) => (hovered.value = plot.cursor.idx ?? null)] },
    };
}

function Plot(props) {
    const ref = useRef(null);
    const plot = useRef(null);
    const { samples, series, stacked } = props;
    const look = [theme.value, series.map((line) => line.key).join()].join();
    useEffect(() => {
        const box = ref.current;
        const made = new uPlot(options(props, box.clientWidth, box.clientHeight), columns(samples, series, stacked), box);
        plot.current = made;
        const observer = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: box.clientHeight }));
        observer.observe(box);
        return () => {
            observer.disconnect();
            made.destroy();
        };
    }, [look]);
    useEffect(() => plot.current.setData(columns(samples, series, stacked)), [samples]);
    return html`<div class="plot" ref=${ref} aria-hidden="true"></div>`;
}

// series: [{key, label, colour: a custom property, value(sample), note(sample)}]. format: of the axis, show: of a value.
// floor: the axis reaches at least to it; ceiling: exactly to it.
export function Chart({ title, name, note, samples, series, show, ...look }) {
    const at = hovered.value;
    const sample = samples[at ?? samples.length - 1];
    const text = (line) => {
        const value = sample && line.value(sample);
        return value === null || value === undefined ? "–" : show(value);
    };
    return html`<section class="card chart" data-chart=${name} aria-label=${title}>
        <header>
            <h2>${title}</h2>
            <span class="quiet small">${at !== null && sample ? clock(sample.time) : note}</span>
        </header>
        <ul class="legend">
            ${series.map((line) => html`<li><span class=${`swatch swatch-${line.colour.slice(2)}`}></span>${line.label} <b data-value=${line.key}>${text(line)}</b></li>`)}
        </ul>
        <${Plot} samples=${samples} series=${series} ...${look} />
    </section>`;
}
