/** Tokens of the clouds that OpenAI and Anthropic exchange: each from its source to a call that the provider takes. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { awsWebIdentity } from '../../src/services/credentials/aws/web-identity.ts'
import { startAws, USER, withVariables as withProcessVariables } from '../support/aws.ts'
import { FakeClock } from '../support/clock.ts'
import { Azure, CLIENT, TENANT } from '../support/clouds/azure.ts'
import { AUDIENCES } from '../support/clouds/federation.ts'
import { federationScene, PROVIDERS } from '../support/clouds/federation-scene.ts'
import { GoogleCloud } from '../support/clouds/google.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, jsonAnswer, startUpstream } from '../support/upstream.ts'

t.test('tokens of the clouds are exchanged', async (t) => {
  await t.test('of AWS, by its STS', async (t) => {
    const clock = new FakeClock(1, Date.now())
    const aws = await startAws(
      () => clock.now(),
      () => jsonAnswer({}),
    )
    t.teardown(() => aws.close())
    withProcessVariables(t, { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey })
    const made = await federationScene(t, {
      clock,
      identity: () => '{ aws: { region: us-east-1, algorithm: RS256 } }',
      env: { AWS_ENDPOINT_URL_STS: aws.sts.url },
    })
    for (const provider of PROVIDERS)
      t.equal((await made.chat(provider)).status, 200, made.federation.refused.join() + made.gateway.logs.join(''))
    t.match(aws.sts.requests[0]?.body, 'Action=GetWebIdentityToken&Version=2011-06-15&Audience.member.1=')
    t.notMatch(made.gateway.logs.join(''), USER.secretAccessKey)
  })
  await t.test('of Azure', async (t) => {
    const clock = new FakeClock()
    const azure = await Azure.start(clock)
    azure.resource = 'api://4711'
    t.teardown(() => azure.server.close())
    const settings = `tenant: ${TENANT}, client_id: ${CLIENT}, authority: "${azure.url}", client_secret: "${azure.secret}", scope: "api://4711/.default"`
    const made = await federationScene(t, { clock, identity: () => `{ azure: { ${settings} } }` })
    made.federation.knows = (token) => azure.holds(token)
    await clock.advance(2_000)
    for (const provider of PROVIDERS)
      await eventually(provider, async () => {
        await clock.advance(1_000)
        return (await made.chat(provider)).status === 200
      })
    t.strictSame(await made.shown(''), [])
  })
  const google: readonly [name: string, settings: (cloud: GoogleCloud, folder: string) => string][] = [
    ['of a machine of Google', () => '{ google: {} }'],
    [
      'of a key file of Google',
      (cloud, folder) => {
        writeFileSync(join(folder, 'key.json'), JSON.stringify(cloud.keyFile()))
        return `{ google: { file: "${join(folder, 'key.json')}" } }`
      },
    ],
    [
      'of a service account of Google that is impersonated',
      (cloud) => `{ google: { impersonate: models@acme.iam.gserviceaccount.com, iam_url: "${cloud.url}" } }`,
    ],
  ]
  for (const [name, settings] of google)
    await t.test(name, async (t) => {
      const clock = new FakeClock()
      const cloud = await GoogleCloud.start(clock)
      cloud.mayActAs.set('node@acme.iam.gserviceaccount.com', 'models@acme.iam.gserviceaccount.com')
      t.teardown(() => cloud.server.close())
      const env = { GCE_METADATA_HOST: cloud.url, HOME: '/nonexistent' }
      const made = await federationScene(t, { clock, identity: (_, file) => settings(cloud, dirname(file)), env })
      const { refused } = made.federation
      for (const provider of PROVIDERS) t.equal((await made.chat(provider)).status, 200, [...refused, ...cloud.refused].join())
      t.strictSame(
        cloud.secrets.filter((secret) => made.gateway.logs.join('').includes(secret)),
        [],
      )
    })
})

t.test('AWS STS is called as its SDK calls it, and of its refusal the word alone is shown', async (t) => {
  withProcessVariables(t, { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey })
  const answer = (xml: string, status = 200): Answer => ({ status, headers: { 'content-type': 'text/xml' }, body: [xml] })
  const denied =
    '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>sk-shown may not</Message></Error></ErrorResponse>'
  const sts = await startUpstream((_, index) =>
    index === 0 ? answer('<R><WebIdentityToken>a.b.c</WebIdentityToken></R>') : index === 1 ? answer(denied, 403) : answer('<R/>'),
  )
  t.teardown(() => sts.close())
  const fetchToken = awsWebIdentity({ region: 'eu-west-1', audience: AUDIENCES.openai }, { AWS_ENDPOINT_URL_STS: sts.url })
  const run = () => fetchToken(new AbortController().signal, Date.now())
  t.equal((await run()).token, 'a.b.c')
  // As npm @aws-sdk/client-sts 3.1177.0 has sent it to a server of its own.
  t.equal(
    sts.requests[0]?.body,
    'Action=GetWebIdentityToken&Version=2011-06-15&Audience.member.1=https%3A%2F%2Fapi.openai.com%2Fv1&SigningAlgorithm=ES384&DurationSeconds=300',
  )
  t.match(sts.requests[0]?.headers.authorization, '/eu-west-1/sts/aws4_request, SignedHeaders=')
  await t.rejects(run(), { message: 'AWS STS replied with status 403 (AccessDenied)' })
  await t.rejects(run(), { message: 'the answer of AWS STS holds no token' })
})
