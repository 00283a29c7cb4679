/** Guardrails over what models answer: found however it is cut, in every format, streamed or not, and told. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type FoldedReply, foldChat, foldChatStream, foldResponse, foldResponseStream, list, object } from '../../support/fold.ts'
import { foldMessage, foldMessageStream } from '../../support/fold-messages.ts'
import { type Gateway, KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, sseAnswer, type Upstream } from '../../support/upstream.ts'
import { framesFor, says, type Utterance } from '../../support/wire.ts'

const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const
const CLIENTS = ['chat', 'responses', 'messages'] as const
type Client = (typeof CLIENTS)[number]
const PATHS: Record<Client, string> = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }
const WHOLE: Record<Client, (body: JsonObject) => FoldedReply> = { chat: foldChat, responses: foldResponse, messages: foldMessage }
const STREAM: Record<Client, (text: string) => FoldedReply> = {
  chat: foldChatStream,
  responses: foldResponseStream,
  messages: foldMessageStream,
}

interface Guarded {
  gateway: Gateway
  upstream: Upstream
  ask(client: Client, fields?: JsonObject, content?: string): Promise<Response>
}

async function guarded(t: Test, guardrails: string, more = ''): Promise<Guarded> {
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['ok'] }),
    config: (url) => {
      const providers = DIALECTS.map((dialect) => `  p-${dialect}: { dialect: ${dialect}, base_url: "${url}/v1", key: sk-provider }`)
      const models = DIALECTS.map(
        (dialect) =>
          `  acme/${dialect}: { context: 200000, endpoints: [ { provider: p-${dialect}, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }`,
      )
      return `auth: { keys: [ { name: app, key: "${KEY}" } ] }\nguardrails:\n${guardrails}\nproviders:\n${providers.join('\n')}\nmodels:\n${models.join('\n')}\n${more}`
    },
  })
  return {
    gateway,
    upstream,
    ask: (client, fields = {}, content = 'Hello') => {
      const own = client === 'responses' ? 'input' : 'messages'
      const body: JsonObject = { model: 'acme/openai-chat', [own]: [{ role: 'user', content }], ...fields }
      if (client === 'messages') body.max_tokens ??= 100
      return gateway.post(PATHS[client], body, { 'x-router-metadata': 'enabled' })
    },
  }
}

/** The reply, streamed or not, with its routing metadata. */
async function read(
  client: Client,
  response: Response,
  stream: boolean,
): Promise<{ reply: FoldedReply; text: string; pipeline: JsonObject[] }> {
  const text = await bodyText(response)
  const reply = stream ? STREAM[client](text) : WHOLE[client](JSON.parse(text) as JsonObject)
  const found = /"pipeline":(\[.*?\])(?=[,}])/s.exec(text)
  const bodies = stream
    ? [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data) as JsonObject)
    : [JSON.parse(text) as JsonObject]
  const metadata = bodies.map((body) => object(body.router_metadata ?? object(body.response).router_metadata)).filter((one) => one.pipeline)
  t.ok(found === null || metadata.length > 0)
  return { reply, text, pipeline: list(object(metadata.at(-1)).pipeline ?? []) }
}

const REDACT = `  - { name: out, direction: output, content_filter_builtins: [ { slug: email, action: redact }, { slug: credit-card, action: redact } ] }`
const SECRETS: Utterance = {
  reasoning: ['she is an', 'na@exam', 'ple.com I think'],
  text: ['Write to an', 'na@', 'example', '.com now, or ', '4111 1111', ' 1111 1111', ' please'],
  calls: [{ id: 'c1', name: 'send', args: ['{"to":"an', 'na@example', '.com","n":41', '11111111111111,"ok', '":true}'] }],
}
const TOOLS: Record<Client, JsonObject[]> = {
  chat: [{ type: 'function', function: { name: 'send', parameters: { type: 'object' } } }],
  responses: [{ type: 'function', name: 'send', parameters: { type: 'object' } }],
  messages: [{ name: 'send', input_schema: { type: 'object' } }],
}

