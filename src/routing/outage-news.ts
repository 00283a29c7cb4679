/** Message by which processes share ejections: endpoint, milliseconds that are left (0: it is over), how many in a row. */
import type { Json } from '../core/json.ts'

export interface OutageNews {
  readonly endpoint: string
  readonly ms: number
  readonly rounds: number
}

/** Characters of an endpoint's id. */
const LONGEST = 1_024

/** @returns undefined for what is no such news. */
export function readOutageNews(message: Json): OutageNews | undefined {
  if (!Array.isArray(message) || message.length !== 3) return undefined
  const [endpoint, ms, rounds] = message
  if (typeof endpoint !== 'string' || endpoint === '' || endpoint.length > LONGEST) return undefined
  return isCount(ms) && isCount(rounds) ? { endpoint, ms, rounds } : undefined
}

function isCount(value: Json): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
