/** Ways in which a caller may try to name another key's id in a form that is not recognised, or to make an id unusable for others. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { every } from '../../support/every.ts'
import { rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'

const OWNER = 'sk-router-v1-owner-0123456789abcdef01'
const OTHER = 'sk-router-v1-other-0123456789abcdef01'
const LIMITED = 'sk-router-v1-limited-0123456789abcdef'
const FILE = 'file-of-the-owner1'

const urlConfig = (url: string): string => `
auth:
  keys:
    - { name: owner, key: "${OWNER}", pass_through: true }
    - { name: other, key: "${OTHER}", pass_through: true }
    - { name: limited, key: "${LIMITED}", limit: "10.00", pass_through: true }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "10.00" } } ] } }
`

const scene = (t: Test, answer: (seen: Seen) => Answer) => startScene(t, { answer, config: urlConfig, directory: t.testdir() })
type Place = Awaited<ReturnType<typeof scene>>

/** Sends a request line as it stands. @returns the status. */
async function send({ gateway }: Place, key: string, line: string, body = '', more = '', type = 'application/json'): Promise<number> {
  const [method, path] = line.split(' ', 2)
  const head = `${method} /v1/passage/first${path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${more}`
  const content = body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  return Number((await rawExchange(gateway.url, `${head}${content}\r\n${body}`)).split(' ')[1])
}

const post = (place: Place, key: string, path: string, body: string | Buffer = '{}', type = 'application/json') =>
  fetch(`${place.gateway.url}/v1/passage/first${path}`, {
    method: 'POST',
    body: body as string,
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
  }).then(async (reply) => {
    await reply.text()
    return reply.status
  })

t.test('an id in a path is found however it is written', async (t) => {
  const place = await scene(t, ({ method, path }) => {
    if (method !== 'POST') return jsonAnswer({})
    return jsonAnswer(path.endsWith('Contents') ? { name: 'cachedContents/abc123' } : { id: path.endsWith('files') ? FILE : 'vs_of_all1' })
  })
  for (const path of ['/v1/files', '/v1beta/cachedContents']) t.equal(await post(place, OWNER, path), 200)
  await every(t, 'every path', async (t) => {
    for (const path of [
      `/v1/files/%66${FILE.slice(1)}?x=%ff`,
      `/v1/files/%66${FILE.slice(1)}?x=%`,
      `/v1/files/%66${FILE.slice(1)}?%zz`,
      `/v1/files\\${FILE}`,
      `/v1/files/${FILE};a=1`,
      `/v1/files?ids=a,${FILE}`,
      `/v1/files/${FILE}%20`,
      '/v1beta/cachedContents//abc123',
      `//v1/files/%66${FILE.slice(1)}`,
      '/v1beta/cachedContents/./abc123',
      '/v1beta/cachedContents/a/../abc123',
      '/v1beta/cachedContents/a/%2e%2e/%61bc123?x=%ff',
      '/v1beta/cachedContents%2Fa%2F..%2Fabc123',
      '/v1beta/x%23/cachedContents/a/%2e%2e/%61bc123',
    ]) {
      t.equal(await send(place, OTHER, `GET ${path}`), 404, path)
      t.equal(await send(place, OWNER, `GET ${path}`), 200, path)
    }
  })
  t.equal(await send(place, OTHER, 'POST /v1/vector_stores/%76s_of_all1?x=%ff', '{}'), 200)
  t.equal(await send(place, OWNER, 'GET /v1/vector_stores/vs_of_all1'), 200, 'what was named is not bound')
})

t.test('a long id is found where each letter of it is an escape', async (t) => {
  const id = `file-${'a'.repeat(200)}`
  const place = await scene(t, ({ method, path }) => jsonAnswer(method === 'POST' && path.endsWith('files') ? { id } : {}))
  t.equal(await post(place, OWNER, '/v1/files'), 200)
  const escaped = [...id].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')
  for (const text of [id, escaped]) {
    t.equal(await post(place, OTHER, '/v1/things', `{"file_id":"${text}"}`), 404)
    t.equal(await post(place, OWNER, '/v1/things', `{"file_id":"${text}"}`), 200)
  }
})

