/** `headgate login` at gateways that are false: what they name is refused before the issuer is called, and nothing of them steers a terminal. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { every } from '../support/every.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'headgate.js')
/** Sets the title of a terminal, and clears it. */
const ESCAPES = '\u001b]0;owned\u0007\u001b[2J'

interface Ended {
  readonly code: number | null
  readonly error: string
}

function run(folder: string, ...words: string[]): Promise<Ended> {
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [PROGRAM, ...words], { env: { ...env, XDG_CONFIG_HOME: folder, HTTP_PROXY: '', http_proxy: '' } })
  let error = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    error += text
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, error })))
}

interface Site {
  readonly url: string
  readonly paths: string[]
  reply: (path: string) => object | undefined
}

/** A web server that replies with JSON, and with 404 where there is none. */
async function startSite(t: Test): Promise<Site> {
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? ''
    site.paths.push(path)
    const found = site.reply(path)
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}))
  }
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const site: Site = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths: [], reply: () => undefined }
  return site
}

interface Place {
  readonly gateway: Site
  readonly issuer: Site
  readonly folder: string
  /** Logs in at a gateway that shows this entry. */
  logIn(entry?: object): Promise<Ended>
}

async function start(t: Test): Promise<Place> {
  const [gateway, issuer, folder] = [await startSite(t), await startSite(t), t.testdir()]
  issuer.reply = (path) => {
    const url = issuer.url
    if (path.endsWith('openid-configuration'))
      return { issuer: url, token_endpoint: `${url}/token`, device_authorization_endpoint: `${url}/device` }
    if (path === '/device')
      return { device_code: 'd', user_code: 'ABCD-EFGH', verification_uri: `${url}/page`, expires_in: 60, interval: 1 }
    return path === '/token' ? { access_token: 'token', token_type: 'bearer', expires_in: 60 } : undefined
  }
  const logIn = (entry: object = {}): Promise<Ended> => {
    const shown = { issuer: issuer.url, client_id: 'machine', scopes: ['openid'], ...entry }
    gateway.reply = (path) =>
      path.startsWith('/.well-known/')
        ? { resource: gateway.url, headgate_login: [shown] }
        : path === '/v1/key'
          ? { data: { name: 'ada' } }
          : undefined
    return run(folder, 'login', gateway.url)
  }
  return { gateway, issuer, folder, logIn }
}

t.test('a gateway that names the address of another one as its resource gets no token', { timeout: 120_000 }, async (t) => {
  const { gateway, issuer, folder, logIn } = await start(t)
  const port = new URL(gateway.url).port
  const others = ['https://llm.example.com', 'HTTPS://llm.example.com/v1', 'https:llm.example.com', ` https://llm.example.com`]
  await every(t, 'each address', async (t) => {
    for (const resource of [...others, issuer.url, gateway.url.replace('http:', 'https:'), `http://127.0.0.1:${port}@llm.example.com`])
      t.match(await logIn({ resource }), { code: 1, error: /names the resource .*: expected http:\/\/127\.0\.0\.1/ }, resource)
  })
  t.same(issuer.paths, [], 'the issuer is not called')
  t.notOk(gateway.paths.includes('/v1/key'))
  t.notOk(existsSync(join(folder, 'headgate', 'logins.json')))
  for (const resource of [gateway.url, `${gateway.url}/v1`, 'urn:acme:headgate', null])
    t.equal((await logIn({ resource })).code, 0, `${resource} is its own`)
})

t.test('the person reads gateway, issuer and client before the code', { timeout: 60_000 }, async (t) => {
  const { gateway, issuer, logIn } = await start(t)
  const { code, error } = await logIn()
  t.equal(code, 0, error)
  const [first, second] = error.split('\n')
  t.equal(first, `Gateway ${gateway.url}, issuer ${issuer.url}, client machine`)
  t.match(second, /^Open \S+ and enter the code ABCD-EFGH$/)
})

t.test('nothing that a gateway names steers the terminal', { timeout: 120_000 }, async (t) => {
  const { issuer, logIn } = await start(t)
  await every(t, 'each field', async (t) => {
    for (const [name, entry] of Object.entries({
      issuer: { issuer: `${issuer.url}/${ESCAPES}` },
      client_id: { client_id: `machine${ESCAPES}` },
      scopes: { scopes: ['openid', ESCAPES] },
      resource: { resource: `urn:${ESCAPES}` },
    })) {
      const { code, error } = await logIn(entry)
      t.equal(code, 1, name)
      t.match(error, `names ${name} with characters that are not printable ASCII`)
      t.notMatch(error, '\u001b', name)
    }
  })
  t.match(await logIn({ client_id: 'm\u202eachine' }), { code: 1, error: /names client_id/ }, 'nor turns the direction of writing')
  t.same(issuer.paths, [], 'the issuer is not called')
})

t.test('an issuer that was stored with escapes does not steer the terminal at the log-out', { timeout: 60_000 }, async (t) => {
  const { gateway, issuer, folder } = await start(t)
  const address = `${issuer.url}/${ESCAPES}`
  issuer.reply = () => ({ issuer: address, token_endpoint: `${issuer.url}/token` })
  const now = new Date().toISOString()
  const login = { issuer: address, client_id: 'machine', scopes: ['openid'], resource: null }
  const stored = { ...login, access_token: 'a', refresh_token: null, obtained_at: now, expires_at: null }
  mkdirSync(join(folder, 'headgate'), { mode: 0o700 })
  writeFileSync(join(folder, 'headgate', 'logins.json'), JSON.stringify({ current: gateway.url, logins: { [gateway.url]: stored } }), {
    mode: 0o600,
  })
  const { error } = await run(folder, 'logout')
  t.match(error, 'revokes no tokens')
  t.notMatch(error, '\u001b')
})
