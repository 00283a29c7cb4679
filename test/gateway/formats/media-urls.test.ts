/** Images and files by address, for a provider that takes data alone: fetched through the guarded fetch, refused where they cannot be. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Answer, Gate, startUpstream, type Upstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==', 'base64')
const PICTURE = `data:image/png;base64,${PNG.toString('base64')}`
const LARGE = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(1_000_000, 32)])

/** Files of the site, by path. */
const PAGES: Readonly<Record<string, Answer>> = {
  '/one.png': { headers: { 'content-type': 'image/png' }, body: [PNG] },
  '/untyped': { body: [PNG] },
  '/page.png': { headers: { 'content-type': 'text/html' }, body: ['<p>no picture</p>'] },
  '/large.pdf': { headers: { 'content-type': 'application/pdf' }, body: [LARGE] },
}

interface WithSite {
  gateway: Gateway
  site: Upstream
  /** The provider that takes data alone, and one that takes addresses. */
  data: Upstream
  any: Upstream
  /** Opens for the second half of `/held.txt`. */
  half: Gate
  chat(model: string, ...parts: JsonObject[]): Promise<{ status: number; body: JsonObject }>
}

async function withSite(t: Test, more = '', clock?: FakeClock): Promise<WithSite> {
  const half = new Gate()
  const held = {
    headers: { 'content-type': 'text/plain' },
    body: [LARGE.toString('latin1').replace('%PDF', 'Plan'), half.step, 'the rest'],
  }
  const site = await startUpstream(({ path }) => PAGES[path] ?? (path.startsWith('/held.txt') ? held : { status: 404, body: ['not here'] }))
  const [data, any] = [await startUpstream(says({ text: ['Seen.'] })), await startUpstream(says({ text: ['Seen.'] }))]
  for (const upstream of [site, data, any]) t.teardown(() => upstream.close())
  const gateway = await startGateway(
    `${more}
auth: { keys: [ { name: test, key: sk-router-v1-0123456789abcdef0123456789abcdef, limit: "0.15" } ] }
providers:
  data: { dialect: openai-chat, base_url: "${data.url}/v1", quirks: { media_urls: inline } }
  any: { dialect: openai-chat, base_url: "${any.url}/v1" }
models:
  acme/data: { input: [text, image, file], max_output: 100, endpoints: [{ provider: data, model: m, price: { prompt: "1.00", completion: "1.00" } }] }
  acme/free: { input: [file], max_output: 100, endpoints: [{ provider: data, model: m, price: free }] }
  acme/words: { input: [text], max_output: 100, endpoints: [{ provider: any, model: m, price: free }] }
  acme/any: { endpoints: [{ provider: any, model: m, price: free }] }
  acme/both:
    endpoints:
      - { provider: data, model: m, price: { prompt: "0.01", completion: "0.01" } }
      - { provider: any, model: m, price: { prompt: "1.00", completion: "1.00" } }
plugins: { defaults: { file-parser: { allow_private: ["${site.url.replace('http://', '')}"] } } }
`,
    clock && { clock },
  )
  t.teardown(() => gateway.close())
  const chat: WithSite['chat'] = async (model, ...parts) => {
    const content = [{ type: 'text', text: 'What is it?' }, ...parts]
    const answer = await gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content }] })
    return { status: answer.status, body: (await answer.json()) as JsonObject }
  }
  return { gateway, site, data, any, half, chat }
}

const image = (url: string): JsonObject => ({ type: 'image_url', image_url: { url } })

/** Addresses and data of the images that the provider was sent. */
function upstreamImages({ requests }: Upstream): unknown[] {
  const { messages } = requests[requests.length - 1].json as unknown as { messages: { content: { image_url?: { url: string } }[] }[] }
  return messages.flatMap(({ content }) => content.flatMap((part) => part.image_url?.url ?? []))
}

t.test('an image by its address reaches the provider as data', async (t) => {
  const { gateway, site, data, chat } = await withSite(t)
  t.equal((await chat('acme/data', image(`${site.url}/one.png`), image(`${site.url}/one.png`), image(PICTURE))).status, 200)
  t.same(upstreamImages(data), [PICTURE, PICTURE, PICTURE])
  t.equal(site.requests.length, 1, 'each address is fetched once')
  t.notOk(site.requests[0].headers.authorization)
  t.equal((await chat('acme/data', image(`${site.url}/untyped`))).status, 200)
  t.same(upstreamImages(data), [PICTURE], 'the first bytes say what it is')

  const input = [{ role: 'user', content: [{ type: 'input_image', image_url: `${site.url}/one.png` }] }]
  t.equal((await gateway.post('/v1/responses', { model: 'acme/data', input })).status, 200)
  t.same(upstreamImages(data), [PICTURE], 'of the Responses API')
  const source = { type: 'url', url: `${site.url}/one.png` }
  const messages = [{ role: 'user', content: [{ type: 'image', source }] }]
  t.equal((await gateway.post('/v1/messages', { model: 'acme/data', max_tokens: 10, messages, stream: true })).status, 200)
  t.same(upstreamImages(data), [PICTURE], 'of the Messages API, streamed')
})

