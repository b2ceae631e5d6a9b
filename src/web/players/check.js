// The page that checks the connection between this browser and the server: what it carries, and which size of video
// that is enough for. Nothing is measured before a click.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { chinese } from "../shared/chinese.js";
import { bitrate } from "../shared/format.js";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { PageHeader } from "../shared/page_header.js";
import "../shared/theme.css";
import { DEFAULT_PLACE, readPlace, streamUrl } from "./address.js";
import { chinese as own } from "./chinese.js";
import { MoreFields, PlaceFields } from "./form.js";
import { bestOf, fits, LADDER, PLAY_ROOM, PUBLISH_SHARE, publishKbps, rungsOf } from "./ladder.js";
import { Measurement, STEPS } from "./measure.js";
import { milliseconds, ProblemBox } from "./player_view.js";
import { Problem } from "./problem.js";
import { placeText } from "./problems.js";
import { checkRtc } from "./rtc_check.js";
import "./check.css";

Object.assign(chinese, own);

const STEP_TEXTS = {
    latency: () => t("Latency"),
    "down-one": () => t("Down, one connection"),
    "down-several": () => t("Down, several connections"),
    "up-one": () => t("Up, one connection"),
    "up-several": () => t("Up, several connections"),
    "rtc-up": () => t("Up, by WebRTC"),
    "rtc-down": () => t("Down, by WebRTC"),
};
const FITS = { yes: () => t("fits"), tight: () => t("tight"), no: () => t("too much") };
const COLOURS = { yes: "good", tight: "warn", no: "bad" };
const LIMITED = 0.9; // of the server's limit
const BLOAT_MS = 150;

const rungText = (rung) => `${rung.name}${rung.fps > 30 ? rung.fps : ""}`;

// The stream that the page's address names; null: none.
const query = new URLSearchParams(location.search);
const subject = query.get("stream") ? readPlace(query) : null;

// What that stream is published with, as its players learn it; the usual ladder where it has no playlist of several.
async function ladderOf(signal) {
    const usual = { rungs: LADDER, place: null };
    if (!subject) return usual;
    try {
        const response = await fetch(streamUrl("hls", subject.place, subject.more), { cache: "no-store", credentials: "omit", signal });
        const rungs = response.ok ? rungsOf(await response.text()) : [];
        return rungs.length ? { rungs, place: subject.place } : usual;
    } catch (error) {
        if (signal.aborted) throw error;
        return usual;
    }
}

function Progress({ progress }) {
    const text = STEP_TEXTS[progress.step]();
    return html`<section class="card" aria-label=${t("Progress")}>
        <p class="check-step" role="status">${t("Measuring: {step}", { step: text })}</p>
        <progress max="1" value=${progress.fraction} aria-label=${t("Progress")}></progress>
        <p class="check-now number">${progress.kbps ? bitrate(progress.kbps) : progress.latency ? milliseconds(progress.latency) : "…"}</p>
    </section>`;
}

function Verdict({ result }) {
    const { steps } = result;
    const { rungs } = result.ladder;
    const rung = bestOf(rungs, steps["down-one"].kbps);
    return html`<div class="check-verdicts">
        <section class="card" aria-label=${t("Play")}>
            <h2>${t("Play")}</h2>
            <p class="check-large" data-verdict="play">${rung ? t("up to {size}", { size: rungText(rung) }) : t("less than {size}", { size: rungText(rungs.at(-1)) })}</p>
            <p>${t("{rate} down by one connection, as players have it.", { rate: bitrate(steps["down-one"].kbps) })}</p>
        </section>
        <section class="card" aria-label=${t("Publish")}>
            <h2>${t("Publish")}</h2>
            <p class="check-large" data-verdict="publish">${t("up to {rate}", { rate: bitrate(publishKbps(steps["up-one"].kbps)) })}</p>
            <p>${t("{rate} up by one connection, of which an encoder should take {percent} %.", { rate: bitrate(steps["up-one"].kbps), percent: PUBLISH_SHARE * 100 })}</p>
        </section>
    </div>`;
}

