/**
 * The conversations of the two-turn matrix. Each is what a caller sends, what the model says, and what the caller must get. A turn is
 * written from the reply before it, put back as the caller's format documents.
 */
import type { JsonObject } from '../../src/core/json.ts'
import type { FoldedReply } from '../support/fold.ts'
import type { Asked, AskedTool } from '../support/matrix/asked.ts'
import type { Utterance, UtteranceCall } from '../support/wire.ts'
import type { RuledModel } from './stand-in.ts'

export interface Turn {
  /** @param replies of the turns before, whole. */
  asks(replies: readonly JsonObject[], folded: readonly FoldedReply[]): Asked
  says: Utterance
  /** Fault of the reply that the caller got; undefined where it is right. */
  wrong(reply: FoldedReply): string | undefined
  /** `elsewhere`: another provider's model answers this turn. */
  by?: 'elsewhere'
}

export interface Scenario {
  /** Heading of its column in docs/providers.md. */
  readonly name: string
  readonly turns: (model: RuledModel) => readonly Turn[]
  readonly applies?: (model: RuledModel) => boolean
  /** More fields of the request, the same in every format. */
  readonly more?: JsonObject
}

const PNG = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }

export const TOOLS: readonly AskedTool[] = [
  { name: 'weather', description: 'The weather of a city', schema: CITY },
  // No restrictions, as many MCP servers describe their tools.
  { name: 'clock', description: 'The time in a city', schema: { type: 'object', properties: { city: { type: 'string' } } } },
]

/** Constraints that Claude's and Gemini's subsets of JSON Schema leave out, and a property that is optional. */
const ANSWER = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1, maxLength: 80 },
    degrees: { type: 'number', minimum: -100, maximum: 100 },
    note: { type: 'string' },
  },
  required: ['city', 'degrees'],
  additionalProperties: false,
}

const call = (id: string, name: string, city: string): UtteranceCall => ({ id, name, args: ['{"ci', `ty":"${city}"}`] })

const CALLS = [call('call_Ab3dEf6hIj9kLm2nOp5qRs8t', 'weather', 'Oslo'), call('call_Zy8xWv5uTs2rQp9oNm6lKj3i', 'clock', 'Rome')]

const text = (expected: string) => (reply: FoldedReply) =>
  reply.error ? `error ${JSON.stringify(reply.error)}` : reply.text === expected ? undefined : `text ${JSON.stringify(reply.text)}`

function bothCalls(reply: FoldedReply): string | undefined {
  const got = reply.calls.map(({ name, args }) => `${name} ${JSON.stringify(JSON.parse(args))}`).join(', ')
  return got === 'weather {"city":"Oslo"}, clock {"city":"Rome"}' ? undefined : `calls ${got}`
}

const user = (words: string) => ({ user: [{ text: words }] })
const FINE: Utterance = { text: ['Fine.'] }
const modelEffort = (model: RuledModel): { effort?: string } => (model.reasons ? { effort: 'high' } : {})
/** Thoughts of models that reason. */
export const THOUGHT = 'I look it up.'
const thoughts = (model: RuledModel): Utterance => (model.reasons ? { reasoning: [THOUGHT.slice(0, 7), THOUGHT.slice(7)] } : {})

/** The same question with tools, and the results of both calls. @param image a picture in the first result. */
export function toolTurns(model: RuledModel, options: { first?: 'elsewhere'; image?: boolean } = {}): Turn[] {
  const asked = { system: 'Be brief.', tools: TOOLS, ...modelEffort(model) }
  const question = user('The weather in Oslo, and the time in Rome?')
  const first: Turn = {
    asks: () => ({ ...asked, turns: [question] }),
    says: { ...thoughts(model), calls: CALLS },
    wrong: bothCalls,
  }
  const second: Turn = {
    asks: ([reply], [folded]) => ({
      ...asked,
      turns: [
        question,
        { replayed: reply },
        {
          results: folded.calls.map(({ callId }, index) => ({
            id: callId,
            parts: index === 0 && options.image ? [{ text: 'A picture:' }, { image: PNG }] : [{ text: index === 0 ? 'Rain' : '12:00' }],
          })),
        },
      ],
    }),
    says: { ...thoughts(model), text: ['Rain in Oslo, noon in Rome.'] },
    wrong: text('Rain in Oslo, noon in Rome.'),
  }
  return [options.first ? { ...first, by: options.first } : first, second]
}

const takesTools = ({ tools }: RuledModel): boolean => tools !== false

const one = (asked: Asked, says: Utterance, wrong: Turn['wrong']): Turn[] => [{ asks: () => asked, says, wrong }]

export const SCENARIOS: readonly Scenario[] = [
  { name: 'text', turns: () => one({ system: 'Be brief.', turns: [user('Hello')] }, FINE, text('Fine.')) },
  {
    name: 'second turn',
    turns: (model) => [
      ...one({ turns: [user('Hello')], ...modelEffort(model) }, { ...thoughts(model), text: ['Hi.'] }, text('Hi.')),
      {
        asks: ([reply]) => ({ turns: [user('Hello'), { replayed: reply }, user('How are you?')], ...modelEffort(model) }),
        says: { ...thoughts(model), ...FINE },
        wrong: text('Fine.'),
      },
    ],
  },
  { name: 'tool loop', applies: takesTools, turns: (model) => toolTurns(model) },
  {
    name: 'image in a result',
    applies: (model) => model.images === true && takesTools(model),
    turns: (model) => toolTurns(model, { image: true }),
  },
  {
    name: 'structured output',
    turns: (model) =>
      one(
        { turns: [user('Oslo')], schema: { name: 'weather', schema: ANSWER }, ...modelEffort(model) },
        { text: ['{"city":"Oslo",', '"degrees":3}'] },
        text('{"city":"Oslo","degrees":3}'),
      ),
  },
  {
    name: 'forced tool',
    applies: takesTools,
    turns: () =>
      one({ turns: [user('Oslo')], tools: TOOLS, choice: { name: 'weather' } }, { calls: CALLS.slice(0, 1) }, (reply) =>
        reply.calls[0]?.name === 'weather' ? undefined : `calls ${JSON.stringify(reply.calls)}`,
      ),
  },
  {
    name: 'forced tool, reasoning',
    applies: ({ reasons }) => reasons === true,
    turns: () =>
      one({ turns: [user('Oslo')], tools: TOOLS, choice: 'required', effort: 'high' }, { calls: CALLS.slice(0, 1) }, (reply) =>
        reply.calls[0]?.name === 'weather' ? undefined : `calls ${JSON.stringify(reply.calls)}`,
      ),
  },
  { name: 'no tool', turns: () => one({ turns: [user('Oslo')], tools: TOOLS, choice: 'none' }, FINE, text('Fine.')) },
  { name: 'smallest cap', turns: () => one({ turns: [user('Hello')], cap: 1 }, { ...FINE, end: 'length' }, text('Fine.')) },
  {
    name: 'model switched',
    applies: takesTools,
    turns: (model) => toolTurns(model, { first: 'elsewhere' }),
  },
  {
    name: 'parameters',
    turns: () =>
      one({ turns: [user('Hello')], temperature: 0.5, stop: ['END'], cap: 200, serial: true, tools: TOOLS }, FINE, text('Fine.')),
  },
]
