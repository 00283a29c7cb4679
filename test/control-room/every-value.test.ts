/**
 * Each page over the replies of a real gateway, which are changed value by value: every word of every set that the API and the admin listener describe,
 * words that it does not list, null, absent, empty, zero. No page may fail, show what is no text, or take an unknown word for a good one.
 */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { ADMIN_REPLIES } from '../../src/api/index.ts'
import { referenceDocument } from '../../src/app/reference.ts'
import { noBrowser, type Room } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { type Change, changed, changesOf, type Schema } from './changed-replies.ts'
import { startFilledRoom } from './filled-gateway.ts'

const LIMIT = 900_000

interface Visit {
  readonly name: string
  readonly path: string
  /** What a visitor does there, after which the page shows all that it has. */
  readonly act?: (page: Page) => Promise<unknown>
  /** The page looks for something first that is not there, which the browser writes on its console. */
  readonly misses?: true
  /** Values to change that there are at least; 6 where absent. */
  readonly least?: number
}

interface Described {
  readonly route: RegExp
  readonly method: string
  readonly schema: Schema
}

const DOCUMENT = referenceDocument({ brand: 'headgate', models: [] }) as unknown as {
  paths: Record<string, Record<string, { responses?: Record<string, { content?: Record<string, { schema: Schema }> }> }>>
  components: { schemas: Record<string, Schema> }
}

/** Routes of the admin listener, which the description of the API does not have. */
const ADMIN: readonly Described[] = Object.values(ADMIN_REPLIES).flatMap(({ routes, schema }) =>
  routes.map((each) => {
    const [method = '', path = ''] = each.split(' ')
    return { route: new RegExp(`^${path}$`), method, schema: schema as Schema }
  }),
)

