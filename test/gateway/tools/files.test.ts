/** /v1/files over HTTP: uploads, lists and downloads, the limits of a key, and what nobody else may see. */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { receiveFile } from '../../../src/server/file-routes.ts'
import type { OperationRequest } from '../../../src/server/gateway.ts'
import { DiskFiles, type KeyFiles } from '../../../src/services/files/index.ts'
import { FakeClock, turns } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import type { Upstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const OTHER = 'sk-router-v1-other0123456789abcdef'
const BOSS = 'sk-router-v1-boss00123456789abcdef'
const MARK = 'marked-content-7731'

interface KeepingFiles {
  gateway: Gateway
  model: Upstream
  directory: string
  openai: OpenAI
}

async function keepingFiles(
  t: Test,
  { files = '', dialect = 'openai-chat', more = {} as { server?: string } } = {},
): Promise<KeepingFiles> {
  const directory = t.testdir()
  const { gateway, upstream: model } = await startScene(t, {
    answer: says({ text: ['Read.'] }),
    yaml: `
server: { host: 127.0.0.1, port: 0${more.server ?? ''} }
store: { url: "memory:", files: { path: "${directory}/kept"${files} } }
auth:
  keys:
    - { name: test, key: "${KEY}", provider_ids: [ file-abc123, file_011CNha8iCJcU1wXNR6q4V8w, "file-6F*" ] }
    - { name: other, key: "${OTHER}" }
    - { name: boss, key: "${BOSS}", management: true }
`,
    dialect,
    model: 'input: [ text, image, file ]',
  })
  return { gateway, model, directory, openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 }) }
}

const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

function uploadForm(bytes: Buffer | string, name = 'a.txt', fields: Record<string, string> = { purpose: 'user_data' }): FormData {
  const form = new FormData()
  for (const [field, value] of Object.entries(fields)) form.append(field, value)
  form.append('file', new File([bytes], name))
  return form
}

