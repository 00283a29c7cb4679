/**
 * Every form of an address that leads home, by every way in which a caller, a model or a page can have something fetched
 * (docs/contract.md#server-tools): the canaries see nothing, and no connection is even tried. Runs with `npm run test:servers`.
 */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Canaries, canaries, type Names, namesOnly, OPEN, SECRET, type Serve } from '../../support/canary.ts'
import { certificate } from '../../support/certificates.ts'
import { buildDocx, buildPdf, buildZip, paragraph } from '../../support/documents.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { startMcpServer } from '../../support/mcp-server.ts'
import { ADDRESSES, HOSTS } from '../../support/private-addresses.ts'
import { calls, FORMATS, type Format, parseAsked, ran } from '../../support/tool-scene.ts'
import { type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'

/** Further forms of what `HOSTS` has: other spellings of a number, of a dot, of `localhost`, and of a translated address. */
const MORE_HOSTS: readonly string[] = [
  ...['127.0.1', '127.65535', '0x7f.0.0.0x1', '0.1.2.3', '1', '10.1', '192.168.257', '0xa9.0xfe.0xa9.0xfe', '0251.0376.0251.0376'],
  ...['169.254.43518', '169.254.170.2', '192.0.0.192', '100.100.100.200.', '168.63.129.16.', '127.0.0.1%2e', '127%2e0%2e0%2e1'],
  ...['%00127.0.0.1', '127.0.0.1%00', '127.0.0.1%20', '[::ffff:7f00:0001]', '[0::ffff:127.0.0.1]', '[::ffff:0:a9fe:a9fe]'],
  ...['[64:ff9b::127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1:ffff::a9fe:a9fe]', '[2002:a9fe:a9fe::]', '[2002:c0a8:101::1]'],
  ...['[::a9fe:a9fe]', '[2001:0:a9fe:a9fe::]', '[2001:db8::7f00:1]', '[febf::1]', '[fdff::1]', '[fd00:ec2::23]', '[ff05::2]', '[::1].'],
  ...['[::1%25lo]', '[::%lo]', '[::1', 'localhost。', 'loc\u00adalhost', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'ＬＯＣＡＬＨＯＳＴ', 'localhost%2e', 'local%68ost'],
  ...['metadata', 'instance-data', 'instance-data.ec2.internal', 'host.docker.internal', 'kubernetes.default.svc.cluster.local'],
]
const ALL_HOSTS = [...HOSTS, ...MORE_HOSTS]

/** Answers of name servers: the first is allowed, what comes after it never. */
const NAMES: Names = {
  'home.example.com': ['127.0.0.1'],
  'home6.example.com': ['::1'],
  'both.example.com': [OPEN, '127.0.0.1'],
  'both6.example.com': [OPEN, '::1'],
  'secrets.example.com': ['169.254.169.254'],
  'secrets6.example.com': ['fd00:ec2::254'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'translated.example.com': ['64:ff9b::7f00:1'],
  'nothing.example.com': ['0.0.0.0'],
  'kubernetes.default.svc': ['10.96.0.1'],
  '127.0.0.1.nip.example': ['127.0.0.1'],
  'empty.example.com': [],
  'public.example.com': [OPEN],
  // An exception of the operator: neighbours are fine, a cloud's secrets are not.
  'calm.lab.example': [OPEN],
  'stolen.lab.example': ['169.254.169.254'],
  'half.lab.example': [OPEN, '169.254.169.254'],
}
/** Allowed when it is checked, home when it is looked up again. */
function flipping(): () => readonly string[] {
  let looks = 0
  return () => [looks++ % 2 === 0 ? OPEN : '127.0.0.1']
}
const LEADING_HOME = Object.keys(NAMES).filter((name) => !/^(?:public|empty)\./.test(name) && !name.endsWith('.lab.example'))
const STATUSES = [301, 302, 303, 307, 308]

interface Told {
  fetched: boolean
  /** Refused for what the address itself shows. */
  refused: boolean
  /** Message for the caller or the model, without the address. */
  text: string
}

/** One way of having addresses fetched. */
interface Entry {
  readonly name: string
  fetch(urls: readonly string[]): Promise<Told[]>
}

interface WithCanaries {
  here: Canaries
  lookups: string[]
  gateway: Gateway
  model: Upstream
  entries: Entry[]
  ask(format: Format, body: JsonObject, headers?: Record<string, string>): Promise<ReturnType<typeof parseAsked>>
  /** Has the model call these. */
  script(utterance: (seen: Seen) => Utterance): void
}

const PLAIN: Serve = (_request, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('the open page')

async function withCanaries(t: Test, settings: { robots?: boolean; more?: string; mcp?: string } = {}): Promise<WithCanaries> {
  const here = await canaries(t)
  const lookups = await namesOnly(t, NAMES)
  let script: (seen: Seen) => Utterance = () => ({ text: ['done'] })
  const model = await startUpstream((seen) => answerFor(seen, script(seen)))
  t.teardown(() => model.close())
  const allowed = `allow_private: ["${OPEN}:${here.port}", "${OPEN}/32", "*.lab.example:${here.port}"]`
  const gateway = await startGateway(`
auth: { sign_in: { pkce: optional }, keys: [ { name: test, key: "${KEY}" } ] }
plugins:
  defaults:
    web-fetch: { ${allowed}, robots: ${settings.robots ?? false} }
    file-parser: { ${allowed} }
    mcp: { ${allowed.replace(']', `, ${JSON.stringify(settings.mcp ?? OPEN)}]`)}, seconds: 5 }
${settings.more ?? ''}
providers:
  first: { dialect: openai-chat, base_url: "${model.url}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    context: 128000
    max_output: 4096
    endpoints: [ { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } } ]
`)
  t.teardown(() => gateway.close())
  here.expect(new URL(model.url).host, new URL(gateway.url).host)
  const ask: WithCanaries['ask'] = async (format, body, headers) => {
    const response = await gateway.post(FORMATS[format], { model: 'acme/one', ...body }, headers)
    return parseAsked(response.status, await response.text())
  }
  const one: Omit<WithCanaries, 'entries'> = {
    here,
    lookups,
    gateway,
    model,
    ask,
    script: (utterance) => {
      script = utterance
    },
  }
  return { ...one, entries: [...pageEntries(one), ...fileEntries(one), ...serverEntries(one)] }
}

const refusal = (text: string): boolean => /may not be fetched|is missing/.test(text)

/** The model asks for pages, many in one turn. */
function pageEntries({ ask, model, script }: Omit<WithCanaries, 'entries'>): Entry[] {
  const fetch = async (format: Format, urls: readonly string[], offer: JsonObject): Promise<Told[]> => {
    const told: Told[] = []
    for (let at = 0; at < urls.length; at += 40) {
      script((seen) =>
        ran(seen) ? { text: ['done'] } : { calls: calls('router_web_fetch', ...urls.slice(at, at + 40).map((url) => ({ url }))) },
      )
      const text = 'Read them.'
      const own: JsonObject = format === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }], max_tokens: 500 }
      const stop = { stop_server_tools_when: [{ type: 'step_count_is', step_count: 100 }] }
      const { status, raw } = await ask(format, { ...own, ...offer, ...stop })
      if (status !== 200) throw new Error(raw)
      const messages = model.requests.at(-1)?.json.messages as JsonObject[]
      for (const { content } of messages.filter(({ role }) => role === 'tool')) {
        const { status: outcome, error = '', error_code: code = '', content: page = '' } = JSON.parse(String(content)) as JsonObject
        told.push({
          fetched: outcome === 'completed',
          refused: refusal(String(error)),
          text: `${String(code)} ${String(error)}${String(page)}`,
        })
      }
    }
    return told
  }
  const tool = { tools: [{ type: 'router:web_fetch' }] }
  const plugin = { plugins: [{ id: 'web-fetch' }] }
  return [
    { name: 'router:web_fetch', fetch: (urls) => fetch('chat', urls, tool) },
    { name: 'the plugin web-fetch', fetch: (urls) => fetch('responses', urls, plugin) },
    { name: 'the plugin web-fetch, messages', fetch: (urls) => fetch('messages', urls, plugin) },
  ]
}

