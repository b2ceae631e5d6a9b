// What every page knows of the server: the newest overview, asked for every 2 s, and the history for the charts.
import { computed, signal } from "@preact/signals";
import { call, login } from "./api.js";
import { poll } from "./poll.js";
import { sampleOf } from "./history.js";

const PERIOD_MS = 2000;
const KEPT_SAMPLES = 300; // ten minutes

export const overview = signal(null);
// Of the last call, an ApiError; null: it succeeded.
export const failure = signal(null);
export const samples = signal([]);

// May this caller change something: kick, record, read the log.
export const mayChange = computed(() => overview.value?.access?.changes === true);

async function update(ends) {
    try {
        const next = (await call("overview", { signal: ends })).overview;
        const sample = sampleOf(next, overview.peek());
        samples.value = [...samples.peek().slice(1 - KEPT_SAMPLES), sample];
        overview.value = next;
        failure.value = null;
    } catch (error) {
        if (ends.aborted) throw error;
        if (!login.peek()) failure.value = error;
    }
}

export const start = () => poll(update, PERIOD_MS);
