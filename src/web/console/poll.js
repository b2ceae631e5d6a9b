// Repeats a task while somebody can see its result: not in a hidden tab, and not while a login is open.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { login } from "./api.js";

const hidden = signal(document.hidden);
document.addEventListener("visibilitychange", () => {
    hidden.value = document.hidden;
});

// task(signal): awaited; the next one begins `ms` after its beginning, at the earliest when it has ended. Its errors are
// its own matter. Returns what ends it.
export function poll(task, ms) {
    let timer = 0;
    let current = null;
    const stop = () => {
        clearTimeout(timer);
        current?.abort();
        current = null;
    };
    const run = async () => {
        const mine = (current = new AbortController());
        const began = performance.now();
        try {
            await task(mine.signal);
        } catch (error) {
            if (!mine.signal.aborted) throw error;
        }
        if (current === mine) timer = setTimeout(run, Math.max(0, began + ms - performance.now()));
    };
    const dispose = effect(() => {
        const may = !hidden.value && !login.value;
        stop();
        if (may) timer = setTimeout(run, 0); // outside of the effect: it depends on these two alone
    });
    return () => {
        dispose();
        stop();
    };
}

// For the life of a component, begun anew when one of `inputs` changes.
export function usePoll(task, ms, inputs) {
    useEffect(() => poll(task, ms), inputs);
}
