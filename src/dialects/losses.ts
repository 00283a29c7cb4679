/**
 * What does not survive translation, with the reason for each: data alone, verified leaf by leaf by the tests
 * and printed in docs/dialects.md. Parameters that a wire lacks stand in its parameter table instead.
 */

export type ClientName = 'chat' | 'responses' | 'messages'
export type UpstreamName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini'

export interface Loss {
  readonly client: ClientName
  readonly upstream: UpstreamName
  /** Elements of a list go by their type or role: `messages[user].content[image_url].image_url.detail`. All below it is lost with it. */
  readonly path: string
  readonly reason: string
  /** The name under which the generation's record lists it, where the caller may want to know. */
  readonly recorded?: string
}

/** Clients, upstreams (space-separated), paths (space-separated), reason, name in the record. */
type Row = readonly [clients: string, upstreams: string, paths: string, reason: string, recorded?: string]

function losses(rows: readonly Row[]): Loss[] {
  return rows.flatMap(([clients, upstreams, paths, reason, recorded]) =>
    clients.split(' ').flatMap((client) =>
      upstreams.split(' ').flatMap((upstream) =>
        paths.split(' ').map((path) => {
          const loss = { client: client as ClientName, upstream: upstream as UpstreamName, path, reason }
          return recorded === undefined ? loss : { ...loss, recorded }
        }),
      ),
    ),
  )
}

/** Leaves of requests that the provider does not see. */
export const requestLosses: readonly Loss[] = losses([])

/** Leaves of replies that the caller does not see. */
export const replyLosses: readonly Loss[] = losses([])
