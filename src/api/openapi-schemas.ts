/** What the operations answer, as schemas: for the description of the API, and for the tests that hold every reply against it. */

import { type TSchema, Type } from 'typebox'
import { BY_DAY, LISTED_COUNTS } from '../core/ledger-counts.ts'
import { countFields } from './count-fields.ts'

type Field = Parameters<typeof Type.Optional>[0]
const maybe = <T extends Field>(schema: T) => Type.Union([schema, Type.Null()])
const text = (description?: string) => Type.String(description === undefined ? {} : { description })
const whole = (description?: string) => Type.Integer(description === undefined ? {} : { description })
const amount = (description?: string) => Type.Number(description === undefined ? {} : { description })
const flag = (description?: string) => Type.Boolean(description === undefined ? {} : { description })
const texts = () => Type.Array(Type.String())
const data = (schema: TSchema) => Type.Object({ data: schema })

const usd = (description: string) => Type.String({ description: `${description}, USD, a decimal string`, pattern: '^-?\\d+(\\.\\d+)?$' })

const pricing = Type.Object(
  {
    prompt: usd('Per input token; -1 where no price is known'),
    completion: usd('Per output token'),
    request: Type.Optional(usd('Per request, on top')),
    image: Type.Optional(usd('Per image, on top')),
    input_cache_read: Type.Optional(usd('Per input token read from a cache')),
    input_cache_write: Type.Optional(usd('Per input token written to a cache')),
    overrides: Type.Optional(Type.Array(Type.Object({}), { description: 'Other prices for long prompts or hours of the day.' })),
  },
  { description: 'Prices in USD per token or unit.' },
)

const architecture = Type.Object({
  modality: maybe(Type.String()),
  input_modalities: texts(),
  output_modalities: texts(),
  tokenizer: text(),
  instruct_type: maybe(Type.String()),
})

export const model = Type.Object(
  {
    id: text('`author/name`: the value of `model` in a request.'),
    object: Type.Literal('model'),
    owned_by: text('The author.'),
    canonical_slug: text(),
    name: text(),
    created: whole('Unix seconds of the release; 0 where unknown.'),
    description: text(),
    context_length: maybe(whole('Tokens of input and output together.')),
    architecture,
    pricing,
    top_provider: Type.Object({
      context_length: maybe(Type.Integer()),
      max_completion_tokens: maybe(Type.Integer()),
      is_moderated: Type.Boolean(),
    }),
    per_request_limits: maybe(Type.Object({})),
    supported_parameters: texts(),
    default_parameters: maybe(Type.Object({})),
    supported_voices: maybe(texts()),
    links: Type.Object({ details: Type.String() }),
    alias_target: Type.Optional(Type.Object({ slug: Type.String(), name: Type.String() })),
  },
  { description: 'A model, with the price of its cheapest endpoint.' },
)

const percentiles = maybe(Type.Object({ p50: Type.Number(), p75: Type.Number(), p90: Type.Number(), p99: Type.Number() }))

export const endpoint = Type.Object(
  {
    name: text(),
    model_id: text(),
    model_name: text(),
    provider_name: text(),
    tag: text('`provider` or `provider/variant`: its name in provider preferences.'),
    context_length: whole(),
    max_completion_tokens: maybe(Type.Integer()),
    max_prompt_tokens: maybe(Type.Integer()),
    pricing,
    quantization: text(),
    status: Type.Integer({ description: '0 where it is healthy, less where it is not.', maximum: 0 }),
    supported_parameters: texts(),
    supports_implicit_caching: flag(),
    uptime_last_5m: maybe(Type.Number()),
    uptime_last_30m: maybe(Type.Number()),
    uptime_last_1d: maybe(Type.Number()),
    latency_last_30m: percentiles,
    throughput_last_30m: percentiles,
  },
  { description: 'One model at one provider, with its recent figures.' },
)

export const page = (entry: TSchema) =>
  Type.Object({
    data: Type.Array(entry),
    total_count: whole('Entries of all pages together.'),
    links: Type.Object({ next: maybe(text('Address of the next page; null on the last.')) }),
  })

export const count = data(Type.Object({ count: Type.Integer({ minimum: 0 }) }))

export const modelEndpoints = data(
  Type.Object({
    id: text(),
    name: text(),
    description: text(),
    created: whole(),
    architecture,
    endpoints: Type.Array(endpoint),
  }),
)

