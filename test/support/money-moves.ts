/**
 * Moves of two keys against one provider, for the property test of money: what a provider adds outside of the body, ids of the key's own and
 * of the other, the provider's own operation through the pass-through, token counters, tiers by words known and unknown, usage that cannot be true, failures before and in the middle of an answer,
 * callers that leave. The provider keeps its own account of what it bills.
 */
import assert from 'node:assert/strict'
import type { JsonObject } from '../../src/core/json.ts'
import { buildPdf } from './documents.ts'
import { type Answer, jsonAnswer, type Script, type Seen, sseAnswer } from './upstream.ts'

/** Below the 100,000 tokens of which one request may take all that is left: every bound is held in full. */
export const CONTEXT = 90_000
const CAP = 50
/** Nano-dollars per token. */
export const INPUT = 1_000
export const OUTPUT = 2_000
/** Price of the tier `priority`, and of tiers that are not known. */
const DEAR = 2
/** Nano-dollars that the gateway holds at most for a request: a caller of the pass-through that leaves before a report is charged all of it (decision 54). */
export const MAX_HELD = (CONTEXT * INPUT + CAP * OUTPUT) * DEAR
/** Tokens of the PDF as the provider counts them: it has more pages than the context has room for. */
const COUNTED = 30_000
const PAGES = 60

const pdf = buildPdf(
  Array.from({ length: PAGES }, () => 'x'),
  { packed: true },
).toString('base64')
const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }

const KINDS = {
  plain: {},
  hostile: {},
  servers: { mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example.com/mcp' }] },
  fetches: { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2, max_content_tokens: 3_000 }] },
  code: { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
  counted: { messages: [{ role: 'user', content: [document] }] },
  begins: { thread: { type: 'create' } },
  continues: {},
  container: {},
} as const satisfies Record<string, JsonObject>
type Kind = keyof typeof KINDS
/** Drawn more often: what gives a key something to name, and what names it. */
const USUAL: readonly Kind[] = ['begins', 'code', 'continues', 'container', 'continues', 'container']
const TIERS = ['standard', 'standard', 'standard', 'priority', 'turbo_plus'] as const
/** Over the gateway's own operation, or the provider's. */
const WAYS = ['own', 'native'] as const
const ENDS = ['whole', 'whole', 'whole', 'stream', 'stream', 'refused', 'cut', 'left'] as const

export interface Move {
  readonly key: number
  /** The key whose id is named. */
  readonly owner: number
  readonly kind: Kind
  /** Of the bound that the provider reports. */
  readonly share: number
  readonly tier: (typeof TIERS)[number]
  readonly end: (typeof ENDS)[number]
  readonly way: (typeof WAYS)[number]
}

export function drawMove(below: (most: number) => number): Move {
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T
  return {
    key: below(2),
    owner: below(2),
    kind: pick([...(Object.keys(KINDS) as Kind[]), ...USUAL]),
    share: pick([0, 0.3, 1]),
    tier: pick(TIERS),
    end: pick(ENDS),
    way: pick(WAYS),
  }
}

/** Gives a key a thread of its own through the pass-through, which moves of both keys then name. */
export function firstMove(key: number): Move {
  return { key, owner: key, kind: 'begins', share: 0, tier: 'standard', end: 'whole', way: 'native' }
}

/** Work of the provider for one request, by the id of its generation. */
interface Billed {
  readonly move: Move
  readonly holder: string
  readonly nano: number
}

interface Expected {
  readonly move: Move
  readonly holder: string
}

export class BillingProvider {
  readonly billed = new Map<string, Billed>()
  counts = 0
  private readonly moves = new Map<string, Expected>()
  private readonly seen = new Map<string, number>()

  /** @param holder of the key's ids. */
  expect(mark: string, move: Move, holder: string): void {
    this.moves.set(mark, { move, holder })
  }

  /** The pass-through does not say which generation a request is: the reply's head does. */
  name(mark: string, generation: string): void {
    const bill = this.billed.get(mark)
    if (bill) this.billed.set(generation, bill)
  }

