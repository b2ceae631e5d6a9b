// Where a stream goes beside its players, with the state of each output, and what has happened to the stream lately.
import { useSignal } from "@preact/signals";
import { duration } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, withQuery } from "../api.js";
import { usePoll } from "../poll.js";
import { count, moment, when } from "../text.js";

const NAMES = { hls: "HLS", dash: "DASH", dvr: "DVR", forward: "forward", edge: "edge", transcode: "transcode", exec: "exec", hook: "hook" };
const STATES = () => ({ works: [t("works"), "good"], starts: [t("starts"), "warn"], fails: [t("fails"), "bad"] });

export function Outputs({ outputs }) {
    if (!outputs?.length) return null;
    const states = STATES();
    return html`<section class="card" aria-label=${t("Outputs")}>
        <h2>${t("Outputs")}</h2>
        <ul class="outputs">
            ${outputs.map(({ output, to, state, problem }) => {
                const [words, tone] = states[state] ?? [state, "quiet"];
                return html`<li data-output=${output} data-state=${state}>
                    <span class="tag">${NAMES[output] ?? output}</span>
                    <span class=${tone}>${words}</span>
                    <span class="break">${to} <span class="quiet">${problem}</span></span>
                </li>`;
            })}
        </ul>
    </section>`;
}

const PERIOD_MS = 10000;
const SHOWN = 5;

function whatHappened({ kind, output, text }) {
    if (kind === "publisher_gone") return t("The publisher was gone");
    if (kind === "output_failed") return t("{output} failed: {why}", { output: NAMES[output] ?? output, why: text });
    return kind;
}

function Incident({ incident }) {
    const { from_ms: from, to_ms: to, players_before: before, players_after: after } = incident;
    return html`<li data-incident=${incident.kind}>
        <time title=${when(from)}>${moment(from)}</time>
        <span>
            ${whatHappened(incident)} <span class=${to === null ? "bad" : "quiet"}>${to === null ? t("until now") : t("for {time}", { time: duration((to - from) / 1000) })}</span>,
            ${" "}${t("players: {before} before, {after} after", { before: count(before), after: count(after) })}
        </span>
    </li>`;
}

export function Incidents({ stream }) {
    const incidents = useSignal([]);
    usePoll(
        async (signal) => {
            const answer = await call(withQuery("incidents", { stream, count: SHOWN }), { signal }).catch(() => null);
            if (answer && !signal.aborted) incidents.value = answer.incidents;
        },
        PERIOD_MS,
        [stream],
    );
    if (!incidents.value.length) return null;
    return html`<section class="card" aria-label=${t("Incidents")}>
        <h2>${t("Incidents")}</h2>
        <ul class="incidents">${incidents.value.map((one) => html`<${Incident} incident=${one} />`)}</ul>
    </section>`;
}
