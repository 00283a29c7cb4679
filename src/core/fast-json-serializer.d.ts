/** Quotes texts. Imported alone, because the package's entry point also loads the compiler and a validator, 120 modules. */
declare module 'fast-json-stringify/lib/serializer.js' {
  export default class Serializer {
    asString(text: string): string
  }
}
