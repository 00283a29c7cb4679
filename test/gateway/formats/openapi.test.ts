/** `/openapi.json` and `/docs`: sound by the rules, true of the running gateway, and silent about whose it is. */
import { createHash } from 'node:crypto'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { clientDialects } from '../../../src/dialects/registry.ts'
import { deletionRank } from '../../support/deletion-rank.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import {
  asObject,
  asObjectList,
  brokenRules,
  type DocumentOperation,
  documentOperations,
  jsonContentSchema,
  misfit,
  resolved,
} from './openapi-rules.ts'

const PLAIN = 'sk-router-v1-plain0123456789abcdef'
const BOSS = 'sk-router-v1-boss0123456789abcdef'

const config = (more = ''): string => `
budgets: { team-a: { monthly: "500.00" } }
auth:
  sign_in: { callbacks: [ "https://app.example/back" ] }
  keys:
    - { name: plain, key: "${PLAIN}" }
    - { name: boss, key: "${BOSS}", management: true }
providers:
  sim: { dialect: sim }
  acme: { dialect: openai-chat, base_url: "http://127.0.0.1:9/v1", key: acme-0123456789, pass_through: { price: "0" } }
models:
  sim/echo: { context: 4096, endpoints: [{ provider: sim, model: echo }] }
  sim/embed: { kind: embedding, context: 4096, endpoints: [{ provider: sim, model: embed }] }
events: { receivers: [ { name: ops, url: "http://127.0.0.1:9/hook", secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" } ] }
byok: { encryption_keys: [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ] }
presets:
  support: { model: sim/echo, parameters: { temperature: 0.5 } }
${more}`

const gateway = await startGateway(config())
t.teardown(() => gateway.close())
const fetchDocument = async (from: Gateway) => (await (await fetch(`${from.url}/openapi.json`)).json()) as JsonObject
const document = await fetchDocument(gateway)
const operations = documentOperations(document)

t.test('it needs no key, is JSON, and takes no other method', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [path, type] of [
      ['/openapi.json', 'application/json'],
      ['/docs', 'text/html; charset=utf-8'],
    ]) {
      const reply = await fetch(gateway.url + path)
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('content-type'), type)
      const head = await fetch(gateway.url + path, { method: 'HEAD' })
      t.equal(head.headers.get('content-length'), String(Buffer.byteLength(await reply.text())))
      t.equal(await head.text(), '')
      const posted = await fetch(gateway.url + path, { method: 'POST', body: '{}' })
      t.equal(posted.status, 405)
      t.equal(posted.headers.get('allow'), 'GET')
    }
  })
})

t.test('the official schema of OpenAPI 3.1 accepts it', async (t) => {
  const validator = new Validator()
  t.same(await validator.validate(structuredClone(document)), { valid: true })
  t.equal(validator.version, '3.1')
  const broken = { ...structuredClone(document), paths: { '/v1/models': { get: { responses: 1 } } } }
  t.equal((await new Validator().validate(broken)).valid, false, 'and refuses a broken one')
})

t.test('no rule of OpenAPI is broken', async (t) => {
  t.same(brokenRules(document), [])
})

t.test('the rules see what is broken', async (t) => {
  const damaged = (change: (copy: JsonObject) => void): string => {
    const copy = structuredClone(document)
    change(copy)
    return brokenRules(copy).join('\n')
  }
  const at = (copy: JsonObject, ...names: string[]): JsonObject => names.reduce((value, name) => asObject(value[name]), copy)
  const cases: [RegExp, (copy: JsonObject) => void][] = [
    [/not 3\.1/, (copy) => Object.assign(copy, { openapi: '3.0.0' })],
    [/unknown member swagger/, (copy) => Object.assign(copy, { swagger: '2.0' })],
    [/leads nowhere/, (copy) => delete at(copy, 'components', 'schemas').ProviderPreferences],
    [/Extra: is used nowhere/, (copy) => Object.assign(at(copy, 'components', 'schemas'), { Extra: {} })],
    [/its id is not its own/, (copy) => Object.assign(at(copy, 'paths', '/models', 'get'), { operationId: 'getModel' })],
    [/its tag is not declared/, (copy) => Object.assign(at(copy, 'paths', '/models', 'get'), { tags: ['Poems'] })],
    [/slug of the path is not declared/, (copy) => Object.assign(at(copy, 'paths', '/presets/{slug}', 'get'), { parameters: [] })],
    [/lacks a reply/, (copy) => Object.assign(at(copy, 'paths', '/key', 'get'), { responses: {} })],
    [
      /example plain: /,
      (copy) => Object.assign(at(copy, 'components', 'schemas', 'ChatRequest', 'properties'), { messages: { type: 'string' } }),
    ],
    [/example of 401: /, (copy) => Object.assign(at(copy, 'components', 'schemas', 'Error', 'properties'), { error: { type: 'string' } })],
    [
      /example of sort: /,
      (copy) => Object.assign(asObject(asObjectList(at(copy, 'paths', '/models', 'get').parameters).at(-3)), { example: 'best' }),
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [expected, change] of cases) t.match(damaged(change), expected)
  })
})

