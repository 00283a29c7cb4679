/** The panel of one request: it is called once, and never from within a panel. */
import type {
  Json,
  JsonObject,
  Opaque,
  Recalled,
  ToolContext,
  ToolFunction,
  ToolHost,
  ToolOutcome,
  ToolSession,
} from '../../plugin-api/index.ts'
import { fitting } from '../model-calls.ts'
import { replayedCall } from '../replayed-calls.ts'
import { analysisRequest, type PanelAnswer, readAnalysis } from './analysis.ts'
import { type FusionConfig, lengthOf } from './config.ts'
import { callPanel, type FailedMember, type PanelResult } from './panel.ts'

export const TOOL = 'fusion'

type FailureReason = 'all_panels_failed' | 'insufficient_credits' | 'rate_limited' | 'fusion_invocation_capped' | 'unexpected_error'

export class FusionSession implements ToolSession {
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
    const said = (texts: readonly string[]): JsonObject => ({
      ...(analysis ? { analysis } : {}),
      responses: answers.map(({ model }, i) => ({ model, content: texts[i] })),
      ...lossesOf(result),
    })
    const sources = result.sources.length > 0 ? { sources: [...result.sources] } : {}
    return { output: JSON.stringify({ status: 'ok', ...said(shown) }), item: { ...said(contents), ...sources }, status: 'completed' }
  }

  /** Undefined where the analyst fails: the answers are returned without an analysis. */
  private async analyse(question: string, answers: readonly PanelAnswer[], host: ToolHost): Promise<JsonObject | undefined> {
    const model = this.config.analyst ?? host.model
    host.progress('response.fusion_call.analysis.in_progress', { analyst_model: model, judge_model: model })
    try {
      const { judge, length } = this.config
      const body = { ...judge, ...analysisRequest(question, answers), model, ...lengthOf(model, length, host.models) }
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
  const losses = lossesOf(result)
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

function lossesOf({ failed: members }: { failed: readonly FailedMember[] }): JsonObject {
  return members.length === 0 ? {} : { failed_models: members.map((member): Json => ({ ...member })) }
}
