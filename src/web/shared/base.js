// Where the server is. Pages lie one folder below it, also behind a proxy that serves it under another path, so every
// address is relative to the page's.
export const base = new URL(document.documentElement.dataset.base ?? "./", location.href);

export const at = (path) => new URL(path, base).href;
