// A table whose rows are all in the document, in a card, and an answer of the API that is kept up to date.
import { useSignal } from "@preact/signals";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, login } from "../api.js";
import { usePoll } from "../poll.js";
import { count, explain } from "../text.js";

const PERIOD_MS = 2000;

// columns: [title, cell(row), class].
export function Table({ label, columns, rows, total = rows.length }) {
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

// The name of a stream by its vhost, app and stream.
export const nameOf = (one) => `${one.vhost === "__defaultVhost__" ? "" : `${one.vhost}/`}${one.app}/${one.stream}`;

// show(answer): of that path of the API, asked for every two seconds.
export function Polled({ path, show }) {
    const answer = useSignal(null);
    const failure = useSignal(null);
    usePoll(
        async (signal) => {
            try {
                answer.value = await call(path, { signal });
                failure.value = null;
            } catch (error) {
                if (signal.aborted) throw error;
                if (!login.peek()) failure.value = error;
            }
        },
        PERIOD_MS,
        [path],
    );
    const problem = failure.value && html`<p class="problem" role="alert">${explain(failure.value)}</p>`;
    if (!answer.value) return problem ?? html`<p class="quiet">${t("Loading")}</p>`;
    return html`${problem}${show(answer.value)}`;
}
