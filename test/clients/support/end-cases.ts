/** Ends of answers as providers write them, right and wrong, known and unknown, whole and half: what each means, and the bytes of it. */
import fc from 'fast-check'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { endedFrames, endedReply } from '../../support/ended.ts'
import { type Answer, JSON_TYPE, jsonAnswer } from '../../support/upstream.ts'
import { ALL_WIRES, type AnyWireName, type Utterance, streamAnswer } from '../../support/wire.ts'

export const WIRE_NAMES = Object.keys(ALL_WIRES) as AnyWireName[]

export interface EndCase {
  readonly wire: AnyWireName
  readonly stream: boolean
  /** True where the provider has answered well: a client has to read it so. */
  readonly isGood: boolean
  /** True where the whole answer has come, and its last word alone is none of success: callers get what has come. */
  readonly isKept: boolean
  /** Arguments of the calls of a good answer. */
  readonly args: string | undefined
  /** Text of the drawn case, for the message of a test that fails. */
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

/** `fc.record` with the prototype that parsed JSON has. */
const object = <T>(members: { [Name in keyof T]: fc.Arbitrary<T[Name]> }): fc.Arbitrary<T> => fc.record(members, { noNullPrototype: true })

const badWord: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...BAD) },
  { weight: 2, arbitrary: fc.stringMatching(/^[a-z]{3,9}_[a-z]{3,9}$/) },
  { weight: 1, arbitrary: fc.string({ minLength: 8, maxLength: 30, unit: 'grapheme' }) },
)
/** The chat wire has also seen objects and numbers; lists and hostile members no service has yet. */
const badChatWord: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: badWord },
  { weight: 1, arbitrary: object({ type: fc.constantFrom('abort', 'a_new_kind'), message: fc.string() }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 99 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Json>(true, ['stop'], [{ toString: 1 }], { toString: 1, valueOf: 1 }, { type: { toString: 1 } }),
  },
)

const word = fc.string({ minLength: 1, maxLength: 20 })
/** An error in a form that some service has, in a frame or as a body. */
const looseError: fc.Arbitrary<JsonObject> = fc.oneof(
  object({ code: fc.oneof(fc.integer({ min: 400, max: 599 }), fc.constantFrom('1302', 'boom')), message: word }),
  object({ detail: fc.oneof(word, fc.constant([{ loc: ['body'], msg: 'wrong' }])) }),
  object({ errors: fc.constant([{ code: 7009, message: 'no' }]), success: fc.constant(false) }),
  object({ base_resp: object({ status_code: fc.integer({ min: 1000, max: 2100 }), status_msg: word }) }),
  object({ status: fc.integer({ min: 400, max: 599 }), title: word }),
  object({ type: fc.constant('error'), message: word }),
  object({ error: fc.oneof(word, object({ message: word, code: fc.constantFrom('x', '500', null) })) }),
  object({ object: fc.constant('error'), message: word }),
)

const utterance: fc.Arbitrary<Utterance> = fc.oneof(
  fc.constant<Utterance>({ text: ['one ', 'two ', 'three'] }),
  fc.constant<Utterance>({ text: ['I look.'], calls: [{ id: 'call_1', name: 'look', args: ['{"path":"/srv/', 'data","dry_run":true}'] }] }),
  fc.constant<Utterance>({ calls: [{ id: 'call_1', name: 'look', args: ['{"path":', '"/srv/data"', ',"dry_run":true}'] }] }),
)
/** Arguments of every call that is drawn, where it is whole. */
export const WHOLE_ARGS = '{"path":"/srv/data","dry_run":true}'

/**
 * good: a whole answer. word: its last word is none of success. arguments: those of its call are no JSON. cut: the bytes end early.
 * frame: an error within the stream, or as a body of status 200. status: an error status. garbage: no JSON, or nothing, with status 200.
 */
type Kind = 'good' | 'word' | 'arguments' | 'cut' | 'frame' | 'status' | 'garbage'

interface Drawn {
  wire: AnyWireName
  stream: boolean
  kind: Kind
  utterance: Utterance
  good: number
  bad: Json
  error: JsonObject
  /** Share of the bytes or frames that come. */
  share: number
  status: number
  closes: 'close' | 'reset' | undefined
  /** True where the frame of an error has the name `error`. */
  named: boolean
  /** True for the error that the wire has, else one of another form. */
  own: boolean
  /** True where the end of a good answer follows the error. */
  goesOn: boolean
  garbage: string
}

const GARBAGE = ['', ' ', '<html><body><h1>502 Bad Gateway</h1></body></html>', 'upstream connect error', 'null', '[]', '""', '{}', '{"a":']

