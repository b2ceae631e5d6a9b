// What is wrong with streams, in words: of one in a list, and those that need attention first, on the overview.
import { useSignal } from "@preact/signals";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, withQuery } from "../api.js";
import { figureText, wordsOf } from "../health_words.js";
import { usePoll } from "../poll.js";
import { link } from "../route.js";
import { count, streamName } from "../text.js";
import { checkName, Mark } from "./health.js";

const PERIOD_MS = 4000;
const SHOWN = 6;
const VERDICTS = { fine: "ok", notice: "warn", sick: "bad" };

// As a check: of a stream's verdict, as the API has it.
const checkOf = (verdict) => ({ ...verdict, name: verdict.code, verdict: VERDICTS[verdict.level] });

// In a list: what it is, and its figure.
export function VerdictCell({ verdict }) {
    if (!verdict) return "";
    const check = checkOf(verdict);
    if (check.verdict === "ok") return html`<${Mark} verdict="ok" />`;
    return html`<span title=${wordsOf(check).text}><${Mark} verdict=${check.verdict} /> ${checkName(check.name)} <span class="quiet">${figureText(check)}</span></span>`;
}

function Item({ stream }) {
    const check = checkOf(stream.verdict);
    const { text, advice } = wordsOf(check);
    return html`<li data-stream=${streamName(stream)}>
        <${Mark} verdict=${check.verdict} />
        <span>
            <a href=${link("streams", stream.id)}>${streamName(stream)}</a> <b>${checkName(check.name)}</b> ${figureText(check)}
            <span class="quiet small attention-text">${text}</span>
            ${advice && html`<span class="quiet small attention-text">→ ${advice}</span>`}
        </span>
    </li>`;
}

// counts: the overview's, of streams by level.
export function Attention({ counts }) {
    const streams = useSignal([]);
    const [sick, notice] = [counts?.sick ?? 0, counts?.notice ?? 0];
    usePoll(
        async (signal) => {
            if (!sick && !notice) return (streams.value = []);
            const answer = await call(withQuery("streams", { sort: "-verdict", count: SHOWN }), { signal }).catch(() => null);
            if (answer && !signal.aborted) streams.value = answer.streams.filter((one) => one.verdict.level !== "fine");
        },
        PERIOD_MS,
        [sick, notice],
    );
    if (!counts || (!sick && !notice)) return null;
    return html`<section class="card attention" aria-label=${t("Needs attention")}>
        <header class="card-head">
            <h2>${t("Needs attention")}</h2>
            <span class="attention-links">
                ${sick > 0 && html`<a href=${link("streams", "", "sick")}>${t("Broken: {n}", { n: count(sick) })}</a>`}
                ${notice > 0 && html`<a href=${link("streams", "", "notice")}>${t("Notices: {n}", { n: count(notice) })}</a>`}
            </span>
        </header>
        <ul>${streams.value.map((one) => html`<${Item} key=${one.id} stream=${one} />`)}</ul>
    </section>`;
}
