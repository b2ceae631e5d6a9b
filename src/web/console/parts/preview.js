// A stream in the page by mpegts.js, which is loaded when it is first needed: live HTTP-FLV, and recorded FLV files.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { at } from "../../shared/base.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { authorization } from "../api.js";
import { mayChange } from "../live.js";
import { Icon } from "./icons.js";
import { Snapshot } from "./snapshot.js";

const DEFAULT_VHOST = "__defaultVhost__";

// HTTP-FLV of a stream, at the origin of the page. vhost: its name.
export function flvUrl({ app, name }, vhost) {
    const path = [...app.split("/"), ...`${name}.flv`.split("/")].map(encodeURIComponent).join("/");
    return at(path) + (vhost && vhost !== DEFAULT_VHOST ? `?vhost=${encodeURIComponent(vhost)}` : "");
}

const LIVE = { liveBufferLatencyChasing: true, liveBufferLatencyMaxLatency: 2, liveBufferLatencyMinRemain: 0.4, lazyLoad: false };

// Plays `source` ({url, live, audio, video}) in a video element. onError: gets a text. Returns what ends it.
export async function playFlv(element, source, onError) {
    const { default: mpegts } = await import("mpegts.js");
    mpegts.LoggingControl.enableAll = false;
    if (!mpegts.isSupported()) {
        onError(t("This browser has no Media Source Extensions."));
        return () => {};
    }
    const sent = !source.live && authorization.peek();
    const player = mpegts.createPlayer(
        { type: "flv", isLive: source.live, url: source.url, hasAudio: source.audio, hasVideo: source.video },
        { enableWorker: false, ...(sent ? { headers: { Authorization: sent } } : {}), ...(source.live ? LIVE : {}) },
    );
    player.on(mpegts.Events.ERROR, (type, detail) => onError(`${type}: ${detail}`));
    player.attachMediaElement(element);
    player.load();
    // The browser may want a click first; the element has its own button.
    Promise.resolve(player.play()).catch(() => {});
    return () => player.destroy();
}

function Video({ source, label, onError, onPlaying }) {
    const ref = useRef(null);
    useEffect(() => {
        let end = () => {};
        let gone = false;
        playFlv(ref.current, source, onError)
            .then((stop) => (gone ? stop() : (end = stop)))
            .catch(() => onError(t("The player cannot be loaded.")));
        return () => {
            gone = true;
            end();
        };
    }, [source.url]);
    return html`<video ref=${ref} muted autoplay playsinline controls aria-label=${label} onPlaying=${onPlaying}></video>`;
}

// stream: of the API. It counts as a player while it plays.
export function Preview({ stream, vhost }) {
    const on = useSignal(false);
    const problem = useSignal("");
    useEffect(() => {
        on.value = false;
        problem.value = "";
    }, [stream.id]);
    const source = { url: flvUrl(stream, vhost), live: true, audio: !!stream.audio, video: !!stream.video };
    const start = () => {
        problem.value = "";
        on.value = true;
    };
    return html`<div class="preview">
        ${on.value && !problem.value
            ? html`<${Video} source=${source} label=${t("Preview")} onError=${(text) => (problem.value = text)} />
                  <button class="preview-stop" aria-label=${t("Stop the preview")} onClick=${() => (on.value = false)}><${Icon} name="close" /></button>`
            : html`${mayChange.value && stream.publish.active && stream.video && html`<${Snapshot} id=${stream.id} label=${t("The newest keyframe")} />`}
                  <button class="preview-start" disabled=${!stream.publish.active} onClick=${start}>
                      <${Icon} name="play" />${t("Preview")}
                  </button>
                  <p class="preview-text quiet small" role="status">
                      ${problem.value ? t("It cannot be played here: {why}", { why: problem.value }) : stream.publish.active ? t("It counts as a player.") : t("The stream has no publisher.")}
                  </p>`}
    </div>`;
}