const DESCRIBED: readonly Described[] = [
  ...ADMIN,
  ...Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) => {
      const schema = (responses?.['200'] ?? responses?.['201'])?.content?.['application/json']?.schema
      const route = new RegExp(`^/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      return schema ? [{ route, method: method.toUpperCase(), schema }] : []
    }),
  ),
]

/** What stands in the page where a value was no text, and what browsers say of a member of nothing. */
const NO_TEXT =
  /\bundefined\b|\bNaN\b|\[object |Invalid Date|\bnull\b|Cannot read|is not (?:iterable|a function|an object)|Infinity|native code/

class Visitor {
  readonly page: Page
  private readonly complaints: string[]
  private readonly kept = new Map<string, { status: number; json: unknown; described: Described | undefined }>()
  private change: { route: string; change: Change } | undefined
  private open = 0

  constructor(page: Page, complaints: string[]) {
    this.page = page
    this.complaints = complaints
  }

  /** Every reply comes from the gateway once, and from then on as it was, but for the change. */
  async intercept(): Promise<void> {
    await this.page.route(/\/(?:v1|ledger|guardrails)\//, async (call) => {
      this.open++
      try {
        const request = call.request()
        const { pathname, search } = new URL(request.url())
        const name = `${request.method()} ${pathname} ${search.replaceAll(/(?:since|until)=[^&]*/g, '')} ${withoutTimes(request.postData())}`
        let kept = this.kept.get(name)
        if (!kept) {
          const reply = await call.fetch()
          const described = DESCRIBED.find(({ route, method }) => method === request.method() && route.test(pathname))
          kept = { status: reply.status(), json: await reply.json(), described }
          this.kept.set(name, kept)
        }
        const json = this.change?.route === name ? changed(kept.json, this.change.change) : kept.json
        await call.fulfill({ status: kept.status, json })
      } finally {
        this.open--
      }
    })
  }

  replies(): [string, { status: number; json: unknown; described: Described | undefined }][] {
    return [...this.kept]
  }

  /** Goes to another page and back, as a visitor does, without loading the document. @returns the text of the page, and how many of its badges say that all is well. */
  async look(
    { path, act, misses }: Visit,
    change?: { route: string; change: Change },
  ): Promise<{ text: string; good: number; problems: string[] }> {
    const { page } = this
    this.complaints.length = 0
    this.change = undefined
    await go(page, '/control-room/nowhere')
    await page.getByText('There is no such page').waitFor()
    this.change = change
    await go(page, `/control-room/${path}`)
    await this.settled()
    const failed = await page.locator('main .note.error').count()
    if (act && failed === 0) {
      await act(page)
      await this.settled()
    }
    const text = await page.locator('main').innerText()
    const good = await page.locator('main .badge.good').count()
    const problems = this.complaints.filter((complaint) => !misses || !complaint.includes('status of 404'))
    const wrong = NO_TEXT.exec(withoutCode(text, await page.locator('main pre').allInnerTexts()))
    if (wrong) problems.push(`shows ${JSON.stringify(text.slice(Math.max(0, wrong.index - 60), wrong.index + 60))}`)
    if ((await page.locator('main h1').count()) !== 1) problems.push(`has no heading: ${text.slice(0, 200)}`)
    return { text, good, problems }
  }

  private async settled(): Promise<void> {
    const look = async (): Promise<boolean> =>
      this.open === 0 && (await this.page.locator('main .loading').count()) === 0 && (await this.page.locator('main').innerText()) !== ''
    await eventually('the page has all that it shows', look)
  }
}

/** A body with the times of now names the same request. */
const withoutTimes = (body: string | null): string => (body ?? '').replaceAll(/"since":\d+/g, '')

/** What the page shows as it came: JSON has its own `null`. */
const withoutCode = (text: string, code: readonly string[]): string => code.reduce((rest, each) => rest.replaceAll(each, ''), text)

const go = (page: Page, path: string): Promise<unknown> =>
  page.evaluate<unknown>(`history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`)

/** Changes that a page shows are looked at by their words; those that it does not show have none to be wrong. */
async function lookAtAll(t: Test, room: Room, visit: Visit): Promise<void> {
  const { page, context, complaints } = await room.open()
  const visitor = new Visitor(page, complaints)
  await visitor.intercept()
  await page.goto('/control-room/nowhere')
  const plain = await visitor.look(visit)
  t.same(plain.problems, [], `${visit.name} as it is`)
  const wrong: string[] = []
  let count = 0
  for (const [route, { json, described, status }] of visitor.replies()) {
    if (!described || status >= 300) continue
    const changes = changesOf(json, described.schema, DOCUMENT.components.schemas)
    const byPlace = Map.groupBy(changes, ({ place }) => place)
    for (const [place, all] of byPlace) {
      const texts = new Set([plain.text])
      const goods = [plain.good]
      const unknown: { change: Change; text: string; good: number }[] = []
      for (const change of all) {
        count++
        const seen = await visitor.look(visit, { route, change }).catch((thrown) => ({ text: '', good: 0, problems: [String(thrown)] }))
        const { text, good, problems } = seen
        for (const problem of problems) wrong.push(`${route}${place} ${change.kind} ${JSON.stringify(change.value)}: ${problem}`)
        if (change.kind === 'listed') {
          texts.add(text)
          goods.push(good)
        }
        if (change.kind === 'unknown') unknown.push({ change, text, good })
      }
      // Where no listed word makes a difference, the page does not show the set.
      if (texts.size === 1) continue
      for (const { change, text, good } of unknown) {
        if (!text.toLowerCase().includes(String(change.value)))
          wrong.push(`${route}${place}: does not show the unknown word ${change.value}`)
        if (good > Math.min(...goods)) wrong.push(`${route}${place}: takes the unknown word ${change.value} for a good one`)
      }
    }
  }
  t.same(wrong, [], `${visit.name}: ${count} changes`)
  t.ok(count >= (visit.least ?? 6), `${visit.name} has ${count} values to change`)
  await context.close()
}

const plan = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Plan it' }).click()
  await page.locator('.plan-found').waitFor()
}

t.test('every value of every reply, page by page', { skip: noBrowser, timeout: LIMIT }, async (t) => {
  const { room, request, blocked, hash } = await startFilledRoom(t)
  const visits: readonly Visit[] = [
    { name: 'Now', path: 'now' },
    { name: 'Requests', path: 'requests' },
    { name: 'one request', path: `requests/${request}`, act: plan },
    { name: 'Refused requests', path: 'requests/refused' },
    { name: 'a refused request', path: `requests/${blocked}`, misses: true },
    { name: 'Models', path: 'models' },
    { name: 'one model', path: 'models/m/both' },
    { name: 'a comparison', path: 'models/compare?models=m%2Fboth,m%2Fwell' },
    { name: 'Keys', path: 'keys' },
    { name: 'one key', path: `keys/${hash}` },
    {
      name: 'Policy',
      path: 'policy',
      act: async (page) => {
        await page.getByLabel('Text of the configuration').fill('providers: {}\nmodels: {}\nnonsense: 1\n')
        await page.getByRole('button', { name: 'Check it' }).click()
        await page.getByRole('heading', { name: 'Check', exact: true }).waitFor()
      },
    },
    {
      name: 'Guardrails',
      path: 'guardrails',
      act: async (page) => {
        await page.getByLabel('Text', { exact: true }).fill('forbidden, ann@example.com')
        await page.getByRole('button', { name: 'Test it' }).click()
        await page.locator('.bench-result').waitFor()
      },
    },
    { name: 'Ledger', path: 'ledger' },
    // Types of events are no set of the description: `events.test.ts` shows each.
    { name: 'Events', path: 'events', least: 1 },
  ]
  for (const visit of visits) await t.test(visit.name, (t) => lookAtAll(t, room, visit))
})
