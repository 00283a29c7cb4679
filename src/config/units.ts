/** Durations and sizes as the file writes them. */

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const BYTES: Readonly<Record<string, number>> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

function scaled(text: string, units: Readonly<Record<string, number>>): number {
  const [, count, unit] = /^(\d{1,9})([A-Za-z]+)$/.exec(text) ?? []
  const factor = unit === undefined ? undefined : units[unit]
  if (factor === undefined) throw new RangeError(`not a number with a unit of ${Object.keys(units).join(', ')}`)
  return Number(count) * factor
}

/** `250ms`, `5s`, `10m`, `1h`, `90d` in milliseconds. @throws RangeError for anything else. */
export function milliseconds(text: string): number {
  return scaled(text, MILLISECONDS)
}

/** `64B`, `512KB`, `32MB`, `1GB` in bytes; a KB is 1024 bytes. @throws RangeError for anything else. */
export function bytes(text: string): number {
  return scaled(text, BYTES)
}
