// PlayerSession: one stream in one video element, by one protocol: from start to stop, with statistics, the reason when
// it fails, and new attempts when the stream or the network is lost.
import { signal } from "@preact/signals";
import { at } from "../shared/base.js";
import { addressProblem, hasSegments } from "./address.js";
import { LatencyMeter } from "./latency.js";
import { Problem } from "./problem.js";
import { isPublished } from "./published.js";
import { rates } from "./rtc.js";

const SAMPLE_MS = 500;
const UNPUBLISHED_HINT_MS = 2500; // without a frame: is the stream published at all?
const STALL_MS = 10_000;
const QUIET_MS = 800; // without media: an engine that can asks the server for its session, after twice as long again, ...
// After these problems a new attempt may help. Pauses in s, half as long to half as long again, for all players of a
// server lose it together; a session that plays for a while begins anew.
const PASSING = ["network", "ended", "stalled", "unpublished", "not-ready", "overload", "new-track"];
const PAUSES_S = [0.25, 0.5, 0.5, 1, 2, 4, 8, 8, 8, 8];
const STEADY_MS = 20_000;

const ENGINES = { flv: "engine_flv", "ws-flv": "engine_flv", hls: "engine_hls", "ll-hls": "engine_hls", dash: "engine_dash", whep: "engine_whep" };
// Files of their own: who plays by one protocol does not load the other libraries, and the start page uses the same.
const loadEngine = (protocol) => import(at(`players/${ENGINES[protocol]}.js`));

/**
 * @typedef {{ protocol: string, url: string, token: string, place: { vhost: string, app: string, stream: string } | null }} PlayerRequest
 * @typedef {{ reason: string, wasPlaying: boolean, attempts: number }} FailedRun
 * @typedef {{ request: PlayerRequest, pauseMs: number } | null} Instead
 */

export class PlayerSession {
    // state: idle, connecting, playing, retrying, failed. problem: of the last two. notice: "unpublished", "muted", or null.
    state = signal("idle");
    problem = signal(null);
    notice = signal(null);
    statistics = signal(null);
    retry = signal(null); // { seconds, attempt, of } while it waits for its next attempt
    attempts = 0;
    /** @type {HTMLVideoElement} */
    video = null;
    /** @type {PlayerRequest} */
    request = null;
    silent = false;
    measure = true;
    /** @type {number | undefined} */
    connectMs = undefined;
    /** @type {(problem: Problem, run: FailedRun) => Instead} */
    instead = () => null;

    // request: { protocol, url, token, place }: place of a stream of this server, else null. muted: begin without audio,
    // as a browser demands where nobody has clicked; silent: and do not offer it. measure: read the latency from the
    // frames. instead(problem, run): the { request, pauseMs } by which it goes on after a problem, or null: as always.
    start(video, request, { muted = false, silent = false, measure = true, connectMs = undefined, instead = (_problem, _run) => null } = {}) {
        this.stop();
        Object.assign(this, { video, request, attempts: 0, silent, measure, connectMs, instead });
        video.muted = muted || silent;
        this.attempt();
    }

    stop() {
        this.close();
        clearTimeout(this.retryTimer);
        this.state.value = "idle";
        this.problem.value = this.notice.value = this.retry.value = this.statistics.value = null;
    }

    // At once, and as if it were the first time.
    tryAgain() {
        clearTimeout(this.retryTimer);
        this.attempts = 0;
        this.attempt();
    }

    unmute() {
        this.video.muted = false;
        this.video.volume = this.video.volume || 1;
        this.onVolume();
    }

    onVolume() {
        if (this.notice.value === "muted" && !this.video.muted) this.notice.value = null;
    }

    close() {
        this.run = null; // whatever belongs to it and comes later is ignored
        clearInterval(this.timer);
        this.meter?.stop();
        this.engine?.close();
        this.meter = this.engine = null;
    }

    async attempt() {
        this.close();
        const run = (this.run = { began: performance.now(), rate: rates(), firstFrameMs: null, moved: performance.now(), heard: performance.now(), quiet: QUIET_MS, progress: -1 });
        this.state.value = "connecting";
        this.problem.value = this.retry.value = this.notice.value = null;
        const { protocol, url, token } = this.request;
        const wrong = addressProblem(url, protocol);
        if (wrong) return this.fail(run, new Problem(wrong.kind, wrong.detail));
        try {
            const { open } = await loadEngine(protocol);
            if (this.run !== run) return;
            this.engine = open({
                video: this.video,
                url,
                token,
                lowLatency: protocol === "ll-hls",
                connectMs: this.connectMs,
                ready: () => this.play(run), // the element has its source
                ended: (why) => this.fail(run, new Problem("ended", why)),
                failed: (problem) => this.fail(run, problem),
            });
        } catch (error) {
            return this.fail(run, Problem.of(error));
        }
        if (this.measure) this.meter = new LatencyMeter(this.video);
        this.timer = setInterval(() => this.sample(run), SAMPLE_MS);
    }