export const drawnCase: fc.Arbitrary<Drawn> = object({
  wire: fc.constantFrom(...WIRE_NAMES),
  stream: fc.boolean(),
  kind: fc.constantFrom<Kind>('good', 'word', 'word', 'word', 'cut', 'frame', 'frame', 'status', 'arguments', 'garbage'),
  utterance,
  good: fc.nat(9),
  bad: badWord,
  chatBad: badChatWord,
  error: looseError,
  share: fc.double({ min: 0.01, max: 0.97, noNaN: true }),
  status: fc.constantFrom(400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529),
  closes: fc.constantFrom<'close' | 'reset' | undefined>('close', 'reset', undefined),
  named: fc.boolean(),
  own: fc.boolean(),
  goesOn: fc.boolean(),
  garbage: fc.constantFrom(...GARBAGE),
}).map(({ chatBad, ...rest }) => ({ ...rest, bad: rest.wire === 'openai-chat' ? chatBad : rest.bad }))

/** A drawn case as an answer of the provider. */
export function drawCase(drawn: Drawn): EndCase {
  const { wire, stream, kind } = drawn
  const isGood = kind === 'good'
  const args = isGood && drawn.utterance.calls ? WHOLE_ARGS : undefined
  // Of Gemini's wire `drawnAnswer` makes a word of broken arguments.
  const isKept = kind === 'word' || (kind === 'arguments' && wire === 'gemini')
  return { wire, stream, isGood, isKept, args, drawn: JSON.stringify(drawn), answer: drawnAnswer(drawn) }
}

function drawnAnswer(drawn: Drawn): Answer {
  const { wire, stream, kind, utterance, bad, error, own } = drawn
  const good = GOOD[wire]
  switch (kind) {
    case 'good':
      return answered(drawn, utterance, good[drawn.good % Math.max(1, good.length)])
    case 'word':
      // A word of another wire may be one of success here.
      return answered(drawn, utterance, typeof bad === 'string' && good.includes(bad) ? 'a_new_word' : bad)
    case 'arguments': {
      const calls = [{ id: 'call_1', name: 'look', args: ['{"path":"/srv/data",', '"dry_run":tr'] }]
      // Arguments of this wire are objects.
      return wire === 'gemini'
        ? answered(drawn, utterance, 'A_NEW_WORD')
        : answered(drawn, { ...utterance, calls }, undefined, calls[0].args.join(''))
    }
    case 'cut':
      return cut(drawn, answered(drawn, utterance, undefined))
    case 'status':
      return { ...jsonAnswer(own ? ALL_WIRES[wire].error(drawn.status, 'no') : error), status: drawn.status }
    case 'frame':
      return stream ? broken(drawn) : jsonAnswer(own ? ALL_WIRES[wire].error(drawn.status, 'no') : error)
    case 'garbage':
      return { headers: stream ? streamAnswer(ALL_WIRES[wire], []).headers : JSON_TYPE, body: [drawn.garbage] }
  }
}

function answered({ wire, stream }: Drawn, utterance: Utterance, end: Json | undefined, args?: string): Answer {
  return stream ? streamAnswer(ALL_WIRES[wire], endedFrames(wire, utterance, end)) : jsonAnswer(endedReply(wire, utterance, end, args))
}

/** The bytes end before their time, properly or not; of a whole reply the text that has come is no JSON. */
function cut({ wire, utterance, share, closes, stream }: Drawn, answer: Answer): Answer {
  const asBytes = (pieces: Answer['body'] = []): Buffer => Buffer.concat(pieces.map((piece) => Buffer.from(piece as string | Buffer)))
  const bytes = stream ? asBytes(streamAnswer(ALL_WIRES[wire], framesBeforeEnd(wire, utterance)).body) : asBytes(answer.body)
  return {
    ...answer,
    body: [bytes.subarray(0, Math.ceil(bytes.length * share))],
    headers: { ...answer.headers, connection: 'close' },
    after: closes,
  }
}

/** The frames of an answer before the one that says how it has ended. */
function framesBeforeEnd(wire: AnyWireName, utterance: Utterance): string[] {
  const good = endedFrames(wire, utterance, undefined)
  const bad = endedFrames(wire, utterance, 'a_new_word')
  return good.slice(
    0,
    good.findIndex((frame, at) => frame !== bad[at]),
  )
}

/** An error in the middle of a stream: that of the wire, or any other under the name `error`, which the chat wire may leave out. */
function broken({ wire, utterance, share, error, named, own, goesOn }: Drawn): Answer {
  const before = framesBeforeEnd(wire, utterance)
  const begun = before.slice(0, Math.max(1, Math.floor(before.length * share)))
  const isBinary = 'binary' in ALL_WIRES[wire]
  const name = named || wire !== 'openai-chat' ? 'event: error\n' : ''
  const frame = own || isBinary ? ALL_WIRES[wire].brokenFrame('it broke') : `${name}data: ${JSON.stringify(error)}\n\n`
  const rest = goesOn ? endedFrames(wire, utterance, undefined).slice(begun.length) : wire === 'openai-chat' ? ['data: [DONE]\n\n'] : []
  return streamAnswer(ALL_WIRES[wire], [...begun, frame, ...rest])
}
