/** Requests of the control room's own pages, apart from those that pages of others have a browser send. */
import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/faults.ts'

/** A page of another origin cannot add it without a preflight, which no route here answers (Fetch standard, CORS-preflight fetch). */
export const OWN_HEADER = 'x-control-room'

const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD'])

/**
 * `SameSite=Strict` keeps other sites from sending the cookie; other ports of this host are the same site, so that more is checked.
 * @throws Fault 403.
 */
export function checkOrigin({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): void {
  const site = headers['sec-fetch-site']
  const isSafe = SAFE_METHODS.has(method)
  // `none`: the person has typed the address or used a bookmark.
  if (site !== undefined && site !== 'same-origin' && !(isSafe && site === 'none')) throw refused('sec-fetch-site')
  const { origin, host } = headers
  if (origin !== undefined && URL.parse(origin)?.host !== host) throw refused('origin')
  if (!isSafe && headers[OWN_HEADER] === undefined) throw refused(OWN_HEADER)
}

const refused = (header: string): Fault =>
  new Fault('forbidden', { message: `${header}: the request does not come from a page of the control room` })
