// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references of their own
/** Secrets in the managers of AWS and Google, from outside, against managers that check signatures, tokens and fields. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Aws, startAws, USER, withVariables } from '../../support/aws.ts'
import { FakeClock } from '../../support/clock.ts'
import { GoogleCloud } from '../../support/clouds/google.ts'
import {
  type AwsManager,
  crc32c,
  type GoogleManager,
  HIDDEN,
  startAwsManager,
  startGoogleManager,
} from '../../support/clouds/secret-stores.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { BODY, problemAtStart, type SecretScene, secretScene, started } from '../../support/secret-scene.ts'
import { REFUSING_URL } from '../../support/upstream.ts'

type Environment = Record<string, string>

interface AwsScene extends SecretScene {
  aws: Aws
  manager: AwsManager
  env: Environment
  clock: FakeClock
}

async function awsScene(t: Test): Promise<AwsScene> {
  // By the time of this machine, since the clients of the SDK sign by it.
  const clock = new FakeClock(1, Date.now())
  const aws = await startAws(
    () => clock.now(),
    () => ({ status: 404 }),
  )
  t.teardown(() => aws.close())
  const manager = await startAwsManager(t, aws)
  const { url } = manager.server
  const env = { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_SECRETS_MANAGER: url, AWS_ENDPOINT_URL_SSM: `${url}/` }
  withVariables(t, { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey })
  return { ...(await secretScene(t)), aws, manager, env, clock }
}

interface GoogleScene extends SecretScene {
  google: GoogleCloud
  manager: GoogleManager
  env: Environment
  clock: FakeClock
}

async function googleScene(t: Test): Promise<GoogleScene> {
  const clock = new FakeClock()
  const google = await GoogleCloud.start(clock)
  t.teardown(() => google.server.close())
  const manager = await startGoogleManager(t, google)
  const made = await secretScene(t)
  const file = join(made.directory, 'account.json')
  writeFileSync(file, JSON.stringify(google.keyFile()))
  for (const account of google.accounts.keys()) manager.readers.add(account)
  const env = { GOOGLE_APPLICATION_CREDENTIALS: file, CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: `${manager.server.url}/` }
  return { ...made, google, manager, env, clock }
}

const ARN = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/keys-a1B2c3'

t.test('a secret comes from AWS Secrets Manager, whole or by a field, and a parameter from Systems Manager', async (t) => {
  const { directory, env, yaml, keys, manager, clock } = await awsScene(t)
  manager.secrets.set('prod/plain', { SecretString: 'sk-plain\n' })
  manager.secrets.set('prod/keys', { SecretString: JSON.stringify({ acme: 'sk-"field"', other: 1 }) })
  manager.secrets.set('prod/binary', { SecretBinary: Buffer.from('sk-binary').toString('base64') })
  manager.parameters.set('/prod/acme', 'sk-parameter')
  const references = [
    'aws-secretsmanager:prod/plain',
    'aws-secretsmanager:prod/keys#acme',
    'aws-secretsmanager:prod/binary',
    'aws-parameterstore:/prod/acme',
  ]
  const gateway = await started(t, yaml('none'), { directory, env, clock })
  for (const reference of references) {
    await gateway.reconfigure(yaml(`\${${reference}}`))
    await gateway.post('/v1/chat/completions', BODY)
  }
  t.same(keys(), ['sk-plain', 'sk-"field"', 'sk-binary', 'sk-parameter'])
  t.same(new Set(manager.calls), new Set(['secretsmanager us-east-1', 'ssm us-east-1']))
})

t.test('an ARN names the region, whatever AWS_REGION says', async (t) => {
  const { directory, env, yaml, keys, manager, clock } = await awsScene(t)
  manager.region = 'eu-west-1'
  manager.secrets.set(ARN, { SecretString: 'sk-of-an-arn' })
  const gateway = await started(t, yaml(`\${aws-secretsmanager:${ARN}}`), { directory, env, clock })
  await gateway.post('/v1/chat/completions', BODY)
  t.same(keys(), ['sk-of-an-arn'])
  t.same(manager.calls, ['secretsmanager eu-west-1'])
})

t.test('the keys that read secrets are fetched once for each reading', async (t) => {
  const { directory, env, yaml, manager, clock, aws } = await awsScene(t)
  withVariables(t, aws.env.imds)
  for (const name of ['one', 'two', 'three']) manager.secrets.set(name, { SecretString: `sk-${name}` })
  const key = ['one', 'two', 'three'].map((name) => `\${aws-secretsmanager:${name}}`).join('')
  await started(t, yaml(key), { directory, env, clock })
  t.equal(aws.imds.requests.filter(({ path }) => path.endsWith('/instance-role')).length, 1)
  t.equal(manager.calls.length, 3)
})

t.test('a secret comes from Google Secret Manager, the newest or a version of it', async (t) => {
  const { directory, env, yaml, keys, manager, clock, google } = await googleScene(t)
  t.equal(crc32c(Buffer.from('123456789')), 0xe3069283, 'the check value of RFC 3720')
  manager.versions.set('projects/acme/secrets/key/versions/latest', Buffer.from('sk-newest'))
  manager.versions.set('projects/acme/secrets/key/versions/3', Buffer.from('{"acme":"sk-of-version-3"}'))
  manager.versions.set('projects/acme/locations/europe-west4/secrets/key/versions/latest', Buffer.from('sk-of-a-region'))
  const gateway = await started(t, yaml('none'), { directory, env, clock })
  for (const name of ['secrets/key', 'secrets/key/versions/3#acme', 'locations/europe-west4/secrets/key/versions/latest']) {
    await gateway.reconfigure(yaml(`\${google-secretmanager:projects/acme/${name}}`))
    await gateway.post('/v1/chat/completions', BODY)
  }
  t.same(keys(), ['sk-newest', 'sk-of-version-3', 'sk-of-a-region'])
  t.notMatch(gateway.logs.join(''), new RegExp(['sk-newest', ...google.secrets.map((secret) => secret.replaceAll(/\W/g, '.'))].join('|')))
})

interface Rotation {
  readonly made: SecretScene & { env: Environment; clock: FakeClock }
  readonly reference: string
  write(secret: string): void
  reads(): number
  down(isDown: boolean): void
}

/** Requests run all the time: the old secret, the new one, a manager that refuses, and the newest. */
async function rotates(t: Test, { made, reference, write, reads, down }: Rotation): Promise<void> {
  const { directory, env, yaml, keys, clock } = made
  write('sk-first')
  const gateway = await started(t, `secrets: { refresh: 60s }\n${yaml(`\${${reference}}`)}`, { directory, env, clock })
  const statuses = new Set<number>()
  let isDone = false
  const load = Array.from({ length: 3 }, async () => {
    while (!isDone) {
      const reply = await gateway.post('/v1/chat/completions', BODY)
      statuses.add(reply.status)
      await reply.text()
    }
  })
  const look = async (): Promise<void> => {
    const before = reads()
    await clock.advance(60_000)
    await eventually('a look at the secret', () => reads() > before)
  }
  await eventually('the first secret', () => keys().at(-1) === 'sk-first')
  write('sk-second')
  await look()
  await eventually('the second secret', () => keys().at(-1) === 'sk-second')
  down(true)
  await look()
  const alert = await eventually('an alert', () => gateway.logs.find((line) => line.includes('its last value stays in use')))
  const used = keys().length
  await eventually('requests meanwhile', () => keys().length > used + 3)
  t.equal(keys().at(-1), 'sk-second', 'the last value stays in use')
  down(false)
  write('sk-third')
  await look()
  await eventually('the third secret', () => keys().at(-1) === 'sk-third')
  isDone = true
  await Promise.all(load)
  t.same([...statuses], [200])
  t.match(JSON.parse(alert), { level: 50, secret: reference })
  t.match(await (await fetch(`${gateway.admin}/metrics`)).text(), /headgate_secret_failures_total 1\n/)
  t.notMatch(gateway.logs.join(''), new RegExp(`sk-(first|second|third)|${HIDDEN}`))
}

