// A list of the API of which only the visible range is fetched: streams, clients, sessions that ended, recordings. Rows
// around the range are kept for scrolling back, others are forgotten.
import { signal } from "@preact/signals";
import { call, login, withQuery } from "./api.js";

const STEP = 50; // ranges begin and end at multiples of it
const MAX_KEPT = 1000;

export class PagedList {
    rows = new Map();
    total = signal(null); // that match; null: not known yet
    all = signal(null); // without a search; null: not known
    failure = signal(null);
    version = signal(0); // changes with the rows
    #first = 0;
    #last = STEP;

    // path: of the API; field: of the answer that has the rows; query: parameters besides start and count.
    constructor(path, field, query = {}) {
        this.path = path;
        this.field = field;
        this.query = query;
    }

    // Another search or order: nothing of the old rows holds.
    setQuery(query) {
        this.query = query;
        this.rows = new Map();
        this.#first = 0;
        this.#last = STEP;
    }

    // Rows [first, last) are visible. Returns whether one of them is missing.
    want(first, last) {
        this.#first = Math.max(0, Math.floor(first / STEP) * STEP);
        this.#last = Math.ceil(Math.max(last, first + 1) / STEP) * STEP;
        const end = Math.min(last, this.total.peek() ?? 0);
        for (let i = first; i < end; ++i) if (!this.rows.has(i)) return true;
        return false;
    }

    async fetch(ends) {
        const { query } = this;
        const start = this.#first;
        try {
            const count = this.#last - start;
            const answer = await call(withQuery(this.path, { ...query, start, count }), { signal: ends });
            if (query !== this.query) return;
            this.#take(start, count, answer);
            this.failure.value = null;
        } catch (error) {
            if (ends?.aborted) throw error;
            if (query === this.query && !login.peek()) this.failure.value = error;
        }
    }

    #take(start, count, answer) {
        const rows = answer[this.field] ?? [];
        for (let i = 0; i < count; ++i) {
            if (i < rows.length) this.rows.set(start + i, rows[i]);
            else this.rows.delete(start + i);
        }
        if (this.rows.size > MAX_KEPT) {
            for (const i of this.rows.keys()) if (Math.abs(i - start) > MAX_KEPT / 2) this.rows.delete(i);
        }
        this.total.value = answer.total ?? rows.length;
        if (!this.query.search) this.all.value = this.total.value;
        ++this.version.value;
    }
}
