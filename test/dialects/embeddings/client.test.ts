/** Wants of a body of embeddings, in the provider's form and in the canonical one, and how a reply is written. */
import fc from 'fast-check'
import t from 'tap'
import { loadConfig } from '../../../src/config/load.ts'
import { type Json, type JsonObject, jsonBytes } from '../../../src/core/json.ts'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { embeddingsClient } from '../../../src/dialects/embeddings/check.ts'
import type { EmbeddingClient } from '../../../src/dialects/types.ts'
import { writeFloats } from '../../../src/machines/vectors/written.ts'
import { inputBatches } from '../../../src/pipeline/embeddings/calls.ts'
import { cutTo, embeddingAsk, inputTokens } from '../../../src/pipeline/embeddings/embedding-request.ts'
import { Exchange } from '../../../src/pipeline/exchange.ts'
import { acceptBody } from '../../../src/pipeline/request/read.ts'
import type { ApiKey } from '../../../src/plugin-api/key.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { property } from '../../support/seed.ts'

const noop = (): void => undefined
const yes = (): boolean => true
const client = embeddingsClient.embedding as EmbeddingClient
const asked = (input: Json, more: JsonObject = {}) => client.ask({ model: 'a/b', input, ...more })
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }

t.test('inputs of every form', async (t) => {
  const text = (each: string) => ({ kind: 'text', text: each })
  t.same(asked('a').inputs, [text('a')])
  t.same(asked(['a', 'b']).inputs, [text('a'), text('b')])
  t.same(asked([1, 2]).inputs, [{ kind: 'tokens', tokens: [1, 2] }])
  t.same(asked([[1], [2, 3]]).inputs, [
    { kind: 'tokens', tokens: [1] },
    { kind: 'tokens', tokens: [2, 3] },
  ])
  const content = [
    { type: 'text', text: 'a' },
    image,
    { type: 'input_audio', input_audio: { data: 'data:audio/wav;base64,UklG', format: 'wav' } },
    { type: 'input_video', input_video: { data: 'https://example.com/a.mp4', format: 'mp4' } },
    { type: 'input_file', input_file: { data: 'JVBERi0=', format: 'pdf' } },
  ]
  t.same(asked([{ content }]).inputs, [
    {
      kind: 'parts',
      parts: [
        { kind: 'text', text: 'a' },
        { kind: 'media', media: 'image', url: 'data:image/png;base64,AA==' },
        { kind: 'media', media: 'audio', data: 'UklG', format: 'wav' },
        { kind: 'media', media: 'video', url: 'https://example.com/a.mp4', format: 'mp4' },
        { kind: 'media', media: 'file', url: 'data:application/pdf;base64,JVBERi0=', format: 'pdf' },
      ],
    },
  ])
})

t.test('settings', async (t) => {
  t.same(asked('a').settings, { form: 'float' })
  const more = { encoding_format: 'base64', dimensions: 7, input_type: 'query', user: 'me' }
  t.same(asked('a', more).settings, { form: 'base64', dimensions: 7, inputType: 'query', user: 'me' })
  t.same(asked('a', { encoding_format: null, dimensions: null, input_type: null }).settings, { form: 'float' })
})

t.test('the canonical form holds every word, and as many bytes as there are tokens', async (t) => {
  const words = (input: Json): string[] =>
    embeddingsClient.decodeRequest({ input }).items.flatMap((item) => {
      const parts = item.kind === 'message' ? item.parts : []
      return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
    })
  t.same(words(['one', 'two']), ['one', 'two'])
  // Apart, as they were sent: a guardrail reads them together as well.
  for (const between of [[], [image]]) {
    const content = [{ type: 'text', text: 'for' }, ...between, { type: 'text', text: 'bidden' }]
    t.same(words([{ content }]), ['for', 'bidden'])
  }
  const tokens = Array.from({ length: 50 }, (_, i) => i % 10)
  t.ok(jsonBytes(embeddingsClient.decodeRequest({ input: tokens }) as unknown as Json) >= 50)
  t.equal(embeddingsClient.decodeRequest({ input: ['a', 'b'] }).items.length, 2)
})