t.test('redacted in text, reasoning and arguments, whatever the format and however it is cut', async (t) => {
  const { ask, upstream } = await guarded(t, REDACT)
  upstream.script = says(SECRETS)
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const dialect of DIALECTS)
        for (const stream of [true, false]) {
          const name = `${client} from ${dialect}${stream ? ', streamed' : ''}`
          const response = await ask(client, { model: `acme/${dialect}`, stream, tools: TOOLS[client] })
          t.equal(response.status, 200, name)
          const { reply, text, pipeline } = await read(client, response, stream)
          t.equal(reply.text, 'Write to [EMAIL] now, or [CREDIT_CARD] please', name)
          if (reply.reasoning !== '') t.equal(reply.reasoning, 'she is [EMAIL] I think', name)
          t.same(JSON.parse(reply.calls[0].args), { to: '[EMAIL]', n: '[CREDIT_CARD]', ok: true }, name)
          t.notMatch(text, /example|4111/, name)
          t.match(pipeline, [
            {
              type: 'guardrail',
              guardrail_id: 'out',
              data: {
                action: 'redacted',
                direction: 'output',
                matched_entity_types: [/./, /./],
                held_bytes: Number,
                ...(stream ? { held_ms: Number } : {}),
              },
            },
          ])
        }
  })
})

t.test('a guardrail for requests alone does not read the answer, and lanes stay as they were', async (t) => {
  const { ask, upstream } = await guarded(t, '  - { name: in, content_filter_builtins: [ { slug: email, action: redact } ] }')
  upstream.script = says({ text: ['reach bob@example.com'] })
  for (const stream of [true, false]) {
    const { reply, pipeline } = await read('chat', await ask('chat', { stream }), stream)
    t.equal(reply.text, 'reach bob@example.com')
    t.same(pipeline, [])
  }
})

t.test('one for answers alone does not read the request', async (t) => {
  const { ask, upstream } = await guarded(t, REDACT)
  const { pipeline } = await read('chat', await ask('chat', {}, 'to anna@example.com'), false)
  t.match(upstream.requests.at(-1)?.body, 'anna@example.com')
  t.match(pipeline, [{ data: { action: 'passed', direction: 'output', detected: false } }], 'it is told that the answer was read')
})

const BLOCK = '  - { name: out, direction: output, content_filters: [ { pattern: "secret-[0-9]{4}", action: block, label: CODES } ] }'

t.test('blocked while all is held back: a plain 403, one provider asked, its work paid for', async (t) => {
  const { ask, upstream, gateway } = await guarded(t, BLOCK)
  upstream.script = says({ text: ['sec', 'ret-', '1234', ' and more'] })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const dialect of ['openai-chat', 'anthropic'] as const)
        for (const stream of [true, false]) {
          const name = `${client} from ${dialect}${stream ? ', streamed' : ''}`
          const before = upstream.requests.length
          const response = await ask(client, { model: `acme/${dialect}`, stream })
          t.equal(response.status, 403, name)
          t.match(response.headers.get('content-type'), 'application/json', name)
          const body = (await response.json()) as JsonObject
          t.match(object(body.error).message, 'Response blocked by content filter: CODES', name)
          t.notMatch(JSON.stringify(body), 'secret-1234', 'what is blocked is not told')
          t.match(list(object(body.router_metadata).pipeline ?? []), [
            { guardrail_id: 'out', data: { action: 'blocked', direction: 'output' } },
          ])
          t.equal(upstream.requests.length, before + 1, 'nobody else is asked')
          const id = response.headers.get('x-generation-id')
          const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
          t.ok(Number(data.total_cost) > 0, `${name}: ${data.total_cost}`)
          // 11 tokens of input and 7 of output, as the provider has told.
          if (!stream) t.equal(data.total_cost, 0.000025, name)
        }
  })
  const metrics = await bodyText(await fetch(`${gateway.admin}/metrics`))
  t.match(
    metrics,
    /headgate_guardrail_hits_total\{[^}]*guardrail="out"[^}]*action="blocked"[^}]*\} 12|headgate_guardrail_hits_total\{[^}]*action="blocked"[^}]*\} 12/,
  )
  t.notMatch(gateway.logs.join('\n'), 'secret-1234')
})

