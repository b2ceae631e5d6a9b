// The page in the address: #/streams/ID is page "streams" with id "ID".
import { signal } from "@preact/signals";

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part; // typed by hand
    }
}

function read() {
    const [page = "", id = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
    return { page, id };
}

export const route = signal(read());
addEventListener("hashchange", () => {
    route.value = read();
});

export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;
