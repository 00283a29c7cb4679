/**
 * A third-party client that validates what it reads, run against the gateway under that client's brand word.
 * Its unions fall back silently to `isUnknown`, so every parsed value is searched for that mark as well.
 */
import { OpenRouter } from '@openrouter/sdk'
import t, { type Test } from 'tap'
import { FakeClock } from '../support/clock.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { countLane, type Lane, lanesBetween } from '../support/lanes.ts'
import { sseAnswer, startUpstream, type Upstream } from '../support/upstream.ts'
import { answerFor, framesFor, type Utterance, upstreamError, type WireName } from '../support/wire.ts'
import { houseConfig, DIALECTS } from './support/house.ts'
import { unknowns } from './support/unknowns.ts'

const TOOL = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather of a place',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
}

interface Case {
  name: string
  utterance: Utterance
  request?: Record<string, unknown>
  status?: string
}

const CASES: readonly Case[] = [
  { name: 'text', utterance: { text: ['Hel', 'lo ', 'wörld'] } },
  {
    name: 'reasoning before text',
    utterance: { reasoning: ['let me', ' see'], text: ['so'] },
    request: { reasoning: { effort: 'high', summary: 'auto' } },
  },
  {
    name: 'parallel tool calls',
    utterance: {
      calls: [
        { id: 'call_1', name: 'weather', args: ['{"place"', ':"Rome"}'] },
        { id: 'call_2', name: 'weather', args: ['{"place":"Oslo"}'] },
      ],
    },
    request: { tools: [TOOL], toolChoice: 'auto', parallelToolCalls: true },
  },
  { name: 'refusal', utterance: { refusal: ['I will', ' not'] } },
  {
    name: 'cut at the output limit',
    utterance: { text: ['half a sen'], end: 'length' },
    request: { maxOutputTokens: 16 },
    status: 'incomplete',
  },
  {
    name: 'structured output',
    utterance: { text: ['{"ok":', 'true}'] },
    request: {
      text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object', properties: { ok: { type: 'boolean' } } } } },
    },
  },
  {
    name: 'every setting that is echoed',
    utterance: { text: ['fine'] },
    request: {
      instructions: 'Be brief.',
      temperature: 0.5,
      topP: 0.9,
      metadata: { a: 'b' },
      user: 'someone',
      truncation: 'auto',
      frequencyPenalty: 0.1,
      presencePenalty: 0.1,
    },
  },
]

const MANAGER = 'sk-openrouter-v1-manager-0123456789'

const createClient = (gateway: Gateway): OpenRouter =>
  new OpenRouter({ apiKey: KEY, serverURL: `${gateway.url}/v1`, retryConfig: { strategy: 'none' } })

const start = (upstream: Upstream, dialect: WireName, lane?: Lane): Promise<Gateway> =>
  startGateway(`brand: { word: openrouter }\n${houseConfig(upstream.url, { 'acme/one': dialect })}`, lane ? { lane } : {})

type Parsed = Record<string, unknown>

async function whole(gateway: Gateway, request: Record<string, unknown>): Promise<Parsed> {
  const responsesRequest = { model: 'acme/one', input: 'Hello', ...request, stream: false }
  return (await createClient(gateway).responses.send({ xOpenRouterMetadata: 'enabled', responsesRequest } as never)) as unknown as Parsed
}

