/**
 * Ids that another key got are found in what is uploaded: fields of a form, lines of a data set, JSON under the type of a file; and
 * whatever holds none goes through as it came.
 */
import { gzipSync } from 'node:zlib'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const KEYS = {
  owner: 'sk-router-v1-owner-0123456789abcdef01',
  other: 'sk-router-v1-other-0123456789abcdef01',
  limited: 'sk-router-v1-limited-0123456789abcdef',
}
type Key = keyof typeof KEYS
const FILE = 'file-of-the-owner1'

async function scene(t: Test) {
  let uploads = 0
  const place = await startScene(t, {
    answer: ({ method, path }) => {
      if (method !== 'POST') return jsonAnswer({})
      return jsonAnswer(path.endsWith('/first') ? { id: FILE, name: 'cachedContents/abc123' } : { id: `file-uploaded-${++uploads}` })
    },
    config: (url) => `
auth:
  keys:
    - { name: owner, key: "${KEYS.owner}", pass_through: true }
    - { name: other, key: "${KEYS.other}", pass_through: true }
    - { name: limited, key: "${KEYS.limited}", limit: "1000.00", pass_through: true }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001", unread_price: "0.01" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "10.00" } } ] } }
`,
  })
  const send = (key: Key, path: string, body: string | Buffer, type: string, more: Record<string, string> = {}) =>
    fetch(`${place.gateway.url}/v1/passage/first${path}`, {
      method: 'POST',
      body: body as string,
      headers: { authorization: `Bearer ${KEYS[key]}`, 'content-type': type, ...more },
    }).then(async (reply) => ({ status: reply.status, text: await reply.text() }))
  t.equal((await send('owner', '/v1/first', '{}', 'application/json')).status, 200)
  return {
    ...place,
    send,
    sdk: (key: Key) => new OpenAI({ baseURL: `${place.gateway.url}/v1/passage/first/v1`, apiKey: KEYS[key], maxRetries: 0 }),
  }
}

const FORM = 'multipart/form-data; boundary=bound'
/** A form with one part. @param head beside the name. */
const form = (value: string, head = '', end = '\r\n'): string =>
  ['--bound', `Content-Disposition: form-data; name="file_id"${head}`, '', value, '--bound--', ''].join(end)
const line = `{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"model":"m","input":"x","previous_response_id":"${FILE}"}}`
const data = (content: string): string => form(content, '; filename="batch.jsonl"\r\nContent-Type: application/jsonl')
const wide = (text: string): Buffer => Buffer.from(text, 'utf16le')
const wideForm = (content: Buffer): Buffer => {
  const [before = '', after = ''] = data('CONTENT').split('CONTENT')
  return Buffer.concat([Buffer.from(before), content, Buffer.from(after)])
}
const NOISE = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * at * 31 + at * 7) % 251))

t.test("OpenAI's SDK: a file of another key in a form, and in the lines of a batch", async (t) => {
  const { sdk, upstream } = await scene(t)
  const uses = (key: Key): readonly (() => Promise<unknown>)[] => [
    () => sdk(key).containers.files.create('cntr_shared0001', { file_id: FILE }),
    async () => sdk(key).files.create({ file: await toFile(Buffer.from(`${line}\n`), 'batch.jsonl'), purpose: 'batch' }),
    () => sdk(key).videos.edit({ prompt: 'x', video: { id: FILE } }),
  ]
  for (const key of ['other', 'limited'] as const)
    for (const [at, use] of uses(key).entries()) {
      const before = upstream.requests.length
      await t.rejects(use, { status: 404, message: /no such id/ }, `${key}, ${at}`)
      t.equal(upstream.requests.length, before)
    }
  for (const use of uses('owner')) await t.resolves(use)
})

