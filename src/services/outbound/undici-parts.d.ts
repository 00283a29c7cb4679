/** Single modules of undici: its entry point also loads fetch, WebSocket, caches and mocks, 13 MB that this program does not use. */
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici'
}
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici'
}
