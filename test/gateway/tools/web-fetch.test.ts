/** Pages for the model: the server tool and the plugin, in every client format, with a site and engines that stand in. Runs with `npm run test:servers`. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Asked, askGateway, FORMATS, type Format, ASK_WAYS as WAYS } from '../../support/asking.ts'
import { FakeClock } from '../../support/clock.ts'
import { buildDocx, buildPdf, paragraph, pdfWith } from '../../support/documents.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { ADDRESSES, HOSTS } from '../../support/private-addresses.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance, type UtteranceCall } from '../../support/wire.ts'

const CHAT = { format: 'chat', stream: false } as const

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** A loopback address that stands for the public; the canaries share its port on other addresses. */
const OPEN = '127.0.0.2'
const sites: Server[] = []
let port = 0
let hits = 0
let serve: Serve = (_request, response) => response.end()
const asked: IncomingMessage[] = []

async function listen(host: string, at: number, respond: Serve): Promise<number> {
  const server = createServer(respond)
  server.listen(at, host)
  await once(server, 'listening')
  sites.push(server)
  return (server.address() as AddressInfo).port
}

t.before(async () => {
  const canary: Serve = (_request, response) => {
    hits++
    response.end('secret')
  }
  port = await listen('127.0.0.1', 0, canary)
  await listen('::1', port, canary)
  await listen('127.0.0.3', port, canary)
  await listen(OPEN, port, (request, response) => {
    asked.push(request)
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else serve(request, response)
  })
})
t.teardown(() => {
  for (const site of sites) {
    site.closeAllConnections()
    site.close()
  }
})

const site = (path = '/'): string => `http://${OPEN}:${port}${path}`
const PAGE =
  '<!doctype html><html><head><title>Rain &amp; sun</title></head><body><nav>menu</nav><h1>Rain</h1><p>It will <b>rain</b>, see <a href="/maps">maps</a>.</p></body></html>'

/** Serves this to whoever asks. */
function gives(body: string | Buffer, type = 'text/html; charset=utf-8', status = 200, headers: Record<string, string> = {}): void {
  serve = (_request, response) => response.writeHead(status, { 'content-type': type, ...headers }).end(body)
}

interface Fetching {
  gateway: Gateway
  model: Upstream
  engine: Upstream
  ask(way: { format: Format; stream: boolean }, more?: JsonObject): Promise<Asked>
}

interface FetchingOptions {
  /** Settings of the plugin web-fetch beside the exception for the site; `ENGINE` stands for the stand-in's address. */
  fetch?: string
  script?: (seen: Seen) => Utterance
  answers?: (seen: Seen) => Answer
  key?: string
  dialect?: string
  /** Settings of the server, and its clock. */
  server?: string
  clock?: FakeClock
}

const ANSWER: Utterance = { text: ['It rains.'], usage: { input: 200, output: 20 } }
const ran = (seen: Seen): boolean => /"role":"tool"|tool_result|function_call_output|functionResponse/.test(seen.body)
const calls = (...urls: string[]): UtteranceCall[] =>
  urls.map((url, i) => ({ id: `call_${i}`, name: 'router_web_fetch', args: [JSON.stringify({ url })] }))
/** Fetches these in one turn, then answers. */
const fetches =
  (...urls: string[]) =>
  (seen: Seen): Utterance =>
    ran(seen) ? ANSWER : { calls: calls(...urls), usage: { input: 100, output: 10 } }

async function fetching(t: Test, options: FetchingOptions = {}): Promise<Fetching> {
  const { fetch = 'robots: true', script = fetches(site()), key = '', dialect = 'openai-chat', server = '', clock } = options
  const model = await startUpstream((seen) => answerFor(seen, script(seen)))
  const engine = await startUpstream((seen) => options.answers?.(seen) ?? jsonAnswer({}))
  t.teardown(async () => {
    await engine.close()
    await model.close()
  })
  const gateway = await startGateway(
    `
server: { host: 127.0.0.1, port: 0${server} }
auth: { keys: [ { name: test, key: "${KEY}"${key} } ] }
plugins: { defaults: { web-fetch: { allow_private: ["${OPEN}:${port}"], ${fetch.replaceAll('ENGINE', engine.url)} } } }
${oneModel(model.url, dialect)}`,
    clock && { clock },
  )
  t.teardown(() => gateway.close())
  return {
    gateway,
    model,
    engine,
    ask: (way, more) => askGateway(gateway, way, more),
  }
}