t.test("blocked after the first content: the stream ends in the dialect's own refusal form", async (t) => {
  const { ask, upstream, gateway } = await guarded(t, BLOCK)
  upstream.script = says({ text: ['The code is ', 'sec', 'ret-', '1234', ' and more'] })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const dialect of DIALECTS) {
        // The first piece has to have gone out before the rest comes.
        const gate = new Gate()
        upstream.script = (request) => {
          const frames = framesFor(request.path, { text: ['The code is ', 'sec', 'ret-', '1234', ' and more'] })
          const at = frames.findIndex((frame) => frame.includes('The code is')) + 1
          return sseAnswer([...frames.slice(0, at), gate.step, ...frames.slice(at)])
        }
        const name = `${client} from ${dialect}`
        const response = await ask(client, { model: `acme/${dialect}`, stream: true })
        t.equal(response.status, 200, name)
        gate.open()
        const text = await bodyText(response)
        t.notMatch(text, 'secret', name)
        t.notMatch(text, 'and more', name)
        const ends = {
          chat: /"finish_reason":"content_filter"/g,
          responses: /^event: response\.incomplete$/gm,
          messages: /"stop_reason":"refusal"/g,
        }
        t.equal(text.match(ends[client])?.length, 1, name)
        if (client === 'responses') t.match(text, '"incomplete_details":{"reason":"content_filter"}')
        if (client === 'messages') t.equal(text.match(/event: message_stop/g)?.length, 1)
        else t.equal(text.match(/data: \[DONE\]/g)?.length, 1)
        t.match(STREAM[client](text).text, 'The code is')
        t.match(text, '"action":"blocked"', 'the stage is told')
        const id = response.headers.get('x-generation-id')
        const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
        t.ok(Number(data.total_cost) > 0, name)
        await upstream.requests.at(-1)?.closed
      }
  })
})

t.test('a flag changes nothing and is told', async (t) => {
  const { ask, upstream } = await guarded(
    t,
    '  - { name: out, direction: both, content_filter_builtins: [ { slug: email, action: flag } ] }',
  )
  upstream.script = says({ text: ['reach bob@', 'example.com'] })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [true, false]) {
        const { reply, pipeline } = await read(client, await ask(client, { stream }), stream)
        t.equal(reply.text, 'reach bob@example.com')
        t.match(pipeline, [{ data: { action: 'flagged', direction: 'output', matched_entity_types: ['EMAIL'] } }])
      }
  })
})

t.test('an answer that breaks off: what was held goes out, then the one terminal error', async (t) => {
  const { ask, upstream } = await guarded(t, REDACT)
  upstream.script = (request) => {
    const frames = framesFor(request.path, { text: ['mail', ' anna@exam', 'never'] })
    const at = frames.findIndex((frame) => frame.includes('anna'))
    return sseAnswer(frames.slice(0, at + 1), { after: 'reset' })
  }
  for (const client of CLIENTS) {
    const response = await ask(client, { stream: true })
    const text = await bodyText(response)
    t.match(text, 'anna@exam', 'a beginning alone is no address')
    t.match(text, client === 'chat' ? '"finish_reason":"error"' : client === 'responses' ? 'response.failed' : 'event: error')
  }
})

t.test('log probabilities spell the text: they are left out where something may be hidden', async (t) => {
  const { ask, upstream } = await guarded(t, REDACT)
  upstream.script = () =>
    sseAnswer([
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { role: 'assistant', content: 'a@example.com ' }, logprobs: { content: [{ token: 'a@example.com', logprob: 0, bytes: [1], top_logprobs: [] }] } }] })}\n\n`,
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1 } })}\n\n`,
      'data: [DONE]\n\n',
    ])
  const text = await bodyText(await ask('chat', { stream: true, logprobs: true }))
  t.match(text, '[EMAIL]')
  t.notMatch(text, 'a@example.com')
})

const RESTORE =
  '  - { name: hide, restore: true, content_filter_builtins: [ { slug: email, action: redact } ], content_filters: [ { pattern: "code .[0-9]+.", action: redact, label: CODE } ] }'

t.test('restore: what was hidden comes back to the caller alone', async (t) => {
  const { ask, upstream, gateway } = await guarded(t, RESTORE)
  const request = 'Mail anna@example.com and bob@example.com, again anna@example.com, not [EMAIL_1]; code "7".'
  upstream.script = says({
    reasoning: ['[EMA', 'IL_2] first'],
    text: ['To [EM', 'AIL_2', '] and [EMAIL_3], [EMAIL_1], [CO', 'DE_1] [EMAIL'],
    calls: [{ id: 'c1', name: 'send', args: ['{"to":"[EMAIL', '_3]","code":"[CODE_1]"}'] }],
  })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const dialect of ['openai-chat', 'anthropic', 'openai-responses'] as const)
        for (const stream of [true, false]) {
          const name = `${client} from ${dialect}${stream ? ', streamed' : ''}`
          const response = await ask(client, { model: `acme/${dialect}`, stream, tools: TOOLS[client] }, request)
          const sent = upstream.requests.at(-1)?.body ?? ''
          t.match(sent, 'Mail [EMAIL_2] and [EMAIL_3], again [EMAIL_2], not [EMAIL_1]; [CODE_1].', name)
          t.notMatch(sent, 'anna@')
          const { reply } = await read(client, response, stream)
          t.equal(reply.text, 'To anna@example.com and bob@example.com, [EMAIL_1], code "7" [EMAIL', name)
          if (reply.reasoning !== '') t.equal(reply.reasoning, 'anna@example.com first', name)
          t.same(JSON.parse(reply.calls[0].args), { to: 'bob@example.com', code: 'code "7"' }, name)
        }
  })
  t.notMatch(gateway.logs.join('\n'), /anna@|EMAIL_/)
})

