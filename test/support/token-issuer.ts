/** An identity provider on this machine that signs whatever a test wants, counts what it is called for, and fails on demand. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'

interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

interface Signing {
  readonly key?: SigningKey
  /** Members of the header; undefined removes one. */
  readonly header?: Readonly<Record<string, string | undefined>>
}

export interface TokenIssuer {
  /** As `iss`. */
  readonly url: string
  /** Keys that it lists, the first of which signs. */
  keys: SigningKey[]
  /** Requests by path. */
  readonly calls: Readonly<Record<string, number>>
  /** Takes the place of a reply where it returns true. */
  intercept: ((path: string, response: ServerResponse) => boolean) | undefined
  /** Waited for before each reply. */
  gate: Promise<unknown> | undefined
  /** Claims of opaque tokens; those that are not here are not active. */
  readonly opaque: Map<string, JsonObject>
  /** Headers of the last call of each path. */
  readonly headers: Map<string, IncomingMessage['headers']>
  /** A further key, which is not listed yet. */
  makeKey(kid: string, alg?: string): Promise<SigningKey>
  /** A token with these claims, over those of a good one; undefined removes one. */
  token(claims?: Readonly<Record<string, unknown>>, signing?: Signing): Promise<string>
}

export async function makeSigningKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** @param path behind the address, such as that of a realm. @param tls certificate and key, as PEM; plain where absent. */
export async function startIssuer(
  t: Test,
  clock: Pick<Clock, 'now'>,
  path = '',
  tls?: { cert: string; key: string },
): Promise<TokenIssuer> {
  const calls: Record<string, number> = {}
  const headers = new Map<string, IncomingMessage['headers']>()
  const listener = (request: IncomingMessage, response: ServerResponse): void => void reply(request, response)
  const server = tls ? createSecureServer(tls, listener) : createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = origin + path
  const issuer: TokenIssuer = {
    url,
    keys: [await makeSigningKey('first')],
    calls,
    intercept: undefined,
    gate: undefined,
    opaque: new Map(),
    headers,
    makeKey: makeSigningKey,
    token: async (claims = {}, { key = issuer.keys[0], header = {} } = {}) => {
      if (!key) throw new Error('the issuer has no key')
      const now = Math.floor(clock.now() / 1000)
      const usual = { iss: url, aud: 'headgate', sub: 'alice', groups: ['ml-team'], iat: now, exp: now + 300 }
      return new SignJWT(JSON.parse(JSON.stringify({ ...usual, ...claims })) as JWTPayload)
        .setProtectedHeader(JSON.parse(JSON.stringify({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header })) as { alg: 'RS256' })
        .sign(key.privateKey)
    },
  }
  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = request.url ?? ''
    calls[at] = (calls[at] ?? 0) + 1
    headers.set(at, request.headers)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    await issuer.gate
    if (issuer.intercept?.(at, response)) return
    const json = (value: unknown): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    if (at === `${path}/.well-known/openid-configuration`) json({ issuer: url, jwks_uri: `${url}/jwks` })
    else if (at === `${path}/jwks`) json({ keys: issuer.keys.map(({ jwk }) => jwk) })
    else if (at === `${path}/introspect`) {
      const token = new URLSearchParams(Buffer.concat(chunks).toString()).get('token') ?? ''
      json(issuer.opaque.get(token) ?? { active: false })
    } else response.writeHead(404).end()
  }
  return issuer
}

/** A configuration in which one call costs exactly a dollar, with this issuer. @param more lines of the issuer. @param rules as YAML. */
export const issuerConfig =
  (issuer: Pick<TokenIssuer, 'url'>, { more = '', rules = '[ { when: {} } ]', yaml = '', auth = '' } = {}) =>
  (upstream: string): string =>
    `
auth:
${auth}
  issuers:
    - issuer: "${issuer.url}"
      audiences: [ headgate ]
${more}
      rules: ${rules}
providers: { first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" } }
models:
  acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
  acme/two: { endpoints: [ { provider: first, model: two, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
${yaml}
`

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