/** Files of a request by their address. */
function fileEntries({ ask, model, script }: Omit<WithCanaries, 'entries'>): Entry[] {
  const parser = { plugins: [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }] }
  const entry = (name: string, format: Format, buildBody: (url: string) => JsonObject): Entry => ({
    name,
    fetch: async (urls) => {
      script(() => ({ text: ['done'] }))
      const told: Told[] = []
      for (const url of urls) {
        const { status, raw, message } = await ask(format, { ...buildBody(url), ...parser })
        const text = status === 200 ? (model.requests.at(-1)?.body ?? '') : message
        told.push({ fetched: status === 200, refused: status === 400, text: status === 200 ? text : `${status} ${text || raw}` })
      }
      return told
    },
  })
  const part = (url: string): JsonObject => ({ type: 'input_file', filename: 'a.txt', file_url: url })
  return [
    entry('a file of Responses', 'responses', (url) => ({ input: [{ role: 'user', content: [part(url)] }] })),
    entry('a file of chat', 'chat', (url) => ({
      messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.txt', file_data: url } }] }],
    })),
    entry('a document of messages', 'messages', (url) => ({
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'document', title: 'a.txt', source: { type: 'url', url } }] }],
    })),
    entry('a file in the result of a function', 'responses', (url) => ({
      input: [
        { role: 'user', content: 'Go.' },
        { type: 'function_call', call_id: 'call_1', name: 'own', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: [part(url)] },
      ],
    })),
  ]
}

/** Remote servers of tools. */
function serverEntries({ ask, model, script }: Omit<WithCanaries, 'entries'>): Entry[] {
  const entry = (name: string, format: Format, buildTool: (server: JsonObject) => JsonObject): Entry => ({
    name,
    fetch: async (urls) => {
      script(() => ({ text: ['done'] }))
      const told: Told[] = []
      for (const url of urls) {
        const own: JsonObject = format === 'responses' ? { input: 'Go.' } : { messages: [{ role: 'user', content: 'Go.' }] }
        const server = { server_label: 'notes', server_url: url, require_approval: 'never' }
        const { status, output, message, raw, body } = await ask(format, { ...own, tools: [buildTool(server)] })
        const { error = null } = output[0] ?? {}
        const fetched = status === 200 && model.requests.at(-1)?.json.tools !== undefined
        told.push({
          fetched,
          refused: status === 400,
          text: status === 200 ? String(error ?? JSON.stringify(body.choices)) : `${status} ${message || raw}`,
        })
      }
      return told
    },
  })
  return [
    entry('an MCP server', 'responses', (server) => ({ type: 'mcp', ...server })),
    entry('router:mcp', 'chat', (parameters) => ({ type: 'router:mcp', parameters })),
  ]
}

