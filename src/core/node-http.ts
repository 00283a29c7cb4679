/**
 * node:http, fetched by `process.getBuiltinModule` instead of imported: an import reads every export, `WebSocket` among them,
 * and for that one Node loads the whole of its own undici, 14 MB of a gateway that never uses it.
 */
export const { Agent, createServer, request, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http')
