/** One page: by the gateway itself, or through an engine; checked the same way in both cases. */
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { readDocument } from '../documents/index.ts'
import { checkAddress, guardedFetch } from '../outbound/index.ts'
import { askEngine, EngineError } from '../search/ask-engine.ts'
import { robotsAllow } from './robots.ts'
import type { FetchSettings } from './settings.ts'
import type { Page, PageAccount, PageEngine, PageRequest, Resolve } from './types.ts'

/** The model cannot have the page; the message is shown to the model. */
export class PageError extends Error {
  readonly httpStatus: number | undefined

  constructor(message: string, httpStatus?: number) {
    super(message)
    this.name = 'PageError'
    this.httpStatus = httpStatus
  }
}

export interface PageOptions {
  clock: Clock
  signal: AbortSignal
  /** Looks names up in place of the system. */
  resolve?: Resolve | undefined
  /** Takes memory for a page's bytes before they are kept; see `FetchOptions`. */
  memory?: ((bytes: number) => Promise<void> | undefined) | undefined
}

/** Milliseconds for robots.txt and the page together, and then for reading it. */
const TIMEOUT = 10_000
/** '' stands for a server that names no type. */
const TYPES = ['text/*', 'application/*', 'image/svg+xml', '']

/**
 * Fetches one page as markdown.
 * @throws PageError where there is no such page for us; Fault of the fetch or of reading; EngineError.
 */
export async function fetchPage(
  fetchSettings: FetchSettings,
  account: PageAccount,
  request: PageRequest,
  options: PageOptions,
): Promise<Page> {
  // Engines of others are not shown private addresses either.
  const address = checkAddress(request.url, fetchSettings.policy)
  if (!request.allows(address)) throw new PageError('the domain is not allowed')
  if (account.engine) return enginePage(account.engine, account, { ...request, url: address.href }, options)
  return ownPage(fetchSettings, address.href, request, options)
}

async function ownPage(
  { policy, robots, maxBytes }: FetchSettings,
  address: string,
  { characters, allows }: PageRequest,
  { clock, signal, resolve, memory }: PageOptions,
): Promise<Page> {
  const end = clock.monotonic() + TIMEOUT
  const left = (): number => Math.max(1, end - clock.monotonic())
  const permitted = async (url: string): Promise<void> => {
    if (robots && !(await robotsAllow(url, { policy, clock, signal, resolve, timeout: left() })))
      throw new PageError("the site's robots.txt does not allow it")
  }
  await permitted(address)
  const fetched = await guardedFetch(address, { policy, clock, signal, resolve, maxBytes, allows, types: TYPES, timeout: left(), memory })
  // Where a redirect leads is known only now.
  if (fetched.url !== address) await permitted(fetched.url)
  const { status: httpStatus, url } = fetched
  if (httpStatus < 200 || httpStatus > 299) throw new PageError(`the page answered with status ${httpStatus}`, httpStatus)
  const limits = { maxBytes, maxCharacters: characters, timeout: TIMEOUT }
  const {
    title,
    text,
    truncated = false,
  } = await readDocument(fetched.bytes, { type: fetched.declared, url }, { clock, signal, limits, handOver: true })
  return { url, title: title ?? '', content: text, httpStatus, truncated }
}

async function enginePage(engine: PageEngine, account: PageAccount, request: PageRequest, options: PageOptions): Promise<Page> {
  const page = await engineAnswer(engine, account, request, options)
  if (!page) throw new PageError('the page could not be fetched')
  const { title, content, httpStatus } = page
  if (typeof httpStatus === 'number' && httpStatus >= 400) throw new PageError(`the page answered with status ${httpStatus}`, httpStatus)
  if (typeof content !== 'string') throw new PageError('the page could not be fetched')
  const url = URL.parse(typeof page.url === 'string' ? page.url : request.url) ?? new URL(request.url)
  if (!request.allows(url)) throw new PageError('the domain is not allowed')
  return {
    url: url.href,
    title: typeof title === 'string' ? title.slice(0, 300) : '',
    content: content.slice(0, request.characters).replace(/[\uD800-\uDBFF]$/, ''),
    ...(typeof httpStatus === 'number' && Number.isInteger(httpStatus) ? { httpStatus } : {}),
    truncated: content.length > request.characters,
  }
}

async function engineAnswer(
  engine: PageEngine,
  account: PageAccount,
  request: PageRequest,
  { clock, signal }: PageOptions,
): Promise<ReturnType<PageEngine['read']>> {
  try {
    return engine.read(await askEngine(engine.ask(request, account), { clock, signal }))
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown
    throw new EngineError(engine.name, thrown instanceof Error ? thrown.message : 'failed')
  }
}
