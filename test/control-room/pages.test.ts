/** Each page of the control room in a real browser, at two widths, light and dark: axe, console, policy, width, script, labels of charts. HEADGATE_SHOTS takes pictures. */
import t from 'tap'
import { axeProblems, noBrowser, type Opened, overflow, picture, scriptBytes, startRoom } from '../support/browser.ts'
import { PAGES, type TestedPage } from './pages.ts'

type Scheme = 'light' | 'dark'
/** Each page is loaded at each width, in one scheme, and goes over to the other. */
const LOADS: readonly [width: number, first: Scheme, second: Scheme][] = [
  [390, 'dark', 'light'],
  [1440, 'light', 'dark'],
]
/** The rules of axe that colours decide. */
const COLOURS = ['color-contrast', 'link-in-text-block']
/** Of the frame and one page. */
const MAX_SCRIPT_BYTES = 200_000
/** Milliseconds. Of all pages together: a minute for each. */
const LIMIT = PAGES.length * 60_000

/** Collects the texts of canvases that do not fit their canvas: no other test of the page sees that half of a label is lost. */
const WATCH_CHARTS = `
  globalThis.cutTexts = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    const { width } = this.measureText(text)
    const before = { center: width / 2, right: width, end: width }[this.textAlign] ?? 0
    const start = this.getTransform().transformPoint({ x, y }).x - before
    if (start < 0 || start + width > this.canvas.width) globalThis.cutTexts.push(text)
    return fillText.call(this, text, x, y, ...more)
  }`
/** A selector: the page's policy forbids the `eval` with which `waitForFunction` asks a second time. */
const NOT_YET_DRAWN = '.plot:not(:has(canvas))'
const CHART = '.plot canvas'

async function show({ page }: Opened, { path, ready, replies = {} }: TestedPage): Promise<void> {
  await page.addInitScript(WATCH_CHARTS)
  for (const [route, json] of Object.entries(replies)) {
    const [method = 'GET', address = ''] = route.split(' ')
    await page.route(
      (url) => url.pathname === address,
      (call) => (call.request().method() === method ? call.fulfill({ json }) : call.fallback()),
    )
  }
  await page.goto(`/control-room/${path}`)
  await ready(page)
  await page.locator(NOT_YET_DRAWN).first().waitFor({ state: 'detached' })
}

/** The system goes over to the other colours while the page is open. */
async function switchTo({ page }: Opened, scheme: Scheme): Promise<void> {
  await page.evaluate(`cutTexts = []; for (const canvas of document.querySelectorAll('${CHART}')) canvas.dataset.before = ''`)
  await page.emulateMedia({ colorScheme: scheme })
  await page.locator(`${CHART}[data-before]`).first().waitFor({ state: 'detached' })
  await page.locator(NOT_YET_DRAWN).first().waitFor({ state: 'detached' })
}

t.test('every page', { skip: noBrowser, timeout: LIMIT }, async (t) => {
  const room = await startRoom(t)
  for (const tested of PAGES)
    for (const [width, first, second] of LOADS)
      await t.test(`${tested.name}, ${width} wide`, async (t) => {
        const opened = await room.open({ width, scheme: first })
        await show(opened, tested)
        const script = await scriptBytes(opened.page)
        t.ok(script > 20_000 && script < MAX_SCRIPT_BYTES, `${script} bytes of script`)
        for (const scheme of [first, second]) {
          if (scheme === second) await switchTo(opened, second)
          await picture(opened.page, `${tested.name}-${width}-${scheme}`)
          // Before axe, which writes on a canvas of its own.
          t.same(await opened.page.evaluate('cutTexts'), [], `${scheme}: no label of a chart is cut off`)
          // The rules that are not about colours find the same in both.
          t.same(await axeProblems(opened.page, scheme === second ? COLOURS : undefined), [], `${scheme}: axe finds nothing`)
          t.equal(await overflow(opened.page), 0, `${scheme}: nothing is wider than the window`)
          t.equal(await opened.page.locator('h1').count(), 1, `${scheme}: one heading of the page`)
        }
        t.same(opened.complaints, [], 'no error and nothing that the policy forbids')
        await opened.context.close()
      })
})
