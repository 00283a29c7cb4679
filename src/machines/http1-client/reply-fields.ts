/** The head of a reply: its fields by name, how long its connection is kept, and how many interim ones come before it. */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../../core/faults.ts'

/** Milliseconds that an idle connection is kept where the provider names no time, and at most. */
export const KEEP_ALIVE = 30_000
const MAX_KEEP_ALIVE_MS = 600_000
/** Milliseconds by which a connection is given up before its provider would close it. */
const MARGIN = 2_000

const TIMEOUT = /timeout=(\d{1,9})/

/** @param headers flat list. @returns by names in lower case; a list where a name is repeated. */
export function headerFields(headers: readonly string[]): IncomingHttpHeaders {
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
  return seconds === undefined ? KEEP_ALIVE : Math.min(Number(seconds) * 1000 - MARGIN, MAX_KEEP_ALIVE_MS)
}

/**
 * Interim replies that one request takes: any number may come (RFC 9110 section 15.2), and a provider that shows with them that it works
 * sends far fewer.
 */
export const MAX_INTERIM = 1_000

export const tooManyInterim = (): Fault => new Fault('upstream_garbled', { cause: new Error(`more than ${MAX_INTERIM} interim replies`) })
