/** Requests to the admin listener of a gateway whose configuration names this token. */
export const ADMIN_TOKEN = 'admin-token-of-the-tests'

/** As `fetch`, with the admin token. */
export function adminFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${ADMIN_TOKEN}`)
  return fetch(url, { ...init, headers })
}
