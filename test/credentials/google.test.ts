/** `credential: { google: ... }` from outside: each way to a token, against identity services that check it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { describeCredential } from '../../src/services/credentials/sources/index.ts'
import { FakeClock } from '../support/clock.ts'
import { GoogleCloud } from '../support/clouds/google.ts'
import { type CloudScene, cloudScene, shown, withVariables } from '../support/clouds/scene.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { jsonAnswer, startUpstream } from '../support/upstream.ts'
import { WIRES } from '../support/wire.ts'

const ACCOUNT = 'headgate@acme.iam.gserviceaccount.com'
const TARGET = 'models@acme.iam.gserviceaccount.com'

interface Cloud {
  cloud: GoogleCloud
  clock: FakeClock
  directory: string
  /** Accounts of the calls that the provider has served. */
  callers: (string | undefined)[]
  scene: (credential: string) => Promise<CloudScene>
  file: (name: string, content: object | string) => string
}

async function setUp(t: Test): Promise<Cloud> {
  const directory = t.testdir()
  // Nothing answers there, unless a test says where.
  withVariables(t, { GCE_METADATA_HOST: '127.0.0.1:1', HOME: directory })
  const clock = new FakeClock()
  const cloud = await GoogleCloud.start(clock)
  t.teardown(() => cloud.server.close())
  const callers: (string | undefined)[] = []
  return {
    cloud,
    clock,
    directory,
    callers,
    scene: (credential) =>
      cloudScene(t, credential, {
        clock,
        takes: (seen) => {
          const caller = cloud.tokenCaller(seen)
          if (caller !== undefined) callers.push(caller)
          return caller !== undefined
        },
      }),
    file: (name, content) => {
      const path = join(directory, name)
      mkdirSync(join(path, '..'), { recursive: true })
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
      return path
    },
  }
}

/** One way, from its settings and variables to the account that Vertex AI sees. */
interface Way {
  name: string
  account: string
  credential: (cloud: Cloud, t: Test) => string
}

const WAYS: readonly Way[] = [
  {
    name: 'the key of a service account',
    account: ACCOUNT,
    credential: ({ cloud, file }) => `{ google: { file: "${file('key.json', cloud.keyFile())}" } }`,
  },
  {
    name: 'GOOGLE_APPLICATION_CREDENTIALS',
    account: ACCOUNT,
    credential: ({ cloud, file }, t) => {
      withVariables(t, { GOOGLE_APPLICATION_CREDENTIALS: file('key.json', cloud.keyFile()) })
      return '{ google: {} }'
    },
  },
  {
    name: 'the sign-in of gcloud at its well-known place',
    account: 'ann@acme.example',
    credential: ({ cloud, file }) => {
      file('.config/gcloud/application_default_credentials.json', {
        type: 'authorized_user',
        token_uri: `${cloud.url}/token`,
        ...cloud.person,
      })
      return '{ google: {} }'
    },
  },
  {
    name: 'the metadata server',
    account: 'node@acme.iam.gserviceaccount.com',
    credential: ({ cloud }, t) => {
      withVariables(t, { GCE_METADATA_HOST: new URL(cloud.url).host })
      return '{ google: {} }'
    },
  },
  {
    name: 'workload identity federation by a file',
    account: 'principal:job',
    credential: ({ cloud, file, clock }) => {
      const subject = file('subject', `${cloud.foreign.token({ aud: cloud.pool, sub: 'job' }, clock.now())}\n`)
      return `{ google: { file: "${file('federation.json', cloud.federation({ file: subject }))}" } }`
    },
  },
  {
    name: 'workload identity federation by a url, as a service account',
    account: TARGET,
    credential: ({ cloud, file }) => {
      cloud.mayActAs.set('principal:job', TARGET)
      const source = {
        url: `${cloud.url}/subject`,
        headers: { 'X-Custom': 'yes' },
        format: { type: 'json', subject_token_field_name: 'value' },
      }
      const url = `${cloud.url}/v1/projects/-/serviceAccounts/${TARGET}:generateAccessToken`
      const more = { service_account_impersonation_url: url, service_account_impersonation: { token_lifetime_seconds: 1800 } }
      return `{ google: { file: "${file('federation.json', cloud.federation(source, more))}" } }`
    },
  },
  {
    name: 'impersonation by the settings',
    account: TARGET,
    credential: ({ cloud, file }) => {
      cloud.mayActAs.set(ACCOUNT, TARGET)
      return `{ google: { file: "${file('key.json', cloud.keyFile())}", impersonate: ${TARGET}, iam_url: "${cloud.url}" } }`
    },
  },
  {
    name: 'impersonation by the file',
    account: TARGET,
    credential: ({ cloud, file }) => {
      cloud.mayActAs.set('ann@acme.example', TARGET)
      const content = {
        type: 'impersonated_service_account',
        service_account_impersonation_url: `${cloud.url}/v1/projects/-/serviceAccounts/${TARGET}:generateAccessToken`,
        source_credentials: { type: 'authorized_user', token_uri: `${cloud.url}/token`, ...cloud.person },
      }
      return `{ google: { file: "${file('impersonated.json', content)}" } }`
    },
  },
]

