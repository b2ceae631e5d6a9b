// Measures the connection to this server by HTTP: latency, and each direction with one connection, as a player or an
// encoder has it, and with several, which fill a line that loses packets. The server counts what arrives there; what
// arrives here is counted here. See doc/api.md, "Bandwidth".
import { at } from "../shared/base.js";
import { Problem } from "./problem.js";

const IDLE_PINGS = 10;
const IDLE_PING_MS = 100;
const PING_MS = 200; // while there is load
const STEP_MS = 5500;
const WARM_MS = 1500; // until TCP has found the rate: not counted
const REST_MS = 600; // for queues to drain between two steps
const SEVERAL = 5; // browsers have six connections to a server; one is for the pings
const BODY = 1024 * 1024; // as much as the server takes at once
const RANDOM = 65536; // bytes, as much as the browser makes at once

// A step: direction and number of connections.
export const STEPS = [
    { name: "down-one", direction: "down", connections: 1 },
    { name: "down-several", direction: "down", connections: SEVERAL },
    { name: "up-one", direction: "up", connections: 1 },
    { name: "up-several", direction: "up", connections: SEVERAL },
];

const address = (path, check) => at(`api/v1/bandwidth${path}${check ? `?check=${check}` : ""}`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function median(values) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted.length ? sorted[Math.floor(sorted.length / 2)] : null;
}

// kbit/s of samples { ms, bytes }, of counters that grow, from when it is warm: the slope of the line that fits them
// best, since after a loss bytes arrive all at once. null: too few.
export function rateOf(samples, warmMs = WARM_MS) {
    const warm = samples.filter((one) => one.ms >= samples[0].ms + warmMs);
    if (warm.length < 3) return null;
    const mean = (name) => warm.reduce((sum, one) => sum + one[name], 0) / warm.length;
    const [ms, bytes] = [mean("ms"), mean("bytes")];
    const spread = warm.reduce((sum, one) => sum + (one.ms - ms) ** 2, 0);
    return spread > 0 ? (warm.reduce((sum, one) => sum + (one.ms - ms) * (one.bytes - bytes), 0) * 8) / spread : null;
}

async function ask(url, options = {}) {
    let response;
    try {
        response = await fetch(url, { cache: "no-store", credentials: "omit", ...options });
    } catch (error) {
        if (options.signal?.aborted) throw options.signal.reason ?? error;
        throw new Problem("network", error.message);
    }
    if (response.ok) return response.json();
    throw new Problem({ 403: "check-refused", 404: "check-off", 429: "check-busy" }[response.status] ?? "status", "", response.status);
}

function randomBody() {
    const bytes = new Uint8Array(BODY);
    for (let i = 0; i < BODY; i += RANDOM) crypto.getRandomValues(bytes.subarray(i, i + RANDOM));
    return new Blob([bytes]);
}

// One check. onProgress({ step, kbps, fraction }) is called a few times a second; signal ends it.
export class Measurement {
    /** @type {string} */
    check = "";
    /** @type {Blob | null} */
    body = null;

    /** @param {AbortSignal} signal */
    constructor(onProgress, signal) {
        this.onProgress = onProgress;
        this.signal = signal;
    }

    // { latency, jitter, steps: { NAME: { kbps, latency } }, limit: kbit/s, others, isHttp2 }: latency in ms; limit: what
    // the server gives to all checks together. Fails with a Problem.
    async run() {
        const begun = await ask(address(""), { method: "POST", signal: this.signal });
        this.check = begun.check;
        // At once, and by keepalive, as the page may be left.
        const end = () => fetch(address("", this.check), { method: "DELETE", keepalive: true }).catch(() => {});
        this.signal.addEventListener("abort", end);
        try {
            const result = { limit: begun.max_kbps, others: begun.checks - 1, steps: {}, ...(await this.idle()) };
            for (const [index, step] of STEPS.entries()) {
                result.steps[step.name] = await this.step(step, index);
                await sleep(REST_MS);
            }
            return { ...result, isHttp2: isHttp2() };
        } finally {
            this.signal.removeEventListener("abort", end);
            if (!this.signal.aborted) end();
        }
    }

    async ping() {
        const began = performance.now();
        const state = await ask(address("", this.check), { signal: this.signal });
        return { ms: performance.now() - began, serverMs: state.now_us / 1000, received: state.received };
    }

    async idle() {
        const times = [];
        for (let i = 0; i <= IDLE_PINGS; ++i) {
            const { ms } = await this.ping();
            if (i > 0) times.push(ms); // the first one has made the connection
            this.onProgress({ step: "latency", latency: median(times), fraction: (i / IDLE_PINGS) * 0.05 });
            await sleep(IDLE_PING_MS);
        }
        const latency = median(times);
        return { latency, jitter: median(times.map((ms) => Math.abs(ms - latency))) };
    }

    async step(step, index) {
        const load = { abort: new AbortController(), bytes: 0, failed: null };
        const stop = () => load.abort.abort();
        this.signal.addEventListener("abort", stop);
        const began = performance.now();
        const samples = [];
        const pings = [];
        const timer = setInterval(() => {
            const ms = performance.now() - began;
            if (step.direction === "down") samples.push({ ms, bytes: load.bytes });
            const fraction = 0.05 + (0.95 * (index + Math.min(1, ms / STEP_MS))) / STEPS.length;
            this.onProgress({ step: step.name, kbps: rateOf(samples, Math.min(WARM_MS, ms / 3)), fraction });
        }, 100);
        const transfer = step.direction === "down" ? () => this.download(load) : () => this.upload(load);
        for (let i = 0; i < step.connections; ++i) transfer().catch((error) => (load.failed ??= error));
        try {
            while (performance.now() - began < STEP_MS && !load.failed) {
                const ping = await this.ping();
                pings.push(ping.ms);
                if (step.direction === "up") samples.push({ ms: ping.serverMs, bytes: ping.received });
                await sleep(Math.max(0, PING_MS - ping.ms));
            }
        } finally {
            clearInterval(timer);
            stop();
            this.signal.removeEventListener("abort", stop);
        }
        const kbps = samples.length ? rateOf(samples) : null;
        if (kbps === null) throw Problem.of(load.failed ?? new Problem("network"));
        return { kbps, latency: median(pings) };
    }

    async download(load) {
        while (!load.abort.signal.aborted) {
            const response = await fetch(address("/bytes", this.check), { signal: load.abort.signal, cache: "no-store", credentials: "omit" });
            if (!response.ok) throw new Problem("check-busy", "", response.status);
            const reader = response.body.getReader();
            for (let one = await reader.read(); !one.done; one = await reader.read()) load.bytes += one.value.length;
        }
    }

    async upload(load) {
        const body = (this.body ??= randomBody());
        while (!load.abort.signal.aborted) {
            const options = { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body, signal: load.abort.signal };
            await ask(address("/bytes", this.check), options);
        }
    }
}

const isHttp2 = () =>
    performance.getEntriesByType("resource").some((one) => /** @type {PerformanceResourceTiming} */ (one).nextHopProtocol === "h2" && one.name.includes("/api/v1/bandwidth"));
