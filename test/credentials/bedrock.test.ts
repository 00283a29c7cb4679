/** Signed calls of Bedrock: a stand-in that checks each signature and speaks the binary event stream, with keys that end. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { standInCells, startMatrix } from '../providers/matrix.ts'
import { bedrock } from '../providers/rules/bedrock.ts'
import { bedrockClaude } from '../providers/rules/bedrock-claude.ts'
import { SCENARIOS } from '../providers/scenarios.ts'
import { type Aws, startAws, USER, withVariables } from '../support/aws.ts'
import { FakeClock } from '../support/clock.ts'
import { buildPdf } from '../support/documents.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { list, object } from '../support/fold.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { CLIENTS, type Client } from '../support/matrix/clients.ts'
import { type Answer, jsonAnswer } from '../support/upstream.ts'
import { answerFor, type Utterance } from '../support/wire.ts'

// Thousands of real calls: a minute on a busy machine.
t.setTimeout(280_000)

const ROLE = 'arn:aws:iam::123456789012:role/work'
const USER_ENV = { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey }
const UTTERANCES: Utterance = { text: ['Fine.'] }
const PROFILE = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/mi1dadi0g15f'

for (const preset of [bedrock, bedrockClaude])
  t.test(`every conversation of the matrix at ${preset.preset}, signed with keys of the instance`, async (t) => {
    const aws = await startAws(Date.now, () => ({}))
    t.teardown(() => aws.close())
    withVariables(t, aws.env.imds)
    const rules = { ...preset, settings: 'credential: { aws: {} }', denied: aws.refusal }
    const matrix = await startMatrix(t, [rules])
    for (const model of rules.models)
      await every(t, model.name, async (t) => {
        for (const cell of standInCells(matrix.standIns, SCENARIOS).filter((each) => each.model === model)) {
          const name = `${cell.scenario.name}, ${cell.client.id}${cell.stream ? ', streamed' : ''}`
          const outcome = await matrix.run(cell)
          t.same(outcome.problems, [], name)
          t.equal(outcome.refused, undefined, name)
        }
      })
    const [standIn] = matrix.standIns
    t.equal(standIn.refused.length, 0, 'nothing was refused')
    t.ok(standIn.accepted.length > 200, `${standIn.accepted.length} calls`)
    t.strictSame(new Set(aws.callers), new Set(['instance']))
  })

/** Marks the first part of the one message for the cache, as each format does. */
function withCachePoint({ id }: Client, body: JsonObject): JsonObject {
  const [message] = list(body.messages ?? body.input).filter(({ role }) => role === 'user')
  const [first, ...rest] = list(message.content)
  const mark = id === 'responses' ? { prompt_cache_breakpoint: { mode: 'explicit' } } : { cache_control: { type: 'ephemeral' } }
  message.content = [{ ...first, ...mark }, ...rest]
  return body
}

/** Kinds of the message's parts as they came, with a mark behind what is marked. */
function partsIn(body: JsonObject): string[] {
  const content = list(object(list(body.messages)[0]).content)
  return content.flatMap((block) => {
    if (block.type === undefined) return Object.keys(block)
    return block.cache_control === undefined ? [String(block.type)] : [String(block.type), 'cachePoint']
  })
}

for (const [preset, model] of [
  [bedrock, 'bedrock/profile'],
  [bedrockClaude, 'bedrock-claude/profile'],
] as const)
  t.test(`images, documents and cache points at ${preset.preset}, signed with keys of the container`, async (t) => {
    const aws = await startAws(Date.now, () => ({}))
    t.teardown(() => aws.close())
    withVariables(t, aws.env.ecs)
    const { gateway, standIns } = await startMatrix(t, [{ ...preset, settings: 'credential: { aws: {} }', denied: aws.refusal }])
    const [standIn] = standIns
    standIn.utterance = UTTERANCES
    const file = `data:application/pdf;base64,${buildPdf(['Gruss']).toString('base64')}`
    const image = `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==`
    await every(t, 'every client, streamed and not', async (t) => {
      for (const client of CLIENTS)
        for (const stream of [false, true]) {
          const name = `${client.id}${stream ? ', streamed' : ''}`
          const asked = client.write({ turns: [{ user: [{ text: 'Look, 世界' }, { image }, { file, name: 'a.pdf' }] }] })
          const response = await gateway.post(client.path, { model, stream, ...withCachePoint(client, asked) })
          const text = await response.text()
          t.equal(response.status, 200, `${name} ${text}`)
          const reply = stream ? client.foldStream(text) : client.fold(JSON.parse(text) as JsonObject)
          t.equal(reply.text, 'Fine.', name)
          t.same(partsIn(standIn.accepted.at(-1) ?? {}), ['text', 'cachePoint', 'image', 'document'], name)
        }
    })
    t.equal(standIn.refused.length, 0, 'nothing was refused')
    t.strictSame(aws.callers, Array(6).fill('container'))
  })

