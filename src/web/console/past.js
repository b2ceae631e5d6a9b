// The server's memory of figures (/api/v1/history), of itself or of a stream, for the charts: all of a period at first,
// then what is new.
import { signal } from "@preact/signals";
import { call, login, withQuery } from "./api.js";
import { joined, samplesOf } from "./history.js";

const MAX_PAGES = 5; // of one update
const NO_STREAM = 2048;

export class Past {
    samples = signal([]);
    // Nothing of that stream is kept.
    missing = signal(false);
    #to_ms = 0;

    // stream: its id; absent: the server. period: of PERIODS.
    constructor(period, stream) {
        this.period = period;
        this.stream = stream;
    }

    async update(ends) {
        const { step, seconds } = this.period;
        try {
            let from = this.#to_ms || `-${seconds}s`;
            for (let page = 0; from && page < MAX_PAGES; ++page) {
                const answer = await call(withQuery("history", { stream: this.stream, from, step }), { signal: ends });
                this.samples.value = joined(this.samples.peek(), samplesOf(answer), seconds);
                // The last points may be of times that are not over.
                if (answer.points > 0) this.#to_ms = answer.from_ms + Math.max(0, answer.points - 2) * answer.step_ms;
                from = answer.next_ms;
            }
            this.missing.value = false;
        } catch (error) {
            if (ends?.aborted) throw error;
            if (error.status === NO_STREAM) this.missing.value = true;
            else if (!login.peek()) console.warn(`history: ${error.message}`);
        }
    }
}