/** A server of one tool, in as few words as the protocol allows. */
const REMOTE: Serve = (request, response) => {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject
    if (id === undefined) return void response.writeHead(202).end()
    const version = (params as JsonObject | undefined)?.protocolVersion
    const about = { protocolVersion: version ?? '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
    const result = method === 'initialize' ? about : { tools: [{ name: 'look', inputSchema: { type: 'object' } }] }
    const known = method === 'initialize' || method === 'tools/list'
    const answer = known ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'none' } }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
}

const isServer = ({ name }: Entry): boolean => /mcp/i.test(name)
/** One of each kind stands for its siblings where there are many cases. */
const isFirst = ({ name }: Entry): boolean => ['router:web_fetch', 'a file of Responses', 'an MCP server'].includes(name)

function untouched(t: Test, { here, gateway }: WithCanaries, what: string): void {
  t.equal(here.hits, 0, `${what}: no canary was hit`)
  t.same(here.strange(), [], `${what}: no connection was tried`)
  t.equal(gateway.logs.join('\n').includes(SECRET), false)
}

t.test('control: each kind of fetch reaches allowed addresses, and the canaries record who reaches them', async (t) => {
  const one = await withCanaries(t)
  for (const entry of one.entries) {
    one.here.serve = isServer(entry) ? REMOTE : PLAIN
    const before = one.here.seen.length
    const [told] = await entry.fetch([one.here.at(`/there?${one.entries.indexOf(entry)}`)])
    t.ok(told.fetched, `${entry.name}: ${told.text}`)
    t.ok(one.here.seen.length > before, entry.name)
    if (!isServer(entry)) t.match(told.text, /the open page/, entry.name)
    t.ok(
      (await entry.fetch([`http://calm.lab.example:${one.here.port}/${one.entries.indexOf(entry)}`]))[0].fetched,
      `${entry.name}: by a name`,
    )
    one.here.tries.length = 0
    const [name] = await entry.fetch(['http://public.example.com/'])
    t.same(one.here.tries.filter((place) => place === `${OPEN}:80`).slice(0, 1), [`${OPEN}:80`], `${entry.name}: a public name is tried`)
    t.match(name, { refused: false }, entry.name)
  }
  untouched(t, one, 'until now')
  t.equal(await (await fetch(`http://127.0.0.1:${one.here.port}/`)).text(), SECRET)
  t.same([one.here.hits, one.here.strange()], [1, [`127.0.0.1:${one.here.port}`]], 'hits and tries are seen')
})

t.test('fetches no private address, in whichever form it is written', async (t) => {
  const one = await withCanaries(t)
  one.here.serve = PLAIN
  const { port } = one.here
  // On the port of the canaries, and on the usual ones, where only the host can be the reason.
  const homes = ALL_HOSTS.flatMap((host) => [`http://${host}:${port}/`, `http://${host}/`, `https://${host}/x?y=1`])
  for (const entry of one.entries) {
    const inline = (url: string): boolean => /file|document/.test(entry.name) && (url.startsWith('data:') || !/^[a-z]+:/i.test(url))
    const wanted = isFirst(entry) || entry.name.includes('plugin') ? homes : ALL_HOSTS.map((host) => `https://${host}/`)
    // Words that are no address at all are the file itself, where a format has one field for both.
    const urls = [...wanted, ...ADDRESSES.filter((url) => !inline(url) && (entry.name !== 'a file of chat' || /^https?:/i.test(url)))]
    const told = await entry.fetch(urls)
    t.equal(told.length, urls.length, entry.name)
    const wrong = told.flatMap((each, i) =>
      each.fetched || !(each.refused || trimmed(urls[i])) || each.text.includes(SECRET) ? [[urls[i], each.text]] : [],
    )
    t.same(wrong, [], `${entry.name}: all are refused by what they are`)
    untouched(t, one, entry.name)
  }
  t.same(
    one.lookups.filter((name) => name !== 'example.com'),
    [],
    'none of them was looked up',
  )
  t.equal(one.here.seen.length, 0)
})

/** Blanks around an address are a model's habit. */
const trimmed = (url: string): boolean => url !== url.trim()