interface Scene {
  aws: Aws
  gateway: Gateway
  clock: FakeClock
  ask(more?: JsonObject): Promise<Response>
}

/** Keys of a role, whose fetches its STS counts. @param answer to calls that are signed well. */
async function scene(t: Test, answer?: () => Answer | undefined, life = 3600): Promise<Scene> {
  // By the time of this machine, since the clients of the SDK sign by it.
  const clock = new FakeClock(1, Date.now())
  const aws = await startAws(
    () => clock.now(),
    (seen) => answer?.() ?? answerFor(seen, UTTERANCES),
  )
  aws.life = life
  withVariables(t, { ...aws.env.sts, ...USER_ENV })
  const gateway = await startGateway(
    `
providers:
  aws: { preset: bedrock, base_url: "${aws.service.url}", credential: { aws: { role: "${ROLE}" } } }
models:
  aws/claude: { max_output: 1000, endpoints: [ { provider: aws, model: "${PROFILE}", price: free } ] }
`,
    { clock, env: { AWS_REGION: 'us-east-1' } },
  )
  t.teardown(() => Promise.all([gateway.close(), aws.close()]))
  const body = { model: 'aws/claude', messages: [{ role: 'user', content: 'grüße' }] }
  return { aws, gateway, clock, ask: (more = {}) => gateway.post('/v1/chat/completions', { ...body, ...more }) }
}

t.test('the address that speaks the OpenAI format is signed as well', async (t) => {
  const aws = await startAws(Date.now, (seen) => answerFor(seen, UTTERANCES))
  withVariables(t, USER_ENV)
  const gateway = await startGateway(
    `
providers:
  aws: { preset: bedrock-openai, base_url: "${aws.service.url}/openai/v1" }
models:
  aws/gpt-oss: { endpoints: [ { provider: aws, model: "openai.gpt-oss-120b-1:0", price: free } ] }
`,
    { env: { AWS_REGION: 'us-east-1' } },
  )
  t.teardown(() => Promise.all([gateway.close(), aws.close()]))
  await every(t, 'every client, streamed and not', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        const asked = client.write({ turns: [{ user: [{ text: 'Hello' }] }] })
        const response = await gateway.post(client.path, { model: 'aws/gpt-oss', stream, top_k: 3, ...asked })
        const text = await response.text()
        const reply = stream ? client.foldStream(text) : client.fold(JSON.parse(text) as JsonObject)
        t.equal(reply.text, 'Fine.', `${client.id}, ${stream}`)
        t.match(aws.service.requests.at(-1), {
          path: '/openai/v1/chat/completions',
          json: { model: 'openai.gpt-oss-120b-1:0', top_k: undefined },
        })
      }
  })
  t.strictSame(aws.callers, Array(6).fill('user'))
})

const settled = ({ clock }: Scene) => eventually('no fetch is under way', () => !clock.waiting.includes(30_000))

t.test('a refusal of the credential fetches other keys once', async (t) => {
  await every(t, 'every exception', async (t) => {
    for (const [type, status, message] of [
      ['ExpiredTokenException', 403, 'The security token included in the request is expired'],
      // An expired session behind which there is no body.
      ['ExpiredTokenException', 400, undefined],
      ['UnrecognizedClientException', 403, 'The security token included in the request is invalid.'],
      ['InvalidSignatureException', 403, 'The request signature we calculated does not match the signature you provided.'],
    ] as const) {
      let refusals = 1
      const refusal = (): Answer => ({ ...jsonAnswer({ message }, status, { 'x-amzn-errortype': type }), ...(message ? {} : { body: [] }) })
      const made = await scene(t, () => (refusals-- > 0 ? refusal() : undefined))
      const name = `${status} ${type}`
      t.equal((await made.ask()).status, 200, `${name}: other keys are taken`)
      t.equal(made.aws.sts.requests.length, 2, `${name}: one more fetch`)
      refusals = Number.POSITIVE_INFINITY
      for (const stream of [false, true]) {
        const reply = await made.ask({ stream })
        t.equal(reply.status, 502, name)
        t.match(await reply.json(), { error: { metadata: { credential: 'refused' } } }, name)
      }
      t.equal(made.aws.sts.requests.length, 2, `${name}: no more fetches within half a minute`)
    }
  })
})

