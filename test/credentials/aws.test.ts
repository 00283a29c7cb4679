/** Keys of AWS from each link of its chain, against services that check signatures and tokens. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { check } from '../../src/cli/check.ts'
import { type Aws, EXTERNAL_ID, startAws, USER, withVariables } from '../support/aws.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { JSON_TYPE } from '../support/upstream.ts'

const CHAT = { messages: [{ role: 'user', content: 'grüße' }] }
const ANSWER = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const STREAM = `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`

interface Scene {
  aws: Aws
  gateway: Gateway
  clock: FakeClock
}

async function scene(t: Test, variables: (aws: Aws) => Record<string, string>, settings = ''): Promise<Scene> {
  // By the time of this machine, since the clients of the SDK sign by it.
  const clock = new FakeClock(1, Date.now())
  const aws = await startAws(
    () => clock.now(),
    (seen) =>
      seen.body.includes('"stream":true')
        ? { headers: { 'content-type': 'text/event-stream' }, body: [STREAM] }
        : { headers: JSON_TYPE, body: [ANSWER] },
  )
  withVariables(t, { ...aws.env.sts, ...variables(aws) })
  const gateway = await startGateway(
    `
providers:
  bedrock: { dialect: openai-chat, base_url: "${aws.service.url}/openai/v1", credential: { aws: { region: us-east-1${settings} } } }
models:
  acme/one: { endpoints: [ { provider: bedrock, model: "openai.gpt-oss-120b-1:0", price: free } ] }
  acme/two:
    endpoints:
      - { provider: bedrock, model: m, price: free, credential: { aws: { role: "arn:aws:iam::123456789012:role/partner", external_id: ${EXTERNAL_ID}, session_name: team-a } } }
`,
    { clock },
  )
  t.teardown(() => Promise.all([gateway.close(), aws.close()]))
  return { aws, gateway, clock }
}

const USER_ENV = { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey }
const ask = ({ gateway }: Scene, model = 'acme/one', more = {}) => gateway.post('/v1/chat/completions', { ...CHAT, model, ...more })

t.test('keys of the environment sign whole and streamed calls', async (t) => {
  const made = await scene(t, () => USER_ENV)
  t.equal((await ask(made)).status, 200)
  const streamed = await ask(made, 'acme/one', { stream: true })
  t.match(await streamed.text(), /hello/)
  t.strictSame(made.aws.callers, ['user', 'user'])
})

t.test('a role with an external id and a session name, for one endpoint', async (t) => {
  const made = await scene(t, (aws) => ({ ...USER_ENV, ...aws.env.sts }))
  t.equal((await ask(made, 'acme/two')).status, 200)
  t.equal((await ask(made)).status, 200)
  t.strictSame(made.aws.callers, ['arn:aws:iam::123456789012:role/partner#team-a', 'user'])
})

t.test('a role that may not be assumed says so in the log, without what was sent', async (t) => {
  const made = await scene(
    t,
    (aws) => ({ ...USER_ENV, ...aws.env.sts }),
    ', role: "arn:aws:iam::123456789012:role/partner", external_id: wrong',
  )
  const reply = await ask(made)
  t.equal(reply.status, 500)
  t.match(await reply.json(), { error: { metadata: { credential: 'unavailable' } } })
  const log = made.gateway.logs.join('')
  t.match(log, /AccessDenied: User: user is not authorized/)
  t.notMatch(log, /wrong|Canonical/)
})

t.test('a profile of the shared files, which are read anew', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'credentials')
  const write = (id: string, secret: string) =>
    writeFileSync(file, `[work]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`)
  write('AKIAWRONGEXAMPLE', 'nothing')
  const made = await scene(t, () => ({ AWS_SHARED_CREDENTIALS_FILE: file }), ', profile: work')
  t.equal((await ask(made)).status, 502, 'the service refuses the keys')
  write(USER.accessKeyId, USER.secretAccessKey)
  await made.clock.advance(31_000)
  t.equal((await ask(made)).status, 200)
})

t.test('a web identity token (IRSA)', async (t) => {
  const file = join(t.testdir(), 'token')
  const variables = (aws: Aws) => {
    writeFileSync(file, aws.webIdentityToken())
    return {
      ...aws.env.sts,
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/pod',
      AWS_ROLE_SESSION_NAME: 'pod-1',
    }
  }
  const made = await scene(t, variables)
  t.equal((await ask(made)).status, 200)
  t.strictSame(made.aws.callers, ['arn:aws:iam::123456789012:role/pod#pod-1'])
})

t.test('a web identity token of another audience is refused, and stays out of the log', async (t) => {
  const file = join(t.testdir(), 'token')
  let token = ''
  const made = await scene(t, (aws) => {
    token = aws.webIdentityToken('another')
    writeFileSync(file, token)
    return { ...aws.env.sts, AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/pod' }
  })
  t.equal((await ask(made)).status, 500)
  t.match(made.gateway.logs.join(''), /InvalidIdentityToken/)
  t.notOk(made.gateway.logs.join('').includes(token))
})

t.test('the metadata of an instance, version 2, and of a container', async (t) => {
  const instance = await scene(t, (aws) => aws.env.imds)
  t.equal((await ask(instance)).status, 200)
  t.strictSame(instance.aws.callers, ['instance'])
  const container = await scene(t, (aws) => aws.env.ecs)
  t.equal((await ask(container)).status, 200)
  t.strictSame(container.aws.callers, ['container'])
})

/** In steps, each of which waits for a fetch that it has started: its limit of 30 s is a timer of this clock, and its calls take real time. */
async function minutePasses(clock: FakeClock): Promise<void> {
  for (let step = 0; step < 6; step++) {
    await clock.advance(10_000)
    await eventually('no fetch is under way', () => !clock.waiting.includes(30_000))
  }
}