t.test('an id is found however an upload has it', async (t) => {
  const { send, upstream } = await scene(t)
  const long = '{"custom_id":"b","body":{"input":"some words"}}\n'.repeat(40_000)
  const bodies: Readonly<Record<string, readonly [body: string | Buffer, type: string, more?: Record<string, string>]>> = {
    'a field': [form(FILE), FORM],
    'lines that end otherwise': [form(FILE, '', '\n'), FORM],
    'a field among others': [`${form('assistants').replace('--bound--\r\n', '')}${form(FILE)}`, FORM],
    'a field with blanks': [form(` ${FILE}\r\n\r\n`), FORM],
    'a list in a field': [form(`["file-a00000","${FILE}"]`), FORM],
    'a list of many in a field': [form([...Array.from({ length: 200 }, (_, at) => `file-number-${at}`), FILE].join(',')), FORM],
    'a name of Google': [form('cachedContents/abc123'), FORM],
    'a name as paths are joined': [form('cachedContents/./abc123'), FORM],
    'a name as paths are joined, in JSON': ['{"cachedContent":"cachedContents/.//abc123"}', 'application/json'],
    'JSON in a field': [form(`{"id":"${FILE}"}`), FORM],
    'an epilogue': [`${form('a')}${FILE}\r\n--bound--\r\n`, FORM],
    'another boundary': [`--other\r\n\r\n${FILE}\r\n--other--\r\n`, FORM],
    'a quoted boundary': [form(FILE), 'Multipart/Related; Boundary="bound"; type="a/b"'],
    'a line': [data(line), FORM],
    'a line behind many': [data(`${long}${line}\n`), FORM],
    'a line behind a broken one': [data(`{"a\n${line}\n`), FORM],
    'a line behind bytes of all kinds': [wideForm(Buffer.concat([NOISE, Buffer.from(`\n${line}\n`)])), FORM],
    'with escapes': [data(line.replace(FILE, `\\u0066${FILE.slice(1)}`)), FORM],
    'in UTF-16': [wideForm(wide(`\ufeff${line}`)), FORM],
    'in UTF-16 with other letters': [wideForm(wide(`${line.replace('"x"', '"∀x∀"')}`).swap16()), FORM],
    'a coding around the form': [gzipSync(data(line)), FORM, { 'content-encoding': 'gzip' }],
    'JSON as a picture': [`{"file_id":"${FILE}"}`, 'image/png'],
    'JSON as bytes': [` \n{"file_id":"${FILE}"}`, 'application/octet-stream'],
    'lines as bytes': [`"x"\n${line}\n`, 'application/octet-stream'],
    'behind the begin of a picture': [Buffer.concat([NOISE, Buffer.from(line)]), 'image/png'],
    'a query': [`a=b&file_id=%66${FILE.slice(1)}`, 'application/x-www-form-urlencoded'],
    'JSON as a query': [`{"file_id":"${FILE}"}`, 'application/x-www-form-urlencoded'],
  }
  await every(t, 'every body', async (t) => {
    for (const [name, [body, type, more]] of Object.entries(bodies)) {
      const before = upstream.requests.length
      for (const key of ['other', 'limited'] as const) {
        const reply = await send(key, '/v1/things', body, type, more)
        t.equal(reply.status, 404, `${name}: ${key}`)
        t.match(reply.text, 'no such id')
      }
      t.equal(upstream.requests.length, before, `${name}: no whole request`)
      t.equal((await send('owner', '/v1/things', body, type, more)).status, 200, name)
      t.equal(upstream.requests.at(-1)?.body, body.toString('utf8'), `${name}: as it came`)
    }
  })
  const resumed = await send(
    'other',
    '/upload/v1beta/files?upload_id=a',
    `${long}{"request":{"cachedContent":"cachedContents/abc123"}}\n`,
    'application/jsonl',
  )
  t.equal(resumed.status, 404, 'a data set at Google')
})

