/**
 * Content that wants to harm: pages and documents. Each request has its documented
 * outcome, others are served meanwhile, and the process does not grow. Runs with `npm run test:servers`.
 */
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Serve } from '../../support/canary.ts'
import { FakeClock } from '../../support/clock.ts'
import { buildPdf } from '../../support/documents.ts'
import { nestedForms, PDFS, WORDS } from '../../support/hostile-documents.ts'
import { type HostileScene, HTML, hostileScene, MB, memory, pours, SSE, siteTools as tool } from '../../support/hostile-scene.ts'
import { calls, ran } from '../../support/tool-scene.ts'

t.setTimeout(300_000)

interface Page {
  body: string | Buffer
  type?: string
  headers?: Record<string, string>
}

/** Text that one page gives to the model; another caller is served at the same time. */
async function read(t: Test, { here, model, ask, script }: HostileScene, page: Page | Serve, what: string): Promise<JsonObject> {
  here.serve =
    typeof page === 'function'
      ? page
      : (_request, response) => void response.writeHead(200, { 'content-type': page.type ?? 'text/html', ...page.headers }).end(page.body)
  const url = here.at('/page')
  script((seen) => (ran(seen) || !seen.body.includes('Read it.') ? { text: ['done'] } : { calls: calls('router_web_fetch', { url }) }))
  const before = model.requests.length
  const reading = ask('chat', { messages: [{ role: 'user', content: 'Read it.' }], tools: [{ type: 'router:web_fetch' }] })
  const other = await ask('responses', { input: 'Meanwhile.' })
  t.equal(other.status, 200, `${what}: others are served`)
  const { status, body, raw } = await reading
  t.equal(status, 200, `${what}: ${raw.slice(0, 500)}`)
  t.match(body, { choices: [{ message: { content: 'done' }, finish_reason: 'stop' }] }, what)
  const last = model.requests.slice(before).findLast((seen) => seen.body.includes('"role":"tool"'))
  const message = (last?.json.messages as JsonObject[] | undefined)?.find(({ role }) => role === 'tool')
  return JSON.parse(String(message?.content)) as JsonObject
}

const text = (size: number): Buffer => Buffer.alloc(size, '<p>words ')

