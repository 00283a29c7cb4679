/** The base class alone: the package's entry point also loads fetch, WebSocket, caches and mocks, 13 MB that nothing here uses. */
declare module 'undici/lib/dispatcher/dispatcher.js' {
  export { Dispatcher as default } from 'undici'
}

declare module 'undici/lib/core/symbols.js' {
  const symbols: {
    readonly kSize: unique symbol
  }
  export default symbols
}
