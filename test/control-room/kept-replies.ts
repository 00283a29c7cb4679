/**
 * A page of the control room that asks the gateway for each thing once, and gets the same reply from then on, but for one that a test replaces.
 * All of it runs in the page: a call of the browser for each reply and each look took most of the time of a test with hundreds of looks.
 */
import type { Page } from 'playwright-core'

export interface Replaced {
  /** Of the request, as `keptReplies` names it. */
  readonly name: string
  /** JSON in place of the gateway's. */
  readonly text: string
}

export interface Shown {
  readonly text: string
  /** The texts that are shown as they came. */
  readonly code: string[]
  /** Badges that say that all is well. */
  readonly good: number
  readonly headings: number
  readonly errors: number
}

interface Kept {
  readonly status: number
  readonly text: string
}

interface Keeper {
  readonly kept: Map<string, Kept>
  replaced: Replaced | undefined
  visit(path: string): Promise<void>
  read(): Promise<Shown>
}

type KeepingPage = typeof globalThis & { keeper: Keeper }

/** As much of the browser as this uses: the types of Node stand for the rest. */
interface Shape {
  readonly innerText: string
  querySelector(selector: string): Shape | null
  querySelectorAll(selector: string): Iterable<Shape> & { readonly length: number }
}
declare const document: Shape & { readonly body: Shape }
declare const location: { readonly href: string }
declare const history: { pushState(state: null, title: string, path: string): void }
declare const PopStateEvent: new (type: string) => Event
declare const dispatchEvent: (event: Event) => void
declare const requestAnimationFrame: (then: () => void) => void

/** For `addInitScript`: runs in the page, so it uses nothing from outside itself. */
export function keepReplies(): void {
  const fetched = globalThis.fetch
  const kept = new Map<string, Kept>()
  let open = 0

  /** Times of now name the same request. */
  const urlName = ({ pathname, search }: URL, { method = 'GET', body }: RequestInit): string =>
    `${method} ${pathname} ${search.replaceAll(/(?:since|until)=[^&]*/g, '')} ${String(body ?? '').replaceAll(/"since":\d+/g, '')}`

  globalThis.fetch = async (address, options = {}) => {
    const url = new URL(String(address), location.href)
    if (!/^\/(?:v1|ledger|guardrails)\//.test(url.pathname)) return fetched(address, options)
    open++
    try {
      const name = urlName(url, options)
      let reply = kept.get(name)
      if (!reply) {
        const real = await fetched(address, options)
        reply = { status: real.status, text: await real.text() }
        kept.set(name, reply)
      }
      options.signal?.throwIfAborted()
      const text = keeper.replaced?.name === name ? keeper.replaced.text : reply.text
      return new Response(text, { status: reply.status, headers: { 'content-type': 'application/json' } })
    } finally {
      open--
    }
  }

  /** Effects run behind a frame. */
  const frame = (): Promise<void> => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))

  const until = async (what: string, holds: () => boolean): Promise<void> => {
    const end = performance.now() + 30_000
    while (!holds()) {
      if (performance.now() > end) throw new Error(`not within 30 s: ${what}; ${open} calls are open, and it shows ${main().innerText}`)
      await new Promise((resolve) => setTimeout(resolve))
    }
  }

  const main = (): Shape => document.querySelector('main') ?? document.body
  const isNowhere = (): boolean => main().innerText.includes('There is no such page')
  const go = (path: string): void => {
    history.pushState(null, '', path)
    dispatchEvent(new PopStateEvent('popstate'))
  }
  const isSettled = (): boolean => open === 0 && main().querySelector('.loading') === null && main().innerText !== '' && !isNowhere()

  const settled = async (): Promise<void> => {
    do {
      await until('the page has all that it shows', isSettled)
      await frame()
    } while (!isSettled())
  }

  const keeper: Keeper = {
    kept,
    replaced: undefined,
    visit: async (path) => {
      go('/control-room/nowhere')
      await until('the page before is gone', isNowhere)
      // Whoever listens for another address begins in an effect.
      await frame()
      go(path)
    },
    read: async () => {
      await settled()
      return {
        text: main().innerText,
        code: [...main().querySelectorAll('pre')].map((each) => each.innerText),
        good: main().querySelectorAll('.badge.good').length,
        headings: main().querySelectorAll('h1').length,
        errors: main().querySelectorAll('.note.error').length,
      }
    },
  }
  Object.assign(globalThis, { keeper })
}

/** The gateway's replies so far, by the name of their request: method, path, query and body. */
export const keptReplies = (page: Page): Promise<[string, Kept][]> => page.evaluate(() => [...(globalThis as KeepingPage).keeper.kept])

/** Goes to no page, and from there to this one, without loading the document. */
export const visitAnew = (page: Page, path: string, replaced: Replaced | undefined): Promise<Shown> =>
  page.evaluate(
    async ([to, instead]) => {
      const { keeper } = globalThis as KeepingPage
      keeper.replaced = undefined
      await keeper.visit(to)
      keeper.replaced = instead
      return keeper.read()
    },
    [path, replaced] as const,
  )

/** Text of the page once it has all that it asked for. */
export const readPage = (page: Page): Promise<Shown> => page.evaluate(() => (globalThis as KeepingPage).keeper.read())
