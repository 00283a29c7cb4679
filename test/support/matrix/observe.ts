/** Sends surfaces through the gateway and tells what became of each leaf. */
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, parseFrames } from '../fold.ts'
import { jsonAnswer, sseAnswer } from '../upstream.ts'
import { type AnyWireName, says, type Utterance } from '../wire.ts'
import type { Cell } from './field.ts'
import { changed, holds, type Marked, type MarkedLeaf } from './markers.ts'
import { STREAMED } from './streamed.ts'

/** Outcome of a surface. */
export interface Outcome {
  status: number
  /** Leaves of which the other side saw nothing: neither their mark, nor any difference when they change. */
  lost: MarkedLeaf[]
  /** Names that the generation's record gives of what was left out. */
  dropped: string[]
  /** The error's text, where the request was refused. */
  refusal: string
}

/** Requests that leave nothing of a reply out. */
const ASKING: Readonly<Record<Cell['client']['id'], JsonObject>> = {
  chat: { messages: [{ role: 'user', content: 'Hello' }], logprobs: true, top_logprobs: 1 },
  responses: { input: 'Hello', include: ['reasoning.encrypted_content', 'message.output_text.logprobs'] },
  messages: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4096, thinking: { type: 'adaptive' } },
}

const FINE: Utterance = { text: ['Fine.'] }

/** Parameters that the first attempt of an exchange left out. */
export function generationDropped(generation: JsonObject): string[] {
  const [first = {}] = list(generation.provider_responses)
  return Array.isArray(first.dropped) ? first.dropped.map(String) : []
}

/** Everything of a request that a provider can see. */
async function sent(
  cell: Cell<AnyWireName>,
  body: JsonObject,
): Promise<{ status: number; upstream: Json; response: Response; text: string }> {
  cell.upstream.script = says(FINE)
  const before = cell.upstream.requests.length
  const response = await cell.ask(body)
  const text = await response.text()
  const seen = cell.upstream.requests.length > before ? cell.seen() : undefined
  return { status: response.status, upstream: seen ? { path: seen.path, body: seen.json } : null, response, text }
}

/** Outcomes of a request's leaves on their way to the provider. */
export async function observeRequest(cell: Cell<AnyWireName>, { body, leaves }: Marked): Promise<Outcome> {
  const { status, upstream, response, text } = await sent(cell, body)
  if (status !== 200) return { status, lost: [], dropped: [], refusal: text }
  const lost: MarkedLeaf[] = []
  for (const leaf of leaves) {
    if (leaf.needle !== undefined && holds(upstream, leaf.needle)) continue
    const again = await sent(cell, changed(body, leaf))
    if (again.status === 200 && JSON.stringify(again.upstream) === JSON.stringify(upstream)) lost.push(leaf)
  }
  return { status, lost, dropped: generationDropped(await cell.generation(response)), refusal: '' }
}

/** Identifiers and times of this gateway: they differ from reply to reply whatever the provider says. */
function steady(text: string): string {
  return text
    .replaceAll(/\b(gen|msg|rs|fc|item|ig|resp|req)[-_][A-Za-z0-9_-]{8,}/g, '$1')
    .replaceAll(/"(created|created_at|completed_at|expires_at)":\d+/g, '"$1":0')
}

/** Data that a caller receives: the parsed events of a stream, or the one reply. */
function received(text: string, stream: boolean): Json {
  if (!stream) return [JSON.parse(text) as Json]
  return parseFrames(text)
    .filter((frame) => frame.data !== '[DONE]')
    .map((frame) => JSON.parse(frame.data) as Json)
}

/** Outcomes of a reply's leaves on their way to the caller, whole or streamed. */
export async function observeReply(cell: Cell, { body, leaves }: Marked, stream: boolean): Promise<Outcome> {
  const get = async (reply: JsonObject): Promise<{ status: number; text: string; response: Response }> => {
    cell.upstream.script = () => (stream ? sseAnswer(STREAMED[cell.wire](reply)) : jsonAnswer(reply))
    const response = await cell.ask({ ...ASKING[cell.client.id], stream })
    return { status: response.status, text: await response.text(), response }
  }
  const { status, text } = await get(body)
  if (status !== 200) return { status, lost: [], dropped: [], refusal: text }
  const shown = received(text, stream)
  const lost: MarkedLeaf[] = []
  for (const leaf of leaves) {
    if (leaf.needle !== undefined && holds(shown, leaf.needle)) continue
    const again = await get(changed(body, leaf))
    if (again.status === 200 && steady(again.text) === steady(text)) lost.push(leaf)
  }
  return { status, lost, dropped: [], refusal: '' }
}
