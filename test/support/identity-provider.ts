/** A real identity provider (oidc-provider) with people, and a browser without a window that walks through its pages. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import Provider from 'oidc-provider'
import type { Test } from 'tap'

/** Claims of a person beside `sub`, which is the login. */
export type Person = Readonly<Record<string, unknown>>

export interface IdentityProvider {
  readonly url: string
  /** Requests by path, and the last form of each POST. */
  readonly calls: Record<string, number>
  readonly forms: Record<string, URLSearchParams>
  /** ID tokens that it has issued. */
  readonly idTokens: string[]
  /** Key that it signs with. */
  readonly key: JWK
  /** Answers in its place where it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse, body: string) => boolean) | undefined
  /** Begins to serve: its clients are known once the gateway listens. */
  open(clients: readonly object[], configuration?: Readonly<Record<string, unknown>>): void
}

/** @param people by login. */
export async function startIdentityProvider(t: Test, people: Readonly<Record<string, Person>>): Promise<IdentityProvider> {
  let listener: ReturnType<Provider['callback']> | undefined
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const key = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'first' }
  const provider: IdentityProvider = {
    url,
    key,
    calls: {},
    idTokens: [],
    forms: {},
    intercept: undefined,
    open: (clients, configuration = {}) => {
      const { features = {}, ...rest } = configuration as { features?: object }
      const claims = [...new Set(Object.values(people).flatMap((each) => Object.keys(each)))]
      const served = new Provider(url, {
        jwks: { keys: [key] },
        clients,
        claims: { openid: ['sub'], profile: claims },
        // Claims of scopes stand in the ID token, not at the userinfo endpoint alone.
        conformIdTokenClaims: false,
        pkce: { required: () => true },
        findAccount: (_context: unknown, id: string) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
        features: { devInteractions: { enabled: true }, revocation: { enabled: true }, deviceFlow: { enabled: true }, ...features },
        ttl: { Session: 3600, Grant: 3600, Interaction: 600, AccessToken: 300, IdToken: 300, AuthorizationCode: 60, DeviceCode: 120 },
        cookies: { keys: ['a key of the test'] },
        // The library's own would refuse addresses of this machine, where the gateways of the tests are.
        fetch: (address: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) => fetch(address, options),
        ...rest,
      })
      served.on('grant.success', ({ body }) => {
        if (body.id_token !== undefined) provider.idTokens.push(body.id_token)
      })
      listener = served.callback()
    },
  }
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*$/, '')
    provider.calls[path] = (provider.calls[path] ?? 0) + 1
    if (provider.intercept === undefined) {
      listener?.(request, response)
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    provider.forms[path] = new URLSearchParams(body.toString())
    if (provider.intercept(request, response, body.toString())) return
    // The library reads a body that was parsed before.
    const again = Object.assign(request, { body: body.length > 0 ? Object.fromEntries(provider.forms[path] ?? []) : undefined })
    listener?.(again, response)
  }
  return provider
}

/** A browser that has cookies by host, follows redirects one by one, and fills the forms of the provider in. */
export class Walker {
  private readonly jars = new Map<string, Map<string, string>>()
  /** The login that is filled in. */
  login = 'ada'
  /** True: aborts where it is led to. */
  aborts = false

  /** One request with the cookies of the host; what the reply sets is kept. */
  async visit(url: string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url)
    const jar = this.jars.get(host) ?? new Map<string, string>()
    this.jars.set(host, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(init.headers as Record<string, string>), ...(cookie === '' ? {} : { cookie }) }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  cookie(url: string, name: string): string | undefined {
    return this.jars.get(new URL(url).host)?.get(name)
  }

  setCookie(url: string, name: string, value: string): void {
    this.jars.get(new URL(url).host)?.set(name, value)
  }

  /** Walks from page to page until an address fits, which is not visited. @returns it; the text of the last page where none does. */
  async walk(from: string, end: (url: string) => boolean): Promise<string> {
    let next: { url: string; init?: RequestInit } = { url: from }
    for (let step = 0; step < 20; step++) {
      if (end(next.url)) return next.url
      const response = await this.visit(next.url, next.init)
      const location = response.headers.get('location')
      if (location !== null) {
        next = { url: new URL(location, next.url).href }
        continue
      }
      const text = await response.text()
      const form = text.includes('was interrupted') ? undefined : this.filled(text, next.url)
      if (!form) return text
      next = form
    }
    throw new Error(`no end at ${next.url}`)
  }

  private filled(page: string, url: string): { url: string; init: RequestInit } | undefined {
    const [, id = '', action = ''] = /<form (?:autocomplete="off" )?(?:id="([^"]*)" )?[^>]*action="([^"]+)"/.exec(page) ?? []
    if (action === '') return undefined
    const aborted = /href="([^"]*\/abort)"/.exec(page)?.[1]
    if (this.aborts && aborted) return { url: new URL(aborted, url).href, init: {} }
    const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ])
    const fields = page.includes('name="login"')
      ? [
          ['login', this.login],
          ['password', 'any'],
        ]
      : []
    const more = this.aborts && id === 'op.deviceConfirmForm' ? [['abort', 'yes']] : []
    const body = new URLSearchParams([...hidden, ...fields, ...more] as [string, string][])
    return { url: new URL(action.replaceAll('&amp;', '&'), url).href, init: { method: 'POST', body } }
  }
}