async function streamed(gateway: Gateway, request: Record<string, unknown>): Promise<Parsed[]> {
  const responsesRequest = { model: 'acme/one', input: 'Hello', ...request, stream: true }
  const stream = (await createClient(gateway).responses.send({
    xOpenRouterMetadata: 'enabled',
    responsesRequest,
  } as never)) as unknown as AsyncIterable<Parsed>
  const events: Parsed[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** Dialects that have no words for a refusal: they end as filtered. */
const WITHOUT_REFUSAL: readonly WireName[] = ['anthropic', 'gemini']

for (const dialect of DIALECTS)
  for (const lane of lanesBetween('responses', dialect))
    t.test(`responses from ${dialect} in lane ${lane}`, async (t) => {
      const upstream = await startUpstream(() => ({}))
      t.teardown(() => upstream.close())
      const gateway = await start(upstream, dialect, lane)
      t.teardown(() => gateway.close())
      for (const { name, utterance, request = {}, status: usual = 'completed' } of CASES)
        await t.test(name, async (t) => {
          const status = utterance.refusal && WITHOUT_REFUSAL.includes(dialect) ? 'incomplete' : usual
          upstream.script = (seen) => answerFor(seen, utterance)
          const reply = await whole(gateway, request)
          t.same(unknowns(reply), [], 'every part of the reply is known')
          t.match(reply, { object: 'response', status, model: 'acme/one', openrouterMetadata: { requested: 'acme/one' } })
          const events = await streamed(gateway, request)
          t.same(unknowns(events), [], 'every event is known')
          t.same(
            events.map((event) => event.sequenceNumber),
            [...events.keys()],
            'numbers without a gap',
          )
          const last = events.at(-1) as { type: string; response: Parsed }
          t.equal(last.type, `response.${status}`)
          const { output } = last.response as { output: Parsed[] }
          const shape = (items: Parsed[]): Parsed[] => items.map(({ id: _, callId: __, ...rest }) => rest)
          t.same(shape(output), shape(reply.output as Parsed[]), 'stream and whole reply hold the same output')
          countLane(root, lane)
        })
      await t.test('a stream that breaks ends with response.failed', async (t) => {
        upstream.script = (seen) =>
          sseAnswer(framesFor(seen.path, { text: ['one', 'two', 'three', 'four', 'five'] }).slice(0, -4), { after: 'close' })
        const events = await streamed(gateway, {})
        t.same(unknowns(events), [])
        t.match(events.at(-1), {
          type: 'response.failed',
          response: { status: 'failed', errorType: 'provider_unavailable', error: { code: 'server_error' } },
        })
      })
    })

const root = t

for (const dialect of DIALECTS)
  for (const lane of lanesBetween('chat', dialect))
    t.test(`chat from ${dialect} in lane ${lane}`, async (t) => {
      const upstream = await startUpstream(() => ({}))
      t.teardown(() => upstream.close())
      const gateway = await start(upstream, dialect, lane)
      t.teardown(() => gateway.close())
      const send = (utterance: Utterance, stream: boolean): Promise<unknown> => {
        upstream.script = (seen) => answerFor(seen, utterance)
        const tool = { type: 'function', function: { name: TOOL.name, description: TOOL.description, parameters: TOOL.parameters } }
        const chatRequest = {
          model: 'acme/one',
          messages: [{ role: 'user', content: 'Hello' }],
          ...(utterance.calls ? { tools: [tool] } : {}),
          stream,
        }
        return createClient(gateway).chat.send({ xOpenRouterMetadata: 'enabled', chatRequest } as never)
      }
      for (const { name, utterance } of CASES)
        await t.test(name, async (t) => {
          const whole = (await send(utterance, false)) as Parsed
          t.same(unknowns(whole), [])
          t.match(whole, { object: 'chat.completion', model: 'acme/one', openrouterMetadata: { requested: 'acme/one' } })
          const chunks: Parsed[] = []
          for await (const chunk of (await send(utterance, true)) as AsyncIterable<Parsed>) chunks.push(chunk)
          t.same(unknowns(chunks), [])
          t.ok(chunks.length >= 2 && chunks.every((chunk) => chunk.object === 'chat.completion.chunk'))
          t.match(chunks.at(-1), { usage: { promptTokens: 11, completionTokens: 7 }, openrouterMetadata: { requested: 'acme/one' } })
          countLane(root, lane)
        })
    })

t.test('errors have the type of their status', async (t) => {
  const upstream = await startUpstream(() => upstreamError(500))
  t.teardown(() => upstream.close())
  const gateway = await start(upstream, 'openai-responses')
  t.teardown(() => gateway.close())
  const failure = async (request: Record<string, unknown>): Promise<{ name: string; statusCode: number }> => {
    try {
      await whole(gateway, request)
    } catch (error) {
      return error as { name: string; statusCode: number }
    }
    throw new Error('no error came')
  }
  t.match(await failure({}), { name: 'BadGatewayResponseError', statusCode: 502 })
  t.match(await failure({ model: 'acme/none' }), { name: 'NotFoundResponseError', statusCode: 404 })
  t.match(await failure({ user: 'x'.repeat(257) }), { name: 'BadRequestResponseError', statusCode: 400 })
  upstream.script = () => upstreamError(429, 'slow down', { 'retry-after': '3' })
  t.match(await failure({}), { name: 'TooManyRequestsResponseError', statusCode: 429 })
  upstream.script = () => upstreamError(529)
  t.match(await failure({}), { name: 'ProviderOverloadedResponseError', statusCode: 529 })
})

t.test('the list of models is read', async (t) => {
  const upstream = await startUpstream(() => ({}))
  t.teardown(() => upstream.close())
  const gateway = await start(upstream, 'openai-responses')
  t.teardown(() => gateway.close())
  const page = (await createClient(gateway).models.list({} as never)) as unknown as { result?: Parsed; data?: unknown }
  t.same(unknowns(page), [])
  t.match(JSON.stringify(page), /"id":"acme\/one"/)
})

t.test('the lists of endpoints and providers are read', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  const config = houseConfig(upstream.url, { 'acme/one': 'openai-responses' }).replace('key: "sk-provider-secret"', '$&, zdr: true')
  const gateway = await startGateway(`brand: { word: openrouter }\n${config}`)
  t.teardown(() => gateway.close())
  const client = createClient(gateway)
  const parsed = async (asked: Promise<unknown>): Promise<Parsed> => {
    const reply = (await asked) as Parsed
    t.same(unknowns(reply), [])
    return reply
  }
  const list = () => parsed(client.endpoints.list({ author: 'acme', slug: 'one' } as never))
  const entry = { modelId: 'acme/one', tag: 'openai-responses', contextLength: 200_000, status: 0, supportsToolChoice: { auto: true } }
  t.match(await list(), { data: { id: 'acme/one', endpoints: [{ ...entry, uptimeLast5m: null, latencyLast30m: null }] } })
  await whole(gateway, {})
  t.match(await list(), { data: { endpoints: [{ ...entry, uptimeLast5m: 100, latencyLast30m: { p50: Number, p99: Number } }] } })
  t.match(await parsed(client.endpoints.listZdrEndpoints({} as never)), { data: [entry] })
  t.match(await parsed(client.providers.list({} as never)), { data: [{ slug: 'openai-responses', privacyPolicyUrl: null }] })
})

t.test('keys, credits, activity and generations are read', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  const keys = `auth: { keys: [ { name: test, key: "${KEY}", limit: "5.00", limit_reset: weekly }, { name: boss, key: "${MANAGER}", management: true } ] }`
  const gateway = await startGateway(`brand: { word: openrouter }\n${keys}\n${houseConfig(upstream.url, { 'acme/one': 'openai-chat' })}`)
  t.teardown(() => gateway.close())
  const manager = new OpenRouter({ apiKey: MANAGER, serverURL: `${gateway.url}/v1`, retryConfig: { strategy: 'none' } })
  const parsed = async (asked: Promise<unknown>): Promise<Parsed> => {
    const reply = (await asked) as Parsed
    t.same(unknowns(reply), [])
    return reply
  }
  const reply = await whole(gateway, {})
  const reset = { limit: 5, limitReset: 'weekly', includeByokInLimit: false, isManagementKey: false, creatorUserId: null }
  t.match(await parsed(createClient(gateway).apiKeys.getCurrentKeyMetadata({} as never)), { data: { ...reset, usage: Number } })
  const generation = await parsed(createClient(gateway).generations.getGeneration({ id: reply.id } as never))
  t.match(generation, { data: { id: reply.id, model: 'acme/one', usage: Number, tokensPrompt: 11 } })

  const expiresAt = new Date('2099-01-31T00:00:00Z')
  const demand = { name: 'mine', limit: 2, limitReset: 'monthly', includeByokInLimit: true, expiresAt, creatorUserId: 'me' }
  const made = await parsed(manager.apiKeys.create({ requestBody: demand } as never))
  t.match(made, { key: /^sk-openrouter-v2-[0-9a-f]{64}$/, data: { name: 'mine', limitRemaining: 2, limitReset: 'monthly', creatorUserId: 'me' } })
  t.same((made.data as { expiresAt: Date }).expiresAt, expiresAt)
  const { hash } = made.data as { hash: string }
  t.match(await parsed(manager.apiKeys.get({ hash } as never)), { data: { hash, includeByokInLimit: true } })
  const requestBody = { name: 'other', limit: null, disabled: true }
  t.match(await parsed(manager.apiKeys.update({ hash, requestBody } as never)), { data: { name: 'other', limit: null, disabled: true } })
  const names = async (request: Parsed) => {
    const page = (await parsed(manager.apiKeys.list(request as never))) as { data: { name: string }[] }
    return page.data.map(({ name }) => name)
  }
  t.same(await names({}), ['test', 'boss'])
  t.same(await names({ includeDisabled: true, offset: 1 }), ['boss', 'other'])
  t.match(await parsed(manager.credits.getCredits({} as never)), { data: { totalCredits: Number, totalUsage: Number } })
  t.match(await parsed(manager.analytics.getUserActivity({} as never)), { data: [] })
  t.match(await parsed(manager.apiKeys.delete({ hash } as never)), { deleted: true })
  await t.rejects(manager.apiKeys.get({ hash } as never), { name: 'NotFoundResponseError', statusCode: 404 })
  await t.rejects(createClient(gateway).apiKeys.create({ requestBody: { name: 'x' } } as never), { name: 'ForbiddenResponseError', statusCode: 403 })
})

