/** `credential: { azure: ... }` from outside: each way to a token, against identity services that check it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { describeCredential } from '../../src/services/credentials/sources/index.ts'
import { FakeClock } from '../support/clock.ts'
import { Azure, CLIENT, TENANT } from '../support/clouds/azure.ts'
import { type CloudScene, cloudScene, shown, withVariables } from '../support/clouds/scene.ts'
import { every } from '../support/every.ts'

interface Cloud {
  azure: Azure
  clock: FakeClock
  scene: (credential: string, more?: string) => Promise<CloudScene>
  file: (name: string, content: string) => string
}

async function setUp(t: Test): Promise<Cloud> {
  const directory = t.testdir()
  const clock = new FakeClock()
  const azure = await Azure.start(clock)
  t.teardown(() => azure.server.close())
  return {
    azure,
    clock,
    scene: (credential, more = '') => cloudScene(t, credential, { clock, takes: (seen) => azure.takes(seen), more }),
    file: (name, content) => {
      const path = join(directory, name)
      writeFileSync(path, content)
      return path
    },
  }
}

const application = ({ azure }: Cloud, more: string): string =>
  `{ azure: { tenant: ${TENANT}, client_id: ${CLIENT}, authority: "${azure.url}", ${more} } }`

interface Way {
  name: string
  credential: (cloud: Cloud, t: Test) => string
}

const variables = (azure: Azure): Record<string, string> => ({
  AZURE_TENANT_ID: TENANT,
  AZURE_CLIENT_ID: CLIENT,
  AZURE_AUTHORITY_HOST: `${azure.url}/`,
})

const WAYS: readonly Way[] = [
  { name: 'a client secret', credential: (cloud) => application(cloud, `client_secret: "${cloud.azure.secret}"`) },
  {
    name: 'a client secret of the environment',
    credential: ({ azure }, t) => {
      withVariables(t, { ...variables(azure), AZURE_CLIENT_SECRET: azure.secret })
      return '{ azure: {} }'
    },
  },
  { name: 'a certificate', credential: (cloud) => application(cloud, `certificate: "${cloud.file('app.pem', cloud.azure.pem)}"`) },
  {
    name: 'a certificate of the environment with a password',
    credential: ({ azure, file }, t) => {
      const path = file('app.pem', azure.locked)
      withVariables(t, { ...variables(azure), AZURE_CLIENT_CERTIFICATE_PATH: path, AZURE_CLIENT_CERTIFICATE_PASSWORD: azure.password })
      return '{ azure: {} }'
    },
  },
  {
    name: 'workload identity',
    credential: ({ azure, file }, t) => {
      withVariables(t, { ...variables(azure), AZURE_FEDERATED_TOKEN_FILE: file('token', `${azure.clusterToken()}\n`) })
      return '{ azure: {} }'
    },
  },
  {
    name: 'the managed identity of a machine',
    credential: ({ azure }, t) => {
      withVariables(t, { AZURE_POD_IDENTITY_AUTHORITY_HOST: azure.url })
      return '{ azure: {} }'
    },
  },
  {
    name: 'a managed identity that the user made, before a secret of the environment',
    credential: ({ azure }, t) => {
      withVariables(t, { AZURE_POD_IDENTITY_AUTHORITY_HOST: azure.url, AZURE_CLIENT_SECRET: 'other' })
      return `{ azure: { managed_identity: true, client_id: ${CLIENT} } }`
    },
  },
  {
    name: 'the managed identity of an App Service',
    credential: ({ azure }, t) => {
      withVariables(t, { IDENTITY_ENDPOINT: `${azure.url}/msi/token`, IDENTITY_HEADER: azure.identityHeader })
      return '{ azure: {} }'
    },
  },
]

for (const way of WAYS) {
  t.test(`${way.name} serves a chat`, async (t) => {
    const cloud = await setUp(t)
    const { azure } = cloud
    // As in the preset, whose header is for keys.
    const made = await cloud.scene(way.credential(cloud, t), ', auth: { header: api-key }')
    const reply = await made.chat()
    t.equal(reply.status, 200, azure.refused.join(', '))
    t.equal(azure.server.requests.length, 1)
    t.strictSame(await shown(made, azure.secrets, await reply.text()), [])
  })
}

t.test('tokens that end while requests come cause no failed request, and each assertion is new', async (t) => {
  const cloud = await setUp(t)
  const { azure, clock, file } = cloud
  azure.life = 600
  const made = await cloud.scene(application(cloud, `certificate: "${file('app.pem', azure.pem)}"`))
  const statuses: number[] = []
  for (let minute = 0; minute < 40; minute++) {
    const replies = await Promise.all([made.chat(), made.chat(), made.chat()])
    for (const { status } of replies) statuses.push(status)
    await clock.advance(60_000)
  }
  t.strictSame(new Set(statuses), new Set([200]), `${statuses.length} requests over forty minutes`)
  t.ok(new Set(made.provider.requests.map(({ headers }) => headers.authorization)).size >= 4, 'four tokens or more')
  t.strictSame(azure.refused, [])
})

t.test('what Entra ID refuses is told apart, with its code and without a secret', async (t) => {
  const entra = 'Microsoft Entra ID replied with status'
  const CASES: readonly [name: string, reason: string, credential: (cloud: Cloud, t: Test) => string][] = [
    ['a wrong secret', `${entra} 401 (invalid_client, AADSTS7000215)`, (cloud) => application(cloud, 'client_secret: "wrong-secret-1"')],
    [
      'another scope',
      `${entra} 400 (invalid_scope, AADSTS70011)`,
      (cloud) => application(cloud, `client_secret: "${cloud.azure.secret}", scope: "https://acme.example/.default"`),
    ],
    [
      'a certificate that the application does not have',
      `${entra} 401 (invalid_client, AADSTS700027)`,
      (cloud) => application(cloud, `certificate: "${cloud.file('app.pem', cloud.azure.cluster.pem + cloud.azure.pem)}"`),
    ],
    [
      'a federated token for another service',
      `${entra} 401 (invalid_client, AADSTS700027)`,
      (cloud) => application(cloud, `token_file: "${cloud.file('token', cloud.azure.clusterToken({ aud: 'api://other' }))}"`),
    ],
    [
      'a resource that the machine may not call',
      'the instance metadata service replied with status 400 (invalid_resource, AADSTS500011)',
      ({ azure }, t) => {
        withVariables(t, { AZURE_POD_IDENTITY_AUTHORITY_HOST: azure.url })
        return '{ azure: { scope: "https://acme.example/.default" } }'
      },
    ],
    ['no tenant', 'the tenant is missing, expected azure.tenant or AZURE_TENANT_ID', () => '{ azure: { client_secret: wrong-secret-1 } }'],
    [
      'two proofs',
      'expected one of azure.client_secret, certificate, token_file and managed_identity',
      (cloud) => application(cloud, 'client_secret: wrong-secret-1, managed_identity: true'),
    ],
    [
      'a file without a certificate',
      'the file of the certificate holds none in PEM form',
      (cloud) => application(cloud, `certificate: "${cloud.file('app.pem', cloud.azure.cluster.pem)}"`),
    ],
    [
      'a wrong password',
      'the file of the certificate holds no private RSA key',
      (cloud) => application(cloud, `certificate: "${cloud.file('app.pem', cloud.azure.locked)}", certificate_password: wrong-secret-1`),
    ],
  ]
  for (const [name, reason, credential] of CASES) {
    await t.test(name, async (t) => {
      const cloud = await setUp(t)
      const made = await cloud.scene(credential(cloud, t))
      const reply = await made.chat()
      const text = await reply.text()
      t.equal(reply.status, 500)
      t.match(text, /"credential":"unavailable"/)
      t.ok(
        made.gateway.logs.some((line) => line.includes(reason)),
        made.gateway.logs.join(''),
      )
      t.strictSame(await shown(made, [...cloud.azure.secrets, 'wrong-secret-1'], text), [])
    })
  }
})

t.test('check says which source would be used', async (t) => {
  const env = { AZURE_TENANT_ID: 'acme', AZURE_CLIENT_ID: 'app' }
  const CASES: readonly [settings: object, env: Record<string, string>, text: string][] = [
    [{}, {}, 'the managed identity of this machine'],
    [{ managed_identity: true, client_id: 'own' }, { ...env, AZURE_CLIENT_SECRET: 's3cret' }, 'the managed identity own of this machine'],
    [{}, { IDENTITY_ENDPOINT: 'http://x', IDENTITY_HEADER: 's3cret' }, 'the managed identity of this App Service or container app'],
    [
      {},
      { IDENTITY_ENDPOINT: 'http://x' },
      'managed identities of Azure Arc are not supported, expected IDENTITY_HEADER beside IDENTITY_ENDPOINT',
    ],
    [
      {},
      { ...env, AZURE_CLIENT_SECRET: 's3cret' },
      'application app of tenant acme at https://login.microsoftonline.com, by a client secret (AZURE_CLIENT_SECRET)',
    ],
    [
      { authority: 'https://login.microsoftonline.us' },
      { ...env, AZURE_FEDERATED_TOKEN_FILE: '/var/token' },
      'application app of tenant acme at https://login.microsoftonline.us, by the token in /var/token (AZURE_FEDERATED_TOKEN_FILE)',
    ],
    [{ client_secret: 's3cret' }, {}, 'the tenant is missing, expected azure.tenant or AZURE_TENANT_ID'],
  ]
  await every(t, 'the source is described', (t) => {
    for (const [settings, env, text] of CASES) t.equal(describeCredential('azure', settings, env), text)
  })
})