t.test('JSON in an encoding in which no id is found is refused, and media that begin alike are not', async (t) => {
  const place = await scene(t, ({ method, path }) => jsonAnswer(method === 'POST' && path.endsWith('files') ? { id: FILE } : {}))
  t.equal(await post(place, OWNER, '/v1/files'), 200)
  const text = JSON.stringify({ file_id: FILE })
  const little = Buffer.from(text, 'utf16le')
  const wide = Buffer.from([...text].flatMap((letter) => [0, 0, 0, letter.charCodeAt(0)]))
  const bodies = [little, Buffer.from(`\ufeff${text}`, 'utf16le'), Buffer.from(little).swap16(), wide, Buffer.from(wide).swap32()]
  for (const body of bodies) t.equal(await post(place, OTHER, '/v1/things', body), 400)
  const zipped = await fetch(`${place.gateway.url}/v1/passage/first/v1/things`, {
    method: 'POST',
    body: gzipSync(little),
    headers: { authorization: `Bearer ${OTHER}`, 'content-encoding': 'gzip' },
  })
  t.equal(zipped.status, 404, 'without a type it is found, whatever its letters are')
  // A box of MP4.
  t.equal(await post(place, OTHER, '/v1/things', Buffer.from('\0\0\0 ftypisom\0\0\0\0', 'latin1'), ''), 200)
})

t.test('streams give ids as whole replies do', async (t) => {
  const frames: Readonly<Record<string, readonly string[]>> = {
    '/v1/chat/completions': ['{"id":"chatcmpl-kept00001","object":"chat.completion.chunk","choices":[{"index":0,"delta":{}}]}', '[DONE]'],
    '/v1beta/interactions': ['{"event_type":"interaction.created","interaction":{"id":"int_kept00001"}}'],
    '/v1/threads/runs': ['{"id":"thread_kept001","object":"thread"}', '{"id":"run_kept000001","object":"thread.run"}'],
  }
  const place = await scene(t, ({ method, path }) =>
    method === 'POST' ? sseAnswer((frames[path] ?? []).map((data) => `data: ${data}\n\n`)) : jsonAnswer({}),
  )
  for (const path of Object.keys(frames)) t.equal(await post(place, OWNER, path, '{"store":true,"stream":true}'), 200, path)
  for (const path of ['chat/completions/chatcmpl-kept00001', 'interactions/int_kept00001', 'threads/thread_kept001', 'a/run_kept000001']) {
    t.equal(await send(place, OTHER, `GET /v1/${path}`), 404, path)
    t.equal(await send(place, OWNER, `GET /v1/${path}`), 200, path)
  }
  t.equal(await post(place, OWNER, '/v1/chat/completions', '{"stream":true}'), 200)
})

t.test('a name that a caller gives in an upload is no id: it may be that of a model', async (t) => {
  const place = await scene(t, ({ path }) => jsonAnswer(path.endsWith('skills') ? { id: 'skill_000001', name: 'gpt-of-all' } : {}))
  t.equal(await post(place, OTHER, '/v1/skills', '--x\r\n\r\nname: GPT of all\r\n--x--', 'multipart/form-data; boundary=x'), 200)
  t.equal(await post(place, OWNER, '/v1/things', '{"model":"gpt-of-all"}'), 200)
  t.equal(await post(place, OWNER, '/v1/things', '{"skill":"skill_000001"}'), 404)
})

