/**
 * Checks whether an answer has the form that the caller demands, where the provider does not enforce it: a tap beside the answer, which
 * passes unchanged (decision 17).
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { CanonicalRequest, OutputFormat } from '../../dialects/canon/request.ts'
import type { Encoded } from '../../dialects/types.ts'
import { SchemaBudget } from '../../machines/json-schema/schema-budget.ts'
import { schemaFit } from '../../machines/json-schema/schema-fit.ts'
import type { AnswerVerdict, Tap } from '../../plugin-api/index.ts'

/** Schema that an answer is checked against. */
export interface Demands {
  /** Of the text. */
  readonly format: OutputFormat | undefined
  /** Of the arguments of calls: the parameters by the name of the tool. */
  readonly tools: ReadonlyMap<string, JsonObject>
}

/** Names in `dropped` of what a provider does not hold its answers to; what a format is called decides nothing. */
const LOST_FORMAT = /^(?:structured_outputs$|response_format(?:$|\.(?!name$|description$)))/
const LOST_PARAMETERS = /^tools\.(?:strict$|parameters\.)/

/** @returns undefined where the provider got all that was demanded, so that there is nothing to check. */
export function demandsLost({ dropped, looseFormat }: Encoded, request: () => CanonicalRequest): Demands | undefined {
  let losesFormat = looseFormat === true
  let losesParameters = false
  for (const name of dropped) {
    losesFormat ||= LOST_FORMAT.test(name)
    losesParameters ||= LOST_PARAMETERS.test(name)
  }
  if (!losesFormat && !losesParameters) return undefined
  const { format, tools } = request()
  const strict = new Map<string, JsonObject>()
  if (losesParameters)
    for (const tool of tools) if (tool.kind === 'function' && tool.strict && tool.parameters) strict.set(tool.name, tool.parameters)
  const wanted = losesFormat && format?.type !== 'text' ? format : undefined
  return wanted || strict.size > 0 ? { format: wanted, tools: strict } : undefined
}

/** Characters of an answer; parsing a longer one would hold up other requests. */
const LONGEST = 262_144

interface Gathered {
  readonly block: number
  /** Of a call. */
  readonly tool?: string
  text: string
}

export class AnswerCheck implements Tap {
  readonly mode = 'observe'
  private readonly demands: Demands
  private readonly conclude: (verdict: AnswerVerdict) => void
  private readonly calls: Gathered[] = []
  private answer: Gathered | undefined
  private length = 0
  private isRefused = false
  /** The message of the text block that came last; undefined once anything but text has come after it. */
  private message: { item: string | undefined } | undefined

  constructor(demands: Demands, conclude: (verdict: AnswerVerdict) => void) {
    this.demands = demands
    this.conclude = conclude
  }

  push(event: StreamEvent): void {
    if (event.type === 'block-start') this.begin(event)
    else if (event.type === 'block-delta') this.gather(event.block, event.text)
    else if (event.type === 'end' && !event.paused && (event.reason === 'stop' || event.reason === 'tool_calls')) this.end(event.reason)
  }

  /** Text blocks that follow each other within one message are one answer; of several answers the last one counts. */
  private begin({ block, kind, item, call }: Extract<StreamEvent, { type: 'block-start' }>): void {
    if (kind === 'text' && this.demands.format) {
      const before = this.message?.item === item && this.message ? this.answer?.text : undefined
      this.answer = { block, text: before ?? '' }
      this.message = { item }
      return
    }
    this.message = undefined
    if (kind === 'refusal') this.isRefused = true
    if (kind === 'call' && call && this.demands.tools.has(call.name)) this.calls.push({ block, tool: call.name, text: '' })
  }

  private gather(block: number, text: string): void {
    const place = this.answer?.block === block ? this.answer : this.calls.find((call) => call.block === block)
    if (!place) return
    this.length += text.length
    if (this.length <= LONGEST) place.text += text
  }

  private end(reason: 'stop' | 'tool_calls'): void {
    const { answer, calls, demands } = this
    const found: AnswerVerdict[] = []
    const budget = new SchemaBudget()
    const isLong = this.length > LONGEST
    for (const { tool, text } of calls) {
      const schema = tool === undefined ? undefined : demands.tools.get(tool)
      found.push({ ...(isLong ? UNCHECKED : judged(text === '' ? '{}' : text, schema, budget)), tool })
    }
    // Text beside calls is no answer yet, and a refusal is none.
    if (demands.format && reason === 'stop' && !this.isRefused)
      found.push(isLong ? UNCHECKED : judged(answer?.text ?? '', demands.format.schema, budget))
    const worst = WORST.flatMap((verdict) => found.filter((one) => one.verdict === verdict))[0]
    if (worst) this.conclude(worst)
  }
}

const UNCHECKED: AnswerVerdict = { verdict: 'unchecked' }
const WORST = ['no_json', 'misfit', 'unchecked', 'fits'] as const

function judged(text: string, schema: JsonObject | undefined, budget: SchemaBudget): AnswerVerdict {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return { verdict: 'no_json' }
  }
  if (!schema) return { verdict: 'fits' }
  const fit = schemaFit(schema, value, budget)
  if (!fit) return UNCHECKED
  return fit.fits ? { verdict: 'fits' } : { verdict: 'misfit', keyword: fit.keyword, path: fit.path }
}
