// DASH by shaka-player.
import shaka from "shaka-player/dist/shaka-player.dash-es2021.js";
import { Problem } from "./problem.js";

// Of its errors, https://shaka-player-demo.appspot.com/docs/api/shaka.util.Error.html: what a visitor is told.
function problemOf({ code, category, data = [], message }) {
    const { Code, Category } = shaka.util.Error;
    if (code === Code.BAD_HTTP_STATUS) return Problem.ofStatus(data[1], data[2]);
    if (category === Category.NETWORK) return new Problem("network", String(data[0] ?? ""));
    const codec = [Code.RESTRICTIONS_CANNOT_BE_MET, Code.CONTENT_UNSUPPORTED_BY_BROWSER, Code.NO_VARIANTS];
    if (codec.includes(code)) return new Problem("codec", `shaka ${code}`);
    return new Problem("media", code ? `shaka ${code} ${data}` : message);
}

const CRITICAL = 2; // shaka.util.Error.Severity

export function open({ video, url, ready, ended, failed }) {
    if (!shaka.Player.isBrowserSupported()) throw new Problem("no-mse");
    const player = new shaka.Player();
    let [kbps, mediaErrors] = [null, 0];
    // The manifest says how far from its end it is played, with hls_low_latency on. Retries are the page's: it says so.
    player.configure({
        manifest: { retryParameters: { maxAttempts: 1 } },
        streaming: { bufferBehind: 10, liveSync: { enabled: true, maxPlaybackRate: 1.1 } },
    });
    const onError = (error) => {
        if (error.severity !== CRITICAL && error.severity !== undefined) return;
        const problem = problemOf(error);
        if (problem.kind === "media" && ++mediaErrors <= 2 && player.retryStreaming()) return;
        failed(problem);
    };
    // Its events have fields that DOM's do not.
    const listen = (name, /** @type {(event: any) => void} */ handler) => player.addEventListener(name, handler);
    listen("error", ({ detail }) => onError(detail));
    listen("manifestupdated", ({ isLive }) => isLive || ended());
    // The rate of the tracks that play, by what came of them: the manifest's is the highest.
    let [bytes, from] = [0, 0];
    player.getNetworkingEngine().registerResponseFilter((type, { data }) => {
        if (type !== shaka.net.NetworkingEngine.RequestType.SEGMENT) return;
        bytes += data.byteLength;
        const now = performance.now();
        if (from && now - from < 5000) return;
        if (from) kbps = (bytes * 8) / (now - from);
        [bytes, from] = [0, now];
    });
    const load = async () => {
        await player.attach(video);
        await player.load(url);
        ready();
    };
    load().catch((error) => error.code !== shaka.util.Error.Code.LOAD_INTERRUPTED && onError(error));
    return {
        close: () => player.destroy(),
        sample: async () => {
            const track = player.getVariantTracks().find((one) => one.active);
            const shown = player.isLive() ? player.getPlayheadTimeAsDate() : null;
            return {
                kbps,
                codecs: [track?.videoCodec, track?.audioCodec].filter(Boolean).join(", "),
                progress: video.currentTime,
                estimate: shown ? Math.max(0, Date.now() - shown.getTime()) : null,
            };
        },
    };
}
