// Why a URL does not play (doc/why.md): a field for the URL, and what was found, with the line that mends it.
// #/why/URL and #/why/URL/publish check that URL at once.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { CopyLine } from "../../shared/copy.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, withQuery } from "../api.js";
import { Mark, Verdict } from "../parts/health.js";
import { route } from "../route.js";
import { explain } from "../text.js";

const TIMEOUT_MS = 20000; // it is played for two seconds

function playedFinding(played) {
    if (!played) return [];
    const text = played.not_tried
        ? t("not tried: {why}", { why: played.not_tried })
        : played.error || t("{video} video and {audio} audio frames, {kbps} kbit/s, the first after {ms} ms; {codecs}", { video: played.video_frames, audio: played.audio_frames, kbps: played.kbps, ms: played.first_frame_ms, codecs: played.codecs });
    const verdict = played.error ? "bad" : played.not_tried ? "unknown" : "ok";
    return [{ check: "playing", verdict, text, line: "", where: "", url: "", advice: "" }];
}

function Finding({ finding }) {
    const more = [finding.where, finding.advice].filter(Boolean).join("; ");
    return html`<li data-check=${finding.check}>
        <${Mark} verdict=${finding.verdict} />
        <span class="health-name">${finding.check}</span>
        <span class="number health-figure"></span>
        <span class="quiet small health-text">${finding.text}${more && html`<br /><b>${more}</b>`}
            ${(finding.line || finding.url) && html`<${CopyLine} text=${finding.line || finding.url} label=${finding.check} />`}</span>
    </li>`;
}

function Answer({ answer }) {
    const findings = [...answer.findings, ...playedFinding(answer.played)];
    return html`<section class="card" aria-label=${t("Findings")} data-why=${answer.verdict}>
        <header class="card-head"><h2>${t("Findings")}</h2><${Verdict} verdict=${answer.verdict} /></header>
        <ul class="health why-findings">${findings.map((one, index) => html`<${Finding} key=${index} finding=${one} />`)}</ul>
    </section>`;
}

export function Why() {
    const url = useSignal("");
    const publishes = useSignal(false);
    const answer = useSignal(null);
    const problem = useSignal("");
    const asking = useRef(null);
    const ask = async () => {
        asking.current?.abort();
        const mine = new AbortController();
        asking.current = mine;
        answer.value = null;
        problem.value = "";
        try {
            const path = withQuery("why", { url: url.value.trim(), publish: publishes.value ? 1 : "" });
            const got = await call(path, { signal: mine.signal, timeout: TIMEOUT_MS });
            if (!mine.signal.aborted) answer.value = got;
        } catch (error) {
            if (!mine.signal.aborted) problem.value = explain(error);
        }
    };
    useEffect(() => () => asking.current?.abort(), []);
    const { id, filter } = route.value;
    useEffect(() => {
        if (!id) return;
        url.value = id;
        publishes.value = filter === "publish";
        ask();
    }, [id, filter]);
    const submit = (event) => {
        event.preventDefault();
        ask();
    };
    return html`<form class="card" onSubmit=${submit}>
            <p class="why-url"><label>${t("Address of the stream, as the player or the encoder has it")}<br />
                <input type="text" name="url" required autocomplete="off" spellcheck=${false} placeholder="rtmp://127.0.0.1/live/livestream" value=${url.value} onInput=${(event) => (url.value = event.target.value)} />
            </label></p>
            <p class="why-publish"><label><input type="checkbox" checked=${publishes.value} onChange=${(event) => (publishes.value = event.target.checked)} /> ${t("It is to be published")}</label></p>
            <button>${t("Check")}</button>
        </form>
        <div role="status">${problem.value && html`<p class="bad">${problem.value}</p>`}</div>
        ${answer.value && html`<${Answer} answer=${answer.value} />`}`;
}