t.test('fetches no name that resolves to a private address, at once or at a second look-up, unless it is allowed', async (t) => {
  const one = await withCanaries(t)
  const { here, lookups } = one
  const lab = (name: string): string => `http://${name}:${here.port}/`
  for (const entry of one.entries) {
    here.serve = isServer(entry) ? REMOTE : PLAIN
    const texts = new Set<string>()
    const wrongly: unknown[] = []
    const urls = [
      ...LEADING_HOME.flatMap((name) => [`http://${name}/`, `https://${name}/`]),
      ...['http://empty.example.com/', 'http://missing.example.com/', 'https://missing.example.com/'],
      // An allowed address at which nothing listens.
      ...['http://public.example.com/', 'https://public.example.com/', `http://${OPEN}/`],
      ...['stolen.lab.example', 'half.lab.example', 'nobody.lab.example'].map(lab),
    ]
    for (const [i, told] of (await entry.fetch(urls)).entries()) {
      texts.add(told.text)
      if (told.fetched || told.refused) wrongly.push([urls[i], told.text])
    }
    t.same(wrongly, [], entry.name)
    t.equal(texts.size, 1, `${entry.name}: the error does not say which it was: ${[...texts].join(' | ')}`)
    untouched(t, one, entry.name)

    // Answers are kept for a while, so each entry has names of its own.
    const turn = one.entries.indexOf(entry)
    const [flip, wiki] = [`flip${turn}.example.com`, `wiki${turn}.lab.example`]
    Object.assign(NAMES, { [flip]: flipping(), [wiki]: flipping() })
    lookups.length = 0
    here.tries.length = 0
    await Promise.all([entry.fetch([`http://${flip}/`]), entry.fetch([`http://${flip}/again`])])
    t.ok(lookups.includes(flip), `${entry.name}: the name is looked up`)
    t.ok(here.tries.includes(`${OPEN}:80`), `${entry.name}: what was checked is connected to`)
    // Servers of tools are called over several connections, and this name may lead to any neighbour.
    if (!isServer(entry)) {
      const [rebound] = await entry.fetch([`${lab(wiki)}${turn}`])
      t.ok(rebound.fetched, `${entry.name}: what was looked up is what is fetched`)
    }
    untouched(t, one, `${entry.name}, rebinding`)
  }
})

