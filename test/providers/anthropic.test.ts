/** Adaptations for Claude's models that the two-turn matrix does not show: rules of issue lines, each against the strict stand-in. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { list, object } from '../support/fold.ts'
import type { Client } from '../support/matrix/clients.ts'
import { standInCells, startMatrix } from './matrix.ts'
import { anthropic } from './rules/anthropic.ts'
import { SCENARIOS } from './scenarios.ts'

const matrix = await startMatrix(t, [anthropic])
const [standIn] = matrix.standIns

const SONNET = 'anthropic/claude-sonnet-5.5'
const OPUS = 'anthropic/claude-opus-5.5'
const HAIKU = 'anthropic/claude-haiku-5.5'
const OLDER = 'anthropic/claude-haiku-4.5'

interface Sent {
  status: number
  reply: JsonObject
  /** The last body that the provider accepted. */
  body: JsonObject
  dropped: string[]
}

async function send(client: Client['id'], body: JsonObject): Promise<Sent> {
  const path = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }[client]
  standIn.accepted.length = 0
  standIn.refused.length = 0
  const response = await matrix.gateway.post(path, body)
  const reply = (await response.json()) as JsonObject
  const found = await matrix.gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
  const dropped = list(object(((await found.json()) as JsonObject).data).provider_responses).flatMap(({ dropped }) =>
    Array.isArray(dropped) ? dropped.map(String) : [],
  )
  return { status: response.status, reply, body: standIn.accepted.at(-1) ?? {}, dropped }
}

const chat = (model: string, more: JsonObject = {}): Promise<Sent> =>
  send('chat', { model, messages: [{ role: 'user', content: 'Oslo' }], ...more })

const WEATHER = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

t.test('signed thinking comes back to the provider that has signed it', async (t) => {
  const scenario = SCENARIOS.filter(({ name }) => name === 'tool loop')
  for (const cell of standInCells([standIn], scenario))
    await every(t, `${cell.model.slug}, ${cell.client.id}${cell.stream ? ', streamed' : ''}`, async (t) => {
      const { problems, returned } = await matrix.run(cell)
      t.same(problems, [])
      t.equal(returned, 1)
    })
})

t.test('a request not to think has the form that the model takes', async (t) => {
  standIn.utterance = { text: ['Fine.'] }
  const off = { reasoning: { effort: 'none' } }
  const asked = async (model: string): Promise<unknown[]> => {
    const { status, body, dropped } = await chat(model, off)
    return [status, body.thinking, body.output_config, dropped]
  }
  t.same(await asked(SONNET), [200, { type: 'between_tools' }, undefined, []])
  t.same(await asked(OPUS), [200, undefined, { effort: 'low' }, ['reasoning.effort']])
  t.same(await asked(HAIKU), [200, { type: 'disabled' }, undefined, []])
  t.same(await asked(OLDER), [200, undefined, undefined, []])
})

t.test('thinking of a Messages caller has the form that the model takes', async (t) => {
  const asked = async (model: string, more: JsonObject): Promise<unknown[]> => {
    const body = { model, max_tokens: 8000, messages: [{ role: 'user', content: 'Hello' }], ...more }
    const { status, body: sent, dropped } = await send('messages', body)
    return [status, sent.thinking, sent.output_config, dropped]
  }
  const off = { thinking: { type: 'disabled' } }
  t.same(await asked(SONNET, { ...off, output_config: { effort: 'max' } }), [
    200,
    { type: 'between_tools' },
    { effort: 'high' },
    ['reasoning.effort'],
  ])
  t.same(await asked(OPUS, off), [200, undefined, { effort: 'low' }, ['reasoning.effort']])
  t.same(await asked(HAIKU, { thinking: { type: 'between_tools' } }), [200, { type: 'disabled' }, undefined, []])
  t.same(await asked(OLDER, { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }), [
    200,
    { type: 'enabled', budget_tokens: 1600 },
    undefined,
    [],
  ])
  t.same(await asked(OLDER, { output_config: { effort: 'low' } }), [200, undefined, undefined, ['reasoning.effort']])
})

t.test('a model that refuses forced tools gets an instruction behind the last message', async (t) => {
  standIn.utterance = { calls: [{ id: 'toolu_1', name: 'weather', args: ['{}'] }] }
  const forced = { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'weather' } } }
  const { body, dropped, reply } = await chat(SONNET, forced)
  t.same(body.tool_choice, { type: 'auto' })
  t.match(list(body.messages).at(-1), { role: 'system', content: /^Call the tool "weather" now/ })
  t.same(dropped, ['tool_choice'])
  t.match(list(reply.choices)[0], { finish_reason: 'tool_calls' })
  const allowed = await chat(HAIKU, forced)
  t.same(allowed.body.tool_choice, { type: 'tool', name: 'weather' })
  t.same(allowed.dropped, [])
})

