// All clients.
import { html } from "../../shared/html.js";
import { ClientsList } from "../parts/clients_list.js";

export const Clients = () => html`<${ClientsList} />`;
