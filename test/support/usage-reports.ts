/** Answers of providers with any usage: what a wire writes, and where it stands in its frames and replies. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type Utterance, WIRES, type WireName } from './wire.ts'

export const TEXT = ['Some words ', 'that count ', 'for something.']
const UTTERANCES: Utterance = { text: TEXT, usage: { input: 100, output: 10 } }

/** Usage as one wire writes it. */
export interface Report {
  input?: Json
  output?: Json
  cached?: Json
  reasoning?: Json
}

/** Count of a whole beside a part of it; a whole that is no count stays what it is. */
const without = (whole: Json | undefined, part: Json | undefined): Json | undefined =>
  typeof whole === 'number' && typeof part === 'number' && whole >= 0 ? Math.max(0, whole - part) : whole

const detail = (name: string, value: Json | undefined): JsonObject => (value === undefined ? {} : { [name]: value })

/** The usage object of each wire; counts that are not given are left out. `cached` is part of `input`, `reasoning` of `output`. */
export const REPORTS: Record<WireName, (report: Report) => JsonObject> = {
  'openai-chat': ({ input, output, cached, reasoning }) => ({
    ...detail('prompt_tokens', input),
    ...detail('completion_tokens', output),
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }),
  'openai-responses': ({ input, output, cached, reasoning }) => ({
    ...detail('input_tokens', input),
    ...detail('output_tokens', output),
    ...(cached === undefined ? {} : { input_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === undefined ? {} : { output_tokens_details: { reasoning_tokens: reasoning } }),
  }),
  anthropic: ({ input, output, cached, reasoning }) => ({
    ...detail('input_tokens', without(input, cached)),
    ...detail('output_tokens', output),
    ...detail('cache_read_input_tokens', cached),
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  }),
  gemini: ({ input, output, cached, reasoning }) => ({
    ...detail('promptTokenCount', input),
    ...detail('candidatesTokenCount', without(output, reasoning)),
    ...detail('cachedContentTokenCount', cached),
    ...detail('thoughtsTokenCount', reasoning),
  }),
}

/** Place of a usage object in the frames and replies of each wire. */
const MEMBER: Record<WireName, string> = {
  'openai-chat': 'usage',
  'openai-responses': 'usage',
  anthropic: 'usage',
  gemini: 'usageMetadata',
}

export const frameData = (frame: string): JsonObject | undefined => {
  const line = frame.split('\n').find((each) => each.startsWith('data: {'))
  return line === undefined ? undefined : (JSON.parse(line.slice(6)) as JsonObject)
}
const eventFrame = (event: JsonObject, name: string | undefined): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(event)}\n\n`

/** The object of an event that holds the usage, if it may hold one. */
function usageHolder(wire: WireName, event: JsonObject): JsonObject | undefined {
  if (wire === 'openai-responses') return event.response as JsonObject | undefined
  if (wire === 'anthropic' && event.type === 'message_start') return event.message as JsonObject
  if (wire === 'anthropic') return event.type === 'message_delta' ? event : undefined
  return event
}

/**
 * The stream with these reports in place of its own, the last of them where the wire has its last one.
 * Null stands for a usage member that is null, undefined for none at all.
 */
export function framesWith(wire: WireName, reports: readonly (JsonObject | null | undefined)[]): string[] {
  const places: { event: JsonObject; holder: JsonObject; name: string | undefined }[] = []
  const frames = WIRES[wire].frames(UTTERANCES).map((frame) => {
    const event = frameData(frame)
    const holder = event && usageHolder(wire, event)
    if (!event || !holder) return () => frame
    const name = /^event: (.*)$/m.exec(frame)?.[1]
    delete holder[MEMBER[wire]]
    places.push({ event, holder, name })
    return () => eventFrame(event, name)
  })
  for (const [index, report] of reports.entries()) {
    const place = places[places.length - reports.length + index]
    if (report !== undefined) place.holder[MEMBER[wire]] = report
  }
  return frames.map((text) => text())
}

export function replyWith(wire: WireName, report: JsonObject | null | undefined): JsonObject {
  const reply = WIRES[wire].reply(UTTERANCES)
  delete reply[MEMBER[wire]]
  if (report !== undefined) reply[MEMBER[wire]] = report
  return reply
}