t.test('a prefilled reply is left out where the model refuses it', async (t) => {
  standIn.utterance = { text: ['Fine.'] }
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Well' },
  ]
  const newer = await send('messages', { model: SONNET, max_tokens: 100, messages })
  t.equal(newer.status, 200)
  t.same(newer.body.messages, [{ role: 'user', content: 'Hello' }])
  t.same(newer.dropped, ['prefill'])
  const older = await send('messages', { model: OLDER, max_tokens: 100, messages })
  t.same(older.body.messages, messages)
  t.same(older.dropped, [])
})

/** A conversation whose second request has other tools than the first: thinking of the first is bound to those. */
async function withOtherTools(t: Test, client: Client['id'], first: JsonObject, second: (reply: JsonObject) => JsonObject): Promise<void> {
  standIn.utterance = { reasoning: ['Hm.'], text: ['Hi.'] }
  const { reply } = await send(client, first)
  const { status, body, dropped } = await send(client, second(reply))
  t.equal(status, 200)
  t.same(standIn.refused, [])
  const blocks = list(body.messages).flatMap(({ content }) => list(content))
  t.ok(
    blocks.some(({ type }) => type === 'thinking'),
    'the provider decides what of it still fits',
  )
  t.match(body.thinking, { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } })
  t.same(dropped, [])
}

t.test('thinking that is bound to what has changed since is left out by the provider', async (t) => {
  const user = { role: 'user', content: 'Hello' }
  const more = { role: 'user', content: 'And now?' }
  await t.test('Chat', (t) =>
    withOtherTools(t, 'chat', { model: SONNET, messages: [user], reasoning_effort: 'high', tools: [WEATHER] }, (reply) => ({
      model: SONNET,
      messages: [user, object(list(reply.choices)[0].message), more],
      reasoning_effort: 'high',
    })),
  )
  await t.test('Messages', (t) =>
    withOtherTools(t, 'messages', { model: SONNET, max_tokens: 900, messages: [user], system: 'One.' }, ({ content }) => ({
      model: SONNET,
      max_tokens: 900,
      messages: [user, { role: 'assistant', content }, more],
      system: 'Two.',
    })),
  )
})

t.test('a caller of Messages may have its thinking checked', async (t) => {
  const user = { role: 'user', content: 'Hello' }
  standIn.utterance = { reasoning: ['Hm.'], text: ['Hi.'] }
  const { reply } = await send('messages', { model: SONNET, max_tokens: 900, messages: [user], system: 'One.' })
  const response = await matrix.gateway.post(
    '/v1/messages',
    {
      model: SONNET,
      max_tokens: 900,
      messages: [user, { role: 'assistant', content: reply.content }, user],
      system: 'Two.',
      thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } },
    },
    { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' },
  )
  t.equal(response.status, 400)
  t.match(standIn.refused.at(-1)?.refusal.body, { error: { message: /bound to a different conversation/ } })
})

t.test('thinking of earlier turns goes where the model is not to think', async (t) => {
  const user = { role: 'user', content: 'Hello' }
  standIn.utterance = { reasoning: ['Hm.'], text: ['Hi.'] }
  const { reply } = await chat(SONNET, { messages: [user], reasoning_effort: 'high', tools: [WEATHER] })
  const { status, body, dropped } = await chat(SONNET, {
    messages: [user, object(list(reply.choices)[0].message), user],
    reasoning_effort: 'none',
  })
  t.equal(status, 200)
  t.same(body.thinking, { type: 'between_tools' }, 'it takes no other member')
  t.notMatch(JSON.stringify(body.messages), /"thinking"/)
  t.same(dropped, ['reasoning'])
})