t.test('a secret that rotates in AWS Secrets Manager is taken under load, and the last one stays while it is down', async (t) => {
  const made = await awsScene(t)
  const { manager } = made
  await rotates(t, {
    made,
    reference: 'aws-secretsmanager:prod/key',
    write: (secret) => manager.secrets.set('prod/key', { SecretString: secret }),
    reads: () => manager.server.requests.length,
    down: (isDown) => {
      manager.down = isDown ? { status: 500, body: [`{"__type":"InternalServiceError","Message":"${HIDDEN}"}`] } : undefined
    },
  })
})

t.test('a secret that rotates in Google Secret Manager is taken under load, and the last one stays when it is refused', async (t) => {
  const made = await googleScene(t)
  const { manager } = made
  const readers = [...manager.readers]
  await rotates(t, {
    made,
    reference: 'google-secretmanager:projects/acme/secrets/key',
    write: (secret) => manager.versions.set('projects/acme/secrets/key/versions/latest', Buffer.from(secret)),
    reads: () => manager.server.requests.length,
    down: (isDown) => {
      for (const reader of readers) isDown ? manager.readers.delete(reader) : manager.readers.add(reader)
    },
  })
})

type Case = [reference: string, why: string, env?: Environment]

t.test('a start without a secret of AWS fails with the name of the reference, and shows no secret', async (t) => {
  const { directory, env, yaml, manager, clock } = await awsScene(t)
  manager.secrets.set('prod/keys', { SecretString: JSON.stringify({ acme: HIDDEN, other: 1 }) })
  manager.secrets.set('prod/plain', { SecretString: HIDDEN })
  manager.secrets.set('prod/nothing', {})
  manager.secrets.set('prod/long', { SecretString: 'x'.repeat(70_000) })
  manager.secrets.set('prod/private', { SecretString: HIDDEN })
  manager.denied.add('prod/private')
  const cases: Case[] = [
    ['aws-secretsmanager:prod/missing', 'AWS Secrets Manager replied with status 400 (ResourceNotFoundException)'],
    ['aws-secretsmanager:prod/private', 'AWS Secrets Manager replied with status 400 (AccessDeniedException)'],
    ['aws-parameterstore:/prod/missing', 'AWS Systems Manager replied with status 400 (ParameterNotFound)'],
    ['aws-secretsmanager:prod/plain#acme', 'the secret is no JSON object, which the field acme would be in'],
    ['aws-secretsmanager:prod/keys#missing', 'the secret has no text in the field missing'],
    ['aws-secretsmanager:prod/keys#other', 'the secret has no text in the field other'],
    ['aws-secretsmanager:prod/nothing', 'there is no text in it'],
    ['aws-secretsmanager:prod/long', 'it is longer than 65536 characters'],
    ['aws-secretsmanager:#acme', 'expected a name or an ARN'],
    [`aws-parameterstore:${ARN}`, 'expected an ARN of ssm with its region'],
    ['aws-secretsmanager:prod/plain', 'neither AWS_REGION nor the ARN names a region', { AWS_REGION: '' }],
    ['aws-secretsmanager:prod/plain', 'AWS_REGION is no region such as us-east-1', { AWS_REGION: 'us-east-1.evil.test/' }],
    [
      'aws-secretsmanager:prod/plain',
      'AWS Secrets Manager replied with status 400 (InvalidSignatureException)',
      { AWS_REGION: 'eu-west-1' },
    ],
    ['aws-secretsmanager:prod/plain', 'AWS_ENDPOINT_URL_SECRETS_MANAGER is no address', { AWS_ENDPOINT_URL_SECRETS_MANAGER: 'nothing' }],
    [
      'aws-secretsmanager:prod/plain',
      'AWS Secrets Manager cannot be reached (connect, ECONNREFUSED)',
      { AWS_ENDPOINT_URL_SECRETS_MANAGER: '', AWS_ENDPOINT_URL: REFUSING_URL },
    ],
  ]
  await every(t, 'each is refused', async (t) => {
    for (const [reference, why, more] of cases) {
      const problem = await problemAtStart(yaml(`\${${reference}}`), { directory, env: { ...env, ...more }, clock })
      t.equal(problem, `providers.acme.key: the secret ${reference} cannot be read: ${why}`, reference)
    }
  })
  withVariables(t, { AWS_EC2_METADATA_DISABLED: 'true' })
  const problem = await problemAtStart(yaml('${aws-secretsmanager:prod/plain}'), { directory, env, clock })
  t.match(problem, 'cannot be read: CredentialsProviderError: ', 'and so is an environment without keys')
})

