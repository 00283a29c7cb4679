/**
 * Ids of another key are found wherever a body is cut into pieces, and as servers read it that are more lenient than the standards: by their
 * sources, what they take for JSON, for a form and for another request.
 */
import { brotliCompressSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const OWNER = 'sk-router-v1-owner-0123456789abcdef01'
const OTHER = 'sk-router-v1-other-0123456789abcdef01'
const LIMITED = 'sk-router-v1-limited-0123456789abcdef'
const FILE = 'file-of-the-owner1'
const FORM = 'multipart/form-data; boundary=x'
const FIELD = 'Content-Disposition: form-data; name="file_id"'
const UPLOAD = 'Content-Disposition: form-data; name="f"; filename="a"'

/** With a file of the owner's. */
async function scene(t: Test, reply: JsonObject = { id: 'chatcmpl-kept00001', object: 'chat.completion' }) {
  const place = await startScene(t, {
    answer: ({ method, path }) => jsonAnswer(method === 'POST' && path.endsWith('files') ? { id: FILE } : reply),
    config: (url) => `
auth:
  keys:
    - { name: owner, key: "${OWNER}", pass_through: true }
    - { name: other, key: "${OTHER}", pass_through: true }
    - { name: limited, key: "${LIMITED}", limit: "10.00", pass_through: true }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "10.00" } } ] } }
`,
  })
  const address = `${place.gateway.url}/v1/passage/first`
  const send = async (
    key: string,
    body: string | Buffer,
    type = 'application/json',
    more: Record<string, string> = {},
    path = '/v1/things',
  ) => {
    const headers: Record<string, string> = { authorization: `Bearer ${key}`, ...more }
    if (type !== '') headers['content-type'] = type
    const reply = await fetch(`${address}${path}`, { method: 'POST', body: Buffer.from(body), headers })
    return { status: reply.status, text: await reply.text() }
  }
  /** Sends each piece as a chunk of its own (RFC 9112 section 7.1). */
  const sendPieces = async (key: string, pieces: readonly string[], type: string, path = '/v1/things') => {
    const head = `POST /v1/passage/first${path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunks = pieces.filter((piece) => piece !== '').map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    return Number((await rawExchange(place.gateway.url, `${head}${chunks.join('')}0\r\n\r\n`)).split(' ')[1])
  }
  t.equal((await send(OWNER, '{}', 'application/json', {}, '/v1/files')).status, 200)
  return {
    ...place,
    send,
    sendPieces,
    get: (key: string, path: string) => place.gateway.get(`/v1/passage/first${path}`, { authorization: `Bearer ${key}` }),
  }
}

t.test('an id is found wherever a chunk ends', async (t) => {
  const { sendPieces } = await scene(t)
  const json = `{"a":"b\\"\\\\","file_id":"\\u0066${FILE.slice(1)}"}`
  const bodies: readonly [body: string, type: string][] = [
    [json, 'application/json'],
    [` \n${json}`, 'text/plain'],
    [`{'a':'b\\'','file_id':'${FILE}'}`, 'application/octet-stream'],
    [`--x\r\n${UPLOAD}\r\n\r\n${json}\r\n--x--`, FORM],
    [`--x\r\n${UPLOAD}\r\n\r\na\r\n--x\r\n${FIELD}\r\n\r\n${FILE}\r\n--x--`, FORM],
    [`file_id=%66${FILE.slice(1)}`, 'application/x-www-form-urlencoded'],
  ]
  for (const [body, type] of bodies) {
    t.equal(await sendPieces(OTHER, [...body], type), 404, `${type}: each byte by itself`)
    t.equal(await sendPieces(OWNER, [...body], type), 200, type)
  }
})

t.test('a border, a head and a word of a long form are found wherever a chunk ends', async (t) => {
  const { sendPieces } = await scene(t)
  const file = `--x\r\n${UPLOAD}\r\n\r\n${'a'.repeat(5_000)}`
  const forms: Readonly<Record<string, string>> = {
    'a field behind a file': `\r\n--x\r\n${FIELD}\r\n\r\n${FILE}\r\n--x--\r\n`,
    'what follows the last border': `\r\n--x--\r\n${FILE}`,
    'a field at the end': `\r\n--x\r\n${FIELD}\r\n\r\n${FILE}`,
  }
  await every(t, 'every place', async (t) => {
    for (const [name, rest] of Object.entries(forms))
      for (let at = 0; at <= rest.length; at++)
        t.equal(await sendPieces(OTHER, [file + rest.slice(0, at), rest.slice(at)], FORM), 404, `${name}, ${at}`)
  })
  const field = `--x\r\n${FIELD}\r\n\r\n`
  const long = '/a'.repeat(4_500)
  const others = 'b'.repeat(5_000)
  t.equal(await sendPieces(OTHER, [`${field}${FILE}${long}`, others, '\r\n--x--'], FORM), 404, 'at the begin of a long word')
  t.equal(
    await sendPieces(OTHER, [`${field}${long}/${FILE.slice(0, 9)}`, `${FILE.slice(9)}/${others}`, '\r\n--x--'], FORM),
    404,
    'within it',
  )
})

t.test('an id behind as many words as no request has', async (t) => {
  const { send } = await scene(t)
  const words = Array.from({ length: 21_000 }, (_, at) => `word-number-${at}`)
  const form = `--x\r\n${FIELD}\r\n\r\n${words.join('\n')}\n${FILE}\r\n--x--`
  t.equal((await send(OTHER, form, FORM)).status, 404)
  t.equal((await send(OWNER, form, FORM)).status, 200)
  const many = await send(OTHER, JSON.stringify(words))
  t.equal(many.status, 400)
  t.match(many.text, 'more than 20000 texts')
})

t.test('what some servers read as JSON', async (t) => {
  const { send } = await scene(t)
  // protobuf, `JsonStreamParser` (Google's APIs): single quotes, names without quotes, any letter behind a backslash.
  const refused: Readonly<Record<string, string>> = {
    'single quotes': `{'file_id':'${FILE}'}`,
    'a name without quotes': `{file_id:"${FILE}"}`,
    // Newtonsoft.Json and Jackson, which may be set so: a quote in a comment turns the others around.
    'a comment': `{/*"*/"file_id":"${FILE}"}`,
    'a comment to the end of the line': `{//"\n"file_id":"${FILE}"}`,
    // Readers of lines go on behind one that is broken.
    'a line that is broken': `{"a\n{"file_id":"${FILE}"}\n`,
  }
  await every(t, 'every form', async (t) => {
    for (const [name, body] of Object.entries(refused)) {
      for (const type of ['application/json', 'application/jsonl', 'application/scim+json'])
        for (const key of [OTHER, OWNER]) {
          const reply = await send(key, body, type)
          t.equal(reply.status, 400, `${name}: ${type}`)
          t.match(reply.text, 'expected JSON')
        }
      if (name === 'a name without quotes') continue
      for (const type of ['', 'text/plain', 'application/octet-stream', 'application/x-www-form-urlencoded']) {
        t.equal((await send(OTHER, body, type)).status, 404, `${name}: ${type}`)
        t.equal((await send(OWNER, body, type)).status, 200, `${name}: ${type}`)
      }
    }
    for (const id of [FILE.replace('-', '\\-'), `${FILE}\\n`, `\\t${FILE}`, FILE.replace('o', '\\u006F')])
      for (const type of ['application/json', 'application/octet-stream']) {
        t.equal((await send(OTHER, `{"file_id":"${id}"}`, type)).status, 404, `${id}: ${type}`)
        t.equal((await send(OWNER, `{"file_id":"${id}"}`, type)).status, 200, `${id}: ${type}`)
      }
  })
  const plain = `\ufeff{"a":[1,-2.5e+3,true,false,null,NaN,-Infinity],"b":{"it's \\"quoted\\"":"/* 'x' */ // \u2003"}}\r\n`
  t.equal((await send(OTHER, plain)).status, 200, 'what is JSON, and what Python writes')
})

t.test('what some servers read in the head of a form', async (t) => {
  const { send } = await scene(t)
  const form = (head: string) => `--x\r\n${FIELD}\r\n${head}\r\n\r\na\r\n--x--`
  await every(t, 'every head', async (t) => {
    for (const head of [
      'Content-Transfer-Encoding : base64',
      'Content-Transfer-Encoding: binary-base64',
      "Content-Type: text/plain; charset*=utf-8''utf-16",
      'Content-Type: text/plain; charset*0=utf-; charset*1=7',
      'Content-Type: text/plain; charset *=utf-7',
    ])
      t.equal((await send(OTHER, form(head), FORM)).status, 400, head)
    for (const type of [`${FORM}; charset*=utf-8''utf-7`, 'multipart/form-data; boundary="b\\x"', 'multipart/form-data; boundary="x "'])
      t.equal((await send(OTHER, form('X: a'), type)).status, 400, type)
    t.equal((await send(OTHER, form(`X-Reference: ${FILE}`), FORM)).status, 404, 'an id in a head')
    // RFC 7578 section 4.6.
    t.equal(
      (await send(OTHER, '--x\r\nContent-Disposition: form-data; name="_charset_"\r\n\r\nutf-7\r\n--x--', FORM)).status,
      400,
      '_charset_',
    )
  })
})

t.test('lists, texts and filters in a query', async (t) => {
  const { get, send } = await scene(t)
  const queries = [
    `ids=["${FILE}"]`,
    `ids=%5B%22${FILE}%22%5D`,
    `ids=a+${FILE}`,
    `ids=a|${FILE}`,
    `ids=(a,${FILE})`,
    `filter=file_id eq '${FILE}'`,
    `filter=file_id%20eq%20'%66${FILE.slice(1)}'`,
    `request={"file_id":"${FILE}"}`,
    `id=%e2%80%83${FILE}%e2%80%83`,
  ]
  await every(t, 'every query', async (t) => {
    for (const query of queries) {
      t.equal((await get(OTHER, `/v1/things?${query}`)).status, 404, query)
      t.equal((await get(OWNER, `/v1/things?${query}`)).status, 200, query)
      t.equal((await send(OTHER, query, 'application/x-www-form-urlencoded')).status, 404, query)
    }
  })
  t.equal((await get(OTHER, '/v1/things?ids=["file-made-elsewhere"]')).status, 200)
})

t.test('a parameter that turns a request into another one is refused, and costs nothing', async (t) => {
  const { get, send, upstream } = await scene(t)
  const before = upstream.requests.length
  for (const key of [OTHER, LIMITED])
    for (const query of ['$httpMethod=POST', '%24httpMethod=POST', '$HttpMethod=GET', '$httpHeaders=X-HTTP-Method-Override:POST%0d%0a']) {
      const reply = await get(key, `/v1beta/models/m:generateContent?alt=json&${query}`)
      t.equal(reply.status, 400, query)
      t.match(await reply.text(), /http(?:Method|Headers): expected none/i)
    }
  t.equal((await send(OTHER, 'a=b&$httpMethod=DELETE', 'application/x-www-form-urlencoded')).status, 400)
  t.equal(upstream.requests.length, before, 'the provider is not called')
})

t.test('a body that becomes longer than any request behind its coding is refused', async (t) => {
  const { send } = await scene(t)
  const long = Buffer.alloc(65 * 1024 * 1024, ' ')
  for (const [coding, body] of [
    ['gzip', gzipSync(long)],
    ['br', brotliCompressSync(long, { params: { 1: 1 } })],
  ] as const) {
    const reply = await send(OTHER, body, 'application/json', { 'content-encoding': coding })
    t.equal(reply.status, 413, coding)
    t.match(reply.text, 'behind its content coding')
  }
})

t.test('what is kept belongs to its key under the type of a file too', async (t) => {
  const { get, sendPieces } = await scene(t)
  for (const pieces of [['{"store":true}'], [' ', '\n ', '{"store":true}']])
    t.equal(await sendPieces(OWNER, pieces, 'text/plain', '/v1/chat/completions'), 200)
  t.equal((await get(OTHER, '/v1/chat/completions/chatcmpl-kept00001')).status, 404)
  t.equal((await get(OWNER, '/v1/chat/completions/chatcmpl-kept00001')).status, 200)
})

t.test('what a model writes for a tool binds no container', async (t) => {
  const call = { name: 'run', args: { container_id: 'cntr_of_all001', container: { id: 'cntr_of_all002' } } }
  const { get, send } = await scene(t, {
    candidates: [{ content: { parts: [{ functionCall: call }] } }],
    container: { id: 'cntr_of_owner1' },
  })
  t.equal((await send(OWNER, '{}', 'application/json', {}, '/v1beta/models/m:generateContent')).status, 200)
  for (const [id, status] of [
    ['cntr_of_all001', 200],
    ['cntr_of_all002', 200],
    ['cntr_of_owner1', 404],
  ] as const)
    t.equal((await get(OTHER, `/v1/containers/${id}`)).status, status, id)
})