export const provider = Type.Object({
  name: text(),
  slug: text(),
  privacy_policy_url: maybe(Type.String()),
  terms_of_service_url: maybe(Type.String()),
  status_page_url: maybe(Type.String()),
  headquarters: maybe(Type.String()),
  datacenters: maybe(texts()),
})

export const forecast = Type.Object({
  per_day: amount('USD a day, the mean of the last seven days, or of those since the first request in them.'),
  basis_days: amount('Days that the mean is of.'),
  used_at_end: maybe(amount('USD at the end of the window, at this pace.')),
  runs_out_at: maybe(Type.String({ description: 'When nothing is left, at this pace; null: not before the window ends.' })),
})

const spending = {
  limit: maybe(amount('USD; null for none.')),
  limit_remaining: maybe(amount('USD; open requests count with what is held for them.')),
  limit_reset: maybe(Type.Enum(['daily', 'weekly', 'monthly'])),
  usage: amount('USD, ever.'),
  usage_daily: amount('USD since 00:00 UTC.'),
  usage_weekly: amount('USD since Monday.'),
  usage_monthly: amount('USD since the first of the month.'),
}

export const ownKey = data(
  Type.Object({
    label: text('The masked secret.'),
    ...spending,
    parent: maybe(Type.String({ description: 'The budget that it draws on, with other keys.' })),
    is_management_key: flag(),
    expires_at: maybe(Type.String()),
    rate_limit: Type.Object({ requests: Type.Integer(), interval: Type.String() }),
  }),
)

export const key = Type.Object(
  {
    hash: text('SHA-256 of the secret: the id of the key in paths.'),
    name: text(),
    label: text('The masked secret.'),
    disabled: flag(),
    ...spending,
    unrecovered: amount('USD that providers reported beyond what the limits and budgets of the key could pay.'),
    unrecovered_open: amount('What of it no other entry of the ledger has settled.'),
    disputed: amount('USD that providers reported and that is more than the requests can have used.'),
    disputed_open: amount('What of it no other entry of the ledger has settled.'),
    created_at: text(),
    updated_at: maybe(Type.String()),
    expires_at: maybe(Type.String()),
    creator_user_id: maybe(Type.String()),
    workspace_id: text(),
    is_management_key: flag('True: it manages, and generates nothing.'),
    source: Type.Enum(['configuration', 'store'], { description: 'Where it is defined.' }),
    forecast: Type.Optional(
      Type.Union([forecast, Type.Null()], {
        description:
          'With `include_forecast`, as in the budget of the key; null without a limit, where more than 20,000 keys have one, and while the ledger cannot be read.',
      }),
    ),
    provider_ids: texts(),
    parent: maybe(Type.String({ description: 'The budget that it draws on, with other keys; see `/budgets`.' })),
    parent_hash: maybe(Type.String({ description: 'Of a key issued through sign-in: the hash of the key that issued it.' })),
  },
  { description: 'An API key, without its secret.' },
)

export const keyList = data(Type.Array(key))
export const oneKey = data(key)
export const madeKey = Type.Object({ data: key, key: text('The secret, shown this once.') })
export const deleted = Type.Object({ deleted: Type.Literal(true) })

export const credits = data(Type.Object({ total_credits: amount('USD.'), total_usage: amount('USD.') }))

export const activity = data(
  Type.Array(
    Type.Object({
      date: text('A UTC day.'),
      model: text(),
      endpoint_id: text(),
      provider_name: text(),
      usage: amount('USD.'),
      requests: whole(),
      ...countFields(BY_DAY, () => whole()),
      cache_discount: amount('USD that caches of the providers have saved; negative where writing to them cost more.'),
    }),
  ),
)

export const sessions = Type.Object({
  data: Type.Array(
    Type.Object({
      session_id: text(),
      api_key_hash: text(),
      api_key_name: maybe(text('Null for a key that is gone.')),
      models: texts(),
      requests: whole('Settled requests, those that failed among them: one for each turn of an agent.'),
      failed_requests: whole(),
      ...countFields(LISTED_COUNTS, whole),
      usage: amount('USD.'),
      cache_discount: amount('USD that caches of the providers have saved; negative where writing to them cost more.'),
      first_request_at: text('In the period.'),
      last_request_at: text(),
    }),
  ),
  total_count: whole('Sessions of all pages together.'),
  since: text(),
  until: text(),
})

