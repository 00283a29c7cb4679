/** Valid requests with random changes: each gets an answer or a 4xx with a message, never a 5xx. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { type Cell, startField } from '../support/matrix/field.ts'
import { marked, type Surface } from '../support/matrix/markers.ts'
import { createRandom, mutated } from '../support/matrix/mutate.ts'
import { CHAT_REQUESTS } from '../support/matrix/surface-chat.ts'
import { MESSAGES_REQUESTS } from '../support/matrix/surface-messages.ts'
import { RESPONSES_REQUESTS } from '../support/matrix/surface-responses.ts'
import { runs, seed } from '../support/seed.ts'
import type { Seen } from '../support/upstream.ts'
import { says } from '../support/wire.ts'

const SURFACES: Readonly<Record<Cell['client']['id'], Readonly<Record<string, Surface>>>> = {
  chat: CHAT_REQUESTS,
  responses: RESPONSES_REQUESTS,
  messages: MESSAGES_REQUESTS,
}

/** Member that holds the conversation in each wire. */
const CONVERSATIONS: Readonly<Record<string, string>> = {
  'openai-chat': 'messages',
  'openai-responses': 'input',
  anthropic: 'messages',
  gemini: 'contents',
}

const EACH = Math.ceil(runs(900, 100_000) / CLIENTS.length)
const SEED = seed()

t.setTimeout(3_600_000)
const field = await startField(t)
field.upstream.script = says({ text: ['Fine.'] })
t.comment(`seed ${SEED}`)

/** Fault in the treatment of a request; undefined where there is none. */
function wrong(cell: Cell, status: number, text: string, sent: readonly JsonObject[]): string | undefined {
  if (status === 200) return sent.length === 1 ? unfit(cell, sent[0]) : `the provider was called ${sent.length} times`
  if (status < 400 || status > 499) return `${status} ${text}`
  if (sent.length > 0) return `${status}, but the provider was called: ${JSON.stringify(sent)}`
  const error = (JSON.parse(text) as { error?: { message?: unknown } }).error
  return typeof error?.message === 'string' && error.message !== '' ? undefined : `${status} without a message: ${text}`
}

/** Fault in the body that the provider was sent: no conversation in its wire, or fields of the gateway. */
function unfit(cell: Cell, body: JsonObject): string | undefined {
  const conversation = body[CONVERSATIONS[cell.wire]]
  const utterance = typeof conversation === 'string' || Array.isArray(conversation)
  if (!utterance) return `the provider was sent no conversation: ${JSON.stringify(body)}`
  const own = ['provider', 'plugins', 'session_id', 'trace', 'models', 'route'].filter((name) => name in body)
  return own.length > 0 ? `the gateway's ${own.join(', ')} reached the provider` : undefined
}

for (const client of CLIENTS)
  t.test(`${EACH} changed requests of ${client.id}`, async (t) => {
    const cells = field.cells.filter((cell) => cell.client === client && cell.lane !== 'observe')
    const bodies = Object.values(SURFACES[client.id]).map((surface) => marked(surface).body)
    const random = createRandom(SEED)
    const counts = new Map<number, number>()
    for (let index = 0; index < EACH; index++) {
      const cell = cells[index % cells.length]
      const body = mutated(bodies, random)
      const response = await cell.ask(body)
      const text = await response.text()
      // Each is checked once and then dropped, since there may be a hundred thousand.
      const sent = (field.upstream.requests as Seen[]).splice(0).map((seen) => seen.json)
      const fault = wrong(cell, response.status, text, sent)
      if (fault !== undefined) t.fail(`${cell.name}: ${fault}`, { body })
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1)
    }
    t.comment([...counts].map(([status, count]) => `${status}: ${count}`).join(', '))
    t.ok((counts.get(200) ?? 0) > EACH / 20 && (counts.get(400) ?? 0) > EACH / 20, 'some requests were valid and some were not')
  })