t.test('a model that the account may not use fetches no other keys', async (t) => {
  await every(t, 'every sentence', async (t) => {
    for (const message of [
      "You don't have access to the model with the specified model ID.",
      `User: ${ROLE.replace(':role/', ':assumed-role/')}/headgate is not authorized to perform: bedrock:InvokeModel on resource: ${PROFILE}`,
    ]) {
      const made = await scene(t, () => jsonAnswer({ message }, 403, { 'x-amzn-errortype': 'AccessDeniedException:http://internal/' }))
      await made.ask()
      await settled(made)
      for (let count = 0; count < 5; count++) {
        await made.clock.advance(31_000)
        const reply = await made.ask()
        t.equal(reply.status, 502, message)
        const { error } = (await reply.json()) as { error: { metadata: JsonObject } }
        t.equal(error.metadata.provider_code, 'AccessDeniedException', message)
        t.equal(error.metadata.credential, undefined, message)
        t.notMatch(JSON.stringify(error), /123456789012|access to the model/, `${message}: the caller is not shown what names the account`)
      }
      t.ok(
        made.gateway.logs.some((line) => line.includes(JSON.stringify(message).slice(1, -1)) && line.includes("the gateway's own key")),
        `${message}: the operator’s log has it`,
      )
      t.equal(made.aws.sts.requests.length, 1, `${message}: one fetch`)
      t.equal(made.aws.service.requests.length, 6, `${message}: one call for each request`)
    }
  })
})

t.test('what could be a key or a token within such a sentence is not in the log', async (t) => {
  const tokens = [
    'AIzaSyA1234567890abcdefghijklmnopqrstuvw',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.abc-DEF_123',
    '0123456789abcdef0123456789abcdef',
  ]
  const message = `User: x is not authorized to perform: bedrock:InvokeModelWithResponseStream with ${tokens.join(' and ')}`
  const made = await scene(t, () => jsonAnswer({ message }, 403, { 'x-amzn-errortype': 'AccessDeniedException:http://internal/' }))
  await made.ask()
  const line = made.gateway.logs.find((each) => each.includes('InvokeModelWithResponseStream'))
  t.match(line, /with … and … and …/)
})

/** Calls in each step of 100 ms. */
const CALLS = 10
const STEPS = 150

t.test('100 requests per second meet no end of keys, also while STS is down', async (t) => {
  const made = await scene(t, undefined, 10)
  const { aws, clock } = made
  t.equal((await made.ask()).status, 200)
  const { script } = aws.sts
  const statuses: number[] = []
  const send = async (stream: boolean) => {
    const reply = await made.ask({ stream })
    const text = await reply.text()
    statuses.push(text.includes('Fine.') ? reply.status : 0)
  }
  let running: Promise<unknown> = Promise.resolve()
  for (let step = 0; step < STEPS; step++) {
    // Keys are fetched anew from the middle of their life on.
    if (step === 40) aws.sts.script = () => ({ status: 503 })
    if (step === 80) {
      // The SDK tries a call of STS again by the time of this machine: a failed fetch may still be under way.
      await eventually('a failed fetch in the log', () => made.gateway.logs.some((line) => line.includes('cannot be refreshed')))
      aws.sts.script = script
    }
    const sent = Promise.all(Array.from({ length: CALLS }, (_, index) => send(index % 4 === 0)))
    await clock.advance(100)
    // Calls of one step are on their way while time goes on.
    await running
    running = sent
  }
  await running
  t.equal(statuses.length, STEPS * CALLS)
  t.strictSame(new Set(statuses), new Set([200]), `${statuses.length} requests`)
  t.equal(aws.callers.length, 1 + STEPS * CALLS, 'each call was accepted the first time')
  t.equal(aws.service.requests.length, 1 + STEPS * CALLS)
  const keys = aws.service.requests.map(({ headers }) => /Credential=([A-Z0-9]+)/.exec(`${headers.authorization}`)?.[1])
  t.ok(new Set(keys).size >= 2, `${new Set(keys).size} sets of keys`)
})
