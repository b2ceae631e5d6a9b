// Sizes of video with their bitrates, the usual ones or those of a stream, and which of them a measured connection
// carries.
export const LADDER = [
    { name: "2160p", fps: 30, kbps: 14_000 },
    { name: "1440p", fps: 30, kbps: 8000 },
    { name: "1080p", fps: 60, kbps: 6500 },
    { name: "1080p", fps: 30, kbps: 4500 },
    { name: "720p", fps: 30, kbps: 2500 },
    { name: "480p", fps: 30, kbps: 1200 },
    { name: "360p", fps: 30, kbps: 700 },
    { name: "240p", fps: 30, kbps: 400 },
];

const MAX_RUNGS = 20;

// Those of a multivariant playlist (RFC 8216, 4.3.4.2), the best first. Empty: it is none.
export function rungsOf(playlist) {
    const rungs = [...playlist.matchAll(/^#EXT-X-STREAM-INF:(.*)$/gm)].slice(0, MAX_RUNGS).map(([, line]) => {
        const attributes = new Map(line.replace(/"[^"]*"/g, "").split(",").map((one) => /** @type {[string, string]} */ (one.split("=", 2))));
        const kbps = Number(attributes.get("AVERAGE-BANDWIDTH") ?? attributes.get("BANDWIDTH")) / 1000;
        const height = Math.min(...(attributes.get("RESOLUTION") ?? "").split("x").map(Number));
        return { name: height ? `${height}p` : "–", fps: Math.round(Number(attributes.get("FRAME-RATE") ?? 0)), kbps };
    });
    return rungs.filter((one) => one.kbps > 0).sort((a, b) => b.kbps - a.kbps);
}

// A bitrate varies, and what was lost is sent again: a player catches up with what the connection has beyond it.
export const PLAY_ROOM = 1.4;
const TIGHT_ROOM = 1.1;
// An encoder's keyframes are larger than its other frames, and an uplink is shared.
export const PUBLISH_SHARE = 0.7;

// "yes", "tight" or "no".
export function fits(bitrate, kbps) {
    if (kbps >= bitrate * PLAY_ROOM) return "yes";
    return kbps >= bitrate * TIGHT_ROOM ? "tight" : "no";
}

// The first of a ladder that fits; null: none.
export const bestOf = (ladder, kbps) => ladder.find((one) => fits(one.kbps, kbps) === "yes") ?? null;

// What to set an encoder to, in steps that people type.
export function publishKbps(kbps) {
    const most = kbps * PUBLISH_SHARE;
    const step = most >= 10_000 ? 1000 : most >= 1000 ? 100 : 50;
    return Math.floor(most / step) * step;
}