t.test('keys that end under load, and an STS that is down for a while, cause no failed request', async (t) => {
  const made = await scene(t, (aws) => ({ ...USER_ENV, ...aws.env.sts }), ', role: "arn:aws:iam::123456789012:role/work"')
  const { aws, clock } = made
  aws.life = 900
  const statuses: number[] = []
  const { script } = aws.sts
  for (let minute = 0; minute < 22; minute++) {
    if (minute === 6) aws.sts.script = () => ({ status: 400 })
    if (minute === 12) aws.sts.script = script
    for (const reply of await Promise.all([ask(made), ask(made)])) statuses.push(reply.status)
    await minutePasses(clock)
  }
  t.strictSame(new Set(statuses), new Set([200]))
  t.ok(aws.sts.requests.length >= 3, `${aws.sts.requests.length} calls of STS`)
})

t.test('keys that are revoked before their end are replaced once', async (t) => {
  const made = await scene(t, (aws) => ({ ...USER_ENV, ...aws.env.sts }), ', role: "arn:aws:iam::123456789012:role/work"')
  await ask(made)
  const id = /Credential=([A-Z0-9]+)/.exec(`${made.aws.service.requests[0]?.headers.authorization}`)?.[1] ?? ''
  await eventually('no fetch is under way', () => !made.clock.waiting.includes(30_000))
  const before = made.aws.sts.requests.length
  made.aws.revoked.add(id)
  t.equal((await ask(made)).status, 200)
  t.equal(made.aws.sts.requests.length, before + 1)
})

t.test('check names the link of the chain, and refuses what cannot work', async (t) => {
  const file = join(t.testdir(), 'headgate.yaml')
  const run = async (aws: string, env: Record<string, string> = {}, more = ''): Promise<string> => {
    writeFileSync(
      file,
      `providers: { p: { dialect: openai-chat, base_url: "https://acme.test", credential: { aws: { ${aws} } } ${more} } }\nmodels: { acme/a: { endpoints: [ { provider: p, model: m } ] } }\n`,
    )
    const lines: string[] = []
    await check(file, env, { out: (line: string) => lines.push(line), error: (line: string) => lines.push(line) } as never)
    return lines.join('\n')
  }
  t.match(await run('region: us-east-1', USER_ENV), 'credential of provider p: aws in us-east-1: AWS_ACCESS_KEY_ID of the environment')
  t.notMatch(await run('region: us-east-1', USER_ENV), /USERSECRET|AKIA/)
  t.match(await run('region: us-east-1, profile: work'), 'profile work of the shared files')
  t.match(await run('region: us-east-1'), 'or else the metadata of the instance')
  t.match(
    await run('region: us-east-1, role: "arn:aws:iam::123456789012:role/x"', { AWS_WEB_IDENTITY_TOKEN_FILE: '/t', AWS_ROLE_ARN: 'arn:y' }),
    'role arn:aws:iam::123456789012:role/x, assumed with profile default of the shared files, or else the web identity token for arn:y',
  )
  t.match(await run(''), '"region" is missing, expected a region such as us-east-1')
  t.match(await run('region: us-east-1, role: x'), 'expected the ARN of a role')
  t.match(await run('region: us-east-1', {}, ', pass_through: { price: "0" }'), 'signs whole bodies')
})
