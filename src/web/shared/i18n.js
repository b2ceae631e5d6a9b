// Texts are written in English where they are used: t("{n} players", { n: 3 }). chinese.js has the translations, keyed by
// the English text; a test checks that none is missing.
import { chinese } from "./chinese.js";
import { language } from "./preferences.js";

export function t(text, values = {}) {
    const translated = language.value === "zh" ? (chinese[text] ?? text) : text;
    return translated.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
