/** Size of an input, for the hold and for the charge of a caller that leaves: no field hides text, and pictures are no text. */
import t, { type Test } from 'tap'
import type { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import type { Upstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const PRICE = '{ prompt: "1.00", completion: "0", image: "0.01" }'
/** Nano-dollars of one token. */
const PER_TOKEN = 1_000
/** Tokens of an image in the hold. */
const IMAGE_TOKENS = 20_000
const LONG = 'lorem ipsum '.repeat(10_000)
const PNG = 'iVBORw0KGgo'.repeat(100_000)
const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }
type Format = keyof typeof PATHS

interface Sized {
  upstream: Upstream
  gateway: Gateway
  clock: FakeClock
  /** @returns the status and the tokens held, 0 where nothing was. */
  held(format: Format, body: object, model?: string): Promise<{ status: number; tokens: number }>
}

async function sized(t: Test): Promise<Sized> {
  const model = (name: string, provider: string, input: string): string =>
    `  ${name}: { context: 500000, input: [ ${input} ], endpoints: [ { provider: ${provider}, model: m, price: ${PRICE} } ] }`
  const all = 'text, image, file'
  const models = [model('any/chat', 'c', all), model('any/responses', 'r', all), model('any/messages', 'a', all)]
  models.push(model('text/chat', 'c', 'text'), model('text/messages', 'a', 'text'))
  const { clock, gateway, upstream } = await startScene(t, {
    answer: says({ text: ['Hello'], usage: { input: 10, output: 1 } }),
    config: (url) => `auth: { keys: [ { name: test, key: "${KEY}", limit: "100.00" } ] }
providers:
  c: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  r: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up }
  a: { dialect: anthropic, base_url: "${url}", key: sk-up }
models:
${models.join('\n')}`,
  })
  const rows = () => [...gateway.running.store.journal.export()]
  return {
    upstream,
    gateway,
    clock,
    async held(format, body, model = `any/${format}`) {
      const before = rows().length
      const reply = await gateway.post(PATHS[format], { model, ...(format === 'messages' ? { max_tokens: 10 } : {}), ...body })
      await reply.text()
      const row = rows().at(before)
      return { status: reply.status, tokens: (row?.hold.hold ?? 0) / PER_TOKEN }
    },
  }
}

const user = (content: unknown, more: object = {}): object => ({ role: 'user', content, ...more })
const picture = { type: 'text', text: 'an image' }
const utteredPicture = { type: 'input_text', text: 'an image' }
const fn = { name: 'f', parameters: {} }
const agent = (more: object): object[] => [user([picture]), { role: 'assistant', content: 'x', ...more }, user('go')]
const blocks = (...utterance: object[]): object[] => [user([picture]), { role: 'assistant', content: [...utterance, picture] }, user('go')]
const document = (more: object): object[] => [
  user([{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }, ...more }]),
]

/** Every place of a request in which a text reaches the provider. */
const PLACES: [Format, string, object][] = [
  ['chat', 'functions', { messages: [user([picture])], functions: [{ ...fn, description: LONG }] }],
  ['chat', 'prediction', { messages: [user([picture])], prediction: { type: 'content', content: LONG } }],
  ['chat', 'an unknown field', { messages: [user([picture])], documents: [{ text: LONG }] }],
  ['chat', 'response_format', { messages: [user([picture])], response_format: { type: 'grammar', grammar: LONG } }],
  [
    'chat',
    'tool_choice',
    {
      messages: [user([picture])],
      tools: [{ type: 'function', function: fn }],
      tool_choice: { type: 'function', function: { name: 'f', more: LONG } },
    },
  ],
  ['chat', 'a member of a message', { messages: [user([picture], { context: LONG })] }],
  ['chat', 'a member of a part', { messages: [user([{ ...picture, context: LONG }])] }],
  [
    'chat',
    'a file name',
    { messages: [user([{ type: 'file', file: { filename: LONG, file_data: 'data:application/pdf;base64,AAAA' } }])] },
  ],
  [
    'chat',
    'a type before a payload',
    { messages: [user([{ type: 'image_url', image_url: { url: `data:${LONG.replaceAll(' ', '')},AAAA` } }])] },
  ],
  ['chat', 'encrypted reasoning', { messages: agent({ reasoning_details: [{ type: 'reasoning.encrypted', data: LONG }] }) }],
  ['chat', 'a call of the old form', { messages: agent({ function_call: { name: 'f', arguments: LONG } }) }],
  [
    'responses',
    'encrypted reasoning',
    { input: [user([utteredPicture]), { type: 'reasoning', summary: [], encrypted_content: LONG }, user('go')] },
  ],
  ['responses', 'a file name', { input: [user([{ type: 'input_file', filename: LONG, file_data: 'data:application/pdf;base64,AAAA' }])] }],
  ['responses', 'an unknown field', { input: [user([utteredPicture])], context: LONG }],
  ['messages', 'a signature', { messages: blocks({ type: 'thinking', thinking: 'x', signature: LONG }) }],
  ['messages', 'redacted thinking', { messages: blocks({ type: 'redacted_thinking', data: LONG }) }],
  [
    'messages',
    'a citation',
    {
      messages: blocks({
        ...picture,
        citations: [{ type: 'char_location', cited_text: LONG, document_index: 0, start_char_index: 0, end_char_index: 1 }],
      }),
    },
  ],
  ['messages', 'the context of a document', { messages: document({ context: LONG }) }],
  ['messages', 'the title of a document', { messages: document({ title: LONG }) }],
  [
    'messages',
    'a payload twice',
    {
      messages: [
        user([
          { type: 'imaged', source: { type: 'image', data: 'A'.repeat(LONG.length) } },
          { type: 'text', text: LONG },
        ]),
      ],
    },
  ],
]

