/** What Claude on Vertex AI accepts: the Messages API with the model in the path (npm @anthropic-ai/vertex-sdk 1.1.3, client.js). */
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anthropic, checkBody, refused } from './anthropic.ts'
import { vertexDenied } from './vertex-gemini.ts'

const entry = (model: string, quirks: string): string => `endpoints:
  - provider: vertex-claude
    model: ${model}
    price: { prompt: "2.00", completion: "10.00" }
    quirks: ${quirks}`

const ADAPTIVE =
  '{ thinking: adaptive, thinking_off: between_tools, thinking_bound: true, forced_tools: false, system_messages: true, efforts: [low, medium, high, xhigh, max], body: { drop: [prefill, temperature, top_p, top_k] } }'

function check(call: Call): Refusal | undefined {
  const { body, model, request } = call
  if ('model' in body) return refused('model: Extra inputs are not permitted')
  if (body.anthropic_version !== 'vertex-2023-10-16') return refused('anthropic_version: Input should be vertex-2023-10-16')
  const isStream = request.path.endsWith(':streamRawPredict')
  if (isStream !== (body.stream === true)) return refused('stream: does not fit the method of the path')
  const { anthropic_version: _, ...others } = body
  return checkBody({ ...call, body: { ...others, model: model.name } })
}

export const vertexClaude: Rules = {
  ...anthropic,
  preset: 'vertex-claude',
  sources: [
    ...anthropic.sources,
    'npm @anthropic-ai/vertex-sdk 1.1.3, client.js',
    'https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai',
  ],
  models: [
    {
      slug: 'vertex/claude-sonnet-5.5',
      name: 'claude-sonnet-5-5',
      entry: entry('claude-sonnet-5-5', ADAPTIVE),
      reasons: true,
      images: true,
    },
  ],
  path: (model, stream) => `/models/${model.name}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
  denied: vertexDenied,
  check,
}
