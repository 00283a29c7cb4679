/** `/openapi.json` and, made from it, the pages below `/docs`: the API's reference for programs and for people; and the page at `/`. They need no key. */
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { ownAddress } from '../core/own-address.ts'
import { fileText } from '../core/program-files.ts'
import { isEncrypted } from '../core/request-scheme.ts'
import type { Page } from './consent-page.ts'
import type { OperationRequest } from './gateway.ts'

/** Nothing comes from elsewhere, no page is framed, and scripts and styles are the two files that every page has. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Files of the pages, beside their sources. */
const ASSETS: Readonly<Record<string, string>> = { 'page.css': 'text/css; charset=utf-8', 'page.js': 'text/javascript; charset=utf-8' }

/** @returns what is at a path, made when it is first requested; undefined where there is nothing. */
type Maker = (path: string) => Promise<Page | undefined>

/**
 * Answers for the reference; undefined for any other path.
 * @param document OpenAPI 3.1; built with the first request for any of the paths, as each page is.
 */
export function referencePages(
  document: () => Promise<JsonObject>,
): (call: Pick<OperationRequest, 'path' | 'method' | 'request'>) => Promise<Page> | undefined {
  const made = new Map<string, Promise<Page | undefined>>()
  const make = pageMaker(document)
  const front = frontMaker(document)
  return ({ path, method, request }) => {
    // Programs go on to get the usual 404 there.
    if (path === '/' && method === 'GET' && request.headers.accept?.includes('text/html') === true) return front(request)
    if (path !== '/openapi.json' && path !== '/docs' && !path.startsWith('/docs/')) return undefined
    if (method !== 'GET' && method !== 'HEAD') return Promise.reject(new Fault('method_not_allowed', { headers: { Allow: 'GET' } }))
    const page = made.get(path) ?? make(path)
    return page.then((found) => {
      if (!found) throw new Fault('not_found', { message: `No such path: ${path.slice(0, 200)}` })
      // Unknown paths are not kept, since callers can send any number of them.
      made.set(path, page)
      return found
    })
  }
}

/** The document is built once: a browser that opens the page needs no key. */
function frontMaker(document: () => Promise<JsonObject>): (request: IncomingMessage) => Promise<Page> {
  let write: Promise<(origin: string) => string> | undefined
  const writer = async (): Promise<(origin: string) => string> => {
    const [{ frontPage }, { readReference }] = await Promise.all([import('./docs/front-page.ts'), import('./docs/reference.ts')])
    return frontPage(readReference(await document()))
  }
  return async ({ headers, socket }) => {
    write ??= writer()
    const origin = ownAddress({ headers, overTls: isEncrypted(socket) })
    return page('text/html; charset=utf-8', (await write)(origin ?? 'http://127.0.0.1:8080'), PROTECTED)
  }
}

const PROTECTED = { 'Content-Security-Policy': POLICY, 'X-Frame-Options': 'DENY' }

function pageMaker(document: () => Promise<JsonObject>): Maker {
  let pages: Promise<ReadonlyMap<string, () => string>> | undefined
  const htmlPages = async (): Promise<ReadonlyMap<string, () => string>> => {
    const { GATEWAY_ADDRESSES, docsPages } = await import('./docs/pages.ts')
    return docsPages(await document(), GATEWAY_ADDRESSES)
  }
  return async (path) => {
    if (path === '/openapi.json') return page('application/json', JSON.stringify(await document()))
    const name = path.slice('/docs/'.length)
    const type = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined
    if (type !== undefined) return page(type, readAsset(name))
    pages ??= htmlPages()
    const html = (await pages).get(name)
    if (!html) return undefined
    return page('text/html; charset=utf-8', html(), PROTECTED)
  }
}

/** A file that every page loads. */
export function readAsset(name: string): string {
  return fileText(fileURLToPath(new URL(`docs/${name}`, import.meta.url)))
}

export const ASSET_NAMES = Object.keys(ASSETS)

function page(type: string, html: string, more: Record<string, string> = {}): Page {
  const headers = {
    'Content-Type': type,
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  }
  return { status: 200, headers: { ...headers, ...more }, html }
}