t.test('the hold covers a text wherever it stands', async (t) => {
  const { held } = await sized(t)
  await every(t, 'every case', async (t) => {
    for (const [format, place, body] of PLACES) {
      const { status, tokens } = await held(format, body)
      t.ok(status === 200 && tokens >= LONG.replaceAll(' ', '').length, `${format}: ${place}: ${status}, ${tokens} tokens`)
    }
  })
})

t.test('a caller that leaves pays for it', async (t) => {
  const { gateway, upstream, clock } = await sized(t)
  upstream.script = () => ({ before: 'stall' })
  const leave = new AbortController()
  const body = JSON.stringify({ model: 'any/chat', messages: [user([picture])], functions: [{ ...fn, description: LONG }] })
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const asked = fetch(`${gateway.url}${PATHS.chat}`, { method: 'POST', headers, body, signal: leave.signal }).catch(() => {})
  await upstream.request(0)
  leave.abort()
  await asked
  const row = await eventually('the settlement', async () => {
    await clock.advance(1_000)
    return [...gateway.running.store.journal.export()].find(({ settled }) => settled)
  })
  t.ok((row.settled?.input ?? 0) > LONG.length / 4, `${row.settled?.input} tokens`)
})

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
const url = `data:image/png;base64,${PNG}`

t.test('pictures that are sent again count as pictures, not as text', async (t) => {
  const { held } = await sized(t)
  for (const [format, what, body] of [
    ['chat', 'of an answer', { messages: agent({ images: [{ type: 'image_url', image_url: { url } }] }) }],
    [
      'responses',
      'of an answer',
      { input: [user('draw'), { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PNG }] },
    ],
    [
      'responses',
      'of a screen',
      { input: [user('x'), { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: url } }] },
    ],
    ['messages', 'in a document', { messages: [user([{ type: 'document', source: { type: 'content', content: [image] } }])] }],
  ] as [Format, string, object][]) {
    const { status, tokens } = await held(format, body)
    t.ok(status === 200 && tokens >= IMAGE_TOKENS && tokens < 3 * IMAGE_TOKENS, `${format}: ${what}: ${status}, ${tokens} tokens`)
  }
})

t.test('a picture reaches no model that takes text alone, whatever it stands in', async (t) => {
  const { held } = await sized(t)
  for (const [format, what, part] of [
    ['messages', 'a document of blocks', { type: 'document', source: { type: 'content', content: [image] } }],
    ['messages', 'a search result', { type: 'search_result', source: 's', title: 't', content: [image] }],
    ['chat', 'a part of the Responses format', { type: 'input_image', image_url: url }],
    ['chat', 'a part of the Messages format', image],
    ['chat', 'embeddings of an image', { type: 'image_embeds', image_embeds: PNG }],
    ['chat', 'a sound by address', { type: 'audio_url', audio_url: { url: 'https://example.com/a.wav' } }],
  ] as [Format, string, object][]) {
    const { status } = await held(format, { messages: [user([part])] }, `text/${format}`)
    t.equal(status, 404, `${format}: ${what}`)
  }
  const { status } = await held('chat', { messages: agent({ images: [{ type: 'image_url', image_url: { url } }] }) }, 'text/chat')
  t.equal(status, 200, 'what an answer showed is no input')
})

t.test('images in a document have the price of images', async (t) => {
  const { gateway, held } = await sized(t)
  await held('messages', { messages: [user([{ type: 'document', source: { type: 'content', content: [image, image] } }])] })
  const [row] = gateway.running.store.journal.export()
  t.equal(row.settled?.cost, 2 * 10_000_000 + 10 * PER_TOKEN)
})
