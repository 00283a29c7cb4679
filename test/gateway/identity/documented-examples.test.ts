/** The examples of docs/identity.md, each with tokens of the form that its issuer makes. */
import { execFileSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import type { JsonObject } from '../../../src/core/json.ts'
import { read } from '../../repository/source-tree.ts'
import { FakeClock } from '../../support/clock.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

const PAGE = read('docs/identity.md')

interface Example extends Scene {
  readonly issuer: TokenIssuer
  /** Status of a generation with a token of these claims, with the name of its caller where there is one. */
  call(claims: JsonObject, more?: JsonObject): Promise<string>
}

/** Starts the block of the page whose issuer this is, in front of a stand-in that signs. */
async function start(t: Test, address: string): Promise<Example> {
  const blocks = [...PAGE.matchAll(/^```yaml[^\n]*\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
  const block = blocks.find((text) => text.includes(`issuer: ${address}\n`))
  if (block === undefined) throw new Error(`no example of ${address}`)
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock, '/realms/acme')
  const text = block
    .replaceAll(address, issuer.url)
    .replace(/https:\/\/kubernetes\.default\.svc\/openid\/v1\/jwks/, `${issuer.url}/jwks`)
    .replace(/\$\{[^}]*\}/g, 'a-secret')
  const config = (url: string): string =>
    stringify({
      ...(parse(text) as JsonObject),
      providers: { first: { dialect: 'openai-chat', base_url: `${url}/v1`, key: 'sk-provider-secret' } },
      models: {
        'acme/one': { endpoints: [{ provider: 'first', model: 'one', price: { prompt: '0', completion: '0', request: '1.00' } }] },
      },
    })
  const scene = await startScene(t, { clock, config })
  return {
    ...scene,
    issuer,
    call: async (claims, more = {}) => {
      const token = await issuer.token({ groups: undefined, ...claims })
      const { status } = await scene.ask(more, 'chat', bearer(token))
      const { data } = (await (await scene.gateway.get('/v1/key', bearer(token))).json()) as { data?: JsonObject }
      return `${status} ${data?.name ?? ''}`.trim()
    },
  }
}

t.test('roles and groups of Keycloak map its tokens', async (t) => {
  const { call, rows, issuer } = await start(t, 'https://login.example.com/realms/acme')
  // Claims of an access token of Keycloak with the mappers that the page names.
  const ada = {
    typ: 'Bearer',
    azp: 'my-agent',
    sub: '7a1c0c2e-0000-4000-8000-000000000001',
    aud: ['headgate', 'account'],
    email: 'ada@acme.example',
    email_verified: true,
    preferred_username: 'ada',
    realm_access: { roles: ['offline_access', 'uma_authorization'] },
    groups: ['/ml-team'],
  }
  t.equal(await call(ada), '200 ada@acme.example (ml)')
  t.equal(await call({ ...ada, groups: ['/sales'] }), '403')
  t.equal(await call({ ...ada, email_verified: false }), '401')
  t.equal(
    await call({ ...ada, email: 'boss@acme.example', groups: [], realm_access: { roles: ['llm-admin'] } }),
    '200 boss@acme.example (admins)',
  )
  const secret = { messages: [{ role: 'user', content: `my key is sk-proj-${'aB3dE5gH7j'.repeat(5)}` }] }
  t.equal(await call(ada, secret), '403 ada@acme.example (ml)', 'the guardrail of the rule')
  t.equal(await call({ ...ada, groups: [], realm_access: { roles: ['llm-admin'] } }, secret), '200 ada@acme.example (admins)')
  const command = /^(printf .*)$/m.exec(PAGE)?.[1]?.replace('https://login.example.com/realms/acme', issuer.url) ?? ''
  const [digest = ''] = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).split(' ')
  t.equal(rows()[0]?.hold.key, digest, 'the command of the page computes the digest of a member')
})

t.test('namespaces and service accounts map projected tokens of Kubernetes', async (t) => {
  const { call, issuer } = await start(t, 'https://kubernetes.default.svc.cluster.local')
  // As TokenRequest makes them (kubernetes.io, "Configure Service Accounts for Pods", service account token projection).
  const pod = (namespace: string, account: string): JsonObject => ({
    aud: ['headgate'],
    sub: `system:serviceaccount:${namespace}:${account}`,
    'kubernetes.io': {
      namespace,
      node: { name: 'node-1', uid: '1' },
      pod: { name: `${account}-6f7`, uid: '2' },
      serviceaccount: { name: account, uid: '3' },
      warnafter: 1_767_603_607,
    },
  })
  t.equal(await call(pod('prod', 'agent')), '200 system:serviceaccount:prod:agent (prod)')
  t.equal(await call(pod('prod', 'other')), '403')
  t.equal(await call(pod('dev', 'agent')), '403')
  t.same([issuer.headers.get('/realms/acme/jwks')?.authorization, Object.keys(issuer.calls)], ['Bearer a-secret', ['/realms/acme/jwks']])
})

t.test('owners and branches map tokens of GitHub Actions, with one sum for each repository', async (t) => {
  const { call } = await start(t, 'https://token.actions.githubusercontent.com')
  // As docs.github.com has them ("OpenID Connect reference", understanding the OIDC token).
  const run = (more: JsonObject = {}): JsonObject => ({
    jti: crypto.randomUUID(),
    sub: 'repo:acme/app:ref:refs/heads/main',
    ref: 'refs/heads/main',
    ref_type: 'branch',
    repository: 'acme/app',
    repository_id: '74',
    repository_owner: 'acme',
    repository_owner_id: '1234567',
    run_id: '30433642',
    event_name: 'workflow_dispatch',
    job_workflow_ref: 'acme/app/.github/workflows/ci.yml@refs/heads/main',
    runner_environment: 'github-hosted',
    ...more,
  })
  const branch = { ref: 'refs/heads/next', sub: 'repo:acme/app:ref:refs/heads/next' }
  t.equal(await call(run()), '200 acme/app (main)')
  t.equal(await call(run(branch)), '200 acme/app (branches)')
  t.equal(await call(run(branch)), '402 acme/app (branches)', 'the repository has spent two dollars')
  t.equal(await call(run()), '200 acme/app (main)', 'of twenty')
  t.equal(await call(run({ repository_owner_id: '666', repository_owner: 'acme' })), '403', 'an organisation of another owner')
})
