/** Strings and numbers that a JSON schema accepts. */
import type { Json, JsonObject } from '../../core/json.ts'
import { patternText } from './pattern-text.ts'

const FORMATS: Readonly<Record<string, (nth: number) => string>> = {
  date: (nth) => `2026-01-${String((nth % 28) + 1).padStart(2, '0')}`,
  'date-time': (nth) => `2026-01-${String((nth % 28) + 1).padStart(2, '0')}T12:00:00Z`,
  time: (nth) => `12:00:${String(nth % 60).padStart(2, '0')}Z`,
  duration: (nth) => `P${nth + 1}D`,
  email: (nth) => `user${nth + 1}@example.com`,
  hostname: (nth) => `host${nth + 1}.example.com`,
  ipv4: (nth) => `192.0.2.${(nth % 254) + 1}`,
  ipv6: (nth) => `2001:db8::${(nth + 1).toString(16)}`,
  uri: (nth) => `https://example.com/${nth + 1}`,
  'uri-reference': (nth) => `/path/${nth + 1}`,
  uuid: (nth) => `00000000-0000-4000-8000-${(nth + 1).toString(16).padStart(12, '0')}`,
}

const LONGEST = 2_000

function numeric(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function stringFor(schema: JsonObject, nth: number): string {
  const format = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined
  if (format) return format(nth)
  const least = Math.min(LONGEST, numeric(schema.minLength) ?? 0)
  const most = numeric(schema.maxLength) ?? LONGEST
  if (typeof schema.pattern === 'string') {
    const text = patternText(schema.pattern, { least, most, nth })
    if (text !== undefined) return text
  }
  const word = nth === 0 ? 'text' : `text${nth}`
  return word.padEnd(least, '.').slice(word.length > most ? word.length - most : 0)
}

/** The number nearest to 1 (then 2, 3, …) within the bounds; undefined where the bounds leave none. */
export function numberFor(schema: JsonObject, integer: boolean, nth: number): number | undefined {
  const { low, high } = bounds(schema)
  const multiple = numeric(schema.multipleOf)
  const step = multiple !== undefined && multiple > 0 ? multiple : integer || high - low >= 1 ? 1 : (high - low) / 4
  if (step === 0) return fits(schema, low, integer) ? low : undefined
  const start = low > 1 || high < 1 ? (low > 1 ? Math.ceil(low / step) : Math.floor(high / step)) : Math.max(1, Math.ceil(low / step))
  const direction = high < 1 && low <= 1 ? -1 : 1
  for (let i = 0; i < 4; i++) {
    for (const at of [start + direction * (nth + i), start - direction * (nth + i)]) {
      const value = product(at, step)
      if (fits(schema, value, integer)) return value
    }
  }
  const middle = low + (high - low) / 2
  return multiple === undefined && fits(schema, middle, integer) ? middle : undefined
}

function bounds(schema: JsonObject): { low: number; high: number } {
  const low = Math.max(numeric(schema.minimum) ?? -Infinity, numeric(schema.exclusiveMinimum) ?? -Infinity)
  const high = Math.min(numeric(schema.maximum) ?? Infinity, numeric(schema.exclusiveMaximum) ?? Infinity)
  return { low, high }
}

/** Whole multiples of a decimal step, without the noise of binary fractions. */
function product(times: number, step: number): number {
  const digits = /\.(\d+)$/.exec(String(step))?.[1].length ?? 0
  return digits === 0 ? times * step : Number((times * step).toFixed(digits))
}

function fits(schema: JsonObject, value: number, integer: boolean): boolean {
  if (!Number.isFinite(value) || (integer && !Number.isInteger(value))) return false
  const { low, high } = bounds(schema)
  const open = value === numeric(schema.exclusiveMinimum) || value === numeric(schema.exclusiveMaximum)
  return value >= low && value <= high && !open
}
