// Fallback: the protocols by which a stream is tried, one after the other, until one plays here: the one of the lowest
// latency first. A page that is shown to everybody knows neither what the server has enabled nor what gets through.
import { hasSegments, streamUrl } from "./address.js";

export const FALLBACK = ["whep", "ll-hls", "hls", "flv"];

// Problems that another protocol may not have. Others (the network, the end of the stream, a refusal) all have.
const OF_PROTOCOL = ["bad-answer", "codec", "media", "no-candidate", "no-media", "no-mse", "no-webrtc", "not-found", "status"];
const SEGMENT_ATTEMPTS = 4; // for the first segment to be complete
const MAX_ROUNDS = 10;
const SEGMENT_ROUNDS = 3; // likewise, where the last protocol of them is not enabled
const roundPauseMs = (round) => Math.min(1000 * 2 ** round, 15_000) * (0.5 + Math.random());

export class Fallback {
    // place: of the stream; more: parameters of its addresses; protocols: in their order.
    constructor(place, more = "", protocols = FALLBACK) {
        this.place = place;
        this.more = more;
        this.protocols = protocols;
        this.index = 0;
        this.round = 0;
        this.mayCome = false; // by a protocol of this round: it is not there yet
    }

    get request() {
        const protocol = this.protocols[this.index];
        return { protocol, url: streamUrl(protocol, this.place, this.more), token: "", place: this.place };
    }

    // PlayerSession's `instead`.
    instead(problem, { reason, wasPlaying, attempts }) {
        if (wasPlaying && !OF_PROTOCOL.includes(problem.kind)) return null;
        if (!this.isOfProtocol(problem.kind, reason, attempts)) return null;
        return this.next(problem.kind, reason);
    }

    // reason: of the problem, before the API was asked. 404 of WebRTC is no matter of publishing: its players wait.
    isOfProtocol(kind, reason, attempts) {
        const protocol = this.protocols[this.index];
        if (reason !== "not-found") return OF_PROTOCOL.includes(kind);
        return protocol === "whep" || !hasSegments(protocol) || attempts >= SEGMENT_ATTEMPTS;
    }

    next(kind, reason) {
        const { url } = this.request;
        const isLate = kind === "unpublished" || kind === "not-ready";
        this.mayCome ||= isLate;
        do ++this.index;
        while (reason === "not-found" && this.index < this.protocols.length && this.request.url === url);
        if (this.index < this.protocols.length) return { request: this.request, pauseMs: 0 };
        // Nobody publishes, or the first segment takes long: which one plays is not decided yet.
        const mayCome = this.mayCome && this.round < (isLate ? MAX_ROUNDS : SEGMENT_ROUNDS);
        this.mayCome = false;
        this.index = mayCome ? 0 : this.protocols.length - 1;
        return mayCome ? { request: this.request, pauseMs: roundPauseMs(this.round++) } : null;
    }
}
