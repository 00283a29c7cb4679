/** Sign-in, the frame and the base of the control room in a real browser. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { every } from '../support/every.ts'
import { HOSTILE, NOW } from './now-status.ts'
import { PAGES } from './pages.ts'

const MAX_SCRIPT_BYTES = 200_000
const MAX_FIRST_PAINT_MS = 1000

t.test('control room', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const room = await startRoom(t)

  t.test('signs in with the admin token, and out', async (t) => {
    for (const scheme of ['light', 'dark'] as const)
      for (const width of [390, 1440]) {
        const { page, context, complaints } = await room.open({ width, scheme, signedIn: false })
        await page.goto('/control-room/ledger')
        await page.getByLabel('Management key or admin token').waitFor()
        await picture(page, `sign-in-${width}-${scheme}`)
        t.same(await axeProblems(page), [], 'axe finds nothing on the form')
        t.equal(await overflow(page), 0, 'nothing is wider than the window')
        t.same(complaints, [], 'no error')
        await context.close()
      }
    const { page, context } = await room.open({ signedIn: false })
    await page.goto('/control-room/ledger')
    await page.getByLabel('Management key or admin token').fill('sk-no-such-key-at-all')
    await page.keyboard.press('Enter')
    await page.getByText('expected a management key or the admin token').waitFor()
    t.equal(await page.getByLabel('Management key or admin token').getAttribute('aria-invalid'), 'true', 'the field is marked')
    t.same(await axeProblems(page), [], 'axe finds nothing on the form with an error')
    await page.getByLabel('Management key or admin token').fill(ADMIN_TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Ledger' }).waitFor()
    const [cookie] = await context.cookies()
    t.match(cookie, { name: 'control-room', httpOnly: true, sameSite: 'Strict', path: '/' }, 'the cookie is out of reach of scripts')
    const kept = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, document.documentElement.outerHTML])')
    t.notOk(kept.includes(ADMIN_TOKEN), 'neither the page nor its storage has the token')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You have signed out').waitFor()
    t.same(await context.cookies(), [], 'the cookie is gone')
    await page.goto('/control-room/ledger')
    await page.getByLabel('Management key or admin token').waitFor()
    t.equal(await page.getByText('Ledger').count(), 0, 'the session has ended')
    await context.close()
  })

  t.test('is used by keyboard', async (t) => {
    const { page, context } = await room.open()
    await page.goto('/control-room/ledger')
    await page.getByText('Adds up', { exact: true }).waitFor()
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate<string>('document.activeElement?.textContent'), 'Skip to the page')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate<boolean>("document.activeElement?.closest('main') !== null"), true, 'the next stop is in the page')
    await page.getByRole('link', { name: 'Policy' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Policy' }).waitFor()
    t.equal(await page.evaluate<string>('document.activeElement?.id'), 'main', 'the focus goes to the new page')
    t.match(await page.title(), /^Policy/)
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Ledger' }).waitFor()
    await context.close()
  })

  t.test('has a menu on a phone, and keeps the chosen colours', async (t) => {
    const { page, context } = await room.open({ width: 390 })
    await page.goto('/control-room/ledger')
    await page.getByRole('button', { name: 'Pages' }).click()
    await picture(page, 'menu-390')
    t.same(await axeProblems(page), [])
    await page.getByRole('link', { name: 'Models' }).click()
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Policy' }).isVisible(), false, 'the menu has closed')
    await page.getByRole('button', { name: 'Use dark colours' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Use light colours' }).waitFor()
    t.equal(await page.evaluate<string>('document.documentElement.dataset.theme'), 'dark')
    await context.close()
  })

  t.test("shows a caller's text as text", async (t) => {
    const { page, context, complaints } = await room.open()
    await page.route('**/v1/status', (call) => call.fulfill({ json: { data: NOW } }))
    await page.goto('/control-room/now')
    await page.getByText(HOSTILE).first().waitFor()
    t.equal(await page.locator('main img, main script').count(), 0, 'none of it became markup')
    t.same(complaints, [])
    await context.close()
  })

  t.test('shows every chart as a table', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.route('**/v1/status', (call) => call.fulfill({ json: { data: NOW } }))
    await page.goto('/control-room/now')
    await page.locator('canvas').first().waitFor()
    await page.getByRole('button', { name: 'Table' }).first().click()
    await page.getByRole('table', { name: 'Requests per second, as a table' }).waitFor()
    t.equal(await page.getByRole('table', { name: 'Requests per second, as a table' }).locator('tbody tr').count(), NOW.history.length)
    t.same(await axeProblems(page), [])
    await page.getByRole('button', { name: 'Provider', exact: false }).first().click()
    t.equal(await page.locator('th[aria-sort]').count(), 1, 'one column is the sorted one')
    t.same(complaints, [])
    await context.close()
  })

  t.test('leads to the first answer, and makes sample traffic', async (t) => {
    const { page, context, complaints } = await room.open()
    const quiet = { ...NOW, requests: { ...NOW.requests, count: 0 }, history: [] }
    await page.route('**/v1/status', (call) => call.fulfill({ json: { data: quiet } }))
    await page.route('**/v1/generations?**', (call) => call.fulfill({ json: { data: [], next: null } }))
    await page.goto('/control-room/')
    await page.getByRole('heading', { name: 'Three steps to the first answer' }).waitFor()
    await picture(page, 'first-run-1440')
    t.same(await axeProblems(page), [])
    t.match(await page.locator('pre').textContent(), `curl -N ${room.gateway.url}/v1/chat/completions`, 'a command for this gateway')
    await page.getByRole('button', { name: 'Make sample traffic' }).click()
    await page.getByText('60 sample requests were answered').waitFor()
    const rows = [...room.gateway.running.store.journal.export()]
    t.equal(rows.length, 60)
    t.equal(await page.getByText('Three steps to the first answer').count(), 0, 'the steps are done')
    t.same(complaints, [])
    await context.close()
  })

  t.test('is small and quick', async (t) => {
    const folder = join(import.meta.dirname, '..', '..', 'dist', 'web')
    const names = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8')) as string[]
    const scripts = names.filter((name) => name.endsWith('.js'))
    const fileBytes = (name: string): number => readFileSync(join(folder, name)).length
    // Visitors load the one page that they look at, and of what pages share at most all.
    const routes = [...new Set(PAGES.map(({ path }) => path.split(/[/?]/, 1)[0] ?? ''))]
    const isPage = (name: string): boolean => routes.some((route) => name.startsWith(`${route}-`))
    const pages = scripts.filter(isPage).map(fileBytes)
    t.equal(pages.length, routes.length, 'pages are files of their own')
    const shared = scripts.filter((name) => !isPage(name)).map(fileBytes)
    const most = shared.reduce((all, each) => all + each, Math.max(...pages))
    t.ok(most < MAX_SCRIPT_BYTES, `${most} bytes of script with the largest page`)
    const paints: number[] = []
    // The quickest of three: other programs of this machine do not count.
    for (let round = 0; round < 3; round++) {
      const { page, context } = await room.open()
      await page.goto('/control-room/ledger')
      await page.getByText('Adds up', { exact: true }).waitFor()
      paints.push(await page.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
      await context.close()
    }
    t.ok(Math.min(...paints) < MAX_FIRST_PAINT_MS, `first paint after ${paints.map(Math.round).join(', ')} ms`)
    const { context } = await room.open()
    await every(t, 'every file', async (t) => {
      for (const name of names) {
        const reply = await context.request.get(`/control-room/files/${name}`)
        t.equal(reply.headers()['cache-control'], 'public, max-age=31536000, immutable', name)
        t.ok(['br', 'gzip'].includes(reply.headers()['content-encoding'] ?? ''), `${name} comes compressed`)
      }
    })
    await context.close()
  })
})
