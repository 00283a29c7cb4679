/** Numbers between text, base64 and 32-bit floats. Bytes are little-endian, as every client of base64 vectors expects them. */
import { Fault } from '../../core/faults.ts'

/** Those that are exact. */
const POWERS: readonly number[] = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`))

/** Bytes of a number that is read digit by digit: not more than a few last places are lost on so many digits. */
const LONGEST = 40
/** Below, 32-bit floats have fewer digits. */
const SMALLEST = 1e-37
/** Last places of a double, of the 29 that a 32-bit float has less, within which its rounding is not sure. */
const HALF = 2 ** 28
const UNSURE = 64
const LOST = 2 ** 29 - 1
const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)

const MINUS = 0x2d
const DOT = 0x2e
const COMMA = 0x2c
const NOUGHT = 0x30
const NINE = 0x39
const QUOTE = 0x22

/** Reused for each vector that fits, since it is written before the next one is read: no garbage to collect. */
const place = new Float32Array(16_384)

/** Good until the next vector is read. */
function room(count: number): Float32Array {
  return count > place.length ? new Float32Array(count) : place.subarray(0, count)
}

/**
 * The numbers of a JSON array, straight from its bytes: each is `Math.fround` of what `JSON.parse` would give.
 * @param text the array with its brackets; its grammar has been checked.
 * @returns a view that holds them until the next vector is read.
 * @throws Fault `upstream_garbled` for a number that no 32-bit float holds.
 */
export function floatsOfText(text: Buffer, count: number): Float32Array {
  const floats = room(count)
  let at = 0
  for (let i = 0; i < count; i++) {
    let first = text[at]
    while (first !== undefined && first !== MINUS && !(first >= NOUGHT && first <= NINE)) first = text[++at]
    let end = at + 1
    let plain = true
    let whole = 0
    let point = -1
    const negative = first === MINUS
    for (end = negative ? at + 1 : at; ; end++) {
      const byte = text[end]
      if (byte !== undefined && byte >= NOUGHT && byte <= NINE) whole = whole * 10 + byte - NOUGHT
      else if (byte === DOT) point = end
      else {
        plain = byte !== 0x65 && byte !== 0x45
        break
      }
    }
    const decimals = point === -1 ? 0 : end - point - 1
    const power = POWERS[decimals]
    const value = power === undefined ? Number.NaN : whole / power
    if (plain && end - at <= LONGEST && power !== undefined && isSure(value)) floats[i] = negative ? -value : value
    else {
      while (text[end] !== COMMA && end < text.length - 1) end++
      floats[i] = Number(text.toString('latin1', at, end))
    }
    at = end
  }
  checkFinite(floats)
  return floats
}

/** True where no digit that was lost can change which 32-bit float is the nearest. */
function isSure(value: number): boolean {
  if (value < SMALLEST) return value === 0
  double[0] = value
  const lost = (words[0] ?? 0) & LOST
  return lost < HALF - UNSURE || lost > HALF + UNSURE
}

/** @throws Fault `upstream_garbled` for what is no base64 of 32-bit floats, or not of finite ones. */
export function floatsOfBase64(text: Buffer): Float32Array {
  const plain = text.includes(0x5c) ? Buffer.from(text.toString('latin1').replaceAll('\\/', '/'), 'latin1') : text
  let length = plain.length
  while (length > 0 && plain.length - length < 2 && plain[length - 1] === 0x3d) length--
  // Characters that are none of base64 are passed over by the decoder, so that too little comes out.
  const bytes = Math.floor((length * 3) / 4)
  if (length === 0 || length % 4 === 1 || bytes % 4 !== 0) throw new Fault('upstream_garbled')
  const floats = room(bytes / 4)
  const into = floatBytes(floats)
  const written = into.write(plain.toString('latin1', 0, length), 'base64')
  if (written !== bytes) throw new Fault('upstream_garbled')
  checkFinite(floats)
  return floats
}

/** The numbers as a JSON string of base64, quotes included. */
export function base64Json(floats: Float32Array): Buffer {
  const text = floatBytes(floats).toString('base64')
  const json = Buffer.allocUnsafe(text.length + 2)
  json[0] = QUOTE
  json.write(text, 1, 'latin1')
  json[text.length + 1] = QUOTE
  return json
}

/** The numbers as a JSON array, each in the fewest digits that name the very same number. */
export function textJson(floats: Float32Array): Buffer {
  return Buffer.from(`[${floats.join()}]`, 'latin1')
}

/** @throws Fault `upstream_garbled` where a number is infinite or none. */
export function checkFinite(floats: Float32Array): void {
  // A sum is finite only if every number in it is; 32-bit floats cannot overflow a 64-bit sum.
  let sum = 0
  for (let i = 0; i < floats.length; i++) sum += floats[i] ?? Number.NaN
  if (!Number.isFinite(sum)) throw new Fault('upstream_garbled')
}

function floatBytes(floats: Float32Array): Buffer {
  return Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength)
}
