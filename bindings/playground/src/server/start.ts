// Starts the language server. This module is imported before all others, since loading the server takes longest.

import { Server } from "./transport";

export const server = new Server();
