/** Links of AWS's chain that stand in the shared files, and the identity of a pod: each from its file to a call that is signed well. */

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Aws, startAws, USER, withVariables } from '../support/aws.ts'
import { FakeClock } from '../support/clock.ts'
import { ANSWER, CHAT } from '../support/clouds/scene.ts'
import { startProxy } from '../support/connect-proxy.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { jsonAnswer, startUpstream, type Upstream } from '../support/upstream.ts'

/** Of a length as the real ones have. */
const ACCESS = `aoaAAAAAGannSsoToken${'A1b2C3d4'.repeat(20)}`
const OTHER = `aoaAAAAAGotherSsoToken${'A1b2C3d4'.repeat(20)}`

interface Scene {
  aws: Aws
  gateway: Gateway
  /** Status of a chat. */
  ask(): Promise<number>
}

interface Files {
  /** `~/.aws/config`. */
  config: string
  /** Further files of the home directory, by their paths there. */
  more?: Record<string, string>
  variables?: Record<string, string>
  /** Of the gateway alone. */
  env?: Record<string, string>
}

/** A gateway whose process has this home directory. */
async function scene(t: Test, files: (aws: Aws, home: string) => Files, settings = ', profile: work'): Promise<Scene> {
  const clock = new FakeClock(1, Date.now())
  const aws = await startAws(
    () => clock.now(),
    () => jsonAnswer(ANSWER),
  )
  const home = t.testdir()
  const { config, more = {}, variables = {}, env = {} } = files(aws, home)
  for (const [path, text] of Object.entries({ '.aws/config': config, ...more })) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  withVariables(t, { ...aws.env.sts, HOME: home, AWS_CONFIG_FILE: join(home, '.aws/config'), ...variables })
  const gateway = await startGateway(
    `
providers: { bedrock: { dialect: openai-chat, base_url: "${aws.service.url}/openai/v1", credential: { aws: { region: us-east-1${settings} } } } }
models: { acme/one: { endpoints: [ { provider: bedrock, model: m, price: free } ] } }
`,
    { clock, env },
  )
  t.teardown(() => Promise.all([gateway.close(), aws.close()]))
  return { aws, gateway, ask: async () => (await gateway.post('/v1/chat/completions', CHAT)).status }
}

/** The portal of IAM Identity Center: GetRoleCredentials (npm @aws-sdk/nested-clients, submodules/sso). */
async function startPortal(t: Test, aws: () => Aws): Promise<Upstream> {
  const portal = await startUpstream((seen) => {
    const url = new URL(seen.path, 'http://portal')
    if (seen.method !== 'GET' || url.pathname !== '/federation/credentials') return { status: 404 }
    if (seen.headers['x-amz-sso_bearer_token'] !== ACCESS)
      return jsonAnswer({ message: `Session token not found or invalid: ${String(seen.headers['x-amz-sso_bearer_token'])}` }, 401, {
        'x-amzn-errortype': 'UnauthorizedException',
      })
    const [account, role] = ['account_id', 'role_name'].map((name) => url.searchParams.get(name))
    if (account !== '123456789012' || role !== 'models')
      return jsonAnswer({ message: 'No access' }, 403, { 'x-amzn-errortype': 'ForbiddenException' })
    const { id, secret, token, end } = aws().issue(`${role}@${account}`)
    return jsonAnswer({ roleCredentials: { accessKeyId: id, secretAccessKey: secret, sessionToken: token, expiration: end } })
  })
  t.teardown(() => portal.close())
  return portal
}

const START = 'https://acme.awsapps.test/start'
/** As `aws sso login` names the files of its cache: by the SHA-1 of the session, or of the start URL where there is none. */
const cacheFile = (name: string): string => `.aws/sso/cache/${createHash('sha1').update(name).digest('hex')}.json`
const cached = (token: string, hours: number): string =>
  JSON.stringify({
    startUrl: START,
    region: 'eu-west-1',
    accessToken: token,
    expiresAt: new Date(Date.now() + hours * 3_600_000).toISOString(),
  })

const SESSION = `[profile work]
sso_session = acme
sso_account_id = 123456789012
sso_role_name = models
[sso-session acme]
sso_start_url = ${START}
sso_region = eu-west-1
sso_registration_scopes = sso:account:access
`
const LEGACY = `[profile work]
sso_start_url = ${START}
sso_region = eu-west-1
sso_account_id = 123456789012
sso_role_name = models
`

