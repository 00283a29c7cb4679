/** Metadata of the gateway, and the challenge that names it (RFC 9728): a caller without a token reads there how to get one. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

const PATH = '/.well-known/oauth-protected-resource'
const LOGIN = '      login: { client_id: machine, scopes: [ openid, offline_access ], resource: "https://headgate.example" }'

async function start(t: Test, { more = LOGIN, yaml = '' } = {}): Promise<Scene & { issuer: TokenIssuer }> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const programs = `    - { issuer: "https://kubernetes.default.svc", audiences: [ headgate ], rules: [ { when: {} } ] }`
  const config = (url: string): string => issuerConfig(issuer, { more, yaml })(url).replace('\nproviders:', `\n${programs}\nproviders:`)
  return { ...(await startScene(t, { clock, config })), issuer }
}

const challenge = (reply: Response): string | null => reply.headers.get('www-authenticate')

t.test('the metadata names the issuers at which people log in, and no others', async (t) => {
  const { gateway, issuer } = await start(t)
  const reply = await fetch(gateway.url + PATH)
  t.equal(reply.status, 200)
  t.match(reply.headers.get('content-type'), 'application/json')
  t.same(await reply.json(), {
    resource: gateway.url,
    authorization_servers: [issuer.url],
    scopes_supported: ['openid', 'offline_access'],
    bearer_methods_supported: ['header'],
    resource_name: 'router',
    headgate_login: [
      { issuer: issuer.url, client_id: 'machine', scopes: ['openid', 'offline_access'], resource: 'https://headgate.example' },
    ],
  })
  t.equal((await fetch(gateway.url + PATH, { method: 'POST' })).status, 405)
  t.equal((await fetch(gateway.url + PATH, { method: 'HEAD' })).status, 200)
})

t.test('each 401 names the metadata, beside what is wrong with the token', async (t) => {
  const { gateway, issuer, ask } = await start(t)
  const named = `resource_metadata="${gateway.url}${PATH}"`
  const none = { authorization: '' }
  t.equal(challenge(await ask({}, 'chat', none)), `Bearer ${named}`)
  await every(t, 'every format and operation', async (t) => {
    for (const client of ['responses', 'messages'] as const) t.equal(challenge(await ask({}, client, none)), `Bearer ${named}`, client)
    for (const path of ['/v1/key', '/v1/models', '/v1/keys']) t.equal(challenge(await fetch(gateway.url + path)), `Bearer ${named}`, path)
    t.equal(challenge(await ask({}, 'chat', bearer('sk-router-v1-0000000000000000'))), `Bearer ${named}`, 'an unknown key')
  })
  const wrong = await issuer.token({ aud: 'other' })
  for (const _ of [1, 2]) {
    const found = challenge(await ask({}, 'chat', bearer(wrong)))
    t.equal(found, `Bearer error="invalid_token", error_description="The token is for another audience", ${named}`)
  }
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 200)
})

t.test('the address is that of the configuration, where it has one, else the one that was called', async (t) => {
  const { gateway } = await start(t, { yaml: 'server: { host: 127.0.0.1, port: 0, public_url: "https://llm.example.com" }' })
  t.match(await (await fetch(gateway.url + PATH)).json(), { resource: 'https://llm.example.com' })
  t.equal(challenge(await fetch(`${gateway.url}/v1/key`)), `Bearer resource_metadata="https://llm.example.com${PATH}"`)
  const other = await start(t)
  const behind = await fetch(other.gateway.url + PATH, { headers: { 'x-forwarded-proto': 'https' } })
  t.equal(((await behind.json()) as JsonObject).resource, other.gateway.url.replace('http:', 'https:'))
})

t.test('without people who log in there is nothing of it', async (t) => {
  const { gateway, ask } = await start(t, { more: '' })
  t.equal((await fetch(gateway.url + PATH)).status, 404)
  t.equal(challenge(await ask({}, 'chat', { authorization: '' })), null)
})
