/** JSON text of a string, for what is written once per token. */
import Serializer from 'fast-json-stringify/lib/serializer.js'

const serializer = new Serializer()

/** About half the cost of `JSON.stringify` for the short texts of a stream; the same bytes. */
export const quote = (text: string): string => serializer.asString(text)
