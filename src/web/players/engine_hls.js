// HLS by hls.js, or by the browser itself where it has no Media Source Extensions.
import Hls from "hls.js";
import { Problem } from "./problem.js";

function problemOf(data) {
    const status = data.response?.code ?? 0;
    const details = Hls.ErrorDetails;
    const codec = [details.BUFFER_ADD_CODEC_ERROR, details.BUFFER_INCOMPATIBLE_CODECS_ERROR, details.MANIFEST_INCOMPATIBLE_CODECS_ERROR];
    if (codec.includes(data.details)) return new Problem("codec", data.error?.message);
    if (data.type === Hls.ErrorTypes.NETWORK_ERROR) {
        if (status >= 400) return Problem.ofStatus(status, data.response?.text);
        if (data.details === details.MANIFEST_PARSING_ERROR) return new Problem("media", data.error?.message);
        return new Problem("network", data.details);
    }
    return new Problem("media", data.error?.message ?? data.details);
}

function openNative({ video, url, ready, failed }) {
    if (!video.canPlayType("application/vnd.apple.mpegurl")) throw new Problem("no-mse");
    const onError = () => failed(new Problem(video.error?.code === 2 ? "network" : "media", video.error?.message));
    video.addEventListener("error", onError);
    video.src = url;
    ready();
    return {
        close: () => {
            video.removeEventListener("error", onError);
            video.removeAttribute("src");
            video.load();
        },
        sample: async () => ({ kbps: null, codecs: "", progress: video.currentTime, estimate: null }),
    };
}

// Retries are the page's: it says so. What is buffered of whole segments lasts for a few tries of the library.
const once = (errorRetry) => ({ default: { maxTimeToFirstByteMs: 10_000, maxLoadTimeMs: 20_000, timeoutRetry: null, errorRetry } });
const soon = { maxNumRetry: 1, retryDelayMs: 200, maxRetryDelayMs: 200 };
const LOW_LATENCY = { playlistLoadPolicy: once(soon), fragLoadPolicy: once(soon) };

export function open(options) {
    if (!Hls.isSupported()) return openNative(options);
    const { video, url, lowLatency, ready, ended, failed } = options;
    const hls = new Hls({
        enableWorker: false,
        // With parts the playlist says how far from its end it is played (PART-HOLD-BACK).
        lowLatencyMode: lowLatency,
        ...(lowLatency ? LOW_LATENCY : { liveSyncDurationCount: 2 }),
        maxLiveSyncPlaybackRate: 1.1,
        backBufferLength: 10,
        manifestLoadPolicy: once(null),
    });
    let [kbps, codecs, mediaErrors] = [null, "", 0];
    hls.on(Hls.Events.ERROR, (_, data) => {
        if (!data.fatal) return;
        const problem = problemOf(data);
        if (problem.kind === "media" && ++mediaErrors <= 2) return hls.recoverMediaError();
        failed(problem);
    });
    hls.on(Hls.Events.FRAG_LOADED, (_, { frag, part, payload }) => {
        const { duration } = part ?? frag;
        if (duration > 0 && payload) kbps = (payload.byteLength * 8) / duration / 1000;
    });
    hls.on(Hls.Events.BUFFER_CODECS, (_, tracks) => {
        codecs = [tracks.video?.codec, tracks.audio?.codec].filter(Boolean).join(", ");
    });
    hls.on(Hls.Events.LEVEL_UPDATED, (_, { details }) => {
        if (!details.live) ended();
    });
    // Not before: a refused playlist would leave the element with an address that is revoked.
    hls.on(Hls.Events.MANIFEST_PARSED, () => {
        hls.attachMedia(video);
        ready();
    });
    hls.loadSource(url);
    return {
        close: () => hls.destroy(),
        // From the end of the newest segment, and its age.
        sample: async () => ({ kbps, codecs, progress: video.currentTime, estimate: hls.latency > 0 ? hls.latency * 1000 : null }),
    };
}
