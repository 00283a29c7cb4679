/** Signed and encrypted reasoning goes back to the account that made it; what a provider still refuses is left out, once. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { collected } from '../../providers/collect.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { startGateway } from '../../support/gateway.ts'
import { CLIENTS, type Client } from '../../support/matrix/clients.ts'
import { jsonAnswer, type Script, type Seen, startUpstream } from '../../support/upstream.ts'
import { says, type Utterance, type WireName } from '../../support/wire.ts'

/** Answers of providers to reasoning of another account, in their words (issues named in the fault files of the dialects). */
const REFUSALS: Readonly<Record<WireName, JsonObject>> = {
  'openai-responses': {
    error: {
      message: 'The encrypted content b3Ro...Ug== could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_encrypted_content',
    },
  },
  gemini: { error: { code: 400, message: 'Corrupted thought signature.', status: 'INVALID_ARGUMENT' } },
  anthropic: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
  },
  'openai-chat': {
    error: {
      message: 'Provider returned error',
      code: 400,
      metadata: {
        raw: '{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}',
      },
    },
  },
}

const WIRES = Object.keys(REFUSALS) as WireName[]
const SIGNED = { a: 'c2VhbGVkIGJ5IGE+Pz8vKw==', b: 'c2VhbGVkIGJ5IGI+Pz8vKw==' } as const
type Account = keyof typeof SIGNED

interface Provider {
  readonly seen: Seen[]
  script(): Script
}

/** An account that takes its own reasoning and no other. */
function provider(account: Account): Provider {
  const seen: Seen[] = []
  const other = account === 'a' ? 'b' : 'a'
  const utterance: Utterance = { reasoning: ['Let me ', 'see.'], signature: SIGNED[account], text: ['So.'] }
  const answer = says(utterance)
  return {
    seen,
    script: () => (request, index) => {
      seen.push(request)
      const isForeign = /hg[:.]/.test(request.body) || request.body.includes(SIGNED[other])
      return isForeign ? jsonAnswer(refusal(request), 400) : answer(request, index)
    },
  }
}

function refusal({ path }: Seen): JsonObject {
  const wire: WireName = path.includes(':')
    ? 'gemini'
    : path.includes('/responses')
      ? 'openai-responses'
      : path.includes('/messages')
        ? 'anthropic'
        : 'openai-chat'
  return REFUSALS[wire]
}

const a = provider('a')
const b = provider('b')
const one = await startUpstream(a.script())
const two = await startUpstream(b.script())
t.teardown(() => Promise.all([one.close(), two.close()]))

const QUIRKS: Readonly<Record<WireName, string>> = {
  'openai-responses': '{}',
  gemini: '{ thinking: level }',
  anthropic: '{ thinking: adaptive, signatures: account }',
  'openai-chat': '{ reasoning: object }',
}

const entry = (wire: WireName, url: string, more: string): string =>
  `{ dialect: ${wire}, base_url: "${url}${wire === 'anthropic' ? '' : '/v1'}", quirks: ${QUIRKS[wire]}, ${more} }`

const gateway = await startGateway(`
providers:
${WIRES.map(
  (wire) => `
  ${wire}-a: ${entry(wire, one.url, 'key: sk-a-1234')}
  ${wire}-b: ${entry(wire, two.url, 'key: sk-b-1234')}
  ${wire}-named: ${entry(wire, one.url, 'key: sk-old-1234, account: ours')}
  ${wire}-renewed: ${entry(wire, `${one.url}/eu`, 'key: sk-new-1234, account: ours')}`,
).join('')}
models:
${WIRES.flatMap((wire) =>
  ['a', 'b', 'named', 'renewed'].map(
    (name) => `  ${wire}/${name}: { endpoints: [ { provider: ${wire}-${name}, model: up, price: { prompt: "1", completion: "2" } } ] }\n`,
  ),
).join('')}
`)
t.teardown(() => gateway.close())

const HELLO = { user: [{ text: 'Hello' }] }
const AGAIN = { user: [{ text: 'And?' }] }

interface Got {
  status: number
  text: string
  id: string
  reply: JsonObject
}

interface Way {
  client: Client
  stream: boolean
}

async function ask({ client, stream }: Way, model: string, replayed: JsonObject | undefined, more: JsonObject = {}): Promise<Got> {
  const turns = replayed === undefined ? [HELLO] : [HELLO, { replayed }, AGAIN]
  const body = { ...client.write({ turns, effort: 'high' }), model, stream, ...more }
  const response = await gateway.post(client.path, body)
  const text = await response.text()
  const reply = response.status !== 200 ? {} : stream ? collected(client.id, text) : (JSON.parse(text) as JsonObject)
  return { status: response.status, text, id: response.headers.get('x-generation-id') ?? '', reply }
}

