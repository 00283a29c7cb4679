/** Files of a request turned into words, over HTTP: by this gateway, by a stand-in for the OCR service, and never twice (docs/contract.md#plugins). */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Clock } from '../../../src/core/clock.ts'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { buildDocx, buildPdf, paragraph } from '../../support/documents.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { ADDRESSES, HOSTS } from '../../support/private-addresses.ts'
import { FORMATS, type Format, formatRoutes, parseAsked } from '../../support/tool-scene.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { chatFrames } from '../../support/wire-chat.ts'

const OTHER = 'sk-router-v1-other0123456789abcdef'
const WORDS = 'The answer is forty-two'
const PDF = buildPdf([WORDS, 'Second page'])
const NANO_PER_PAGE = 2_000_000
const IMAGE = 'data:image/jpeg;base64,/9j/4AAQ'
const dataUrl = (bytes: Buffer, type = 'application/pdf'): string => `data:${type};base64,${bytes.toString('base64')}`
const bytesHash = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** As the published API answers. */
function ocrAnswer(pages: readonly string[], images: readonly string[] = []): JsonObject {
  return {
    pages: pages.map((markdown, index) => ({
      index,
      markdown,
      images:
        index === 0
          ? images.map((image_base64, i) => ({
              id: `img-${i}.jpeg`,
              top_left_x: 1,
              top_left_y: 1,
              bottom_right_x: 2,
              bottom_right_y: 2,
              image_base64,
            }))
          : [],
      dimensions: { dpi: 200, height: 2200, width: 1700 },
    })),
    model: 'mistral-ocr-2505-completion',
    document_annotation: null,
    usage_info: { pages_processed: pages.length, doc_size_bytes: 1000 },
  }
}

interface Parsing {
  gateway: Gateway
  model: Upstream
  ocr: Upstream
  /** Serves files. */
  site: Upstream
}

interface ParsingOptions {
  /** Settings of the plugin; `OCR` and `SITE` stand for the stand-ins' addresses. */
  settings?: string
  input?: string
  key?: string
  answers?: (seen: Seen) => Answer
  script?: (seen: Seen) => Answer
  models?: string
  clock?: Clock
}

const WITH_OCR = 'ocr: { url: "OCR", key: "ocr-secret" }'

