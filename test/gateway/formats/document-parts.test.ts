/** Documents of callers of all formats reach Mistral as its own parts, and Mistral's parts reach other providers as theirs. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list } from '../../support/fold.ts'
import type { PATHS } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'

const URL = 'https://files.example/report.pdf'
const DATA = 'data:application/pdf;base64,JVBERi0xLjQK'
const text = { type: 'text', text: 'Read it.' }

/** By client: a document by its address and one with its data. */
const MESSAGES: Readonly<Record<keyof typeof PATHS, JsonObject>> = {
  chat: {
    messages: [
      {
        role: 'user',
        content: [
          text,
          { type: 'file', file: { file_data: URL, filename: 'report.pdf' } },
          { type: 'file', file: { file_data: DATA, filename: 'data.pdf' } },
        ],
      },
    ],
  },
  responses: {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Read it.' },
          { type: 'input_file', file_url: URL, filename: 'report.pdf' },
          { type: 'input_file', file_data: DATA, filename: 'data.pdf' },
        ],
      },
    ],
  },
  messages: {
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          text,
          { type: 'document', title: 'report.pdf', source: { type: 'url', url: URL } },
          { type: 'document', title: 'data.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' } },
        ],
      },
    ],
  },
}
const DOCUMENTS = [
  { type: 'document_url', document_url: URL, document_name: 'report.pdf' },
  { type: 'document_url', document_url: DATA, document_name: 'data.pdf' },
]
const FILES = [
  { type: 'file', file: { file_data: URL, filename: 'report.pdf' } },
  { type: 'file', file: { file_data: DATA, filename: 'data.pdf' } },
]
const MODEL = 'input: [text, image, file]'

const sentParts = (body: JsonObject | undefined): unknown => list(list(body?.messages)[0]?.content).slice(1)

t.test('documents at a provider with the quirk', async (t) => {
  const { ask, upstream } = await startScene(t, { provider: 'quirks: { file_parts: document_url }', model: MODEL })
  for (const [client, more] of Object.entries(MESSAGES)) {
    const reply = await ask(more, client as keyof typeof PATHS)
    t.equal(reply.status, 200, await reply.text())
    t.strictSame(sentParts(upstream.requests.at(-1)?.json), DOCUMENTS, client)
  }
  const stored = await ask({ messages: [{ role: 'user', content: [text, ...DOCUMENTS] }] })
  t.equal(stored.status, 200)
  t.strictSame(sentParts(upstream.requests.at(-1)?.json), DOCUMENTS, 'its own form stays')
})

t.test('its own form of a caller, at other providers', async (t) => {
  const own = { messages: [{ role: 'user', content: [text, ...DOCUMENTS] }] }
  const chat = await startScene(t, { model: MODEL })
  t.equal((await chat.ask(own)).status, 200)
  t.strictSame(sentParts(chat.upstream.requests.at(-1)?.json), FILES, 'chat completions')
  const anthropic = await startScene(t, { dialect: 'anthropic', model: MODEL })
  t.equal((await anthropic.ask(own)).status, 200)
  t.match(sentParts(anthropic.upstream.requests.at(-1)?.json), [
    { type: 'document', source: { type: 'url', url: URL } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' } },
  ])
  const bad = await chat.ask({ messages: [{ role: 'user', content: [{ type: 'document_url' }] }] })
  t.equal(bad.status, 400)
  t.match(await bad.text(), 'messages[0].content[0].document_url')
})

t.test('holds credit for the most tokens that a document may have', async (t) => {
  const yaml = 'auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef", limit: "0.05" } ] }'
  const { ask, upstream } = await startScene(t, {
    yaml,
    provider: 'quirks: { file_parts: document_url }',
    model: MODEL,
  })
  const reply = await ask({ messages: [{ role: 'user', content: [text, ...DOCUMENTS] }], max_tokens: 10 })
  t.equal(reply.status, 402, await reply.text())
  t.equal(upstream.requests.length, 0)
})
