/**
 * Eight questions, each answered in three presses at most from the front page: by a real gateway over a store of 10,000 keys, and checked against
 * that store. HEADGATE_ROOM_ROWS says how many generations it has; `.ci/full` takes a million. HEADGATE_SHOTS takes pictures.
 */
import t, { type Test } from 'tap'
import { parseGenerationId } from '../../src/core/ids.ts'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { roomHash, roomName } from '../support/grown/room.ts'
import { ALLOWED, CHANGED, HASTY, POOR, type Scene, startScene, type Visit } from './questions-scene.ts'

const TICKS = 4_096
const LIMIT = 900_000

const dollars = (text: string): number => Number(/\$([\d,]+\.?\d*)/.exec(text)?.[1]?.replaceAll(',', '') ?? Number.NaN)
const counts = (text: string): number[] => [...text.matchAll(/\b\d{1,3}(?:,\d{3})*\b/g)].map(([count]) => Number(count.replaceAll(',', '')))

/** Sequences of the range that a page has called for. @param until of pages that end now. */
function bounds(query: URLSearchParams): [from: number, until: number] {
  const until = query.get('until')
  return [Date.parse(query.get('since') ?? '') * TICKS, (until === null ? Date.now() + 60_000 : Date.parse(until)) * TICKS]
}

const IN_RANGE = 'FROM hold JOIN settlement USING (seq) WHERE seq >= ? AND seq < ?'

/** Looks at the page at both widths and in both schemes. */
async function look(t: Test, { page }: Visit, name: string): Promise<void> {
  for (const width of [1280, 390])
    for (const scheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: width < 600 ? 844 : 900 })
      await page.emulateMedia({ colorScheme: scheme })
      await page.locator('.plot:not(:has(canvas))').first().waitFor({ state: 'detached' })
      await picture(page, `question-${name}-${width}-${scheme}`)
      t.same(await axeProblems(page), [], `${width}, ${scheme}: axe finds nothing`)
      t.equal(await overflow(page), 0, `${width}, ${scheme}: nothing is wider than the window`)
    }
}

type Question = (t: Test, visit: Visit, scene: Scene) => Promise<void>

