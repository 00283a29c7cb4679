/** Content of a recorded reply of `/responses`. */
import type { JsonObject } from '../../src/core/json.ts'
import { type Expected, eventsIn, list, nothing, number, object, parseArgs, text } from './expected.ts'

/** `file_citation` and its kin name a file where a `url_citation` has an address. */
function addCitations(utterance: Expected, part: JsonObject): void {
  for (const each of list(part.annotations))
    utterance.citations.push({ url: text(each.url), title: text(each.title) || text(each.filename) || text(each.file_id) })
}

function addItem(utterance: Expected, item: JsonObject): void {
  if (item.type === 'message')
    for (const part of list(item.content)) {
      utterance.text += text(part.text)
      utterance.refusal += text(part.refusal)
      addCitations(utterance, part)
    }
  else if (item.type === 'reasoning') {
    // The full text of the thoughts, or else their summary.
    const parts = list(item.content).length > 0 ? list(item.content) : list(item.summary)
    utterance.reasoning += parts.map((part) => text(part.text)).join('')
    if (text(item.encrypted_content) !== '') utterance.secrets.push([text(item.encrypted_content)])
  } else if (item.type === 'function_call')
    utterance.calls.push({ id: text(item.call_id), name: text(item.name), args: parseArgs(item.arguments) })
}

/** A whole response object. */
export function readResponse(response: JsonObject): Expected {
  const utterance = nothing()
  for (const item of list(response.output)) addItem(utterance, item)
  utterance.word = text(response.status)
  const reason = text(object(response.incomplete_details).reason)
  if (utterance.word === 'incomplete') utterance.end = reason === 'content_filter' ? 'content_filter' : 'length'
  else utterance.end = utterance.calls.length > 0 ? 'tool_calls' : 'stop'
  if (typeof response.usage === 'object' && response.usage !== null) {
    const usage = object(response.usage)
    const input = object(usage.input_tokens_details)
    utterance.usage = {
      input: number(usage.input_tokens),
      output: number(usage.output_tokens),
      cached: number(input.cached_tokens),
      written: number(input.cache_write_tokens),
      reasoning: number(object(usage.output_tokens_details).reasoning_tokens),
    }
  }
  return utterance
}

/**
 * The terminal event holds the whole response; items that it leaves out came in `output_item.done`. OpenAI encrypts a reasoning
 * item anew in each of the two.
 */
export function readResponseStream(stream: string): Expected {
  const events = eventsIn(stream)
  const last = object(events.findLast(({ type }) => /^response\.(completed|incomplete|failed)$/.test(text(type)))?.response)
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => object(item))
  const utterance = readResponse(list(last.output).length > 0 ? last : { ...last, output: done })
  for (const [index, secret] of readResponse({ output: done }).secrets.entries()) utterance.secrets[index]?.push(...secret)
  return utterance
}