t.test('a form in which servers may find different parts is refused', async (t) => {
  const { send, upstream } = await scene(t)
  const before = upstream.requests.length
  const coded = (head: string) => form('x', `\r\n${head}`)
  const cases: readonly [body: string, type: string, words: string][] = [
    [form('x'), 'multipart/form-data', 'expected one boundary'],
    [form('x'), 'multipart/form-data; boundary=a; boundary=bound', 'expected one boundary'],
    [form('x'), "multipart/form-data; boundary*=utf-8''bound", 'expected one boundary'],
    [form('x'), `${FORM}; charset=utf-16`, 'expected the charset utf-8'],
    [form('x'), `${FORM}; charset=utf-7`, 'expected the charset utf-8'],
    [coded('Content-Type: text/plain; charset=utf-16le'), FORM, 'expected the charset utf-8'],
    [coded('Content-Transfer-Encoding: base64'), FORM, 'expected the bytes as they are'],
    [coded('content-transfer-encoding:\r\n quoted-printable'), FORM, 'expected the bytes as they are'],
    [coded(`X: ${'x'.repeat(9_000)}`), FORM, 'in the head of a part'],
    [`a=${'x'.repeat(70_000)}`, 'application/x-www-form-urlencoded', 'may have 65536 bytes'],
  ]
  for (const [body, type, words] of cases) {
    const reply = await send('other', '/v1/things', body, type)
    t.match(String(reply.status), /^(?:400|413)$/, `${type}, ${words}`)
    t.match(reply.text, words)
  }
  t.equal(upstream.requests.length, before)
})

t.test('files of all kinds go through, and what they are called is theirs', async (t) => {
  const { send, upstream } = await scene(t)
  const mail =
    'From: a\r\nContent-Type: multipart/mixed; boundary=in\r\n\r\n--in\r\nContent-Transfer-Encoding: base64\r\n\r\neA==\r\n--in--\r\n'
  const lines = Array.from({ length: 30_001 }, (_, at) => `{"custom_id":"request-${at}","body":{"input":"-- ${at}"}}`).join('\n')
  const sql = Array.from({ length: 30_001 }, (_, at) => `-- table_number_${at}\nselect column_${at};`).join('\n')
  const bodies: readonly [body: string | Buffer, type: string][] = [
    [data(mail), FORM],
    [data(lines), FORM],
    [data(sql), FORM],
    [data(`see ${FILE}\n-- ${FILE}\n`), FORM],
    [wideForm(NOISE), FORM],
    [wideForm(wide('\ufeff"a";"b"\r\n')), FORM],
    [data(`{"body":{"messages":[{"tool_calls":[{"function":{"arguments":"{\\"file_id\\":\\"${FILE}\\"}"}}]}]}}`), FORM],
    [form('x', `\r\nContent-Type: text/plain; charset="UTF-8"\r\nContent-Transfer-Encoding: binary`), FORM],
    [form('é', '; filename="a"\r\nContent-Type: text/csv; charset=shift_jis'), `${FORM}; charset=UTF-8`],
    [NOISE, 'image/png'],
    [Buffer.from('\0\0\0 ftypisom\0\0\0\0', 'latin1'), 'video/mp4'],
    ['', FORM],
    ['a=b&c=d', 'application/x-www-form-urlencoded'],
  ]
  for (const [at, [body, type]] of bodies.entries()) {
    t.equal((await send('other', '/v1/files', body, type)).status, 200, `${type}, ${at}`)
    t.equal(upstream.requests.at(-1)?.body, body.toString('utf8'), 'as it came')
  }
})

t.test('a file under the type of a picture binds nothing that it names, and a new one is its own', async (t) => {
  const place = await scene(t)
  const { id } = JSON.parse((await place.send('other', '/v1/files', data(line.replace(FILE, 'resp_of-all0001')), FORM)).text) as {
    id: string
  }
  await t.resolves(place.sdk('other').files.retrieve(id))
  await t.rejects(place.sdk('owner').files.retrieve(id), { status: 404, message: /no such id/ })
  await t.resolves(place.sdk('owner').responses.retrieve('resp_of-all0001'))
})