const QUESTIONS: Readonly<Record<string, Question>> = {
  'who spent what today': async (t, visit, { read }) => {
    await visit.navigate('Usage')
    await visit.rows('Usage by key')
    await visit.settled()
    const [first = ''] = await visit.rows('Usage by key')
    const range = bounds(visit.parameters('/v1/slices'))
    const [row] = read(`SELECT key, sum(cost) AS cost, count(*) AS requests ${IN_RANGE} GROUP BY key ORDER BY 2 DESC, 1 LIMIT 1`, ...range)
    const [sum] = read(`SELECT sum(cost) AS cost, count(*) AS requests ${IN_RANGE}`, ...range)
    const key = Number(String(row?.key).slice(1))
    t.ok(first.startsWith(roomName(key)), `${first}: the key ${key} has spent the most`)
    t.ok(Math.abs(dollars(first) - Number(row?.cost) / 1e9) < 0.01, `${first}: ${Number(row?.cost) / 1e9}`)
    const figures = (await visit.page.locator('dl.figures').innerText()).replaceAll(/\s+/g, ' ')
    t.ok(Math.abs(dollars(figures) - Number(sum?.cost) / 1e9) < 0.01, `${figures}: ${Number(sum?.cost) / 1e9}`)
    t.ok(counts(figures).includes(Number(sum?.requests)), `${figures}: ${sum?.requests}`)
    const chart = visit.page.locator('.plot .u-over').first()
    await chart.waitFor()
    t.equal(await visit.page.locator('.pointed').count(), 0, 'no figure without a pointer')
    await chart.hover()
    await visit.page.locator('.pointed').first().waitFor()
    t.match(
      await visit.page.locator('.legend').first().innerText(),
      /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+Spent\s*\$[\d.]+/,
      'the figures under the pointer',
    )
    await visit.page.mouse.move(0, 0)
  },
  'what happened an hour ago': async (t, visit, { read }) => {
    await visit.navigate('Usage')
    await visit.press(visit.page.getByRole('button', { name: 'An hour ago' }))
    await visit.press(visit.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'What happened' }))
    await visit.page.getByRole('heading', { name: 'Changes' }).waitFor()
    await visit.settled()
    const query = visit.parameters('/v1/slices')
    const range = bounds(query)
    const ago = (Date.now() - Date.parse(query.get('until') ?? '')) / 60_000
    t.ok(ago >= 30 && ago < 35, `the range ends ${ago} minutes ago`)
    const [sum] = read(`SELECT count(*) AS requests, total(status IN ('failed', 'unknown')) AS failed ${IN_RANGE}`, ...range)
    const figures = (await visit.page.locator('dl.figures').innerText()).replaceAll(/\s+/g, ' ')
    t.ok(
      counts(figures).includes(Number(sum?.requests)) && counts(figures).includes(Number(sum?.failed)),
      `${figures}: ${JSON.stringify(sum)}`,
    )
    for (const name of ['/v1/events', '/v1/audit', '/v1/refusals']) {
      const beside = visit.parameters(name)
      t.same([beside.get('since'), beside.get('until')], [query.get('since'), query.get('until')], `${name} has the same range`)
    }
  },
  'why does this caller get 402, 403 or 429': async (t, visit) => {
    await visit.key(roomName(POOR))
    await visit.page.getByText('A limit has nothing left').waitFor()
    const rows = await visit.rows('Refused requests by limit and reason')
    t.ok(
      rows.some((row) => /402 no credit 1 .*credit/i.test(row)),
      JSON.stringify(rows),
    )
    t.ok(
      rows.some((row) => /403 .*guardrail/i.test(row)),
      JSON.stringify(rows),
    )
    await visit.begin()
    await visit.key(HASTY)
    const hasty = await visit.rows('Refused requests by limit and reason')
    t.ok(
      hasty.some((row) => /^The key’s own: requests per minute 429 /.test(row)),
      JSON.stringify(hasty),
    )
  },
  'which errors at which provider since when': async (t, visit, { read }) => {
    await visit.navigate('Usage')
    await visit.press(visit.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Errors' }))
    await visit.press(visit.page.getByRole('button', { name: '7 days' }))
    await visit.page.getByRole('button', { name: '7 days', pressed: true }).waitFor()
    await visit.settled()
    const [first = ''] = await visit.rows('Usage by provider and error')
    const [row] = read(
      `SELECT facts ->> '$.provider' AS provider, facts ->> '$.fault' AS fault, count(*) AS requests, min(seq) / ${TICKS} AS since
       ${IN_RANGE} AND facts ->> '$.fault' IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 1`,
      ...bounds(visit.parameters('/v1/slices')),
    )
    const alike = read(
      `SELECT facts ->> '$.provider' AS provider, facts ->> '$.fault' AS fault ${IN_RANGE} AND facts ->> '$.fault' IS NOT NULL
       GROUP BY 1, 2 HAVING count(*) = ?`,
      ...bounds(visit.parameters('/v1/slices')),
      Number(row?.requests),
    )
    const [found] = alike.filter((each) => first.startsWith(`${each.provider} ${String(each.fault).replaceAll('_', ' ')}`))
    t.ok(found, `${first}: ${JSON.stringify(alike)}`)
    t.ok(counts(first).includes(Number(row?.requests)), `${first}: ${row?.requests}`)
    if (alike.length === 1) {
      const since = await visit.page
        .getByRole('table', { name: 'Usage by provider and error' })
        .locator('tbody tr')
        .first()
        .locator('time')
        .first()
        .getAttribute('datetime')
      t.equal(since, new Date(Number(row?.since)).toISOString(), 'since when')
    }
  },
  'which requests were dearest and slowest': async (t, visit, { read }) => {
    await visit.navigate('Usage')
    for (const [view, order] of [
      ['Dearest', 'cost'],
      ['Slowest', "facts ->> '$.generation_time'"],
    ] as const) {
      await visit.press(visit.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }))
      await visit.rows(`${view} requests, in order`)
      await visit.settled()
      const range = bounds(visit.parameters('/v1/slices/generations'))
      const ids = await visit.page.locator('tbody tr th a').evaluateAll((links) => links.map((link) => link.getAttribute('title')))
      const answered = view === 'Slowest' ? `AND status IN ('completed', 'incomplete')` : ''
      const most = read(`SELECT seq, ${order} AS value ${IN_RANGE} ${answered} ORDER BY 2 DESC LIMIT 50`, ...range)
      const shown = ids.map(
        (id) => read(`SELECT ${order} AS value FROM settlement WHERE seq = ?`, parseGenerationId(id ?? '')?.seq ?? 0)[0]?.value,
      )
      t.same(
        shown,
        most.map(({ value }) => value),
        `${view}: those with the most, in order`,
      )
    }
  },
  'did my alert go out': async (t, visit, { receiver }) => {
    await visit.navigate('Events')
    const rows = await visit.rows('Events')
    const disabled = rows.find((row) => row.includes('Key disabled')) ?? ''
    t.match(disabled, new RegExp(`${roomName(CHANGED)}.*pager: delivered .*status 204|${roomName(CHANGED)}.*pager: delivered .*status 200`))
    t.ok(receiver.typesTaken().includes('headgate.key.disabled'), 'the receiver has it')
    t.match((await visit.rows('Receivers of events')).join('\n'), /deaf Disabled/)
  },
  'who changed this': async (t, visit) => {
    await visit.key(roomName(CHANGED))
    const rows = await visit.rows('The last changes of the key')
    t.ok(
      rows.some((row) => /Key changed alice .*disabled: false → true/.test(row)),
      JSON.stringify(rows),
    )
    t.ok(
      rows.some((row) => /alice .*limit nano: null → 25000000000/.test(row)),
      JSON.stringify(rows),
    )
  },
  'what may this key do': async (t, visit) => {
    await visit.key(roomName(ALLOWED))
    await visit.page.getByText('May call models').waitFor()
    const facts = (
      await visit.page.getByRole('heading', { name: 'What it may do' }).locator('xpath=ancestor::section').innerText()
    ).replaceAll(/\s+/g, ' ')
    t.match(facts, /Role member .*Models 8 of 8 at Provider 0, Provider 1, Provider 2, Provider 3 .*acme\/model-7/)
    t.match(facts, /Rates No rate is set Guardrails words, for every request Ends Never/)
    t.match(facts, /Its own: caller 00130 \$50\.00 lifetime/)
    t.ok(visit.parameters(`/v1/keys/${roomHash(ALLOWED)}/access`))
  },
}

