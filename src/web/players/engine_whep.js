// WebRTC by WHEP.
import { Problem } from "./problem.js";
import { closeConnection, negotiate, rates, watchConnection } from "./rtc.js";

// What the peer's statistics say of a player: kbit/s, codecs, packets lost, ms in the jitter buffer and on the way.
async function sampleOf(peer, rate) {
    const all = [...(await peer.getStats()).values()];
    const inbound = all.filter((one) => one.type === "inbound-rtp");
    const byId = new Map(all.map((one) => [one.id, one]));
    const bytes = inbound.reduce((sum, one) => sum + (one.bytesReceived ?? 0), 0);
    const bytesPerSecond = rate("bytes", bytes);
    const video = inbound.find((one) => one.kind === "video") ?? inbound[0];
    const delay = rate("delay", video?.jitterBufferDelay ?? 0);
    const emitted = rate("emitted", video?.jitterBufferEmittedCount ?? 0);
    const pair = all.find((one) => one.type === "candidate-pair" && one.nominated && one.state === "succeeded");
    const buffer = delay !== null && emitted > 0 ? (delay / emitted) * 1000 : null;
    return {
        kbps: bytesPerSecond === null ? null : (bytesPerSecond * 8) / 1000,
        codecs: inbound.map((one) => byId.get(one.codecId)?.mimeType.split("/")[1]).filter(Boolean).join(", "),
        progress: bytes,
        lost: inbound.reduce((sum, one) => sum + (one.packetsLost ?? 0), 0),
        buffer,
        estimate: buffer === null ? null : buffer + ((pair?.currentRoundTripTime ?? 0) * 1000) / 2,
    };
}

export function open({ video, url, token, connectMs, ready, failed }) {
    if (!window.RTCPeerConnection) throw new Problem("no-webrtc");
    const peer = new RTCPeerConnection();
    const abort = new AbortController();
    const media = new MediaStream();
    const rate = rates();
    let [session, unwatch] = [null, () => {}];
    for (const kind of ["video", "audio"]) peer.addTransceiver(kind, { direction: "recvonly" });
    peer.ontrack = ({ track }) => media.addTrack(track);
    video.srcObject = media;
    ready();

    const close = () => {
        abort.abort(new Problem("closed"));
        unwatch();
        closeConnection(peer, session);
        video.srcObject = null;
    };
    const start = async () => {
        session = await negotiate(peer, url, { token, signal: abort.signal });
        if (abort.signal.aborted) return session.end();
        unwatch = watchConnection(peer, session.candidates, { connected: () => {}, failed: over, connectMs });
    };
    // The server is not told the end of a session that it has ended.
    const over = (problem) => {
        if (problem.kind === "ended") session = null;
        failed(problem);
    };
    start().catch((error) => abort.signal.aborted || failed(Problem.of(error)));
    const ask = async () => {
        const problem = await session?.loss();
        if (problem && !abort.signal.aborted) over(problem);
    };
    return { close, ask, sample: () => sampleOf(peer, rate) };
}
