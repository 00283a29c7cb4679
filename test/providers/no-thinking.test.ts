/** "No thinking" reaches each provider by its own switch, from callers of all formats: an effort that it takes instead is thought and billed. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { object } from '../support/fold.ts'
import { PATHS, questionFor } from '../support/providers.ts'
import { startMatrix } from './matrix.ts'
import { RULES } from './rules/index.ts'

const disabled = { thinking: { type: 'disabled' } }
const template = { chat_template_kwargs: { enable_thinking: false, thinking: false } }

/** By preset: a model that can be kept from thinking, and what its provider's material says does that (sources: the rules of the stand-ins). */
const SWITCHES: Readonly<Record<string, { model: string; off: JsonObject }>> = {
  // api-docs.deepseek.com/guides/thinking_mode
  deepseek: { model: 'deepseek-flash', off: disabled },
  // docs.z.ai/guides/capabilities/thinking-mode
  zai: { model: 'glm-5.2', off: disabled },
  // OpenAPI document of platform.kimi.ai
  moonshot: { model: 'kimi-k2.6', off: disabled },
  // npm together-ai 0.52.0, CompletionCreateParams.Reasoning
  together: { model: 'zai-org/GLM-5.3', off: { reasoning: { enabled: false } } },
  // pip fireworks-ai 1.2.30, reasoning_effort
  fireworks: { model: 'accounts/fireworks/models/glm-5p3', off: { reasoning_effort: 'none' } },
  // npm @cerebras/cerebras_cloud_sdk 1.91.0, reasoning_effort; recorded traffic: test_cerebras_disable_reasoning_setting
  cerebras: { model: 'zai-glm-4.7', off: { reasoning_effort: 'none' } },
  // alibabacloud.com/help/en/model-studio/deep-thinking
  qwen: { model: 'qwen3.8-max-0902', off: { enable_thinking: false } },
  // vllm/entrypoints/openai/chat_completion/protocol.py; PyPI sglang 0.5.23, protocol.py
  vllm: { model: 'openai/gpt-oss-120b', off: template },
  sglang: { model: 'openai/gpt-oss-120b', off: template },
}

const FIELDS = ['thinking', 'reasoning', 'reasoning_effort', 'enable_thinking', 'chat_template_kwargs']

const WAYS = [
  ['chat', { reasoning_effort: 'none' }],
  ['chat', { reasoning: { enabled: false } }],
  ['messages', { thinking: { type: 'disabled' } }],
  ['responses', { reasoning: { effort: 'none' } }],
] as const

for (const [preset, { model: name, off }] of Object.entries(SWITCHES)) {
  t.test(`no thinking at ${preset}`, async (t) => {
    const matrix = await startMatrix(
      t,
      RULES.filter((rules) => rules.preset === preset),
    )
    const [standIn] = matrix.standIns
    const model = standIn.rules.models.find((each) => each.name === name)
    if (!model) throw new Error(`${preset} has no ${name}`)
    standIn.utterance = { text: ['Yes.'] }
    const sent = async (client: 'chat' | 'messages' | 'responses', more: JsonObject): Promise<JsonObject> => {
      const response = await matrix.gateway.post(PATHS[client], { ...questionFor(client), ...more, model: model.slug, ...model.more })
      t.equal(response.status, 200, await response.text())
      const body = object(standIn.accepted.at(-1))
      return Object.fromEntries(FIELDS.flatMap((field) => (body[field] === undefined ? [] : [[field, body[field]]])))
    }
    await every(t, 'each format', async (t) => {
      for (const [client, more] of WAYS) {
        t.same(await sent(client, more), off, `${client} ${JSON.stringify(more)}`)
        t.same(standIn.refused, [])
      }
    })
    t.same(await sent('chat', {}), {}, 'a request that says nothing of it says nothing there')
    const thinking = await sent('chat', { reasoning_effort: 'high' })
    t.equal(thinking.reasoning_effort, 'high')
    t.notMatch(thinking, off, 'and one that wants it is not kept from it')
  })
}

t.test('a model that always thinks gets its lowest effort, and what a caller writes for the template of its model stays', async (t) => {
  const presets = ['cerebras', 'fireworks', 'vllm']
  const { gateway, standIns } = await startMatrix(
    t,
    RULES.filter(({ preset }) => presets.includes(preset)),
  )
  for (const standIn of standIns) {
    const [model] = standIn.rules.models
    standIn.utterance = { text: ['Yes.'] }
    const kwargs = standIn.rules.preset === 'vllm' ? { chat_template_kwargs: { enable_thinking: true, name: 'Ada' } } : {}
    const body = { ...questionFor('chat'), reasoning_effort: 'none', ...kwargs, model: model.slug, ...model.more }
    t.equal((await gateway.post(PATHS.chat, body)).status, 200)
    const wanted = standIn.rules.preset === 'vllm' ? { enable_thinking: true, thinking: false, name: 'Ada' } : undefined
    t.same(standIn.accepted.at(-1)?.chat_template_kwargs, wanted)
    t.equal(standIn.accepted.at(-1)?.reasoning_effort, wanted ? undefined : 'low')
  }
})