    async play(run) {
        try {
            await this.video.play();
        } catch (error) {
            if (this.run !== run || error.name !== "NotAllowedError" || this.video.muted) return;
            this.video.muted = true;
            await this.video.play().catch(() => {});
        }
        if (this.run === run && this.video.muted && !this.silent) this.notice.value = "muted";
    }

    async fail(run, problem) {
        if (this.run !== run) return;
        this.close();
        const attempt = this.attempts;
        const explained = await this.explain(problem);
        if (this.run || this.attempts !== attempt || this.state.value === "idle") return; // stopped or begun anew meanwhile
        this.problem.value = explained;
        const other = this.instead(explained, { reason: problem.kind, wasPlaying: run.firstFrameMs !== null, attempts: this.attempts });
        if (other) {
            [this.request, this.attempts] = [other.request, 0];
            this.state.value = "connecting";
            this.retryTimer = setTimeout(() => this.attempt(), other.pauseMs);
            return;
        }
        if (!PASSING.includes(explained.kind) || this.attempts >= PAUSES_S.length) {
            this.state.value = "failed";
            return;
        }
        const seconds = PAUSES_S[this.attempts++] * (0.5 + Math.random());
        this.state.value = "retrying";
        this.retry.value = { seconds: Math.ceil(seconds), attempt: this.attempts, of: PAUSES_S.length };
        this.retryTimer = setTimeout(() => this.attempt(), seconds * 1000);
    }

    // What the API knows makes some reasons clearer. A WebSocket does not tell the status of its refusal, so the same
    // path is asked for by HTTP.
    async explain(problem) {
        const { protocol, url, place } = this.request;
        if (protocol === "ws-flv" && problem.kind === "network") problem = (await refusalOf(url)) ?? problem;
        if (!["not-found", "stalled", "no-media"].includes(problem.kind) || !place) return problem;
        const is = await isPublished(place);
        if (is === false) return new Problem("unpublished", problem.detail, problem.status);
        if (is && hasSegments(protocol) && problem.kind === "not-found") return new Problem("not-ready", "", problem.status);
        return problem;
    }

    async sample(run) {
        const { engine, video } = this;
        const one = await engine.sample();
        if (this.run !== run) return;
        const now = performance.now();
        const quality = video.getVideoPlaybackQuality?.();
        const frames = quality?.totalVideoFrames ?? 0;
        const buffer = one.buffer ?? bufferMs(video);
        if (one.progress > run.progress) [run.heard, run.quiet] = [now, QUIET_MS];
        if (one.progress > run.progress || frames > (run.frames ?? 0)) run.moved = now;
        [run.progress, run.frames] = [one.progress, frames];
        if (this.state.value === "connecting" && (frames > 0 || (!video.videoWidth && video.currentTime > 1))) {
            this.state.value = "playing";
            if (this.notice.value === "unpublished") this.notice.value = null;
            run.firstFrameMs = now - run.began;
        }
        if (this.state.value === "playing" && now - run.began > STEADY_MS) this.attempts = 0;
        const measured = this.meter?.read() ?? null;
        this.statistics.value = {
            width: video.videoWidth,
            height: video.videoHeight,
            codecs: one.codecs,
            fps: run.rate("frames", frames, now),
            frames,
            kbps: one.kbps,
            dropped: quality?.droppedVideoFrames ?? null,
            lost: one.lost ?? null,
            buffer,
            latency: measured ?? one.estimate ?? buffer,
            isMeasured: measured !== null,
            firstFrameMs: run.firstFrameMs,
        };
        this.ask(run, now);
        this.watch(run, now);
    }

    // The server may have gone without a word.
    ask(run, now) {
        if (this.state.value !== "playing" || now - run.heard < run.quiet) return;
        run.quiet *= 2;
        this.engine.ask?.();
    }

    // Hints and the end of waiting. A hidden page gets no frames, and who pauses wants none.
    watch(run, now) {
        if (document.hidden || (this.state.value === "playing" && this.video.paused)) {
            run.moved = now;
            return;
        }
        const { protocol, place } = this.request;
        if (this.state.value === "connecting" && !run.asked && place && now - run.began > UNPUBLISHED_HINT_MS) {
            run.asked = true;
            isPublished(place).then((is) => {
                if (is === false && this.run === run && this.state.value === "connecting") this.notice.value = "unpublished";
            });
        }
        // The server keeps HTTP-FLV waiting for a publisher, and then answers 404.
        const waits = this.state.value === "connecting" && protocol.endsWith("flv");
        if (now - run.moved > (waits ? 4 * STALL_MS : STALL_MS))
            this.fail(run, new Problem(this.state.value === "playing" ? "stalled" : "no-media"));
    }
}

const bufferMs = (video) => {
    const { buffered, currentTime } = video;
    return buffered.length ? Math.max(0, buffered.end(buffered.length - 1) - currentTime) * 1000 : null;
};

async function refusalOf(url) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), 3000);
    try {
        const response = await fetch(url.replace(/^ws/, "http"), { signal: abort.signal, credentials: "omit" });
        if (response.ok) return null;
        return Problem.ofStatus(response.status, await response.text());
    } catch {
        return null;
    } finally {
        clearTimeout(timer);
        abort.abort();
    }
}
