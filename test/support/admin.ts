/** Requests to the admin listener of a gateway whose configuration names this token. */
export const ADMIN_TOKEN = 'admin-token-of-the-tests'

/** As `fetch`, with the admin token. */
export function adminFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${ADMIN_TOKEN}`)
  return fetch(url, { ...init, headers })
}

/** Verdict of `GET /ledger/verify` on everything that was recorded before this call. */
export async function freshVerdict(admin: string): Promise<{ ok: boolean; open: number; charged: number; problems: string[] }> {
  const reply = await adminFetch(`${admin}/ledger/verify`, { headers: { 'cache-control': 'no-cache' } })
  if (!reply.ok) throw new Error(`GET /ledger/verify: ${reply.status} ${await reply.text()}`)
  return (await reply.json()) as { ok: boolean; open: number; charged: number; problems: string[] }
}