function upload({ gateway }: KeepingFiles, form: FormData, key = KEY, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.url}/v1/files`, { method: 'POST', headers: { ...as(key), ...headers }, body: form })
}

async function put(scene: KeepingFiles, bytes: Buffer | string, name?: string): Promise<string> {
  return String(((await (await upload(scene, uploadForm(bytes, name))).json()) as JsonObject).id)
}

/** Names of all that lies on disk. */
function kept({ directory }: KeepingFiles): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('file-'))
}

/** The status, and the message of the error. */
async function told(reply: Response): Promise<{ status: number; message: string }> {
  const { error } = (await reply.json()) as { error: { code: number; message: string } }
  return { status: reply.status, message: error.code === reply.status ? error.message : `code ${error.code}` }
}

t.test('the official SDK uploads, lists, reads and deletes', async (t) => {
  const { openai } = await keepingFiles(t)
  const bytes = randomBytes(300_000)
  const file = await openai.files.create({ file: await toFile(bytes, 'größe.bin'), purpose: 'user_data' })
  t.match(file, { object: 'file', bytes: 300_000, filename: 'größe.bin', purpose: 'user_data', status: 'processed' })
  t.type(file.created_at, 'number')
  const others: string[] = []
  for (const text of ['one', 'two', 'three'])
    others.push(
      (await openai.files.create({ file: await toFile(Buffer.from(text), `${text}.txt`, { type: 'text/plain' }), purpose: 'assistants' }))
        .id,
    )
  const listed: string[] = []
  for await (const each of openai.files.list({ limit: 2, order: 'asc' })) listed.push(each.id)
  t.same(listed, [file.id, ...others])
  const newest = await openai.files.list()
  t.same(
    newest.data.map(({ id }) => id),
    [...listed].reverse(),
  )
  t.equal(newest.has_more, false)
  t.same(
    (await openai.files.list({ purpose: 'user_data' })).data.map(({ id }) => id),
    [file.id],
  )
  t.same(await openai.files.retrieve(file.id), file)
  const content = await openai.files.content(file.id)
  t.ok(Buffer.from(await content.arrayBuffer()).equals(bytes))
  t.match(content.headers.get('content-disposition'), "filename*=UTF-8''gr%C3%B6%C3%9Fe.bin")
  t.same(await openai.files.delete(file.id), { id: file.id, object: 'file', deleted: true })
  await t.rejects(openai.files.retrieve(file.id), { message: /^404/ })
  await t.rejects(openai.files.content(file.id), { message: /^404/ })
  await t.rejects(openai.files.delete(file.id), { message: /^404/ })
})

t.test('clients of messages see their own form', async (t) => {
  const here = await keepingFiles(t)
  const version = { 'anthropic-version': '2023-06-01' }
  const form = new FormData()
  form.append('file', new File(['x'], 'a.pdf', { type: 'application/pdf' }))
  const file = (await (await upload(here, form, KEY, version)).json()) as JsonObject
  t.match(file, { type: 'file', filename: 'a.pdf', mime_type: 'application/pdf', size_bytes: 1, downloadable: true })
  t.match(file.created_at, /^\d{4}-\d\d-\d\dT/)
  const headers = { ...as(KEY), ...version }
  const list = (await (await fetch(`${here.gateway.url}/v1/files?limit=1`, { headers })).json()) as JsonObject
  t.same(list, { data: [file], has_more: false, first_id: file.id, last_id: file.id })
  const gone = await fetch(`${here.gateway.url}/v1/files/${file.id}`, { method: 'DELETE', headers })
  t.same(await gone.json(), { id: file.id, type: 'file_deleted' })
})

t.test('another key does not find a file, a management key has none, a stranger gets nothing', async (t) => {
  const here = await keepingFiles(t)
  const id = await put(here, 'mine')
  const paths = [`/v1/files/${id}`, `/v1/files/${id}/content`]
  for (const path of paths) {
    t.same(await told(await here.gateway.get(path, as(OTHER))), { status: 404, message: 'No such file' })
    t.equal((await here.gateway.get(path, as(BOSS))).status, 403)
    t.equal((await fetch(here.gateway.url + path)).status, 401)
  }
  t.equal((await fetch(here.gateway.url + paths[0], { method: 'DELETE', headers: as(OTHER) })).status, 404)
  const list = (await (await here.gateway.get('/v1/files', as(OTHER))).json()) as JsonObject
  t.same(list, { object: 'list', data: [], has_more: false, first_id: null, last_id: null })
  t.equal((await upload(here, uploadForm('x'), BOSS)).status, 403)
  t.equal((await upload(here, uploadForm('x'), 'sk-router-v1-nobody')).status, 401)
  t.equal((await here.gateway.get(`/v1/files/${id}/content`)).status, 200)
  t.same(kept(here).length, 2, 'nothing was written for any of them')
})

t.test('other methods, paths and queries', async (t) => {
  const here = await keepingFiles(t)
  const id = await put(here, 'x')
  const cases: [method: string, path: string, status: number, allow?: string][] = [
    ['PUT', '/v1/files', 405, 'GET, POST'],
    ['PATCH', `/v1/files/${id}`, 405, 'GET, DELETE'],
    ['DELETE', `/v1/files/${id}/content`, 405, 'GET'],
    ['GET', `/v1/files/${id}/other`, 404],
    ['GET', '/v1/files/..%2f..%2fetc%2fpasswd', 404],
    ['GET', '/v1/files/file-0000/content', 404],
    ['GET', '/v1/files?limit=0', 400],
    ['GET', '/v1/files?limit=10001', 400],
    ['GET', '/v1/files?order=up', 400],
    ['GET', '/v1/files?before_id=x', 400],
  ]
  await every(t, 'every case', async (t) => {
    for (const [method, path, status, allow] of cases) {
      const reply = await fetch(here.gateway.url + path, { method, headers: as(KEY) })
      t.equal((await told(reply)).status, status, `${method} ${path}`)
      if (allow) t.equal(reply.headers.get('allow'), allow)
    }
  })
  const head = await fetch(`${here.gateway.url}/v1/files/${id}/content`, { method: 'HEAD', headers: as(KEY) })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), '1')
})

t.test('forms that are refused name what is wrong, and leave nothing', async (t) => {
  const here = await keepingFiles(t, { files: ', max_file: 1KB' })
  const twice = uploadForm('x')
  twice.append('file', new File(['y'], 'b.txt'))
  const none = new FormData()
  none.append('purpose', 'user_data')
  const cases: [string, FormData, number, RegExp][] = [
    ['no file', none, 400, /^file: is required/],
    ['two files', twice, 400, /^file: was sent twice/],
    ['a purpose that is none', uploadForm('x', 'a', { purpose: 'Über' }), 400, /^purpose: /],
    ['a long purpose', uploadForm('x', 'a', { purpose: 'p'.repeat(2000) }), 400, /^purpose: /],
    ['an end', uploadForm('x', 'a', { 'expires_after[anchor]': 'created_at' }), 400, /^expires_after\[anchor\]: /],
    ['a long name', uploadForm('x', 'n'.repeat(256)), 400, /^file: expected a file name/],
    ['a long file', uploadForm(Buffer.alloc(1025)), 413, /larger than 1024 bytes/],
    ['a far too long file', uploadForm(Buffer.alloc(200_000)), 413, /1024 bytes/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [what, form, status, message] of cases) t.match(await told(await upload(here, form)), { status, message }, what)
  })
  const bodies: [string, string | undefined, string, number][] = [
    ['JSON', 'application/json', '{}', 415],
    ['no type', undefined, 'x', 415],
    ['no boundary', 'multipart/form-data', 'x', 400],
    ['cut short', 'multipart/form-data; boundary=a', '--a\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf', 400],
    ['nothing', 'multipart/form-data; boundary=a', '', 400],
  ]
  for (const [what, type, body, status] of bodies) {
    const headers: Record<string, string> = { ...as(KEY), ...(type === undefined ? {} : { 'content-type': type }) }
    const reply = await fetch(`${here.gateway.url}/v1/files`, { method: 'POST', headers, body: Buffer.from(body) })
    t.equal((await told(reply)).status, status, what)
  }
  const zipped = await fetch(`${here.gateway.url}/v1/files`, {
    method: 'POST',
    headers: { ...as(KEY), 'content-type': 'multipart/form-data; boundary=a', 'content-encoding': 'gzip' },
    body: 'x',
  })
  t.equal(zipped.status, 415)
  t.same(kept(here), [])
  t.equal((await upload(here, uploadForm(Buffer.alloc(1024)))).status, 200, 'and what just fits is taken')
})

t.test('the quota of a key counts over uploads at once, and is its own', async (t) => {
  const here = await keepingFiles(t, { files: ', max_bytes: 1MB, max_file: 512KB' })
  const replies = await Promise.all(Array.from({ length: 12 }, () => upload(here, uploadForm(randomBytes(200_000)))))
  const taken = replies.filter(({ status }) => status === 200).length
  t.ok(taken >= 1 && taken <= 5, `${taken} of 12 fit`)
  for (const reply of replies) if (reply.status !== 200) t.match(await told(reply), { status: 413, message: /1048576 bytes together/ })
  t.equal(kept(here).length, taken * 2)
  t.equal((await upload(here, uploadForm(randomBytes(200_000)), OTHER)).status, 200)
  while ((await upload(here, uploadForm(randomBytes(200_000)))).status === 200);
  t.equal(kept(here).filter((name) => name.endsWith('.json')).length, 6, 'in the end five fit, and one of the other key')
})

t.test('a caller that leaves in the middle leaves nothing behind', async (t) => {
  const here = await keepingFiles(t)
  const client = await RawClient.open(here.gateway.url)
  const type = 'content-type: multipart/form-data; boundary=a'
  client.send(`POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\n${type}\r\ncontent-length: 100000\r\n\r\n`)
  client.send(`--a\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${'x'.repeat(5000)}`)
  await eventually('the file', () => kept(here).length > 0)
  const { data } = (await (await here.gateway.get('/v1/files')).json()) as { data: JsonObject[] }
  t.same(data, [], 'nobody sees half a file')
  client.close()
  await eventually('the end', () => kept(here).length === 0)
  t.notOk(here.gateway.logs.some((line) => line.includes('unexpected')))
})

t.test('a drain waits for an upload that is under way', async (t) => {
  const here = await keepingFiles(t)
  const client = await RawClient.open(here.gateway.url)
  const body = `--a\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nfirst last\r\n--a--`
  const at = body.indexOf('last')
  const type = 'content-type: multipart/form-data; boundary=a'
  client.send(`POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\n${type}\r\ncontent-length: ${body.length}\r\n\r\n`)
  client.send(body.slice(0, at))
  await eventually('the file', () => kept(here).length > 0)
  const drained = here.gateway.running.drain.begin()
  client.send(body.slice(at))
  t.same(await drained, { cut: 0 })
  await eventually('the reply', () => client.ended)
  t.match(client.text, /^HTTP\/1\.1 200/)
  t.match(client.text, /connection: close/i)
  t.equal(kept(here).length, 2)
})

t.test('an upload is taken as fast as the disk writes it', async (t) => {
  const boundary = 'a'
  const edge = Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="big"\r\n\r\n`)
  let asked = 0
  async function* pieces(): AsyncGenerator<Buffer> {
    yield edge
    for (; asked < 100; asked++) yield Buffer.alloc(1000)
    yield Buffer.from(`\r\n--${boundary}--`)
  }
  const gates: (() => void)[] = []
  let bytes = 0
  const facts = { id: 'file-x', created: 0, sha256: '' }
  const slow: Pick<KeyFiles, 'begin'> = {
    begin: async () => ({
      write: (chunk) => {
        bytes += chunk.length
        return new Promise((resolve) => gates.push(resolve))
      },
      finish: async (given) => ({ ...facts, ...given, bytes }),
      abandon: async () => {},
    }),
  }
  const request = { headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } }
  const received = receiveFile({ request, readPieces: pieces } as unknown as OperationRequest, slow as KeyFiles, {
    maxFile: 1e6,
    form: 'usual',
  })
  await every(t, 'every round', async (t) => {
    for (let written = 1; written <= 50; written++) {
      await eventually('a write', () => gates.length > 0)
      await turns(5)
      t.ok(asked <= written, `${asked} pieces asked for, ${written} at the disk`)
      gates.shift()?.()
    }
  })
  const rest = setInterval(() => gates.shift()?.())
  t.match(await received, { bytes: 100_000, filename: 'big' })
  clearInterval(rest)
})