t.test('every operation of a client format is described', async (t) => {
  const paths = operations.map(({ path }) => `/v1${path}`)
  for (const path of clientDialects.keys()) t.ok(paths.includes(path), path)
})

t.test('WebSockets of Responses are described with the operation that they request', async (t) => {
  const found = documentOperations(document).find(({ operation }) => operation.operationId === 'createResponse')
  for (const word of ['Upgrade: websocket', 'response.create', 'stream_id', 'previous_response_id', 'generate: false', '426'])
    t.match(found?.operation.description, word)
})

/** Names that only a running gateway knows, in place of those of the examples. */
const actual: Record<string, string> = {}

const keyFor = (operation: JsonObject): string => (/Only for management keys of/.test(String(operation.description)) ? BOSS : PLAIN)

function operationAddress({ path, operation }: DocumentOperation): { url: string; headers: Record<string, string> } {
  const query = new URLSearchParams()
  const headers: Record<string, string> = {}
  let filled = path
  for (const { name: given, in: place, example } of asObjectList(operation.parameters)) {
    const name = String(given)
    const value = actual[`${path} ${name}`] ?? example
    if (value === undefined) continue
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(String(value)))
    else if (place === 'query') query.set(name, String(value))
    else headers[name] = String(value)
  }
  const asked = query.size === 0 ? '' : `?${query}`
  return { url: `${gateway.url}/v1${filled}${asked}`, headers }
}

const operationContent = (operation: JsonObject): [type: string, content: JsonObject] => {
  const [[type, content] = ['', {}]] = Object.entries(asObject(asObject(operation.requestBody).content))
  return [type, asObject(content)]
}
const isForm = (operation: JsonObject): boolean => operationContent(operation)[0] === 'multipart/form-data'

function formData(fields: JsonObject): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    if (name === 'file') form.append(name, new File([String(value)], 'notes.txt'))
    else form.append(name, String(value))
  return form
}

