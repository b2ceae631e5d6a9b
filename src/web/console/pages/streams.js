// All streams.
import { bitrate, bytes } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { mayChange, overview } from "../live.js";
import { link, route } from "../route.js";
import { VerdictCell } from "../parts/attention.js";
import { List } from "../parts/list.js";
import { Thumbnail } from "../parts/thumbnail.js";
import { count, streamName } from "../text.js";

export const videoText = (video) => (video ? [video.codec, video.height && `${video.width}×${video.height}`].filter(Boolean).join(" ") : "");
export const audioText = (audio) => (audio ? [audio.codec, audio.sample_rate && `${audio.sample_rate / 1000} kHz`].filter(Boolean).join(" ") : "");

const picture = () => ({
    key: "picture",
    title: html`<span class="visually-hidden">${t("The newest keyframe")}</span>`,
    class: "w-picture",
    cell: (one) => one.publish.active && one.video && html`<${Thumbnail} id=${one.id} />`,
});

const columns = () => [
    ...(mayChange.value ? [picture()] : []),
    {
        key: "name",
        title: t("Stream"),
        class: "grow",
        sort: "name",
        cell: (one) => html`<span class=${one.publish.active ? "dot good" : "dot quiet"} title=${one.publish.active ? t("published") : t("no publisher")}></span>
            <a href=${link("streams", one.id)}>${streamName(one)}</a>`,
    },
    { key: "verdict", title: t("Health"), class: "w-verdict", sort: "verdict", down: true, cell: (one) => html`<${VerdictCell} verdict=${one.verdict} />` },
    { key: "video", title: t("Video"), class: "w-video", cell: (one) => videoText(one.video) },
    { key: "audio", title: t("Audio"), class: "w-audio quiet", cell: (one) => audioText(one.audio) },
    { key: "clients", title: t("Clients"), class: "number w-count", sort: "clients", down: true, cell: (one) => count(one.clients) },
    { key: "in", title: t("In"), class: "number w-rate", sort: "recv_kbps", down: true, cell: (one) => bitrate(one.kbps.recv_30s) },
    { key: "out", title: t("Out"), class: "number w-rate", cell: (one) => bitrate(one.kbps.send_30s) },
    { key: "memory", title: t("Memory"), class: "number w-bytes", cell: (one) => (one.memory ? bytes(one.memory.total) : "") },
];

const FILTERS = () => [
    ["", t("All"), null],
    ["sick", t("Broken"), overview.value?.verdicts?.sick],
    ["notice", t("Notices"), overview.value?.verdicts?.notice],
];

const Filters = ({ filter }) => html`<div class="filters" role="group" aria-label=${t("Health")}>
    ${FILTERS().map(
        ([value, title, n]) =>
            html`<a class="chip" href=${value ? link("streams", "", value) : link("streams")} aria-current=${filter === value ? "true" : undefined} data-filter=${value}>${title}${n > 0 && html` <b>${count(n)}</b>`}</a>`,
    )}
</div>`;

export function Streams() {
    const { filter } = route.value;
    return html`<${List}
        label=${t("Streams")}
        kind="streams"
        path="streams"
        field="streams"
        fixed=${{ verdict: filter }}
        order="-verdict"
        columns=${columns()}
        id=${(one) => one.id}
        empty=${filter ? t("No stream is in this state.") : t("No stream is published or waited for.")}
    ><${Filters} filter=${filter} /><//>`;
}
