// The player for pages of other sites: one stream in the whole window, muted from the start, by the first protocol that
// plays here. Its address says which; see doc/players.md.
import { render } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { chinese } from "../shared/chinese.js";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import "../shared/theme.css";
import { readPlace } from "./address.js";
import { chinese as own } from "./chinese.js";
import { FALLBACK, Fallback } from "./fallback.js";
import { ProblemBox, Screen } from "./player_view.js";
import { posterOf } from "./poster.js";
import { PlayerSession } from "./session.js";
import "./embed.css";

Object.assign(chinese, own);

// WebRTC that does not connect leaves its place to another protocol sooner than on the players' page.
const CONNECT_MS = 4000;

// What the page's address asks for.
function readEmbed(search) {
    const query = new URLSearchParams(search);
    const wanted = (query.get("protocol") ?? "").split(",").filter((one) => FALLBACK.includes(one));
    return { ...readPlace(query), protocols: wanted.length ? wanted : FALLBACK };
}

function Embed({ place, more, protocols }) {
    const session = useMemo(() => new PlayerSession(), []);
    const video = useRef(null);
    const start = () => {
        const fallback = new Fallback(place, more, protocols);
        const instead = (problem, run) => fallback.instead(problem, run);
        session.start(video.current, fallback.request, { muted: true, measure: false, connectMs: CONNECT_MS, instead });
    };
    useEffect(() => {
        start();
        posterOf(place, more).then((url) => url && (video.current.poster = url));
    }, []);
    const failed = session.state.value === "failed";
    return html`<main class="embed" data-protocol=${session.request?.protocol}>
        <h1 class="visually-hidden">${place.stream}</h1>
        <${Screen} session=${session} label=${t("Video of {stream}", { stream: place.stream })} onVideo=${(element) => (video.current = element)} onPlay=${start} />
        ${failed && html`<${ProblemBox} problem=${session.problem.value} onRetry=${start} />`}
    </main>`;
}

const request = readEmbed(location.search);
document.title = `${request.place.app}/${request.place.stream}`;
render(html`<${Embed} ...${request} />`, document.body);
