/** Lets the model ask another model for advice, which remembers what it advised earlier in the conversation. */
import type {
  Item,
  JsonObject,
  ModelAnswer,
  Opaque,
  Part,
  Recalled,
  SessionTool,
  ToolContext,
  ToolFunction,
  ToolHost,
  ToolOutcome,
  ToolSession,
} from '../../plugin-api/index.ts'
import { type Instance, parseInstance } from '../instances.ts'
import { answerText, callSettings, failedCall, fitting, listener, parseFlag, parseText } from '../model-calls.ts'
import { type ReplayedCall, replayedCall, replayedCalls } from '../replayed-calls.ts'

const TOOL = 'advisor'

export const advisor: SessionTool = {
  name: TOOL,
  description: 'Asks another model for advice.',
  parameters: { type: 'object', properties: { prompt: { type: 'string' } } },
  plugin: TOOL,

  begin(parameters: JsonObject, at: string, _settings: JsonObject, context: ToolContext): AdvisorSession {
    return new AdvisorSession(parseConfig(parameters, at, context), context)
  },
}

interface AdvisorConfig {
  instance: Instance
  /** Undefined where the calling model may choose. */
  model: string | undefined
  instructions: string | undefined
  /** The advisor is shown the conversation. */
  transcript: boolean
  /** Its words are shown as they come. */
  live: boolean
  /** Fields of the request for its model. */
  manner: JsonObject
}

/** @param at path of the tool in the request. @throws Fault 400 naming the path. */
function parseConfig(parameters: JsonObject, at: string, context: ToolContext): AdvisorConfig {
  const path = `${at}.parameters`
  return {
    instance: parseInstance(TOOL, `${path}.name`, context),
    model: parseText(parameters.model, `${path}.model`, 'a model slug'),
    instructions: parseText(parameters.instructions, `${path}.instructions`),
    transcript: parseFlag(parameters.forward_transcript, `${path}.forward_transcript`),
    live: parseFlag(parameters.stream, `${path}.stream`),
    manner: callSettings(parameters, path),
  }
}

interface Advice {
  prompt: string
  advice: string
}

/** One advisor of one request, with what the caller has set of it: the model calls it, and it sees what it advised before. */
class AdvisorSession implements ToolSession {
  readonly bound = 0
  readonly functions: readonly ToolFunction[]
  private readonly config: AdvisorConfig
  private readonly brand: string
  /** Advice of this advisor in the conversation so far. */
  private readonly memory: Advice[]

  constructor(config: AdvisorConfig, { brand, request }: Pick<ToolContext, 'brand' | 'request'>) {
    this.config = config
    this.brand = brand
    this.functions = [advisorFunction(config)]
    this.memory = replayedCalls(request(), brand, TOOL).flatMap((call) => (this.owns(call) ? adviceIn(call) : []))
  }

  recalls(of: Opaque): readonly Recalled[] | undefined {
    const call = replayedCall(of, this.brand, TOOL)
    if (!call || call.callId === '' || !this.owns(call)) return undefined
    const { callId, fields } = call
    const args = call.args ?? JSON.stringify({ prompt: fields.prompt ?? '' })
    const failed = typeof fields.advice !== 'string'
    const reported = failed ? { status: 'error', error: fields.error ?? 'no advice' } : okay(fields.model ?? '', fields.advice)
    return [
      { kind: 'call', callId, function: this.config.instance.function, args },
      { kind: 'result', callId, text: call.result ?? JSON.stringify(reported), error: failed },
    ]
  }

  async run({ prompt, model: wantedModel }: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const { config, memory } = this
    const question = typeof prompt === 'string' ? prompt.trim() : ''
    const demand = typeof wantedModel === 'string' && wantedModel.trim() !== '' ? wantedModel.trim() : undefined
    const model = config.model ?? demand ?? host.model
    const item: JsonObject = { model, ...(question === '' ? {} : { prompt: question }), ...this.identity() }
    if (question === '' && !config.transcript) return failedCall('the argument prompt is missing, expected what to ask the advisor', item)
    try {
      const answer = await this.callModel(model, question, host)
      const advice = answerText(answer)
      memory.push({ prompt: question, advice })
      return {
        output: JSON.stringify({ ...okay(answer.model, fitting([advice], host)[0]), ...this.identity() }),
        item: { ...item, model: answer.model, advice },
        status: 'completed',
      }
    } catch (thrown) {
      if (signal.aborted) throw thrown
      return failedCall(thrown, item)
    }
  }

