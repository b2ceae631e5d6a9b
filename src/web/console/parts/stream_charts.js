// The charts of a stream, also of one that has ended: bitrate, players, frame rate, and what went wrong.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { bitrate } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { PERIODS } from "../history.js";
import { Past } from "../past.js";
import { usePoll } from "../poll.js";
import { count, short } from "../text.js";
import { Chart, playerSeries } from "./chart.js";
import { PeriodChoice } from "./period.js";

const POLL_MS = { minutes: 2000, hour: 10000, day: 60000 };

const line = (key, label, colour) => ({ key, label, colour, value: (sample) => sample[key] });
const whole = (n) => (Number.isInteger(n) ? short(n) : "");

function Charts({ samples }) {
    return html`<div class="charts">
        <${Chart}
            name="stream-traffic"
            title=${t("Bitrate")}
            samples=${samples}
            series=${[line("out", t("sent"), "--out"), line("in", t("received"), "--in")]}
            show=${bitrate}
            format=${(kbps) => short(kbps * 1000)}
            floor=${100}
        />
        <${Chart} name="stream-players" title=${t("Players by protocol")} samples=${samples} series=${playerSeries(samples)} show=${count} format=${whole} floor=${4} stacked />
        <${Chart}
            name="stream-fps"
            title=${t("Frame rate")}
            samples=${samples}
            series=${[line("fps", t("frames per second"), "--series-1")]}
            show=${(fps) => fps.toFixed(1)}
            format=${whole}
            floor=${10}
        />
        <${Chart}
            name="stream-troubles"
            title=${t("Troubles")}
            samples=${samples}
            series=${[line("drops", t("drops of slow players"), "--series-4"), line("silent", t("seconds without a frame"), "--series-3")]}
            show=${count}
            format=${whole}
            floor=${4}
        />
        <${Chart}
            name="stream-lag"
            title=${t("Delay of the slowest player")}
            samples=${samples}
            series=${[line("lag", t("in the server"), "--series-2")]}
            show=${(ms) => `${Math.round(ms)} ms`}
            format=${(ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`)}
            floor=${500}
        />
    </div>`;
}

export function StreamCharts({ id }) {
    const period = useSignal(PERIODS[0]);
    const past = useMemo(() => new Past(period.value, id), [period.value, id]);
    usePoll((signal) => past.update(signal), POLL_MS[period.value.key], [past]);
    const samples = past.samples.value;
    if (past.missing.value) return null;
    return html`<section class="past" aria-label=${t("History")}>
        <header class="past-head">
            <h2 class="list-title">${t("History")}</h2>
            <${PeriodChoice} value=${period} />
        </header>
        <${Charts} samples=${samples} />
    </section>`;
}