t.test('pages: their limits hold, what can be read is read', async (t) => {
  const one = await hostileScene(t)
  await read(t, one, { body: '<p>first' }, 'the first')
  const before = await memory()
  const large = /larger than/
  const failing: Record<string, [page: () => Page | Serve, error: RegExp, code: string]> = {
    'a page that never ends': [() => pours(HTML, text(65_536)), large, 'content_too_large'],
    'one that never ends, packed': [
      () => pours({ ...HTML, 'content-encoding': 'gzip' }, gzipSync(text(200_000))),
      large,
      'content_too_large',
    ],
    'a head that never ends': [
      () => (_request, response) => void response.socket?.write(`HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(100_000)}`),
      /could not be fetched/,
      'url_not_accessible',
    ],
    'a page of 50 MB': [() => ({ body: text(50 * MB) }), large, 'content_too_large'],
    'a gzip bomb': [() => ({ body: gzipSync(Buffer.alloc(60 * MB)), headers: { 'content-encoding': 'gzip' } }), large, 'content_too_large'],
    'a gzip bomb of many members': [
      () => ({
        body: Buffer.concat(Array.from({ length: 500 }, () => gzipSync(Buffer.alloc(MB / 20)))),
        headers: { 'content-encoding': 'gzip' },
      }),
      large,
      'content_too_large',
    ],
    'a brotli bomb': [
      () => ({
        body: brotliCompressSync(Buffer.alloc(60 * MB), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
        headers: { 'content-encoding': 'br' },
      }),
      large,
      'content_too_large',
    ],
    'a deflate bomb': [
      () => ({ body: deflateSync(Buffer.alloc(60 * MB)), headers: { 'content-encoding': 'deflate' } }),
      large,
      'content_too_large',
    ],
    'gzip in gzip': [
      () => ({ body: gzipSync(gzipSync('x')), headers: { 'content-encoding': 'gzip, gzip' } }),
      /could not/,
      'url_not_accessible',
    ],
    'half of a gzip': [
      () => ({ body: gzipSync(text(9000)).subarray(0, 60), headers: { 'content-encoding': 'gzip' } }),
      /could not/,
      'url_not_accessible',
    ],
    'no gzip at all': [() => ({ body: 'plain', headers: { 'content-encoding': 'gzip' } }), /could not/, 'url_not_accessible'],
    'an unknown packing': [() => ({ body: 'plain', headers: { 'content-encoding': 'zstd' } }), /could not/, 'url_not_accessible'],
    'broken chunks': [
      () => (_request, response) => void response.socket?.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nno number\r\n'),
      /could not/,
      'url_not_accessible',
    ],
    'no HTTP': [() => (_request, response) => void response.socket?.end('SSH-2.0-OpenSSH_9.0\r\n'), /could not/, 'url_not_accessible'],
    'a length that is a lie': [
      () => (_request, response) => void response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\nshort'),
      /could not/,
      'url_not_accessible',
    ],
    'an image as a page': [
      () => ({ body: Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), Buffer.alloc(MB, 7)]) }),
      /none of/,
      'unsupported_content_type',
    ],
    'zero bytes': [() => ({ body: Buffer.concat([Buffer.from('<p>x'), Buffer.alloc(MB)]) }), /none of/, 'unsupported_content_type'],
    'a page as a PDF': [() => ({ body: '<p>x', type: 'application/pdf' }), /none of/, 'unsupported_content_type'],
    'a program as text': [
      () => ({ body: Buffer.from('MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0', 'latin1'), type: 'application/octet-stream' }),
      /./,
      'unsupported_content_type',
    ],
  }
  for (const [what, [page, error, code]] of Object.entries(failing)) {
    const told = await read(t, one, page(), what)
    t.match(told, { status: 'failed', error, error_code: code }, what)
  }
  const entities = `${'&amp;'.repeat(1_000_000)}`
  // Each is a piece of its own to the parser: it may need more than a page may have.
  const pieces = await read(t, one, { body: `<p>seen ${entities}` }, 'a million entities')
  t.match(`${String(pieces.content).slice(0, 8)}${String(pieces.error)}`, /^seen &|too much memory|took too long/, 'a million entities')
  const odd: Record<string, [page: Page, content: RegExp]> = {
    'nested tags': [{ body: `${'<div>'.repeat(100_000)}deep${'</div>'.repeat(100_000)}` }, /deep/],
    'nested tables': [{ body: `${'<table><tr><td>'.repeat(50_000)}deep` }, /deep/],
    'nested lists and quotes': [{ body: `${'<ul><li><blockquote>'.repeat(30_000)}deep` }, /deep/],
    'nested formatting': [{ body: `<p>${'<b><i><a href=x>'.repeat(30_000)}deep` }, /deep/],
    'an attribute of 10 MB': [{ body: `<p title="${'x'.repeat(10 * MB)}">seen</p>` }, /seen/],
    'a name of 9 MB': [{ body: `<${'x'.repeat(9 * MB)}>seen` }, /^(?:seen)?$/],
    'odd entities': [{ body: `<p>seen ${'&#x1F600;&#xD800;&#0;&bogus;&#99999999;'.repeat(5000)}` }, /^seen/],
    'a title of 5 MB': [{ body: `<title>${'x'.repeat(5 * MB)}</title><p>seen` }, /seen/],
    'an open script': [{ body: `<p>seen<script>${'</scrip'.repeat(500_000)}` }, /^seen/],
    'frames and templates': [{ body: `${'<template><select><frameset>'.repeat(50_000)}<p>x` }, /^/],
    'UTF-16 without a word': [{ body: Buffer.from('\ufeff<p>seen', 'utf16le') }, /seen/],
    'half characters': [
      { body: Buffer.concat([Buffer.from('<p>seen '), Buffer.from([0xed, 0xa0, 0x80, 0xf0, 0x9f, 0xff, 0xfe])]) },
      /seen/,
    ],
    'a type of nonsense': [{ body: '<p>seen', type: 'text/html; charset=";;"; =; charset=utf-99' }, /seen/],
    'a PDF as a page': [{ body: buildPdf(['seen']) }, /seen/],
  }
  for (const [what, [page, content]] of Object.entries(odd)) {
    const told = await read(t, one, page, what)
    t.match(told, { status: 'completed' }, what)
    t.match(String(told.content).slice(0, 20_000).trim() || String(told.content).slice(-100), content, what)
    t.ok(String(told.content).isWellFormed(), what)
    t.ok(String(told.title).length <= 300, what)
  }
  t.equal(one.here.hits, 0)
  const grown = (await memory()) - before
  t.ok(grown < 600 * MB, `${Math.round(grown / MB)} MB more`)
})

