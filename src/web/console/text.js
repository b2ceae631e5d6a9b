// Figures and names that the console's pages share.
import { t } from "../shared/i18n.js";

const NAMES = { rtmp: "RTMP", flv: "HTTP-FLV", ts: "HTTP-TS", hls: "HLS", webrtc: "WebRTC", rtc: "WebRTC", srt: "SRT" };

export const protocolName = (name) => NAMES[name] ?? name;
export const count = (n) => (n ?? 0).toLocaleString("en");
export const percent = (share) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

// For the axes of charts: 1.2k, 35M.
export function short(value) {
    const units = ["", "k", "M", "G", "T"];
    let unit = 0;
    while (Math.abs(value) >= 1000 && unit < units.length - 1) {
        value /= 1000;
        ++unit;
    }
    return `${Number(value.toFixed(value < 10 ? 1 : 0))}${units[unit]}`;
}

export const when = (ms) => {
    const at = new Date(ms);
    const two = (n) => String(n).padStart(2, "0");
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
};

// The same, short: the time today, else the day and the minute.
export const moment = (ms) => {
    const text = when(ms);
    return text.slice(0, 10) === when(Date.now()).slice(0, 10) ? text.slice(11) : text.slice(5, 16);
};

// Why a call failed, for people.
export function explain(error) {
    if (error.status === 403) return t("This caller may not do that: {why}", { why: error.message });
    return t(error.message);
}

// The name that people know a stream by: app/stream.
export const streamName = (stream) => stream.url?.replace(/^\//, "") || `${stream.app}/${stream.name}`;
