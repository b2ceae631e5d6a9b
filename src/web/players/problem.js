// Problem: what went wrong, as a kind, for which problems.js has words, and a detail from elsewhere, shown as text.
const MAX_DETAIL = 300;

export class Problem extends Error {
    constructor(kind, detail = "", status = 0) {
        super(kind);
        this.kind = kind;
        this.detail = String(detail).slice(0, MAX_DETAIL);
        this.status = status;
    }

    // Of an HTTP response that is no success.
    static ofStatus(status, text = "") {
        const kinds = { 401: "forbidden", 403: "forbidden", 404: "not-found", 409: "busy", 503: "overload" };
        const noCodec = status === 400 && /codec/i.test(text);
        return new Problem(noCodec ? "codec" : (kinds[status] ?? "status"), text, status);
    }

    // By its shape: the start page and the engines are bundled apart, each with a class of its own.
    static of(error) {
        return typeof error?.kind === "string" ? error : new Problem("unexpected", error?.message ?? error);
    }
}