t.test('a download waits for whoever reads it', async (t) => {
  const here = await keepingFiles(t, { files: ', max_file: 80MB' })
  const store = new DiskFiles({ path: join(here.directory, 'kept'), maxFile: 1e8, maxBytes: 1e8 }, { now: () => Date.now() })
  const piece = randomBytes(1024 * 1024)
  const writing = await store.of('test').begin()
  for (let i = 0; i < 64; i++) await writing.write(piece)
  const { id } = await writing.finish({ name: 'big', purpose: 'user_data', type: 'text/plain' })
  const before = process.memoryUsage().arrayBuffers
  const client = await RawClient.open(here.gateway.url)
  client.pause().send(`GET /v1/files/${id}/content HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\n\r\n`)
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 20; i++) t.equal((await here.gateway.get('/v1/files')).status, 200, 'nobody else waits')
  })
  t.ok(process.memoryUsage().arrayBuffers - before < 32 * 1024 * 1024, 'of 64 MB')
  client.close()
  const whole = await here.gateway.get(`/v1/files/${id}/content`)
  let size = 0
  for await (const chunk of whole.body as unknown as AsyncIterable<Uint8Array>) size += chunk.length
  t.equal(size, 64 * piece.length)
})

const QUESTIONS: Readonly<Record<string, (id: string) => { path: string; body: JsonObject; field: string }>> = {
  responses: (id) => ({
    path: '/v1/responses',
    body: {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Read.' },
            { type: 'input_file', file_id: id },
          ],
        },
      ],
    },
    field: 'input[0].content[1].file_id',
  }),
  chat: (id) => ({
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }] },
    field: 'messages[0].content[0].file.file_id',
  }),
  messages: (id) => ({
    path: '/v1/messages',
    body: { max_tokens: 50, messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: id } }] }] },
    field: 'messages[0].content[0].source.file_id',
  }),
}