async function parsing(
  t: Test,
  { settings = '', input = 'text', key = '', answers, script, models = '', clock }: ParsingOptions = {},
): Promise<Parsing> {
  const model = await startUpstream((seen) => script?.(seen) ?? answerFor(seen, { text: ['It says ', 'forty-two.'] }))
  const ocr = await startUpstream((seen) => answers?.(seen) ?? jsonAnswer(ocrAnswer([`# Scan\n\n${WORDS}`, 'Two'])))
  const site = await startUpstream(({ path }) =>
    path === '/paper.pdf' ? { headers: { 'content-type': 'application/pdf' }, body: [PDF] } : { status: 404, body: ['gone'] },
  )
  t.teardown(() => Promise.all([model.close(), ocr.close(), site.close()]))
  const own = settings.replaceAll('OCR', ocr.url).replaceAll('SITE', new URL(site.url).host)
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}"${key} } ] }
plugins: { defaults: { file-parser: { ${own} } } }
${oneModel(model.url, 'openai-chat', { model: `input: [ ${input} ]` })}${models}`,
    { clock },
  )
  t.teardown(() => gateway.close())
  return { gateway, model, ocr, site }
}

/** A question about files, in each format. */
const QUESTION: Readonly<Record<Format, (...urls: string[]) => JsonObject>> = {
  chat: (...urls) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What does it say?' },
          ...urls.map((file_data) => ({ type: 'file', file: { filename: 'paper.pdf', file_data } })),
        ],
      },
    ],
  }),
  responses: (...urls) => ({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What does it say?' },
          ...urls.map((url) => ({
            type: 'input_file',
            filename: 'paper.pdf',
            ...(url.startsWith('data:') ? { file_data: url } : { file_url: url }),
          })),
        ],
      },
    ],
  }),
  messages: (...urls) => ({
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What does it say?' },
          ...urls.map((url) => ({
            type: 'document',
            title: 'paper.pdf',
            source: url.startsWith('data:')
              ? { type: 'base64', media_type: 'application/pdf', data: url.split(',')[1] }
              : { type: 'url', url },
          })),
        ],
      },
    ],
  }),
}

async function ask({ gateway }: Parsing, format: Format, body: JsonObject): Promise<ReturnType<typeof parseAsked>> {
  const reply = await gateway.post(FORMATS[format], { model: 'acme/one', ...body }, { 'x-router-metadata': 'enabled' })
  return parseAsked(reply.status, await reply.text())
}

/** Every object of a value, itself included. */
function* objectsIn(value: Json | undefined): Generator<JsonObject> {
  if (Array.isArray(value)) for (const one of value) yield* objectsIn(one)
  else if (isObject(value)) {
    yield value
    for (const one of Object.values(value)) yield* objectsIn(one)
  }
}

/** File annotations of a reply, nested or flat. */
function notesIn(value: Json | undefined): JsonObject[] {
  const notes = [...objectsIn(value)].filter(({ type, file, hash }) => type === 'file' && (isObject(file) || hash !== undefined))
  return notes.map(({ type: _, file, ...flat }) => (isObject(file) ? file : flat))
}

const told = ({ model }: Parsing): string => model.requests.at(-1)?.body ?? ''
const pipeline = (body: JsonObject): JsonObject[] => ((body.router_metadata as JsonObject | undefined)?.pipeline ?? []) as JsonObject[]
const NOTE = {
  hash: bytesHash(PDF),
  name: 'paper.pdf',
  content: [
    { type: 'text', text: '<file name="paper.pdf">' },
    { type: 'text', text: `${WORDS}\n\nSecond page` },
    { type: 'text', text: '</file>' },
  ],
}

t.test('a model that takes no files gets the words, in every format', async (t) => {
  const here = await parsing(t)
  await every(t, 'every case', async (t) => {
    for (const { format, stream } of formatRoutes('chat', 'responses', 'messages')) {
      const where = `${format}${stream ? ', streamed' : ''}`
      const asked = await ask(here, format, { ...QUESTION[format](dataUrl(PDF)), stream })
      t.equal(asked.status, 200, `${where}: ${asked.message}`)
      t.ok(told(here).includes(WORDS) && told(here).includes('Second page'), `${where}: the words`)
      t.notOk(told(here).includes(PDF.toString('base64').slice(0, 100)), `${where}: and not the file`)
      const notes = stream ? asked.events.flatMap((event) => notesIn(event)) : notesIn(asked.body)
      if (format === 'chat') t.same(notes, [NOTE], `${where}: the annotation`)
      else t.same(notes, [], `${where}: nothing that the format does not know`)
      if (!stream && format === 'chat') {
        const message = ((asked.body.choices as JsonObject[])[0] as JsonObject).message as JsonObject
        t.same(message.annotations, [{ type: 'file', file: NOTE }])
        t.match(pipeline(asked.body), [{ type: 'plugin', name: 'file-parser', data: { engine: 'pdf-text', files: 1, reused: 0 } }])
        t.equal((asked.body.usage as JsonObject).cost !== undefined, true)
      }
    }
  })
  t.same(here.ocr.requests.length, 0)
  t.notMatch(
    here.gateway.logs.join('\n'),
    new RegExp(`${WORDS}|${PDF.toString('base64').slice(0, 40)}|paper\\.pdf`),
    'nothing of it in the log',
  )
})

t.test('callers who name the plugin get the annotation in the form of their format', async (t) => {
  const here = await parsing(t)
  await every(t, 'every case', async (t) => {
    for (const { format, stream } of formatRoutes('responses', 'messages')) {
      const asked = await ask(here, format, { ...QUESTION[format](dataUrl(PDF)), stream, plugins: [{ id: 'file-parser' }] })
      t.equal(asked.status, 200, asked.message)
      const last = stream ? asked.events.filter(({ type }) => type === 'content_block_delta' || type === 'response.completed') : asked.body
      t.same(notesIn(last), [NOTE], `${format} ${stream}`)
    }
  })
})

t.test('does not read a file again whose annotation came back', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const { format } of formatRoutes('chat', 'responses', 'messages').filter(({ stream }) => !stream)) {
      const here = await parsing(t, { settings: WITH_OCR })
      const plugins = [{ id: 'file-parser' }]
      const question = QUESTION[format](dataUrl(PDF))
      const first = await ask(here, format, { ...question, plugins })
      t.equal(first.status, 200, first.message)
      t.equal(here.ocr.requests.length, 1)
      const cost = (first.body.usage as JsonObject).cost
      const utterance =
        format === 'responses'
          ? first.output
          : format === 'chat'
            ? [((first.body.choices as JsonObject[])[0] as JsonObject).message]
            : [{ role: 'assistant', content: first.body.content }]
      const field = format === 'responses' ? 'input' : 'messages'
      const next = {
        ...question,
        [field]: [...(question[field] as JsonObject[]), ...(utterance as JsonObject[]), { role: 'user', content: 'And now?' }],
      }
      const second = await ask(here, format, { ...next, plugins })
      t.equal(second.status, 200, second.message)
      t.equal(here.ocr.requests.length, 1, `${format}: nobody is asked`)
      t.equal(told(here).split(WORDS).length, 2, `${format}: the words reach the model once, with the file`)
      t.notOk(told(here).includes(bytesHash(PDF)), `${format}: the annotation itself does not`)
      t.ok(Number(cost) - Number((second.body.usage as JsonObject).cost) > 0.003, `${format}: and nothing is paid`)
      t.match(pipeline(second.body), [{ name: 'file-parser', data: { files: 1, reused: 1 } }])
      t.same(notesIn(second.body), [], 'nor told again')
    }
  })
})

t.test('one file in several places is read once, and again without an annotation it is known for a while', async (t) => {
  const clock = new FakeClock(1, Date.now())
  const here = await parsing(t, { settings: WITH_OCR, key: `}, { name: other, key: "${OTHER}"`, clock })
  const first = QUESTION.chat(dataUrl(PDF), dataUrl(PDF))
  const asked = await ask(here, 'chat', first)
  t.equal(asked.status, 200, asked.message)
  t.equal(here.ocr.requests.length, 1)
  t.match(pipeline(asked.body), [{ cost_usd: (2 * NANO_PER_PAGE) / 1e9, data: { files: 2, reused: 1, pages: 2 } }])
  t.equal(notesIn(asked.body).length, 1)
  const again = await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))
  t.equal(here.ocr.requests.length, 1, 'as after an answer that only called a tool')
  t.equal(notesIn(again.body).length, 1, 'and it is told')
  t.equal(pipeline(again.body)[0].cost_usd, undefined)
  const other = await here.gateway.post(FORMATS.chat, { model: 'acme/one', ...first }, { authorization: `Bearer ${OTHER}` })
  t.equal(other.status, 200)
  t.equal(here.ocr.requests.length, 2, 'another key pays for itself')
  await clock.advance(16 * 60_000)
  t.equal((await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))).status, 200)
  t.equal(here.ocr.requests.length, 3, 'for a quarter of an hour')
})

t.test('the service gets the published request, is paid by the page, and its images go to models that see', async (t) => {
  const images = Array.from({ length: 10 }, (_one, i) => `${IMAGE}${i}`)
  const here = await parsing(t, {
    settings: WITH_OCR,
    input: 'text, image',
    answers: () => jsonAnswer(ocrAnswer([WORDS, 'Two', 'Three'], images)),
  })
  const asked = await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))
  t.equal(asked.status, 200, asked.message)
  const [seen] = here.ocr.requests
  t.equal(seen.path, '/v1/ocr')
  t.equal(seen.headers.authorization, 'Bearer ocr-secret')
  t.same(seen.json, {
    model: 'mistral-ocr-latest',
    document: { type: 'document_url', document_url: dataUrl(PDF) },
    include_image_base64: true,
    image_limit: 8,
  })
  const parts = [...objectsIn(here.model.requests.at(-1)?.json)].filter(({ type }) => type === 'image_url')
  t.equal(parts.length, 8, 'eight images at most')
  const [stage] = pipeline(asked.body)
  t.match(stage, { name: 'file-parser', cost_usd: (3 * NANO_PER_PAGE) / 1e9, data: { engine: 'mistral-ocr', pages: 3 } })
  t.notMatch(here.gateway.logs.join('\n'), /ocr-secret/)
})

t.test('images stay out where the model does not see', async (t) => {
  const here = await parsing(t, { settings: WITH_OCR, answers: () => jsonAnswer(ocrAnswer([WORDS], [IMAGE])) })
  t.equal((await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))).status, 200)
  t.notMatch(told(here), /image_url/)
})

t.test('holds the possible cost of the service before, and returns 402 to a key with less', async (t) => {
  const here = await parsing(t, { settings: 'ocr: { url: "OCR", key: k, max_pages: 100 }', key: ', limit: "0.10"' })
  const asked = await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))
  t.equal(asked.status, 402)
  t.match(asked.message, /plugins of this request may cost up to \$0\.20,/)
  const disguised = dataUrl(PDF).replace('application/pdf', 'text/plain')
  t.equal((await ask(here, 'chat', QUESTION.chat(disguised))).status, 402, 'whatever type is written in front of it')
  t.same([here.ocr.requests.length, here.model.requests.length], [0, 0])
  const free = await ask(here, 'chat', { ...QUESTION.chat(dataUrl(PDF)), plugins: [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }] })
  t.equal(free.status, 200, 'what is read here costs nothing')
})

t.test('engines by name', async (t) => {
  const here = await parsing(t, { settings: WITH_OCR, input: 'text, file' })
  const plain = async (engine?: string): Promise<[asked: number, raw: boolean]> => {
    const plugins = [{ id: 'file-parser', ...(engine === undefined ? {} : { pdf: { engine } }) }]
    const before = here.ocr.requests.length
    t.equal((await ask(here, 'chat', { ...QUESTION.chat(dataUrl(PDF)), plugins })).status, 200, String(engine))
    return [here.ocr.requests.length - before, told(here).includes(PDF.toString('base64'))]
  }
  t.same(await plain(), [0, true], 'a model that takes files gets them')
  t.same(await plain('native'), [0, true])
  t.same(await plain('mistral-ocr'), [1, false])
  t.same(await plain('pdf-text'), [0, false])
  t.same(await plain('cloudflare-ai'), [0, false])
})

t.test('wrong settings name the path', async (t) => {
  const here = await parsing(t)
  const cases: [JsonObject, RegExp][] = [
    [{ pdf: { engine: 'tesseract' } }, /^plugins\[0\]\.pdf\.engine: expected one of: native, mistral-ocr/],
    [{ pdf: { engine: 'mistral-ocr' } }, /^plugins\[0\]\.pdf\.engine: mistral-ocr is not configured: the operator/],
    [{ pdf: 'native' }, /^plugins\[0\]\.pdf: expected an object/],
    [{ enabled: 1 }, /^plugins\[0\]\.enabled/],
    [{ ocr: { url: 'http://127.0.0.1' } }, /^plugins\[0\]\.ocr: is set by the operator alone/],
    [{ allow_private: ['*'] }, /^plugins\[0\]\.allow_private: is set by the operator alone/],
  ]
  for (const [entry, message] of cases) {
    const asked = await ask(here, 'chat', { ...QUESTION.chat(dataUrl(PDF)), plugins: [{ id: 'file-parser', ...entry }] })
    t.match(asked, { status: 400, message })
  }
  for (const [settings, problem] of [
    ['ocr: { url: nowhere }', /ocr/],
    ['ocr: { max_pages: 0 }', /max_pages/],
    ['ocr: { price: "two" }', /price/],
    ['pdf: { engine: mistral-ocr }', /mistral-ocr is not configured/],
    ['allow_private: [ "**" ]', /allow_private/],
  ] as const)
    await t.rejects(parsing(t, { settings }), { message: problem }, settings)
})

t.test('switched off or native, a model without files is no candidate', async (t) => {
  const here = await parsing(t)
  for (const entry of [{ enabled: false }, { pdf: { engine: 'native' } }]) {
    const asked = await ask(here, 'chat', { ...QUESTION.chat(dataUrl(PDF)), plugins: [{ id: 'file-parser', ...entry }] })
    t.match(asked, { status: 404, message: /file/ })
  }
  const off = await parsing(t, { settings: 'enabled: false' })
  t.equal((await ask(off, 'chat', QUESTION.chat(dataUrl(PDF)))).status, 404)
  t.equal(
    (await ask(off, 'chat', { ...QUESTION.chat(dataUrl(PDF)), plugins: [{ id: 'file-parser' }] })).status,
    200,
    'a request may switch it on',
  )
})

t.test('serves a file with the requested model, though a fallback model takes files', async (t) => {
  const models = `
  acme/two:
    context: 128000
    input: [ text, file ]
    endpoints: [ { provider: first, model: other-model, price: { prompt: "1.00", completion: "2.00" } } ]
`
  const here = await parsing(t, { models })
  const asked = await ask(here, 'chat', { ...QUESTION.chat(dataUrl(PDF)), models: ['acme/two'] })
  t.equal(asked.body.model, 'acme/one')
  t.ok(told(here).includes(WORDS))
})

t.test('Word, text and several files at once', async (t) => {
  const here = await parsing(t)
  const docx = buildDocx(`${paragraph('Minutes', 'Heading1')}${paragraph('All agreed.')}`)
  const type = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
  const urls = [dataUrl(docx, type), dataUrl(Buffer.from('plain grüße'), 'text/plain'), 'data:text/csv,a%2Cb%0A1%2C2', dataUrl(PDF)]
  const asked = await ask(here, 'chat', QUESTION.chat(...urls))
  t.equal(asked.status, 200, asked.message)
  for (const words of ['Minutes', 'All agreed.', 'plain grüße', 'a,b', WORDS]) t.ok(told(here).includes(words), words)
  t.equal(notesIn(asked.body).length, 4)
})

t.test('plain text of a messages document needs no parsing, and is words all the same', async (t) => {
  const here = await parsing(t)
  const source = { type: 'text', media_type: 'text/plain', data: 'words of a document' }
  const messages = [{ role: 'user', content: [{ type: 'document', source }] }]
  const asked = await ask(here, 'messages', { max_tokens: 50, messages })
  t.equal(asked.status, 200, asked.message)
  t.ok(told(here).includes('words of a document'))
})

t.test('an uploaded file by its id', async (t) => {
  const here = await parsing(t)
  const form = new FormData()
  form.append('file', new File([new Uint8Array(PDF)], 'stored.pdf'))
  const sent = await fetch(`${here.gateway.url}/v1/files`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body: form })
  const { id } = (await sent.json()) as { id: string }
  const content = [{ type: 'file', file: { file_id: id } }]
  const asked = await ask(here, 'chat', { messages: [{ role: 'user', content }] })
  t.equal(asked.status, 200, asked.message)
  t.ok(told(here).includes(WORDS))
  t.match(notesIn(asked.body), [{ name: 'stored.pdf', hash: bytesHash(PDF) }])
  const foreign = { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-abc' } }] }] }
  const unlisted = await ask(here, 'chat', foreign)
  t.match(unlisted, { status: 404, message: /^messages\[0\]\.content\[0\]\.file\.file_id: no such id/ })
  const listing = await parsing(t, { key: ', provider_ids: [ file-abc ]' })
  t.match(await ask(listing, 'chat', foreign), { status: 400, message: /only its provider knows the id/ }, 'one that the operator lists')
  t.same([here.model.requests.length, listing.model.requests.length], [1, 0])
})

t.test('addresses are fetched under guard, and known by themselves', async (t) => {
  const here = await parsing(t, { settings: 'allow_private: [ "SITE" ]' })
  const url = `${here.site.url}/paper.pdf`
  const asked = await ask(here, 'responses', { ...QUESTION.responses(url), plugins: [{ id: 'file-parser' }] })
  t.equal(asked.status, 200, asked.message)
  t.ok(told(here).includes(WORDS))
  t.match(notesIn(asked.body), [{ name: 'paper.pdf', hash: bytesHash(url) }])
  const question = QUESTION.responses(url)
  const input = [...(question.input as JsonObject[]), ...asked.output, { role: 'user', content: 'And?' }]
  t.equal((await ask(here, 'responses', { input, plugins: [{ id: 'file-parser' }] })).status, 200)
  t.equal(here.site.requests.length, 1, 'neither read nor fetched again')
  t.match(await ask(here, 'chat', QUESTION.chat(`${here.site.url}/none.pdf`)), { status: 422, message: /^file 1 of the request/ })
  const closed = await parsing(t)
  for (const address of [
    `${closed.site.url}/paper.pdf`,
    'http://169.254.169.254/latest',
    'http://localhost/x.pdf',
    'file:///etc/passwd',
    'http://[::1]/x.pdf',
  ])
    t.match(await ask(closed, 'responses', QUESTION.responses(address)), { status: 400 }, address)
  t.same([closed.site.requests.length, closed.model.requests.length], [0, 0])
})

t.test('fetches no private address in any form, neither at once nor by redirect', async (t) => {
  let hits = 0
  let targets: string[] = []
  const listen = async (host: string, at: number, respond: Parameters<typeof createServer>[1]): Promise<number> => {
    const server = createServer(respond).listen(at, host)
    await once(server, 'listening')
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }
  const canary: Parameters<typeof createServer>[1] = (_request, response) => {
    hits++
    response.end('secret')
  }
  const port = await listen('127.0.0.1', 0, canary)
  await listen('::1', port, canary)
  await listen('127.0.0.3', port, canary)
  // A loopback address that stands for the public.
  await listen('127.0.0.2', port, ({ url }, response) => {
    response.writeHead(302, { location: Buffer.from(targets[Number(url?.slice(1))]).toString('latin1') }).end()
  })
  const here = await parsing(t, { settings: `allow_private: [ "127.0.0.2:${port}" ]` })
  const refused = async (t: Test, url: string, what: string): Promise<void> => {
    const asked = await ask(here, 'responses', QUESTION.responses(url))
    t.ok(asked.status >= 400 && asked.status < 500, `${what}: ${asked.status}`)
    t.notMatch(asked.raw, /secret/)
  }
  const hosts = HOSTS.map((host) => `http://${host}:${port}/`)
  const addresses = [...hosts, ...ADDRESSES.filter((address) => !address.startsWith('data:'))]
  await every(t, 'every address', (t) => Promise.all(addresses.map((url) => refused(t, url, JSON.stringify(url.slice(0, 80))))))
  targets = [
    ...hosts,
    ...ADDRESSES.filter((address) => /^[a-z]+:|^\/\//.test(address) && !/\p{Cc}/u.test(address) && address.length < 8000),
  ]
  await every(t, 'every redirect', (t) =>
    Promise.all(
      targets.map((target, i) => refused(t, `http://127.0.0.2:${port}/${i}`, `a redirect to ${JSON.stringify(target.slice(0, 80))}`)),
    ),
  )
  t.equal(hits, 0, 'no canary was hit')
  t.same(here.model.requests.length, 0)
  t.same([await (await fetch(`http://127.0.0.1:${port}/`)).text(), hits], ['secret', 1], 'the canary does sing')
})

