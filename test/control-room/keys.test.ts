/** Keys in a real browser: made, changed, replaced, disabled and deleted at the real gateway; budgets and sums; a caller's text. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { GATEWAY_ORIGIN } from '../../src/core/audit-entries.ts'
import { axeProblems, noBrowser, picture, startRoom } from '../support/browser.ts'
import { ACCESS, ACTIVITY, BUDGET, digitHash, KEYS, keyPage } from './keys-data.ts'
import { HOSTILE } from './now-status.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

t.test('keys', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const room = await startRoom(t)
  const ask = async (secret: string): Promise<number> => {
    const request = { model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }
    const headers = { ...JSON_TYPE, authorization: `Bearer ${secret}` }
    return (await fetch(`${room.gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(request) })).status
  }
  const secretShown = async (page: Page): Promise<string> => {
    const secret = (await page.locator('.secret code').textContent()) ?? ''
    await page.getByRole('button', { name: 'I have it' }).click()
    return secret
  }

  t.test('lead from the first secret to the last request', async (t) => {
    const { page, context, complaints } = await room.open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto('/control-room/keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    t.same(await axeProblems(page), [], 'axe finds nothing on the form')
    await page.getByLabel('Name').fill('app')
    await page.getByLabel('Limit in USD').fill('99999999')
    await page.getByRole('button', { name: 'Create it' }).click()
    await page.locator('.field.wrong').getByLabel('Limit in USD').waitFor()
    t.equal(await page.getByLabel('Limit in USD').getAttribute('aria-invalid'), 'true', "the API's error stands at its field")
    await picture(page, 'keys-create-1440-light')
    await page.getByLabel('Limit in USD').fill('5')
    await page.getByLabel('The limit begins anew').selectOption('monthly')
    await page.getByRole('button', { name: 'Create it' }).click()
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    await picture(page, 'keys-secret-1440-light')
    t.same(await axeProblems(page), [], 'axe finds nothing beside the secret')
    const first = await secretShown(page)
    t.equal(copied, first, 'the copy is the secret')
    t.equal(await ask(first), 200, 'the secret works')
    const kept = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, document.documentElement.outerHTML])')
    t.notOk(kept.includes(first), 'once closed, neither the page nor its storage has it')

    await page.getByRole('link', { name: 'app', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Limit in USD').fill('7')
    await page.getByRole('button', { name: 'Change it' }).click()
    await page.getByText('$7.00 a month').first().waitFor()

    const old = page.url()
    await page.getByRole('button', { name: 'New secret' }).click()
    t.equal(await page.getByRole('button', { name: 'Replace it' }).isDisabled(), true, 'without its name nothing happens')
    await page.getByLabel('Type the name of the key: app').fill('app')
    await page.getByRole('button', { name: 'Replace it' }).click()
    const second = await secretShown(page)
    t.same([await ask(first), await ask(second)], [401, 200], 'the old secret is refused, the new one works')
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    t.not(page.url(), old, 'the address names the new hash')

    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('Disabled', { exact: true }).waitFor()
    t.equal(await ask(second), 401)
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByText('In use', { exact: true }).waitFor()
    t.equal(await ask(second), 200)

    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByLabel('Type the name of the key: app').fill('app ')
    t.equal(await page.getByRole('button', { name: 'Delete it' }).isDisabled(), true, 'the name has to be the whole one')
    await page.getByLabel('Type the name of the key: app').fill('app')
    await page.getByRole('button', { name: 'Delete it' }).click()
    await page.getByText('app is deleted').waitFor()
    t.equal(await ask(second), 401)
    await page.getByRole('link', { name: 'app', exact: true }).waitFor({ state: 'detached' })
    t.equal(await page.getByRole('link', { name: 'app', exact: true }).count(), 0, 'the list, read again, has it no more')
    t.equal(complaints.filter((each) => !each.includes('400 (Bad Request)')).length, 0, 'no error but the refused limit')
    await context.close()
  })

  t.test('are shown as a change has left them before the list is read again', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/keys')
    const rows = page.getByRole('table', { name: 'Keys' }).locator('tbody tr')
    await rows.first().waitFor()
    // From here on no list comes back: all that the page shows is what the replies to its changes say.
    await page.route('**/v1/keys?**', () => {})
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('Name').fill('brief')
    await page.getByRole('button', { name: 'Create it' }).click()
    await secretShown(page)
    await page.getByRole('link', { name: 'brief', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'brief' }).waitFor()
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Limit in USD').fill('7')
    await page.getByRole('button', { name: 'Change it' }).click()
    await page.getByText('$7.00 in all').first().waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('Disabled', { exact: true }).waitFor()
    const old = page.url()
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByLabel('Type the name of the key: brief').fill('brief')
    await page.getByRole('button', { name: 'Replace it' }).click()
    await secretShown(page)
    await page.getByRole('heading', { level: 1, name: 'brief' }).waitFor()
    t.not(page.url(), old)
    t.equal(await page.getByText('There is no such key').count(), 0)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByLabel('Type the name of the key: brief').fill('brief')
    await page.getByRole('button', { name: 'Delete it' }).click()
    await page.getByText('brief is deleted').waitFor()
    await page.getByLabel('Also disabled and expired ones').check()
    await rows.first().waitFor()
    t.equal(await page.getByRole('link', { name: 'brief', exact: true }).count(), 0)
    t.same(complaints, [])
    await context.close()
  })

  t.test('show budgets, sums and their file', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.route('**/v1/keys?**', (call) => call.fulfill({ json: keyPage(call.request().url()) }))
    await page.route(`**/v1/keys/${digitHash('b')}`, (call) => call.fulfill({ json: { data: KEYS[1] } }))
    await page.route(/\/v1\/activity/, (call) => call.fulfill({ json: { data: ACTIVITY } }))
    await page.route('**/v1/keys/*/budget', (call) => call.fulfill({ json: BUDGET }))
    await page.route('**/v1/keys/*/access', (call) => call.fulfill({ json: ACCESS }))
    await page.goto('/control-room/keys')
    await page.getByText(HOSTILE).first().waitFor()
    t.equal(await page.locator('main img, main script').count(), 0, 'a name is no markup')
    await page.getByText('1 reached, 1 from 80 % on').waitFor()
    t.equal(await page.getByRole('table', { name: 'Keys' }).locator('tbody tr').count(), KEYS.length - 1, 'disabled ones are hidden')
    await page.getByLabel('Also disabled and expired ones').check()
    await page.getByRole('rowheader', { name: /^old/ }).waitFor()
    await page.getByLabel('Search').fill('REPO')
    await page.waitForURL(/search=REPO/)
    await page.reload()
    await page.getByRole('rowheader', { name: /^reports/ }).waitFor()
    t.equal(await page.getByRole('table', { name: 'Keys' }).locator('tbody tr').count(), 1, 'the address keeps the search')
    await page.getByLabel('Table by').selectOption('day')
    await page.getByRole('table', { name: 'Spent, by day' }).waitFor()
    t.equal(await page.getByRole('table', { name: 'Spent, by day' }).locator('tbody tr').count(), 29)
    t.equal(await page.getByRole('link', { name: 'By key as CSV' }).getAttribute('href'), '/v1/activity/keys?format=csv')
    t.equal(await page.getByRole('link', { name: 'Save keys as CSV' }).getAttribute('href'), '/v1/keys?include_disabled=true&format=csv')
    await page.getByRole('link', { name: 'reports' }).click()
    await page.locator('.plot canvas').first().waitFor()
    await page.getByRole('button', { name: 'Table' }).first().click()
    await page.getByRole('table', { name: 'Left of the limit, as a table' }).waitFor()
    t.same(await axeProblems(page), [])
    await page.goto(`/control-room/keys/${digitHash('9')}`)
    await page.getByText('There is no such key').waitFor()
    t.same(
      complaints.filter((each) => !each.includes('404 (Not Found)')),
      [],
      'no error but that of the key that is not there',
    )
    await context.close()
  })

  t.test('with limits of any size are shown whole', async (t) => {
    const { page, context, complaints } = await room.open()
    const limits = { limit: 1_000_000, limit_remaining: 999_950, limit_reset: null }
    const hash = digitHash('b')
    await page.route(`**/v1/keys/${hash}`, (call) => call.fulfill({ json: { data: { ...KEYS[1], ...limits } } }))
    await page.route(/\/v1\/activity/, (call) => call.fulfill({ json: { data: ACTIVITY } }))
    const budget = { ...BUDGET.data, ...limits, remaining: limits.limit_remaining, window: { start: null, end: null } }
    await page.route('**/v1/keys/*/budget', (call) => call.fulfill({ json: { data: budget } }))
    await page.route('**/v1/keys/*/access', (call) => call.fulfill({ json: ACCESS }))
    await page.goto(`/control-room/keys/${hash}`)
    await page.locator('.plot canvas').first().waitFor()
    const width = (await page.locator('.u-axis').nth(1).boundingBox())?.width ?? 0
    t.ok(width >= 90, `the axis has room for $1,000,000.00: ${width} px`)
    t.same(complaints, [])
    await context.close()
  })

  t.test('of 10,000 are found by pages, searches and orders', async (t) => {
    const { store } = room.gateway.running.runtime.management
    const { page, context, complaints } = await room.open()
    const made = await context.request.post('/v1/keys', { data: { name: 'first' }, headers: { 'x-control-room': '1' } })
    const { data } = (await made.json()) as { data: { hash: string } }
    const found = await store.find(data.hash)
    if (!found) return t.fail('no key')
    const hashAt = (at: number): string => at.toString(16).padStart(64, '0')
    for (let at = 0; at < 10_000; at++)
      await store.put({ ...found, identity: hashAt(at), hash: hashAt(at), name: `many-${String(at).padStart(5, '0')}` }, GATEWAY_ORIGIN)
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url()))
    await page.goto('/control-room/keys')
    const rows = page.getByRole('table', { name: 'Keys' }).locator('tbody tr')
    await page.getByText(/^1 to 25 of 10,0\d\d$/).waitFor()
    t.equal(await rows.count(), 25)
    t.same(
      sent.filter((url) => url.includes('/v1/keys?') && !/[?&]limit=(1|20|25)(&|$)/.test(url)),
      [],
      'no request is for all of them',
    )
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText(/^26 to 50 of 10,0\d\d$/).waitFor()
    await page.goBack()
    await page.getByText(/^1 to 25 of/).waitFor()
    await page.getByRole('button', { name: /^Name/ }).click()
    await page.getByRole('button', { name: /^Name/ }).click()
    await page.waitForURL(/sort=name&order=asc/)
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByLabel('Search').fill('many-07777')
    await page.getByRole('rowheader', { name: /^many-07777/ }).waitFor()
    await page.waitForFunction("document.querySelectorAll('main table tbody tr').length === 1")
    t.equal(await page.getByRole('navigation', { name: 'Pages of keys' }).count(), 0, 'what fits on one page has no others')
    await page.getByLabel('Search').fill(hashAt(4095).slice(0, 62))
    await page.getByText(/^1 to 25 of 256$/).waitFor()
    await page.getByLabel('Key', { exact: true }).fill('many-00042')
    await page.getByLabel('Key', { exact: true }).press('Enter')
    await page.waitForURL(new RegExp(`key=${hashAt(42)}`))
    await page.getByLabel('Key', { exact: true }).fill('many-')
    await page.getByLabel('Key', { exact: true }).press('Enter')
    await page.getByText('No key, or several, are called so').waitFor()
    t.same(await axeProblems(page), [])
    t.same(complaints, [])
    await context.close()
    for (let at = 0; at < 10_000; at++) await store.remove(hashAt(at), GATEWAY_ORIGIN)
  })

  t.test('are saved as CSV by the API itself', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/keys')
    const saved = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Save keys as CSV' }).click()
    const file = await saved
    t.match(file.suggestedFilename(), /^keys-\d{4}-\d\d-\d\d\.csv$/, 'the reply names the file')
    const [header, ...rows] = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    t.match(header, /^hash,name,label,disabled,limit/)
    t.ok(rows.length > 0)
    t.same(complaints, [])
    await context.close()
  })
})
