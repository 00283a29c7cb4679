/**
 * Requests that api.z.ai accepts at /api/paas/v4/chat/completions (pip zai-sdk 0.2.3, api_resource/chat/completions.py, and reported refusals).
 * Fields outside are ignored: `max_completion_tokens` is, without an error (github.com/simstudioai/sim/pull/5569).
 */
import { Type } from 'typebox'
import { list, object } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, asReasoningContent, bearer, contentSchema, may, unpaired } from './chat-parts.ts'

const text = Type.Object({ type: words('text'), text: Type.String() })
const call = Type.Object({ id: Type.String(), type: words('function'), function: anyObject })
const message = Type.Union([
  Type.Object({ role: words('system'), content: contentSchema(text) }),
  Type.Object({ role: words('user'), content: contentSchema(text, Type.Object({ type: words('image_url'), image_url: anyObject })) }),
  Type.Object({
    role: words('assistant'),
    content: may(contentSchema(text)),
    reasoning_content: may(Type.String()),
    tool_calls: may(Type.Array(call)),
  }),
  Type.Object({ role: words('tool'), content: contentSchema(text), tool_call_id: Type.String() }),
])

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(message),
    // "none, minimal, low, medium, high, xhigh, max. Effective for glm-5.2 and above models" (zai-sdk 0.2.3).
    reasoning_effort: may(words('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    // github.com/mnfst/modelparams.dev/pull/301: from 0 to 1.
    temperature: may(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: may(Type.Number({ minimum: 0, maximum: 1 })),
    max_tokens: may(Type.Integer()),
    seed: may(Type.Integer()),
    // docs.z.ai/api-reference/llm/chat-completion: a list, of which one is supported, whatever its maxItems says (1, since 2026-08 4).
    stop: may(Type.Array(Type.String(), { maxItems: 1 })),
    stream: may(Type.Boolean()),
    thinking: may(Type.Object({ type: words('enabled', 'disabled') })),
    tools: may(Type.Array(Type.Object({ type: words('function', 'web_search', 'retrieval') }))),
    response_format: may(Type.Object({ type: Type.String() })),
  }),
)

const bad = (code: string, message: string): Refusal => ({ status: 400, body: { error: { code, message } } })

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  // github.com/vastsa/PI-Desktop/issues/30; github.com/cline/cline/issues/9939
  if (wrong?.path.endsWith('.role')) return bad('1214', 'Incorrect role information')
  if (wrong) return bad('1210', 'Invalid API parameter, please check the documentation.')
  const { tool_choice: choice, reasoning_effort: effort, thinking } = body
  // github.com/vectorize-io/hindsight/issues/4246
  if (choice !== undefined && choice !== 'auto') return bad('1210', 'Tool choice must be auto')
  if (model.name === 'glm-5.3') {
    // github.com/charmbracelet/catwalk/pull/603; docs.bigmodel.cn/cn/guide/capabilities/thinking
    if (object(thinking).type === 'disabled')
      return bad('1210', 'This model always engages in thinking and cannot be disabled; please use low, high, or max.')
    // github.com/mnfst/modelparams.dev/pull/327
    if (effort !== undefined && !['low', 'high', 'max'].includes(String(effort)))
      return bad('1210', 'Invalid API parameter, please check the documentation.')
  }
  const messages = list(body.messages)
  // github.com/anomalyco/opencode/issues/2557: none of them is of a user.
  if (!messages.some(({ role }) => role === 'user') || unpaired(messages))
    return bad('1214', 'The messages parameter is illegal. Please check the documentation.')
  return undefined
}

export const zai: Rules = {
  preset: 'zai',
  wire: 'openai-chat',
  sources: [
    'pip zai-sdk 0.2.3, api_resource/chat/completions.py',
    'github.com/vectorize-io/hindsight/issues/4246',
    'github.com/mnfst/modelparams.dev/pull/327',
    'github.com/charmbracelet/catwalk/pull/603',
    'github.com/anomalyco/opencode/issues/2557',
  ],
  models: [
    {
      slug: 'zai/glm-5.3',
      name: 'glm-5.3',
      entry: 'endpoints: [{ provider: zai, model: glm-5.3, price: { prompt: "1", completion: "1" } }]',
      reasons: true,
    },
    {
      slug: 'zai/glm-5.2',
      name: 'glm-5.2',
      entry: 'endpoints: [{ provider: zai, model: glm-5.2, price: { prompt: "1", completion: "1" } }]',
      reasons: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer({ status: 401, body: { error: { code: '1001', message: 'Header did not receive authentication parameters' } } }),
  check,
  rewrite: asReasoningContent,
}