t.test('a drip and a document without end are cut off by the clock', async (t) => {
  const clock = new FakeClock()
  const one = await hostileScene(t, { clock })
  one.script((seen) => (ran(seen) ? { text: ['done'] } : { calls: calls('router_web_fetch', { url: one.here.at() }) }))
  const body = { messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'router:web_fetch' }] }
  const told = (): JsonObject => {
    const messages = one.model.requests.at(-1)?.json.messages as JsonObject[]
    return JSON.parse(String(messages.at(-1)?.content)) as JsonObject
  }
  const arrived = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  one.here.serve = (request, response) => {
    request.on('close', () => left.resolve())
    response.writeHead(200, HTML).write('<')
    arrived.resolve()
  }
  const dripping = one.ask('chat', body)
  await arrived.promise
  for (let second = 0; second < 9; second++) await clock.advance(1000)
  const meanwhile = one.gateway.get('/v1/models')
  t.equal((await meanwhile).status, 200)
  t.equal(one.model.requests.length, 1, 'nine seconds are fine')
  await clock.advance(1000)
  t.equal((await dripping).status, 200)
  t.match(told(), { status: 'failed', error: /did not answer within 10000 ms/, error_code: 'url_not_accessible' })
  await left.promise

  // Each form shows the next one ten times: 10^12 of them.
  one.here.serve = (_request, response) => void response.writeHead(200, { 'content-type': 'application/pdf' }).end(nestedForms(12, 10))
  const drawing = one.ask('chat', body)
  // How often a busy thread is looked at: it works.
  await clock.armed(25)
  t.equal((await one.gateway.get('/v1/models')).status, 200)
  await clock.advance(10_000)
  t.equal((await drawing).status, 200)
  t.match(told(), { status: 'failed', error: /took too long/, error_code: 'url_not_accessible' })

  // So does a server of tools that says nothing, or a little now and then.
  let asked = Promise.withResolvers<void>()
  for (const serve of [(() => {}) as Serve, ((_request, response) => void response.writeHead(200, SSE).write(': x\n\n')) as Serve]) {
    asked = Promise.withResolvers<void>()
    one.here.serve = (request, response) => {
      serve(request, response)
      asked.resolve()
    }
    const listing = one.ask('responses', { input: 'Go.', tools: [tool(one)] })
    await asked.promise
    await clock.advance(1000)
    t.match((await listing).output[0], { type: 'mcp_list_tools', tools: [], error: /in time|could not be reached/ })
  }
})

t.test('documents: read or refused, and nothing else suffers', async (t) => {
  const one = await hostileScene(t)
  await read(t, one, { body: buildPdf(['first']) }, 'the first')
  const before = await memory()
  const outcomes: string[] = []
  for (const [what, make] of Object.entries({ ...PDFS, ...WORDS })) {
    const told = await read(t, one, { body: make(), type: 'application/octet-stream' }, what)
    outcomes.push(`${what}: ${String(told.status)} ${String(told.error ?? '')}`)
    if (told.status === 'completed') t.ok(String(told.content).length <= 80_000, what)
    else t.match(told.error, /broken|too large|too much memory|unpacks to far more|took too long|cannot be read|none of: HTML/, what)
  }
  t.comment(outcomes.join('\n'))
  t.match(outcomes.join('\n'), /completed/)
  t.match(await read(t, one, { body: buildPdf(['the next one']) }, 'the next'), { status: 'completed', content: 'the next one' })
  const grown = (await memory()) - before
  t.ok(grown < 600 * MB, `${Math.round(grown / MB)} MB more`)

  // The same as files of a request.
  const file = (bytes: Buffer): JsonObject => ({
    messages: [
      {
        role: 'user',
        content: [{ type: 'file', file: { filename: 'a', file_data: `data:application/octet-stream;base64,${bytes.toString('base64')}` } }],
      },
    ],
  })
  for (const what of [
    'deep arrays',
    'a bomb of a page',
    'pages that hold themselves',
    'cut in the middle',
    'one that lies',
    'no document inside',
    'names that lead out',
  ]) {
    const make = PDFS[what] ?? WORDS[what]
    const reading = one.ask('chat', file(make()))
    t.equal((await one.ask('responses', { input: 'Meanwhile.' })).status, 200, what)
    const { status, message } = await reading
    t.ok(status === 200 || (status >= 400 && status < 500 && /^file 1 of the request: /.test(message)), `${what}: ${status} ${message}`)
  }
})
