// The newest keyframe of a stream as a picture, made anew every few seconds while it can be seen. Where there is none
// the place stays empty.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { html } from "../../shared/html.js";
import { call, withQuery } from "../api.js";
import { usePoll } from "../poll.js";

const PERIOD_MS = 5000;
const WIDTH = 640;

// An element sends no Authorization, so the picture is fetched.
const fetched = (id, signal) => call(withQuery(`streams/${encodeURIComponent(id)}/snapshot.jpg`, { width: WIDTH }), { as: "blob", signal });

export function Snapshot({ id, label }) {
    const url = useSignal("");
    const ref = useRef(null);
    const seen = useRef(true);
    const show = (next) => {
        if (url.peek()) URL.revokeObjectURL(url.peek());
        url.value = next;
    };
    useEffect(() => {
        const observer = new IntersectionObserver(([entry]) => (seen.current = entry.isIntersecting));
        observer.observe(ref.current);
        return () => {
            observer.disconnect();
            show("");
        };
    }, [id]);
    usePoll(
        async (signal) => {
            if (!seen.current) return;
            const blob = await fetched(id, signal).catch(() => null);
            if (!signal.aborted) show(blob ? URL.createObjectURL(blob) : "");
        },
        PERIOD_MS,
        [id],
    );
    return html`<div class="snapshot" ref=${ref}>${url.value && html`<img src=${url.value} alt=${label} />`}</div>`;
}
