/** Requests that Claude on Vertex AI accepts: the Messages API with the model in the path (npm @anthropic-ai/vertex-sdk 1.1.3, client.js). */
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

/** Names that are known here (BerriAI/litellm, anthropic_beta_headers_config.json at 030dd40, `vertex_ai`). */
const BETAS: ReadonlySet<string> = new Set([
  'compact-2026-01-12',
  'compact-2026-09-04',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'interleaved-thinking-2025-05-14',
  'per-turn-control-2026-07-01',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'tool-search-tool-2025-10-19',
  'web-search-2025-03-05',
])

/** Fault of the headers: the SDK takes the version out, which stands in the body. */
function headerRefusal({ headers }: Call['request']): Refusal | undefined {
  if (headers['anthropic-version'] !== undefined) return refused('anthropic-version: no such header')
  const unknown = String(headers['anthropic-beta'] ?? '')
    .split(',')
    .filter((name) => name !== '' && !BETAS.has(name))
  // anthropics/claude-code issues 21625, 34802
  return unknown.length === 0
    ? undefined
    : refused(`Unexpected value(s) ${unknown.map((name) => `\`${name}\``).join(', ')} for the \`anthropic-beta\` header.`)
}

function check(call: Call): Refusal | undefined {
  const { body, model, request } = call
  const wrong = headerRefusal(request)
  if (wrong) return wrong
  // UKGovernmentBEIS/inspect_ai pull 3851
  if ('cache_control' in body) return refused('cache_control: Extra inputs are not permitted')
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
