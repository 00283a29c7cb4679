/** `Utterance` as each wire writes it, with an end in words of the provider's own, or with arguments that are no JSON. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { event } from './event-stream.ts'
import { list, object } from './fold.ts'
import { ALL_WIRES, type AnyWireName, type Utterance } from './wire.ts'
import { chunk, claudeEvents } from './wire-bedrock-claude.ts'

type Edit = (body: JsonObject) => void

/** Writes the end into an event of a stream, or into a whole reply. */
function endEdit(wire: AnyWireName, word: Json): Edit {
  switch (wire) {
    case 'openai-chat':
      return (body) => {
        for (const choice of list(body.choices)) if (body.object === 'chat.completion' || choice.finish_reason) choice.finish_reason = word
      }
    case 'openai-responses':
      return (body) => {
        if (body.type !== undefined && body.type !== 'response.completed') return
        const response = body.type === undefined ? body : object(body.response)
        if (body.type !== undefined) body.type = 'response.incomplete'
        Object.assign(response, { status: 'incomplete', incomplete_details: { reason: word } })
      }
    case 'gemini':
      return (body) => {
        for (const candidate of list(body.candidates)) if (candidate.finishReason) candidate.finishReason = word
      }
    case 'bedrock-converse':
      return (body) => {
        body.stopReason = word
      }
    default:
      return (body) => {
        const holder = body.type === 'message' ? body : object(body.delta)
        if (holder.stop_reason) holder.stop_reason = word
      }
  }
}

/** The events of a server-sent stream, each edited. */
export function editFrames(frames: readonly string[], edit: Edit): string[] {
  return frames.map((frame) => {
    const at = frame.indexOf('data: ')
    if (frame.includes('[DONE]')) return frame
    const body = JSON.parse(frame.slice(at + 6)) as JsonObject
    edit(body)
    return `${at > 0 && body.type ? `event: ${body.type}\n` : ''}data: ${JSON.stringify(body)}\n\n`
  })
}

/** @param word undefined leaves the wire's own. */
export function endedFrames(wire: AnyWireName, utterance: Utterance, word: Json | undefined): string[] {
  const { frames } = ALL_WIRES[wire]
  if (word === undefined) return frames(utterance)
  if (wire === 'bedrock-converse') {
    const [metadata, ...before] = frames(utterance).toReversed()
    return [...before.slice(1).toReversed(), event('messageStop', { stopReason: word }).toString('latin1'), metadata]
  }
  const edit = endEdit(wire, word)
  if (wire !== 'bedrock-anthropic') return editFrames(frames(utterance), edit)
  return claudeEvents(utterance).map((body) => {
    edit(body)
    return chunk(JSON.stringify(body)).toString('latin1')
  })
}

/** Members that hold the arguments of calls in a whole reply. */
const HOLDERS: ReadonlySet<string> = new Set(['arguments', 'input', 'args'])

/** @param args of each call, in place of what `said` has: whole replies of some wires hold them as objects. */
export function endedReply(wire: AnyWireName, utterance: Utterance, word: Json | undefined, args?: Json): JsonObject {
  const whole =
    utterance.calls && args !== undefined ? { ...utterance, calls: utterance.calls.map((call) => ({ ...call, args: ['{}'] })) } : utterance
  const reply = ALL_WIRES[wire].reply(whole)
  if (word !== undefined) endEdit(wire, word)(reply)
  if (args === undefined) return reply
  return JSON.parse(JSON.stringify(reply), (key, value: Json) => {
    const isCall = HOLDERS.has(key) && (typeof value === 'object' || value === '{}')
    return isCall ? args : value
  }) as JsonObject
}
