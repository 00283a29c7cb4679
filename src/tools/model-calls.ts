/** Shared by tools that call a model: the fields of its request, its text, also while it arrives, and the report of a failure. */
import {
  type BlockKind,
  badField,
  Fault,
  isObject,
  type Json,
  type JsonObject,
  type ModelAnswer,
  type StreamEvent,
  type ToolHost,
  type ToolOutcome,
} from '../plugin-api/index.ts'

const EFFORTS = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']
const HOTTEST = 2

/**
 * The caller's `max_completion_tokens`, `reasoning` and `temperature` as fields of a request for a model.
 * @param path of the parameters. @throws Fault 400 naming the path.
 */
export function callSettings({ max_completion_tokens: most, reasoning, temperature }: JsonObject, path: string): JsonObject {
  const manner: JsonObject = {}
  if (given(most)) manner.max_output_tokens = wholeFrom1(most, `${path}.max_completion_tokens`)
  if (given(reasoning)) manner.reasoning = parseReasoning(reasoning, `${path}.reasoning`)
  if (given(temperature)) {
    if (typeof temperature !== 'number' || temperature < 0 || temperature > HOTTEST)
      throw badField(`${path}.temperature`, `expected a number from 0 to ${HOTTEST}`)
    manner.temperature = temperature
  }
  return manner
}

/** A text that says something; undefined where nothing was sent. @throws Fault 400 naming the path. */
export function parseText(value: Json | undefined, path: string, expected = 'a text'): string | undefined {
  if (!given(value)) return undefined
  if (typeof value !== 'string' || value.trim() === '') throw badField(path, `expected ${expected}`)
  return value
}

/** @throws Fault 400 naming the path. */
export function parseFlag(value: Json | undefined, path: string): boolean {
  if (!given(value)) return false
  if (typeof value !== 'boolean') throw badField(path, 'expected true or false')
  return value
}

function given(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}

function parseReasoning(reasoning: Json | undefined, path: string): JsonObject {
  if (!isObject(reasoning)) throw badField(path, 'expected an object')
  const { effort, max_tokens: most } = reasoning
  const found: JsonObject = {}
  if (given(effort)) {
    if (typeof effort !== 'string' || !EFFORTS.includes(effort)) throw badField(`${path}.effort`, `expected one of: ${EFFORTS.join(', ')}`)
    found.effort = effort
  }
  if (given(most)) found.max_tokens = wholeFrom1(most, `${path}.max_tokens`)
  return found
}

/** As for the caller's own cap. */
const MAX_TOKENS = 2 ** 31 - 1

function wholeFrom1(value: Json | undefined, path: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_TOKENS)
    throw badField(path, `expected a whole number from 1 to ${MAX_TOKENS}`)
  return value
}

/** The words of an answer. @throws Fault where it has none. */
export function answerText({ text }: ModelAnswer): string {
  if (text.trim() === '') throw new Fault('upstream_empty', { message: 'the model gave no text' })
  return text
}

/** Share of its context that the calling model receives at once. */
const SHARE = 0.25
const CUT = ' […]'

/** Cuts the texts so far that all of them together leave the calling model room to go on. */
export function fitting(texts: readonly string[], host: ToolHost): string[] {
  const context = host.models.find(({ slug }) => slug === host.model)?.context
  if (context === undefined) return [...texts]
  const most = (context * SHARE) / texts.length
  return texts.map((text) => {
    const tokens = host.estimateTokens(text)
    return tokens <= most ? text : text.slice(0, Math.floor((text.length * most) / tokens)).toWellFormed() + CUT
  })
}

/** Why a model did not answer, in words that may be shown to another one. */
export function failureReason(thrown: unknown): string {
  if (!(thrown instanceof Fault)) return 'unexpected error'
  return thrown.code === 'no_credit' ? 'Insufficient credits' : thrown.message
}

/** A call that came to nothing. @param item fields of the output item. */
export function failedCall(thrown: unknown, item: JsonObject = {}): ToolOutcome {
  const error = typeof thrown === 'string' ? thrown : failureReason(thrown)
  return {
    output: JSON.stringify({ status: 'error', error }),
    item: { ...item, error },
    status: 'failed',
    ...(typeof thrown === 'string' || (thrown instanceof Fault && thrown.origin === 'client') ? {} : { cause: thrown }),
  }
}

interface Ears {
  text(delta: string): void
  thought?(delta: string): void
}

/** Reads the text and the reasoning of a called model while they arrive. */
export function listener({ text, thought }: Ears): (event: StreamEvent) => void {
  const kinds = new Map<number, BlockKind>()
  return (event) => {
    if (event.type === 'block-start') kinds.set(event.block, event.kind)
    if (event.type !== 'block-delta' || event.text === '') return
    const kind = kinds.get(event.block)
    if (kind === 'text') text(event.text)
    else if (kind === 'reasoning' || kind === 'summary') thought?.(event.text)
  }
}