t.test('files that cannot be read say which and why, and nothing of what they hold', async (t) => {
  const here = await parsing(t)
  const bomb = buildDocx(paragraph('x'.repeat(70_000_000)))
  const cases: [string, string, number][] = [
    ['broken', dataUrl(Buffer.from('%PDF-1.7 secret-words rubbish')), 422],
    ['no document', dataUrl(Buffer.from([0, 1, 2, 3, 255, 254]), 'application/octet-stream'), 415],
    ['a bomb', dataUrl(bomb, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'), 422],
    ['nothing', 'data:', 400],
  ]
  await every(t, 'every case', async (t) => {
    for (const [what, url, status] of cases) {
      const asked = await ask(here, 'chat', QUESTION.chat(url))
      t.match(asked, { status, message: /^file 1 of the request: / }, what)
      t.notMatch(asked.message, /secret-words/)
    }
  })
  t.same(here.model.requests.length, 0)
  t.equal((await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))).status, 200, 'and the next request is served')
})

t.test('the service fails: by name that is the end, else what the file holds goes on', async (t) => {
  await every(t, 'every answers', async (t) => {
    for (const answers of [
      () => ({ status: 500, body: ['secret trouble'] }),
      () => ({ body: ['junk'] }),
      () => jsonAnswer({ pages: 'none' }),
    ]) {
      const here = await parsing(t, { settings: WITH_OCR, answers })
      const named = await ask(here, 'chat', {
        ...QUESTION.chat(dataUrl(PDF)),
        plugins: [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }],
      })
      t.match(named, { status: 503, message: /the service that reads scans did not answer/ })
      t.notMatch(named.raw, /secret trouble/)
      const unnamed = await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))
      t.equal(unnamed.status, 200, unnamed.message)
      t.ok(told(here).includes(WORDS))
      const [stage] = pipeline(unnamed.body)
      t.equal(stage.cost_usd, undefined, 'nothing is charged')
      const scan = await ask(here, 'chat', QUESTION.chat(dataUrl(buildPdf(['']))))
      t.equal(scan.status, 503, 'a scan holds no words of its own')
    }
  })
})