t.test('a new key of the provider does not open what was made with the one before', async (t) => {
  const place = await scene(t, ({ method }) => jsonAnswer(method === 'POST' ? { id: FILE } : {}))
  t.equal(await post(place, OWNER, '/v1/files'), 200)
  t.match(await place.gateway.reconfigure(urlConfig(place.upstream.url).replace('sk-provider', 'sk-rotated')), { kind: 'applied' })
  t.equal(await send(place, OTHER, `GET /v1/files/${FILE}`), 404)
  t.equal(await send(place, OWNER, `GET /v1/files/${FILE}`), 200)
})

t.test('a body in several codings at once is refused, since no id is found in it', async (t) => {
  const place = await scene(t, ({ method, path }) => jsonAnswer(method === 'POST' && path.endsWith('files') ? { id: FILE } : {}))
  t.equal(await post(place, OWNER, '/v1/files'), 200)
  const body = gzipSync(gzipSync(JSON.stringify({ file_id: FILE })))
  for (const coding of ['gzip, gzip', 'gzip,x-gzip', 'lzma']) {
    const headers = { authorization: `Bearer ${OTHER}`, 'content-encoding': coding }
    const reply = await fetch(`${place.gateway.url}/v1/passage/first/v1/things`, { method: 'POST', body, headers })
    t.equal(reply.status, 400, coding)
  }
})

t.test('the lines of a data set that is uploaded are as many as they are, and no ids', async (t) => {
  const place = await scene(t, () => jsonAnswer({ file: { name: 'files/abc123', uri: 'https://host/v1beta/files/abc123' } }))
  const lines = Array.from({ length: 20_001 }, (_, at) => `{"custom_id":"request-${at}"}`).join('\n')
  for (const path of ['/upload/v1beta/files?upload_id=a', '/resumable/upload/v1beta/files?upload_id=a'])
    t.equal(await post(place, OWNER, path, lines, 'application/jsonl'), 200, path)
  for (const path of [
    '/upload/../v1beta/things',
    '/upload/%2e%2e/v1beta/things',
    '/upload%2F..%2Fv1beta/things',
    '/upload/a%2F..%2F..%2Fv1',
  ])
    for (const [type, status] of [
      ['application/json', 404],
      ['application/x-protobuf', 400],
    ] as const)
      t.equal(await send(place, OTHER, `POST ${path}`, '{"file":"files/abc123"}', '', type), status, `${path}: ${type}`)
})

t.test('a header that offers another protocol, without the one that asks for it, turns off no check', async (t) => {
  const place = await scene(t, ({ method, path }) => {
    if (method === 'GET') return jsonAnswer({ data: [{ id: FILE }, { id: 'file-made-elsewhere' }] })
    return jsonAnswer(path.endsWith('files') ? { id: FILE } : {})
  })
  t.equal(await post(place, OWNER, '/v1/files'), 200)
  for (const offer of ['websocket', 'h2c', '']) {
    const more = `Upgrade: ${offer}\r\n`
    t.equal(await send(place, OTHER, 'POST /v1/things', `{"file_id":"${FILE}"}`, more), 404, offer)
    t.equal(await send(place, OWNER, 'POST /v1/things', `{"file_id":"${FILE}"}`, more), 200, offer)
    const list = await rawExchange(
      place.gateway.url,
      `GET /v1/passage/first/v1/files HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer ${OTHER}\r\n${more}\r\n`,
    )
    t.match(list, 'file-made-elsewhere')
    t.notMatch(list, FILE)
    t.equal(await send(place, LIMITED, 'GET /v1/batches', '', more), 200, 'a key with a limit may list')
  }
})

/** With a file of the owner's. */
async function filled(t: Test): Promise<Place> {
  const place = await scene(t, ({ method, path }) => jsonAnswer(method === 'POST' && path.endsWith('files') ? { id: FILE } : {}))
  t.equal(await post(place, OWNER, '/v1/files'), 200)
  return place
}