for (const way of WAYS) {
  t.test(`${way.name} serves a chat`, async (t) => {
    const cloud = await setUp(t)
    const made = await cloud.scene(way.credential(cloud, t))
    const reply = await made.chat()
    t.equal(reply.status, 200, cloud.cloud.refused.join(', '))
    t.strictSame(cloud.callers, [way.account])
    t.strictSame(await shown(made, cloud.cloud.secrets, await reply.text()), [])
  })
}

t.test('the quota project goes with each call', async (t) => {
  const { cloud, file, scene } = await setUp(t)
  const made = await scene(`{ google: { file: "${file('key.json', { ...cloud.keyFile(), quota_project_id: 'acme-bills' })}" } }`)
  await made.chat()
  t.match(made.provider.requests[0]?.headers, { 'x-goog-user-project': 'acme-bills' })
})

t.test('tokens that the metadata server keeps until five minutes before their end cause no failed request', async (t) => {
  const { cloud, clock, scene } = await setUp(t)
  withVariables(t, { GCE_METADATA_HOST: cloud.url })
  cloud.life = 1200
  const made = await scene('{ google: {} }')
  const statuses: number[] = []
  for (let minute = 0; minute < 45; minute++) {
    const replies = await Promise.all([made.chat(), made.chat(), made.chat()])
    for (const { status } of replies) statuses.push(status)
    await clock.advance(60_000)
  }
  t.strictSame(new Set(statuses), new Set([200]), `${statuses.length} requests over three lives of a token`)
  t.ok(new Set(made.provider.requests.map(({ headers }) => headers.authorization)).size >= 3, 'three tokens or more')
  t.ok(cloud.server.requests.length < 40, `${cloud.server.requests.length} calls of the metadata server`)
})

t.test('a rotated key file is used from the next fetch on', async (t) => {
  const { cloud, clock, file, scene } = await setUp(t)
  cloud.life = 600
  const path = file('key.json', { ...cloud.keyFile(), client_email: 'gone@acme.iam.gserviceaccount.com' })
  const made = await scene(`{ google: { file: "${path}" } }`)
  t.equal((await made.chat()).status, 500)
  file('key.json', cloud.keyFile())
  await clock.advance(2_000)
  t.equal((await made.chat()).status, 200)
})

