/** Ends of answers as providers write them, right and wrong, known and unknown, whole and half: what each means, and the bytes of it. */
import fc from 'fast-check'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { endedFrames, endedReply } from '../../support/ended.ts'
import { type Answer, jsonAnswer } from '../../support/upstream.ts'
import { ALL_WIRES, type AnyWireName, type Said, streamAnswer } from '../../support/wire.ts'

export const WIRE_NAMES = Object.keys(ALL_WIRES) as AnyWireName[]

export interface EndCase {
  readonly wire: AnyWireName
  readonly stream: boolean
  /** True where the provider has answered well: a client has to read it so. */
  readonly isGood: boolean
  /** Arguments of the calls of a good answer. */
  readonly args: string | undefined
  /** What was drawn, for the message of a test that fails. */
  readonly drawn: string
  readonly answer: Answer
}

/** Words after which an answer is whole; the wire's own where absent. */
const GOOD: Readonly<Record<AnyWireName, readonly string[]>> = {
  'openai-chat': ['stop', 'eos', 'end_turn', 'tool_calls', 'STOP'],
  'openai-responses': [],
  anthropic: ['end_turn', 'stop_sequence', 'tool_use'],
  gemini: ['STOP'],
  'bedrock-converse': ['end_turn', 'stop_sequence', 'tool_use'],
  'bedrock-anthropic': ['end_turn', 'stop_sequence', 'tool_use'],
}

/** Words that are none of success on any wire. */
const BAD = [
  ...['length', 'max_tokens', 'MAX_TOKENS', 'content_filter', 'SAFETY', 'refusal', 'network_error', 'sensitive', 'abort', 'repetition'],
  ...['error', 'malformed_function_call', 'MALFORMED_FUNCTION_CALL', 'OTHER', 'guardrail_intervened', 'malformed_tool_use', 'steered'],
  ...['max_messages', 'insufficient_system_resource', 'timeout', 'cancelled', 'unknown', 'stopped', 'stop ', 'done', 'tool_calls_failed'],
]

const badWord: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...BAD) },
  { weight: 2, arbitrary: fc.stringMatching(/^[a-z]{3,9}_[a-z]{3,9}$/) },
  { weight: 1, arbitrary: fc.string({ minLength: 8, maxLength: 30, unit: 'grapheme' }) },
)
/** The chat wire has also seen objects and numbers. */
const badChatWord: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: badWord },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('abort', 'a_new_kind'), message: fc.string() }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 99 }) },
)

const word = fc.string({ minLength: 1, maxLength: 20 })
/** An error of the chat wire, in a frame or as a body. */
const chatError: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ code: fc.oneof(fc.integer({ min: 400, max: 599 }), fc.constantFrom('1302', 'boom')), message: word }),
  fc.record({ detail: fc.oneof(word, fc.constant([{ loc: ['body'], msg: 'wrong' }])) }),
  fc.record({ errors: fc.constant([{ code: 7009, message: 'no' }]), success: fc.constant(false) }),
  fc.record({ base_resp: fc.record({ status_code: fc.integer({ min: 1000, max: 2100 }), status_msg: word }) }),
  fc.record({ status: fc.integer({ min: 400, max: 599 }), title: word }),
  fc.record({ type: fc.constant('error'), message: word }),
  fc.record({ error: fc.oneof(word, fc.record({ message: word, code: fc.constantFrom('x', '500', null) })) }),
  fc.record({ object: fc.constant('error'), message: word }),
)

const said: fc.Arbitrary<Said> = fc.oneof(
  fc.constant<Said>({ text: ['one ', 'two ', 'three'] }),
  fc.constant<Said>({ text: ['I look.'], calls: [{ id: 'call_1', name: 'look', args: ['{"path":"/srv/', 'data","dry_run":true}'] }] }),
  fc.constant<Said>({ calls: [{ id: 'call_1', name: 'look', args: ['{"path":', '"/srv/data"', ',"dry_run":true}'] }] }),
)
const ARGS = '{"path":"/srv/data","dry_run":true}'

type Kind = 'good' | 'word' | 'cut' | 'frame' | 'status' | 'arguments'

interface Drawn {
  wire: AnyWireName
  stream: boolean
  kind: Kind
  said: Said
  good: number
  bad: Json
  error: JsonObject
  /** Share of the bytes or frames that come. */
  share: number
  status: number
  closes: 'close' | 'reset' | undefined
  named: boolean
}

