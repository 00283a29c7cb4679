/**
 * A file that a provider has stored goes, by its id, only to a provider whose API gives such ids.
 * OpenAI: types of openai 7.57.0, `ChatCompletionContentPart.File.File.file_id`, `ResponseInputFile.file_id` and
 * `ResponseInputImage.file_id`. Anthropic: types of @anthropic-ai/sdk 1.12.0, `BetaFileDocumentSource` and `BetaFileImageSource`.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { KEY } from '../../support/gateway.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { answerFor } from '../../support/wire.ts'

const ID = 'file-Kept1'

interface Part {
  content: JsonObject
  /** Place of the id in its request. */
  field: string
  /** Dialects that can name it. */
  takenBy: readonly string[]
}

const source = { type: 'file', file_id: ID }
const PARTS: Readonly<Record<Client, readonly Part[]>> = {
  chat: [
    {
      content: { type: 'file', file: { file_id: ID } },
      field: 'messages[0].content[1].file.file_id',
      takenBy: ['openai-chat', 'openai-responses'],
    },
  ],
  responses: [
    {
      content: { type: 'input_file', file_id: ID },
      field: 'input[0].content[1].file_id',
      takenBy: ['openai-chat', 'openai-responses'],
    },
    { content: { type: 'input_image', detail: 'auto', file_id: ID }, field: 'input[0].content[1].file_id', takenBy: ['openai-responses'] },
  ],
  messages: [
    { content: { type: 'document', source }, field: 'messages[0].content[1].source.file_id', takenBy: ['anthropic'] },
    { content: { type: 'image', source }, field: 'messages[0].content[1].source.file_id', takenBy: ['anthropic'] },
  ],
}
const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']

function clientBody(client: Client, model: string, part: JsonObject): JsonObject {
  const text = { type: client === 'responses' ? 'input_text' : 'text', text: 'What is in it?' }
  const conversation = [{ role: 'user', content: [text, part] }]
  if (client === 'responses') return { model, input: conversation }
  return { model, messages: conversation, max_tokens: 100 }
}

function withModels(t: Test, models: string) {
  return startScene(t, {
    answer: (seen) => answerFor(seen, { text: ['Seen.'] }),
    config: (url) => {
      const base = (dialect: string): string => `${url}${dialect.startsWith('openai') ? '/v1' : ''}`
      return `
auth: { keys: [ { name: app, key: "${KEY}", provider_ids: [ ${ID} ] } ] }
providers:
${DIALECTS.filter((dialect) => models.includes(`at-${dialect},`))
  .map((dialect) => `  at-${dialect}: { dialect: ${dialect}, base_url: "${base(dialect)}", key: sk-up }`)
  .join('\n')}
models:
${models}`
    },
  })
}

t.test('each client format at each provider format', async (t) => {
  const { gateway, upstream } = await withModels(
    t,
    DIALECTS.map((dialect) => `  acme/${dialect}: { endpoints: [ { provider: at-${dialect}, model: m, price: free } ] }`).join('\n'),
  )
  for (const client of Object.keys(PARTS) as Client[])
    await every(t, client, async (t) => {
      for (const { content, field, takenBy } of PARTS[client])
        for (const dialect of DIALECTS) {
          const name = `${String(content.type)} at ${dialect}`
          const before = upstream.requests.length
          const reply = await gateway.post(PATHS[client], clientBody(client, `acme/${dialect}`, content))
          const body = (await reply.json()) as JsonObject
          const sent = upstream.requests.slice(before)
          if (takenBy.includes(dialect)) {
            t.equal(reply.status, 200, `${name}: ${JSON.stringify(body)}`)
            t.match(sent.at(-1)?.body, `"file_id":"${ID}"`, name)
          } else {
            t.equal(reply.status, 400, `${name}: ${JSON.stringify(body)}`)
            t.match(object(body.error).message, new RegExp(`^.{${field.length}}: the \\w+ is stored at a provider`), name)
            t.ok(String(object(body.error).message).startsWith(field), `${name}: the field`)
            t.equal(sent.length, 0, `${name}: nothing was sent`)
          }
        }
    })
})

t.test('the endpoint that takes the id serves, and the others are named as excluded', async (t) => {
  const { gateway, upstream } = await withModels(
    t,
    `  acme/two:
    endpoints:
      - { provider: at-anthropic, model: a, price: free }
      - { provider: at-openai-chat, model: c, price: free }
  acme/gemini: { endpoints: [ { provider: at-gemini, model: g, price: free } ] }`,
  )
  const part = PARTS.chat[0]?.content ?? {}
  for (let round = 0; round < 4; round++) {
    const reply = await gateway.post(PATHS.chat, clientBody('chat', 'acme/two', part))
    t.equal(reply.status, 200)
    await reply.text()
  }
  t.same(
    upstream.requests.map((request) => request.json.model),
    ['c', 'c', 'c', 'c'],
  )
  const refused = await gateway.post(PATHS.chat, clientBody('chat', 'acme/gemini', part))
  t.equal(refused.status, 400)
  t.match(await refused.json(), {
    error: {
      message: /these endpoints take it: acme\/two at at-openai-chat$/,
      metadata: { field: 'messages[0].content[1].file.file_id' },
      availability: { code: 'constraint_filtered', fallback_models: ['acme/two'] },
    },
  })
})

t.test('a file with its bytes beside the id is any provider’s to read', async (t) => {
  const { gateway, upstream } = await withModels(
    t,
    '  acme/claude: { input: [ text, file ], endpoints: [ { provider: at-anthropic, model: m, price: free } ] }',
  )
  const file = { file_id: ID, file_data: 'data:application/pdf;base64,JVBERi0=' }
  const reply = await gateway.post(PATHS.chat, clientBody('chat', 'acme/claude', { type: 'file', file }))
  t.equal(reply.status, 200)
  t.match(upstream.requests.at(-1)?.json, {
    messages: [{ content: [{ type: 'text' }, { type: 'document', source: { type: 'base64', data: 'JVBERi0=' } }] }],
  })
  t.notMatch(upstream.requests.at(-1)?.body, ID)
})
