// The reasons for the end of a session (doc/why.md), in words.
import { t } from "../shared/i18n.js";
import { language } from "../shared/preferences.js";

const TEXTS = {
    "peer-closed": "the peer closed the connection",
    "connection-lost": "the connection broke",
    "peer-timeout": "the peer did not send in time",
    idle: "no request for some time",
    "too-slow": "the peer did not take the data in time",
    "protocol-error": "the peer violated its protocol",
    flood: "the peer sent more than a limit allows",
    done: "the request was answered",
    "stream-ended": "the publisher left",
    "duration-over": "the requested duration was sent",
    "publisher-replaced": "another publisher took over",
    "no-viewers": "nobody played the stream",
    "refused-auth": "a wrong signature or password",
    "refused-hook": "a hook refused it",
    "refused-address": "its address is not allowed",
    "refused-refer": "its page is not allowed",
    "refused-limit": "a limit was reached",
    "refused-busy": "the stream is being published already",
    "not-found": "there is no such vhost",
    refused: "refused for another reason",
    kicked: "ended by an operator",
    "output-failed": "an output of the stream failed",
    "server-stop": "the server stopped",
    "system-error": "an error of the server or its system",
    unknown: "not known",
};
const BAD = new Set(["too-slow", "protocol-error", "flood", "output-failed", "system-error"]);
const WARN = new Set(["peer-timeout", "connection-lost", "not-found", "kicked"]);

// Why a session ended: the server's own words are in English, with details.
export const endText = ({ reason, text }) => (language.value === "zh" && TEXTS[reason] ? t(TEXTS[reason]) : text);

export const reasonText = (reason) => TEXTS[reason] ?? "";

export function reasonTone(reason) {
    if (BAD.has(reason)) return "bad";
    return WARN.has(reason) || reason.startsWith("refused") ? "warn" : "good";
}