t.test('follows no redirect to a private address, whatever its status and form', async (t) => {
  const one = await withCanaries(t)
  const { here } = one
  const targets = [
    ...ALL_HOSTS.map((host, i) => (i % 2 === 0 ? `http://${host}:${here.port}/` : `https://${host}/`)),
    ...LEADING_HOME.map((name) => `http://${name}/`),
    ...ADDRESSES.filter((address) => /^[a-z]+:|^\/\//.test(address) && !/\p{Cc}/u.test(address) && address.length < 8000),
    ...[`//127.0.0.1:${here.port}/`, `http:/\\127.0.0.1:${here.port}/`, `\\\\127.0.0.1:${here.port}\\`, `///127.0.0.1:${here.port}/`],
    `http://home.example.com:${here.port}/`,
  ]
  here.serve = (request, response) => {
    const [, status, target] = (request.url ?? '').split('/')
    response.writeHead(Number(status), { location: Buffer.from(targets[Number(target)]).toString('latin1') }).end('moved')
  }
  for (const entry of one.entries) {
    const urls = targets.flatMap((_, i) =>
      STATUSES.filter((_, at) => isFirst(entry) || at === i % 5).map((status) => here.at(`/${status}/${i}`)),
    )
    const before = here.seen.length
    const told = await entry.fetch(isServer(entry) ? urls.filter((_, i) => !isFirst(entry) || i % 5 === Math.floor(i / 5) % 5) : urls)
    const wrong = told.flatMap((each, i) => (each.fetched || each.text.includes(SECRET) ? [[urls[i], each.text]] : []))
    t.same(wrong, [], `${entry.name}: ${told.length} redirects`)
    t.ok(here.seen.length >= before + told.length, `${entry.name}: the site was asked`)
    untouched(t, one, entry.name)
  }

  // Public, public, home.
  here.serve = ({ url = '' }, response) => {
    const left = Number(url.slice(1))
    response.writeHead(307, { location: left > 0 ? `/${left - 1}` : `http://127.0.0.1:${here.port}/` }).end()
  }
  for (const entry of one.entries) t.equal((await entry.fetch([here.at('/3')]))[0].fetched, false, entry.name)
  untouched(t, one, 'a chain')

  // What looks like a redirect and is none.
  const home = `http://127.0.0.1:${here.port}/`
  here.serve = ({ url = '' }, response) => {
    const elsewhere = { location: home, 'content-location': home, refresh: `0; url=${home}`, 'alt-svc': `h2="127.0.0.1:${here.port}"` }
    response.writeHead(Number(url.slice(1)), { 'content-type': 'text/html', ...elsewhere, link: `<${home}>; rel=preload` }).end('<p>x')
  }
  for (const entry of one.entries)
    await entry.fetch([200, 201, 203, 300, 305, 306, 304, 400, 401, 407, 503].map((status) => here.at(`/${status}`)))
  untouched(t, one, 'other statuses')
})

t.test('https to http: only as far as the address is allowed', async (t) => {
  const authority = certificate({ name: 'the test authority' })
  setDefaultCACertificates([authority.cert])
  const { cert, key } = certificate({ name: 'x', by: authority, addresses: [OPEN] })
  const one = await withCanaries(t)
  const { here } = one
  here.serve = PLAIN
  const places = [
    here.at('/plain'),
    `http://127.0.0.1:${here.port}/`,
    'http://home.example.com/',
    'https://127.0.0.1/',
    'http://169.254.169.254/',
  ]
  const secure = createServer({ cert, key: key.export({ type: 'pkcs8', format: 'pem' }) }, ({ url = '' }, response) => {
    response.writeHead(308, { location: places[Number(url.slice(1))] }).end()
  })
  secure.listen(0, OPEN)
  await once(secure, 'listening')
  t.teardown(() => {
    secure.closeAllConnections()
    secure.close()
  })
  const { port } = secure.address() as AddressInfo
  const other = await gatewayFor(t, one, `allow_private: ["${OPEN}:${port}", "${OPEN}:${here.port}"]`)
  here.expect(`${OPEN}:${port}`)
  for (const entry of [...pageEntries(other).slice(0, 1), ...fileEntries(other).slice(0, 1)]) {
    const told = await entry.fetch(places.map((_, i) => `https://${OPEN}:${port}/${i}`))
    t.same(
      told.map(({ fetched }) => fetched),
      [true, false, false, false, false],
      entry.name,
    )
    t.match(told[0].text, /the open page/)
  }
  untouched(t, one, 'from https')
})

/** A second gateway of the same scene, with other exceptions. */
async function gatewayFor(t: Test, one: WithCanaries, allowed: string, scans = ''): Promise<Omit<WithCanaries, 'entries'>> {
  const gateway = await startGateway(`
plugins: { defaults: { web-fetch: { ${allowed}, robots: false }, file-parser: { ${allowed}${scans} }, mcp: { ${allowed} } } }
providers: { first: { dialect: openai-chat, base_url: "${one.model.url}/v1", key: x } }
models: { acme/one: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: m, price: free } ] } }
`)
  t.teardown(() => gateway.close())
  one.here.expect(new URL(gateway.url).host)
  const ask: WithCanaries['ask'] = async (format, body, headers) => {
    const response = await gateway.post(FORMATS[format], { model: 'acme/one', ...body }, headers)
    return parseAsked(response.status, await response.text())
  }
  return { ...one, gateway, ask }
}

t.test('an address that is allowed for one port stays private for others', async (t) => {
  const one = await withCanaries(t)
  const { here } = one
  here.serve = PLAIN
  const other = await gatewayFor(t, one, `allow_private: ["127.0.0.1:9", "*.lab.example:9", "[::1]:9"]`)
  for (const entry of [...pageEntries(other), ...fileEntries(other), ...serverEntries(other)].filter(isFirst)) {
    const urls = [
      `http://127.0.0.1:${here.port}/`,
      'http://127.0.0.1/',
      'https://[::1]/',
      'http://calm.lab.example/',
      'http://home.example.com/',
    ]
    for (const [i, told] of (await entry.fetch(urls)).entries()) t.equal(told.fetched, false, urls[i])
    untouched(t, one, entry.name)
  }
})

t.test('robots.txt is fetched with the same care', async (t) => {
  const one = await withCanaries(t, { robots: true })
  const { here } = one
  const [page] = one.entries
  const forms = [...ALL_HOSTS.map((host) => `http://${host}:${here.port}/robots.txt`), ...LEADING_HOME.map((name) => `http://${name}/`)]
  // Each name is a site of its own, whose robots.txt is asked once.
  let at = 0
  here.serve = (request, response) => {
    if (request.url === '/robots.txt') response.writeHead(STATUSES[at % 5], { location: Buffer.from(forms[at]).toString('latin1') }).end()
    else PLAIN(request, response)
  }
  const names: Names = NAMES
  for (; at < forms.length; at++) {
    names[`site${at}.lab.example`] = [OPEN]
    const [told] = await page.fetch([`http://site${at}.lab.example:${here.port}/page`])
    if (told.fetched || told.text.includes(SECRET)) t.fail(`${forms[at]}: ${told.text}`)
  }
  t.equal(here.seen.filter(({ url }) => url === '/robots.txt').length, forms.length, 'each was asked')
  t.equal(here.seen.filter(({ url }) => url === '/page').length, 0)
  await page.fetch([...ALL_HOSTS.map((host) => `http://${host}/`), ...LEADING_HOME.map((name) => `http://${name}/`)])
  untouched(t, one, 'robots.txt')
  here.serve = ({ url }, response) =>
    void response.writeHead(url === '/robots.txt' ? 404 : 200, { 'content-type': 'text/plain' }).end('fine')
  names['last.lab.example'] = [OPEN]
  t.ok((await page.fetch([`http://last.lab.example:${here.port}/`]))[0].fetched)
})

t.test('fetches no address that a document names', async (t) => {
  const one = await withCanaries(t)
  const { here } = one
  const home = `http://127.0.0.1:${here.port}`
  const html = `<!doctype html><html manifest="${home}/a"><head><base href="${home}/b/"><meta http-equiv="refresh" content="0; url=${home}/c">
<link rel="stylesheet" href="${home}/d"><link rel="icon" href="${home}/e"><link rel="canonical" href="${home}/f"><script src="${home}/g"></script>
<style>@import "${home}/h"; p { background: url(${home}/i) }</style></head><body onload="fetch('${home}/j')"><p>the open page</p><iframe src="${home}/k">
</iframe><frame src="${home}/l"><img src="${home}/m" srcset="${home}/n 2x"><object data="${home}/o"></object><embed src="${home}/p"><video src="${home}/q"
poster="${home}/r"></video><svg><image href="${home}/s"/><use xlink:href="${home}/t#x"/></svg><form action="${home}/u"></form>
<script>location = '${home}/v'; fetch('${home}/w')</script><a ping="${home}/x" href="${home}/y">more</a></body></html>`
  const xml = `<?xml version="1.0"?><!DOCTYPE a SYSTEM "${home}/dtd" [<!ENTITY x SYSTEM "${home}/entity"><!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY % p SYSTEM "${home}/parameter"> %p;]><a>the open page &x; &f;</a>`
  const types = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`
  const relation = (id: string, type: string, target: string, mode = 'External'): string =>
    `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}" TargetMode="${mode}"/>`
  const relations = (...list: string[]): Buffer =>
    Buffer.from(
      `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list.join('')}</Relationships>`,
    )
  const picture = (id: string): string =>
    `<w:p><w:r><w:drawing><wp:inline><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:link="${id}"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`
  const word = `<?xml version="1.0"?><!DOCTYPE w [<!ENTITY x SYSTEM "${home}/docx">]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><w:body>${paragraph('the open page')}${picture('i1')}${picture('i2')}</w:body></w:document>`
  const linked = buildZip([
    { name: '[Content_Types].xml', bytes: Buffer.from(types) },
    {
      name: '_rels/.rels',
      bytes: relations(relation('r1', 'officeDocument', 'word/document.xml', 'Internal'), relation('r2', 'attachedTemplate', `${home}/t`)),
    },
    { name: 'word/document.xml', bytes: Buffer.from(word) },
    {
      name: 'word/_rels/document.xml.rels',
      bytes: relations(
        relation('i1', 'image', `${home}/image`),
        relation('i2', 'image', 'file:///etc/passwd'),
        relation('i3', 'styles', `${home}/styles`),
      ),
    },
  ])
  const doors = `/OpenAction << /S /URI /URI (${home}/open) >> /AA << /O << /S /JavaScript /JS (app.launchURL\\('${home}/js'\\)) >> >>`
  const pdf = Buffer.from(
    buildPdf(['the open page'])
      .toString('latin1')
      .replace('/Type /Catalog', `/Type /Catalog ${doors}`)
      .replace('/Subtype /Type1', `/Subtype /Type1 /FontFile << /FS /URL /F (${home}/font) >>`)
      .replace(/<< \/Length (\d+)/, `<< /F << /FS /URL /F (${home}/stream) >> /Length $1`),
    'latin1',
  )
  const documents: Record<string, [body: Buffer | string, type: string]> = {
    html: [html, 'text/html'],
    xhtml: [`<?xml-stylesheet href="${home}/xsl"?>${html}`, 'application/xhtml+xml'],
    xml: [xml, 'application/xml'],
    svg: [`<svg xmlns="http://www.w3.org/2000/svg"><text>the open page</text><image href="${home}/svg"/></svg>`, 'image/svg+xml'],
    docx: [linked, 'application/octet-stream'],
    pdf: [pdf, 'application/pdf'],
    'docx without links': [buildDocx(paragraph('the open page')), 'application/octet-stream'],
  }
  here.serve = ({ url = '' }, response) => {
    const [body, type] = documents[decodeURIComponent(url.slice(1))]
    response.writeHead(200, { 'content-type': type }).end(body)
  }
  for (const entry of one.entries.filter((entry) => isFirst(entry) && !isServer(entry)))
    for (const kind of Object.keys(documents)) {
      const [told] = await entry.fetch([here.at(`/${encodeURIComponent(kind)}`)])
      t.match(told, { fetched: true, text: /the open page/ }, `${entry.name}, ${kind}: ${told.text.slice(0, 200)}`)
      t.notMatch(told.text, /root:/, kind)
    }
  untouched(t, one, 'documents')
})

