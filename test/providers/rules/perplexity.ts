/**
 * Requests that api.perplexity.ai accepts at /chat/completions (npm @perplexity-ai/perplexity_ai 0.38.5, generated/api.d.ts,
 * ApiChatCompletionsRequestInput).
 */
import { Type } from 'typebox'
import { list, object } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, bearer, contentSchema, may, optionalWord } from './chat-parts.ts'

const part = Type.Union([
  Type.Object({ type: words('text'), text: Type.String() }),
  Type.Object({ type: words('image_url'), image_url: Type.Union([Type.String(), Type.Object({ url: Type.String() })]) }),
  Type.Object({ type: words('file_url', 'pdf_url', 'video_url') }),
])

const departure = departures(
  Type.Object({
    messages: Type.Array(
      // github.com/BerriAI/litellm/issues/11665: "role: Input should be 'system', 'user' or 'assistant'", "content: Field required".
      Type.Object({ role: words('system', 'user', 'assistant'), content: contentSchema(part) }),
    ),
    model: Type.String(),
    frequency_penalty: may(Type.Number()),
    max_tokens: may(Type.Integer()),
    presence_penalty: may(Type.Number()),
    reasoning_effort: optionalWord('minimal', 'low', 'medium', 'high'),
    response_format: may(
      Type.Union([
        Type.Object({ type: words('text') }),
        Type.Object({ type: words('json_schema'), json_schema: Type.Object({ schema: anyObject }) }),
        Type.Object({ type: words('regex'), regex: anyObject }),
      ]),
    ),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream: may(Type.Boolean()),
    temperature: may(Type.Number()),
    tools: may(Type.Array(anyObject)),
    top_k: may(Type.Integer()),
    top_p: may(Type.Number()),
  }),
)

const bad = (message: string, type = 'invalid_message'): Refusal => ({ status: 400, body: { error: { message, type, code: 400 } } })

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return bad(`["At body -> ${wrong.path}: ${wrong.message}"]`, 'bad_request')
  // github.com/pipecat-ai/pipecat/pull/4862
  if (body.tools !== undefined) return bad('Tool calling is not supported for this model', 'invalid_parameter')
  const roles = list(body.messages).map(({ role }) => role)
  const spoken = roles.slice(roles.findIndex((role) => role !== 'system'))
  // github.com/serac-labs/serac/issues/53
  if (spoken.includes('system') || spoken.some((role, index) => (role === 'user') !== (index % 2 === 0)))
    return bad('After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).')
  if (spoken.at(-1) !== 'user') return bad('Last message must have role `user`.')
  return object(body.response_format).type === 'json_object' ? bad('response_format: json_object is not supported') : undefined
}

const entry =
  'input: [text, image]\nendpoints: [{ provider: perplexity, model: sonar-pro, price: { prompt: "3", completion: "15" }, supported_parameters: [max_tokens, temperature, top_p, top_k, stop, frequency_penalty, presence_penalty, response_format, structured_outputs, web_search_options] }]'

export const perplexity: Rules = {
  preset: 'perplexity',
  wire: 'openai-chat',
  sources: [
    'npm @perplexity-ai/perplexity_ai 0.38.5, generated/api.d.ts',
    'github.com/BerriAI/litellm/issues/11665',
    'github.com/pipecat-ai/pipecat/pull/4862',
    'github.com/serac-labs/serac/issues/53',
  ],
  models: [{ slug: 'perplexity/sonar-pro', name: 'sonar-pro', entry, tools: false }],
  path: () => '/chat/completions',
  denied: bearer({ status: 401, body: { error: { message: 'Unauthorized', type: 'unauthorized', code: 401 } } }),
  check,
}
