/** A real Keycloak with the realm of examples/keycloak: people in a browser and on a machine, and programs. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { noBrowser, startRoom } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { exampleConfig, noKeycloak, registerRoom, SECRET, startKeycloak } from '../support/keycloak.ts'
import { entries } from '../support/people.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'headgate.js')
const BATCH = { grant_type: 'client_credentials', client_id: 'batch', client_secret: SECRET }
/** Milliseconds in which a new key of the issuer is known: it is called at most every 30 seconds. */
const ROTATION = { limit: 90_000 }

if (noKeycloak !== false) console.log(`*** SKIPPED: Keycloak: ${noKeycloak}. ***`)

/** The form of Keycloak. */
async function fillIn(page: Page, name: string): Promise<void> {
  await page.locator('#username').fill(name)
  await page.locator('#password').fill(`${name}-password`)
  await page.locator('#kc-login').click()
}

t.test('Keycloak', { skip: noKeycloak || noBrowser, timeout: 880_000 }, async (t) => {
  const keycloak = await startKeycloak(t)
  const room = await startRoom(t, exampleConfig(keycloak))
  const { gateway } = room
  await registerRoom(keycloak, gateway.admin)

  const openForm = async (): Promise<Page> => {
    const { page } = await room.open({ signedIn: false })
    await page.goto('/control-room/')
    await page.getByRole('button', { name: 'Sign in with Acme' }).click()
    await page.locator('#username').waitFor()
    return page
  }
  const signIn = async (name: string): Promise<Page> => {
    const page = await openForm()
    await fillIn(page, name)
    await page.waitForURL(`${gateway.admin}/control-room/**`)
    return page
  }
  /** Shown to the page of a browser. */
  const session = async (page: Page): Promise<JsonObject | null> => {
    const reply = await page.context().request.get(`${gateway.admin}/control-room/session`, { headers: { 'x-control-room': '1' } })
    return ((await reply.json()) as { data: JsonObject | null }).data
  }
  const user = async (name: string): Promise<string> => {
    const [found] = await keycloak.admin<JsonObject[]>('GET', `/users?username=${name}`)
    return String(found?.id)
  }
  const status = async (token: unknown): Promise<number> => (await gateway.get('/v1/key', { authorization: `Bearer ${token}` })).status
  const caller = async (token: unknown): Promise<unknown> => {
    const reply = await gateway.get('/v1/key', { authorization: `Bearer ${token}` })
    return ((await reply.json()) as { data?: JsonObject }).data?.name ?? reply.status
  }

  await t.test('a person signs in, and out at both', async (t) => {
    const page = await signIn('ada')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    t.match(await session(page), { name: 'ada@acme.example', role: 'person', key_role: 'admin' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${keycloak.issuer}/**`)
    await page.getByRole('heading', { name: 'You are logged out' }).waitFor()
    t.equal(await session(page), null)
    t.same(await keycloak.admin('GET', `/users/${await user('ada')}/sessions`), [], 'no session is left there')
    await page.goto(`${gateway.admin}/control-room/`)
    await page.getByRole('button', { name: 'Sign in with Acme' }).click()
    await page.locator('#username').waitFor()
  })

  await t.test('a person without a rule, or with an address that is not verified, gets no session', async (t) => {
    const eve = await signIn('eve')
    await eve.getByText('no rule of this gateway is for you').waitFor()
    t.equal(await session(eve), null)
    const mallory = await signIn('mallory')
    await mallory.getByText('does not state a claim that this gateway requires').waitFor()
    t.equal(await session(mallory), null)
  })

  await t.test('a session that ends at Keycloak ends here', async (t) => {
    const [one, two] = [await signIn('bob'), await signIn('bob')]
    t.match(await session(one), { name: 'bob@acme.example', key_role: 'member' })
    const id = await user('bob')
    const sessions = await keycloak.admin<JsonObject[]>('GET', `/users/${id}/sessions`)
    t.equal(sessions.length, 2)
    await keycloak.admin('DELETE', `/sessions/${sessions[0]?.id}`)
    const left = [await session(one), await session(two)].filter((each) => each !== null)
    t.equal(left.length, 1, 'the one of that browser')
    await keycloak.admin('POST', `/users/${id}/logout`)
    t.same([await session(one), await session(two)], [null, null], 'all of the person')
    t.match((await entries(gateway, 'session.ended')).at(-1), { actor: { name: 'bob@acme.example' } })
  })

  await t.test('a person who is disabled there signs in no more; the session ends with the sign-out there', async (t) => {
    const page = await signIn('bob')
    const id = await user('bob')
    await keycloak.change('users?username=bob', (found) => ({ ...found, enabled: false }))
    t.not(await session(page), null, 'Keycloak calls no client')
    const other = await openForm()
    await fillIn(other, 'bob')
    await other.getByText('Account is disabled').waitFor()
    await keycloak.admin('POST', `/users/${id}/logout`)
    t.equal(await session(page), null)
    await keycloak.change('users?username=bob', (found) => ({ ...found, enabled: true }))
  })

  await t.test('a person logs in on a machine', async (t) => {
    const folder = t.testdir()
    const run = (...words: string[]) => {
      const { NODE_OPTIONS: _, ...env } = process.env
      const child = spawn(process.execPath, [PROGRAM, ...words], {
        env: { ...env, XDG_CONFIG_HOME: folder, HTTP_PROXY: '', http_proxy: '' },
      })
      let out = ''
      let error = ''
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk
      })
      child.stderr.on('data', (chunk: Buffer) => {
        error += chunk
      })
      const ended = new Promise<{ code: number | null; out: string; error: string }>((resolve) =>
        child.on('close', (code) => resolve({ code, out, error })),
      )
      return { ended, error: () => error }
    }
    const login = run('login', gateway.url)
    const address = await eventually('the address', () => / open (\S+)/.exec(login.error())?.[1])
    const { page } = await room.open({ signedIn: false })
    await page.goto(String(address))
    await fillIn(page, 'carol')
    await page.locator('[name=accept]').click()
    await page.getByText('Device Login Successful').waitFor()
    const done = await login.ended
    t.equal(done.code, 0, done.error)
    t.match(done.error, 'as carol@acme.example (users)', 'by realm_access.roles')
    const first = (await run('token').ended).out.trim()
    t.equal(await status(first), 200)
    const file = join(folder, 'headgate', 'logins.json')
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { logins: Record<string, JsonObject> }
    const [[name, entry] = ['', {}]] = Object.entries(kept.logins)
    const times = { obtained_at: new Date(Date.now() - 240_000).toISOString(), expires_at: new Date(Date.now() + 60_000).toISOString() }
    writeFileSync(file, JSON.stringify({ ...kept, logins: { [name]: { ...entry, ...times } } }))
    const second = (await run('token').ended).out.trim()
    t.not(second, first)
    t.equal(await caller(second), 'carol@acme.example (users)')
    const out = await run('logout').ended
    t.equal(out.code, 0, out.error)
    const again = { grant_type: 'refresh_token', client_id: 'headgate-login', refresh_token: String(entry.refresh_token) }
    t.match(await keycloak.tokens(again), { error: 'invalid_grant' }, 'it is revoked')
    t.equal(await status(second), 200, 'a JWT works to its end')
  })

  await t.test('a program calls with its own token', async (t) => {
    const { access_token: token } = await keycloak.tokens(BATCH)
    t.equal(await caller(token), 'batch@programs.acme.example (programs)')
    const reply = await gateway.get('/v1/models', { authorization: 'Bearer none.of.it' })
    t.match(reply.headers.get('www-authenticate'), /resource_metadata="[^"]+\/\.well-known\/oauth-protected-resource"/)
    const metadata = (await (await gateway.get('/.well-known/oauth-protected-resource')).json()) as JsonObject
    t.same(metadata.authorization_servers, [keycloak.issuer])
    const { access_token: elsewhere } = await keycloak.tokens({ ...BATCH, resource: 'https://other.example' })
    t.equal(await status(elsewhere), 200, 'Keycloak ignores `resource`: the mapper alone decides the audience')
  })

  await t.test('tokens that are for something else are refused', async (t) => {
    await keycloak.change('clients?clientId=headgate-login', (client) => ({ ...client, directAccessGrantsEnabled: true }))
    const form = { grant_type: 'password', client_id: 'headgate-login', username: 'bob', password: 'bob-password', scope: 'openid' }
    const tokens = await keycloak.tokens(form)
    t.equal(await caller(tokens.access_token), 'bob@acme.example (team)')
    t.equal(await status(tokens.id_token), 401, 'an ID token')
    t.equal(await status(tokens.refresh_token), 401, 'a refresh token, which Keycloak signs with a shared secret')
    const eve = await keycloak.tokens({ ...form, username: 'eve', password: 'eve-password' })
    t.equal(await status(eve.access_token), 403, 'no rule')
    const mallory = await keycloak.tokens({ ...form, username: 'mallory', password: 'mallory-password' })
    t.equal(await status(mallory.access_token), 401, 'not verified')
    const withLightweight = (value: string) =>
      keycloak.change('clients?clientId=headgate-login', (client) => {
        const { attributes } = client as { attributes: JsonObject }
        return { ...client, attributes: { ...attributes, 'client.use.lightweight.access.token.enabled': value } }
      })
    await withLightweight('true')
    const light = await keycloak.tokens(form)
    t.equal(await status(light.access_token), 401, 'a lightweight one has neither email nor groups')
    await withLightweight('false')
  })

  await t.test('a new key of the realm is found, and the realm may be away', async (t) => {
    const before = await keycloak.tokens(BATCH)
    const { id: parentId } = await keycloak.admin('GET', '')
    const config = { priority: ['200'], enabled: ['true'], active: ['true'], algorithm: ['RS256'], keySize: ['2048'] }
    const generated = { providerId: 'rsa-generated', config }
    await keycloak.admin('POST', '/components', { name: 'next', providerType: 'org.keycloak.keys.KeyProvider', parentId, ...generated })
    const after = await keycloak.tokens(BATCH)
    const kid = (token: unknown): unknown => JSON.parse(Buffer.from(String(token).split('.')[0] ?? '', 'base64url').toString()).kid
    t.not(kid(after.access_token), kid(before.access_token))
    await eventually('the new key is known', async () => (await status(after.access_token)) === 200, ROTATION)
    t.equal(await status(before.access_token), 200, 'the former one is still listed')
    const kept = await keycloak.tokens(BATCH)
    const page = await signIn('ada')
    await keycloak.kill()
    t.equal(await status(kept.access_token), 200, 'a token that was not shown before')
    t.match(await session(page), { name: 'ada@acme.example' })
  })
})
