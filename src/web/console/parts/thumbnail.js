// A stream's newest keyframe as a small picture in a list. It is fetched when its row has been visible for a moment, and
// again while it stays; two at a time, since the server makes them one after the other.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { html } from "../../shared/html.js";
import { call, withQuery } from "../api.js";

const PERIOD_MS = 30000;
const PAUSE_MS = 400; // rows that scroll by have none
const WIDTH = 128;
const MAX_KEPT = 200;
const MAX_REQUESTS = 2;

const kept = new Map(); // id: { url, at }, the oldest first
const waiting = [];
let requests = 0;

function keep(id, url) {
    const before = kept.get(id);
    if (before?.url) URL.revokeObjectURL(before.url);
    kept.delete(id);
    kept.set(id, { url, at: performance.now() });
    if (kept.size <= MAX_KEPT) return;
    const [oldest, { url: old }] = kept.entries().next().value;
    kept.delete(oldest);
    if (old) URL.revokeObjectURL(old);
}

async function next() {
    while (requests < MAX_REQUESTS && waiting.length) {
        const { id, signal, done } = waiting.shift();
        if (signal.aborted) continue;
        ++requests;
        const path = withQuery(`streams/${encodeURIComponent(id)}/snapshot.jpg`, { width: WIDTH });
        call(path, { as: "blob", signal })
            .then(
                (blob) => keep(id, URL.createObjectURL(blob)),
                () => signal.aborted || keep(id, ""),
            )
            .finally(() => {
                --requests;
                if (!signal.aborted) done();
                next();
            });
    }
}

export function Thumbnail({ id }) {
    const url = useSignal(kept.get(id)?.url ?? "");
    const ref = useRef(null);
    useEffect(() => {
        const ends = new AbortController();
        let timer = 0;
        const show = () => {
            url.value = kept.get(id)?.url ?? "";
            timer = setTimeout(ask, PERIOD_MS);
        };
        const ask = () => waiting.push({ id, signal: ends.signal, done: show }) && next();
        const observer = new IntersectionObserver(([entry]) => {
            clearTimeout(timer);
            if (!entry.isIntersecting) return;
            const age = performance.now() - (kept.get(id)?.at ?? -Infinity);
            timer = setTimeout(ask, Math.max(PAUSE_MS, PERIOD_MS - age));
        });
        observer.observe(ref.current);
        return () => {
            ends.abort();
            clearTimeout(timer);
            observer.disconnect();
        };
    }, [id]);
    return html`<span class="thumbnail" ref=${ref}>${url.value && html`<img src=${url.value} alt="" onError=${() => (url.value = "")} />`}</span>`;
}