t.test('a content coding that the body does not have hides nothing', async (t) => {
  const place = await filled(t)
  const sent = (body: string | Buffer, coding: string, type = 'application/json') =>
    fetch(`${place.gateway.url}/v1/passage/first/v1/things`, {
      method: 'POST',
      body: body as string,
      headers: { authorization: `Bearer ${OTHER}`, 'content-encoding': coding, 'content-type': type },
    }).then(({ status }) => status)
  const text = JSON.stringify({ file_id: FILE })
  await every(t, 'every coding', async (t) => {
    for (const coding of ['gzip', 'x-gzip', 'deflate', 'br', 'zstd']) t.equal(await sent(text, coding), 400, coding)
    for (const [coding, whole] of [
      ['gzip', gzipSync('{}')],
      ['deflate', deflateSync('{}')],
      ['deflate', deflateRawSync('{}')],
      ['br', brotliCompressSync('{}')],
    ] as const) {
      t.equal(await sent(whole, coding), 200, coding)
      t.equal(await sent(Buffer.concat([whole, Buffer.from(`\0${text}`)]), coding), 400, `${coding}: bytes behind the end`)
      t.equal(await sent(whole.subarray(0, -1), coding), 400, `${coding}: no end`)
    }
  })
  // The name of a file in the head of gzip (RFC 1952 section 2.3): for a server that takes the bytes as they are, a part of a form.
  const named = (body: string, name: string): Buffer => {
    const plain = gzipSync(body)
    plain[3] = 8
    return Buffer.concat([plain.subarray(0, 10), Buffer.from(`\r\n${name}\0`), plain.subarray(10)])
  }
  t.equal(await sent(named(FORM('a', 'b'), FORM('file_id', FILE)), 'gzip', 'multipart/form-data; boundary=x'), 404)
  for (const type of ['application/json', 'application/octet-stream']) {
    t.equal(await sent(named('{}', '{"file_id":"file-made-elsewhere"}\n'), 'gzip', type), 200, type)
    t.equal(
      await sent(named('{}', `${text}\n`), 'gzip', type),
      404,
      `${type}: a line of a data set for a server that takes the bytes as they are`,
    )
  }
  t.equal(await sent(gzipSync(`file_id=${FILE}`), 'gzip', 'application/x-www-form-urlencoded'), 400)
})

/** A form with one part. */
const FORM = (name: string, value: string, head = `Content-Disposition: form-data; name="${name}"`, boundary = 'x'): string =>
  `--${boundary}\r\n${head}\r\n\r\n${value}\r\n--${boundary}--\r\n`