t.test('MCP: nothing that a server says leads anywhere else', async (t) => {
  const port = { canary: 0 }
  const home = (path = ''): string => `http://127.0.0.1:${port.canary}/${path}`
  let answer: Serve = () => {}
  const server = await startMcpServer({
    instead: (request, response) => {
      answer(request, response)
      return response.headersSent
    },
  })
  t.teardown(() => server.close())
  const one = await withCanaries(t, { mcp: `127.0.0.1:${server.port}` })
  port.canary = one.here.port
  one.here.expect(`127.0.0.1:${server.port}`)
  const lists = async (): Promise<JsonObject> => {
    const tools = [{ type: 'mcp', server_label: 'notes', server_url: server.url, require_approval: 'never', authorization: 'their-token' }]
    const { output, raw } = await one.ask(
      'responses',
      { input: 'Go.', tools },
      { cookie: 'a=b', 'x-router-session': 'mine', referer: 'http://mine/' },
    )
    t.notMatch(raw, SECRET)
    return output[0]
  }
  t.match(await lists(), { type: 'mcp_list_tools', error: undefined, tools: [{}, {}] })
  for (const { headers } of server.heads) {
    t.equal(headers.authorization, 'Bearer their-token')
    const foreign = Object.keys(headers).filter((name) => /cookie|x-router|referer|origin|forwarded|^x-/.test(name))
    t.same(foreign, [], 'nothing of the caller or the gateway')
    t.notMatch(JSON.stringify(headers), /sk-/)
  }

  const heads = server.heads.length
  const discovery = `Bearer resource_metadata="${home('.well-known/oauth-protected-resource')}", authorization_uri="${home('authorize')}", scope="a"`
  for (const status of [401, 403, 407, 511]) {
    answer = (_, response) => void response.writeHead(status, { 'www-authenticate': discovery, link: `<${home()}>; rel="oauth"` }).end('{}')
    t.match(await lists(), { error: /status|reached/ }, `${status}`)
  }
  t.same([...new Set(server.heads.slice(heads).map(({ url }) => url))], ['/mcp'], 'no discovery, neither there nor elsewhere')
  untouched(t, one, 'discovery')

  const endpoints = [
    ...HOSTS.map((host) => `http://${host}:${port.canary}/x`),
    ...ADDRESSES.filter((url) => url !== '' && !/\p{Cc}/u.test(url)),
    `//127.0.0.1:${port.canary}/x`,
  ]
  let at = 0
  answer = ({ method }, response) => {
    if (method === 'POST') response.writeHead(405).end()
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: endpoint\ndata: ${endpoints[at]}\n\n`)
  }
  for (; at < endpoints.length; at++) {
    const { error, tools } = await lists()
    if (error === undefined || (tools as Json[]).length > 0) t.fail(`${endpoints[at]}: a list came`)
  }
  untouched(t, one, 'endpoints of the older transport')
  for (const method of ['GET', 'DELETE'])
    for (const status of STATUSES) {
      answer = (request, response) => {
        if (request.method === method) response.writeHead(status, { location: home() }).end()
        else if (method === 'GET') response.writeHead(405).end()
      }
      await lists()
    }
  untouched(t, one, 'redirects of other methods')
})

type Json = JsonObject[string]

t.test('treats results of a tool server as text', async (t) => {
  const here = { home: '' }
  const icon = (): JsonObject[] => [{ src: `${here.home}/icon`, mimeType: 'image/png' }]
  const server = await startMcpServer({
    get tools() {
      return [
        { name: 'look', inputSchema: { $ref: `${here.home}/schema`, type: 'object' }, icons: icon(), _meta: { url: `${here.home}/meta` } },
      ]
    },
    answer: () => ({
      content: [
        { type: 'resource_link', uri: `${here.home}/resource`, name: 'x', icons: icon() },
        { type: 'resource', resource: { uri: `${here.home}/inner`, text: 'inner' } },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
    }),
  })
  t.teardown(() => server.close())
  const one = await withCanaries(t, { mcp: `127.0.0.1:${server.port}` })
  here.home = `http://127.0.0.1:${one.here.port}`
  one.here.expect(`127.0.0.1:${server.port}`)
  one.script((seen) => (ran(seen) ? { text: ['done'] } : { calls: calls('router_notes_look', {}) }))
  const tools = [{ type: 'mcp', server_label: 'notes', server_url: server.url, require_approval: 'never' }]
  const { output } = await one.ask('responses', { input: 'Go.', tools })
  t.match(output[1], { type: 'mcp_call', output: `${here.home}/resource\ninner\n[image]` })
  untouched(t, one, 'links')
})

t.test('a service or provider that redirects is not followed', async (t) => {
  const home = { url: '' }
  const service = await startUpstream((_, i) => ({ status: STATUSES[i % 5], headers: { location: home.url }, body: ['moved'] }))
  t.teardown(() => service.close())
  const one = await withCanaries(t, {
    more: `    web: { engines: { searxng: { url: "${service.url}" } } }
    moderation: { engine: openai, url: "${service.url}/v1", key: judge-key, enabled: false }`,
  })
  const { here } = one
  home.url = `http://127.0.0.1:${here.port}/`
  here.expect(new URL(service.url).host)
  one.script((seen) => (ran(seen) ? { text: ['done'] } : { calls: calls('router_web_search', { query: 'x' }) }))
  for (const _ of STATUSES) {
    const { status } = await one.ask('chat', { messages: [{ role: 'user', content: 'Go.' }], tools: [{ type: 'router:web_search' }] })
    t.equal(status, 200)
  }
  const searched = service.requests.length
  t.equal(searched, 5)
  for (const _ of STATUSES)
    await one.ask('chat', { messages: [{ role: 'user', content: 'Go.' }], plugins: [{ id: 'moderation', enabled: true }] })
  t.ok(service.requests.length >= searched + 5, 'the judge was asked')
  untouched(t, one, 'services')
  const judged = service.requests.length

  const other = await gatewayFor(t, one, 'allow_private: []', `, ocr: { url: "${service.url}", key: "ocr-key" }`)
  const pdf = `data:application/pdf;base64,${buildPdf(['x']).toString('base64')}`
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: pdf } }
  for (const _ of STATUSES)
    await other.ask('chat', {
      messages: [{ role: 'user', content: [file] }],
      plugins: [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }],
    })
  t.ok(service.requests.length >= judged + 5, 'the service for scans was asked')
  untouched(t, one, 'scans')

  const script = one.model.script
  one.model.script = (_, i) => ({ status: STATUSES[i % 5], headers: { location: home.url }, body: ['moved'] })
  for (const format of ['chat', 'responses', 'messages'] as const)
    for (const stream of [false, true])
      for (const _ of STATUSES) {
        const own: JsonObject = format === 'responses' ? { input: 'x' } : { messages: [{ role: 'user', content: 'x' }], max_tokens: 9 }
        const { status, raw } = await one.ask(format, { ...own, stream })
        t.ok(status >= 400, `${format}: ${status}`)
        t.notMatch(raw, SECRET)
      }
  one.model.script = script
  untouched(t, one, 'providers')
})