t.test('a start without a secret of Google fails with the name of the reference, and shows no secret', async (t) => {
  const { directory, env, yaml, manager, clock, google } = await googleScene(t)
  const version = 'projects/acme/secrets/key/versions/latest'
  manager.versions.set(version, Buffer.from(HIDDEN))
  manager.versions.set('projects/acme/secrets/empty/versions/latest', Buffer.from(''))
  const key = 'google-secretmanager:projects/acme/secrets/key'
  const cases: Case[] = [
    ['google-secretmanager:projects/acme/secrets/missing', 'Google Secret Manager replied with status 404 (NOT_FOUND)'],
    ['google-secretmanager:projects/acme/secrets/empty', 'it is empty'],
    ['google-secretmanager:acme/key', 'expected google-secretmanager:projects/PROJECT/secrets/SECRET, perhaps with /versions/VERSION'],
    [`${key}#acme`, 'the secret is no JSON object, which the field acme would be in'],
    [key, 'the credentials file cannot be read (ENOENT)', { GOOGLE_APPLICATION_CREDENTIALS: '/nonexistent' }],
    [
      key,
      'Google Secret Manager cannot be reached (connect, ECONNREFUSED)',
      { CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: REFUSING_URL },
    ],
  ]
  const problem = (reference: string, more: Environment = {}): Promise<string> =>
    problemAtStart(yaml(`\${${reference}}`), { directory, env: { ...env, ...more }, clock })
  const sentence = (reference: string, why: string): string => `providers.acme.key: the secret ${reference} cannot be read: ${why}`
  await every(t, 'each is refused', async (t) => {
    for (const [reference, why, more] of cases) t.equal(await problem(reference, more), sentence(reference, why), reference)
  })
  manager.damage = 1
  t.equal(await problem(key), sentence(key, 'the secret came damaged: its checksum differs'))
  manager.damage = 0
  manager.readers.clear()
  t.equal(await problem(key), sentence(key, 'Google Secret Manager replied with status 403 (PERMISSION_DENIED)'))
  t.same(google.refused, [])
})

t.test('a manager that never answers is given up after ten seconds', async (t) => {
  const { directory, env, yaml, manager, clock } = await awsScene(t)
  manager.down = { after: 'stall' }
  const problem = problemAtStart(yaml('${aws-secretsmanager:prod/plain}'), { directory, env, clock })
  await eventually('a call', () => manager.server.requests.length > 0)
  await clock.advance(10_000)
  t.match(await problem, 'the secret aws-secretsmanager:prod/plain cannot be read: no answer within 10 s')
})
