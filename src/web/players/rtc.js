// WebRTC signalling of WHIP (RFC 9725) and WHEP: an offer by POST, the session's address in Location, DELETE at its end.
// ICE is not restarted; a session whose connection is lost is begun again.
import { Problem } from "./problem.js";

const GATHERING_MS = 1000; // for candidates of the browser; this server needs none
const ANSWER_MS = 15_000;
const LOSS_MS = 3000;
const MAX_ANSWER = 200_000; // characters

/** @returns {Promise<void>} */
function gathered(peer) {
    return new Promise((resolve) => {
        if (peer.iceGatheringState === "complete") return resolve();
        const timer = setTimeout(resolve, GATHERING_MS);
        peer.addEventListener("icegatheringstatechange", () => {
            if (peer.iceGatheringState !== "complete") return;
            clearTimeout(timer);
            resolve();
        });
    });
}

const authorization = (token) => (token ? { Authorization: `Bearer ${token}` } : {});

// The addresses to which the answer sends the browser, as text: "192.0.2.1:8000/udp".
export function candidatesOf(sdp) {
    const lines = sdp.matchAll(/^a=candidate:\S+ \d+ (\S+) \d+ (\S+) (\d+) /gm);
    return [...new Set([...lines].map(([, transport, address, port]) => `${address}:${port}/${transport.toLowerCase()}`))];
}

// Exchanges offer and answer. Returns { candidates, end(), loss() }; end() ends the session at the server, and resolves
// when it has answered; loss() asks the server whether it still has the session, and resolves to a Problem, or null. Fails
// with a Problem.
export async function negotiate(peer, url, { token = "", signal }) {
    await peer.setLocalDescription(await peer.createOffer());
    await gathered(peer);
    const request = new AbortController();
    const timer = setTimeout(() => request.abort(), ANSWER_MS);
    signal.addEventListener("abort", () => request.abort());
    let response, text;
    try {
        response = await fetch(url, {
            method: "POST",
            headers: { "Content-Type": "application/sdp", ...authorization(token) },
            body: peer.localDescription.sdp,
            credentials: "omit",
            signal: request.signal,
        });
        text = (await response.text()).slice(0, MAX_ANSWER);
    } catch (error) {
        if (signal.aborted) throw signal.reason ?? error;
        throw new Problem("network", error.message);
    } finally {
        clearTimeout(timer);
    }
    if (!response.ok) throw Problem.ofStatus(response.status, text);
    const resource = resourceOf(url, response.headers.get("Location"));
    const end = sessionEnd(resource, token);
    const loss = () => lossOf(resource, peer, { token, tag: response.headers.get("ETag") });
    const candidates = candidatesOf(text);
    try {
        if (signal.aborted) throw new Problem("closed");
        if (candidates.length === 0) throw new Problem("no-candidate", "");
        await peer.setRemoteDescription({ type: "answer", sdp: text });
    } catch (error) {
        end();
        throw error.name === "InvalidAccessError" || error.name === "OperationError" ? new Problem("bad-answer", error.message) : error;
    }
    return { candidates, end, loss };
}

// A Location at another origin is not followed: the token is not for it. null: there is none that is.
function resourceOf(url, location) {
    try {
        const resource = location ? new URL(location, url) : null;
        return resource?.origin === new URL(url).origin ? resource : null;
    } catch {
        return null; // an unreadable Location: the session ends by its timeout
    }
}

// The server is asked by a PATCH that says nothing new (RFC 8840): a session that it does not have is answered with 404.
async function lossOf(resource, peer, { token, tag }) {
    if (!resource) return null;
    const own = [...(peer.localDescription?.sdp.matchAll(/^a=(?:ice-ufrag|ice-pwd|mid):\S+/gm) ?? [])].slice(0, 3);
    const body = `${own.map(([line]) => line).join("\r\n")}\r\na=end-of-candidates\r\n`;
    const headers = { "Content-Type": "application/trickle-ice-sdpfrag", ...authorization(token), ...(tag && { "If-Match": tag }) };
    /** @returns {RequestInit} */
    const options = () => ({ credentials: "omit", signal: AbortSignal.timeout(LOSS_MS) });
    try {
        const { status } = await fetch(resource, { method: "PATCH", headers, body, ...options() });
        return status === 404 || status === 410 ? new Problem("ended", "", status) : null;
    } catch {
        // The server is not there, or this page may not ask another origin that.
        return fetch(resource, { method: "HEAD", mode: "no-cors", ...options() }).then(
            () => null,
            (error) => new Problem("network", error.message),
        );
    }
}

function sessionEnd(resource, token) {
    if (!resource) return async () => {};
    let answer = null;
    return () => {
        /** @type {RequestInit} */
        const options = { method: "DELETE", headers: authorization(token), keepalive: true, credentials: "omit" };
        return (answer ??= fetch(resource, options).catch(() => {}));
    };
}

// Ends the session at the server, and then the connection: without it the server has no session to delete any more.
export function closeConnection(peer, session) {
    const close = () => peer?.close();
    if (!session) return close();
    const timer = setTimeout(close, 1000);
    session.end().then(() => {
        clearTimeout(timer);
        close();
    });
}

// A server ends a session that is not connected 10 s after the offer.
const CONNECT_MS = 8000;

// Calls back once: connected(), or failed(Problem) when there is no connection within connectMs, when it is lost, or when
// the server has ended it ("ended"), which DTLS says.
export function watchConnection(peer, candidates, { connected, failed, connectMs = CONNECT_MS }) {
    let was = false;
    const unwatch = () => {
        clearTimeout(timer);
        peer.onconnectionstatechange = null;
        for (const transport of transportsOf(peer)) transport.onstatechange = null;
    };
    const fail = (problem = new Problem("network", "")) => {
        unwatch();
        failed(was ? problem : new Problem("no-candidate", candidates.join(", ")));
    };
    const timer = setTimeout(() => fail(), connectMs);
    const look = () => {
        if (peer.connectionState === "connected" && !was) {
            was = true;
            clearTimeout(timer);
            for (const transport of transportsOf(peer)) transport.onstatechange = () => transport.state === "closed" && fail(new Problem("ended"));
            connected();
        } else if (peer.connectionState === "failed") {
            fail();
        }
    };
    peer.onconnectionstatechange = look;
    look();
    return unwatch;
}

// Of DTLS: one, as all tracks are bundled.
const transportsOf = (peer) => new Set([...peer.getSenders(), ...peer.getReceivers()].map((one) => one.transport).filter(Boolean));

// Per second values of growing counters: rate(name, value) is null at its first call.
export function rates() {
    const before = new Map();
    return (name, value, now = performance.now()) => {
        const last = before.get(name);
        before.set(name, { value, now });
        if (!last || now <= last.now || value < last.value) return null;
        return ((value - last.value) * 1000) / (now - last.now);
    };
}
