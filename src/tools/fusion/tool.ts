/** Sends a question to a panel of models at once, has another model compare their answers, and returns both to the calling model. */
import {
  Fault,
  type Json,
  type JsonObject,
  type ModelAnswer,
  type Opaque,
  type Recalled,
  type SessionTool,
  type ToolContext,
  type ToolFunction,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { answerText, failureReason, fitting, listener } from '../model-calls.ts'
import { replayedCall } from '../replayed-calls.ts'
import { analysisRequest, type PanelAnswer, readAnalysis } from './analysis.ts'
import { answerLength, type FusionConfig, parseConfig } from './config.ts'

const TOOL = 'fusion'

export const fusion: SessionTool = {
  name: TOOL,
  description:
    'Puts a question to a panel of models that answer independently, and returns their answers with an analysis of where they agree, where they differ and what they miss. Use it where several views are worth their time and price: research, critique, comparisons, and where a mistake would be costly. Not for what is short or easy. It can be called once.',
  parameters: {
    type: 'object',
    properties: {
      prompt: { type: 'string', description: 'The question, with all that one has to know to answer it: the panel sees nothing else.' },
    },
    required: ['prompt'],
    additionalProperties: false,
  },
  plugin: 'fusion',

  begin(parameters: JsonObject, at: string, settings: JsonObject, context: ToolContext): FusionSession {
    return new FusionSession(parseConfig(parameters, at, settings, context), context)
  },
}

type FailureReason = 'all_panels_failed' | 'insufficient_credits' | 'rate_limited' | 'fusion_invocation_capped' | 'unexpected_error'

/** The panel of one request: it is called once, and never from within a panel. */
class FusionSession implements ToolSession {
  readonly bound = 0
  /** An empty list where the tool is hidden from the model: within a panel. */
  readonly functions?: readonly ToolFunction[]
  private readonly config: FusionConfig
  private readonly brand: string
  private called = false

  constructor(config: FusionConfig, { brand, depth, headers }: Pick<ToolContext, 'brand' | 'depth' | 'headers'>) {
    this.config = config
    this.brand = brand
    if (depth > 0 || Number(headers[`x-${brand}-fusion-depth`]) > 0) this.functions = []
  }

  recalls(of: Opaque): readonly Recalled[] | undefined {
    const call = replayedCall(of, this.brand, TOOL)
    if (!call || call.callId === '' || call.args === undefined || call.result === undefined) return undefined
    const { callId, args, result } = call
    return [
      { kind: 'call', callId, function: TOOL, args },
      { kind: 'result', callId, text: result },
    ]
  }

  async run({ prompt }: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const question = typeof prompt === 'string' ? prompt.trim() : ''
    if (question === '') return failed('unexpected_error', 'the argument prompt is missing, expected the question to put to the panel')
    if (this.called) return failed('fusion_invocation_capped', 'the panel has been called in this turn already: go by what it said')
    this.called = true
    host.progress('response.fusion_call.in_progress', {})
    const outcome = await this.answer(question, host, signal)
    host.progress('response.fusion_call.completed', {})
    return outcome
  }

  private async answer(question: string, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const live = host.client === 'responses' && host.request().stream
    const result = await callPanel(this.config, question, { host, live })
    signal.throwIfAborted()
    if (result.answers.length === 0) return noAnswer(result)
    const analysis = await this.analyse(question, result.answers, host)
    signal.throwIfAborted()
    const { answers } = result
    const contents = answers.map(({ content }) => content)
    const shown = fitting(contents, host)
    const panelTexts = (texts: readonly string[]): JsonObject => ({
      ...(analysis ? { analysis } : {}),
      responses: answers.map(({ model }, i) => ({ model, content: texts[i] })),
      ...failedMembers(result),
    })
    const sources = result.sources.length > 0 ? { sources: [...result.sources] } : {}
    return {
      output: JSON.stringify({ status: 'ok', ...panelTexts(shown) }),
      item: { ...panelTexts(contents), ...sources },
      status: 'completed',
    }
  }

  /** Undefined where the analyst fails: the answers are returned without an analysis. */
  private async analyse(question: string, answers: readonly PanelAnswer[], host: ToolHost): Promise<JsonObject | undefined> {
    const model = this.config.analyst ?? host.model
    host.progress('response.fusion_call.analysis.in_progress', { analyst_model: model, judge_model: model })
    try {
      const { judge, length } = this.config
      const body = { ...judge, ...analysisRequest(question, answers), model, ...answerLength(model, length, host.models) }
      const { text } = await host.generate({ body })
      const analysis = readAnalysis(text)
      if (analysis) host.progress('response.fusion_call.analysis.completed', { analysis })
      return analysis
    } catch {
      return undefined
    }
  }
}

function noAnswer(result: PanelResult): ToolOutcome {
  const all = (status: number): boolean => result.failed.every(({ status_code: code }) => code === status)
  const losses = failedMembers(result)
  if (result.cause !== undefined) return { ...failed('unexpected_error', 'the panel failed', losses), cause: result.cause }
  if (all(402)) return failed('insufficient_credits', 'the credits do not suffice for any model of the panel', losses)
  if (all(429)) return failed('rate_limited', 'every model of the panel is limited at the moment', losses)
  return failed('all_panels_failed', 'no model of the panel has answered', losses)
}

/** The wire's word for a tool that has not done its work is `incomplete`. */
function failed(reason: FailureReason, error: string, losses: JsonObject = {}): ToolOutcome {
  const shown = { error, failure_reason: reason, ...losses }
  return { output: JSON.stringify({ status: 'error', ...shown }), item: { status: 'incomplete', ...shown }, status: 'failed' }
}

function failedMembers({ failed: members }: { failed: readonly FailedMember[] }): JsonObject {
  return members.length === 0 ? {} : { failed_models: members.map((member): Json => ({ ...member })) }
}

interface FailedMember {
  model: string
  error: string
  status_code?: number
}

interface PanelResult {
  answers: readonly PanelAnswer[]
  failed: readonly FailedMember[]
  /** Pages that members cite, each once. */
  sources: readonly JsonObject[]
  /** The first error that is no `Fault`, for the log. */
  cause?: unknown
}

/** Settings of calls of members. */
interface CallOptions {
  host: ToolHost
  /** True where the caller is shown what comes. */
  live: boolean
}

type Ended = { answer: ModelAnswer; content: string } | { thrown: unknown }

/** Never rejects: a member that fails is reported. */
async function callPanel({ models, member, length }: FusionConfig, prompt: string, options: CallOptions): Promise<PanelResult> {
  const { host } = options
  const memberBody = (model: string): JsonObject => ({ ...member, model, input: prompt, ...answerLength(model, length, host.models) })
  for (const model of models) host.progress('response.fusion_call.panel.added', { model })
  const ended = await Promise.all(models.map((model) => callMember(model, memberBody(model), options)))
  const answers: PanelAnswer[] = []
  const failed: FailedMember[] = []
  const sources = new Map<string, JsonObject>()
  let cause: unknown
  for (const [i, end] of ended.entries()) {
    const model = models[i]
    if (model === undefined) break
    if ('thrown' in end) {
      failed.push(failedMember(model, end.thrown))
      if (!(end.thrown instanceof Fault)) cause ??= end.thrown
      continue
    }
    answers.push({ model, content: end.content })
    for (const source of answerSources(end.answer)) if (!sources.has(String(source.url))) sources.set(String(source.url), source)
  }
  return { answers, failed, sources: [...sources.values()], cause }
}

async function callMember(model: string, body: JsonObject, { host, live }: CallOptions): Promise<Ended> {
  const onEvent = listener({
    text: (delta) => host.progress('response.fusion_call.panel.delta', { model, delta }),
    thought: (delta) => host.progress('response.fusion_call.panel.reasoning.delta', { model, delta }),
  })
  try {
    const answer = await host.generate(live ? { body, onEvent } : { body })
    const content = answerText(answer)
    host.progress('response.fusion_call.panel.completed', { model, content })
    return { answer, content }
  } catch (thrown) {
    host.progress('response.fusion_call.panel.failed', { ...failedMember(model, thrown) })
    return { thrown }
  }
}

function failedMember(model: string, thrown: unknown): FailedMember {
  return { model, error: failureReason(thrown), ...(thrown instanceof Fault ? { status_code: thrown.status } : {}) }
}

function answerSources({ blocks }: ModelAnswer): JsonObject[] {
  return blocks.flatMap(({ notes }) =>
    notes.flatMap(({ note, data }) => (note === 'annotation' && data.type === 'url_citation' ? [toSource(data)] : [])),
  )
}

function toSource({ url, title }: JsonObject): JsonObject {
  const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
  return { url: text(url), title: text(title) || text(url) }
}