const DAY = 86_400_000

/** A gateway with an ordinary key and one that manages, under this client's brand word. */
async function managed(t: Test): Promise<{ gateway: Gateway; clock: FakeClock; manager: OpenRouter }> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  const signIn = 'sign_in: { callbacks: [ "https://app.example/back" ] }'
  const keys = `auth: { ${signIn}, keys: [ { name: test, key: "${KEY}" }, { name: boss, key: "${MANAGER}", management: true } ] }`
  const presets = 'presets: { brief: { model: acme/one, system_prompt: "Be brief.", parameters: { temperature: 0.5 } } }'
  const clock = new FakeClock()
  const config = `brand: { word: openrouter }\n${keys}\n${presets}\n${houseConfig(upstream.url, { 'acme/one': 'openai-chat' })}`
  const gateway = await startGateway(config, { clock })
  t.teardown(() => gateway.close())
  return { gateway, clock, manager: new OpenRouter({ apiKey: MANAGER, serverURL: `${gateway.url}/v1`, retryConfig: { strategy: 'none' } }) }
}

async function known(t: Test, asked: Promise<unknown>): Promise<Parsed> {
  const reply = (await asked) as Parsed
  t.same(unknowns(reply), [])
  return reply
}

t.test('signing in: the link, the code and the key', async (t) => {
  const { gateway } = await managed(t)
  const client = createClient(gateway)
  const { codeChallenge, codeVerifier } = await client.oAuth.createSHA256CodeChallenge()
  const asked = { codeChallenge, codeChallengeMethod: 'S256' as const, limit: 1.5 }
  const callbackUrl = 'https://app.example/back'
  const expiresAt = new Date('2099-01-31T00:00:00Z')
  const requestBody = { callbackUrl, ...asked, usageLimitType: 'monthly', keyLabel: 'Mine', expiresAt }
  const made = await known(t, client.oAuth.createAuthCode({ requestBody } as never))
  t.match(made, { data: { id: String, appId: Number, createdAt: String } })
  const { id } = made.data as { id: string }
  const exchange = (code: string) =>
    client.oAuth.exchangeAuthCodeForAPIKey({ requestBody: { code, codeVerifier, codeChallengeMethod: 'S256' } } as never)
  const given = await known(t, exchange(id))
  t.match(given, { key: /^sk-openrouter-v2-[0-9a-f]{64}$/, userId: 'test' })
  const own = new OpenRouter({ apiKey: String(given.key), serverURL: `${gateway.url}/v1`, retryConfig: { strategy: 'none' } })
  t.match(await known(t, own.apiKeys.getCurrentKeyMetadata({} as never)), {
    data: { limit: 1.5, limitRemaining: 1.5, limitReset: 'monthly', expiresAt, creatorUserId: 'test', isManagementKey: false },
  })
  await t.rejects(exchange(id), { name: 'ForbiddenResponseError', statusCode: 403 })
  await t.rejects(client.oAuth.createAuthCode({ requestBody: { callbackUrl: 'http://app.example/' } } as never), {
    name: 'BadRequestResponseError',
    statusCode: 400,
  })

  const link = await client.oAuth.createAuthorizationUrl({ callbackUrl, ...asked })
  t.equal(new URL(link).origin, new URL(gateway.url).origin)
  const page = await fetch(link)
  t.match(await page.text(), /app\.example asks for a key/)
  const form = new URLSearchParams([...new URL(link).searchParams, ['key', KEY]])
  const sent = await fetch(new URL('/auth', gateway.url), { method: 'POST', body: form, redirect: 'manual' })
  t.equal(sent.status, 303)
  const code = new URL(sent.headers.get('location') ?? '').searchParams.get('code') ?? ''
  t.match(await known(t, exchange(code)), { userId: 'test' })
})