export const generation = data(
  Type.Object({
    id: text(),
    created_at: text(),
    model: text(),
    provider_name: maybe(Type.String()),
    status: text('`open` until it is settled.'),
    estimated: flag('True where the provider reported no usage, or not all of it.'),
    charge_reason: Type.Union([Type.String(), Type.Null()], {
      description:
        'Why it cost what it did: who ended it (`model`, `provider`, `caller`, `operator`, `gateway`, `crash`), how far it had come ' +
        '(`not_sent`, `sent`, `content`, `usage_known`) and what was charged (`nothing`, `reported`, `estimated`), such as ' +
        '`caller/content/estimated`.',
    }),
    usage: amount('USD charged.'),
    total_cost: amount('USD charged.'),
    tokens_prompt: maybe(Type.Integer()),
    tokens_completion: maybe(Type.Integer()),
    streamed: maybe(Type.Boolean()),
    cancelled: maybe(Type.Boolean()),
    finish_reason: maybe(Type.String()),
    latency: maybe(amount('Milliseconds.')),
    provider_responses: maybe(
      Type.Array(
        Type.Object({
          provider_name: text(),
          status: maybe(Type.Integer({ description: 'Status that the provider sent; null where it sent none: no connection, a timeout.' })),
          code: Type.Optional(Type.String({ description: 'Why the attempt failed, such as `upstream_auth`; absent where it served.' })),
          latency: Type.Optional(amount('Milliseconds.')),
          dropped: Type.Optional(Type.Array(Type.String(), { description: 'What of the request did not reach the provider.' })),
          answer_check: Type.Optional(
            Type.Object(
              {
                verdict: text('`fits`, `misfit`, `no_json` or `unchecked`.'),
                keyword: Type.Optional(Type.String()),
                tool: Type.Optional(Type.String()),
              },
              { description: 'How the answer fits the form that the request demands, where the provider does not see to that.' },
            ),
          ),
        }),
        { description: 'The calls of providers, in order.' },
      ),
    ),
  }),
)

const preset = Type.Object({ id: text(), slug: text(), name: text(), description: maybe(Type.String()), status: text() })
export const presetList = Type.Object({ data: Type.Array(preset), total_count: whole() })
export const onePreset = data(preset)

export const consentCode = data(Type.Object({ id: text('The code.'), app_id: Type.Integer(), created_at: text() }))
export const exchangedKey = Type.Object({ key: text('The secret, shown this once.'), user_id: Type.String() })

export const messagesFault = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({ type: Type.String(), message: Type.String(), error_type: Type.Optional(Type.String()) }),
    request_id: maybe(Type.String()),
  },
  { description: 'An error in the messages format.' },
)

export const fault = Type.Object(
  {
    error: Type.Object({
      code: whole('The HTTP status.'),
      message: text('What is wrong; begins with the name of a bad field.'),
      type: text('Kind of the error, such as `invalid_request_error` or `rate_limit_error`.'),
      param: maybe(Type.String({ description: 'Path of the field that is at fault; null where it is none.' })),
      metadata: Type.Optional(
        Type.Object({
          error_type: Type.Optional(Type.String()),
          field: Type.Optional(Type.String()),
          previous_errors: Type.Optional(
            Type.Array(
              Type.Object({
                provider: text(),
                code: text('Such as `upstream_limited`.'),
                status: maybe(Type.Integer({ description: 'Status that the provider sent; null where it sent none.' })),
              }),
              { description: 'The failures of the providers that were called before the last one.' },
            ),
          ),
        }),
      ),
      availability: Type.Optional(
        Type.Object(
          {
            code: text(
              '`model_not_found`: no such model. `wrong_endpoint`: the model is of another kind. `no_endpoints`: the model has none. `constraint_filtered`: a preference or a field of the request left none; `constraint` names it. `privacy_restricted`: what is required of the data left none. `model_unavailable_upstream`: the provider does not have the model. `capacity_exhausted`: all are limited. `temporarily_unavailable`: all failed, or none could be tried.',
            ),
            retryable: Type.Boolean({ description: 'False: the same request fails again.' }),
            requested_models: Type.Optional(Type.Array(Type.String())),
            docs_url: text('Where this is explained.'),
            retry_after: Type.Optional(amount('Seconds to wait.')),
            affected_providers: Type.Optional(Type.Array(Type.String())),
            excluded_by: Type.Optional(Type.Array(Type.String())),
            fallback_models: Type.Optional(Type.Array(Type.String(), { description: 'Models that could serve it.' })),
            constraint: Type.Optional(Type.Object({ field: text(), detail: text() })),
          },
          { description: 'Why nothing could serve the request.' },
        ),
      ),
    }),
  },
  { description: 'An error.' },
)
