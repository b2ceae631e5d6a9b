// What the API of the page's own origin says of published streams, where everybody may read it. No credentials are sent:
// a browser would ask each viewer for a name and a password.
import { signal } from "@preact/signals";
import { at } from "../shared/base.js";
import { streamUrl } from "./address.js";

const POLL_MS = 3000;
const [MAX_LISTED, MAX_SHOWN] = [100, 20];

async function fetchJson(path) {
    const response = await fetch(at(path), { credentials: "omit" });
    if (!response.ok) throw new Error(`${response.status}`);
    return response.json();
}

// HEAD of the stream by FLV is answered at once, where GET waits for a publisher.
async function isServed(place) {
    try {
        const { ok, status } = await fetch(streamUrl("flv", place), { method: "HEAD", credentials: "omit" });
        return ok || (status === 404 ? false : null);
    } catch {
        return null;
    }
}

// Whether a stream is published: true, false, or null where nobody says. A player does not need the API.
export async function isPublished(place) {
    try {
        const { data } = await fetchJson(`api/v1/clusters?${new URLSearchParams(place)}`);
        return data.origin !== null;
    } catch {
        return isServed(place);
    }
}

async function vhostNames() {
    const { vhosts } = await fetchJson("api/v1/vhosts?count=1000");
    return new Map(vhosts.map((one) => [one.id, one.name]));
}

// The published streams for people to choose from: null before the first answer and where the API may not be read,
// else { total, streams: [{ app, stream, vhost }] }. Polled while somebody watches.
export const published = signal(null);
const DEFAULT_VHOST = "__defaultVhost__";

async function poll() {
    const [{ streams }, names] = await Promise.all([fetchJson(`api/v1/streams?count=${MAX_LISTED}`), vhostNames()]);
    const active = streams.filter((one) => one.publish.active);
    const found = active.slice(0, MAX_SHOWN).map((one) => {
        const vhost = names.get(one.vhost) ?? "";
        return { app: one.app, stream: one.name, vhost: vhost === DEFAULT_VHOST ? "" : vhost };
    });
    const next = { total: active.length, streams: found };
    if (JSON.stringify(next) !== JSON.stringify(published.value)) published.value = next;
}

// Polls until the returned function is called. A refusal (401, 403, 404) ends it: it would be the same the next time.
export function watchPublished() {
    let timer = 0;
    let stopped = false;
    const again = async () => {
        try {
            if (!document.hidden) await poll();
        } catch (error) {
            published.value = null;
            if (/^40[134]$/.test(error.message)) return;
        }
        if (!stopped) timer = setTimeout(again, POLL_MS);
    };
    again();
    return () => {
        stopped = true;
        clearTimeout(timer);
    };
}