t.test('does not fetch addresses that it passes on to the model', async (t) => {
  const one = await withCanaries(t)
  const { here } = one
  const url = `http://127.0.0.1:${here.port}/image.png`
  one.script(() => ({ text: [`See ${url}`], citations: [{ url, title: 'x' }] }))
  for (const dialect of ['openai-chat', 'openai-responses', 'anthropic', 'gemini']) {
    const gateway = await startGateway(`
providers: { first: { dialect: ${dialect}, base_url: "${one.model.url}/v1", key: x } }
models:
  acme/one: { context: 128000, max_output: 4096, input: [ text, image, file, audio, video ], endpoints: [ { provider: first, model: m, price: free } ] }
`)
    t.teardown(() => gateway.close())
    here.expect(new URL(gateway.url).host)
    const bodies: [Format, JsonObject][] = [
      [
        'chat',
        {
          messages: [
            {
              role: 'user',
              content: [
                { type: 'image_url', image_url: { url } },
                { type: 'video_url', video_url: { url } },
              ],
            },
          ],
        },
      ],
      ['chat', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: url } }] }] }],
      [
        'responses',
        {
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_image', image_url: url },
                { type: 'input_file', file_url: url },
              ],
            },
          ],
        },
      ],
      ['messages', { max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }] }],
      ['messages', { max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url } }] }] }],
    ]
    const before = one.model.requests.length
    for (const [format, body] of bodies)
      await gateway.post(FORMATS[format], { model: 'acme/one', ...body }, { referer: url, 'http-referer': url })
    await gateway.post('/v1/messages/count_tokens', { model: 'acme/one', ...bodies[4][1] })
    t.ok(one.model.requests.length > before, dialect)
  }
  await one.gateway.post('/v1/messages/count_tokens', {
    model: 'acme/one',
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url } }] }],
  })
  await one.gateway.post('/v1/auth/keys/code', {
    callback_url: `https://127.0.0.1:${here.port}/`,
    code_challenge: 'x',
    code_challenge_method: 'plain',
  })
  untouched(t, one, 'images and files')
})

