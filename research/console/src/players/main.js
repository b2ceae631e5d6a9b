import { render } from "preact";
import { html } from "../shared/html.js";
import { PageHeader } from "../shared/page_header.js";
import "../shared/theme.css";

render(html`<${PageHeader} page="players" /><main></main>`, document.body);
