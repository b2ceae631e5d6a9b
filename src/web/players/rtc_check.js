// Checks the connection by WebRTC: publishes video that cannot be compressed, by WHIP under a name that nobody knows, has
// the browser estimate the uplink from the server's feedback, and plays the same back by WHEP. What comes back is no more
// than what went up: the way down is filled no further.
import { streamUrl } from "./address.js";
import { Problem } from "./problem.js";
import { closeConnection, negotiate, watchConnection } from "./rtc.js";

const UP_MS = 12_000;
const WARM_MS = 6000; // until the browser's estimate has grown: not counted
const DOWN_MS = 6000;
const SAMPLE_MS = 500;
const MAX_KBPS = 12_000; // of the encoder
const [WIDTH, HEIGHT, FPS, TILE] = [640, 360, 30, 128];
const CONTRAST = 64; // of 256: so little that an encoder can leave it out where there is no room for it

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;

// Noise whose pieces lie elsewhere in each frame, so that an encoder finds nothing to predict it from.
class Noise {
    constructor() {
        const tile = new OffscreenCanvas(2 * TILE, 2 * TILE);
        const image = new ImageData(2 * TILE, 2 * TILE);
        for (let i = 0; i < image.data.length; i += 65536) crypto.getRandomValues(image.data.subarray(i, i + 65536));
        for (let i = 0; i < image.data.length; ++i) image.data[i] = i % 4 === 3 ? 255 : 128 + (image.data[i] % CONTRAST) - CONTRAST / 2;
        tile.getContext("2d").putImageData(image, 0, 0);
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [WIDTH, HEIGHT];
        const context = canvas.getContext("2d", { alpha: false });
        const any = () => Math.floor(Math.random() * TILE);
        const paint = () => {
            for (let y = 0; y < HEIGHT; y += TILE) for (let x = 0; x < WIDTH; x += TILE) context.drawImage(tile, any(), any(), TILE, TILE, x, y, TILE, TILE);
        };
        paint();
        this.timer = setInterval(paint, 1000 / FPS);
        this.stream = canvas.captureStream(FPS);
    }

    stop() {
        clearInterval(this.timer);
        for (const track of this.stream.getTracks()) track.stop();
    }
}

async function statsOf(peer) {
    const all = [...(await peer.getStats()).values()];
    const find = (type, more = (_one) => true) => all.find((one) => one.type === type && more(one)) ?? {};
    const pair = find("candidate-pair", (one) => one.nominated && one.state === "succeeded");
    return { pair, sent: find("outbound-rtp"), heard: find("remote-inbound-rtp"), received: find("inbound-rtp") };
}

// A session from its offer to its end; fails with a Problem when it is not connected, or over too early.
class Session {
    constructor(signal) {
        this.signal = signal;
        this.peer = new RTCPeerConnection();
        this.problem = null;
    }

    async connect(url, token) {
        this.session = await negotiate(this.peer, url, { token, signal: this.signal });
        await new Promise((resolve, reject) => {
            const failed = (problem) => reject((this.problem = problem));
            this.unwatch = watchConnection(this.peer, this.session.candidates, { connected: () => resolve(null), failed });
            this.signal.addEventListener("abort", () => reject(this.signal.reason));
        });
    }

    // Statistics twice a second for so long: { ms, ...statsOf() }.
    async *samples(ms) {
        const began = performance.now();
        for (let now = 0; now < ms; now = performance.now() - began) {
            await sleep(SAMPLE_MS);
            this.signal.throwIfAborted();
            if (this.problem) throw this.problem;
            yield { ms: performance.now() - began, ...(await statsOf(this.peer)) };
        }
    }

    close() {
        this.unwatch?.();
        closeConnection(this.peer, this.session);
    }
}

// onProgress({ step, kbps, fraction }). Resolves to { up: { kbps, sent, roundTrip, lost }, down: { kbps, lost } or null }:
// kbit/s, ms, and the share of packets that were lost. up.kbps is the browser's estimate. down is null where the stream
// cannot be played back.
export async function checkRtc({ place, token, onProgress, signal }) {
    if (!window.RTCPeerConnection) throw new Problem("no-webrtc");
    const noise = new Noise();
    const up = new Session(signal);
    const down = new Session(signal);
    try {
        const [track] = noise.stream.getVideoTracks();
        track.contentHint = "motion"; // frames may be small, but not rare
        up.peer.addTransceiver(track, { direction: "sendonly", streams: [noise.stream], sendEncodings: [{ maxBitrate: MAX_KBPS * 1000 }] });
        await up.connect(streamUrl("whip", place), token);
        const sent = await measureUp(up, onProgress);
        down.peer.addTransceiver("video", { direction: "recvonly" });
        const received = await down.connect(streamUrl("whep", place), token).then(
            () => measureDown(down, onProgress),
            (error) => {
                if (signal.aborted || up.problem) throw error;
                return null;
            },
        );
        return { up: sent, down: received };
    } finally {
        for (const one of [down, up]) one.close();
        noise.stop();
    }
}

async function measureUp(session, onProgress) {
    const [estimates, trips, losses] = [[], [], []];
    let first = null;
    let last = null;
    for await (const one of session.samples(UP_MS)) {
        const estimate = (one.pair.availableOutgoingBitrate ?? 0) / 1000;
        onProgress({ step: "rtc-up", kbps: estimate, fraction: (one.ms / UP_MS) * 0.65 });
        if (one.ms < WARM_MS) continue;
        estimates.push(estimate);
        if (one.pair.currentRoundTripTime !== undefined) trips.push(one.pair.currentRoundTripTime * 1000);
        if (one.heard.fractionLost !== undefined) losses.push(one.heard.fractionLost);
        first ??= { ms: one.ms, bytes: one.sent.bytesSent };
        last = { ms: one.ms, bytes: one.sent.bytesSent };
    }
    const kbps = ((last.bytes - first.bytes) * 8) / Math.max(1, last.ms - first.ms);
    return { kbps: middle(estimates), sent: kbps, roundTrip: middle(trips), lost: losses.reduce((sum, one) => sum + one, 0) / Math.max(1, losses.length) };
}

async function measureDown(session, onProgress) {
    let first = null;
    let last = null;
    for await (const one of session.samples(DOWN_MS)) {
        const { bytesReceived: bytes = 0, packetsReceived: packets = 0, packetsLost: lost = 0 } = one.received;
        last = { ms: one.ms, bytes, packets, lost };
        if (bytes > 0) first ??= last;
        const kbps = first && last.ms > first.ms ? ((bytes - first.bytes) * 8) / (last.ms - first.ms) : null;
        onProgress({ step: "rtc-down", kbps, fraction: 0.65 + (one.ms / DOWN_MS) * 0.35 });
    }
    if (!first || last.ms <= first.ms) throw new Problem("no-media");
    const [packets, lost] = [last.packets - first.packets, Math.max(0, last.lost - first.lost)];
    return { kbps: ((last.bytes - first.bytes) * 8) / (last.ms - first.ms), lost: lost / Math.max(1, packets + lost) };
}
