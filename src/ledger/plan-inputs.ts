/** Inputs of a plan in a row of the ledger: names and counts by which the request can be planned again, never its texts. */
import type { Json, JsonObject } from '../core/json.ts'
import { PARAMETER_NAMES, PARAMETERS } from '../core/parameters.ts'
import { type PlanInputs, parseFacts } from './facts.ts'
import type { GenerationRecord } from './types.ts'

/**
 * Fields for each parameter that decides something in a plan, in the words of chat. Their names are those of the client formats:
 * no other name of a body is kept, as a caller may write anything there.
 */
const VALUES: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(
    PARAMETER_NAMES.flatMap((name): [string, JsonObject][] => {
      const { sample } = PARAMETERS[name]
      return sample === undefined ? [] : [[name, { [name]: sample as Json }]]
    }),
  ),
  stop_sequences: { stop: ['\n\n'] },
  top_logprobs: { logprobs: true, top_logprobs: 1 },
  reasoning_effort: { reasoning: { effort: 'medium' } },
  thinking: { reasoning: { effort: 'medium' } },
}
/** Parameters that have no effect without tools: a request that has them and no tools is refused. */
const WITH_TOOLS: ReadonlySet<string> = new Set(['tool_choice', 'parallel_tool_calls'])

/** Names of a body that its row keeps. */
export const PLAN_PARAMETERS: ReadonlySet<string> = new Set(Object.keys(VALUES))

/** A body is made no longer than this for a plan. */
const LONGEST = 8_000_000

/** Data of the least length that is one of its kind; what it shows decides nothing. */
const MEDIA: Readonly<Record<string, JsonObject>> = {
  image: { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  audio: { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
  file: { type: 'file', file: { filename: 'file.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
  video: { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } },
}

/**
 * The body of a request that is planned as the recorded one was, as far as the row says how.
 * @returns undefined where the row keeps no inputs.
 */
export function replayBody({ hold, settled }: GenerationRecord): { text: string; format: 'chat' | 'embeddings' } | undefined {
  const facts = parseFacts(settled)
  if (typeof facts.inputs !== 'string') return undefined
  const inputs = JSON.parse(facts.inputs) as PlanInputs
  const { requested = hold.model, models, provider, route, cap, tools } = inputs
  const shared: JsonObject = {
    model: requested,
    ...(models ? { models } : {}),
    ...(provider === undefined ? {} : { provider: JSON.parse(provider) as Json }),
  }
  if (facts.api_type === 'embeddings') return { text: JSON.stringify({ ...shared, input: filler(inputs, shared) }), format: 'embeddings' }
  const body: JsonObject = {
    ...shared,
    ...(route === undefined ? {} : { route }),
    ...(cap === undefined ? {} : { max_tokens: cap }),
    ...(facts.streamed === true ? { stream: true } : {}),
    ...(tools ? { tools: [{ type: 'function', function: { name: 'tool', parameters: { type: 'object', properties: {} } } }] } : {}),
  }
  for (const name of inputs.parameters ?? []) if (tools || !WITH_TOOLS.has(name)) Object.assign(body, VALUES[name])
  const media = (inputs.media ?? []).flatMap((kind): JsonObject[] => (MEDIA[kind] ? [MEDIA[kind]] : []))
  const words = filler(media.length > 0 ? { ...inputs, bytes: 3 * (settled?.input ?? 0) } : inputs, body)
  body.messages = [{ role: 'user', content: media.length > 0 ? [{ type: 'text', text: words }, ...media] : words }]
  return { text: JSON.stringify(body), format: 'chat' }
}

/** As long as the body was, less what stands beside it. */
function filler({ bytes = 0 }: PlanInputs, beside: JsonObject): string {
  return 'x'.repeat(Math.min(LONGEST, Math.max(1, bytes - JSON.stringify(beside).length - 50)))
}
