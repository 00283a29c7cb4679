/** Tokens of a real identity provider (oidc-provider): signed ones by discovery and opaque ones by introspection. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig } from '../../support/token-issuer.ts'

interface RealProvider {
  readonly url: string
  /** Requests by path. */
  readonly calls: Record<string, number>
  /** An access token of the client for this resource. */
  token(client?: string, resource?: string): Promise<string>
  revoke(token: string): Promise<void>
}

const SECRETS = { app: 'app-secret-0123456789', batch: 'batch-secret-0123456789', gateway: 'gateway-secret-0123456789' }
const basic = (client: string): string => `Basic ${Buffer.from(`${client}:${SECRETS[client as keyof typeof SECRETS]}`).toString('base64')}`

/** @param format of access tokens. */
async function startProvider(t: Test, format: 'jwt' | 'opaque'): Promise<RealProvider> {
  const calls: Record<string, number> = {}
  let listener: ReturnType<Provider['callback']> | undefined
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/\?.*$/, '')
    calls[path] = (calls[path] ?? 0) + 1
    listener?.(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const provider = new Provider(url, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
    clients: Object.entries(SECRETS).map(([client_id, client_secret]) => ({
      client_id,
      client_secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx: unknown, resource: string) => ({
          scope: 'generate',
          audience: resource.replace('https://', '').replace('.example', ''),
          accessTokenTTL: 600,
          accessTokenFormat: format,
          ...(format === 'jwt' ? { jwt: { sign: { alg: 'RS256' } } } : {}),
        }),
      },
    },
  })
  listener = provider.callback()
  const post = async (path: string, client: string, form: Record<string, string>): Promise<JsonObject> => {
    const reply = await fetch(url + path, { method: 'POST', headers: { authorization: basic(client) }, body: new URLSearchParams(form) })
    const text = await reply.text()
    return text === '' ? {} : (JSON.parse(text) as JsonObject)
  }
  return {
    url,
    calls,
    token: async (client = 'app', resource = 'https://headgate.example') => {
      const reply = await post('/token', client, { grant_type: 'client_credentials', resource, scope: 'generate' })
      if (typeof reply.access_token !== 'string') throw new Error(JSON.stringify(reply))
      return reply.access_token
    },
    revoke: async (token) => void (await post('/token/revocation', 'app', { token })),
  }
}

const name = async ({ gateway }: Pick<Scene, 'gateway'>, token: string): Promise<unknown> => {
  const { data } = (await (await gateway.get('/v1/key', bearer(token))).json()) as { data: JsonObject }
  return data.name
}

t.test('a real provider issues JWTs, which are verified by its discovery document and its keys', async (t) => {
  const provider = await startProvider(t, 'jwt')
  const rules = '[ { when: { client_id: app, scope: generate }, name: apps } ]'
  const scene = await startScene(t, { clock: systemClock, config: issuerConfig(provider, { rules }) })
  const token = await provider.token()
  t.equal(token.split('.').length, 3)
  t.equal((await scene.ask({}, 'chat', bearer(token))).status, 200)
  t.equal(await name(scene, token), 'app (apps)')
  t.equal(await name(scene, await provider.token()), 'app (apps)', 'a renewed one')
  t.equal((await scene.ask({}, 'chat', bearer(await provider.token('batch')))).status, 403, 'no rule maps this client')
  t.equal((await scene.ask({}, 'chat', bearer(await provider.token('app', 'https://other.example')))).status, 401, 'for another audience')
  t.equal(provider.calls['/.well-known/openid-configuration'], 1)
  t.equal(provider.calls['/jwks'], 1)
})

t.test('opaque tokens are introspected once, also where they are refused', async (t) => {
  const provider = await startProvider(t, 'opaque')
  const introspection = `      member: client_id\n      introspection: { url: "${provider.url}/token/introspection", client_id: gateway, client_secret: "${SECRETS.gateway}", cache: 1s }`
  const auth = '  keys: [ { name: own, key: "any-form-of-key-0123456789" } ]'
  const scene = await startScene(t, { clock: systemClock, config: issuerConfig(provider, { more: introspection, auth }) })
  const token = await provider.token()
  t.notMatch(token, '.')
  const calls = (): number => provider.calls['/token/introspection'] ?? 0
  t.equal((await scene.ask({}, 'chat', bearer(token))).status, 200)
  t.match(await name(scene, token), 'app (')
  t.equal(calls(), 1)
  t.equal((await scene.ask({}, 'chat', bearer(await provider.token('app', 'https://other.example')))).status, 401, 'for another audience')
  const before = calls()
  for (const _ of [1, 2, 3]) t.equal((await scene.ask({}, 'chat', bearer('no-such-token'))).status, 401)
  t.equal(calls(), before + 1, 'a negative answer is remembered')
  t.equal((await scene.ask({}, 'chat', bearer('any-form-of-key-0123456789'))).status, 200, 'a key of the file')
  t.equal((await scene.ask({}, 'chat', bearer('sk-router-v1-0000000000000000'))).status, 401, 'a secret of our form')
  t.equal(calls(), before + 1, 'no key is sent to the issuer')
  await provider.revoke(token)
  t.ok(
    await eventually('the end of a token that was withdrawn', async () => (await scene.ask({}, 'chat', bearer(token))).status === 401),
    'works no more',
  )
})
