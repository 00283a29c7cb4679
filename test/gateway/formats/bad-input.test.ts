/** Refusals of requests: keys, bodies, fields, models, filters that leave nothing. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { CHAT, DISABLED, json, KEY, OPS, question, RESPONSES, startTwoProviders } from '../../support/two-providers.ts'

const { first, gateway, ask, refused, names } = await startTwoProviders(t)

t.test('returns 401 without a valid key, and 403 for the wrong kind of key', async (t) => {
  const withAuth = (value: string | undefined, path = RESPONSES): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(value === undefined ? {} : { authorization: value }) },
      body: JSON.stringify({ ...question(path), stream: true }),
    })
  await every(t, 'every path', async (t) => {
    for (const path of [RESPONSES, CHAT]) {
      const error = await refused(t, 'no key', withAuth(undefined, path), 401)
      t.match(error.message, /authentication/i)
      await refused(t, 'an unknown key', withAuth('Bearer sk-router-v1-unknown', path), 401)
      await refused(t, 'a disabled key', withAuth(`Bearer ${DISABLED}`, path), 401)
      await refused(t, 'another scheme', withAuth(`Basic ${KEY}`, path), 401)
      const management = await refused(t, 'a management key', withAuth(`Bearer ${OPS}`, path), 403)
      t.equal(object(management.metadata).error_type, 'permission_denied')
    }
  })
  const bare = await fetch(`${gateway.url}/v1/models`)
  t.equal(bare.status, 401, 'lists need a key too')
})

t.test('returns 400, 404 or 405 for what is no request', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of [RESPONSES, CHAT]) {
      for (const body of [
        '{"model":',
        '{"model":"acme/one",}',
        "{'model':'acme/one'}",
        '\u0000',
        'null',
        '[]',
        '"text"',
        '5',
        `${'['.repeat(5000)}${']'.repeat(5000)}`,
      ])
        await refused(t, `${path} ${body.slice(0, 20)}`, gateway.post(path, body), 400)
      await refused(t, `${path} without a body`, gateway.post(path, ''), 400)
      const deep = `{"model":"acme/one","metadata":${'{"a":'.repeat(6000)}1${'}'.repeat(6000)}}`
      await refused(t, `${path}: too deep`, gateway.post(path, deep), 400)
      const response = await gateway.get(path)
      t.ok(response.status === 405 || response.status === 404, 'another method')
      t.match(await json(response), { error: { code: response.status } })
    }
  })
  await every(t, 'every path', async (t) => {
    for (const path of ['/', '/v1', '/v1/nothing', '/v1/responses/x', '/v2/responses', '/v1/../admin', '/%00']) {
      const response = await gateway.post(path, '{}')
      t.equal(response.status, 404, `no such path: ${path}`)
      t.match(await json(response), { error: { code: 404, message: String } })
    }
  })
  t.ok((await fetch(`${gateway.url}/`, { method: 'HEAD' })).status < 500, 'HEAD / is a habit of clients')
})

t.test('a byte order mark, spaces and escapes are JSON all the same', async (t) => {
  const response = await gateway.post(
    RESPONSES,
    ` \n\t{"model":"acme/one","input":"\\u0048i \\ud83d\\ude00","provider":{"order":["first"]}}\r\n`,
  )
  t.equal(response.status, 200)
  t.match(first.requests.at(-1)?.body, /Hi (😀|\\ud83d\\ude00)/)
})

t.test('names the bad field of a Responses request', async (t) => {
  const without = async (field: string): Promise<void> => {
    const body = question(RESPONSES)
    delete body[field]
    const error = await refused(t, `no ${field}`, gateway.post(RESPONSES, body), 400)
    t.ok(String(error.message).includes(field), String(error.message))
  }
  await without('input')
  await without('model')
  await names(t, RESPONSES, { store: true }, 'store')
  await names(t, RESPONSES, { previous_response_id: 'resp_1' }, 'previous_response_id')
  await names(t, RESPONSES, { background: true }, 'background')
  await names(t, RESPONSES, { user: 'x'.repeat(257) }, 'user')
  await names(t, RESPONSES, { session_id: 'x'.repeat(257) }, 'session_id')
  await refused(t, 'a session_id of the header', ask(RESPONSES, {}, { 'x-session-id': 'x'.repeat(257) }), 400)
  await names(t, RESPONSES, { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])) }, 'metadata')
  await names(t, RESPONSES, { metadata: { [`k${'x'.repeat(64)}`]: 'v' } }, 'metadata')
  await names(t, RESPONSES, { metadata: { k: 'x'.repeat(513) } }, 'metadata')
  await names(t, RESPONSES, { metadata: { 'k[0]': 'v' } }, 'metadata')
  await names(t, RESPONSES, { metadata: { k: 1 } }, 'metadata')
  await names(t, RESPONSES, { provider: { orders: ['first'] } }, 'provider')
  await names(t, RESPONSES, { stop_server_tools_when: [] }, 'stop_server_tools_when')
  await names(t, RESPONSES, { cache_control: { type: 'forever' } }, 'cache_control')
  t.equal((await ask(RESPONSES, { store: false, previous_response_id: null })).status, 200, 'false and null are accepted')
})

t.test('wrong types in responses', async (t) => {
  const wrong: readonly [JsonObject, string][] = [
    [{ input: 5 }, 'input'],
    [{ input: [5] }, 'input'],
    [{ input: [{ type: 'function_call_output', call_id: 5, output: 'x' }] }, 'input'],
    [{ model: 5 }, 'model'],
    [{ model: '' }, 'model'],
    [{ models: 'acme/one' }, 'models'],
    [{ stream: 'yes' }, 'stream'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ temperature: 3 }, 'temperature'],
    [{ max_output_tokens: -1 }, 'max_output_tokens'],
    [{ tools: {} }, 'tools'],
    [{ tools: [{ type: 'function' }] }, 'tools'],
    [{ tool_choice: 'sometimes' }, 'tool_choice'],
    [{ instructions: 5 }, 'instructions'],
    [{ reasoning: { effort: 5 } }, 'reasoning'],
    [{ text: { format: { type: 'json_schema' } } }, 'text'],
    [{ provider: { order: 'first' } }, 'provider'],
    [{ provider: { max_price: { prompt: 'cheap' } } }, 'provider'],
    [{ plugins: [{ id: 5 }] }, 'plugins'],
    [{ metadata: [] }, 'metadata'],
    [{ max_tool_calls: 0.5 }, 'max_tool_calls'],
    [{ parallel_tool_calls: 'yes' }, 'parallel_tool_calls'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [more, field] of wrong) await names(t, RESPONSES, more, field)
  })
})

t.test('names the bad field of a chat request', async (t) => {
  const wrong: readonly [JsonObject, string][] = [
    [{ messages: [] }, 'messages'],
    [{ messages: 'Hello' }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages'],
    [{ messages: [{ role: 'user' }] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages'],
    [{ reasoning_effort: 'low', reasoning: { effort: 'high' } }, 'reasoning'],
    [{ tools: [{ type: 'router:shell' }] }, 'tools'],
    [{ tools: [{ type: 'router:tool_search' }] }, 'tools'],
    [{ tools: [{ type: 'router:apply_patch' }] }, 'tools'],
    [{ temperature: 2.5 }, 'temperature'],
    [{ top_logprobs: 5 }, 'top_logprobs'],
    [{ stop: Array.from({ length: 65 }, () => 'a') }, 'stop'],
    [{ response_format: { type: 'json_schema' } }, 'response_format'],
    [{ user: 'x'.repeat(257) }, 'user'],
    [{ session_id: 'x'.repeat(257) }, 'session_id'],
    [{ provider: { unknown: 1 } }, 'provider'],
    [{ max_tokens: 'many' }, 'max_tokens'],
    [{ logit_bias: { 5: 200 } }, 'logit_bias'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [more, field] of wrong) await names(t, CHAT, more, field)
  })
  const error = await refused(t, 'no messages', gateway.post(CHAT, { model: 'acme/one' }), 400)
  t.match(error.message, /messages/)
})

t.test('returns 404 for an unknown model and 400 for a malformed one', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of [RESPONSES, CHAT]) {
      const error = await refused(t, `${path} unknown`, ask(path, { model: 'acme/none', stream: true }), 404)
      t.match(error, { availability: { code: 'model_not_found', requested_models: ['acme/none'] } })
      // A bare name may be one that an agent has built in.
      t.match((await refused(t, `${path} bare`, ask(path, { model: 'acme' }), 404)).message, /No such model: acme/)
      for (const model of ['acme/', '/one', 'acme/one two', 'acme//one']) {
        const malformed = await refused(t, `${path} ${model}`, ask(path, { model }), 400)
        t.match(malformed.message, /model/)
      }
    }
  })
})

t.test('returns 404 where filters leave no endpoint', async (t) => {
  await every(t, 'every provider', async (t) => {
    for (const provider of [
      { only: ['nobody'] },
      { ignore: ['first', 'second'] },
      { max_price: { prompt: '0.5' } },
      { max_price: { prompt: 0.5 } },
      { zdr: true },
    ]) {
      const error = await refused(t, JSON.stringify(provider), ask(RESPONSES, { provider }), 404)
      t.match(error, { availability: { code: String, retryable: Boolean } })
    }
  })
  const only = await json(await ask(RESPONSES, { provider: { only: ['second'] } }))
  t.equal(list(list(only.output)[0].content)[0].text, 'second', 'only')
})