t.test('a field is looked at whatever its head calls it, and however long it is', async (t) => {
  const place = await filled(t)
  const status = (key: string, body: string) => post(place, key, '/v1/things', body, 'multipart/form-data; boundary=x')
  const name = 'Content-Disposition: form-data; name="file_id"'
  await every(t, 'every field', async (t) => {
    for (const head of [
      'Content-Disposition: form-data; name="filename"',
      `${name}\r\nX-Filename: a`,
      `${name}; x="; filename=a"`,
      `${name}; filename=""`,
      `${name}; filename*=utf-8''a`,
      `${name}; filename="a\\"`,
      `${name}\r\nContent-Disposition: form-data; name="a"; filename="a"`,
      `Content-Disposition: form-data; name="a"; filename="a"\r\n${name}`,
      `${name};\r\n filename="a"`,
      `${name}; filename="a"\r\n ; filename=""`,
      `Content-Disposition: attachment; name="file_id"; filename="a"`,
      'Content-Disposition: form-data; filename="a"',
      `${name}; name="a"; filename="a"`,
      `${name}; filename="a\0"`,
      `X: a\r${name}; filename="a"`,
    ]) {
      t.equal(await status(OTHER, FORM('', FILE, head)), 404, head)
      t.equal(await status(OWNER, FORM('', FILE, head)), 200, head)
    }
    const blanks = ' '.repeat(9_000)
    const prose = 'some words of a prompt, '.repeat(4_000)
    for (const value of [`${FILE}${blanks}`, `${blanks}${FILE}${blanks}`, `${prose}${FILE} ${prose}`, `${'a/'.repeat(9_000)}${FILE}`]) {
      t.equal(await status(OTHER, FORM('file_id', value)), 404)
      t.equal(await status(OWNER, FORM('file_id', value)), 200)
    }
    t.equal(await status(OTHER, FORM('prompt', prose)), 200, 'a long prompt')
    t.equal(await status(OTHER, `--x\r\n${name}\r\n\r\n${FILE}`), 404, 'without a last border')
    const file = `--x\r\n${name}; filename="a"\r\n\r\na\r\n`
    for (const blanks of ['', ' ', '\t ', '\v\f', '\xa0'])
      t.equal(
        await post(
          place,
          OTHER,
          '/v1/things',
          Buffer.from(`${file}--x${blanks}\r\n${name}\r\n\r\n${FILE}\r\n--x--`, 'latin1'),
          'multipart/form-data; boundary=x',
        ),
        404,
        'blanks behind a border',
      )
    t.equal(await status(OTHER, `${file}--x--\r\n${FILE}`), 404, 'behind the last border')
    t.equal(await status(OTHER, `${file}--x\r\n${name}\r\n${FILE}`), 404, 'in a head without an end')
    t.equal(await status(OTHER, `${file}--x\r\n\r\n${FILE}\r\n--x--`), 404, 'in a part without a head')
    for (const file of [
      `${name}; filename="a.txt"`,
      `Content-Type: text/plain\r\ncontent-disposition: form-data; filename="a.txt"; filename*=utf-8''a.txt; name="f"`,
    ])
      t.equal(await status(OTHER, FORM('', `see ${FILE}`, file)), 200, 'a word in a file is no id')
  })
  t.equal(await status(OTHER, `--x\r\n${name}; filename="a"\r\n--x\r\n${name}\r\n\r\n${FILE}\r\n--x--`), 400, 'a border in a head')
  t.equal(await status(OTHER, `--x${' '.repeat(20_000)}\r\n${name}\r\n\r\na\r\n--x--`), 400, 'blanks without end behind a border')
  t.equal(await status(OTHER, `--x\r\n${name}\r\n\r\na\r\n--x${' '.repeat(20_000)}`), 400, 'blanks without a line end')
})

t.test('an id that is a word of prose is found where a field names it', async (t) => {
  const place = await scene(t, ({ method, path }) => jsonAnswer(method === 'POST' && path.endsWith('voices') ? { id: 'narrator' } : {}))
  t.equal(await post(place, OWNER, '/v1/voices'), 200)
  const status = (key: string, value: string) => post(place, key, '/v1/things', FORM('voice', value), 'multipart/form-data; boundary=x')
  await every(t, 'every field', async (t) => {
    const filler = 'a word of prose '.repeat(1_000)
    for (const value of [
      ...['narrator', ' narrator ', 'narrator\r\n', '\tnarrator\t', '"narrator"', '["narrator"]', '[ "a", "narrator" ]', 'a\r\nnarrator'],
      ...[
        'a,narrator',
        'a, narrator',
        'narrator, a',
        'narrator ,a',
        'narrator; a',
        'narrator \0',
        'narrator \u2003',
        'narrator .',
        'voices/narrator',
        'narrator/x y',
        `${filler}\nnarrator`,
        `narrator\n${filler}`,
        `${filler}"narrator" ${filler}`,
      ],
      `${' '.repeat(5_000)}narrator${' '.repeat(5_000)}`,
    ]) {
      t.equal(await status(OTHER, value), 404, value.slice(0, 40))
      t.equal(await status(OWNER, value), 200, value.slice(0, 40))
    }
  })
  t.equal(await status(OTHER, 'the narrator reads'), 200, 'a word among others')
})

