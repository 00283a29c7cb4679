/**
 * Requests that api.x.ai accepts at /v1/responses: its OpenAPI document, with the efforts of docs.x.ai and the refusals that users report. Bodies
 * are read into types ("data did not match any variant of untagged enum ModelInput", github.com/meangrinch/MangaTranslator/issues/48);
 * fields outside the document are not known to be refused, save those that reports name.
 */
import { Type } from 'typebox'
import { list, object } from '../../support/fold.ts'
import type { Utterance } from '../../support/wire.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, RuledModel, Rules } from '../stand-in.ts'
import { anyObject, bearer, may } from './chat-parts.ts'

const id = Type.Optional(Type.String())
const part = Type.Union([
  Type.Object({ type: words('input_text', 'output_text'), text: Type.String() }),
  Type.Object({ type: words('input_image'), image_url: Type.String() }),
  Type.Object({ type: words('input_file'), file_data: may(Type.String()), file_id: may(Type.String()), file_url: may(Type.String()) }),
])

const item = Type.Union([
  Type.Object({
    type: may(words('message')),
    role: words('user', 'assistant', 'system', 'developer'),
    content: Type.Union([Type.String(), Type.Array(part)]),
  }),
  Type.Object({ type: words('function_call'), call_id: Type.String(), name: Type.String(), arguments: Type.String(), id }),
  Type.Object({
    type: words('function_call_output'),
    call_id: Type.String(),
    // The document has a string; parts with images were accepted (github.com/vercel/ai/pull/17426).
    output: Type.Union([Type.String(), Type.Array(part)]),
  }),
  Type.Object({
    type: words('reasoning'),
    summary: Type.Array(Type.Object({ type: words('summary_text'), text: Type.String() })),
    content: Type.Optional(Type.Array(Type.Object({ type: words('reasoning_text'), text: Type.String() }))),
    encrypted_content: may(Type.String()),
    id,
  }),
])

const format = Type.Union([
  Type.Object({ type: words('text', 'json_object') }),
  Type.Object({ type: words('json_schema'), schema: anyObject, name: may(Type.String()), strict: may(Type.Boolean()) }),
])

const departure = departures(
  Type.Object({
    model: Type.Optional(Type.String()),
    input: Type.Union([Type.String(), Type.Array(item)]),
    instructions: may(Type.String()),
    logprobs: may(Type.Boolean()),
    max_output_tokens: may(Type.Integer()),
    parallel_tool_calls: may(Type.Boolean()),
    previous_response_id: may(Type.String()),
    prompt_cache_key: may(Type.String()),
    reasoning: may(Type.Object({ effort: may(Type.String()), summary: may(Type.String()), generate_summary: may(Type.String()) })),
    service_tier: may(Type.String()),
    store: may(Type.Boolean()),
    stream: may(Type.Boolean()),
    temperature: may(Type.Number({ minimum: 0, maximum: 2 })),
    text: may(Type.Object({ format: may(format) })),
    tool_choice: may(Type.Union([words('none', 'auto', 'required'), closed({ type: words('function'), name: Type.String() })])),
    tools: may(
      Type.Array(
        Type.Union([
          Type.Object({ type: words('function'), name: Type.String(), parameters: anyObject, description: may(Type.String()) }),
          Type.Object({ type: words('web_search', 'x_search', 'code_interpreter', 'file_search', 'mcp', 'shell') }),
        ]),
        { maxItems: 128 },
      ),
    ),
    top_logprobs: may(Type.Integer({ minimum: 0, maximum: 8 })),
    top_p: may(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
    user: may(Type.String()),
  }),
)

interface GrokModel extends RuledModel {
  readonly efforts: readonly string[]
}

const bad = (error: string, code = 'invalid-argument'): Refusal => ({ status: 400, body: { code, error } })

/** The document: "not supported in the Responses API"; of reasoning models docs.x.ai, "Reasoning", names stop as well. */
const UNSUPPORTED = ['presence_penalty', 'frequency_penalty', 'stop']

function modelRefusal({ body, model }: Call): Refusal | undefined {
  const { efforts, name } = model as GrokModel
  const { effort } = object(body.reasoning)
  // github.com/router-for-me/CLIProxyAPI/pull/3968
  if (typeof effort === 'string' && !efforts.includes(effort)) return bad(`Model ${name} does not support parameter reasoningEffort.`)
  // github.com/lobehub/lobehub/issues/8389
  const unsupported = UNSUPPORTED.find((field) => body[field] !== undefined)
  if (unsupported !== undefined) return bad(`Argument not supported on this model: ${unsupported}`)
  // github.com/openclaw/openclaw/issues/12910; the document: "the only supported value is `reasoning.encrypted_content`".
  const includes = Array.isArray(body.include) ? body.include : []
  if (includes.some((each) => each !== 'reasoning.encrypted_content')) return bad('Argument not supported: include', '400')
  // github.com/lidge-jun/opencodex/issues/2240
  if (list(body.tools).some((tool) => tool.external_web_access !== undefined))
    return bad('Argument not supported: external_web_access', '400')
  // github.com/10-X-eng/vibecad/issues/4
  if (body.instructions !== undefined && body.previous_response_id !== undefined)
    return bad('Argument not supported: instructions and previous_response_id together', '400')
  return undefined
}

function check(call: Call): Refusal | undefined {
  const { body, signatures } = call
  const wrong = departure(body)
  if (wrong)
    return { status: 422, body: { error: `Failed to deserialize the JSON body into the target type: ${wrong.path}: ${wrong.message}` } }
  // github.com/Wei-Shaw/sub2api/issues/4535
  for (const { type, encrypted_content: encrypted } of list(body.input))
    if (type === 'reasoning' && typeof encrypted === 'string' && !signatures.verify(encrypted))
      return bad(
        'Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response.',
      )
  return modelRefusal(call)
}

/** The document: encrypted reasoning is returned when `include` names it. */
function says(utterance: Utterance, { body, signatures }: Call): Utterance {
  if (!utterance.reasoning) return utterance
  const isAsked = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
  return { ...utterance, signature: isAsked ? signatures.issue(utterance.reasoning.join('')) : undefined }
}

const grok = (name: string, efforts: readonly string[]): GrokModel => ({
  slug: `x-ai/${name}`,
  name,
  efforts,
  reasons: true,
  images: true,
})

export const xai: Rules = {
  preset: 'xai',
  wire: 'openai-responses',
  sources: [
    'https://api.x.ai/api-docs/openapi.json, 1.0.0 (copy of 2026: github.com/api-evangelist/xai at 12b8eae)',
    'https://docs.x.ai/developers/model-capabilities/text/reasoning',
    'github.com/router-for-me/CLIProxyAPI/pull/3968',
    'github.com/Wei-Shaw/sub2api/issues/4535',
  ],
  // docs.x.ai/developers/grok-4-7 and the page of reasoning.
  models: [grok('grok-4.7', ['low', 'medium', 'high', 'xhigh']), grok('grok-4.3', ['none', 'low', 'medium', 'high'])],
  path: () => '/responses',
  // The document has 400 for an invalid key.
  denied: bearer(bad('Incorrect API key provided. You can obtain an API key from https://console.x.ai.')),
  check,
  says,
}
