// The first page: what the server does now, and has done in the last minutes.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { html } from "../../shared/html.js";
import { bitrate, bytes, duration } from "../../shared/format.js";
import { t } from "../../shared/i18n.js";
import { call } from "../api.js";
import { PERIODS, total } from "../history.js";
import { mayChange, overview, samples } from "../live.js";
import { Past } from "../past.js";
import { usePoll } from "../poll.js";
import { link } from "../route.js";
import { Attention } from "../parts/attention.js";
import { Chart, playerSeries } from "../parts/chart.js";
import { ask, notify } from "../parts/dialogs.js";
import { EndsBars } from "../parts/ends_bars.js";
import { Meter } from "../parts/meter.js";
import { PeriodChoice } from "../parts/period.js";
import { Senders } from "../parts/senders.js";
import { count, explain, percent, protocolName, short } from "../text.js";

function Tile({ name, label, value, note, children, to }) {
    const inner = html`<dt>${label}</dt>
        <dd class="tile-value">${value}</dd>
        <dd class="quiet small">${note}</dd>
        ${children && html`<dd>${children}</dd>`}`;
    return html`<dl class="card tile" data-tile=${name}>${inner}${to && html`<dd class="tile-link"><a href=${to} aria-label=${label}></a></dd>`}</dl>`;
}

const protocols = (counts) =>
    Object.entries(counts ?? {})
        .filter(([, n]) => n > 0)
        .map(([name, n]) => `${protocolName(name)} ${count(n)}`)
        .join(" · ");

function Tiles({ now }) {
    const { connections, streams } = now;
    const used = connections.limit ? connections.now / connections.limit : 0;
    const rates = samples.value.at(-1);
    const rate = (kbps) => (kbps === null ? "–" : bitrate(kbps));
    return html`<div class="tiles">
        <${Tile} name="in" label=${t("Received")} value=${rate(rates.in)} note=${t("total: {bytes}", { bytes: bytes(now.traffic.recv_bytes) })} />
        <${Tile} name="out" label=${t("Sent")} value=${rate(rates.out)} note=${t("total: {bytes}", { bytes: bytes(now.traffic.send_bytes) })} />
        <${Tile}
            name="streams"
            label=${t("Streams")}
            value=${count(streams.published)}
            note=${streams.total > streams.published ? t("{n} without a publisher", { n: streams.total - streams.published }) : protocols(now.publishers) || t("none is published")}
            to=${link("streams")}
        />
        <${Tile} name="players" label=${t("Players")} value=${count(total(now.players))} note=${protocols(now.players) || t("nobody plays")} to=${link("clients")} />
        <${Tile} name="connections" label=${t("Connections")} value=${count(connections.now)} note=${t("of at most {n}", { n: count(connections.limit) })}>
            <${Meter} label=${t("Connections")} value=${used} />
        <//>
        <${Tile} name="uptime" label=${t("Uptime")} value=${duration(now.uptime_ms / 1000)} note=${t("version {v}", { v: now.version })} />
    </div>`;
}

const POLL_MS = { hour: 10000, day: 60000 };

// The last minutes are those of the overviews that came; longer periods are asked for.
function usePast(period) {
    const past = useMemo(() => (POLL_MS[period.key] ? new Past(period) : null), [period]);
    usePoll(async (signal) => past?.update(signal), POLL_MS[period.key] ?? 3600000, [past]);
    return past ? past.samples.value : samples.value;
}

function Charts({ now }) {
    const period = useSignal(PERIODS[0]);
    const all = usePast(period.value);
    const line = (key, label, colour) => ({ key, label, colour, value: (sample) => sample[key] });
    const { machine } = now;
    return html`<${PeriodChoice} value=${period} /><div class="charts">
        <${Chart}
            name="traffic"
            title=${t("Bitrate")}
            samples=${all}
            series=${[line("out", t("sent"), "--out"), line("in", t("received"), "--in")]}
            show=${bitrate}
            format=${(kbps) => short(kbps * 1000)}
            floor=${100}
        />
        <${Chart}
            name="players"
            title=${t("Players by protocol")}
            samples=${all}
            series=${playerSeries(all)}
            show=${count}
            format=${(n) => (Number.isInteger(n) ? short(n) : "")}
            floor=${4}
            stacked
        />
        <${Chart}
            name="cpu"
            title=${t("Processor")}
            note=${t("{n} processors, load {load}", { n: machine.processors, load: machine.load_1m.toFixed(2) })}
            samples=${all}
            series=${[line("machine_cpu", t("machine"), "--series-3"), line("cpu", t("server, of one"), "--series-1")]}
            show=${percent}
            format=${(share) => `${Math.round(share * 100)}%`}
            floor=${0.2}
        />
        <${Chart}
            name="memory"
            title=${t("Memory")}
            note=${t("machine: {used} of {all}", { used: bytes(machine.memory_used_bytes), all: bytes(machine.memory_bytes) })}
            samples=${all}
            series=${[line("memory", t("server"), "--series-2")]}
            show=${bytes}
            format=${(n) => short(n)}
            floor=${2e7}
        />
        <${Chart}
            name="stall"
            title=${t("Longest stall")}
            note=${t("of the last minute")}
            samples=${all}
            series=${[line("stall", t("event loop"), "--series-4")]}
            show=${(ms) => `${Math.round(ms)} ms`}
            format=${(ms) => `${Math.round(ms)} ms`}
            floor=${10}
        />
    </div>`;
}

// After an upgrade, while the process before still has clients.
function EarlierProcess({ earlier }) {
    const what = {
        pid: earlier.pid,
        version: earlier.version,
        publishers: count(earlier.publishers),
        players: count(earlier.players),
        time: duration(Math.max(0, Date.now() - earlier.since_ms) / 1000),
    };
    async function end() {
        const yes = await ask({
            title: t("End the earlier process?"),
            text: t("{publishers} publishers and {players} players of process {pid} are disconnected. They may connect again.", what),
            action: t("End now"),
        });
        if (!yes) return;
        try {
            await call("upgrade", { method: "DELETE" });
            notify(t("Process {pid} ends.", what));
        } catch (error) {
            notify(explain(error), true);
        }
    }
    return html`<section class="card" data-card="earlier" aria-label=${t("Upgrade")}>
        <header class="card-head">
            <h2>${t("Upgrade")}</h2>
            ${mayChange.value && html`<button type="button" onClick=${end}>${t("End now")}</button>`}
        </header>
        <p>${t("An earlier process ({pid}, version {version}) still serves {publishers} publishers and {players} players. The upgrade was {time} ago.", what)}</p>
    </section>`;
}

export function Overview() {
    const now = overview.value;
    if (!now) return html`<p class="quiet">${t("Loading")}</p>`;
    return html`${now.earlier_process && html`<${EarlierProcess} earlier=${now.earlier_process} />`}<${Tiles} now=${now} /><${Attention} counts=${now.verdicts} /><${Charts} now=${now} /><${Senders} threads=${samples.value.at(-1).senders} />
        <section class="card" aria-label=${t("Why sessions ended")}>
            <header class="card-head">
                <h2>${t("Why sessions ended")}</h2>
                <a href=${link("ends")}>${t("All")}</a>
            </header>
            <${EndsBars} ends=${now.client_ends} limit=${4} />
        </section>`;
}