// What a reader would not see in the figures.
function hints(result) {
    const { steps, latency, limit } = result;
    const list = [];
    for (const [direction, text] of [["down", t("Down")], ["up", t("Up")]]) { // prettier-ignore
        const [one, several] = [steps[`${direction}-one`], steps[`${direction}-several`]];
        if (several.kbps > limit * LIMITED) list.push(t("{direction}: at least so much. The server gives {rate} to all checks together.", { direction: text, rate: bitrate(limit) }));
        else if (several.kbps > one.kbps * 1.5) list.push(t("{direction}: several connections get much more than one. The network loses packets or is far away; WebRTC and SRT suffer less from that than players by HTTP.", { direction: text }));
        const growth = Math.max(one.latency, several.latency) - latency;
        if (growth > BLOAT_MS) list.push(t("{direction}: under load the latency grows by {ms}. A queue on the way is too long; a call or a live stream beside a download stalls.", { direction: text, ms: milliseconds(growth) }));
    }
    if (result.others > 0) list.push(t("{n} other checks ran at the server meanwhile.", { n: result.others }));
    if (result.isHttp2) list.push(t("By HTTP/2: several connections were one."));
    return list;
}

function Figures({ result }) {
    return html`<section class="card" aria-label=${t("Measured")}>
        <h2>${t("Measured")}</h2>
        <div class="table-box" tabindex="0" role="region" aria-label=${t("Measured")}>
            <table class="compare">
                <thead>
                    <tr><th scope="col">${t("By HTTP")}</th><th scope="col" class="number">${t("Bitrate")}</th><th scope="col" class="number">${t("Latency")}</th></tr>
                </thead>
                <tbody>
                    <tr>
                        <th scope="row">${t("Without load")}</th>
                        <td class="number">–</td>
                        <td class="number" data-figure="latency">${milliseconds(result.latency)} ± ${milliseconds(result.jitter)}</td>
                    </tr>
                    ${STEPS.map(
                        ({ name }) =>
                            html`<tr key=${name}>
                                <th scope="row">${STEP_TEXTS[name]()}</th>
                                <td class="number" data-figure=${name} data-kbps=${Math.round(result.steps[name].kbps)}>${bitrate(result.steps[name].kbps)}</td>
                                <td class="number">${milliseconds(result.steps[name].latency)}</td>
                            </tr>`,
                    )}
                </tbody>
            </table>
        </div>
        ${hints(result).map((text) => html`<p key=${text} class="check-hint">${text}</p>`)}
        <p class="quiet small">${t("Each step takes 5.5 s, of which the first 1.5 s do not count: TCP looks for the rate. Several connections are 5. The figures are of the data, without the headers of the packets.")}</p>
    </section>`;
}

function Ladder({ result }) {
    const kbps = result.steps["down-one"].kbps;
    const { rungs, place } = result.ladder;
    return html`<section class="card" aria-label=${t("Sizes of video")}>
        <h2>${t("Sizes of video")}</h2>
        <table class="compare">
            <thead>
                <tr><th scope="col">${t("Size")}</th><th scope="col" class="number">${t("Bitrate")}</th><th scope="col">${t("To play")}</th></tr>
            </thead>
            <tbody>
                ${rungs.map((rung) => {
                    const verdict = fits(rung.kbps, kbps);
                    return html`<tr key=${`${rungText(rung)} ${rung.kbps}`} data-rung=${rungText(rung)} data-fits=${verdict}>
                        <th scope="row">${rungText(rung)}</th>
                        <td class="number">${bitrate(rung.kbps)}</td>
                        <td class=${COLOURS[verdict]}>${FITS[verdict]()}</td>
                    </tr>`;
                })}
            </tbody>
        </table>
        <p class="quiet small">
            ${t("A size fits if the connection carries {room} times its bitrate.", { room: PLAY_ROOM })}${" "}
            ${place ? t("Sizes and bitrates are those that {stream} has now.", { stream: placeText(place) }) : t("Bitrates are the usual ones of H.264; the streams of this server may have others.")}
        </p>
    </section>`;
}

const percent = (share) => `${(share * 100).toFixed(1)} %`;