t.test('what an identity service refuses is told apart, with its reason and without a secret', async (t) => {
  const CASES: readonly [name: string, reason: string, credential: (cloud: Cloud) => string][] = [
    [
      'a scope that does not exist',
      'the token service replied with status 400 (invalid_scope)',
      ({ cloud, file }) => `{ google: { file: "${file('key.json', cloud.keyFile())}", scopes: ["https://acme.example/none"] } }`,
    ],
    [
      'another audience',
      'the token service replied with status 400 (invalid_target)',
      ({ cloud, file, clock }) => {
        const source = { file: file('subject', cloud.foreign.token({ aud: cloud.pool }, clock.now())) }
        return `{ google: { file: "${file('f.json', { ...cloud.federation(source), audience: 'other' })}" } }`
      },
    ],
    [
      'a subject token that has ended',
      'the token service replied with status 400 (invalid_grant)',
      ({ cloud, file, clock }) => {
        const source = { file: file('subject', cloud.foreign.token({ aud: cloud.pool }, clock.now() - 7_200_000)) }
        return `{ google: { file: "${file('f.json', cloud.federation(source))}" } }`
      },
    ],
    [
      'a right that is missing',
      'the IAM service replied with status 403 (PERMISSION_DENIED)',
      ({ cloud, file }) => `{ google: { file: "${file('key.json', cloud.keyFile())}", impersonate: ${TARGET}, iam_url: "${cloud.url}" } }`,
    ],
    ['a file that is missing', 'the credentials file cannot be read (ENOENT)', () => '{ google: { file: "/nowhere/key.json" } }'],
    [
      'a file of no kind',
      'the type of the credentials file is not supported',
      ({ file }) => `{ google: { file: "${file('x.json', { type: 'sk-secret' })}" } }`,
    ],
    [
      'a broken key',
      'private_key of the credentials file holds no private RSA key',
      ({ cloud, file }) => `{ google: { file: "${file('key.json', { ...cloud.keyFile(), private_key: 'sk-secret' })}" } }`,
    ],
    [
      'a source that runs a program',
      'expected a file or a url',
      ({ cloud, file }) => `{ google: { file: "${file('f.json', cloud.federation({ executable: {} }))}" } }`,
    ],
    ['no metadata server', 'the metadata server cannot be reached', () => '{ google: {} }'],
  ]
  for (const [name, reason, credential] of CASES) {
    await t.test(name, async (t) => {
      const cloud = await setUp(t)
      const made = await cloud.scene(credential(cloud))
      const reply = await made.chat()
      const text = await reply.text()
      t.equal(reply.status, 500)
      t.match(text, /"credential":"unavailable"/)
      t.ok(
        made.gateway.logs.some((line) => line.includes(reason)),
        made.gateway.logs.join(''),
      )
      t.match(await made.metrics(), /headgate_credential_refreshes_total\{[^}]*outcome="failed"[^}]*\} [1-9]/)
      t.strictSame(await shown(made, [...cloud.cloud.secrets, 'sk-secret'], text), [])
    })
  }
})

t.test('something else at the address of the metadata server is not believed', async (t) => {
  const { scene } = await setUp(t)
  const other = await startUpstream(() => ({ body: ['{"access_token":"any","expires_in":3600}'] }))
  t.teardown(() => other.close())
  withVariables(t, { GCE_METADATA_HOST: other.url })
  const made = await scene('{ google: {} }')
  t.equal((await made.chat()).status, 500)
  t.match(made.gateway.logs.join(''), 'the metadata server is not what answers there')
})

t.test('a token that Vertex AI refuses is told apart from one that cannot be fetched', async (t) => {
  const { cloud, file, scene } = await setUp(t)
  const scopes = '["https://www.googleapis.com/auth/devstorage.read_only"]'
  const made = await scene(`{ google: { file: "${file('key.json', cloud.keyFile())}", scopes: ${scopes} } }`)
  const reply = await made.chat()
  const text = await reply.text()
  t.equal(reply.status, 502)
  t.match(text, /"credential":"refused"/)
  t.match(await made.metrics(), /headgate_attempts_total\{[^}]*outcome="credential_refused"[^}]*\} 1/)
  t.strictSame(await shown(made, cloud.secrets, text), [])
})

const BETAS = { 'anthropic-beta': 'claude-code-20250219,context-1m-2025-08-07' }