const tool = (parameters: JsonObject = {}): JsonObject => ({ tools: [{ type: 'router:web_fetch', parameters }] })

/** Results of the tool for the model, one text per call. */
function told({ model }: Fetching): JsonObject[] {
  const messages = model.requests.at(-1)?.json.messages as JsonObject[]
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(String(content)) as JsonObject)
}

function cost({ gateway }: Fetching): number {
  return Number([...gateway.running.store.journal.export()].at(-1)?.settled?.cost)
}

function held({ gateway }: Fetching): number {
  const [{ hold }] = [...gateway.running.store.journal.export()]
  return gateway.running.runtime.dependencies.credit.account(hold.key).held
}

/** Output items of the tool. */
const fetchItems = ({ body }: Asked): JsonObject[] => (body.output as JsonObject[]).filter(({ type }) => type === 'router:web_fetch')

const CONTENT = '# Rain\n\nIt will **rain**, see [maps](MAPS).'

t.test('the model reads a page: what it is told, what the caller sees, what it costs', async (t) => {
  gives(PAGE)
  for (const dialect of ['openai-chat', 'anthropic', 'openai-responses'] as const) {
    const one = await fetching(t, { dialect, fetch: 'price: "0.002"' })
    for (const way of WAYS) {
      const name = `${dialect} to ${way.format}${way.stream ? ', streamed' : ''}`
      const { status, raw, reply, body } = await one.ask(way, tool())
      t.equal(status, 200, `${name}: ${raw}`)
      t.equal(reply.text, 'It rains.', name)
      const content = `menu\n\n${CONTENT.replace('MAPS', site('/maps'))}`
      if (dialect === 'openai-chat') {
        const [result] = told(one)
        t.match(result, { url: site(), title: 'Rain & sun', content, status: 'completed' }, name)
        t.match(result.retrieved_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        t.match(result.notice, /no instruction/)
      }
      const usage = body.usage as JsonObject
      t.match(usage.server_tool_use_details, { tool_calls_requested: 1, tool_calls_executed: 1 }, `${name}: the calls are counted`)
      t.equal(cost(one), 300_000 + 60_000 + 2_000_000, name)
      if (way.format === 'responses')
        t.match(
          fetchItems({ status, raw, reply, body }),
          [{ id: /.+/, status: 'completed', url: site(), title: 'Rain & sun', content, httpStatus: 200 }],
          name,
        )
      else if (way.format === 'chat') t.match(raw, /"type":"reasoning.server_tool_call","tool_name":"router:web_fetch"/, name)
      else t.match(raw, /web_fetch_tool_result/, name)
    }
    t.equal(held(one), 0)
  }
  const sent = asked.filter(({ url }) => url === '/').map(({ headers }) => headers)
  t.ok(sent.length >= 18)
  for (const headers of sent)
    t.same(Object.keys(headers).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'], 'nothing of ours')
})

t.test('returns an error item beyond max_uses and for domains that are not allowed', async (t) => {
  gives(PAGE)
  const one = await fetching(t, { script: fetches(site('/1'), site('/2'), site('/3')) })
  for (const stream of [false, true]) {
    const reply = await one.ask({ format: 'responses', stream }, tool({ max_uses: 2 }))
    t.match(
      told(one).map(({ status }) => status),
      ['completed', 'completed', 'failed'],
    )
    t.match(told(one)[2], { url: site('/3'), error: /the limit of 2 pages is reached/, error_code: 'max_uses_exceeded' })
    t.match(fetchItems(reply), [
      { status: 'completed' },
      { status: 'completed' },
      { status: 'incomplete', url: site('/3'), error: /limit of 2 pages/ },
    ])
    t.equal(fetchItems(reply)[2].content, undefined)
  }
  const many = Array.from({ length: 52 }, (_, i) => site(`/${i}`))
  const cap = await fetching(t, { script: fetches(...many) })
  await cap.ask(CHAT, { ...tool({ max_uses: 1000 }), stop_server_tools_when: [{ type: 'step_count_is', step_count: 100 }] })
  const failed = told(cap).filter(({ status }) => status === 'failed')
  t.equal(told(cap).length - failed.length, 50, 'whatever the caller allows')
  t.match(failed, [{ error: /limit of 50/ }, { error: /limit of 50/ }])

  const before = asked.length
  for (const [parameters, fetch] of [
    [{ blocked_domains: [OPEN] }, 'robots: false'],
    [{ allowed_domains: ['example.com'] }, 'robots: false'],
    [{}, `robots: false, blocked_domains: ["${OPEN}"]`],
    [{ allowed_domains: [OPEN] }, 'robots: false, allowed_domains: [example.com]'],
  ] as [JsonObject, string][]) {
    const set = await fetching(t, { fetch })
    const reply = await set.ask({ format: 'responses', stream: false }, tool(parameters))
    t.match(told(set), [{ status: 'failed', error: /domain is not allowed/, error_code: 'url_not_allowed' }], fetch)
    t.match(fetchItems(reply), [{ status: 'incomplete', error: /domain is not allowed/ }])
  }
  serve = (_request, response) => response.writeHead(302, { location: '/private/x' }).end()
  const path = await fetching(t, { fetch: 'robots: false' })
  await path.ask(CHAT, tool({ blocked_domains: [`${OPEN}/private`] }))
  t.match(told(path), [{ status: 'failed', error: /domain is not allowed/ }], 'by redirect')
  t.notOk(asked.slice(before).some(({ url }) => url?.startsWith('/private')))
})

t.test('fetches no private address in any form, neither at once nor by redirect', async (t) => {
  const urls = [...HOSTS.map((host) => `http://${host}:${port}/`), ...ADDRESSES]
  let turn: string[] = []
  const one = await fetching(t, { script: (seen) => fetches(...turn)(seen), fetch: 'robots: false' })
  const all = { stop_server_tools_when: [{ type: 'step_count_is', step_count: 100 }] }
  await every(t, 'no form of an address', async (t) => {
    for (let at = 0; at < urls.length; at += 40) {
      turn = urls.slice(at, at + 40)
      t.equal((await one.ask(CHAT, { ...tool(), ...all })).status, 200)
      t.equal(told(one).length, turn.length)
      for (const [i, result] of told(one).entries()) {
        const what = JSON.stringify(turn[i].slice(0, 80))
        t.equal(result.status, 'failed', what)
        t.match(result.error, /^The address (?:may not|could not) be fetched|^the argument url/, what)
        t.notMatch(result.content, /secret/)
      }
    }
  })
  t.equal(hits, 0, 'no canary was hit')
  const targets = [
    ...HOSTS.map((host) => `http://${host}:${port}/`),
    ...ADDRESSES.filter((address) => /^[a-z]+:|^\/\//.test(address) && !/\p{Cc}/u.test(address) && address.length < 8000),
    `//127.0.0.1:${port}/`,
    `http:/\\127.0.0.1:${port}/`,
  ]
  serve = (request, response) => {
    const at = Number(request.url?.slice(1))
    response.writeHead([301, 302, 303, 307, 308][at % 5], { location: Buffer.from(targets[at]).toString('latin1') }).end('moved')
  }
  await every(t, 'no redirect', async (t) => {
    for (let at = 0; at < targets.length; at += 40) {
      turn = targets.slice(at, at + 40).map((_, i) => site(`/${at + i}`))
      await one.ask(CHAT, { ...tool(), ...all })
      for (const [i, result] of told(one).entries()) t.equal(result.status, 'failed', `redirect to ${targets[at + i]}`)
    }
  })
  t.equal(hits, 0, 'no canary was hit')
  t.same([await (await fetch(`http://127.0.0.1:${port}/`)).text(), hits], ['secret', 1], 'the canary does sing')
  hits = 0
})

t.test('documents of other kinds, and what cannot be read', async (t) => {
  const pages: Record<string, [body: Buffer, type: string]> = {
    '/a.pdf': [buildPdf(['First page', 'Second page'], { title: 'Paper' }), 'application/pdf'],
    '/b': [buildDocx(paragraph('Report', 'Heading1') + paragraph('All is well.')), 'application/octet-stream'],
    '/c.json': [Buffer.from('{"a":[1,2]}'), 'application/json'],
    '/d.txt': [Buffer.from('plain *text*'), 'text/plain'],
    '/e': [Buffer.from('<p>caf\xe9', 'latin1'), 'text/html; charset=iso-8859-1'],
    '/f.png': [Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), 'image/png'],
    '/g.zip': [Buffer.from('PK\x03\x04\0\0\0\0', 'latin1'), 'application/zip'],
    '/h.pdf': [Buffer.from('%PDF-1.7 and no more'), 'application/pdf'],
  }
  serve = (request, response) => {
    const page = pages[request.url ?? '']
    if (page) response.writeHead(200, { 'content-type': page[1] }).end(page[0])
    else response.writeHead(404, { 'content-type': 'text/html' }).end('<p>secret words of the page</p>')
  }
  const one = await fetching(t, { script: fetches(...Object.keys(pages).map(site), site('/gone')) })
  const reply = await one.ask({ format: 'responses', stream: false }, tool())
  t.match(told(one), [
    { title: 'Paper', content: 'First page\n\nSecond page' },
    { title: 'Report', content: '# Report\n\nAll is well.' },
    { content: '{"a":[1,2]}' },
    { content: 'plain *text*' },
    { content: 'café' },
    { status: 'failed', error_code: 'unsupported_content_type' },
    { status: 'failed', error_code: 'unsupported_content_type' },
    { status: 'failed', error: /broken/ },
    { status: 'failed', error: 'the page answered with status 404', error_code: 'url_not_accessible' },
  ])
  t.match(fetchItems(reply).at(-1), { status: 'incomplete', httpStatus: 404, error: /404/ })
  t.notMatch(reply.raw, /secret words/)
})

t.test('the limits hold for hostile documents, the answer goes on and the gateway lives', async (t) => {
  const zipped = (bytes: Buffer): Buffer => deflateSync(bytes, { level: 9 })
  const bomb = zipped(zipped(Buffer.alloc(400_000_000, 0x20)))
  const hostile: Record<string, [body: Buffer, type: string, headers: Record<string, string>]> = {
    'a page of 50 MB': [Buffer.alloc(50_000_000, '<p>x'), 'text/html', {}],
    'a page of 50 MB without a length': [Buffer.alloc(50_000_000, '<p>x'), 'text/html', { 'transfer-encoding': 'chunked' }],
    'a gzip bomb': [gzipSync(Buffer.alloc(200_000_000)), 'text/html', { 'content-encoding': 'gzip' }],
    'a PDF bomb': [pdfWith([{ bytes: bomb, filter: '/Filter [/FlateDecode /FlateDecode]' }]), 'application/pdf', {}],
    'a docx bomb': [
      buildDocx(paragraph('x'), [{ name: 'word/x.xml', bytes: Buffer.alloc(100_000_000), says: 10 }]),
      'application/octet-stream',
      {},
    ],
  }
  const odd: Record<string, [body: Buffer, content: RegExp]> = {
    'deep nesting': [Buffer.from(`${'<div>'.repeat(300_000)}deep`), /deep/],
    'a huge attribute': [Buffer.from(`<a href="${'x'.repeat(5_000_000)}">link</a>`), /link/],
    'many attributes': [Buffer.from(`<a ${Array.from({ length: 200_000 }, (_, i) => `a${i}=1`).join(' ')}>link</a>`), /link/],
    'an unclosed comment': [Buffer.from(`<p>seen<!--${'<b>'.repeat(500_000)}`), /^seen$/],
  }
  const bodies = [...Object.values(hostile), ...Object.values(odd).map(([body]) => [body, 'text/html', {}] as const)]
  serve = (request, response) => {
    const [body, type, headers] = bodies[Number(request.url?.slice(1))]
    response.writeHead(200, { 'content-type': type, ...headers }).end(body)
  }
  const names = [...Object.keys(hostile), ...Object.keys(odd)]
  const one = await fetching(t, { script: (seen) => fetches(site(`/${seen.json.user}`))(seen), fetch: 'robots: false' })
  for (const [i, name] of names.entries()) {
    const { status, reply } = await one.ask(CHAT, { ...tool(), user: String(i) })
    t.equal(status, 200, name)
    t.equal(reply.text, 'It rains.', name)
    const [result] = told(one)
    const content = odd[name]?.[1]
    if (content) t.match(result, { status: 'completed', content }, name)
    else {
      t.equal(result.status, 'failed', name)
      t.match(result.error, /larger than|too large|too much memory|unpacks to far more|took too long/, name)
    }
  }
  gives(PAGE)
  await one.ask(CHAT, { ...tool(), user: '0' })
  t.match(told(one), [{ status: 'completed' }], 'and reads the next page')
})

t.test('max_content_tokens, of the caller and of the operator', async (t) => {
  gives(`<p>${'word '.repeat(20_000)}</p>`)
  for (const [parameters, fetch, most] of [
    [{ max_content_tokens: 100 }, 'robots: false', 100],
    [{}, 'robots: false, max_content_tokens: 50', 50],
    [{ max_content_tokens: 1000 }, 'robots: false, max_content_tokens: 50', 50],
    [{ max_content_tokens: 10 }, 'robots: false, max_content_tokens: 50', 10],
    [{}, 'robots: false', 25_000],
    [{ max_content_tokens: 30_000 }, 'robots: false', 30_000],
  ] as [JsonObject, string, number][]) {
    const one = await fetching(t, { fetch })
    await one.ask(CHAT, tool(parameters))
    const [{ content, truncated }] = told(one)
    const characters = Math.min(3 * most, 5 * 20_000 - 1)
    t.ok(
      String(content).length <= characters && String(content).length > characters * 0.9,
      `${most} tokens: ${String(content).length} characters`,
    )
    t.equal(truncated, characters < 99_999 ? true : undefined)
  }
})

t.test('robots.txt is asked once, obeyed, also behind redirects, and can be switched off', async (t) => {
  const robots: Record<string, [number, string]> = {
    '127.0.0.10': [200, 'User-agent: *\nDisallow: /private\n'],
    '127.0.0.11': [500, ''],
    '127.0.0.14': [200, `User-agent: *\n${'Allow: /\n'.repeat(60_000)}`],
    '127.0.0.12': [200, 'User-agent: *\nAllow: /\n\nUser-agent: headgate\nDisallow: /\n'],
    '127.0.0.13': [200, `User-agent: *\nDisallow: /${'*'.repeat(400_000)}$\nDisallow: /x\n`],
  }
  let robotsAsked = 0
  for (const host of Object.keys(robots))
    await listen(host, port, (request, response) => {
      if (request.url === '/robots.txt') {
        robotsAsked++
        response.writeHead(robots[host][0]).end(robots[host][1])
      } else if (request.url === '/to') response.writeHead(302, { location: '/private/b' }).end()
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('fine')
    })
  const at = (host: number, path: string): string => `http://127.0.0.${host}:${port}${path}`
  const urls = [at(10, '/a'), at(10, '/private/b'), at(10, '/to'), at(11, '/a'), at(12, '/a'), at(14, '/a')]
  const allow = `allow_private: [${Object.keys(robots).map((host) => `"${host}:${port}"`)}]`
  const start = async (fetch: string, urls: string[]): Promise<Fetching> => {
    const model = await fetching(t, { script: fetches(...urls) })
    await model.gateway.close()
    const gateway = await startGateway(
      `plugins: { defaults: { web-fetch: { ${allow}, ${fetch} } } }\n${oneModel(model.model.url, 'openai-chat')}`,
    )
    t.teardown(() => gateway.close())
    await gateway.post(FORMATS.chat, { model: 'acme/one', messages: [{ role: 'user', content: 'x' }], ...tool() })
    return model
  }
  const polite = await start('robots: true', urls)
  t.match(
    told(polite).map(({ status }) => status),
    ['completed', 'failed', 'failed', 'failed', 'failed', 'failed'],
  )
  for (const { error } of told(polite).slice(1)) t.match(error, /robots\.txt does not allow it/)
  const before = robotsAsked
  await start('robots: true', urls)
  t.equal(robotsAsked, before, 'remembered')
  const rude = await start('robots: false', urls)
  t.match(
    told(rude).map(({ content }) => content),
    ['fine', 'fine', 'fine', 'fine', 'fine', 'fine'],
  )
  const slow = await start('robots: true', [at(13, `/${'a'.repeat(8000)}`)])
  t.match(told(slow), [{ status: 'failed', error: /robots\.txt/ }], 'rules that take for ever allow nothing')
})

t.test('engines by key: what they are asked, what is made of it, and what it costs', async (t) => {
  const wires: Record<string, { answer: JsonObject; missing: JsonObject; path: string; key: [string, string]; body: JsonObject }> = {
    exa: {
      answer: {
        results: [{ url: 'https://example.com/a', title: 'A', text: 'Text of A' }],
        statuses: [{ id: 'https://example.com/a', status: 'success' }],
      },
      missing: {
        results: [],
        statuses: [{ id: 'https://example.com/a', status: 'error', error: { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404 } }],
      },
      path: '/contents',
      key: ['x-api-key', 'k-1'],
      body: { urls: ['https://example.com/a'], text: { maxCharacters: 3000 } },
    },
    firecrawl: {
      answer: {
        success: true,
        data: { markdown: 'Text of A', metadata: { title: 'A', sourceURL: 'https://example.com/a', statusCode: 200 } },
      },
      missing: { success: true, data: { markdown: 'none', metadata: { sourceURL: 'https://example.com/a', statusCode: 404 } } },
      path: '/v2/scrape',
      key: ['authorization', 'Bearer k-1'],
      body: { url: 'https://example.com/a', formats: ['markdown'] },
    },
    parallel: {
      answer: {
        extract_id: 'x',
        results: [{ url: 'https://example.com/a', title: 'A', excerpts: [], full_content: 'Text of A' }],
        errors: [],
      },
      missing: {
        extract_id: 'x',
        results: [],
        errors: [{ url: 'https://example.com/a', error_type: 'fetch_error', http_status_code: 404 }],
      },
      path: '/v1/extract',
      key: ['x-api-key', 'k-1'],
      body: { urls: ['https://example.com/a'], advanced_settings: { full_content: { max_chars_per_result: 3000 } } },
    },
  }
  for (const [name, { answer, missing, path, key, body }] of Object.entries(wires)) {
    let give: () => Answer = () => jsonAnswer(answer)
    const one = await fetching(t, {
      answers: () => give(),
      fetch: `engines: { ${name}: { key: "k-1", url: "ENGINE", price: "0.003" } }`,
      script: fetches('https://example.com/a'),
    })
    const ask = (more: JsonObject = {}): Promise<Asked> =>
      one.ask({ format: 'responses', stream: true }, tool({ engine: name, max_content_tokens: 1000, ...more }))
    const reply = await ask()
    t.match(told(one), [{ url: 'https://example.com/a', title: 'A', content: 'Text of A', status: 'completed' }], name)
    t.match(fetchItems(reply), [{ status: 'completed', url: 'https://example.com/a', content: 'Text of A' }], name)
    const [seen] = one.engine.requests
    t.equal(seen.method, 'POST')
    t.equal(seen.path, path)
    t.equal(seen.headers[key[0]], key[1])
    t.same(seen.json, body, name)
    t.equal(cost(one), 360_000 + 3_000_000, name)
    t.notMatch(reply.raw + one.gateway.logs.join('\n'), /k-1/)
    give = () => jsonAnswer(missing)
    await ask()
    t.match(told(one), [{ status: 'failed' }], `${name}: no such page`)
    t.equal(cost(one), 360_000, 'and free')
    for (const fail of [
      () => jsonAnswer({ error: 'secret words' }, 500),
      () => ({ body: ['{"results'], after: 'close' as const }),
      () => jsonAnswer([]),
    ]) {
      give = fail
      await ask()
      t.match(told(one), [{ status: 'failed', error: 'the page could not be fetched', error_code: 'unavailable' }], name)
      t.match(one.gateway.logs.join('\n'), new RegExp(`"plugin":"web_fetch".*EngineError \\(${name}: `))
      t.equal(cost(one), 360_000)
    }
    const before = one.engine.requests.length
    give = () => jsonAnswer(answer)
    await ask({ blocked_domains: ['example.com'] })
    t.equal(one.engine.requests.length, before, 'a blocked domain reaches no engine')
    await ask({ engine: 'auto', max_uses: 1 })
    t.equal(one.engine.requests.length, before, 'auto is the gateway itself')
    t.equal(held(one), 0)
  }
  const one = await fetching(t, {
    fetch: 'engine: exa, engines: { exa: { key: "k", url: "ENGINE" } }',
    script: fetches('http://169.254.169.254/', 'http://localhost/'),
  })
  await one.ask(CHAT, tool())
  t.match(told(one), [{ status: 'failed' }, { status: 'failed' }])
  t.equal(one.engine.requests.length, 0, 'nor does a private address')
})

t.test('parameters and settings that do not fit are named by their path', async (t) => {
  const one = await fetching(t)
  const cases: [parameters: JsonObject, field: string, message: RegExp][] = [
    [{ max_uses: 0 }, 'max_uses', /whole number/],
    [{ max_content_tokens: 'many' }, 'max_content_tokens', /whole number/],
    [{ allowed_domains: 'a.example' }, 'allowed_domains', /a list/],
    [{ blocked_domains: ['a b'] }, 'blocked_domains[0]', /expected a domain/],
    [{ engine: 'google' }, 'engine', /expected auto, router, native, exa, firecrawl or parallel/],
    [{ engine: 'native' }, 'engine', /native is not there/],
    [{ engine: 'exa' }, 'engine', /under plugins\.defaults\.web-fetch\.engines\.exa/],
  ]
  for (const [parameters, field, message] of cases)
    for (const format of ['chat', 'responses', 'messages'] as const) {
      const { status, body } = await one.ask({ format, stream: false }, tool(parameters))
      t.equal(status, 400, `${format} ${field}`)
      t.match((body.error as JsonObject).message, new RegExp(`^tools\\[0\\]\\.parameters\\.${field.replace(/[[\]]/g, '\\$&')}: `))
      t.match((body.error as JsonObject).message, message)
    }
  t.equal(one.model.requests.length, 0)
  for (const [fetch, message] of [
    ['engine: exa', /exa is not configured/],
    ['engines: { exa: { } }', /key/],
    ['engines: { exa: { key: "" } }', /key/],
    ['engines: { google: { key: x } }', /google/],
    ['price: 1', /price/],
    ['blocked_domains: ["a b"]', /blocked_domains/],
    ['max_uses: 51', /max_uses/],
    ['max_bytes: 99999999999', /max_bytes/],
    ['robots: maybe', /robots/],
  ] as [string, RegExp][])
    await t.rejects(fetching(t, { fetch }), { message }, fetch)
  await t.rejects(
    startGateway(`plugins: { defaults: { web-fetch: { allow_private: ["http://x"] } } }\n${oneModel('http://127.0.0.1:9', 'openai-chat')}`),
    {
      message: /allow_private/,
    },
  )
})

t.test('the plugin offers the tool with its limits', async (t) => {
  gives(PAGE)
  const one = await fetching(t, { script: fetches(site('/1'), site('/2')) })
  for (const way of WAYS) {
    const { status, raw } = await one.ask(way, { plugins: [{ id: 'web-fetch', max_uses: 1, max_content_tokens: 5 }] })
    t.equal(status, 200, raw)
    t.match(told(one), [
      { status: 'completed', truncated: true },
      { status: 'failed', error_code: 'max_uses_exceeded' },
    ])
  }
  await one.ask(CHAT, { plugins: [{ id: 'web-fetch', max_uses: 1 }], ...tool({ max_uses: 2 }) })
  t.match(told(one), [{ status: 'completed' }, { status: 'completed' }], 'a tool that is named stands as it is')
  await one.ask(CHAT, { plugins: [{ id: 'web-fetch', enabled: false }] })
  t.equal(one.model.requests.at(-1)?.json.tools, undefined)
  for (const [entry, field] of [
    [{ allow_private: ['127.0.0.1'] }, 'allow_private'],
    [{ robots: false }, 'robots'],
    [{ engines: {} }, 'engines'],
    [{ price: '0' }, 'price'],
    [{ max_bytes: 5 }, 'max_bytes'],
    [{ max_uses: 0 }, 'max_uses'],
    [{ engine: 'exa' }, 'engine'],
    [{ blocked_domains: [5] }, 'blocked_domains[0]'],
  ] as [JsonObject, string][]) {
    const { status, body } = await one.ask(CHAT, { plugins: [{ id: 'web-fetch', ...entry }] })
    t.equal(status, 400, `names ${field}`)
    t.equal(((body.error as JsonObject).metadata as JsonObject).field, `plugins[0].${field}`)
  }
  const always = await fetching(t, { fetch: 'enabled: true' })
  await always.ask(CHAT)
  t.match(told(always), [{ status: 'completed' }])
})

t.test('holds the possible cost of fetches before, and returns 402 with too little credit', async (t) => {
  gives(PAGE)
  const one = await fetching(t, { fetch: 'price: "0.01"', key: ', limit: "0.10"' })
  const { status, body } = await one.ask(CHAT, tool({ max_uses: 11 }))
  t.equal(status, 402, JSON.stringify(body))
  t.equal(one.model.requests.length, 0)
  t.equal((await one.ask(CHAT, tool({ max_uses: 2 }))).status, 200)
  t.equal(cost(one), 360_000 + 10_000_000)
  t.equal(held(one), 0)
})

t.test('cancels the fetch of a page when its caller leaves', async (t) => {
  const closed = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  serve = (request, response) => {
    request.on('close', () => closed.resolve())
    response.writeHead(200, { 'content-type': 'text/html' }).write('<p>')
    arrived.resolve()
  }
  const one = await fetching(t)
  const leaving = new AbortController()
  const left = fetch(`${one.gateway.url}${FORMATS.chat}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }], ...tool() }),
    signal: leaving.signal,
  })
  await arrived.promise
  leaving.abort()
  await t.rejects(left)
  await closed.promise
  t.pass('the site sees the end')
})

t.test('a page counts in the memory of all bodies while it is fetched, and no longer than its call', async (t) => {
  const clock = new FakeClock()
  const { ask, model } = await fetching(t, { fetch: 'robots: false', script: fetches(site('/long')), server: ', body_memory: 3MB', clock })
  const held: ServerResponse[] = []
  const long = `<p>${'rain '.repeat(400_000)}</p>`
  serve = (_request, response) => {
    held.push(response)
    response.writeHead(200, { 'content-type': 'text/html' }).write(long)
  }
  const both = [ask(CHAT, tool()), ask(CHAT, tool())]
  await eventually('one of the two waits for memory', () => clock.waiting.includes(2_000))
  await clock.advance(2_000)
  await Promise.race(both)
  t.match(model.requests.at(-1)?.body, 'as many request bodies as its memory allows', 'the model learns why')
  for (const response of held) response.end()
  for (const { status } of await Promise.all(both)) t.equal(status, 200)
  gives(long)
  t.equal((await ask(CHAT, tool())).status, 200)
  t.notMatch(model.requests.at(-1)?.body, 'as many request bodies', 'the memory was given back')
})