t.test('activity of a day that is over, counts, and presets', async (t) => {
  const { gateway, clock, manager } = await managed(t)
  const client = createClient(gateway)
  const reply = await whole(gateway, {})
  await clock.advance(DAY)
  const row = { date: '2026-01-05', model: 'acme/one', requests: 1, promptTokens: 11, completionTokens: 7, usage: 0.000025 }
  t.match(await known(t, manager.analytics.getUserActivity({} as never)), { data: [row] })
  const read = await known(t, client.generations.getGeneration({ id: reply.id } as never))
  t.match(read, { data: { totalCost: 0.000025, tokensPrompt: 11, tokensCompletion: 7 } })
  t.equal((reply.usage as Parsed).cost, 0.000025, 'what the client saw')
  t.match(await known(t, client.apiKeys.getCurrentKeyMetadata({} as never)), { data: { usage: 0.000025, usageDaily: 0, limit: null } })
  t.match(await known(t, manager.credits.getCredits({} as never)), { data: { totalUsage: 0.000025 } })
  t.match(await known(t, client.models.count({} as never)), { data: { count: 1 } })
  t.match(await known(t, client.models.get({ author: 'acme', slug: 'one' } as never)), { data: { id: 'acme/one' } })
  t.match(await known(t, client.models.listForUser({ bearer: KEY } as never, {} as never)), { result: { data: [{ id: 'acme/one' }] } })
  t.match(await known(t, client.presets.list({} as never)), { result: { data: [{ slug: 'brief' }] } })
  t.match(await known(t, client.presets.get({ slug: 'brief' } as never)), { data: { slug: 'brief' } })
})

