/** Routing preferences as an operator sets them for the account or for one key: the wire's `provider` object. */
import { Type } from 'typebox'
import { closed, flag, listOf, oneOf, perMillion, perUnit, size } from './scalars.ts'

const SORTS = ['price', 'throughput', 'latency', 'exacto'] as const
const QUANTIZATIONS = ['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32', 'unknown'] as const

export const quantization = oneOf('Number format of the weights at this endpoint.', QUANTIZATIONS)

export const tag = (description: string, minItems = 0) =>
  listOf(
    description,
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9._-]+)?$', expected: 'a provider, or provider/variant' }),
    minItems,
  )

const percentile = (unit: string) => Type.Number({ description: unit, minimum: 0 })

const cutoffs = (description: string, unit: string) =>
  Type.Union(
    [
      percentile(unit),
      closed(description, {
        p50: Type.Optional(percentile(unit)),
        p75: Type.Optional(percentile(unit)),
        p90: Type.Optional(percentile(unit)),
        p99: Type.Optional(percentile(unit)),
      }),
    ],
    { description, expected: 'a number, or an object of p50, p75, p90 and p99' },
  )

export const preferences = closed('Routing preferences; a request can only narrow what limits it and replaces the rest.', {
  order: Type.Optional(tag('Providers to try in this order.')),
  only: Type.Optional(tag("Only these providers; a request's own list must agree.")),
  ignore: Type.Optional(tag('Never these providers.')),
  allow_fallbacks: Type.Optional(flag('False: only the first endpoint, or the `order` list.')),
  sort: Type.Optional(
    Type.Union(
      [
        oneOf('Goal.', SORTS),
        closed('Goal and partition.', {
          by: Type.Optional(oneOf('Goal.', SORTS)),
          partition: Type.Optional(oneOf('Sort inside each model, or all models together.', ['model', 'none'])),
        }),
      ],
      {
        description: 'Order of the endpoints instead of the weighted draw.',
        expected: `one of ${SORTS.join(', ')}, or an object of by and partition`,
      },
    ),
  ),
  quantizations: Type.Optional(listOf('Only endpoints with these number formats.', quantization)),
  preferred_max_latency: Type.Optional(cutoffs('Slower endpoints come last.', 'Seconds to the first token.')),
  preferred_min_throughput: Type.Optional(cutoffs('Slower endpoints come last.', 'Tokens per second.')),
  max_price: Type.Optional(
    closed('Dearer endpoints are left out.', {
      prompt: Type.Optional(perMillion('USD per million input tokens.')),
      completion: Type.Optional(perMillion('USD per million output tokens.')),
      request: Type.Optional(perUnit('USD per request.')),
      image: Type.Optional(perUnit('USD per image.')),
      audio: Type.Optional(perUnit('USD per unit of audio.')),
    }),
  ),
  require_parameters: Type.Optional(flag('Only endpoints that take every parameter sent.')),
  data_collection: Type.Optional(oneOf('deny: only endpoints that keep no data for training.', ['allow', 'deny'])),
  zdr: Type.Optional(flag('Only endpoints with zero data retention.')),
  enforce_distillable_text: Type.Optional(flag('Only models whose author allows training on what they write.')),
})

export const limits = closed('Rate limits.', {
  requests: Type.Optional(Type.Integer({ description: 'Requests per minute.', minimum: 1, maximum: 1_000_000_000 })),
  tokens: Type.Optional(Type.Integer({ description: 'Tokens of input and output per minute.', minimum: 1, maximum: 1_000_000_000 })),
  streams: Type.Optional(Type.Integer({ description: 'Streams open at once.', minimum: 1, maximum: 1_000_000 })),
  bytes: Type.Optional(size('Request bytes in flight.')),
})
