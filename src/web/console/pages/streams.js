// All streams.
import { bitrate, bytes } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { link } from "../route.js";
import { List } from "../parts/list.js";
import { count, streamName } from "../text.js";

export const videoText = (video) => (video ? [video.codec, video.height && `${video.width}×${video.height}`].filter(Boolean).join(" ") : "");
export const audioText = (audio) => (audio ? [audio.codec, audio.sample_rate && `${audio.sample_rate / 1000} kHz`].filter(Boolean).join(" ") : "");

const columns = () => [
    {
        key: "name",
        title: t("Stream"),
        class: "grow",
        sort: "name",
        cell: (one) => html`<span class=${one.publish.active ? "dot good" : "dot quiet"} title=${one.publish.active ? t("published") : t("no publisher")}></span>
            <a href=${link("streams", one.id)}>${streamName(one)}</a>`,
    },
    { key: "video", title: t("Video"), class: "w-video", cell: (one) => videoText(one.video) },
    { key: "audio", title: t("Audio"), class: "w-audio quiet", cell: (one) => audioText(one.audio) },
    { key: "clients", title: t("Clients"), class: "number w-count", sort: "clients", down: true, cell: (one) => count(one.clients) },
    { key: "in", title: t("In"), class: "number w-rate", sort: "recv_kbps", down: true, cell: (one) => bitrate(one.kbps.recv_30s) },
    { key: "out", title: t("Out"), class: "number w-rate", cell: (one) => bitrate(one.kbps.send_30s) },
    { key: "memory", title: t("Memory"), class: "number w-bytes", cell: (one) => (one.memory ? bytes(one.memory.total) : "") },
];

export const Streams = () =>
    html`<${List}
        label=${t("Streams")}
        kind="streams"
        path="streams"
        field="streams"
        order="name"
        columns=${columns()}
        id=${(one) => one.id}
        empty=${t("No stream is published or waited for.")}
    />`;