function RtcFigures({ result: { up, down } }) {
    const rows = [
        [t("Up: what the browser estimates"), bitrate(up.kbps), "rtc-up"],
        [t("Up: sent"), `${bitrate(up.sent)}, ${t("{share} lost", { share: percent(up.lost) })}`, "rtc-sent"],
        [t("Round trip"), up.roundTrip === null ? "–" : milliseconds(up.roundTrip), "rtc-trip"],
        [t("Down: came back"), down ? `${bitrate(down.kbps)}, ${t("{share} lost", { share: percent(down.lost) })}` : t("not played back"), "rtc-down"],
    ];
    return html`<section class="card" aria-label=${t("By WebRTC")}>
        <h2>${t("By WebRTC")}</h2>
        <dl class="figures">
            ${rows.map(([name, value, key]) => html`<div key=${key}><dt>${name}</dt><dd class="number" data-rtc=${key}>${value}</dd></div>`)}
        </dl>
        <p class="quiet small">${t("The estimate is the browser's, by the feedback of the server, and seldom more than half as much again as what its encoder made. What comes back is the same video: it fills the way down no further.")}</p>
    </section>`;
}

// Publishing needs what publishing needs: the name and the token of a publisher, where the server asks for them.
function RtcForm({ disabled, onStart }) {
    const [place, setPlace] = useState(() => ({ ...DEFAULT_PLACE, stream: `check-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}` }));
    const [token, setToken] = useState("");
    return html`<section class="card controls" aria-label=${t("By WebRTC")}>
        <h2>${t("By WebRTC")}</h2>
        <p class="quiet about">${t("Publishes noise by WHIP for some seconds, under a name that nobody knows, and plays it back by WHEP: whether media gets through, and what it gets. Recordings and hooks of the vhost are as for any stream.")}</p>
        <div class="fields">
            <${PlaceFields} place=${place} onChange=${setPlace} />
            <${MoreFields} place=${place} onChange=${setPlace} token=${token} onToken=${setToken} />
            <div class="buttons"><button disabled=${disabled} onClick=${() => onStart(place, token)}>${t("Measure WebRTC")}</button></div>
        </div>
    </section>`;
}

function Page() {
    const [run, setRun] = useState(null);
    const [progress, setProgress] = useState(null);
    const [result, setResult] = useState(null);
    const [rtc, setRtc] = useState(null);
    const [problem, setProblem] = useState(null);
    const current = useRef(null);

    const stop = () => {
        current.current?.abort();
        current.current = null;
        setRun(null);
    };
    useEffect(() => {
        addEventListener("pagehide", stop);
        return () => removeEventListener("pagehide", stop);
    }, []);
    useEffect(() => {
        document.title = t("Check the connection");
    });
    // One at a time. measure(onProgress, signal).
    const begin = async (step, measure, setFound) => {
        stop();
        const abort = (current.current = new AbortController());
        const mine = (action) => (value) => current.current === abort && action(value);
        setRun(abort);
        setFound(null);
        setProblem(null);
        setProgress({ step, fraction: 0 });
        await measure(mine(setProgress), abort.signal).then(
            mine(setFound),
            mine((error) => setProblem(Problem.of(error))),
        );
        mine(() => setRun(null))();
    };
    const measureHttp = async (onProgress, signal) => {
        const ladder = await ladderOf(signal);
        return { ...(await new Measurement(onProgress, signal).run()), ladder };
    };
    const start = () => begin("latency", measureHttp, setResult);
    const startRtc = (place, token) => begin("rtc-up", (onProgress, signal) => checkRtc({ place, token, onProgress, signal }), setRtc);
    return html`<${PageHeader} page="players" />
        <main class="players check">
            <h1>${t("Check the connection")}</h1>
            <p class="quiet about">${t("Measures what the connection between this browser and this server carries, and which size of video that is enough for. It takes half a minute and up to some hundred megabytes.")}</p>
            <div class="buttons">
                <button class="primary" disabled=${run} onClick=${start}>${t("Measure")}</button>
                <button disabled=${!run} onClick=${stop}>${t("Stop")}</button>
            </div>
            <${ProblemBox} problem=${problem} />
            ${run && progress && html`<${Progress} progress=${progress} />`}
            ${result && html`<${Verdict} result=${result} /><${Figures} result=${result} /><${Ladder} result=${result} />`}
            ${rtc && html`<${RtcFigures} result=${rtc} />`}
            <${RtcForm} disabled=${run} onStart=${startRtc} />
        </main>`;
}

render(html`<${Page} />`, document.body);