t.test('a file with more pages than are paid for', async (t) => {
  const here = await parsing(t, { settings: 'ocr: { url: "OCR", key: k, max_pages: 1 }' })
  const named = await ask(here, 'chat', {
    ...QUESTION.chat(dataUrl(PDF)),
    plugins: [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }],
  })
  t.match(named, { status: 413, message: /it has 2 pages, at most 1 are read/ })
  t.equal((await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))).status, 200)
  t.same(here.ocr.requests.length, 0)
})

t.test('returns the parsed text in the error where the provider fails', async (t) => {
  const here = await parsing(t, { settings: WITH_OCR, script: () => ({ status: 500, body: ['{}'] }) })
  for (const stream of [false, true]) {
    const asked = await ask(here, 'chat', { ...QUESTION.chat(dataUrl(PDF)), stream })
    t.equal(asked.status, 502)
    const { metadata } = asked.body.error as { metadata: { file_annotations?: JsonObject[] } }
    t.match(metadata.file_annotations, [{ type: 'file', file: { hash: bytesHash(PDF), name: 'paper.pdf' } }])
    t.ok(JSON.stringify(metadata).includes(WORDS))
  }
  const plain = await ask(here, 'chat', { messages: [{ role: 'user', content: 'Hello' }] })
  t.equal((plain.body.error as { metadata: JsonObject }).metadata.file_annotations, undefined)
})

