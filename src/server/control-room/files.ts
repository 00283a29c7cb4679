/** The files of the control room as `npm run build` has made them: one page, and scripts and styles with a hash in their names. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { fileBytes, fileText } from '../../core/program-files.ts'

/** Nothing comes from elsewhere, and no script or style stands in the page itself. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
}

/** Of the built files, beside `src` in a checkout, in the package and in the single file: what is written there is compressed already. */
const FOLDERS = ['../../../dist/web/', '../../../web/'].map((folder) => new URL(folder, import.meta.url))

const MISSING = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Control room</title></head>
<body><h1>The control room is not built</h1><p>Run <code>npm run build</code>, then load this page again.</p></body></html>
`

interface Built {
  readonly folder: URL
  /** Names under /control-room/files/. */
  readonly names: ReadonlySet<string>
}

export class ControlRoomFiles {
  /** The page, whatever the path is: it finds out by itself what to show. */
  page(request: IncomingMessage, response: ServerResponse): void {
    const built = this.built()
    if (built) write(request, response, { folder: built.folder, name: 'index.html', cache: 'no-cache' })
    else {
      response.writeHead(503, { ...SAFE_HEADERS, 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' })
      response.end(request.method === 'HEAD' ? undefined : MISSING)
    }
  }

  /** @returns false where there is no such file. */
  file(name: string, request: IncomingMessage, response: ServerResponse): boolean {
    const built = this.built()
    if (!built?.names.has(name)) return false
    write(request, response, { folder: built.folder, name, cache: 'public, max-age=31536000, immutable' })
    return true
  }

  /** Read anew each time: it is small, and `npm run build` may have run since. */
  private built(): Built | undefined {
    for (const folder of FOLDERS) {
      try {
        return { folder, names: new Set(JSON.parse(fileText(fileURLToPath(new URL('files.json', folder)))) as string[]) }
      } catch (thrown) {
        // ENOTDIR: below the single file, which has the second folder alone.
        if (!['ENOENT', 'ENOTDIR'].includes(String((thrown as NodeJS.ErrnoException).code))) throw thrown
      }
    }
    return undefined
  }
}

interface Wanted {
  readonly folder: URL
  readonly name: string
  readonly cache: string
}

function write(request: IncomingMessage, response: ServerResponse, { folder, name, cache }: Wanted): void {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : undefined
  const ending = encoding === undefined ? '' : encoding === 'br' ? '.br' : '.gz'
  const bytes = fileBytes(fileURLToPath(new URL(`${name}${ending}`, folder)))
  response.writeHead(200, {
    ...SAFE_HEADERS,
    'Content-Type': TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    'Content-Length': bytes.length,
    ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
    Vary: 'Accept-Encoding',
    'Cache-Control': cache,
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}