  /** True where a request of the holder has cost so much: a caller whose gateway was killed may not have seen the head of its reply. */
  hasBilled(holder: string, nano: number): boolean {
    return [...this.billed.values()].some((bill) => bill.holder === holder && bill.nano === nano)
  }

  readonly answer: Script = (request): Answer => {
    // A list of models, which a health check of the gateway looks at.
    if (request.method === 'GET') return { status: 404 }
    if (request.path.includes('count_tokens')) {
      this.counts++
      return jsonAnswer({ input_tokens: COUNTED })
    }
    const mark = requestMark(request.json)
    const expected = this.moves.get(mark)
    assert.ok(expected, 'a request that no key has sent')
    const { move, holder } = expected
    const id = `msg_${move.way === 'native' ? mark : String(request.headers['x-client-request-id'])}`
    if (move.end === 'refused')
      return { ...jsonAnswer({ type: 'error', error: { type: 'overloaded_error', message: 'later' } }), status: 529 }
    if (move.end === 'left') return { before: 'stall' }
    const [input, output] = [Math.floor(50 + move.share * maxCost(request, move, this.seen)), Math.floor(move.share * CAP)]
    this.seen.set(id, input + output)
    const nano = (input * INPUT + output * OUTPUT) * (move.tier === 'standard' ? 1 : DEAR)
    this.billed.set(id.slice('msg_'.length), { move, holder, nano })
    const usage = { input_tokens: input, output_tokens: output, service_tier: move.tier }
    return moveReply(request, { id, usage, cut: move.end === 'cut', container: `container_of_${holder}` })
  }
}

function maxCost({ json }: Seen, { kind }: Move, seen: ReadonlyMap<string, number>): number {
  if (kind === 'hostile') return 20_000_000
  if (kind === 'counted') return COUNTED - 50
  if (kind === 'fetches') return 6_000
  if (kind === 'continues') return seen.get(String((json.thread as JsonObject | undefined)?.previous_message_id)) ?? 0
  return kind === 'plain' || kind === 'begins' ? 100 : CONTEXT - 50
}

interface Written {
  readonly id: string
  readonly usage: JsonObject
  readonly cut: boolean
  readonly container: string
}

function moveReply({ json }: Seen, { id, usage, cut, container }: Written): Answer {
  const held = json.tools === undefined ? null : { id: container, expires_at: '2030-01-01T00:00:00Z' }
  const head = { id, type: 'message', role: 'assistant', model: 'up', container: held }
  if (json.stream !== true && !cut) return jsonAnswer({ ...head, content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn', usage })
  if (json.stream !== true)
    return { headers: { 'content-type': 'application/json', 'content-length': '999' }, body: ['{"id":'], after: 'close' }
  const events: JsonObject[] = [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null, container: held }, usage },
    { type: 'message_stop' },
  ]
  const frames = (cut ? events.slice(0, 3) : events).map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
  return cut ? { ...sseAnswer(frames), after: 'close' } : sseAnswer(frames)
}

const requestMark = ({ messages }: JsonObject): string => {
  const [message] = (messages ?? []) as JsonObject[]
  const content = message?.content
  return String(((Array.isArray(content) ? content.at(-1) : undefined) as JsonObject | undefined)?.text)
}

/** Ids that a key has been given, by which later moves name it. */
export class Owned {
  readonly own = { threads: ['', ''], containers: ['', ''] }
  readonly native = { threads: ['', ''], containers: ['', ''] }

  /** Without anything to name where the key has been given nothing yet. */
  body({ kind, owner, end, way }: Move, mark: string): JsonObject {
    const { threads, containers } = this[way]
    const named =
      kind === 'continues'
        ? threads[owner] && { thread: { type: 'continue', previous_message_id: threads[owner] } }
        : kind === 'container'
          ? containers[owner] && { container: containers[owner] }
          : KINDS[kind]
    const [given] = (named && 'messages' in named ? named.messages : [{ role: 'user', content: [] }]) as { content: JsonObject[] }[]
    const content = [...(given?.content ?? []), { type: 'text', text: mark }]
    return {
      model: way === 'own' ? 'acme/one' : 'up',
      max_tokens: CAP,
      ...named,
      messages: [{ role: 'user', content }],
      stream: end === 'stream' || end === 'cut',
    }
  }
}
