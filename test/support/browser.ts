/** Debian's Chromium, driven by Playwright, and what every page of the control room must hold there. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { buildWeb } from '../../scripts/build-web.ts'
import { ADMIN_TOKEN } from './admin.ts'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'

/** No other browser is downloaded. */
export const CHROMIUM = process.env.HEADGATE_CHROMIUM ?? '/usr/bin/chromium'

/** Why tests of the browser are skipped; false where there is one. */
export const noBrowser: string | false = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}`

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Milliseconds that a page has for what a test waits for, on a busy machine too. */
const TIMEOUT_MS = 30_000

/** Folder for pictures of the pages, if anywhere. */
const SHOTS = process.env.HEADGATE_SHOTS

export interface Room {
  readonly gateway: Gateway
  readonly browser: Browser
  /** A page in a context of its own, with what it has complained about. */
  open(options?: OpenOptions): Promise<Opened>
}

export interface OpenOptions {
  readonly width?: number
  readonly scheme?: 'light' | 'dark'
  /** False: nobody has signed in. */
  readonly signedIn?: boolean
  /** Key that is signed in with; the admin token where absent. */
  readonly key?: string
}

export interface Opened {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the console, of scripts and of the content security policy. */
  readonly complaints: string[]
}

/** A gateway with the simulated provider, the built control room, and a browser; all end with the test. */
export async function startRoom(t: Test, yaml: string = SIMULATED, options: GatewayOptions = {}): Promise<Room> {
  await buildWeb()
  const gateway = await startGateway(yaml, options)
  t.teardown(() => gateway.close())
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  t.teardown(() => browser.close())
  return {
    gateway,
    browser,
    open: async ({ width = 1440, scheme = 'light', signedIn = true, key = ADMIN_TOKEN } = {}) => {
      const context = await browser.newContext({
        baseURL: gateway.admin,
        colorScheme: scheme,
        viewport: { width, height: width < 600 ? 844 : 900 },
        reducedMotion: 'reduce',
      })
      if (signedIn) {
        const reply = await context.request.post('/control-room/session', {
          data: { key },
          headers: { 'x-control-room': '1' },
        })
        if (reply.status() !== 201) throw new Error(`the sign-in was answered with ${reply.status()}`)
      }
      const page = await context.newPage()
      page.setDefaultTimeout(TIMEOUT_MS)
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      return { page, context, complaints }
    },
  }
}

export const SIMULATED = `
providers:
  sim: { dialect: sim, name: Simulator }
models:
  sim/echo: { name: "Sim: Echo", context: 131072, max_output: 32768, endpoints: [{ provider: sim, model: echo }] }
  sim/story: { name: "Sim: Story", context: 131072, max_output: 32768, endpoints: [{ provider: sim, model: story }] }
  sim/tools: { name: "Sim: Tools", context: 131072, max_output: 32768, endpoints: [{ provider: sim, model: tools }] }
  sim/think: { name: "Sim: Think", context: 131072, max_output: 32768, endpoints: [{ provider: sim, model: think }] }
  sim/json: { name: "Sim: JSON", context: 131072, max_output: 32768, endpoints: [{ provider: sim, model: json }] }
auth: { keys: [ { name: dev, key: sk-router-v1-dev } ] }
`

interface Axe {
  run(options: object): Promise<{ violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[] }>
}

/**
 * @param rules that are looked at; all where absent: WCAG 2.2 A and AA, and axe's best practices.
 * @returns those that the page breaks, one line each.
 */
export async function axeProblems(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Through the debugger, which the content security policy of the page does not bind.
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(AXE)
  return page.evaluate(async (rules) => {
    const { axe } = globalThis as unknown as { axe: Axe }
    // What passes is not written down.
    const { violations } = await axe.run({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })
    return violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`,
    )
  }, rules)
}

/** Pixels by which the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}

/** Bytes of all scripts that the page has loaded, as they are once they are unpacked. */
export function scriptBytes(page: Page): Promise<number> {
  return page.evaluate<number>(`performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
    .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)`)
}

/** Writes a picture of the whole page where HEADGATE_SHOTS names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return
  mkdirSync(SHOTS, { recursive: true })
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true })
}