  private async callModel(model: string, question: string, host: ToolHost): Promise<ModelAnswer> {
    const { config, memory } = this
    const reads = host.models.find(({ slug }) => slug === model)?.input
    const input: JsonObject[] = config.transcript ? transcript(host.request().items, reads) : []
    for (const { prompt, advice } of memory) {
      if (prompt !== '') input.push({ role: 'user', content: prompt })
      input.push({ role: 'assistant', content: advice })
    }
    input.push({ role: 'user', content: question === '' ? FORWARDED : question })
    const body: JsonObject = { model, input, ...config.manner }
    if (config.instructions !== undefined) body.instructions = config.instructions
    const live = config.live && host.client === 'responses' && host.request().stream
    if (!live) return await host.generate({ body })
    const text = (delta: string): void => host.progress('response.output_text.delta', { content_index: 0, delta, logprobs: [] })
    const answer = await host.generate({ body, onEvent: listener({ text }) })
    host.progress('response.output_text.done', { content_index: 0, text: answer.text, logprobs: [] })
    return answer
  }

  /** Names the advisor where a request has several. */
  private identity(): JsonObject {
    const { instance } = this.config
    return instance.of > 1 ? { instance_name: `${this.brand}_${instance.function}` } : {}
  }

  private owns({ fields }: ReplayedCall): boolean {
    return (fields.instance_name ?? `${this.brand}_${TOOL}`) === `${this.brand}_${this.config.instance.function}`
  }
}

/** Sent in place of a question where the advisor sees the conversation and the model sends none. */
const FORWARDED = 'What do you advise?'

function okay(model: JsonObject[string], advice: JsonObject[string]): JsonObject {
  return { status: 'ok', model, advice }
}

function adviceIn({ fields: { prompt, advice } }: ReplayedCall): Advice[] {
  return typeof advice === 'string' && advice !== '' ? [{ prompt: typeof prompt === 'string' ? prompt : '', advice }] : []
}

function advisorFunction({ instance, model, transcript: forwarded }: AdvisorConfig): ToolFunction {
  const who = instance.name === undefined ? 'an advisor, another model' : `the advisor ${instance.name}, another model`
  const sees = forwarded
    ? 'It sees the whole conversation; ask a question only where it is not plain what you need.'
    : 'It sees nothing but the prompt: put into it all that it has to know.'
  const properties: JsonObject = { prompt: { type: 'string', description: 'What you want advice on.' } }
  if (model === undefined) properties.model = { type: 'string', description: 'Slug of the model to ask, where you know one that suits.' }
  return {
    name: instance.function,
    description: `Asks ${who}, for advice: before you settle on an approach, when you are stuck, or before you call something done. Not for what is easy. ${sees}`,
    parameters: { type: 'object', properties, required: forwarded ? [] : ['prompt'], additionalProperties: false },
  }
}

type Media = Extract<Part, { kind: 'media' }>

/**
 * The conversation as an advisor is shown it: calls and their results in words, since it has no such tools.
 * @param reads kinds of input that the advisor's model takes; undefined where that is not known. @returns input of a request.
 */
function transcript(items: readonly Item[], reads: readonly string[] | undefined): JsonObject[] {
  return items.flatMap((item) => itemTurn(item, reads))
}

function itemTurn(item: Item, reads: readonly string[] | undefined): JsonObject[] {
  switch (item.kind) {
    case 'message':
      return message(item, reads)
    case 'call':
      return [{ role: 'assistant', content: `[called the tool ${item.name} with ${item.args}]` }]
    case 'result':
      return [{ role: 'user', content: [{ type: 'input_text', text: '[the tool answered]' }, ...partsContent(item.parts, reads)] }]
    default:
      return []
  }
}

function message({ role, parts }: Extract<Item, { kind: 'message' }>, reads: readonly string[] | undefined): JsonObject[] {
  const content = role === 'assistant' ? spoken(parts) : partsContent(parts, reads)
  return content.length === 0 ? [] : [{ role, content }]
}

/** The text of an answer; its other parts are left out. */
function spoken(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' || part.kind === 'refusal' ? part.text : '')).join('')
}

function partsContent(parts: readonly Part[], reads: readonly string[] | undefined): JsonObject[] {
  return parts.flatMap((part) => {
    if (part.kind === 'text' || part.kind === 'refusal') return [{ type: 'input_text', text: part.text }]
    if (part.kind !== 'media') return []
    const shown = reads === undefined || reads.includes(part.media) ? mediaPart(part) : undefined
    return [shown ?? { type: 'input_text', text: `[here stands something of the kind ${part.media}, which you are not shown]` }]
  })
}

function mediaPart({ media, url, data, format, fileId, name, detail }: Media): JsonObject | undefined {
  if (media === 'image' && url !== undefined) return { type: 'input_image', image_url: url, detail: detail ?? 'auto' }
  if (media === 'audio' && data !== undefined) return { type: 'input_audio', input_audio: { data, format: format ?? 'wav' } }
  if (media === 'video' && url !== undefined) return { type: 'input_video', video_url: url }
  if (media !== 'file') return undefined
  const named = name === undefined ? {} : { filename: name }
  if (data !== undefined && format === 'text') return { type: 'input_text', text: data }
  if (url !== undefined) return { type: 'input_file', ...(url.startsWith('data:') ? { file_data: url } : { file_url: url }), ...named }
  return fileId === undefined ? undefined : { type: 'input_file', file_id: fileId, ...named }
}