t.test('what a layer changes is what goes out', async (t) => {
  const connection = {
    contentLength: 0,
    readBody: async () => Buffer.alloc(0),
    whole: noop,
    openStream: noop,
    bytes: yes,
    text: yes,
    onDrain: noop,
    endStream: noop,
    probe: noop,
  }
  const id = { id: 'gen-1', seq: 1, tag: 't' }
  const config = loadConfig(
    'test.yaml',
    {},
    {
      text: 'providers: { sim: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [{ provider: sim, model: echo, price: { prompt: "0", completion: "0" } }] } }',
    },
  )
  const received = new Exchange({
    id,
    at: 0,
    client: embeddingsClient,
    headers: {},
    connection,
    clock: new FakeClock(),
    config,
    wantsMetadata: false,
  })
  const content = [{ type: 'text', text: 'my secret' }, image]
  const body = { model: 'a/b', input: [{ content }, { content: [content[0]] }], dimensions: 3 }
  const known = Object.assign(received, { auth: { key: { name: 'app' } as ApiKey } })
  const exchange = acceptBody(known, embeddingsClient, body, { raw: JSON.stringify(body), characters: 10, bytes: 10 })
  t.match(embeddingAsk(exchange), { settings: { dimensions: 3 }, inputs: [{ kind: 'parts' }, { kind: 'text', text: 'my secret' }] })
  exchange.request.edit('test', ({ items }) => {
    for (const item of items) if (item.kind === 'message' && item.parts[0].kind === 'text') item.parts[0].text = 'my ***'
  })
  t.match(embeddingAsk(exchange), {
    settings: { dimensions: 3 },
    inputs: [
      { kind: 'parts', parts: [{ text: 'my ***' }, { media: 'image' }] },
      { kind: 'text', text: 'my ***' },
    ],
  })
  exchange.request.edit('test', ({ items }) => items.pop())
  t.throws(() => embeddingAsk(exchange), { code: 'internal' })
})

t.test('a reply is JSON, whatever it holds', async (t) => {
  const ctx = { id: 'gen-1', created: 1, model: 'a/ü"', provider: 'Acme', body: {}, brand: 'router', sequence: 0, opened: false }
  const final = {
    usage: { ...noUsage(), input: 5 },
    cost: 1000,
    inputCost: 1000,
    outputCost: 0,
    end: { reason: 'stop' as const },
    completedAt: 1,
    metadata: { requested: 'a/b' },
  }
  await every(t, 'every vectors', async (t) => {
    for (const vectors of [
      [],
      [[1]],
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
    ]) {
      const written = vectors.map((each) => writeFloats(new Float32Array(each), 'float'))
      const reply = JSON.parse(Buffer.concat(client.encode(written, ctx, final)).toString()) as JsonObject
      t.same(
        reply.data,
        vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      )
      t.match(reply, { object: 'list', model: 'a/ü"', id: 'gen-1', usage: { prompt_tokens: 5, total_tokens: 5, cost: 0.000001 } })
      t.same(reply.router_metadata, { requested: 'a/b' })
    }
  })
})

t.test('batches hold every input once, in order and within the bounds', async (t) => {
  const input = fc.nat({ max: 60 }).map((length) => ({ kind: 'text' as const, text: 'x'.repeat(length) }))
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(
        fc.array(input, { minLength: 1, maxLength: 50 }),
        fc.integer({ min: 1, max: 12 }),
        fc.option(fc.integer({ min: 1, max: 40 })),
        (inputs, most, tokens) => {
          const batches = inputBatches(inputs, { inputs: most, ...(tokens === null ? {} : { tokens }) })
          t.same(
            batches.flatMap(({ from, to }) => inputs.slice(from, to)),
            inputs,
          )
          for (const { from, to } of batches) {
            t.ok(to > from && to - from <= most)
            const sum = inputs.slice(from, to).reduce((all, each) => all + inputTokens(each), 0)
            t.ok(tokens === null || sum <= tokens || to - from === 1)
          }
        },
      ),
      property(200, 10_000),
    )
  })
})

t.test('a text is cut where it surely fits, and between characters', async (t) => {
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), fc.integer({ min: 2, max: 40 }), (text, tokens) => {
        const cut = cutTo({ kind: 'text', text }, tokens)
        if (cut.kind !== 'text') throw new Error('a text stays one')
        t.ok(inputTokens(cut) <= tokens)
        t.ok(text.startsWith(cut.text) && cut.text.isWellFormed())
      }),
      property(300, 10_000),
    )
  })
  t.same(cutTo({ kind: 'tokens', tokens: [1, 2, 3] }, 2), { kind: 'tokens', tokens: [1, 2] })
})
