/** api.openai.com at /v1/responses, and the same API at Azure. */
import type { Utterance } from '../../support/wire.ts'
import type { Call, Rules } from '../stand-in.ts'
import { withoutOwnFields } from './responses-items.ts'
import { type ResponsesModel, refusal, responsesRefusal } from './responses-rules.ts'

const SOURCES = [
  'npm openai 7.57.0, resources/responses/responses.d.ts',
  'Recorded traffic of api.openai.com/v1/responses (pydantic-ai tests, up to 2026-08)',
  'https://developers.openai.com/api/docs/guides/latest-model and the pages of the models, for their efforts',
]

/** Encrypted reasoning is part of a reply only where it is requested. */
function says(utterance: Utterance, { body, signatures, model }: Call): Utterance {
  const isAsked = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
  if (!model.reasons || !utterance.reasoning) return { ...utterance, reasoning: undefined, signature: undefined }
  return { ...utterance, signature: isAsked ? signatures.issue(utterance.reasoning.join('')) : undefined }
}

const MODELS = {
  astra: { name: 'gpt-6-astra', marks: true, reasons: true, images: true, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  luna: { name: 'gpt-6-luna', marks: true, reasons: true, images: true, efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  mini: { name: 'gpt-5-mini', reasons: true, images: true, efforts: ['minimal', 'low', 'medium', 'high'] },
  plain: { name: 'gpt-4.1', images: true },
} as const satisfies Record<string, Omit<ResponsesModel, 'slug'>>

export const openai: Rules = {
  preset: 'openai',
  wire: 'openai-responses',
  sources: SOURCES,
  models: Object.values(MODELS).map((model): ResponsesModel => ({ slug: `openai/${model.name}`, ...model })),
  path: () => '/responses',
  denied: ({ headers }, key) =>
    headers.authorization === `Bearer ${key}`
      ? undefined
      : refusal({ message: 'Incorrect API key provided: ********.', code: 'invalid_api_key', status: 401 }),
  check: (call) => responsesRefusal({ ...call, body: withoutOwnFields(call.body) }),
  says,
}

const azureModel = (model: Omit<ResponsesModel, 'slug'>, quirks: string, supported: string): ResponsesModel => ({
  ...model,
  slug: `azure/${model.name}`,
  entry: `endpoints: [ { provider: azure-openai, model: ${model.name}, price: free, supported_parameters: [ ${supported} ]${quirks} } ]`,
})

/** learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle: the paths and fields of OpenAI, with the key in `api-key`. */
export const azureOpenai: Rules = {
  ...openai,
  preset: 'azure-openai',
  sources: [...SOURCES, 'npm openai 7.57.0, azure.js'],
  check: responsesRefusal,
  models: [
    azureModel(
      MODELS.mini,
      ', quirks: { efforts: [ minimal, low, medium, high ] }',
      'max_tokens, reasoning, include_reasoning, response_format, structured_outputs, tools, tool_choice, parallel_tool_calls, verbosity',
    ),
    azureModel(
      MODELS.plain,
      '',
      'max_tokens, temperature, top_p, response_format, structured_outputs, tools, tool_choice, parallel_tool_calls',
    ),
  ],
  denied: ({ headers }, key) =>
    headers['api-key'] === key
      ? undefined
      : {
          status: 401,
          body: { error: { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint.' } },
        },
}
