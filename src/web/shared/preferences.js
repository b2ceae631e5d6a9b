// Language and theme: what the visitor chose is kept in the browser; without a choice the browser's own count.
import { effect, signal } from "@preact/signals";

const stored = (key) => {
    try {
        return localStorage.getItem(key);
    } catch {
        return null; // storage is disabled
    }
};
const store = (key, value) => {
    try {
        localStorage.setItem(key, value);
    } catch {
        // The choice holds until the page is left.
    }
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const browserTheme = () => (dark.matches ? "dark" : "light");

export const language = signal(stored("language") || (navigator.language.startsWith("zh") ? "zh" : "en"));
export const theme = signal(stored("theme") || browserTheme());

dark.addEventListener("change", () => {
    if (!stored("theme")) theme.value = browserTheme();
});
effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
});
effect(() => {
    document.documentElement.dataset.theme = theme.value;
});

export const choose = {
    language(value) {
        language.value = value;
        store("language", value);
    },
    theme(value) {
        theme.value = value;
        store("theme", value);
    },
};
