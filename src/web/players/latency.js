// LatencyMeter: the latency from the publisher's clock to the screen, read from the time code in the video frames where
// there is one (timecode.js). Frames are read ten times a second.
import { age, read, SAMPLE } from "./timecode.js";

const INTERVAL_MS = 100;
const KEPT = 20; // readings: two seconds
// Beyond these a clock is wrong: no latency is shown.
const [MIN_MS, MAX_MS] = [-50, 60_000];

export class LatencyMeter {
    constructor(video) {
        this.video = video;
        this.readings = []; // { at, ms }
        this.stopped = false;
        this.last = 0;
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [SAMPLE.width, SAMPLE.height];
        this.context = canvas.getContext("2d", { willReadFrequently: true });
        this.request();
    }

    stop() {
        this.stopped = true;
        if (this.handle) this.video.cancelVideoFrameCallback?.(this.handle);
        clearTimeout(this.timer);
    }

    // The median of the last two seconds in ms; null: there is no code in the frames.
    read() {
        const now = performance.now();
        const values = this.readings.filter((one) => now - one.at < 3000).map((one) => one.ms);
        if (values.length < 3) return null;
        return values.sort((a, b) => a - b)[values.length >> 1];
    }

    request() {
        if (this.stopped) return;
        if (this.video.requestVideoFrameCallback) {
            this.handle = this.video.requestVideoFrameCallback((now, frame) => this.onFrame(now, frame.expectedDisplayTime));
        } else {
            this.timer = setTimeout(() => this.onFrame(performance.now(), performance.now()), INTERVAL_MS);
        }
    }

    onFrame(now, shown) {
        this.request();
        if (now - this.last < INTERVAL_MS || !this.video.videoWidth) return;
        this.last = now;
        let time;
        try {
            time = read(this.context, this.video);
        } catch {
            return; // frames of another origin cannot be read
        }
        if (time === null) return;
        // What is read may be a later frame than the one announced, so it is not shown before now.
        const ms = age(Date.now() + Math.max(0, shown - performance.now()), time);
        if (ms < MIN_MS || ms > MAX_MS) return;
        this.readings.push({ at: now, ms: Math.max(0, ms) });
        if (this.readings.length > KEPT) this.readings.shift();
    }
}
