/** Organizations, workspaces and members, in a real browser at a real gateway: made, limited, disabled, removed, and ten thousand of them. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { every } from '../support/every.ts'

const OWNER = 'sk-router-v1-owner-0123456789abcdef'
const VIEWER = 'sk-router-v1-viewer-0123456789abcdef'
const YAML = `
providers: { sim: { dialect: sim, name: Simulator } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "1000", completion: "1000" } } ] } }
auth:
  keys:
    - { name: owner, key: "${OWNER}", role: owner }
    - { name: viewer, key: "${VIEWER}", role: viewer }
`
const LIMIT = 280_000
const MEMBERS = 10_000

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
const tableRows = (page: Page, name: string) => page.getByRole('table', { name }).locator('tbody tr')
const fill = (page: Page, label: string, text: string): Promise<void> =>
  page.getByRole('dialog').getByLabel(label, { exact: true }).fill(text)
const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click()

t.test('teams', { skip: noBrowser, timeout: LIMIT }, async (t) => {
  const room = await startRoom(t, YAML)
  const { gateway } = room
  const call = async <T>(method: string, path: string, body?: object, key = OWNER): Promise<{ status: number; body: T }> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const reply = await fetch(`${gateway.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: reply.status, body: (await reply.json()) as T }
  }
  const chat = (key: string) =>
    call<{ error?: { message: string } }>(
      'POST',
      '/v1/chat/completions',
      { model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] },
      key,
    )

  await t.test('a team is made with its limits, members and a key, and its spending is shown', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/teams')
    await tableRows(page, 'Workspaces').first().waitFor()
    await press(page, 'Create an organization')
    await fill(page, 'Name', 'Acme')
    await fill(page, 'Slug', 'Acme Inc')
    await press(page, 'Create it')
    await page.getByRole('alert').getByText('small letters and digits').waitFor()
    await fill(page, 'Slug', 'acme')
    await press(page, 'Create it')
    await page.getByRole('heading', { level: 1, name: 'Acme' }).waitFor()
    await page.getByRole('link', { name: 'All teams' }).click()
    await press(page, 'Create a workspace')
    await fill(page, 'Name', 'Learning')
    await fill(page, 'Slug', 'ml')
    await fill(page, 'Organization', 'acme')
    await fill(page, 'Requests per minute', '60')
    t.same(await axeProblems(page), [])
    await picture(page, 'teams-create-1440')
    await press(page, 'Create it')
    await page.getByRole('heading', { level: 1, name: 'Learning' }).waitFor()
    const about = page.locator('dl.about')
    await about.getByText('60 requests a minute').waitFor()
    await about.getByRole('link', { name: 'Acme' }).waitFor()

    await press(page, 'Set the limit: Month')
    await fill(page, 'Limit in USD', '20')
    await press(page, 'Set it')
    await tableRows(page, 'Limits of the workspace').getByText('$20.00').first().waitFor()
    await press(page, 'Set the limit: Day')
    await fill(page, 'Limit in USD', '30')
    await press(page, 'Set it')
    await page.getByRole('alert').getByText('expected the daily limit to be lower than the monthly one').waitFor()
    t.same(await axeProblems(page), [])
    await fill(page, 'Limit in USD', '10')
    await press(page, 'Set it')
    await tableRows(page, 'Limits of the workspace').getByText('$10.00').first().waitFor()
    await press(page, 'Clear the limit: Day')
    await page.getByRole('button', { name: 'Clear the limit: Day' }).waitFor({ state: 'detached' })

    await press(page, 'Add members')
    await fill(page, 'Addresses or ids', 'ada@example.com\n\nbob@example.com')
    await press(page, 'Add them')
    await page.getByText('2 members are in Learning').waitFor()
    await page.getByRole('link', { name: 'ada@example.com' }).waitFor()
    await press(page, 'Remove bob@example.com')
    await page.getByText('Keys of bob@example.com in Learning are refused').waitFor()
    await press(page, 'Remove it')
    await page.getByRole('link', { name: 'bob@example.com' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'ada@example.com' }).click()
    await page.getByRole('heading', { level: 1, name: 'ada@example.com' }).waitFor()
    await press(page, 'Change')
    await fill(page, 'Name', 'Ada')
    await page.getByRole('dialog').getByLabel('Role', { exact: true }).selectOption('admin')
    await press(page, 'Change it')
    await about.getByText('Admin').waitFor()

    await page.goto('/control-room/keys')
    await press(page, 'Create a key')
    await fill(page, 'Name', 'laptop')
    await fill(page, 'Workspace', 'ml')
    await fill(page, 'Member', 'carl@example.com')
    await press(page, 'Create it')
    await page.getByRole('alert').getByText('expected a member of the workspace ml').waitFor()
    await fill(page, 'Member', 'ada@example.com')
    await press(page, 'Create it')
    const secret = (await page.locator('.secret code').textContent()) ?? ''
    await press(page, 'I have it')
    t.equal((await chat(secret)).status, 200)
    await page.getByRole('link', { name: 'laptop', exact: true }).click()
    await page.locator('dl.about').getByRole('link', { name: 'ada@example.com' }).waitFor()
    await page.locator('dl.about').getByRole('link', { name: 'Learning' }).click()
    await page.getByRole('table', { name: 'Keys below it' }).getByRole('link', { name: 'laptop' }).waitFor()
    await page.getByRole('table', { name: 'Its last changes' }).getByText('Workspace changed').first().waitFor()
    t.same(await axeProblems(page), [])
    await picture(page, 'teams-workspace-1440')

    await call('POST', '/v1/guardrails', { name: 'cheap models', allowed_models: ['sim/echo'] })
    await page.reload()
    await press(page, 'Assign a guardrail')
    await page.getByRole('dialog').getByLabel('Guardrail', { exact: true }).selectOption('cheap models')
    t.same(await axeProblems(page), [])
    await press(page, 'Assign it')
    await page.getByText('cheap models holds for every request below it').waitFor()
    await press(page, 'Assign another guardrail')
    await page.getByRole('dialog').getByLabel('Guardrail', { exact: true }).selectOption('')
    await press(page, 'Assign it')
    await page.getByText('None is assigned').waitFor()

    await page.getByRole('link', { name: 'All teams' }).click()
    const row = tableRows(page, 'Workspaces').filter({ hasText: 'Learning' })
    await row.getByText('Month:').waitFor()
    t.match(plain(await row.innerText()), /^Learning ml Acme Month: \$0\.\d+ of \$20\.00 1 1 In use$/)
    await picture(page, 'teams-1440')
    t.same(
      complaints.filter((each) => !each.includes('400 (Bad Request)')),
      [],
    )
    await context.close()
  })

  await t.test('what is disabled says so, and what has keys in use is not deleted', async (t) => {
    const { body: made } = await call<{ key: string; data: { hash: string } }>('POST', '/v1/keys', { name: 'second', workspace_id: 'ml' })
    const { page, context } = await room.open()
    await page.goto('/control-room/teams/workspace/ml')
    await press(page, 'Disable')
    await page.getByText('It is disabled: every request below it is refused with 403').waitFor()
    const refused = await chat(made.key)
    t.equal(refused.status, 403)
    t.match(refused.body.error?.message, /workspace/)
    t.same(await axeProblems(page), [])
    await picture(page, 'teams-disabled-1440')
    await press(page, 'Enable')
    await page.getByText('It is disabled').waitFor({ state: 'detached' })
    t.equal((await chat(made.key)).status, 200)
    await press(page, 'Delete')
    await fill(page, 'Type the name of the workspace: ml', 'ml')
    await press(page, 'Delete it')
    await page.getByRole('alert').getByText('the workspace ml has 2 keys in use (laptop, second)').waitFor()
    t.same(await axeProblems(page), [])
    await picture(page, 'teams-delete-refused-1440')
    await page.keyboard.press('Escape')
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Delete', 'the focus is where it was')
    await call('DELETE', `/v1/keys/${made.data.hash}`)
    for (const { hash } of (await call<{ data: { hash: string }[] }>('GET', '/v1/keys?workspace_id=ml')).body.data)
      await call('PATCH', `/v1/keys/${hash}`, { workspace_id: null, member_id: null })
    await press(page, 'Delete')
    await fill(page, 'Type the name of the workspace: ml', 'ml')
    await press(page, 'Delete it')
    await page.getByText('Learning is removed').waitFor()
    t.equal((await call('GET', '/v1/workspaces/ml')).status, 404)
    await context.close()
  })

  await t.test('ten thousand members are shown page by page, and found', async (t) => {
    await call('POST', '/v1/workspaces', { name: 'Many', slug: 'many' })
    for (let from = 0; from < MEMBERS; from += 100) {
      const users = Array.from({ length: 100 }, (_, at) => `person-${String(from + at).padStart(5, '0')}@example.com`)
      const added = await call('POST', '/v1/workspaces/many/members/add', { user_ids: users })
      if (added.status !== 200) t.fail(JSON.stringify(added.body))
    }
    for (const [width, scheme] of [
      [1280, 'light'],
      [390, 'dark'],
    ] as const) {
      const { page, context, complaints } = await room.open({ width, scheme })
      const sizes: number[] = []
      page.on('response', async (reply) => {
        if (reply.url().includes('/v1/')) sizes.push((await reply.body().catch(() => Buffer.alloc(0))).length)
      })
      await page.goto('/control-room/teams/workspace/many')
      await page.getByText('1 to 25 of 10,000').waitFor()
      t.equal(await tableRows(page, 'Members of the workspace').count(), 25)
      t.equal(await overflow(page), 0)
      t.same(await axeProblems(page), [])
      await picture(page, `teams-many-${width}-${scheme}`)
      await page.getByRole('navigation', { name: 'Pages of members' }).getByRole('button', { name: 'Next page' }).click()
      await page.getByText('26 to 50 of 10,000').waitFor()
      await page.getByLabel('Search members').fill('PERSON-09876')
      await page.getByRole('link', { name: 'person-09876@example.com' }).waitFor()
      await page.getByRole('link', { name: 'person-00025@example.com' }).waitFor({ state: 'detached' })
      t.equal(await tableRows(page, 'Members of the workspace').count(), 1)
      await page.goto('/control-room/teams')
      await tableRows(page, 'Workspaces').filter({ hasText: 'Many' }).getByText('10,000').waitFor()
      t.equal(await overflow(page), 0)
      t.same(await axeProblems(page), [])
      await picture(page, `teams-${width}-${scheme}`)
      t.ok(sizes.length > 0 && Math.max(...sizes) < 40_000, `no reply is large: ${Math.max(...sizes)} bytes`)
      t.same(complaints, [])
      await context.close()
    }
  })

  await t.test('a viewer sees all and changes nothing', async (t) => {
    const { page, context, complaints } = await room.open({ key: VIEWER, width: 390 })
    await page.goto('/control-room/teams/workspace/many')
    await page.getByText('1 to 25 of 10,000').waitFor()
    const controls = [
      'Assign a guardrail',
      'Change',
      'Disable',
      'Delete',
      'Add members',
      'Set the limit: Day',
      'Remove person-00000@example.com',
    ]
    await every(t, 'every control', async (t) => {
      for (const name of controls) {
        const control = page.getByRole('button', { name, exact: true })
        t.equal(await control.isDisabled(), true, `${name} is disabled`)
        t.equal(await control.getAttribute('title'), 'Not open to the role viewer')
      }
    })
    t.same(await axeProblems(page), [])
    t.equal(await overflow(page), 0)
    t.same(complaints, [])
    await page.goto('/control-room/teams/workspace/no-such-one')
    await page.getByText('There is no such workspace').waitFor()
    await context.close()
  })
})