t.test('a schema keeps to the subset, and its description says the rest', async (t) => {
  standIn.utterance = { text: ['{}'] }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      name: { type: 'string', description: 'A name.', minLength: 2, format: 'idn-email' },
      tags: { type: 'array', items: { type: 'object', properties: { n: { type: ['integer', 'null'], minimum: 1 } } }, minItems: 3 },
      kind: { oneOf: [{ const: 'a' }, { $ref: '#/$defs/other' }] },
    },
    additionalProperties: true,
    $defs: { other: { enum: ['b', 'c'], default: 'b' } },
  }
  const { status, body, dropped } = await chat(SONNET, {
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  })
  t.equal(status, 200)
  t.same(object(object(body.output_config).format).schema, {
    type: 'object',
    properties: {
      name: {
        type: 'string',
        description: 'A name.\n\nMust be valid against {"minLength":2,"format":"idn-email"}.',
      },
      tags: {
        type: 'array',
        items: {
          type: 'object',
          properties: { n: { type: ['integer', 'null'], description: 'Must be valid against {"minimum":1}.' } },
          additionalProperties: false,
        },
        description: 'Must be valid against {"minItems":3}.',
      },
      kind: { anyOf: [{ const: 'a' }, { $ref: '#/$defs/other' }] },
    },
    additionalProperties: false,
    $defs: { other: { enum: ['b', 'c'] } },
  })
  t.same(dropped.toSorted(), [
    'response_format.name',
    'response_format.schema.additionalProperties',
    'response_format.schema.format',
    'response_format.schema.minItems',
    'response_format.schema.minLength',
    'response_format.schema.minimum',
    'response_format.schema.oneOf',
  ])
})

t.test('a JSON object without a schema is asked for in words, with require_parameters too', async (t) => {
  standIn.utterance = { text: ['{"city":"Oslo"}'] }
  const { status, body, dropped } = await chat(SONNET, {
    response_format: { type: 'json_object' },
    provider: { require_parameters: true },
  })
  t.equal(status, 200)
  t.match(body.system, /one JSON object/)
  t.same(dropped, [])
})

t.test('the provider’s own search for tools goes to the provider, whatever else changes the request', async (t) => {
  standIn.utterance = { text: ['Fine.'] }
  const deferred = { name: 'b', input_schema: { type: 'object' }, defer_loading: true }
  for (const type of [
    'tool_search_tool_bm25_20251119',
    'tool_search_tool_bm25',
    'tool_search_tool_regex_20251119',
    'tool_search_tool_regex',
  ])
    for (const more of [{}, { plugins: [{ id: 'web', engine: 'native' }] }]) {
      const search = { type, name: type.replace(/_\d+$/, '') }
      const messages = [
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srvtoolu_1', name: search.name, input: { query: 'b' } },
            {
              type: 'tool_search_tool_result',
              tool_use_id: 'srvtoolu_1',
              content: { type: 'tool_search_tool_search_result', tool_references: [{ type: 'tool_reference', tool_name: 'b' }] },
            },
            { type: 'tool_use', id: 'toolu_1', name: 'b', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
      ]
      const { status, body } = await send('messages', { model: SONNET, max_tokens: 100, messages, tools: [search, deferred], ...more })
      t.equal(status, 200)
      t.same(list(body.tools).slice(0, 2), [search, deferred])
      t.same(list(body.messages)[1], messages[1])
    }
})

t.test('alternatives of which one is wanted become any of them, beside others in an allOf', async (t) => {
  const text = { type: 'string' }
  const both = { anyOf: [text, { type: 'number' }], oneOf: [text, { type: 'null' }] }
  const schema = { type: 'object', properties: { one: { oneOf: [text, { type: 'null' }] }, both }, additionalProperties: false }
  const { status, body, dropped } = await chat(SONNET, { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
  t.equal(status, 200, JSON.stringify(standIn.refused))
  t.same(object(object(object(object(body.output_config).format).schema).properties), {
    one: { anyOf: [text, { type: 'null' }] },
    both: { anyOf: both.anyOf, allOf: [{ anyOf: both.oneOf }] },
  })
  t.match(dropped, ['response_format.name', 'response_format.schema.oneOf'])
})

t.test('a request of either version of the API is taken in its form', async (t) => {
  standIn.utterance = { text: ['Fine.'] }
  const messages = [{ role: 'user', content: 'Hello' }]
  const asked = async (version: string, more: JsonObject = {}): Promise<unknown[]> => {
    const response = await matrix.gateway.post(
      '/v1/messages',
      { model: OLDER, max_tokens: 100, messages, ...more },
      { 'anthropic-version': version },
    )
    return [response.status, JSON.stringify(await response.json())]
  }
  t.match(await asked('2026-10-21'), [200, /Fine/])
  t.match(await asked('2023-06-01', { temperature: 0.5 }), [200, /Fine/])
  t.match(await asked('2026-10-21', { temperature: 0.5 }), [400, /temperature/], "the provider's own refusal")
  t.match(await asked('2031-01-01'), [400, /valid version/])
})