t.test('a UUID is found in each form in which servers read it', async (t) => {
  const id = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
  const hex = id.replaceAll('-', '')
  await every(t, 'every form', async (t) => {
    for (const given of [id, hex]) {
      const place = await scene(t, ({ method, path }) => jsonAnswer(method === 'POST' && path.endsWith('files') ? { id: given } : {}))
      t.equal(await post(place, OWNER, '/v1/files'), 200)
      for (const form of [
        id,
        hex,
        id.toUpperCase(),
        hex.toUpperCase(),
        `{${id}}`,
        `urn:uuid:${id}`,
        `${hex.slice(0, 3)}-${hex.slice(3)}`,
      ]) {
        const body = JSON.stringify({ file_id: form })
        t.equal(await post(place, OTHER, '/v1/things', body), 404, form)
        t.equal(await post(place, OWNER, '/v1/things', body), 200, form)
        t.equal(await post(place, OTHER, '/v1/things', FORM('file_id', form), 'multipart/form-data; boundary=x'), 404, form)
        t.equal(await send(place, OTHER, `GET /v1/files/${encodeURIComponent(form)}`), 404, form)
      }
      t.equal(await post(place, OTHER, '/v1/things', `{"file_id":"4${id.slice(1)}"}`), 200)
    }
  })
})

t.test('boundaries of browsers and of other runtimes are taken, and what they part is looked at', async (t) => {
  const place = await filled(t)
  for (const boundary of [
    '----WebKitFormBoundaryAbC123xyz',
    '----geckoformboundary1a2b3c4d5e',
    '-WebkitFormBoundary0123456789abcdef',
    'dart-http-boundary-+w.1k_j-aB',
    '---------------------------974767299852498929531610575',
  ]) {
    const type = `multipart/form-data; boundary=${boundary}`
    t.equal(await post(place, OWNER, '/v1/things', FORM('file_id', FILE, undefined, boundary), type), 200, boundary)
    t.equal(await post(place, OTHER, '/v1/things', FORM('file_id', FILE, undefined, boundary), type), 404, boundary)
  }
  for (const more of ['; boundary=b', '; BOUNDARY = b', '; boundary*0=b', "; boundary*=utf-8''b", '; x="boundary=b"'])
    t.equal(await post(place, OWNER, '/v1/things', FORM('a', 'b'), `multipart/form-data; boundary=x${more}`), 400, more)
})

t.test('a body of a type in which no id is found is refused, and one without anything in it is not', async (t) => {
  const place = await filled(t)
  const message = Buffer.from(`\x0a\x12${FILE}`, 'latin1')
  const things = (body: string | Buffer, type: string) => post(place, OTHER, '/v1/things', body, type)
  await every(t, 'every type', async (t) => {
    for (const type of [
      ...['application/x-protobuf', 'application/protobuf', 'application/grpc', 'application/grpc-web+proto', 'application/msgpack'],
      ...['application/vnd.google.protobuf', 'application/vnd.amazon.eventstream', 'application/yaml', 'json'],
    ]) {
      t.equal(await things(message, type), 400, type)
      t.equal(await things('', type), 200, `${type}: empty`)
    }
    for (const type of ['application/json', 'application/json; charset=utf-8', 'application/scim+json']) {
      for (const body of [message, `file_id: ${FILE}`, `1${' '.repeat(99)}${FILE}`]) t.equal(await things(body, type), 400, type)
      for (const body of ['', ' \n', '1', '-1.5e3\n', 'null', 'true', '"a"', '[]', ' {}', '\ufeff{}'])
        t.equal(await things(body, type), 200, body)
      t.equal(await things(` \n\ufeff{"file_id":"${FILE}"}`, type), 404)
      t.equal(await things(`\ufeff {"file_id":"${FILE}"}`, type), 404)
    }
    for (const type of ['text/plain', 'text/plain;charset=UTF-8', 'application/octet-stream', 'application/x-ndjson', '']) {
      t.equal(await things(`{"file_id":"${FILE}"}`, type), 404, type)
      t.equal(await things('{"file_id":"file-made-elsewhere"}', type), 200, type)
    }
  })
})
