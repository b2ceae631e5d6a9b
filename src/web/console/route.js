// The page in the address: #/streams/ID is page "streams" with id "ID", #/streams//sick its list with the filter "sick".
import { signal } from "@preact/signals";

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part; // typed by hand
    }
}

function read() {
    const [page = "", id = "", filter = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
    return { page, id, filter };
}

export const route = signal(read());
addEventListener("hashchange", () => {
    route.value = read();
});

export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;