t.test('a part that names a file goes on with its bytes, in every format', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'openai-responses', 'anthropic', 'gemini']) {
      const here = await keepingFiles(t, { dialect })
      const bytes = Buffer.from(`%PDF-1.4 ${MARK}`)
      const id = await put(here, bytes, 'paper.pdf')
      for (const [client, question] of Object.entries(QUESTIONS)) {
        const { path, body, field } = question(id)
        const where = `${client} to ${dialect}`
        const reply = await here.gateway.post(path, { model: 'acme/one', ...body })
        t.equal(reply.status, 200, where)
        const seen = here.model.requests.at(-1)?.body ?? ''
        t.ok(seen.includes(bytes.toString('base64')), `${where}: the bytes are there`)
        t.ok(seen.includes('application/pdf'), `${where}: with their type`)
        t.notOk(seen.includes(id), `${where}: and no id that the provider does not know`)
        const count = here.model.requests.length
        const unknown = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
        const missing = question(unknown)
        t.match(await told400(here.gateway, missing.path, missing.body), { status: 400, message: `${field}: no such file` }, where)
        t.equal((await here.gateway.post(path, { model: 'acme/one', ...body }, as(OTHER))).status, 400, `${where}: nor is another key's`)
        t.equal(here.model.requests.length, count)
      }
      t.notMatch(here.gateway.logs.join('\n'), new RegExp(`${MARK}|${bytes.toString('base64')}`), 'no content in the log')
    }
  })
})

