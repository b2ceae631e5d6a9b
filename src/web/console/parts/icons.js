// Icons of 16 x 16, drawn by their paths.
import { html } from "../../shared/html.js";

const PATHS = {
    overview: "M2 13V8m4 5V3m4 10V6m4 7V9",
    streams: "M8 8h.01M5.2 10.8a4 4 0 0 1 0-5.6m5.6 0a4 4 0 0 1 0 5.6M2.9 13.1a7.2 7.2 0 0 1 0-10.2m10.2 0a7.2 7.2 0 0 1 0 10.2",
    clients: "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm-4.5 5.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 3.2a2.5 2.5 0 0 1 0 4.6m1.7 2.1c1.4.5 2.3 1.8 2.3 3.6",
    recordings: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0-4a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
    config: "M2 4.5h6m4 0h2M2 11.5h2m4 0h6M10 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6 13.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
    ends: "M6 2.5H3v11h3M7 8h7m-2.5-2.5L14 8l-2.5 2.5",
    hooks: "M2 8h6m-2.5-2.5L8 8l-2.5 2.5M10 3h4v10h-4",
    log: "M2.5 3.5h11m-11 3h8m-8 3h11m-11 3h6",
    profile: "M8 14c2.8 0 4.5-1.8 4.5-4.3C12.5 6.5 9.5 5.5 9.5 2 7 3 6 5 6.5 7.5 5.5 7.2 5 6.5 5 5.5 4 6.5 3.5 8 3.5 9.7 3.5 12.2 5.2 14 8 14Z",
    search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
    play: "M5 3v10l8-5Z",
    stop: "M4 4h8v8H4Z",
    pause: "M5.5 3v10m5-10v10",
    download: "M8 2v8m-3-3 3 3 3-3M3 13.5h10",
    close: "m4 4 8 8m0-8-8 8",
    sessions: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0-9.5V8l2.5 1.5",
    edges: "M3.5 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Zm9-4a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Zm0 8a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.9 7.4l6.2-2.8M4.9 8.6l6.2 2.8",
    vhosts: "M2.5 2.5h11v4h-11Zm0 7h11v4h-11Zm2.5-5h.01M5 11.5h.01",
    relays: "M2 5.5h10m-2.5-2.5L12 5.5 9.5 8M14 10.5H4M6.5 8 4 10.5 6.5 13",
    cluster: "M8 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm-4.5 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm9 0a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM7 5.5l-2.4 5m4.4-5 2.4 5M5.5 12.5h5",
    tools: "M2.5 3.5h11v9h-11Zm2.5 3 2 1.7L5 10m3.5 0H11",
    threads: "M3 2.5v11m5-11v11m5-11v11M1.5 6h3m2 4h3m2-5h3",
    menu: "M2.5 4h11m-11 4h11m-11 4h11",
    share: "M11.5 5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Zm0 9.6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM4.5 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Zm1.6-.9 3.8 3m0-7.8-3.8 3",
    qr: "M2.5 2.5h4v4h-4Zm7 0h4v4h-4Zm-7 7h4v4h-4Zm7 0h2m2 0v2m0 2h-2m-2-2v2",
    back: "M9.5 3.5 5 8l4.5 4.5",
};

export function Icon({ name }) {
    return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
        <path d=${PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>`;
}
