/** The control room for the roles of management keys, in a real browser at a real gateway: pages that are left out, and controls that are disabled. */
import { globSync, readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { axeProblems, noBrowser, picture, startRoom } from '../support/browser.ts'
import { every } from '../support/every.ts'

const ROLES = ['viewer', 'billing', 'admin', 'owner'] as const
type Role = (typeof ROLES)[number]
const secret = (role: string): string => `sk-router-v1-${role}-0123456789abcdef`

const YAML = `
providers: { sim: { dialect: sim, name: Simulator } }
models: { sim/echo: { name: "Sim: Echo", endpoints: [ { provider: sim, model: echo, price: { prompt: "1", completion: "1" } } ] } }
auth:
  keys:
    - { name: app, key: "${secret('app')}" }
${ROLES.map((role) => `    - { name: ${role}, key: "${secret(role)}", role: ${role} }`).join('\n')}
`

const ALL_PAGES = ['Now', 'Usage', 'Requests', 'Models', 'Keys and budgets', 'Teams', 'Policy', 'Guardrails', 'Ledger', 'Events', 'Changes']
const PAGES: Readonly<Record<Role, readonly string[]>> = {
  viewer: ALL_PAGES.filter((name) => name !== 'Changes'),
  billing: ['Usage', 'Models', 'Keys and budgets', 'Teams', 'Ledger'],
  admin: ALL_PAGES,
  owner: ALL_PAGES,
}

/** Controls by page, with the roles that may use them. */
const CONTROLS: readonly (readonly [path: (place: Place) => string, button: string, roles: readonly Role[]])[] = [
  [() => 'keys', 'Create a key', ['admin', 'owner']],
  [({ hash }) => `keys/${hash}`, 'Change', ['admin', 'owner']],
  [({ hash }) => `keys/${hash}`, 'Disable', ['admin', 'owner']],
  [({ hash }) => `keys/${hash}`, 'New secret', ['admin', 'owner']],
  [({ hash }) => `keys/${hash}`, 'Delete', ['admin', 'owner']],
  [({ hash }) => `keys/${hash}`, 'Correct or refund', ['billing', 'admin', 'owner']],
  [({ generation }) => `requests/${generation}`, 'Correct or refund', ['admin', 'owner']],
  [({ generation }) => `requests/${generation}`, 'Plan it', ROLES],
  [() => 'teams', 'Create a workspace', ['admin', 'owner']],
  [() => 'teams', 'Create an organization', ['admin', 'owner']],
  [() => 'teams/workspace/default', 'Change', ['admin', 'owner']],
  [() => 'teams/workspace/default', 'Disable', ['admin', 'owner']],
  [() => 'teams/workspace/default', 'Delete', ['admin', 'owner']],
  [() => 'teams/workspace/default', 'Add members', ['admin', 'owner']],
  [() => 'teams/workspace/default', 'Set the limit: Day', ['admin', 'owner']],
  [() => 'ledger', 'Make them anew', ['admin', 'owner']],
  [() => 'ledger', 'Check now', ROLES],
]

interface Place {
  readonly hash: string
  readonly generation: string
}

t.test('roles', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const room = await startRoom(t, YAML)
  const { gateway } = room
  const json = { 'content-type': 'application/json' }
  const made = await fetch(`${gateway.url}/v1/keys`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${secret('owner')}` },
    body: JSON.stringify({ name: 'made', limit: 5 }),
  })
  const { data, key } = (await made.json()) as { data: { hash: string }; key: string }
  const call = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  const place: Place = { hash: data.hash, generation: call.headers.get('x-generation-id') ?? '' }

  for (const role of ROLES)
    t.test(`a ${role} has the pages and controls of the role`, async (t) => {
      const { page, context, complaints } = await room.open({ key: secret(role) })
      await page.goto('/control-room/')
      await page.locator('.who').getByText(role).last().waitFor()
      t.same(await names(page), PAGES[role])
      let shown = ''
      for (const [pathFor, button, roles] of CONTROLS) {
        const path = pathFor(place)
        if (role === 'billing' && path.startsWith('requests/')) continue
        if (shown !== path) await page.goto(`/control-room/${path}`)
        shown = path
        const control = page.getByRole('button', { name: button, exact: true })
        await control.waitFor()
        const isOpen = roles.includes(role)
        // A control that is busy for a moment is enabled afterwards.
        if (isOpen) await page.getByRole('button', { name: button, exact: true, disabled: false }).waitFor()
        else t.equal(await control.isDisabled(), true, `${path}: ${button} is disabled`)
        if (!isOpen) t.equal(await control.getAttribute('title'), `Not open to the role ${role}`, `${path}: ${button} states why`)
      }
      await page.goto('/control-room/keys')
      await page.getByRole('link', { name: 'made', exact: true }).waitFor()
      await picture(page, `keys-as-${role}`)
      t.same(await axeProblems(page), [], 'axe finds nothing')
      t.same(complaints, [], 'no page has called what is not open to the role')
      await page.goto('/control-room/changes')
      const closed = page.getByText(`This page is not open to the role ${role}`)
      if (PAGES[role].includes('Changes')) await page.getByRole('heading', { level: 1, name: 'Changes' }).waitFor()
      else await closed.waitFor()
      await context.close()
    })

  t.test('every page that a viewer has shows no error', async (t) => {
    const { page, context, complaints } = await room.open({ key: secret('viewer') })
    await every(t, 'every page', async (t) => {
      for (const path of ['now', 'requests', 'models', 'keys', 'policy', 'guardrails', 'ledger', 'events']) {
        await page.goto(`/control-room/${path}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.locator('.note.loading').first().waitFor({ state: 'detached' })
        t.equal(await page.locator('.note.error').count(), 0, path)
      }
    })
    t.same(complaints, [])
    await context.close()
  })

  t.test('the session follows the key: what it loses is refused at once', async (t) => {
    const post = (path: string, body: object, method = 'POST') =>
      fetch(`${gateway.url}${path}`, {
        method,
        headers: { ...json, authorization: `Bearer ${secret('owner')}` },
        body: JSON.stringify(body),
      }).then((reply) => reply.json() as Promise<{ data: { hash: string }; key: string }>)
    const admin = await post('/v1/keys', { name: 'falling', role: 'admin' })
    const { page, context } = await room.open({ key: admin.key })
    await page.goto('/control-room/ledger')
    await page.locator('button:not([disabled])', { hasText: 'Make them anew' }).waitFor()
    await post(`/v1/keys/${admin.data.hash}`, { role: 'viewer' }, 'PATCH')
    await page.getByRole('button', { name: 'Make them anew' }).click()
    await page
      .getByText(/this one has the role viewer/)
      .first()
      .waitFor()
    await page.reload()
    await page.locator('.who').getByText('viewer').waitFor()
    t.equal(await page.getByRole('button', { name: 'Make them anew' }).isDisabled(), true)
    await context.close()
  })

  t.test('every right that a page names is one that the server gives', async (t) => {
    const reply = await fetch(`${gateway.admin}/control-room/session`, {
      method: 'POST',
      headers: { ...json, 'x-control-room': '1' },
      body: JSON.stringify({ key: secret('owner') }),
    })
    const { data: session } = (await reply.json()) as { data: { actions: string[] } }
    const given = new Set([...session.actions, 'POST /guardrails/command', 'sample'])
    const named = globSync('web/**/*.{ts,tsx}').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:useControl|useRight|opens)\((?:session, )?'([^']+)'|reads: '([^']+)'/g)].map(
        ([, operation, read]) => operation ?? read ?? '',
      ),
    )
    t.ok(named.length > 20)
    t.same(
      named.filter((operation) => !given.has(operation)),
      [],
    )
  })
})

const names = async (page: Page): Promise<string[]> => {
  await page.locator('nav.pages a').first().waitFor()
  return (await page.locator('nav.pages a').allTextContents()).map((text) => text.trim())
}