t.test('the zone of times, and the range from page to page', { skip: noBrowser, timeout: LIMIT }, async (t) => {
  const room = await startRoom(t)
  const { page, context, complaints } = await room.open()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'Pacific/Kiritimati' })
  const since = async (act: () => Promise<unknown>): Promise<string> => {
    const call = page.waitForRequest((request) => new URL(request.url()).pathname === '/v1/slices')
    await act()
    return new URL((await call).url()).searchParams.get('since') ?? ''
  }
  t.match(
    await since(() => page.goto('/control-room/usage')),
    /T10:00:00\.000Z$/,
    'today begins in the zone of the browser, 14 hours ahead',
  )
  t.match(await since(() => page.getByRole('button', { name: 'Local' }).click()), /T00:00:00\.000Z$/, 'and in UTC')
  t.match(await since(() => page.reload()), /T00:00:00\.000Z$/, 'the choice is kept')
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('button', { name: '7 days', pressed: true }).waitFor()
  for (const title of ['Requests', 'Events', 'Changes', 'Usage']) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: title, exact: true }).click()
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    t.match(page.url(), /span=7d/, `${title} has the same range`)
  }
  await page.getByText('From and to').click()
  await page.getByLabel('From, UTC').fill('2026-01-02T03:04')
  await page.waitForURL(/since=2026-01-02T03%3A04/)
  t.equal(await since(() => page.reload()), '2026-01-02T03:04:00.000Z', 'fields are in the zone of the page')
  t.same(complaints, [])
  await context.close()
})

t.test('eight questions', { skip: noBrowser, timeout: LIMIT }, async (t) => {
  const scene = await startScene(t)
  for (const [question, answer] of Object.entries(QUESTIONS))
    await t.test(question, { timeout: LIMIT }, async (t) => {
      const visit = await scene.visit(t)
      await visit.begin()
      await answer(t, visit, scene)
      await look(t, visit, question.replaceAll(/\W+/g, '-'))
      await visit.end()
    })
})
