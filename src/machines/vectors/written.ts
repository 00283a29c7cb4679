/** A vector as the caller gets it. */
import { base64Json, checkFinite, floatsOfBase64, floatsOfText, textJson } from './numbers.ts'
import type { RawVector } from './scan.ts'

/** The form that a caller may request: a JSON array of numbers, or a string of base64. */
export type VectorForm = 'float' | 'base64'

export interface WrittenVector {
  /** JSON text in order. */
  readonly pieces: readonly Buffer[]
  /** Number of its numbers. */
  readonly length: number
}

/** Numbers that came as text stay as they are where text is requested; anything else is re-encoded. @throws Fault `upstream_garbled`. */
export function writeRaw(raw: RawVector, form: VectorForm): WrittenVector {
  if (raw.form === 'numbers' && form === 'float') return { pieces: raw.pieces, length: raw.count }
  const bytes = raw.pieces.length === 1 && raw.pieces[0] ? raw.pieces[0] : joined(raw.pieces)
  return writeFloats(raw.form === 'numbers' ? floatsOfText(bytes, raw.count) : floatsOfBase64(bytes), form)
}

/** Reused for each joined vector that fits, since it is read before the next one is joined: no garbage to collect. */
const place = Buffer.allocUnsafeSlow(256 * 1024)

function joined(pieces: readonly Buffer[]): Buffer {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (length > place.length) return Buffer.concat(pieces, length)
  let at = 0
  for (const piece of pieces) at += piece.copy(place, at)
  return place.subarray(0, length)
}

/** @throws Fault `upstream_garbled` where a number is infinite or none. */
export function writeFloats(floats: Float32Array, form: VectorForm): WrittenVector {
  checkFinite(floats)
  return { pieces: [form === 'float' ? textJson(floats) : base64Json(floats)], length: floats.length }
}