t.test('the presets of Vertex AI call a project with a token, in both formats', async (t) => {
  const { cloud, file } = await setUp(t)
  const env = { GOOGLE_APPLICATION_CREDENTIALS: file('key.json', cloud.keyFile()) }
  const utterance = { text: ['Hello.'] }
  const vertex = await startUpstream((seen) => {
    if (cloud.tokenCaller(seen) !== ACCOUNT) return { status: 401, body: ['no'] }
    if (seen.path.includes('count-tokens')) return jsonAnswer({ input_tokens: 7 })
    const wire = seen.path.includes('/publishers/anthropic/') ? 'anthropic' : 'gemini'
    return seen.path.includes(':stream')
      ? { headers: { 'content-type': 'text/event-stream' }, body: WIRES[wire].frames({ ...utterance, model: 'm' }) }
      : jsonAnswer(WIRES[wire].reply({ ...utterance, model: 'm' }))
  })
  const at = `${vertex.url}/v1/projects/acme/locations/global/publishers`
  const gateway = await startGateway(
    `providers:
  gemini: { preset: vertex-gemini, base_url: "${at}/google" }
  claude: { preset: vertex-claude, base_url: "${at}/anthropic" }
models:
  acme/gemini: { endpoints: [ { provider: gemini, model: gemini-3.5-flash, price: free } ] }
  acme/claude: { endpoints: [ { provider: claude, model: "claude-haiku-4-5@20251001", price: free } ] }
`,
    { clock: cloud.clock, env: { ...env, GOOGLE_CLOUD_PROJECT: 'acme' } },
  )
  t.teardown(() => Promise.all([gateway.close(), vertex.close()]))
  const messages = [{ role: 'user', content: 'hi' }]
  const bodies: string[] = []
  for (const [path, model, stream] of [
    ['/v1/chat/completions', 'acme/gemini', false],
    ['/v1/chat/completions', 'acme/claude', false],
    ['/v1/messages', 'acme/claude', false],
    ['/v1/messages', 'acme/claude', true],
    ['/v1/messages/count_tokens', 'acme/claude', false],
  ] as const) {
    const reply = await gateway.post(path, { model, stream, max_tokens: 100, messages }, BETAS)
    t.equal(reply.status, 200, `${path} ${model}`)
    bodies.push(await reply.text())
  }
  t.match(bodies, [/Hello/, /Hello/, /Hello/, /Hello/, /"input_tokens":7/])
  t.strictSame(
    vertex.requests.map(({ path }) => path.replace(/^.*publishers/, '')),
    [
      '/google/models/gemini-3.5-flash:generateContent',
      '/anthropic/models/claude-haiku-4-5@20251001:rawPredict',
      '/anthropic/models/claude-haiku-4-5@20251001:rawPredict',
      '/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict',
      '/anthropic/models/count-tokens:rawPredict',
    ],
  )
  t.match(vertex.requests[2]?.json, { anthropic_version: 'vertex-2023-10-16', model: undefined }, 'also where the body passes')
  t.notOk(
    vertex.requests.some(({ headers }) => headers['x-api-key'] ?? headers['x-goog-api-key']),
    'no header for keys',
  )
  t.notOk(
    vertex.requests.some(({ headers }) => headers['anthropic-version']),
    'the version stands in the body',
  )
  t.same(
    vertex.requests.map(({ headers }) => headers['anthropic-beta']),
    [undefined, 'context-1m-2025-08-07', 'context-1m-2025-08-07', 'context-1m-2025-08-07', undefined],
    'betas that are known there, and none for a count',
  )
})

t.test('check says which source would be used', async (t) => {
  const { cloud, directory, file } = await setUp(t)
  const key = file('key.json', cloud.keyFile())
  const CASES: readonly [settings: object, env: Record<string, string>, text: string][] = [
    [{}, {}, 'the metadata server at http://169.254.169.254'],
    [{}, { GOOGLE_APPLICATION_CREDENTIALS: key }, `the key of a service account in the file ${key} (GOOGLE_APPLICATION_CREDENTIALS)`],
    [{ file: key }, { GOOGLE_APPLICATION_CREDENTIALS: '/x' }, `the key of a service account in the file ${key} (google.file)`],
    [
      { file: '/nowhere', impersonate: TARGET },
      {},
      `the service account ${TARGET}, by the file /nowhere, which cannot be read (google.file)`,
    ],
  ]
  await every(t, 'the source is described', (t) => {
    for (const [settings, env, text] of CASES) t.equal(describeCredential('google', settings, env), text)
  })
  const known = file('.config/gcloud/application_default_credentials.json', { type: 'authorized_user' })
  t.equal(
    describeCredential('google', {}, { HOME: directory }),
    `the sign-in of a person in the file ${known} (gcloud auth application-default login)`,
  )
})