t.test('a stream that breaks off in the middle tells what was read', async (t) => {
  const here = await parsing(t, {
    script: () => ({ ...sseAnswer(chatFrames({ text: ['It says ', 'forty-two.'] }).slice(0, 3)), after: 'reset' }),
  })
  const asked = await ask(here, 'chat', { ...QUESTION.chat(dataUrl(PDF)), stream: true })
  t.equal(asked.status, 200)
  t.match(asked.raw, /It says /)
  t.match(asked.events.at(-1)?.error, { code: 502, metadata: { file_annotations: [{ type: 'file', file: { hash: bytesHash(PDF) } }] } })
})

t.test('one of two files fails: the words of the other, which were paid for, are in the error', async (t) => {
  const here = await parsing(t, { settings: WITH_OCR })
  const asked = await ask(here, 'chat', QUESTION.chat(dataUrl(PDF), dataUrl(Buffer.from([0, 1, 2, 255]), 'application/octet-stream')))
  t.match(asked, { status: 415, message: /^file 2 of the request: / })
  t.match((asked.body.error as { metadata: JsonObject }).metadata.file_annotations, [{ file: { hash: bytesHash(PDF) } }])
})

t.test('a plan calls no parsing service', async (t) => {
  const here = await parsing(t, { settings: WITH_OCR })
  const reply = await here.gateway.post('/v1/plan', { model: 'acme/one', ...QUESTION.chat(dataUrl(PDF)) })
  t.equal(reply.status, 200)
  t.same(here.ocr.requests.length, 0)
})

t.test('a key that is not in the environment leaves the service out', async (t) => {
  const here = await parsing(t, { settings: `ocr: { url: "OCR", key: "\${SCAN_KEY?}" }` })
  t.equal((await ask(here, 'chat', QUESTION.chat(dataUrl(PDF)))).status, 200)
  t.same(here.ocr.requests.length, 0)
})
