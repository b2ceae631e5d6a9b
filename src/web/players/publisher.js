// PublisherSession: publishes the test pattern, the camera or the screen by WHIP.
import { signal } from "@preact/signals";
import { addressProblem } from "./address.js";
import { TestPattern } from "./pattern.js";
import { Problem } from "./problem.js";
import { closeConnection, negotiate, rates, watchConnection } from "./rtc.js";

const SAMPLE_MS = 1000;
const VIDEO = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };

// { stream, stop() }. source: pattern, camera, screen.
async function openSource(source) {
    if (source === "pattern") return new TestPattern();
    const devices = navigator.mediaDevices;
    if (!devices) throw new Problem("insecure-page");
    try {
        const stream =
            source === "screen"
                ? await devices.getDisplayMedia({ video: VIDEO, audio: true })
                : await devices.getUserMedia({ video: VIDEO, audio: true });
        return { stream, stop: () => stream.getTracks().forEach((track) => track.stop()) };
    } catch (error) {
        if (["NotFoundError", "OverconstrainedError", "NotReadableError"].includes(error.name)) throw new Problem("no-camera", error.message);
        throw new Problem("camera-denied", error.message);
    }
}

// H.264 first, which all protocols of the server carry; another codec where the browser has no encoder for it.
function preferCodec(transceiver, name) {
    const all = RTCRtpSender.getCapabilities?.("video")?.codecs;
    if (!all || !transceiver.setCodecPreferences) return;
    const is = (codec) => codec.mimeType.toLowerCase() === `video/${name}`;
    transceiver.setCodecPreferences([...all.filter(is), ...all.filter((codec) => !is(codec))]);
}

export class PublisherSession {
    state = signal("idle"); // idle, connecting, publishing, failed
    problem = signal(null);
    statistics = signal(null);
    stream = signal(null); // to show

    // request: { url, token, source, codec }.
    async start(request) {
        this.stop();
        const run = (this.run = { abort: new AbortController(), rate: rates() });
        this.state.value = "connecting";
        try {
            const wrong = addressProblem(request.url, "whip");
            if (wrong) throw new Problem(wrong.kind, wrong.detail);
            if (!window.RTCPeerConnection) throw new Problem("no-webrtc");
            await this.connect(run, request);
        } catch (error) {
            if (this.run === run) this.fail(Problem.of(error));
        }
    }

    async connect(run, { url, token, source, codec }) {
        const opened = await openSource(source);
        if (this.run !== run) return opened.stop();
        this.source = opened;
        this.stream.value = opened.stream;
        const peer = (this.peer = new RTCPeerConnection());
        for (const track of opened.stream.getTracks()) {
            const transceiver = peer.addTransceiver(track, { direction: "sendonly", streams: [opened.stream] });
            if (track.kind === "video") preferCodec(transceiver, codec);
            track.addEventListener("ended", () => this.run === run && this.fail(new Problem("source-ended")));
        }
        const session = await negotiate(peer, url, { token, signal: run.abort.signal });
        if (this.run !== run) return session.end();
        this.session = session;
        this.unwatch = watchConnection(peer, session.candidates, {
            connected: () => (this.state.value = "publishing"),
            failed: (problem) => {
                if (this.run !== run) return;
                if (problem.kind === "ended") this.session = null; // by the server
                this.fail(problem);
            },
        });
        this.timer = setInterval(() => this.sample(run), SAMPLE_MS);
    }

    fail(problem) {
        this.close();
        this.problem.value = problem;
        this.state.value = "failed";
    }

    stop() {
        this.close();
        this.problem.value = null;
        this.state.value = "idle";
    }

    close() {
        this.run?.abort.abort();
        this.run = null;
        clearInterval(this.timer);
        this.unwatch?.();
        closeConnection(this.peer, this.session);
        this.source?.stop();
        this.unwatch = this.session = this.peer = this.source = null;
        this.stream.value = this.statistics.value = null;
    }

    async sample(run) {
        const all = [...(await this.peer.getStats()).values()];
        if (this.run !== run) return;
        const byId = new Map(all.map((one) => [one.id, one]));
        const outbound = all.filter((one) => one.type === "outbound-rtp");
        const video = outbound.find((one) => one.kind === "video") ?? {};
        const pair = all.find((one) => one.type === "candidate-pair" && one.nominated && one.state === "succeeded");
        const bytes = outbound.reduce((sum, one) => sum + one.bytesSent, 0);
        const perSecond = run.rate("bytes", bytes);
        this.statistics.value = {
            width: video.frameWidth ?? 0,
            height: video.frameHeight ?? 0,
            codecs: outbound.map((one) => byId.get(one.codecId)?.mimeType.split("/")[1]).filter(Boolean).join(", "),
            fps: run.rate("frames", video.framesSent ?? 0),
            frames: video.framesSent ?? 0,
            kbps: perSecond === null ? null : (perSecond * 8) / 1000,
            lost: all.filter((one) => one.type === "remote-inbound-rtp").reduce((sum, one) => sum + (one.packetsLost ?? 0), 0),
            roundTrip: pair?.currentRoundTripTime === undefined ? null : pair.currentRoundTripTime * 1000,
            limit: video.qualityLimitationReason ?? "none",
        };
    }
}