t.test('fetches nothing where no possible provider needs it', async (t) => {
  const { site, any, chat } = await withSite(t)
  const url = `${site.url}/one.png`
  t.equal((await chat('acme/any', image(url))).status, 200)
  t.same(upstreamImages(any), [url])
  t.equal(site.requests.length, 0)
})

t.test('returns 400 that names the part that cannot be fetched, and calls no provider', async (t) => {
  const { site, data, chat } = await withSite(t)
  const port = new URL(site.url).port
  await every(t, 'each address', async (t) => {
    for (const [url, why] of [
      [`${site.url}/missing.png`, /could not be fetched/],
      [`${site.url}/page.png`, /The content is no image/],
      ['http://169.254.169.254/latest/meta-data', /may not be fetched/],
      [`http://localhost:${port}/one.png`, /may not be fetched/],
      [`http://[::ffff:127.0.0.1]:${port}/one.png`, /may not be fetched/],
      ['https://files.invalid/one.png', /may not be fetched|could not be fetched/],
    ] as const) {
      const { status, body } = await chat('acme/data', image(PICTURE), image(url))
      const { message, metadata } = body.error as { message: string; metadata: JsonObject }
      t.equal(status, 400, url)
      t.match(message, /^messages\[0\]\.content\[2\]\.image_url\.url: /)
      t.match(message, why, url)
      t.equal(metadata.field, 'messages[0].content[2].image_url.url')
      t.notMatch(message, '169.254', 'the address is not repeated')
    }
  })
  t.equal(data.requests.length, 0)
  const many = Array.from({ length: 21 }, (_, index) => image(`${site.url}/one.png?${index}`))
  t.match(await chat('acme/data', ...many), { status: 400, body: { error: { message: /may name 20 images and files/ } } })
})

t.test('another provider that takes addresses serves instead', async (t) => {
  const { site, data, any, chat } = await withSite(t)
  const url = `${site.url}/missing.png`
  t.equal((await chat('acme/both', image(url))).status, 200)
  t.same([data.requests.length, upstreamImages(any)], [0, [url]])
  t.equal((await chat('acme/both', image(`${site.url}/one.png`))).status, 200)
  t.same(upstreamImages(data), [PICTURE], 'the cheaper one, where it can be fetched')
})

t.test('a fetched file counts by its size: in the hold, and against the limit of a body', async (t) => {
  const { site, data, chat } = await withSite(t)
  const file = { type: 'file', file: { file_data: `${site.url}/large.pdf`, filename: 'large.pdf' } }
  t.match(await chat('acme/data', file), { status: 402 }, 'a million bytes are 200,000 tokens, more than the key has')
  t.equal(data.requests.length, 0)
  const small = await withSite(t, 'server: { host: 127.0.0.1, port: 0, max_body: 512KB }')
  const other = { type: 'file', file: { file_data: `${small.site.url}/large.pdf`, filename: 'large.pdf' } }
  t.match(await small.chat('acme/data', other), { status: 400, body: { error: { message: /file_data: The content is larger than/ } } })
})

/** Memory for one file that is fetched, not for two. */
const SMALL = 'server: { host: 127.0.0.1, port: 0, max_body: 2MB, body_memory: 4MB }'

t.test('a file counts in the memory of all bodies while it is fetched, not only once it has arrived', async (t) => {
  for (const [model, what] of [
    ['acme/free', 'for a provider that takes data alone'],
    ['acme/words', 'for the plugin that reads files'],
  ] as const) {
    await t.test(what, async (t) => {
      const clock = new FakeClock()
      const { site, data, any, half, chat } = await withSite(t, SMALL, clock)
      const file = (name: string): JsonObject => ({
        type: 'file',
        file: { file_data: `${site.url}/held.txt?${name}`, filename: 'held.txt' },
      })
      const [first, second] = [chat(model, file('a')), chat(model, file('b'))]
      await eventually('one of the two waits for memory', () => clock.waiting.includes(2_000))
      await clock.advance(2_000)
      const refused = await Promise.race([first, second])
      t.match(refused, { status: 503, body: { error: { message: /as many request bodies as its memory allows/ } } })
      half.open()
      t.same((await Promise.all([first, second])).map(({ status }) => status).sort(), [200, 503])
      t.equal(data.requests.length + any.requests.length, 1)
    })
  }
})

t.test('files of one request that wait for memory wait one after the other, and all of it is given back', async (t) => {
  const clock = new FakeClock()
  const { site, half, chat } = await withSite(t, SMALL, clock)
  const file = (name: string): JsonObject => ({ type: 'file', file: { file_data: `${site.url}/held.txt?${name}`, filename: 'held.txt' } })
  const one = chat('acme/words', file('a'))
  await eventually('the file is fetched', () => site.requests.length === 1)
  let refused: { status: number } | undefined
  void chat('acme/words', ...['b', 'c', 'd', 'e'].map(file)).then((answer) => {
    refused = answer
  })
  await eventually('the other request is refused', async () => {
    if (clock.waiting.includes(2_000)) await clock.advance(2_000)
    return refused
  })
  t.equal(refused?.status, 503)
  half.open()
  t.equal((await one).status, 200)
  t.same(
    (await Promise.all([chat('acme/words', file('f')), chat('acme/words', file('g'))])).map(({ status }) => status),
    [200, 200],
  )
})
