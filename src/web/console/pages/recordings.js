// Recorded files: played in the page, downloaded.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { bytes } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { apiUrl, authorization, call, withQuery } from "../api.js";
import { mayChange } from "../live.js";
import { Modal, notify } from "../parts/dialogs.js";
import { Icon } from "../parts/icons.js";
import { List } from "../parts/list.js";
import { playFlv } from "../parts/preview.js";
import { explain, when } from "../text.js";

const FILE_TIMEOUT_MS = 600000;

const filePath = (one, more = {}) => withQuery("recordings/file", { vhost: one.root, path: one.path, ...more });
const nameOf = (one) => one.path.split("/").at(-1);

// Elements send no Authorization. Where it is needed the file is fetched, and they get it as a blob.
async function blobUrl(one, signal) {
    return URL.createObjectURL(await call(filePath(one), { as: "blob", signal, timeout: FILE_TIMEOUT_MS }));
}

async function download(one) {
    const anchor = document.createElement("a");
    anchor.download = nameOf(one);
    if (!authorization.value) {
        anchor.href = apiUrl(filePath(one, { download: 1 }));
        anchor.click();
        return;
    }
    try {
        notify(t("{file} is being fetched.", { file: nameOf(one) }));
        anchor.href = await blobUrl(one);
        anchor.click();
        setTimeout(() => URL.revokeObjectURL(anchor.href), 60000);
    } catch (error) {
        notify(explain(error), true);
    }
}

async function start(element, one, onError, left) {
    if (one.path.endsWith(".flv")) {
        return playFlv(element, { url: apiUrl(filePath(one)), live: false }, onError);
    }
    const url = authorization.value ? await blobUrl(one, left) : apiUrl(filePath(one));
    element.src = url;
    element.play().catch(() => {});
    return () => {
        element.removeAttribute("src");
        element.load();
        if (url.startsWith("blob:")) URL.revokeObjectURL(url);
    };
}

function Player({ one, onClose }) {
    const ref = useRef(null);
    const problem = useSignal("");
    useEffect(() => {
        const left = new AbortController();
        let end = () => {};
        start(ref.current, one, (text) => (problem.value = text), left.signal)
            .then((stop) => (left.signal.aborted ? stop() : (end = stop)))
            .catch((error) => left.signal.aborted || (problem.value = explain(error)));
        return () => {
            left.abort();
            end();
        };
    }, [one.path]);
    return html`<${Modal} label=${nameOf(one)} onClose=${onClose} wide>
        <header class="card-head">
            <h2 class="break">${one.path}</h2>
            <button aria-label=${t("Close")} onClick=${onClose}><${Icon} name="close" /></button>
        </header>
        <video ref=${ref} controls playsinline aria-label=${nameOf(one)}></video>
        ${problem.value && html`<p class="bad" role="alert">${t("It cannot be played here: {why}", { why: problem.value })}</p>`}
    <//>`;
}

const columns = (play) => [
    {
        key: "path",
        title: t("File"),
        class: "grow",
        cell: (one) => html`<span title=${one.path}>${one.path}</span>`,
    },
    { key: "vhost", title: t("Vhost"), class: "w-stream quiet", cell: (one) => one.root },
    { key: "modified", title: t("Modified"), class: "w-when", cell: (one) => (one.active ? html`<span class="tag tag-live">${t("recording")}</span>` : when(one.modified_ms)) },
    { key: "bytes", title: t("Size"), class: "number w-bytes", cell: (one) => bytes(one.bytes) },
    {
        key: "actions",
        title: html`<span class="visually-hidden">${t("Play or download")}</span>`,
        class: "w-buttons",
        cell: (one) =>
            mayChange.value &&
            html`<button class="small" aria-label=${t("Play {file}", { file: nameOf(one) })} onClick=${() => play(one)}><${Icon} name="play" /></button>
                <button class="small" aria-label=${t("Download {file}", { file: nameOf(one) })} onClick=${() => download(one)}><${Icon} name="download" /></button>`,
    },
];

export function Recordings() {
    const playing = useSignal(null);
    return html`<${List}
            label=${t("Recordings")}
            kind="recordings"
            path="recordings"
            field="recordings"
            columns=${columns((one) => (playing.value = one))}
            id=${(one) => `${one.root} ${one.path}`}
            empty=${t("Nothing has been recorded. A stream's page has the button.")}
        >
            ${!mayChange.value && html`<span class="quiet small">${t("Files are for callers who may change something.")}</span>`}
        <//>
        ${playing.value && html`<${Player} one=${playing.value} onClose=${() => (playing.value = null)} />`}`;
}
