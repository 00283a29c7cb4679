/** Replies of the generating operations. Only fields that every reply has are named: dialects add to them. */
import { Type } from 'typebox'
import { SORT_KEYS } from '../../core/sort-keys.ts'

type Field = Parameters<typeof Type.Optional>[0]
const maybe = <T extends Field>(schema: T) => Type.Union([schema, Type.Null()])
const tokens = () => Type.Integer({ minimum: 0 })
const cost = () => Type.Optional(Type.Number({ description: 'USD charged.' }))
/** Modalities of an input. */
const KINDS = ['text', 'image', 'audio', 'file', 'video']
const id = () => Type.String({ description: 'Id of the generation; `GET /v1/generation?id=` returns its record.' })

export const response = Type.Object({
  id: id(),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  completed_at: maybe(Type.Integer()),
  model: Type.String(),
  status: Type.Enum(['completed', 'incomplete', 'failed', 'in_progress', 'cancelled', 'queued']),
  error: maybe(Type.Object({ code: Type.String(), message: Type.String() })),
  incomplete_details: maybe(Type.Object({ reason: Type.Optional(Type.String()) })),
  output: Type.Array(Type.Object({ type: Type.String() }), { description: 'Messages, reasoning and calls, in order.' }),
  usage: maybe(Type.Object({ input_tokens: tokens(), output_tokens: tokens(), total_tokens: tokens(), cost: cost() })),
})

export const compactedResponse = Type.Object({
  id: id(),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer(),
  model: Type.String(),
  output: Type.Array(Type.Object({ type: Type.String() }), { description: "The user's messages, then the item." }),
  usage: Type.Object({ input_tokens: tokens(), output_tokens: tokens(), total_tokens: tokens(), cost: cost() }),
})

export const chatCompletion = Type.Object({
  id: id(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  provider: Type.Optional(Type.String()),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      finish_reason: maybe(Type.String()),
      native_finish_reason: Type.Optional(maybe(Type.String())),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: maybe(Type.String()),
        refusal: Type.Optional(maybe(Type.String())),
        tool_calls: Type.Optional(Type.Array(Type.Object({ id: Type.String(), type: Type.String() }))),
      }),
    }),
  ),
  usage: Type.Optional(Type.Object({ prompt_tokens: tokens(), completion_tokens: tokens(), total_tokens: tokens(), cost: cost() })),
})

export const completion = Type.Object({
  id: id(),
  object: Type.Literal('text_completion'),
  created: Type.Integer(),
  model: Type.String(),
  provider: Type.Optional(Type.String()),
  choices: Type.Array(
    Type.Object({ text: Type.String(), index: Type.Integer(), logprobs: Type.Null(), finish_reason: maybe(Type.String()) }),
  ),
  usage: Type.Optional(Type.Object({ prompt_tokens: tokens(), completion_tokens: tokens(), total_tokens: tokens(), cost: cost() })),
})

export const message = Type.Object({
  id: id(),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String(),
  content: Type.Array(Type.Object({ type: Type.String() })),
  stop_reason: maybe(Type.String()),
  stop_sequence: maybe(Type.String()),
  usage: Type.Object({ input_tokens: tokens(), output_tokens: tokens(), cost: cost() }),
})

export const tokenCount = Type.Object({ input_tokens: tokens(), estimated: Type.Optional(Type.Boolean()) })

export const embeddings = Type.Object({
  id: Type.Optional(id()),
  object: Type.Literal('list'),
  model: Type.String(),
  data: Type.Array(
    Type.Object({
      object: Type.Literal('embedding'),
      index: Type.Integer({ minimum: 0 }),
      embedding: Type.Union([
        Type.Array(Type.Number()),
        Type.String({ description: 'With `encoding_format: base64`: 32-bit floats, little endian.' }),
      ]),
    }),
  ),
  usage: Type.Object({
    prompt_tokens: tokens(),
    total_tokens: tokens(),
    prompt_tokens_details: Type.Optional(
      Type.Object(Object.fromEntries(KINDS.map((kind) => [`${kind}_tokens`, Type.Optional(tokens())])), {
        description: 'Of inputs of several kinds, where the provider counts them apart; kinds without tokens are absent.',
      }),
    ),
    cost: cost(),
  }),
})

/** Criteria that may decide the place of an endpoint in the order. */
export const PLACED_BY = ['only_one', 'order', 'session', 'tier', 'weight', 'draw', 'quality', ...SORT_KEYS] as const
const decided = () => Type.Enum([...PLACED_BY])

export const plan = Type.Object({
  object: Type.Literal('plan'),
  format: Type.String(),
  requested: Type.String(),
  strategy: Type.String(),
  models: Type.Array(Type.String()),
  inputs: Type.Optional(Type.Integer({ description: 'Embeddings: number of requested vectors.' })),
  key: Type.String({ description: 'Name of the key that it was planned for.' }),
  candidates: Type.Array(
    Type.Object({
      position: Type.Integer(),
      provider: Type.String(),
      model: Type.String(),
      endpoint: Type.String(),
      price: maybe(Type.Record(Type.String(), Type.String())),
      why: Type.Object(
        {
          by: decided(),
          share: Type.Optional(Type.Number({ description: 'Chance of being tried first of its model; only where there is a draw.' })),
          value: Type.Optional(maybe(Type.Number({ description: 'What it was sorted by; null where it is not known.' }))),
          health: Type.Enum(['ok', 'recent_outage', 'resting', 'ejected']),
        },
        { description: 'Why it stands here.' },
      ),
      dropped: Type.Optional(Type.Array(Type.String(), { description: 'Parameters that would not reach the provider.' })),
      refused: Type.Optional(Type.Object({ code: Type.Integer(), message: Type.String() })),
      calls: Type.Optional(
        Type.Object(
          { count: Type.Integer(), at_once: Type.Integer(), inputs: Type.Integer() },
          { description: 'Embeddings: the calls into which the batch is split.' },
        ),
      ),
    }),
  ),
  excluded: Type.Array(
    Type.Object({
      provider: Type.String(),
      model: Type.String(),
      endpoint: Type.String(),
      filter: Type.String({ description: 'What excluded it.' }),
      detail: Type.Optional(Type.String()),
    }),
    { description: 'Excluded endpoints, each with its reason.' },
  ),
  hold: Type.Object({
    usd: Type.String(),
    input_tokens_bound: Type.Integer(),
    output_cap: Type.Integer(),
    left_usd: maybe(Type.String({ description: 'USD left before the request; null without a limit.' })),
  }),
  plugins: Type.Array(Type.String()),
  guardrails: Type.Array(Type.String()),
  policies: Type.Array(
    Type.Object(
      {
        name: Type.String(),
        effect: Type.String({ description: '`deny` (of an endpoint), `route`, `limit` or `guardrails`.' }),
        outcome: Type.String({ description: '`applied`, or `failed` where its condition could not be evaluated.' }),
      },
      { description: 'A policy of the configuration that acts on the request.' },
    ),
  ),
})
