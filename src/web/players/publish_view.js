// Publishing from the browser by WHIP. It never starts by itself: a link must not switch a camera on, nor say where its
// video goes without a click.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { addressProblem, pageUrl, streamUrl } from "./address.js";
import { CopyLine } from "../shared/copy.js";
import { Choice, Field, MoreFields, PlaceFields } from "./form.js";
import { ProblemBox, PublisherFigures } from "./player_view.js";
import { PublisherSession } from "./publisher.js";

const STATES = {
    idle: () => t("Stopped"),
    connecting: () => t("Connecting …"),
    publishing: () => t("Publishing"),
    failed: () => t("Stopped by a problem"),
};
const CODECS = [["h264", "H.264"], ["vp8", "VP8"], ["vp9", "VP9"], ["av1", "AV1"]]; // prettier-ignore

export function PublishView({ request, onRequest }) {
    const session = useMemo(() => new PublisherSession(), []);
    const video = useRef(null);
    const [source, setSource] = useState("pattern");
    const [codec, setCodec] = useState("h264");
    const [token, setToken] = useState("");
    const { url: custom, ...place } = request;
    const url = custom || streamUrl("whip", place);
    const state = session.state.value;
    const stranger = custom && !addressProblem(url, "whip") && new URL(url).host !== location.host ? new URL(url).host : "";
    const running = state === "connecting" || state === "publishing";

    useEffect(() => {
        const stop = () => session.stop();
        addEventListener("pagehide", stop);
        return () => {
            removeEventListener("pagehide", stop);
            stop();
        };
    }, []);
    useEffect(() => {
        video.current.srcObject = session.stream.value;
        if (session.stream.value) video.current.play().catch(() => {});
    }, [session.stream.value]);
    const start = () => session.start({ url, token, source, codec });
    const choose = (next) => onRequest({ ...request, ...next, url: "" });

    return html`<p class="quiet about">${t("Publishes from this browser, by WHIP. Other protocols play it where the vhost has rtc_to_rtmp on.")}</p>
        <div class="card controls">
            <div class="fields">
                <${Choice} label=${t("Source")} value=${source} onChange=${setSource} disabled=${running}
                    options=${[["pattern", t("Test pattern and tone")], ["camera", t("Camera and microphone")], ["screen", t("Screen")]]} />
                <${Choice} label=${t("Video codec")} value=${codec} onChange=${setCodec} disabled=${running} options=${CODECS} />
                <${PlaceFields} place=${place} onChange=${choose} />
                <${MoreFields} place=${place} onChange=${choose} token=${token} onToken=${setToken} />
            </div>
            <div class="fields">
                <${Field} wide label=${t("Address")} type="url" value=${url} onInput=${(text) => onRequest({ ...request, url: text.trim() })} />
                <div class="buttons">
                    <button class="primary" disabled=${running} onClick=${start}>${t("Publish")}</button>
                    <button disabled=${state === "idle"} onClick=${() => session.stop()}>${t("Stop")}</button>
                </div>
            </div>
        </div>
        ${stranger && html`<p class="warn">${t("This address is of another server: {host}", { host: stranger })}</p>`}
        <${ProblemBox} problem=${session.problem.value} onRetry=${start} />
        <div class="stage">
            <div class="screen" data-state=${state}><video ref=${video} muted playsinline aria-label=${t("What is published")}></video></div>
            <section class="card" aria-label=${t("Statistics")}>
                <p class="state" role="status" data-state=${state}>${STATES[state]()}</p>
                <${PublisherFigures} statistics=${session.statistics.value} />
                ${state === "publishing" &&
                !custom &&
                html`<p>${t("To watch it elsewhere:")}</p><${CopyLine} text=${pageUrl({ view: "whep", ...place, autostart: true })} label=${t("Address of a player")} />`}
            </section>
        </div>`;
}
