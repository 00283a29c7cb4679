/** Every type of event that the API can give stands on the page "Events" in words, the newest first, with the state of its receivers. */
import t from 'tap'
import { eventTypes } from '../../src/core/event-types.ts'
import { axeProblems, noBrowser, overflow, picture } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { BOSS, startFilledRoom } from './filled-gateway.ts'

t.test('events', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const { room } = await startFilledRoom(t)
  const { gateway } = room
  const { events } = gateway.running.store
  const types = eventTypes()
  const at = Date.now()
  await events.add(
    types.map(({ type, fields }, index) => ({
      id: `evt_page${index}`,
      type,
      at: at + index,
      subject: 'subject',
      data: Object.fromEntries(Object.keys(fields).map((name) => [name, name === 'entities' ? ['EMAIL', 'PHONE'] : `${name} of it`])),
    })),
  )
  await events.add([
    {
      id: 'evt_tomorrow',
      type: 'headgate.word.of_tomorrow',
      at: at + 999,
      subject: 's',
      data: { name: `a\u202eb${'W'.repeat(200)}`, none: null },
    },
  ])
  await t.test('all are there', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/events')
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    await rows.first().waitFor()
    while (await page.getByRole('button', { name: 'Show more' }).isVisible()) {
      const before = await rows.count()
      await page.getByRole('button', { name: 'Show more' }).click()
      await eventually('more rows', async () => (await rows.count()) > before)
    }
    const texts = await rows.allInnerTexts()
    t.match(texts[0], /headgate\.word\.of tomorrow/, 'an unknown one as it is, the newest first')
    t.equal(await rows.first().locator('.badge.good').count(), 0)
    const words = new Set<string>()
    for (const [index, { type }] of types.toReversed().entries()) {
      const text = texts[index + 1] ?? ''
      t.notMatch(text, type, `${type} has words of the page`)
      words.add(text.split('\t')[1] ?? text)
    }
    t.equal(words.size, types.length, 'and each other ones')
    t.match(texts.join('\n'), 'entities: EMAIL, PHONE')
    const [first] = types
    await page.getByLabel('What', { exact: true }).selectOption(first?.type ?? '')
    await eventually('one type alone', async () => (await rows.allInnerTexts()).every((text) => /Key made/.test(text)))
    t.same(complaints, [])
    await context.close()
  })
  await t.test('it fits a phone', async (t) => {
    const { page, context } = await room.open({ width: 390, scheme: 'dark' })
    await page.goto('/control-room/events')
    await page.getByRole('table', { name: 'Events' }).locator('tbody tr').first().waitFor()
    t.equal(await overflow(page), 0)
    t.same(await axeProblems(page), [])
    t.match(await page.locator('main').innerText(), /a\\u202ebWWW/, 'signs that disguise a text are written out')
    await picture(page, 'events-390-dark')
    await context.close()
  })
  await t.test('the API lists the newest first, page by page', async (t) => {
    const seen: string[] = []
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const reply = await gateway.get(`/v1/events?order=newest&limit=7&cursor=${cursor}`, { authorization: `Bearer ${BOSS}` })
      const { data, next_cursor: next } = (await reply.json()) as { data: { id: string }[]; next_cursor: string | null }
      seen.push(...data.map(({ id }) => id))
      cursor = next
    }
    const all = await events.page({ after: 0, types: [], limit: 1000 })
    t.same(seen, all.map(({ id }) => id).toReversed())
  })
})
