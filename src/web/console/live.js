// What every page knows of the server: the newest overview, asked for every 2 s, and the samples of ten minutes for the
// charts, which begin with those that the server remembers.
import { computed, signal } from "@preact/signals";
import { call, login } from "./api.js";
import { poll } from "./poll.js";
import { Past } from "./past.js";
import { filled, joined, PERIODS, sampleOf } from "./history.js";

const PERIOD_MS = 2000;
const [MINUTES] = PERIODS;

export const overview = signal(null);
// Of the last call, an ApiError; null: it succeeded.
export const failure = signal(null);
export const samples = signal([]);

// May this caller change something: kick, record, read the log.
export const mayChange = computed(() => overview.value?.access?.changes === true);

// What was before the first overview, and while the tab was hidden.
async function remember(ends) {
    const past = new Past(MINUTES);
    await past.update(ends);
    samples.value = filled(samples.peek(), past.samples.peek());
}

async function update(ends) {
    try {
        const next = (await call("overview", { signal: ends })).overview;
        const sample = sampleOf(next, overview.peek());
        samples.value = joined(samples.peek(), [sample], MINUTES.seconds);
        if (sample.in === null) await remember(ends);
        overview.value = next;
        failure.value = null;
    } catch (error) {
        if (ends.aborted) throw error;
        if (!login.peek()) failure.value = error;
    }
}

export const start = () => poll(update, PERIOD_MS);
