/** A model that cannot be kept from thinking refuses the switch; the request is repeated with the lowest effort that its provider takes. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { PATHS, questionFor } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

interface Refusal {
  readonly preset: string
  /** Field of the switch that the preset writes. */
  readonly field: string
  readonly error: JsonObject
  /** Effort of the second call. */
  readonly lowest?: string
}

/** As users report them; the comment above each is the place. */
const REFUSALS: readonly Refusal[] = [
  // github.com/charmbracelet/catwalk/pull/603, 2026-09
  {
    preset: 'zai',
    field: 'thinking',
    error: {
      error: { code: '1210', message: 'This model always engages in thinking and cannot be disabled; please use low, high, or max.' },
    },
    lowest: 'low',
  },
  // github.com/OpenCSGs/csglite/issues/194, 2026-09
  {
    preset: 'zai',
    field: 'thinking',
    error: { error: { code: '1210', message: '该模型始终思考，不支持关闭思考；请使用 low、high 或 max。' } },
    lowest: 'low',
  },
  // platform.kimi.ai, Claude Code guide: kimi-k2.7-code
  {
    preset: 'moonshot',
    field: 'thinking',
    error: { error: { type: 'invalid_request_error', message: 'invalid thinking: only type=enabled is allowed for this model' } },
    lowest: 'low',
  },
  // help.aliyun.com, Model Studio: error messages; the preset knows no efforts
  {
    preset: 'qwen',
    field: 'enable_thinking',
    error: {
      error: {
        code: 'invalid_parameter_error',
        param: null,
        message: '<400> InternalError.Algo.InvalidParameter: The value of the enable_thinking parameter is restricted to True.',
        type: 'invalid_request_error',
      },
    },
  },
  // The form of github.com/earendil-works/pi/issues/1745, with the efforts of gpt-oss
  {
    preset: 'groq',
    field: 'reasoning_effort',
    error: { error: { message: '`reasoning_effort` must be one of `low`, `medium`, or `high`', type: 'invalid_request_error' } },
  },
  // github.com/router-for-me/CLIProxyAPI/issues/1572
  {
    preset: 'nebius',
    field: 'reasoning_effort',
    error: {
      object: 'error',
      message:
        "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'none'}",
      type: 'Bad Request',
      param: null,
      code: 400,
    },
  },
  // github.com/CherryHQ/cherry-studio/issues/6642: a model without the switch, whatever it thinks
  {
    preset: 'siliconflow',
    field: 'enable_thinking',
    error: { code: 20015, message: 'Value error, current model does not support parameter `enable_thinking`.', data: null },
  },
]

const WAYS = [
  ['chat', { reasoning_effort: 'none' }],
  ['chat', { reasoning: { enabled: false } }],
  ['messages', { thinking: { type: 'disabled' } }],
  ['responses', { reasoning: { effort: 'none' } }],
] as const

for (const [index, { preset, field, error, lowest }] of REFUSALS.entries())
  t.test(`no thinking, refused by a model at ${preset} (${index})`, async (t) => {
    const { gateway, upstream, clock } = await startScene(t, {
      config: (url) => `
providers:
  one: { preset: ${preset}, base_url: "${url}/v1", key: sk-provider-1 }
models:
  acme/one: { endpoints: [ { provider: one, model: m, price: { prompt: "1", completion: "2" } } ] }
`,
    })
    const fine = upstream.script
    upstream.script = (request, count) => (object(request.json)[field] === undefined ? fine(request, count) : jsonAnswer(error, 400))
    const sent = async (client: 'chat' | 'messages' | 'responses', more: JsonObject): Promise<JsonObject[]> => {
      const before = upstream.requests.length
      const response = await gateway.post(PATHS[client], { ...questionFor(client), ...more, model: 'acme/one' })
      t.equal(response.status, 200, `${client}: ${await response.clone().text()}`)
      const id = response.headers.get('x-generation-id') ?? ''
      await response.text()
      if (client === 'chat') t.match(await (await gateway.get(`/v1/generation?id=${id}`)).text(), /"reasoning.effort"/, 'it is recorded')
      return upstream.requests.slice(before).map(({ json }) => object(json))
    }
    await every(t, 'each format', async (t) => {
      for (const [place, [client, more]] of WAYS.entries()) {
        const calls = await sent(client, more)
        t.equal(calls.length, place === 0 ? 2 : 1, `${client}: the first of them in two calls`)
        const last = calls.at(-1) ?? {}
        t.same([last[field], last.reasoning_effort], [undefined, lowest], `${client} ${JSON.stringify(more)}`)
      }
    })
    await clock.advance(3_600_001)
    t.equal((await sent('chat', { reasoning_effort: 'none' })).length, 2, 'an hour later it is tried again')
  })
