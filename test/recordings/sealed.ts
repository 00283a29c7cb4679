/** Signed and encrypted parts of recorded replies. */
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { list, object } from '../support/fold.ts'
import type { Exchange } from './cassettes.ts'
import { recordedExpected } from './recorded.ts'

/** Every non-empty text under these names, wherever it stands. */
export function textsUnder(value: Json, names: ReadonlySet<string>, found: Set<string>): void {
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
      if (block.type === 'thinking' && block.signature) found.add(String(block.signature))
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

/** Signed and encrypted parts of a reply, each in the forms that it has; none for a wire without any. */
export function exchangeSignatures(exchange: Exchange): string[][] {
  const { wire, body, streamed } = exchange
  if (wire === 'bedrock-converse') return recordedExpected(exchange).secrets
  const events = streamed ? eventsIn(body) : [JSON.parse(body) as JsonObject]
  if (wire === 'openai-responses') {
    const last = streamed ? events.findLast(({ type }) => String(type).startsWith('response.'))?.response : events[0]
    return responsesSeals(events, object(last))
  }
  const found = new Set<string>()
  if (wire === 'gemini') textsUnder(events as Json[], new Set(['thoughtSignature']), found)
  else if (wire === 'anthropic' || wire === 'bedrock-anthropic') messagesSeals(events, found)
  return [...found].map((seal) => [seal])
}