t.test('restore and a look at the answer: what comes back is not hidden again', async (t) => {
  const { ask, upstream } = await guarded(
    t,
    '  - { name: hide, direction: both, restore: true, content_filter_builtins: [ { slug: email, action: redact } ] }',
  )
  upstream.script = says({ text: ['To [EMAIL_1], not eve@example.com'] })
  const { reply } = await read('chat', await ask('chat', { stream: true }, 'Mail anna@example.com'), true)
  t.equal(reply.text, 'To anna@example.com, not [EMAIL]')
})

t.test('reads the items that server tools show as well', async (t) => {
  const { ask, upstream } = await guarded(
    t,
    '  - { name: out, direction: output, content_filters: [ { pattern: "Antarctica", action: redact }, { pattern: "Europe", action: block } ] }',
  )
  const script = (zone: string) => (request: { body: string; path: string }, index: number) => {
    void index
    const utterance: Utterance = request.body.includes('"role":"tool"')
      ? { text: ['it is late'] }
      : { calls: [{ id: 'c1', name: 'router_datetime', args: [`{"timezone":"${zone}"}`] }] }
    return sseAnswer(framesFor(request.path, utterance))
  }
  upstream.script = script('Antarctica/Troll')
  const fields = { stream: true, tools: [{ type: 'router:datetime' }] }
  const text = await bodyText(await ask('chat', fields))
  t.match(text, 'it is late')
  t.notMatch(text, 'Antarctica')
  upstream.script = script('Europe/Rome')
  // The head goes out with the first turn.
  const streamed = await bodyText(await ask('chat', fields))
  t.match(streamed, '"finish_reason":"content_filter"')
  t.notMatch(streamed, 'Rome')
})

t.test('long answers: found wherever it lies, and others have their turn', async (t) => {
  const { ask, upstream, gateway } = await guarded(t, `${REDACT}\n${BLOCK.replace('out', 'codes')}`)
  const filler = 'All work and no play makes a dull day. '.repeat(20_000)
  upstream.script = says({ text: [`${filler} anna@example.com ${filler}`] })
  const [response, health] = await Promise.all([ask('chat'), fetch(`${gateway.admin}/healthz`)])
  await health.text()
  const { reply } = await read('chat', response, false)
  t.equal(reply.text, `${filler} [EMAIL] ${filler}`)
  upstream.script = says({ text: [`${filler} secret-1234`] })
  t.equal((await ask('chat')).status, 403)
})

t.test('silence: where the head has gone out early, a refusal is told in the stream', async (t) => {
  const clock = new FakeClock(5)
  const { gateway, upstream } = await startScene(t, { answer: says({ text: ['ok'] }), yaml: `guardrails:\n${BLOCK}\n`, clock })
  const gate = new Gate()
  upstream.script = (request) => {
    const frames = framesFor(request.path, { text: ['secret-', '1234'] })
    const at = frames.findIndex((frame) => frame.includes('1234'))
    return sseAnswer([...frames.slice(0, at), gate.step, ...frames.slice(at)])
  }
  const waiting = gateway.post(PATHS.chat, { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  await upstream.request(0)
  await clock.advance(10_001)
  const response = await waiting
  t.equal(response.status, 200)
  gate.open()
  const text = await bodyText(response)
  t.match(text, ': ROUTER PROCESSING')
  t.equal(text.match(/"finish_reason":"content_filter"/g)?.length, 1)
  t.notMatch(text, 'secret')
  t.ok(text.endsWith('data: [DONE]\n\n'))
})

t.test('an answer that may not go on is refused at the first endpoint: no other one is asked', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['secret-1234'] }),
    config: (url) => `guardrails:
${BLOCK}
providers:
  one: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider }
  two: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider }
models:
  acme/both: { context: 1000, endpoints: [ { provider: one, model: m, price: free }, { provider: two, model: m, price: free } ] }
`,
  })
  for (const stream of [true, false]) {
    const body = { model: 'acme/both', stream, messages: [{ role: 'user', content: 'Hello' }] }
    const before = upstream.requests.length
    t.equal((await gateway.post(PATHS.chat, body)).status, 403)
    t.equal(upstream.requests.length, before + 1)
  }
})
