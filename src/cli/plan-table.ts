/** A plan as text for a terminal. */
import { entryAt } from '../core/entry-at.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isObject } from '../core/json.ts'
import { TOOL_PROMPT_TOKENS } from '../ledger/settlement.ts'
import type { Plan } from '../pipeline/plan/answer.ts'
import type { PlanCandidate } from '../pipeline/plan/candidates.ts'
import type { PlaceReason } from '../pipeline/plan/reasons.ts'

export function planText(plan: Plan): string {
  const sections = [
    headText(plan),
    table(
      ['', 'endpoint', 'model', 'prompt', 'completion', 'context', 'lane', 'why'],
      plan.candidates.map((candidate) => [
        String(candidate.position),
        candidate.endpoint,
        candidate.model,
        dollars(candidate.price?.prompt),
        dollars(candidate.price?.completion),
        candidate.context === null ? '?' : String(candidate.context),
        candidate.lane ?? '',
        whyText(candidate),
      ]),
    ),
    excludedText(plan.excluded),
    holdText(plan),
  ]
  return sections.filter((section) => section !== '').join('\n\n')
}

/** @param body the JSON of an error reply. */
export function refusalText(status: number, body: JsonObject): string {
  const error = isObject(body.error) ? body.error : {}
  const excluded = isObject(error.metadata) ? error.metadata.excluded : undefined
  const left = Array.isArray(excluded) ? excludedText(excluded.filter(isObject)) : ''
  const refusal = `refused with ${status}: ${visible(String(error.message))}`
  return left === '' ? refusal : `${refusal}\n\n${left}`
}

function headText({ requested, strategy, models, format, stream, inputs, key }: Plan): string {
  const what = `${requested} (${strategy}) as ${models.join(', then ')}`
  return visible(
    `${what}\n${format} format${stream ? ', streamed' : ''}${inputs === undefined ? '' : `, inputs: ${inputs}`}, for the key ${key}`,
  )
}

function excludedText(excluded: readonly JsonObject[]): string {
  if (excluded.length === 0) return ''
  const rows = excluded.map(({ endpoint, model, filter, detail }) => [endpoint, model, filter, detail].map((cell) => String(cell)))
  return `Left out:\n${table(['endpoint', 'model', 'filter', 'reason'], rows)}`
}

function policiesText(policies: Plan['policies']): string {
  if (policies.length === 0) return ''
  return ` Policies: ${policies.map(({ name, effect, outcome }) => `${name} (${outcome === 'failed' ? 'not evaluated, ' : ''}${effect})`).join(', ')}.`
}

function holdText({ candidates, hold, inputs, plugins, guardrails, policies }: Plan): string {
  const left = hold.left_usd === null ? 'the key has no limit' : `the key has $${hold.left_usd} left`
  const output = inputs === undefined ? ` and ${hold.output_cap} output tokens` : ''
  const lowered = candidates.some(({ output_cap: cap }) => cap?.lowered_by_credit) ? ' The credit that is left lowers the output cap.' : ''
  return [
    `Hold: $${hold.usd}, of which $${hold.floor_usd} for the input; ${left}.`,
    `It counts at most ${hold.input_tokens_bound} input tokens${output}.${lowered}`,
    `Input is counted as one token for each byte, which no tokenizer passes, and ${TOOL_PROMPT_TOKENS.toLocaleString('en')} for what a provider adds: more than is used, and the rest is given back.`,
    `Plugins: ${plugins.join(', ') || 'none'}. Guardrails: ${guardrails.join(', ') || 'none'}.${policiesText(policies)}`,
  ].join('\n')
}

const BY: Readonly<Record<PlaceReason['by'], string>> = {
  only_one: 'the only one',
  order: 'named by order',
  session: 'served this session last',
  tier: 'of the requested tier',
  weight: 'drawn by weight',
  draw: 'drawn by price',
  quality: 'by quality for tools',
  price: 'by price',
  throughput: 'by throughput',
  latency: 'by latency',
  exacto: 'by quality',
  least_busy: 'by running calls',
}

function whyText({ why, dropped, calls, refused }: PlanCandidate): string {
  const parts = [BY[why.by]]
  if (why.share !== undefined) parts.push(`first in ${Math.round(why.share * 1000) / 10} %`)
  if (typeof why.value === 'number' && why.by !== 'price') parts.push(String(why.value))
  if (why.health !== 'ok') parts.push(why.health.replace('_', ' '))
  if (why.band > 0) parts.push(why.band === 1 ? 'uptime below 95 %' : 'uptime below 80 %')
  if (why.misses_goal) parts.push('misses the goal')
  if (calls && calls.count > 1) parts.push(`${calls.count} calls, ${calls.at_once} at once`)
  if (dropped && dropped.length > 0) parts.push(`drops ${dropped.join(' ')}`)
  if (refused) parts.push(`would be refused: ${refused.message}`)
  return parts.join(', ')
}

function dollars(price: string | undefined): string {
  return price === undefined ? '?' : `$${price}`
}

/** Columns of even width, two spaces apart. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(visible))
  const widths = head.map((_, column) => Math.max(...cells.map((row) => textColumns(entryAt(row, column)))))
  const padded = (cell: string, column: number): string => cell + ' '.repeat(entryAt(widths, column) - textColumns(cell))
  return cells.map((row) => `  ${row.map(padded).join('  ')}`.trimEnd()).join('\n')
}

/** Signs that terminals give two columns, and marks that they set above or below another sign. */
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/gu
const MARK = /\p{Mn}/gu

function textColumns(text: string): number {
  return [...text].length + (text.match(WIDE)?.length ?? 0) - (text.match(MARK)?.length ?? 0)
}

/** Names and slugs come from files: control and format characters must not reach a terminal. */
export function visible(text: Json): string {
  return String(text).replace(/[^\P{Cc}\n]|\p{Cf}/gu, '?')
}
