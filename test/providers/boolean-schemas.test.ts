/**
 * Tools whose schemas have `true` in the place of a schema, as the MCP SDK for Go writes a field of any type, against the stand-ins of
 * servers that refuse them: from callers of each format.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { list, object } from '../support/fold.ts'
import { startMatrix } from './matrix.ts'
import { llamaCpp } from './rules/llama-cpp.ts'
import { ollama } from './rules/ollama.ts'

const matrix = await startMatrix(t, [llamaCpp, ollama])

const SCHEMA = {
  type: 'object',
  properties: {
    value: true,
    never: false,
    place: { type: 'string' },
    many: { type: 'array', items: true },
    pair: { type: 'array', prefixItems: [true, { type: 'string' }] },
    one: { anyOf: [{ type: 'string' }, true] },
    inner: { type: 'object', properties: { deep: true }, additionalProperties: true },
  },
  $defs: { anything: true },
  additionalProperties: true,
}
const WRITTEN = {
  type: 'object',
  properties: {
    value: {},
    never: { not: {} },
    place: { type: 'string' },
    many: { type: 'array', items: {} },
    pair: { type: 'array', prefixItems: [{}, { type: 'string' }] },
    one: { anyOf: [{ type: 'string' }, {}] },
    inner: { type: 'object', properties: { deep: {} }, additionalProperties: true },
  },
  $defs: { anything: {} },
  additionalProperties: true,
}

const CALLERS: Readonly<Record<string, (parameters: JsonObject) => JsonObject>> = {
  '/v1/chat/completions': (parameters) => ({
    messages: [{ role: 'user', content: 'Look' }],
    tools: [{ type: 'function', function: { name: 'look', parameters } }],
  }),
  '/v1/responses': (parameters) => ({ input: 'Look', tools: [{ type: 'function', name: 'look', parameters, strict: false }] }),
  '/v1/messages': (parameters) => ({
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Look' }],
    tools: [{ name: 'look', input_schema: parameters }],
  }),
}

for (const standIn of matrix.standIns)
  for (const [path, body] of Object.entries(CALLERS))
    t.test(`${standIn.rules.preset}, ${path}`, async (t) => {
      const [{ slug }] = standIn.rules.models
      standIn.refused.length = 0
      standIn.utterance = { text: ['Seen.'] }
      const response = await matrix.gateway.post(path, { model: slug, ...body(SCHEMA as JsonObject) })
      t.equal(response.status, 200, await response.text())
      t.same(standIn.refused, [])
      const [tool] = list(standIn.accepted.at(-1)?.tools)
      t.same(object(tool?.function).parameters, WRITTEN)
    })
