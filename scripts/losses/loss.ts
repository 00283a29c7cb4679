/**
 * Losses of translation, with the reason for each: data alone, verified leaf by leaf by the tests
 * and printed in docs/dialects.md. Parameters that a wire lacks stand in its parameter table instead.
 */

export type ClientName = 'chat' | 'responses' | 'messages'
export type UpstreamName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock-converse'

export interface Loss {
  readonly client: ClientName
  readonly upstream: UpstreamName
  /** Elements of a list go by their type or role: `messages[user].content[image_url].image_url.detail`. All below it is lost with it. */
  readonly path: string
  readonly reason: string
  /** The name under which the generation's record lists it, where the caller may want to know. */
  readonly recorded?: string
  /** Set where it is lost only if the gateway had to write a message of the same wire anew. */
  readonly lane?: 'translate'
}

/** Entries of one client that share all but the path; `[type]` as the recorded name is the last type of the path. */
export type Row = readonly [
  upstreams: readonly UpstreamName[],
  reason: string,
  paths: readonly string[],
  recorded?: string | undefined,
  lane?: 'translate',
]

function recordedName(recorded: string, path: string): string {
  return recorded === '[type]' ? (/\[([^\] ]+)[^\]]*\][^[]*$/.exec(path)?.[1] ?? recorded) : recorded
}

/** The rows of one client as entries. */
export function clientLosses(client: ClientName, rows: readonly Row[]): Loss[] {
  return rows.flatMap(([upstreams, reason, paths, recorded, lane]) =>
    upstreams.flatMap((upstream) =>
      paths.map((path) => ({
        client,
        upstream,
        path,
        reason,
        ...(recorded === undefined ? {} : { recorded: recordedName(recorded, path) }),
        ...(lane === undefined ? {} : { lane }),
      })),
    ),
  )
}
