/** Content of a recorded reply of `/chat/completions`. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import {
  type Expected,
  type ExpectedEnd,
  type ExpectedUsage,
  eventsIn,
  list,
  nothing,
  number,
  object,
  parseArgs,
  text,
} from './expected.ts'

/**
 * `num_cached_tokens`: Mistral; `prompt_cache_hit_tokens`: DeepSeek; the others as at OpenAI. Google's endpoint of this format
 * counts thoughts in the total alone.
 */
function readUsage(usage: JsonObject): ExpectedUsage {
  const prompt = object(usage.prompt_tokens_details)
  const hidden = Math.max(0, number(usage.total_tokens) - number(usage.prompt_tokens) - number(usage.completion_tokens))
  return {
    input: number(usage.prompt_tokens),
    output: number(usage.completion_tokens) + hidden,
    cached: number(prompt.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.num_cached_tokens),
    written: number(prompt.cache_write_tokens),
    reasoning: number(object(usage.completion_tokens_details).reasoning_tokens) + hidden,
  }
}

const ENDS: Readonly<Record<string, ExpectedEnd>> = {
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
}

/** Content is a text, or a list of parts with thoughts among them (Mistral's API reference, `ThinkChunk`). */
function addContent(utterance: Expected, content: Json | undefined): void {
  utterance.text += text(content)
  for (const part of list(content))
    if (part.type === 'thinking')
      utterance.reasoning += list(part.thinking)
        .map((piece) => text(piece.text))
        .join('')
    else utterance.text += text(part.text)
}

/** A message, or a delta of one. */
function addMessage(utterance: Expected, message: JsonObject): void {
  addContent(utterance, message.content)
  const details = list(message.reasoning_details)
  const plain = text(message.reasoning) || text(message.reasoning_content)
  utterance.reasoning += plain || details.map((detail) => text(detail.text) || text(detail.summary)).join('')
  for (const detail of details)
    for (const secret of [detail.signature, detail.data]) if (text(secret) !== '') utterance.secrets.push([text(secret)])
  utterance.refusal += text(message.refusal)
  for (const { url_citation } of list(message.annotations))
    utterance.citations.push({ url: text(object(url_citation).url), title: text(object(url_citation).title) })
  // Groq: npm groq-sdk 1.6.0, `ExecutedTool`; each page once.
  const pages = list(message.executed_tools).flatMap(({ search_results: found }) => list(object(found).results))
  for (const { url, title } of new Map(pages.map((page) => [page.url, page])).values())
    utterance.citations.push({ url: text(url), title: text(title) })
}

function addEnd(utterance: Expected, reason: Json | undefined): void {
  if (text(reason) === '') return
  utterance.word = text(reason)
  utterance.end = ENDS[utterance.word] ?? 'stop'
}

/** A whole completion. The `x_groq` of Groq's last chunk has its usage as well. */
export function readChat(reply: JsonObject): Expected {
  const utterance = nothing()
  const [choice = {}] = list(reply.choices)
  const message = object(choice.message)
  addMessage(utterance, message)
  for (const call of list(message.tool_calls)) {
    const { name, arguments: args } = object(call.function)
    utterance.calls.push({ id: text(call.id), name: text(name), args: parseArgs(args) })
  }
  addEnd(utterance, choice.finish_reason)
  if (typeof reply.usage === 'object' && reply.usage !== null) utterance.usage = readUsage(object(reply.usage))
  return utterance
}

export function readChatStream(stream: string): Expected {
  const utterance = nothing()
  const calls: { id: string; name: string; args: string }[] = []
  for (const chunk of eventsIn(stream)) {
    const usage = chunk.usage ?? object(chunk.x_groq).usage
    if (typeof usage === 'object' && usage !== null) utterance.usage = readUsage(object(usage))
    const choice = list(chunk.choices).find(({ index }) => number(index) === 0) ?? {}
    const delta = object(choice.delta)
    addMessage(utterance, delta)
    for (const part of list(delta.tool_calls)) {
      const call = calls[number(part.index)] ?? { id: '', name: '', args: '' }
      calls[number(part.index)] = call
      call.id ||= text(part.id)
      call.name ||= text(object(part.function).name)
      call.args += text(object(part.function).arguments)
    }
    addEnd(utterance, choice.finish_reason)
  }
  utterance.calls = calls.map(({ id, name, args }) => ({ id, name, args: parseArgs(args) }))
  return utterance
}