t.test('a sign-in by SSO, by a session and in the older form', async (t) => {
  for (const [config, name] of [
    [SESSION, 'acme'],
    [LEGACY, START],
  ] as const) {
    let own: Aws | undefined
    const portal = await startPortal(t, () => own as Aws)
    const made = await scene(t, (aws) => {
      own = aws
      return { config, more: { [cacheFile(name)]: cached(ACCESS, 2) }, variables: { AWS_ENDPOINT_URL_SSO: portal.url } }
    })
    t.equal(await made.ask(), 200)
    t.strictSame(made.aws.callers, ['models@123456789012'])
  }
})

t.test('a sign-in that has ended, or that the portal does not know, says so in the log, without the token', async (t) => {
  for (const [token, hours, reason] of [
    [ACCESS, -1, /SSO session associated with this profile has expired/],
    [OTHER, 2, /Session token not found or invalid/],
  ] as const) {
    let own: Aws | undefined
    const portal = await startPortal(t, () => own as Aws)
    const made = await scene(t, (aws) => {
      own = aws
      return { config: LEGACY, more: { [cacheFile(START)]: cached(token, hours) }, variables: { AWS_ENDPOINT_URL_SSO: portal.url } }
    })
    t.equal(await made.ask(), 500)
    const log = made.gateway.logs.join('')
    t.match(log, reason)
    t.notMatch(log, 'SsoToken')
  }
})

t.test('the portal of SSO is that of sso_region, whatever the region of the models', async (t) => {
  const proxy = await startProxy(t)
  const made = await scene(t, () => ({ config: LEGACY, more: { [cacheFile(START)]: cached(ACCESS, 2) }, env: { HTTPS_PROXY: proxy.url } }))
  t.equal(await made.ask(), 500)
  t.strictSame([...new Set(proxy.tunnels.map(({ target }) => target))], ['portal.sso.eu-west-1.amazonaws.com:443'])
})

t.test('a program of the profile (credential_process), which is run anew for each fetch', async (t) => {
  const made = await scene(t, (aws, home) => {
    const { id, secret, token, end } = aws.issue('program')
    const keys = { Version: 1, AccessKeyId: id, SecretAccessKey: secret, SessionToken: token, Expiration: new Date(end).toISOString() }
    return {
      config: `[profile work]\ncredential_process = cat ${join(home, 'keys.json')}\n`,
      more: { 'keys.json': JSON.stringify(keys) },
    }
  })
  t.equal(await made.ask(), 200)
  t.strictSame(made.aws.callers, ['program'])
})

t.test('a program of the profile that fails stays out of the log with what it wrote', async (t) => {
  const made = await scene(t, (_, home) => ({
    config: `[profile work]\ncredential_process = sh ${join(home, 'program')}\n`,
    more: { program: 'echo hidden-on-output; echo hidden-on-errors >&2; exit 3\n' },
  }))
  t.equal(await made.ask(), 500)
  const log = made.gateway.logs.join('')
  t.match(log, /CredentialsProviderError/)
  t.notMatch(log, /hidden-on/)
})

t.test('a role of the profile, with the keys of another profile', async (t) => {
  const made = await scene(t, () => ({
    config: `[profile base]
aws_access_key_id = ${USER.accessKeyId}
aws_secret_access_key = ${USER.secretAccessKey}
[profile work]
role_arn = arn:aws:iam::123456789012:role/of-a-profile
source_profile = base
role_session_name = files
`,
  }))
  t.equal(await made.ask(), 200)
  t.strictSame(made.aws.callers, ['arn:aws:iam::123456789012:role/of-a-profile#files'])
})

t.test('EKS Pod Identity: the address of the agent, and a token that is read from its file', async (t) => {
  const made = await scene(
    t,
    (aws, home) => {
      const { AWS_CONTAINER_AUTHORIZATION_TOKEN: token = '', ...variables } = aws.env.ecs
      const file = join(home, 'eks-token')
      return { config: '', more: { 'eks-token': token }, variables: { ...variables, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } }
    },
    '',
  )
  t.equal(await made.ask(), 200)
  t.strictSame(made.aws.callers, ['container'])
})
