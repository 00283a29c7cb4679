/**
 * What a provider has signed or encrypted in a recorded reply comes back to it with the next turn, byte for byte, through callers of each
 * format. Runs with `npm run test:recordings`.
 */
import t from 'tap'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { list, object } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { nextTurn } from '../support/next-turn.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { CLIENTS, shortRequest } from './callers.ts'
import { type Exchange, nameOf, readRecordings } from './cassettes.ts'
import { failureOf } from './failures.ts'
import { requiredFolder } from './folder.ts'
import { configuration, modelFor } from './providers.ts'

/** Every non-empty text under these names, wherever it stands. */
function textsUnder(value: Json, names: ReadonlySet<string>, found: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) textsUnder(each, names, found)
  else if (isObject(value))
    for (const [name, each] of Object.entries(value)) {
      if (names.has(name) && typeof each === 'string' && each !== '') found.add(each)
      else textsUnder(each as Json, names, found)
    }
}

/** Blocks of a Messages reply whose signatures and data came in pieces or whole. */
function messagesSeals(events: readonly JsonObject[], found: Set<string>): void {
  const signatures = new Map<Json | undefined, string>()
  for (const { index, delta, content_block, content } of events) {
    const piece = object(delta).signature
    if (typeof piece === 'string') signatures.set(index, (signatures.get(index) ?? '') + piece)
    for (const block of [object(content_block), ...list(content)]) {
      if (block.type === 'redacted_thinking') found.add(String(block.data))
      if (block.type === 'thinking' && block.signature) signatures.set(`${index}`, String(block.signature))
    }
  }
  for (const signature of signatures.values()) if (signature !== '') found.add(signature)
}

/** Objects of a recorded stream, whatever its marks. */
function eventsIn(stream: string): JsonObject[] {
  const texts = stream.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : []))
  return texts.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text) as JsonObject)
}

/** OpenAI encrypts a thought anew in each event that has its item; each of them is the thought (recordings of its streams). */
function responsesSeals(events: readonly JsonObject[], whole: JsonObject): string[][] {
  const forms = new Map<string, string[]>()
  const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [object(item)] : []))
  for (const { type, id, encrypted_content: sealed } of [...done, ...list(whole.output)])
    if (type === 'reasoning' && typeof sealed === 'string') forms.set(`${id}`, [...(forms.get(`${id}`) ?? []), sealed])
  return [...forms.values()]
}

/** What the provider has sealed in a reply, each in the forms that it has; none of a wire that seals nothing, or whose bytes are not read here. */
function sealsOf({ wire, body, binary, streamed }: Exchange): string[][] {
  if (binary) return []
  const events = streamed ? eventsIn(body) : [JSON.parse(body) as JsonObject]
  if (wire === 'openai-responses') {
    const last = streamed ? events.findLast(({ type }) => String(type).startsWith('response.'))?.response : events[0]
    return responsesSeals(events, object(last))
  }
  const found = new Set<string>()
  if (wire === 'gemini') textsUnder(events as Json[], new Set(['thoughtSignature']), found)
  else if (wire === 'anthropic') messagesSeals(events, found)
  return [...found].map((seal) => [seal])
}

t.setTimeout(280_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('what is sealed comes back', async (t) => {
    const upstream = await startUpstream(() => ({ status: 500 }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const turns = new Map<string, number>()
    const lost: string[] = []
    for (const exchange of readRecordings(folder).exchanges) {
      const seals = failureOf(exchange) ? [] : sealsOf(exchange)
      if (seals.length === 0) continue
      const { status, headers, body, streamed } = exchange
      for (const client of CLIENTS) {
        upstream.script = () => ({ status, headers, body: [body] })
        const request = shortRequest(client, modelFor(exchange), streamed)
        const reply = await gateway.post(client.path, request)
        const next = nextTurn(client, await reply.text(), streamed)
        if (!next) continue
        upstream.script = says({ text: ['fine'] })
        const second = await gateway.post(client.path, { ...request, ...next, stream: false })
        await second.text()
        const sent = new Set<string>()
        textsUnder(upstream.requests.at(-1)?.json as Json, new Set(['thoughtSignature', 'signature', 'data', 'encrypted_content']), sent)
        const missing = seals.filter((forms) => !forms.some((form) => sent.has(form)))
        turns.set(client.id, (turns.get(client.id) ?? 0) + 1)
        if (missing.length > 0) lost.push(`${client.id}, ${nameOf(exchange)}: ${missing.length} of ${seals.length}`)
      }
    }
    for (const client of CLIENTS) t.ok((turns.get(client.id) ?? 0) > 100, `${client.id}: ${turns.get(client.id)} turns`)
    t.same(lost, [])
  })
