/**
 * Breakpoints of the prompt cache at OpenAI: GPT-5.6 and later take them, earlier models refuse them with 400
 * (github.com/anomalyco/opencode/issues/36315; npm openai 7.59.0, `prompt_cache_breakpoint`). The shipped catalogue knows which is which.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { generationDropped } from '../../support/matrix/observe.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const CATALOGUE = join(import.meta.dirname, '../../../config/catalog/openai.yaml')
const NEWER = ['openai/gpt-6-astra', 'openai/gpt-6.1-sol', 'openai/gpt-6.1-terra', 'openai/gpt-6-luna']
const OLDER = ['openai/gpt-5.5', 'openai/gpt-5-mini', 'openai/gpt-4.1', 'openai/gpt-4.1-mini']

const LONG = 'A long text. '
const EPHEMERAL = { type: 'ephemeral' }
const EXPLICIT = { mode: 'explicit' }
const part = (type: string, mark: JsonObject): JsonObject[] => [
  { type, text: LONG, ...mark },
  { type, text: 'A question.' },
]
const user = (content: JsonObject[]): JsonObject[] => [{ role: 'user', content: content as never }]

/** Marks of each format's own, and those of another vendor that OpenAI-shaped callers write. */
const MARKED: readonly (readonly [name: string, client: Client, body: JsonObject])[] = [
  ['messages, cache_control', 'messages', { max_tokens: 100, messages: user(part('text', { cache_control: EPHEMERAL })) }],
  ['chat, cache_control', 'chat', { messages: user(part('text', { cache_control: EPHEMERAL })) }],
  ['chat, prompt_cache_breakpoint', 'chat', { messages: user(part('text', { prompt_cache_breakpoint: EXPLICIT })) }],
  ['responses, prompt_cache_breakpoint', 'responses', { input: user(part('input_text', { prompt_cache_breakpoint: EXPLICIT })) }],
]

async function tryPreset(t: Test, preset: 'openai' | 'openai-chat'): Promise<void> {
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['fine'] }),
    config: (url) => `
providers: { openai: { preset: ${preset}, base_url: "${url}/v1", key: sk-provider-1 } }
catalog: [ ${JSON.stringify(CATALOGUE)} ]
`,
  })
  const send = async (model: string, client: Client, body: JsonObject) => {
    const response = await gateway.post(PATHS[client], { model, ...body })
    t.equal(response.status, 200, await response.text())
    const found = (await (await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)).json()) as JsonObject
    const sent = object(upstream.requests.at(-1)?.json)
    const turn = list(sent.messages ?? sent.input).find(({ role }) => role === 'user')
    return { content: list(turn?.content as JsonObject[]), sent, dropped: generationDropped(object(found.data)) }
  }
  for (const [name, client, body] of MARKED)
    await every(t, name, async (t) => {
      for (const model of NEWER) {
        const { content, dropped } = await send(model, client, body)
        t.match(content, [{ text: LONG, prompt_cache_breakpoint: EXPLICIT }, { prompt_cache_breakpoint: undefined }], model)
        t.notOk(
          content.some((each) => 'cache_control' in each),
          `${model}: none of another vendor`,
        )
        t.same(dropped, [], model)
      }
      for (const model of OLDER) {
        const { sent, dropped } = await send(model, client, body)
        t.notMatch(JSON.stringify(sent), /cache_control|prompt_cache_breakpoint/, model)
        t.ok(dropped.includes('cache_control'), `${model}: it is recorded`)
      }
    })
  const options = { prompt_cache_options: { mode: 'explicit', ttl: '30m' } }
  await every(t, 'prompt_cache_options', async (t) => {
    const plain: readonly (readonly [client: 'chat' | 'responses', body: JsonObject])[] = [
      ['chat', { messages: [{ role: 'user', content: 'Hello' }] }],
      ['responses', { input: 'Hello' }],
    ]
    for (const [client, body] of plain) {
      // A setting of the format's own, which another format does not carry.
      const isOwn = (client === 'chat') === (preset === 'openai-chat')
      if (isOwn)
        for (const model of NEWER) t.match((await send(model, client, { ...body, ...options })).sent, options, `${client}, ${model}`)
      for (const model of isOwn ? OLDER : [...NEWER, ...OLDER]) {
        const { sent, dropped } = await send(model, client, { ...body, ...options })
        t.equal(sent.prompt_cache_options, undefined, `${client}, ${model}`)
        t.ok(dropped.includes('prompt_cache_options'), `${client}, ${model}: it is recorded`)
      }
    }
  })
}

t.test('over Responses', (t) => tryPreset(t, 'openai'))
t.test('over Chat Completions', (t) => tryPreset(t, 'openai-chat'))