t.test('guardrails and their assignments are made, read, changed and removed', async (t) => {
  const { gateway, manager } = await managed(t)
  const demand = {
    name: 'Budget',
    description: 'For all of us',
    limitUsd: 50,
    resetInterval: 'monthly',
    allowedModels: ['acme/one'],
    enforceZdr: false,
    contentFilterBuiltins: [{ slug: 'email', action: 'redact' }],
    contentFilters: [{ pattern: 'project-[0-9]{4}', action: 'block', label: 'PROJECT' }],
  }
  const made = await known(t, manager.guardrails.create({ createGuardrailRequest: demand } as never))
  t.match(made, {
    data: {
      ...demand,
      enforceZdr: null,
      enforceZdrOther: false,
      ignoredModels: null,
      contentFilterBuiltins: [{ slug: 'email', action: 'redact', label: '[EMAIL]' }],
      includeByokInBudgets: false,
      workspaceId: String,
      createdAt: String,
      updatedAt: null,
    },
  })
  const { id } = made.data as { id: string }
  t.same(await known(t, manager.guardrails.get({ id } as never)), made)
  t.match(await known(t, manager.guardrails.list({ limit: 1 } as never)), { result: { data: [{ id, name: 'Budget' }], totalCount: 1 } })
  const { data: keys } = (await known(t, manager.apiKeys.list({} as never))) as { data: { hash: string }[] }
  const keyHashes = [keys[0].hash]
  t.match(await known(t, manager.guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: { keyHashes } } as never)), { assignedCount: 1 })
  const assigned = { result: { data: [{ guardrailId: id, keyHash: keys[0].hash, keyName: 'test', assignedBy: 'boss' }], totalCount: 1 } }
  t.match(await known(t, manager.guardrails.listKeyAssignments({} as never)), assigned)
  t.match(await known(t, manager.guardrails.listGuardrailKeyAssignments({ id } as never)), assigned)
  await t.rejects(whole(gateway, { input: 'project-1234' }), { name: 'ForbiddenResponseError', statusCode: 403 })
  t.match(await whole(gateway, {}), { status: 'completed' })
  const members = { id, bulkAssignMembersRequest: { memberUserIds: ['user_a'] } }
  await t.rejects(manager.guardrails.bulkAssignMembers(members as never), { name: 'BadRequestResponseError', statusCode: 400 })
  t.match(await known(t, manager.guardrails.listMemberAssignments({} as never)), { result: { data: [], totalCount: 0 } })
  t.match(await known(t, manager.guardrails.listGuardrailMemberAssignments({ id } as never)), { result: { totalCount: 0 } })
  const updated = await known(t, manager.guardrails.update({ id, updateGuardrailRequest: { name: 'Other', contentFilters: null } } as never))
  t.match(updated, { data: { name: 'Other', contentFilters: null, limitUsd: 50, updatedAt: String } })
  t.match(await whole(gateway, { input: 'project-1234' }), { status: 'completed' })
  t.match(await known(t, manager.guardrails.bulkUnassignKeys({ id, bulkUnassignKeysRequest: { keyHashes } } as never)), { unassignedCount: 1 })
  t.match(await known(t, manager.guardrails.delete({ id } as never)), { deleted: true })
  await t.rejects(manager.guardrails.get({ id } as never), { name: 'NotFoundResponseError', statusCode: 404 })
  await t.rejects(createClient(gateway).guardrails.create({ createGuardrailRequest: { name: 'x' } } as never), {
    name: 'ForbiddenResponseError',
    statusCode: 403,
  })
})
