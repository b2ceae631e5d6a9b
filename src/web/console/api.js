// Calls of the server's API. An answer that is not a success becomes an ApiError. On 401 the login opens, and who polls
// waits for it. What was typed there is kept in sessionStorage: it ends with the tab.
import { signal } from "@preact/signals";
import { at } from "../shared/base.js";

const KEY = "console-authorization";
const TIMEOUT_MS = 15000;

export class ApiError extends Error {
    // status: of HTTP, or the code in the envelope; 0: no answer.
    constructor(status, text) {
        super(text);
        this.status = status;
    }
}

function stored() {
    try {
        return sessionStorage.getItem(KEY);
    } catch {
        return null; // storage is disabled
    }
}

// The value of the header Authorization; null: none is sent.
export const authorization = signal(stored());
// null: no login is open. refused: what was sent before was not accepted.
export const login = signal(null);

export const basic = (user, password) =>
    `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)))}`;
export const bearer = (token) => `Bearer ${token}`;

export function logIn(value) {
    try {
        if (value) sessionStorage.setItem(KEY, value);
        else sessionStorage.removeItem(KEY);
    } catch {
        // It holds until the page is left.
    }
    authorization.value = value;
    login.value = null;
}

export const apiUrl = (path) => at(`api/v1/${path}`);

export function withQuery(path, values) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
        if (value !== undefined && value !== null && value !== "") query.set(name, value);
    }
    const text = query.toString();
    return text ? `${path}?${text}` : path;
}

async function send(path, { method, body, signal: ends, timeout }) {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeout);
    const leave = () => late.abort();
    ends?.addEventListener("abort", leave);
    const sent = authorization.value;
    try {
        const response = await fetch(apiUrl(path), {
            method,
            body,
            cache: "no-store",
            headers: sent ? { Authorization: sent } : {},
            credentials: "omit", // else the browser opens a login of its own on 401
            signal: late.signal,
        });
        // Another call may have logged in meanwhile.
        if (response.status === 401 && sent === authorization.value) login.value ??= { refused: sent !== null };
        return { response, finish: () => clearTimeout(timer) };
    } catch (error) {
        clearTimeout(timer);
        if (ends?.aborted) throw error;
        throw new ApiError(0, "No answer from the server");
    } finally {
        ends?.removeEventListener("abort", leave);
    }
}

async function reason(response) {
    try {
        return (await response.json()).error || response.statusText;
    } catch {
        return response.statusText;
    }
}

/**
 * The answer's body as text or, by default, its JSON. timeout: ms. allow: a status that is an answer, too.
 * @param {string} path
 * @param {{ method?: string, body?: BodyInit, signal?: AbortSignal, as?: "json" | "text" | "blob", timeout?: number, allow?: number }} [options]
 * @returns {Promise<any>}
 */
export async function call(path, { method = "GET", body, signal: ends, as = "json", timeout = TIMEOUT_MS, allow = 200 } = {}) {
    const { response, finish } = await send(path, { method, body, signal: ends, timeout });
    try {
        if (!response.ok && response.status !== allow) throw new ApiError(response.status, await reason(response));
        if (as !== "json") return await response[as]();
        const answer = await response.json();
        if (answer.code && answer.code !== allow) throw new ApiError(answer.code, answer.error || `code ${answer.code}`);
        return answer;
    } catch (error) {
        if (error instanceof ApiError || ends?.aborted) throw error;
        throw new ApiError(0, "The server's answer is incomplete");
    } finally {
        finish();
    }
}
