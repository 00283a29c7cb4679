/** The head of a reply: its fields by name, and how long its connection is kept. */
import type { IncomingHttpHeaders } from 'node:http'

/** Milliseconds that an idle connection is kept where the provider names no time, and at most. */
export const KEEP_ALIVE = 30_000
const LONGEST_KEEP_ALIVE = 600_000
/** Milliseconds by which a connection is given up before its provider would close it. */
const MARGIN = 2_000

const TIMEOUT = /timeout=(\d{1,9})/

/** @param headers flat list. @returns by names in lower case; a list where a name is repeated. */
export function fieldsOf(headers: readonly string[]): IncomingHttpHeaders {
  const fields: Record<string, string | string[]> = {}
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]?.toLowerCase() ?? ''
    const value = headers[i + 1] ?? ''
    // Not what every object inherits.
    const before = Object.hasOwn(fields, name) ? fields[name] : undefined
    fields[name] = before === undefined ? value : [before, value].flat()
  }
  return fields
}

/** Milliseconds, from the parameter that providers send beside `Connection: keep-alive`; 0 or less where none are left. */
export function keptFor(header: string | string[] | undefined): number {
  const seconds = header === undefined ? undefined : TIMEOUT.exec(`${header}`)?.[1]
  return seconds === undefined ? KEEP_ALIVE : Math.min(Number(seconds) * 1000 - MARGIN, LONGEST_KEEP_ALIVE)
}