export const drawnCase: fc.Arbitrary<Drawn> = fc
  .record({
    wire: fc.constantFrom(...WIRE_NAMES),
    stream: fc.boolean(),
    kind: fc.constantFrom<Kind>('good', 'word', 'word', 'word', 'cut', 'frame', 'frame', 'status', 'arguments'),
    said,
    good: fc.nat(9),
    bad: badWord,
    chatBad: badChatWord,
    error: chatError,
    share: fc.double({ min: 0.01, max: 0.97, noNaN: true }),
    status: fc.constantFrom(400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529),
    closes: fc.constantFrom<'close' | 'reset' | undefined>('close', 'reset', undefined),
    named: fc.boolean(),
  })
  .map(({ chatBad, ...rest }) => ({ ...rest, bad: rest.wire === 'openai-chat' ? chatBad : rest.bad }))

/** What is wrong with the answer's bytes or words, as an answer of the provider. */
export function caseOf(drawn: Drawn): EndCase {
  const { wire, stream, kind } = drawn
  const isGood = kind === 'good'
  const args = isGood && drawn.said.calls ? ARGS : undefined
  const shown = JSON.stringify({ ...drawn, error: kind === 'frame' || kind === 'status' ? drawn.error : undefined })
  return { wire, stream, isGood, args, drawn: shown, answer: answerOf(drawn) }
}

function answerOf(drawn: Drawn): Answer {
  const { wire, stream, kind, said, bad } = drawn
  const good = GOOD[wire]
  switch (kind) {
    case 'good':
      return answered(drawn, said, good[drawn.good % Math.max(1, good.length)])
    case 'word':
      // A word of another wire may be one of success here.
      return answered(drawn, said, good.includes(String(bad)) ? 'a_new_word' : bad)
    case 'arguments': {
      const calls = [{ id: 'call_1', name: 'look', args: ['{"path":"/srv/data",', '"dry_run":tr'] }]
      // Arguments of this wire are objects.
      return wire === 'gemini' ? answered(drawn, said, 'A_NEW_WORD') : answered(drawn, { ...said, calls }, undefined, calls[0].args.join(''))
    }
    case 'cut':
      return cut(drawn, answered(drawn, said, undefined))
    case 'status':
      return { ...jsonAnswer(wire === 'openai-chat' ? drawn.error : ALL_WIRES[wire].error(drawn.status, 'no')), status: drawn.status }
    case 'frame':
      return stream ? broken(drawn) : jsonAnswer(wholeError(drawn))
  }
}

function answered({ wire, stream }: Drawn, said: Said, end: Json | undefined, args?: string): Answer {
  return stream ? streamAnswer(ALL_WIRES[wire], endedFrames(wire, said, end)) : jsonAnswer(endedReply(wire, said, end, args))
}

/** The bytes end before their time, properly or not; of a whole reply half the text is no JSON. */
function cut({ share, closes, stream }: Drawn, answer: Answer): Answer {
  const bytes = Buffer.concat((answer.body ?? []).map((piece) => Buffer.from(piece as string | Buffer)))
  // The mark and the usage of a stream that has its end already may be missing.
  const most = stream ? 0.5 : 0.97
  return { ...answer, body: [bytes.subarray(0, Math.ceil(bytes.length * Math.min(share, most)))], headers: { ...answer.headers, connection: 'close' }, after: closes }
}

/** An error in the middle of a stream, and on the chat wire the mark of its end behind it. */
function broken({ wire, said, share, error, named }: Drawn): Answer {
  const frames = endedFrames(wire, said, undefined)
  // The last frames hold the end.
  const before = frames.slice(0, Math.max(1, Math.floor((frames.length - 4) * share)))
  if (wire !== 'openai-chat') return streamAnswer(ALL_WIRES[wire], [...before, ALL_WIRES[wire].brokenFrame('it broke')])
  const frame = `${named ? 'event: error\n' : ''}data: ${JSON.stringify(error)}\n\n`
  return streamAnswer(ALL_WIRES[wire], [...before, frame, 'data: [DONE]\n\n'])
}

/** A body that reports an error although its status is one of success. */
function wholeError({ wire, error, status }: Drawn): JsonObject {
  return wire === 'openai-chat' ? error : ALL_WIRES[wire].error(status, 'no')
}
