/** Steps of a request beside its calls of providers: tools, models that they called, guardrails and plugins. */
import type { ComponentChildren } from 'preact'
import { Badge, type Tone } from '../components/values.tsx'
import { formatCount, formatMs, formatUsd } from '../format.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import type { GuardrailHit, PluginRun, RequestDetail, StepEntry } from './requests-types.ts'

export interface Step {
  readonly title: string
  readonly detail?: ComponentChildren
  readonly tone: 'good' | 'bad' | 'warn' | 'neutral'
  /** Milliseconds since the admission, where known. */
  readonly from?: number | undefined
  readonly length?: number | undefined
}

const TITLES: Meanings<StepEntry['kind'], string> = {
  tool: 'Tool',
  model: 'Call of a model',
  guardrail: 'Guardrail',
  plugin: 'Plugin',
}

const kindTitle = (kind: StepEntry['kind']): string => wordMeaning(TITLES, kind) ?? plainWord(kind)

export function toStep(step: StepEntry, all: readonly StepEntry[]): Step {
  const { kind, name, at_ms: at, duration_ms: took, error, within, tokens, usd, attempts } = step
  const outer = within === null ? undefined : all.find(({ position }) => position === within)
  return {
    title: name === '' ? kindTitle(kind) : `${kindTitle(kind)}: ${name}`,
    tone: error === null ? 'neutral' : 'bad',
    from: at ?? undefined,
    length: took ?? undefined,
    detail: (
      <>
        {outer && (
          <p class="quiet">
            Made by the {outer.kind} {outer.name}
          </p>
        )}
        {tokens && (
          <p>
            {formatCount(tokens.prompt)} tokens in, {formatCount(tokens.completion)} out
            {usd !== null && `, ${formatUsd(usd)}`}
          </p>
        )}
        {!tokens && usd !== null && <p>Cost {formatUsd(usd)}</p>}
        {attempts.map((attempt, index) => (
          <p key={index} class="quiet">
            {attempt.provider_name ?? 'A provider'}: {attempt.error ?? `status ${attempt.status ?? '–'}`}
            {attempt.cause && ` (${attempt.cause.replaceAll('_', ' ')})`}, {formatMs(attempt.latency)}
          </p>
        ))}
        {error !== null && (
          <p>
            Failed with <code>{error}</code>
          </p>
        )}
      </>
    ),
  }
}

/** Findings of guardrails and work of plugins, where the row has them; those that need no time of their own have no times. */
export function Found({ request: { guardrails = [], plugins = [] } }: { request: RequestDetail }) {
  if (guardrails.length === 0 && plugins.length === 0) return null
  return (
    <ul class="found" aria-label="Guardrails and plugins">
      {guardrails.map((hit, index) => (
        <Hit key={index} hit={hit} />
      ))}
      {plugins.map((plugin, index) => (
        <Plugin key={index} plugin={plugin} />
      ))}
    </ul>
  )
}

const TONES: Meanings<GuardrailHit['action'], Tone> = { flagged: 'warn', redacted: 'warn', blocked: 'bad', unchecked: 'bad' }

const PARTS: Meanings<GuardrailHit['direction'], string> = { input: 'request', output: 'answer' }

function Hit({ hit: { guardrail, rule, action, direction, count, kinds } }: { hit: GuardrailHit }) {
  return (
    <li>
      <Badge tone={wordMeaning(TONES, action) ?? 'warn'}>{action}</Badge> Guardrail {guardrail} ({rule}):{' '}
      {action === 'unchecked' ? 'its engine did not answer' : `${formatCount(count)} ${count === 1 ? 'text' : 'texts'}`} in the{' '}
      {wordMeaning(PARTS, direction) ?? plainWord(direction)}
      {kinds.length > 0 && `, ${kinds.join(', ')}`}
    </li>
  )
}

function Plugin({ plugin: { name, figures, failure, usd } }: { plugin: PluginRun }) {
  const shown = Object.entries(figures).map(
    ([what, value]) => `${what.replaceAll('_', ' ')} ${typeof value === 'number' ? formatCount(value) : value ? 'yes' : 'no'}`,
  )
  return (
    <li>
      <Badge tone={failure ? 'bad' : 'neutral'}>{failure ?? 'acted'}</Badge> Plugin {name}
      {shown.length > 0 && `: ${shown.join(', ')}`}
      {usd > 0 && `, ${formatUsd(usd)}`}
    </li>
  )
}