/** Status of each attempt, and whether reasoning was left out of it. */
async function attempts(id: string): Promise<[status: unknown, lost: boolean][]> {
  const found = await gateway.get(`/v1/generation?id=${id}`)
  const all = list(object(((await found.json()) as JsonObject).data).provider_responses)
  return all.map(({ status, dropped }) => [status, Array.isArray(dropped) && dropped.includes('reasoning')])
}

const WAYS = CLIENTS.flatMap((client) => [false, true].map((stream): Way => ({ client, stream })))

async function eachWay(name: string, run: (t: Test, wire: WireName, way: Way) => Promise<void>): Promise<void> {
  await t.test(name, async (t) => {
    for (const wire of WIRES)
      for (const way of WAYS) {
        // Gemini signs the text here, and Messages callers get no block behind the last text.
        if (wire === 'gemini' && way.client.id === 'messages') continue
        await every(t, `${way.client.id} → ${wire}${way.stream ? ', streamed' : ''}`, async (t) => {
          a.seen.length = 0
          b.seen.length = 0
          await run(t, wire, way)
        })
      }
  })
}

await eachWay('its own account gets it back unchanged, another one does not see it', async (t, wire, way) => {
  const first = await ask(way, `${wire}/a`, undefined)
  t.equal(first.status, 200, first.text)
  t.match(first.text, /hg[:.]/, 'the caller has it with the mark of its account')
  t.notMatch(first.text, /sk-a/)
  const back = await ask(way, `${wire}/a`, first.reply)
  t.equal(back.status, 200, back.text)
  t.ok(a.seen[1].body.includes(SIGNED.a), a.seen[1].body)
  t.same(await attempts(back.id), [[200, false]])

  const elsewhere = await ask(way, `${wire}/b`, first.reply)
  t.equal(elsewhere.status, 200, elsewhere.text)
  t.equal(b.seen.length, 1, 'nothing had to be tried again')
  t.match(b.seen[0].body, /So\./, 'the words are there')
  t.same(await attempts(elsewhere.id), [[200, true]])
})

await eachWay('an account with a name keeps it with a new key and another address', async (t, wire, way) => {
  const first = await ask(way, `${wire}/named`, undefined)
  const back = await ask(way, `${wire}/renewed`, first.reply)
  t.equal(back.status, 200, back.text)
  t.ok(a.seen[1].body.includes(SIGNED.a), a.seen[1].body)
})

await eachWay('in a fallback the second account does not see it', async (t, wire, way) => {
  const first = await ask(way, `${wire}/a`, undefined)
  one.script = () => jsonAnswer({ error: { message: 'down', code: 500 } }, 500)
  const second = await ask(way, `${wire}/a`, first.reply, { models: [`${wire}/a`, `${wire}/b`] }).finally(() => {
    one.script = a.script()
  })
  t.equal(second.status, 200, second.text)
  t.same(await attempts(second.id), [
    [500, false],
    [200, true],
  ])
})

await eachWay('what a provider refuses is left out, and it is called once more', async (t, wire, way) => {
  const first = await ask(way, `${wire}/a`, undefined)
  // The account has lost the keys of its own signatures.
  const answer = a.script()
  one.script = (request, index) => (request.body.includes(SIGNED.a) ? jsonAnswer(REFUSALS[wire], 400) : answer(request, index))
  const second = await ask(way, `${wire}/a`, first.reply).finally(() => {
    one.script = a.script()
  })
  t.equal(second.status, 200, second.text)
  t.same(await attempts(second.id), [
    [400, false],
    [200, true],
  ])
})

await eachWay('it is not called a third time', async (t, wire, way) => {
  const first = await ask(way, `${wire}/a`, undefined)
  let calls = 0
  one.script = () => {
    calls++
    return jsonAnswer(REFUSALS[wire], 400)
  }
  const second = await ask(way, `${wire}/a`, first.reply).finally(() => {
    one.script = a.script()
  })
  t.equal(second.status, 400, second.text)
  t.equal(calls, 2)
})

t.test('a request without reasoning is not sent twice', async (t) => {
  let calls = 0
  one.script = () => {
    calls++
    return jsonAnswer(REFUSALS['openai-responses'], 400)
  }
  t.teardown(() => {
    one.script = a.script()
  })
  t.equal((await ask({ client: CLIENTS[1], stream: false }, 'openai-responses/a', undefined)).status, 400)
  t.equal(calls, 1)
})

t.test('the refused attempt costs nothing', async (t) => {
  const way = { client: CLIENTS[1], stream: false }
  const first = await ask(way, 'openai-responses/a', undefined)
  const cost = object(first.reply.usage).cost
  const answer = a.script()
  one.script = (request, index) =>
    request.body.includes(SIGNED.a) ? jsonAnswer(REFUSALS['openai-responses'], 400) : answer(request, index)
  t.teardown(() => {
    one.script = a.script()
  })
  const second = await ask(way, 'openai-responses/a', first.reply)
  t.type(cost, 'number')
  t.equal(object(second.reply.usage).cost, cost)
})