async function call(described: DocumentOperation, body?: Json, key = keyFor(described.operation)): Promise<Response> {
  const { url, headers } = operationAddress(described)
  const authorization = key === '' ? {} : { authorization: `Bearer ${key}` }
  if (isForm(described.operation))
    return fetch(url, { method: described.method.toUpperCase(), headers: { ...headers, ...authorization }, body: formData(asObject(body)) })
  return fetch(url, {
    method: described.method.toUpperCase(),
    headers: { ...headers, ...authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** The one good reply that is described. */
function goodReply({ operation }: DocumentOperation): { status: number; schema: Json | undefined; streams: boolean } {
  const [[status, reply] = []] = Object.entries(asObject(operation.responses))
  const { content } = asObject(reply)
  return { status: Number(status), schema: jsonContentSchema(content), streams: Object.hasOwn(asObject(content), 'text/event-stream') }
}

const operationExamples = ({ operation }: DocumentOperation): [string, Json | undefined][] =>
  Object.entries(asObject(operationContent(operation)[1].examples)).map(([name, example]) => [name, asObject(example).value])

/** Those first whose replies the others need, and what deletes last, the parts of a thing before the thing. */
const ORDER = [
  'createKey',
  'createBYOKKey',
  'listEvents',
  'createGuardrail',
  'createFile',
  'createChatCompletion',
  'createAuthCode',
  'exchangeAuthCode',
  ...['createOrganization', 'createWorkspace', 'bulkAddWorkspaceMembers'],
  ...['setOrganizationBudget', 'setWorkspaceBudget', 'setMemberBudget'],
]
const rank = ({ method, path, operation }: DocumentOperation): number =>
  method === 'delete'
    ? ORDER.length + 1 + deletionRank(path)
    : ORDER.includes(String(operation.operationId))
      ? ORDER.indexOf(String(operation.operationId))
      : ORDER.length

/** With a key or a generation of this gateway in place of the example's. */
function thatIsThere(body: Json | undefined): Json | undefined {
  if (!isObject(body)) return body
  if ('generation_id' in body) return { ...body, generation_id: actual['/generation id'] ?? null }
  return 'key_hashes' in body ? { ...body, key_hashes: [createHash('sha256').update(PLAIN).digest('hex')] } : body
}

/** The event that is delivered again has a delivery. */
async function isSpread(): Promise<void> {
  const get = async () => (await fetch(`${gateway.url}/v1/events/deliveries`, { headers: { authorization: `Bearer ${BOSS}` } })).json()
  const id = actual['/events/{id}/redeliver id'] ?? ''
  await eventually('a delivery', async () =>
    asObjectList(((await get()) as JsonObject).data).some((each) => JSON.stringify(each).includes(id)),
  )
}

/** Ids that later calls name. */
function remember(id: Json | undefined, reply: JsonObject): void {
  const data = asObject(reply.data)
  if (id === 'createKey' || id === 'rotateKey')
    for (const below of ['', '/rotate', '/previous', '/budget', '/access']) actual[`/keys/{hash}${below} hash`] = String(data.hash)
  if (id === 'createGuardrail')
    for (const { path } of operations) if (path.startsWith('/guardrails/')) actual[`${path} id`] = String(data.id)
  if (id === 'bulkAddWorkspaceMembers')
    for (const { path } of operations) if (path.startsWith('/members/')) actual[`${path} id`] = String(asObjectList(reply.data)[0]?.id)
  if (id === 'createBYOKKey') actual['/byok/{id} id'] = String(data.id)
  if (id === 'createChatCompletion') {
    actual['/generation id'] = String(reply.id)
    for (const below of ['', '/plan']) actual[`/generations/{id}${below} id`] = String(reply.id)
  }
  if (id === 'createFile') for (const below of ['', '/content']) actual[`/files/{file_id}${below} file_id`] = String(reply.id)
  if (id === 'listEvents')
    for (const below of ['', '/redeliver']) actual[`/events/{id}${below} id`] = String(asObjectList(reply.data)[0]?.id)
  if (id === 'createAuthCode') actual.code = String(data.id)
}

t.test('every example is answered as described', async (t) => {
  let replayed = 0
  await every(t, 'every described', async (t) => {
    for (const described of [...operations].sort((a, b) => rank(a) - rank(b))) {
      const { method, path, operation } = described
      const { status, schema, streams } = goodReply(described)
      const bodies = operation.requestBody === undefined ? ([['', undefined]] as const) : operationExamples(described)
      for (const [name, value] of bodies) {
        const body = operation.operationId === 'exchangeAuthCode' ? { ...asObject(value), code: actual.code } : thatIsThere(value)
        if (operation.operationId === 'redeliverEvent') await isSpread()
        const reply = await call(described, body)
        const text = await reply.text()
        const where = `${method} ${path} ${name}`
        replayed++
        t.equal(reply.status, status, `${where}: ${text.slice(0, 200)}`)
        if (streams && asObject(body).stream === true) {
          t.match(reply.headers.get('content-type'), /^text\/event-stream/, where)
          t.notMatch(text, /"error":\{|event: error/, where)
          t.match(text, /(data: \[DONE\]|"type":"message_stop"[^\n]*)\s*$/, where)
          continue
        }
        if (schema === undefined) {
          t.match(reply.headers.get('content-type'), 'application/octet-stream', where)
          continue
        }
        const read = JSON.parse(text) as JsonObject
        t.equal(misfit(document, schema, read), undefined, where)
        remember(operation.operationId, read)
      }
    }
  })
  t.ok(replayed >= operations.length, `${replayed} examples of ${operations.length} operations`)
})

t.test('refusals are answered as described', async (t) => {
  await every(t, 'every described', async (t) => {
    for (const described of operations) {
      const { method, path, operation } = described
      const where = `${method} ${path}`
      const responses = asObject(operation.responses)
      const fits = async (reply: Response, status: number): Promise<void> => {
        t.equal(reply.status, status, where)
        t.equal(
          misfit(document, jsonContentSchema(resolved(document, responses[status]).content), await reply.json()),
          undefined,
          `${where} ${status}`,
        )
      }
      const [example] = operationExamples(described)
      await fits(
        await fetch(operationAddress(described).url, { method: 'PROPFIND', headers: { authorization: `Bearer ${keyFor(operation)}` } }),
        405,
      )
      if (operation.security === undefined) await fits(await call(described, example?.[1], ''), 401)
      if (keyFor(operation) === BOSS) await fits(await call(described, example?.[1], PLAIN), 403)
      if (example) await fits(await call(described, { model: 7, name: 7, code: 7, callback_url: 7, disabled: 7 }), 400)
    }
  })
})

t.test('white label: nobody is named but the brand', async (t) => {
  const acme = await startGateway(`brand: { word: acme }\n${config()}`)
  t.teardown(() => acme.close())
  const text = JSON.stringify(await fetchDocument(acme))
  const paths = ['', '/generation', '/keys', '/guardrails', '/schemas', '/page.css', '/page.js']
  const pages = await Promise.all(paths.map(async (path) => (await fetch(`${acme.url}/docs${path}`)).text()))
  t.equal(asObject((await fetchDocument(acme)).info).title, 'acme API')
  t.match(text, /X-Acme-Metadata/)
  // Five fields of guardrails are called after authors of models, and a fact of generations is the slug as the caller wrote it.
  const field = /"router":\{"anyOf"|"charge_reason","router",/g
  // Examples name the SDKs that they use, and each page the file openapi.json.
  const own = (html: string): string =>
    html.replace(/<pre data-language="(?:python|typescript)".*?<\/pre>/gs, '').replaceAll('openapi.json', '')
  for (const shown of [text, ...pages.map(own)])
    t.notMatch(shown.replace(/enforce_zdr_\w+/g, '').replace(field, ''), /headgate|router|openai|anthropic|github/i)
})

t.test('examples name models that are there', async (t) => {
  const directory = t.testdir()
  const own = await startGateway(config(), { directory })
  t.teardown(() => own.close())
  const models = async (): Promise<string> => JSON.stringify(asObject((await fetchDocument(own)).paths))
  t.match(await models(), '"model":"sim/echo"')
  await own.reconfigure(config().replaceAll('sim/echo', 'house/own'))
  t.match(await models(), '"model":"house/own"', 'also after a reload')
})
