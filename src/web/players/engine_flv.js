// HTTP-FLV, WS-FLV and MPEG-TS by mpegts.js.
import mpegts from "mpegts.js";
import { Problem } from "./problem.js";
import { socketLoader } from "./socket_loader.js";

mpegts.LoggingControl.enableAll = false;

// The buffer is reduced to TARGET_S: above MAX_S by playing faster, as a new viewer begins with the GOP cache; above
// JUMP_S by a seek, since a player that was held up by that much would catch up for a quarter of a minute.
const [TARGET_S, MAX_S, JUMP_S, RATE] = [0.4, 0.8, 3, 1.2];

function problemOf(type, detail, info) {
    const text = info?.msg ?? "";
    if (type === mpegts.ErrorTypes.MEDIA_ERROR) {
        // A track that begins after the first frames cannot be added to what plays.
        if (/SourceBuffer/.test(text) && /limit|QuotaExceeded/i.test(text)) return new Problem("new-track");
        const isCodec = detail === mpegts.ErrorDetails.MEDIA_CODEC_UNSUPPORTED || detail === mpegts.ErrorDetails.MEDIA_FORMAT_UNSUPPORTED;
        return new Problem(isCodec || /codec|type|mime/i.test(text) ? "codec" : "media", text);
    }
    if (detail === mpegts.ErrorDetails.NETWORK_STATUS_CODE_INVALID) return Problem.ofStatus(info.code, text);
    return new Problem("network", text);
}

export function open({ video, url, ready, ended, failed }) {
    if (!mpegts.getFeatureList().mseLivePlayback) throw new Problem("no-mse");
    const isTs = /\.ts$/i.test(new URL(url).pathname);
    const closed = (event, wasOpen) => (wasOpen && event.wasClean ? ended(event.reason) : failed(new Problem("network", event.reason)));
    const player = mpegts.createPlayer(
        { type: isTs ? "mpegts" : "flv", isLive: true, url, cors: true, withCredentials: false },
        {
            enableStashBuffer: false,
            lazyLoad: false,
            autoCleanupSourceBuffer: true,
            customLoader: url.startsWith("ws") ? socketLoader(closed) : undefined,
            liveSync: true,
            liveSyncTargetLatency: TARGET_S,
            liveSyncMaxLatency: MAX_S,
            liveSyncPlaybackRate: RATE,
            liveBufferLatencyChasing: true,
            liveBufferLatencyMaxLatency: JUMP_S,
            liveBufferLatencyMinRemain: TARGET_S,
        },
    );
    let [kbps, codecs] = [null, ""];
    // Later: mpegts.js goes on after its event, and the session destroys the player.
    player.on(mpegts.Events.ERROR, (type, detail, info) => setTimeout(() => failed(problemOf(type, detail, info))));
    player.on(mpegts.Events.LOADING_COMPLETE, () => setTimeout(ended));
    player.on(mpegts.Events.MEDIA_INFO, (info) => {
        codecs = [info.videoCodec, info.audioCodec].filter(Boolean).join(", ");
    });
    // kB per second, of short intervals: smoothed.
    player.on(mpegts.Events.STATISTICS_INFO, ({ speed }) => {
        if (speed > 0) kbps = kbps === null ? speed * 8 : kbps * 0.8 + speed * 8 * 0.2;
    });
    player.attachMediaElement(video);
    player.load();
    ready();
    return {
        close: () => player.destroy(),
        sample: async () => ({ kbps, codecs, progress: video.currentTime, estimate: null }),
    };
}
