// What this server pulls from origins and passes up to them, and the state of the origins.
import { useSignal } from "@preact/signals";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, login, withQuery } from "../api.js";
import { usePoll } from "../poll.js";
import { count, explain } from "../text.js";

const PERIOD_MS = 2000;
const SHOWN = 200;

function Table({ label, columns, rows, total = rows.length }) {
    if (!rows.length) return null;
    return html`<section class="card" aria-label=${label}>
        <header class="card-head"><h2>${label}</h2><span class="quiet">${t("{n} of {all}", { n: count(rows.length), all: count(total) })}</span></header>
        <div class="scroll" tabindex="0" role="region" aria-label=${label}>
            <table class="plain">
                <thead><tr>${columns.map(([title, , kind]) => html`<th scope="col" class=${kind}>${title}</th>`)}</tr></thead>
                <tbody>${rows.map((row) => html`<tr>${columns.map(([, cell, kind]) => html`<td class=${kind}>${cell(row)}</td>`)}</tr>`)}</tbody>
            </table>
        </div>
    </section>`;
}

const links = () => [
    [t("Stream"), (one) => `${one.vhost === "__defaultVhost__" ? "" : `${one.vhost}/`}${one.app}/${one.stream}`],
    [t("State"), (one) => one.state],
    [t("Origin server"), (one) => one.origin],
    [t("Attempts"), (one) => count(one.attempts), "number"],
    [t("Text"), (one) => one.problem, "quiet"],
];

const origins = () => [
    [t("Origin server"), (one) => one.origin],
    [t("State"), (one) => html`<span class=${one.up ? "good" : "bad"}>${one.up ? t("answers") : t("is down")}</span>`],
    [t("Pulls"), (one) => count(one.pulls), "number"],
    [t("Pushes"), (one) => count(one.pushes), "number"],
    [t("Connections"), (one) => count(one.connections), "number"],
    [t("Errors"), (one) => count(one.failures), "number"],
    [t("Text"), (one) => one.problem, "quiet"],
];

export function Edges() {
    const answer = useSignal(null);
    const failure = useSignal(null);
    usePoll(
        async (signal) => {
            try {
                answer.value = await call(withQuery("edges", { count: SHOWN }), { signal });
                failure.value = null;
            } catch (error) {
                if (signal.aborted) throw error;
                if (!login.peek()) failure.value = error;
            }
        },
        PERIOD_MS,
        [],
    );
    const known = answer.value;
    if (!known) return failure.value ? html`<p class="problem" role="alert">${explain(failure.value)}</p>` : html`<p class="quiet">${t("Loading")}</p>`;
    const none = !known.origins.length && !known.pulls.length && !known.pushes.length;
    return html`${failure.value && html`<p class="problem" role="alert">${explain(failure.value)}</p>`}
        ${none && html`<p class="quiet">${t("No stream is pulled from another server or passed up to one.")}</p>`}
        <${Table} label=${t("Origin servers")} columns=${origins()} rows=${known.origins} />
        <${Table} label=${t("Pulls")} columns=${links()} rows=${known.pulls} total=${known.pulls_total} />
        <${Table} label=${t("Pushes")} columns=${links()} rows=${known.pushes} total=${known.pushes_total} />`;
}
