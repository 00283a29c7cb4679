/** The source text of the serialisers of what is written for every request: compiled here, so that no compiler is loaded with the gateway. */
import fastJson from 'fast-json-stringify'

const text = { type: 'string' } as const
/** Written as it is: ids and words of the program, in which nothing needs an escape. */
const word = { type: 'string', format: 'unsafe' } as const
const number = { type: 'number' } as const
const flag = { type: 'boolean' } as const

const SERIALISERS = {
  factsText: {
    about: 'The facts of a settlement, see `ledger/facts.ts`.',
    schema: {
      type: 'object',
      properties: {
        model: text,
        provider: text,
        endpoint: text,
        router: text,
        operation: text,
        api_type: text,
        user: text,
        session_id: text,
        finish_reason: text,
        native_finish_reason: text,
        latency: number,
        generation_time: number,
        streamed: flag,
        sent_at: number,
        why: word,
        rates: word,
        charge_reason: text,
        fault: text,
        trace_id: text,
        cache_discount: number,
        tools_cost: number,
        price_unknown: { type: 'boolean' },
        num_search_results: number,
        num_fetches: number,
        web_search_engine: text,
        moderation_latency: number,
        credit_output_cap: number,
        provider_responses: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              provider_name: text,
              endpoint: text,
              status: { ...number, nullable: true },
              latency: number,
              code: text,
              dropped: { type: 'array', items: text },
              answer_check: { type: 'object', properties: { verdict: text, keyword: text, tool: text } },
              at: number,
              took: number,
              turn: number,
            },
          },
        },
        detail: text,
        inputs: text,
        service_tier: text,
        http_referer: text,
        app_title: text,
      },
    },
  },
} as const

/** A module that exports the serialiser and needs of the library only what runs. */
export function serialiser(name: keyof typeof SERIALISERS): string {
  const { about, schema } = SERIALISERS[name]
  const made = String(fastJson(schema, { mode: 'standalone' }))
  const from = made.indexOf('function anonymous(validator,serializer')
  const to = made.lastIndexOf('(validator, serializer)')
  if (from === -1 || to === -1 || !made.includes('const validator = null'))
    throw new Error(`${name}: the library writes its code in another way`)
  const body = made
    .slice(from, to)
    .replace(/\n\s*(?=\n)/g, '')
    .replace(/\{\n\s*(json \+= [^\n]+)\n\s*(?=\})/g, '{ $1 ')
  return `// @ts-nocheck
/** ${about} Written by \`npm run generate\` from \`scripts/serialisers.ts\`. */
import Serializer from 'fast-json-stringify/lib/serializer.js'

export const ${name}: (value: object) => string = (${body})(null, new Serializer())
`
}
