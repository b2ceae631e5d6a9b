// The start page: plays what is published with one click, says how to publish, and leads to console and players.
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at } from "../shared/base.js";
import { chinese } from "../shared/chinese.js";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { PageHeader } from "../shared/page_header.js";
import "../shared/theme.css";
import { DEFAULT_PLACE, NAMES, pageUrl, streamUrl, USUAL } from "../players/address.js";
import { chinese as own } from "../players/chinese.js";
import { CopyLine } from "../shared/copy.js";
import { PublishedStreams } from "../players/form.js";
import { PlayerFigures, ProblemBox, Screen, stateText } from "../players/player_view.js";
import { placeText } from "../players/problems.js";
import { published } from "../players/published.js";
import { PlayerSession } from "../players/session.js";
import "./start.css";

Object.assign(chinese, own);

// The stream to offer: the one that was chosen, else livestream, else the first that is published.
function useStream() {
    const [chosen, choose] = useState(null);
    const streams = published.value?.streams ?? [];
    const isDefault = (one) => one.app === DEFAULT_PLACE.app && one.stream === DEFAULT_PLACE.stream;
    const found = streams.find(isDefault) ?? streams[0];
    const place = chosen ?? (found ? { vhost: found.vhost, app: found.app, stream: found.stream } : DEFAULT_PLACE);
    return [place, choose];
}

function Watch() {
    const session = useMemo(() => new PlayerSession(), []);
    const video = useRef(null);
    const [place, choose] = useStream();
    const [protocol, setProtocol] = useState(null);
    const isNone = published.value?.total === 0;
    const play = (one) => {
        setProtocol(one);
        session.start(video.current, { protocol: one, url: streamUrl(one, place), token: "", place });
    };
    const stop = () => {
        session.stop();
        setProtocol(null);
    };
    const state = session.state.value;
    return html`<section class="card watch" aria-labelledby="watch">
        <h2 id="watch">${t("Watch {stream}", { stream: placeText(place) })}</h2>
        <${PublishedStreams}
            place=${place}
            onChoose=${(next) => {
                stop();
                choose(next);
            }}
        >
            <p class="nothing"><strong>${t("No stream is published now.")}</strong> ${t("Publish one as below; it appears here by itself.")}</p>
        <//>
        <div class="buttons" role="group" aria-label=${t("Play by")}>
            ${USUAL.map(
                (one) =>
                    html`<button key=${one} class=${!isNone && (protocol === null || protocol === one) ? "primary" : ""} aria-pressed=${one === protocol} onClick=${() => play(one)}>▶ ${NAMES[one]}</button>`,
            )}
            <button disabled=${state === "idle"} onClick=${stop}>${t("Stop")}</button>
        </div>
        <${ProblemBox} problem=${session.problem.value} onRetry=${() => session.tryAgain()} />
        <div class="stage" data-shown=${protocol !== null}>
            <${Screen} session=${session} label=${t("Video")} onVideo=${(element) => (video.current = element)} />
            <section aria-label=${t("Statistics")}>
                <p class="state" role="status" data-state=${state}>${stateText(session)}</p>
                <${PlayerFigures} statistics=${session.statistics.value} />
                ${protocol && html`<p><a href=${pageUrl({ view: protocol, ...place, autostart: true })}>${t("Open it in the players")}</a></p>`}
                <p><a href=${pageUrl({ view: "compare", ...place, autostart: true })}>${t("Compare the latency of all protocols")}</a></p>
            </section>
        </div>
    </section>`;
}

// A name that nobody publishes: what the page says must work when it is followed.
function freePlace() {
    const taken = (published.value?.streams ?? []).filter((one) => one.app === DEFAULT_PLACE.app && !one.vhost).map((one) => one.stream);
    const names = [DEFAULT_PLACE.stream, ...taken.map((_, index) => `${DEFAULT_PLACE.stream}${index + 2}`)];
    return { ...DEFAULT_PLACE, stream: names.find((name) => !taken.includes(name)) };
}

function Publish() {
    const rtmp = `rtmp://${location.hostname}`;
    const place = freePlace();
    const whip = streamUrl("whip", place);
    return html`<section class="card" aria-labelledby="publish">
        <h2 id="publish">${t("Publish")}</h2>
        <div class="ways">
            <div>
                <h3>FFmpeg</h3>
                <${CopyLine} label=${t("Command of FFmpeg")} text=${`ffmpeg -re -i FILE -c copy -f flv ${rtmp}/${place.app}/${place.stream}`} />
            </div>
            <div>
                <h3>OBS (RTMP)</h3>
                <p class="quiet small">${t("Settings, Stream, service Custom. Server, and stream key:")}</p>
                <${CopyLine} label=${t("Server")} text=${`${rtmp}/${place.app}`} />
                <${CopyLine} label=${t("Stream key")} text=${place.stream} />
            </div>
            <div>
                <h3>OBS (WHIP)</h3>
                <p class="quiet small">${t("Settings, Stream, service WHIP. Server:")}</p>
                <${CopyLine} label=${t("Server of WHIP")} text=${whip} />
            </div>
            <div>
                <h3>${t("This browser")}</h3>
                <p class="quiet small">${t("A test pattern, the camera or the screen, by WebRTC.")}</p>
                <p><a class="button" href=${pageUrl({ view: "whip", ...place })}>${t("Publish from this browser")}</a></p>
            </div>
        </div>
    </section>`;
}

function Others() {
    const links = [
        ["console/", t("Console"), t("Streams, clients, recordings and the configuration of this server.")],
        ["players/", t("Players"), t("Every protocol, with statistics and links to share.")],
    ];
    return html`<nav class="others" aria-label=${t("More pages")}>
        ${links.map(([path, name, text]) => html`<a class="card" key=${path} href=${at(path)}><strong>${name}</strong><span class="quiet">${text}</span></a>`)}
    </nav>`;
}

function Page() {
    useEffect(() => {
        document.title = t("Media server");
    });
    return html`<${PageHeader} page=${null} />
        <main class="start">
            <h1>${t("Media server")}</h1>
            <${Watch} />
            <${Publish} />
            <${Others} />
        </main>`;
}

render(html`<${Page} />`, document.body);
