/**
 * Each page over the replies of a real gateway, which are changed value by value: every word of every set that the API and the admin listener describe,
 * words that it does not list, null, absent, empty, zero. No page may fail, show what is no text, or take an unknown word for a good one.
 */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { ADMIN_REPLIES } from '../../src/api/index.ts'
import { referenceDocument } from '../../src/app/reference.ts'
import { noBrowser, type Room } from '../support/browser.ts'
import { type Change, changed, replyChanges, type Schema } from './changed-replies.ts'
import { startFilledRoom } from './filled-gateway.ts'
import { keepReplies, keptReplies, type Replaced, readPage, visitAnew } from './kept-replies.ts'

const LIMIT = 900_000

interface Visit {
  readonly name: string
  readonly path: string
  /** Steps of a visitor there, after which the page shows all that it has. */
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

/** Text in the page in place of a value that was no text, and messages of browsers for a member of nothing. */
const NO_TEXT =
  /\bundefined\b|\bNaN\b|\[object |Invalid Date|\bnull\b|Cannot read|is not (?:iterable|a function|an object)|Infinity|native code/

interface Reading {
  readonly text: string
  /** Badges that say that all is well. */
  readonly good: number
  readonly problems: string[]
}

interface Reply {
  readonly json: unknown
  readonly status: number
  readonly described: Described | undefined
}

class Visitor {
  readonly page: Page
  private readonly complaints: string[]

  constructor(page: Page, complaints: string[]) {
    this.page = page
    this.complaints = complaints
  }

  /** Requests of the page, and replies of the gateway. */
  async replies(): Promise<[string, Reply][]> {
    return (await keptReplies(this.page)).map(([name, { status, text }]) => {
      const [ofRequest = '', pathname = ''] = name.split(' ')
      const described = DESCRIBED.find(({ route, method }) => method === ofRequest && route.test(pathname))
      return [name, { status, json: JSON.parse(text), described }]
    })
  }

  /** Goes to another page and back, as a visitor does, without loading the document. */
  async look({ path, act, misses }: Visit, replaced?: Replaced): Promise<Reading> {
    const { page } = this
    this.complaints.length = 0
    let seen = await visitAnew(page, `/control-room/${path}`, replaced)
    if (act && seen.errors === 0) {
      await act(page)
      seen = await readPage(page)
    }
    const { text, good } = seen
    const problems = this.complaints.filter((complaint) => !misses || !complaint.includes('status of 404'))
    const wrong = NO_TEXT.exec(withoutCode(text, seen.code))
    if (wrong) problems.push(`shows ${JSON.stringify(text.slice(Math.max(0, wrong.index - 60), wrong.index + 60))}`)
    if (seen.headings !== 1) problems.push(`has no heading: ${text.slice(0, 200)}`)
    return { text, good, problems }
  }
}

/** Values that the page shows as they came: JSON has its own `null`. */
const withoutCode = (text: string, code: readonly string[]): string => code.reduce((rest, each) => rest.replaceAll(each, ''), text)

/**
 * Changes that a page shows are looked at by their words; those that it does not show have none to be wrong.
 * @returns of how many sets of words the page shows which one it is.
 */
async function lookAtAll(t: Test, room: Room, visit: Visit): Promise<number> {
  const { page, context, complaints } = await room.open()
  const visitor = new Visitor(page, complaints)
  await page.addInitScript(keepReplies)
  await page.goto('/control-room/nowhere')
  const plain = await visitor.look(visit)
  t.same(plain.problems, [], `${visit.name} as it is`)
  const wrong: string[] = []
  let [count, sets] = [0, 0]
  for (const [route, { json, described, status }] of await visitor.replies()) {
    if (!described || status >= 300) continue
    const changes = replyChanges(json, described.schema, DOCUMENT.components.schemas)
    const byPlace = Map.groupBy(changes, ({ place }) => place)
    for (const [place, all] of byPlace) {
      const texts = new Set([plain.text])
      const goods = [plain.good]
      const unknown: { change: Change; text: string; good: number }[] = []
      for (const change of all) {
        count++
        const replaced = { name: route, text: JSON.stringify(changed(json, change)) }
        const seen = await visitor.look(visit, replaced).catch((thrown) => ({ text: '', good: 0, problems: [String(thrown)] }))
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
      sets++
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
  return sets
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
  let sets = 0
  for (const visit of visits)
    await t.test(visit.name, async (t) => {
      sets += await lookAtAll(t, room, visit)
    })
  t.ok(sets > 30, `${sets} sets of words are shown`)
})
