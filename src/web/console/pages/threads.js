// How busy the event loop is, and the threads that send for it.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { overview, samples } from "../live.js";
import { Meter } from "../parts/meter.js";
import { Polled } from "../parts/plain_table.js";
import { Senders } from "../parts/senders.js";
import { count, percent } from "../text.js";

function Loop({ load }) {
    const busy = load.busy_percent / 100;
    const levels = { normal: t("normal"), high: t("high"), critical: t("critical"), dying: t("new players are refused") };
    const rows = [
        ["busy", t("Busy"), percent(busy)],
        ["level", t("Level"), html`<span class=${load.level === "normal" ? "good" : "bad"}>${levels[load.level] ?? load.level}</span>`],
        ["refused", t("Refused players"), count(load.refused)],
        ["stall", t("Longest stall"), `${overview.value?.longest_stall_ms ?? 0} ms`],
    ];
    return html`<section class="card" aria-label=${t("Event loop")}>
        <h2>${t("Event loop")}</h2>
        <${Meter} value=${busy} label=${t("The event loop is busy")} />
        <dl class="facts">${rows.map(([name, label, value]) => html`<div data-fact=${name}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
    </section>`;
}

export function Threads() {
    const senders = samples.value.at(-1)?.senders ?? [];
    return html`<${Polled} path="operations" show=${({ data }) => html`<${Loop} load=${data.load} />`} />
        <${Senders} threads=${senders} />
        ${!senders.length && html`<p class="quiet" data-empty="senders">${t("There are no sender threads: the event loop sends by itself. sender_threads 2; starts two, at the next start of the server.")}</p>`}`;
}