async function told400(gateway: Gateway, path: string, body: JsonObject): Promise<{ status: number; message: string }> {
  const reply = await gateway.post(path, { model: 'acme/one', ...body })
  const { error } = (await reply.json()) as { error: { message: string } }
  return { status: reply.status, message: error.message }
}

t.test('an image by its id, and text by its id', async (t) => {
  const here = await keepingFiles(t)
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  const id = await put(here, png, 'no-extension')
  const content = [{ type: 'input_image', file_id: id, detail: 'low' }]
  t.equal((await here.gateway.post('/v1/responses', { model: 'acme/one', input: [{ role: 'user', content }] })).status, 200)
  t.match(here.model.requests.at(-1)?.json, {
    messages: [{ content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}`, detail: 'low' } }] }],
  })
  const notes = await put(here, 'plain words', 'notes.txt')
  const { path, body } = QUESTIONS.chat(notes)
  t.equal((await here.gateway.post(path, { model: 'acme/one', ...body })).status, 200)
  const url = `data:text/plain;base64,${Buffer.from('plain words').toString('base64')}`
  t.match(here.model.requests.at(-1)?.json, {
    messages: [{ content: [{ type: 'file', file: { file_data: url, filename: 'notes.txt' } }] }],
  })
})

t.test('ids of a provider pass as they are', async (t) => {
  const here = await keepingFiles(t, { dialect: 'openai-responses' })
  for (const id of ['file-abc123', 'file_011CNha8iCJcU1wXNR6q4V8w', 'file-6F2ksmvXxt4VdoqmHRw6kL']) {
    const { path, body } = QUESTIONS.responses(id)
    t.equal((await here.gateway.post(path, { model: 'acme/one', ...body })).status, 200)
    t.match(here.model.requests.at(-1)?.json, { input: [{ content: [{}, { type: 'input_file', file_id: id }] }] })
  }
})

t.test('files of one request together are bounded', async (t) => {
  const here = await keepingFiles(t, { more: { server: ', max_body: 1MB' } })
  const [one, two] = [await put(here, randomBytes(600_000), 'a.pdf'), await put(here, randomBytes(600_000), 'b.pdf')]
  const content = [one, two].map((file_id) => ({ type: 'input_file', file_id }))
  const reply = await here.gateway.post('/v1/responses', { model: 'acme/one', input: [{ role: 'user', content }] })
  t.match(await told(reply), { status: 413, message: /^input\[0\]\.content\[1\]\.file_id: / })
  const again = [{ role: 'user', content: [one, one].map((file_id) => ({ type: 'input_file', file_id })) }]
  t.match(
    await told(await here.gateway.post('/v1/responses', { model: 'acme/one', input: again })),
    { status: 413, message: /^input\[0\]\.content\[0\]\.file_id: / },
    'one that is named twice goes on twice',
  )
  t.same(here.model.requests.length, 0)
})

t.test('files of a key that is deleted go with it', async (t) => {
  const here = await keepingFiles(t)
  const headers = { ...as(BOSS), 'content-type': 'application/json' }
  const made = await fetch(`${here.gateway.url}/v1/keys`, { method: 'POST', headers, body: JSON.stringify({ name: 'short-lived' }) })
  const { data, key } = (await made.json()) as { data: { hash: string }; key: string }
  t.equal((await upload(here, uploadForm('theirs'), key)).status, 200)
  await put(here, 'mine')
  t.equal(kept(here).length, 4)
  t.equal((await fetch(`${here.gateway.url}/v1/keys/${data.hash}`, { method: 'DELETE', headers })).status, 200)
  t.equal(kept(here).length, 2)
  t.equal((await upload(here, uploadForm('again'), key)).status, 401)
})

t.test('files stay when the gateway starts anew, and a reload does not move them', async (t) => {
  const directory = t.testdir()
  const yaml = (path: string): string => `
store: { url: "sqlite:${join(directory, 'headgate.db')}"${path} }
${oneModel('http://127.0.0.1:9', 'openai-chat')}`
  const gateway = await startGateway(yaml(''), { directory })
  t.teardown(() => gateway.close())
  const sent = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers: as(KEY), body: uploadForm('kept') })
  const { id } = (await sent.json()) as JsonObject
  t.ok(readdirSync(join(directory, 'files')).length === 1, 'beside the database')
  await gateway.restart()
  t.equal(await (await gateway.get(`/v1/files/${id}/content`)).text(), 'kept')
  t.equal((await gateway.reconfigure(yaml(', files: { path: elsewhere }'))).kind, 'refused')
  t.equal((await gateway.get(`/v1/files/${id}`)).status, 200)
})

t.test('uploads and lists count in the requests of the key', async (t) => {
  const clock = new FakeClock()
  const gateway = await startGateway(
    `
store: { url: "memory:", files: { path: "${t.testdir()}/kept" } }
auth: { keys: [ { name: test, key: "${KEY}", limits: { requests: 3 } } ] }
${oneModel('http://127.0.0.1:1', 'openai-chat')}`,
    { clock },
  )
  t.teardown(() => gateway.close())
  const send = () => fetch(`${gateway.url}/v1/files`, { method: 'POST', headers: as(KEY), body: uploadForm('hello') })
  const { id } = (await (await send()).json()) as { id: string }
  for (let i = 0; i < 2; i++) t.equal((await gateway.get('/v1/files')).status, 200)
  for (const refused of [await send(), await gateway.get('/v1/files')]) {
    t.equal(refused.status, 429)
    t.equal(refused.headers.get('retry-after'), '20')
    t.match(await told(refused), { message: /^Rate limit exceeded: 3 requests per minute for the key / })
  }
  for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) t.equal((await gateway.get(path)).status, 200, path)
  t.equal((await fetch(`${gateway.url}/v1/files/${id}`, { method: 'DELETE', headers: as(KEY) })).status, 200)
  await clock.advance(20_000)
  const list = (await (await gateway.get('/v1/files')).json()) as { data: unknown[] }
  t.same(list.data, [])
})
