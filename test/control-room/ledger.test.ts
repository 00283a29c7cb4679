/** The page "Ledger" in a real browser: an export of a past range and a check of every row are started, and followed to their end. */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { CHECKING, DONE, EXPORTS, RUNNING, WHOLE } from './ledger-replies.ts'

t.test('ledger', { skip: noBrowser, timeout: 200_000 }, async (t) => {
  const room = await startRoom(t)

  t.test('has no such form where there are no exports', async (t) => {
    const { page, context, complaints } = await room.open()
    const asked = page.waitForResponse('**/ledger/exports')
    await page.goto('/control-room/ledger')
    t.same(await (await asked).json(), { exports: [], run: null })
    await page.getByText('Save as JSON lines').waitFor()
    t.equal(await page.getByText('Export this range').count(), 0)
    t.same(complaints, [])
    await context.close()
  })

  t.test('starts an export and shows how far it is', async (t) => {
    for (const width of [390, 1440] as const)
      for (const scheme of ['light', 'dark'] as const) {
        const { page, context, complaints } = await room.open({ width, scheme })
        const replies = [EXPORTS, RUNNING, RUNNING, DONE]
        let looks = 0
        const begun: string[] = []
        await page.route('**/ledger/exports**', (call) => {
          if (call.request().method() === 'POST') {
            begun.push(new URL(call.request().url()).search)
            return call.fulfill({ status: 202, json: RUNNING })
          }
          return call.fulfill({ json: replies[Math.min(looks++, replies.length - 1)] })
        })
        await page.goto('/control-room/ledger')
        await page.getByText('The same range again goes on where it stopped').waitFor()
        await picture(page, `ledger-export-${scheme}-${width}`)
        t.same(await axeProblems(page), [])
        t.equal(await overflow(page), 0)
        t.equal(await page.locator('main img, main script').count(), 0, 'no text is markup')
        await page.getByLabel('From').fill('2026-10-01')
        await page.getByLabel('Before').fill('2026-11-01')
        await page.getByRole('button', { name: 'Export this range' }).click()
        await page.getByText('41,200 requests in 5 batches to lake').waitFor()
        t.same(begun, ['?export=lake&since=2026-10-01&until=2026-11-01'])
        t.same(complaints, [])
        await context.close()
      }
  })

  t.test('says how many requests were checked, those of earlier checks with them', async (t) => {
    const { page, context, complaints } = await room.open()
    const before = {
      generations: 10_000_000,
      charged: 5,
      providers: 5,
      fees: 0,
      checked_at: '2026-11-26T18:37:24Z',
      until: '2026-11-26T16:38:04Z',
    }
    await page.route('**/ledger/verify', (call) => call.fulfill({ json: { ...WHOLE, generations: 12, before } }))
    await page.goto('/control-room/ledger')
    await page.getByText('10,000,012 requests, no problem found').waitFor()
    t.match(await page.getByText('Of these 12 were read now').innerText(), /; 10,000,000 that were admitted before/)
    t.same(complaints, [])
    await context.close()
  })

  t.test('checks every row, and shows how far it is', async (t) => {
    for (const width of [390, 1440] as const)
      for (const scheme of ['light', 'dark'] as const) {
        const { page, context, complaints } = await room.open({ width, scheme })
        const released = Promise.withResolvers<void>()
        await page.route('**/ledger/verify/progress', (call) => call.fulfill({ json: CHECKING }))
        await page.route('**/ledger/verify/full', async (call) => {
          await released.promise
          await call.fulfill({ json: { ...WHOLE, problems: ['key a: settlements sum to 41, 40 are recorded as spent'], ok: false } })
        })
        await page.goto('/control-room/ledger')
        await page.getByText('Adds up', { exact: true }).waitFor()
        await page.getByRole('button', { name: 'Check every row' }).click()
        await page.getByText('3,200,000 of about 10,000,000 requests read').waitFor()
        t.equal(await page.getByRole('progressbar', { name: 'Rows that are checked' }).getAttribute('value'), '0.32')
        t.equal(await page.getByRole('button', { name: 'Check every row' }).isDisabled(), true, 'one check at a time')
        await picture(page, `ledger-checking-${scheme}-${width}`)
        t.same(await axeProblems(page), [])
        t.equal(await overflow(page), 0)
        released.resolve()
        await page.getByText('Does not add up').waitFor()
        await page.getByText('key a: settlements sum to 41').waitFor()
        t.equal(await page.getByText('requests read').count(), 0, 'it has ended')
        t.same(complaints, [])
        await context.close()
      }
  })
})