t.test('refuses requests that name addresses or keys of the services of the operator', async (t) => {
  const one = await withCanaries(t)
  const home = `http://127.0.0.1:${one.here.port}`
  const entries: JsonObject[] = [
    { id: 'web-fetch', allow_private: ['127.0.0.1'] },
    { id: 'web-fetch', engines: { exa: { key: 'x', url: home } }, engine: 'exa' },
    { id: 'web', engines: { searxng: { url: home } } },
    { id: 'file-parser', ocr: { url: home } },
    { id: 'file-parser', allow_private: ['127.0.0.1'] },
    { id: 'mcp', allow_private: ['127.0.0.1'] },
    { id: 'mcp', servers: ['127.0.0.1'] },
    { id: 'moderation', url: home },
    { id: 'moderation', engine: 'classifier', url: home, model: 'x' },
  ]
  for (const entry of entries) {
    const { status, raw } = await one.ask('chat', { messages: [{ role: 'user', content: 'x' }], plugins: [entry] })
    t.equal(status, 400, `${JSON.stringify(entry)}: ${raw}`)
  }
  for (const type of ['router:web_fetch', 'router:web_search', 'router:mcp', 'router:image_generation'])
    await one.ask('chat', {
      messages: [{ role: 'user', content: 'x' }],
      tools: [
        {
          type,
          parameters: {
            allow_private: ['127.0.0.1'],
            url: home,
            base_url: home,
            server_url: home,
            server_label: 'a',
            require_approval: 'never',
          },
        },
      ],
    })
  untouched(t, one, 'settings')
})

t.test('a fetch carries nothing of the caller and nothing from hop to hop', async (t) => {
  const one = await withCanaries(t)
  const { here, model } = one
  here.serve = (request, response) => {
    if (request.url?.startsWith('/first'))
      response.writeHead(302, { location: '/second', 'set-cookie': 'session=1; Path=/', 'www-authenticate': 'Basic' }).end()
    else PLAIN(request, response)
  }
  const caller = {
    cookie: 'a=b',
    referer: 'http://mine/',
    'x-router-title': 'mine',
    'x-title': 'mine',
    'proxy-authorization': 'Basic eA==',
    'x-forwarded-for': '1.2.3.4',
  }
  const ask = one.ask
  const asking: Omit<WithCanaries, 'entries'> = { ...one, ask: (format, body) => ask(format, body, caller) }
  const saved = { ...process.env }
  const proxy = `http://127.0.0.1:${here.port}`
  Object.assign(process.env, { http_proxy: proxy, https_proxy: proxy, HTTP_PROXY: proxy, ALL_PROXY: proxy, NODE_USE_ENV_PROXY: '1' })
  t.teardown(() => {
    process.env = saved
  })
  for (const entry of [...pageEntries(asking), ...fileEntries(asking)]) {
    here.seen.length = 0
    // Files are remembered by their address.
    const [told] = await entry.fetch([here.at(`/first?${entry.name.length}`)])
    t.ok(told.fetched, `${entry.name}: ${told.text}`)
    t.equal(here.seen.length, 2, entry.name)
    for (const { headers, method } of here.seen) {
      t.same(Object.keys(headers).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'], entry.name)
      t.equal(method, 'GET')
    }
  }
  t.ok(model.requests.length > 0)
  untouched(t, one, 'proxies of the environment')
})
