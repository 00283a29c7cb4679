/** Entries of the ledger in a real browser, at a real gateway: on the pages of the ledger, of a key and of a request; added with a second look, and settled. */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture } from '../support/browser.ts'
import { BOSS, startFilledRoom } from './filled-gateway.ts'

t.test('entries of the ledger', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const { room, request, hash } = await startFilledRoom(t)
  const entries = async (query: string) => {
    const reply = await room.gateway.get(`/v1/ledger/entries?${query}`, { authorization: `Bearer ${BOSS}` })
    return ((await reply.json()) as { data: { kind: string; amount: number; reason: string; actor: string }[] }).data
  }

  await t.test('stand on each page, with actor and reason, the newest first', async (t) => {
    for (const [path, rows] of [
      ['ledger', ['Priced too low', 'Too dear']],
      [`keys/${hash}`, ['Priced too low', 'Too dear']],
      [`requests/${request}`, ['Too dear']],
    ] as const)
      for (const width of [390, 1440]) {
        const { page, context, complaints } = await room.open({ width, scheme: width === 390 ? 'dark' : 'light' })
        await page.goto(`/control-room/${path}`)
        const table = page.getByRole('table', { name: 'Entries of the ledger' }).locator('tbody tr')
        await table.first().waitFor()
        t.same(
          await table.evaluateAll((found) =>
            found.map((row) => ['Priced too low', 'Too dear'].find((each) => row.textContent?.includes(each))),
          ),
          [...rows],
          path,
        )
        t.match(await table.last().innerText(), /Refund[\s\S]*\$0\.001[\s\S]*boss/)
        t.same(await axeProblems(page), [])
        t.equal(await overflow(page), 0)
        t.same(complaints, [])
        await picture(page, `entries-${path.split('/')[0]}-${width}`)
        await context.close()
      }
  })

  await t.test('are added after a second look, once', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto(`/control-room/requests/${request}`)
    await page.getByRole('button', { name: 'Correct or refund' }).click()
    await page.getByLabel('Amount in USD').fill('99')
    await page.getByLabel('Reason').fill('The answer was cut off')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText(`The key test gets $99 back for the request ${request}.`).waitFor()
    t.same(await axeProblems(page), [])
    await picture(page, 'entries-sure-1440')
    t.equal((await entries(`generation_id=${request}`)).length, 1, 'nothing is recorded yet')
    await page.getByRole('button', { name: 'Record it' }).click()
    await page.locator('.field.wrong').getByLabel('Amount in USD').waitFor()
    await page.getByLabel('Amount in USD').fill('0.0005')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('button', { name: 'Record it' }).click()
    const rows = page.getByRole('table', { name: 'Entries of the ledger' }).locator('tbody tr')
    await rows.nth(1).waitFor()
    t.match(await rows.first().innerText(), /Refund[\s\S]*The answer was cut off[\s\S]*control room/)
    t.match(await entries(`generation_id=${request}&order=newest`), [{ kind: 'refund', amount: 0.0005 }, { amount: 0.001 }])
    t.equal((await entries(`generation_id=${request}&api_key_hash=${'0'.repeat(64)}`)).length, 0)
    t.same(
      complaints.filter((each) => !each.includes('409 (Conflict)')),
      [],
    )
    await context.close()
  })
})
