/** Requests that were right before something was changed in them: an answer or a 4xx that names the field, never a 5xx. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { type Cell, startField } from '../support/matrix/field.ts'
import { marked, type Surface } from '../support/matrix/markers.ts'
import { mutated, randomOf } from '../support/matrix/mutate.ts'
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

/** Where each wire holds the conversation. */
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

/** What is wrong with how a request was treated; undefined where nothing is. */
function wrong(cell: Cell, status: number, text: string, sent: readonly JsonObject[]): string | undefined {
  if (status === 200) return sent.length === 1 ? unfit(cell, sent[0]) : `the provider was asked ${sent.length} times`
  if (status < 400 || status > 499) return `${status} ${text}`
  if (sent.length > 0) return `${status}, but the provider was asked: ${JSON.stringify(sent)}`
  const error = (JSON.parse(text) as { error?: { message?: unknown } }).error
  return typeof error?.message === 'string' && error.message !== '' ? undefined : `${status} without a message: ${text}`
}

/** The provider must have been sent what its wire calls a request, without anything of the gateway's own. */
function unfit(cell: Cell, body: JsonObject): string | undefined {
  const conversation = body[CONVERSATIONS[cell.wire]]
  const said = typeof conversation === 'string' || Array.isArray(conversation)
  if (!said) return `the provider was sent no conversation: ${JSON.stringify(body)}`
  const own = ['provider', 'plugins', 'session_id', 'trace', 'models', 'route'].filter((name) => name in body)
  return own.length > 0 ? `the gateway's ${own.join(', ')} reached the provider` : undefined
}

for (const client of CLIENTS)
  t.test(`${EACH} changed requests of ${client.id}`, async (t) => {
    const cells = field.cells.filter((cell) => cell.client === client && cell.lane !== 'observe')
    const bodies = Object.values(SURFACES[client.id]).map((surface) => marked(surface).body)
    const random = randomOf(SEED)
    const counts = new Map<number, number>()
    for (let index = 0; index < EACH; index++) {
      const cell = cells[index % cells.length]
      const body = mutated(bodies, random)
      const response = await cell.ask(body)
      const text = await response.text()
      // Each is looked at once: a hundred thousand of them are not to be kept.
      const sent = (field.upstream.requests as Seen[]).splice(0).map((seen) => seen.json)
      const fault = wrong(cell, response.status, text, sent)
      if (fault !== undefined) t.fail(`${cell.name}: ${fault}`, { body })
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1)
    }
    t.comment([...counts].map(([status, count]) => `${status}: ${count}`).join(', '))
    t.ok((counts.get(200) ?? 0) > EACH / 20 && (counts.get(400) ?? 0) > EACH / 20, 'some were right and some were wrong')
  })
