/** Straight code for the counts and prices of tokens, written from the table of their kinds, since every request runs it. */
import { LEDGER_COUNTS } from '../src/core/ledger-counts.ts'
import { shownKinds, TOKEN_KINDS } from '../src/core/token-kinds.ts'

type Kind = ReturnType<typeof shownKinds>[number]
type Counted = Kind & { readonly count: string }

const KINDS: readonly Kind[] = TOKEN_KINDS
const isCounted = (kind: Kind): kind is Counted => kind.count !== undefined
const COUNTED = KINDS.filter(isCounted)
const ALWAYS = COUNTED.filter(({ always }) => always)
const SELDOM = COUNTED.filter(({ always }) => !always)
const SIDES = ['input', 'output'] as const

/** Characters of a line, as the formatter has them. */
const LINE = 140

const WRITTEN = '`npm run generate` writes this file from `src/core/token-kinds.ts`.'

/** The source text of `src/dialects/canon/token-counts.ts`. */
export function tokenCounts(): string {
  const member = ({ count, always, text, within }: Counted): string =>
    `  /** ${upper(text)}${within === undefined ? '' : `; they are among \`${within}\``}. */
  ${count}${always ? ': number' : '?: number | undefined'}\n`
  const always = ['input', 'output', ...ALWAYS.map(({ count }) => count)]
  const sums = always.map((count) => `    ${count}: a.${count} + b.${count},\n`)
  const seldomSums = SELDOM.map(
    ({ count }) => `    ...(a.${count} || b.${count} ? { ${count}: (a.${count} ?? 0) + (b.${count} ?? 0) } : {}),\n`,
  )
  return `/**
 * Counts of tokens by kind, in the order of their settings. ${WRITTEN}
 */
export interface TokenCounts {
  input: number
  output: number
${[...ALWAYS, ...SELDOM].map(member).join('')}}

export function noCounts(): TokenCounts {
  return {
${always.map((count) => `    ${count}: 0,\n`).join('')}  }
}

export function addCounts(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
${[...sums, ...seldomSums].join('')}  }
}

${SIDES.map(sideCounts).join('\n')}`
}

/** A function that copies the counts of one side. */
function sideCounts(side: (typeof SIDES)[number]): string {
  const always = [side, ...ALWAYS.filter((kind) => kind.side === side).map(({ count }) => count)]
  const seldom = SELDOM.filter((kind) => kind.side === side).map(({ count }) => count)
  return `export function ${side}Counts(from: TokenCounts): Partial<TokenCounts> {
  return {
${always.map((count) => `    ${count}: from.${count},\n`).join('')}${seldom.map((count) => `    ...(from.${count} ? { ${count}: from.${count} } : {}),\n`).join('')}  }
}
`
}

/** The source text of `src/ledger/token-parts.ts`. */
export function tokenParts(): string {
  return `/**
 * The parts of a usage by kind of token, each at its own rate. ${WRITTEN}
 */
import type { Bill } from '../core/money.ts'
import type { Rates } from '../core/price.ts'
import type { Usage } from '../dialects/canon/usage.ts'
import { highest } from './highest-rate.ts'

/** The most tokens of any one kind that a charge counts, so that its sums stay exact. */
export const MAX_TOKENS = 1e15

/** A value as a count between 0 and the most that there may be. */
export function within(value: number, most: number): number {
  return value > 0 ? Math.min(value, most) : 0
}

${addTokens()}
/** True where tokens have no column of their own in the ledger (\`src/core/ledger-counts.ts\`). */
export function hasOtherKinds(usage: Usage): boolean {
${other()}}
`
}

/** Each kind that no column counts makes a usage one of other kinds. */
function other(): string {
  const columns: readonly string[] = LEDGER_COUNTS.map(({ count }) => count)
  const others = KINDS.filter((kind) => kindCount(kind) !== undefined && !columns.includes(kind.count ?? ''))
  return `${others.map((kind) => `  if (${kindTruth(kind)}) return true\n`).join('')}  return false\n`
}

function kindTruth({ count, split, always }: Kind): string {
  if (split !== undefined) return `usage.inputSplit?.${split}`
  return always ? `usage.${count} > 0` : `usage.${count}`
}

function addTokens(): string {
  const sides = SIDES.map(sideParts)
  return `/**
 * Adds the parts of a usage to the bills of its input and its output; what is reported beyond the whole of a side is cut, from the last kind
 * on.
 */
export function addTokens(usage: Usage, price: Rates, inputBill: Bill, outputBill: Bill): void {
${sides.map(({ counts }) => counts).join('')}${sides.map(({ lines }) => lines).join('')}}
`
}

/** The code that counts the parts of one side, and that which adds them. */
function sideParts(side: (typeof SIDES)[number]): { readonly counts: string; readonly lines: string } {
  const kinds = KINDS.filter((kind) => kind.side === side && kindCount(kind) !== undefined)
  const taken: string[] = []
  const counts: string[] = []
  for (const { rate, within: whole, ...kind } of kinds) {
    if (whole !== undefined) continue
    counts.push(`  const ${rate} = within(${kindCount(kind)}, ${[side, ...taken].join(' - ')})\n`)
    taken.push(rate)
  }
  for (const { rate, within: whole, ...kind } of kinds)
    if (whole !== undefined) counts.push(`  const ${rate} = within(${kindCount(kind)}, ${countRate(whole)})\n`)
  return {
    counts: `  const ${side} = within(usage.${side}, MAX_TOKENS)\n${counts.join('')}`,
    lines: shownKinds(side)
      .map((kind) => line(kind, [side, ...taken]))
      .join(''),
  }
}

function line(kind: Kind, [side, ...taken]: readonly string[]): string {
  const { rate, bill } = kind
  const add = `${kind.side}Bill.add`
  if (kindCount(kind) === undefined) return `  ${add}(${[side, ...taken].join(' - ')}, price.${rate}, '${bill}')\n`
  const inner = KINDS.filter(({ within: whole }) => whole !== undefined && whole === kind.count).map((part) => part.rate)
  const condition = inner.length === 0 ? `${rate} > 0` : `${rate} > ${inner.join(' + ')}`
  const values = [[rate, ...inner].join(' - '), kindPrice(kind), `'${bill}'`]
  const call = `${add}(${values.join(', ')})`
  const whole = `  if (${condition}) ${call}`
  if (whole.length <= LINE) return `${whole}\n`
  const broken = call.length + 4 > LINE ? `${add}(\n${values.map((value) => `      ${value},\n`).join('')}    )` : call
  return `  if (${condition})\n    ${broken}\n`
}

/** A lifetime without a price of its own costs the dearest that the endpoint has for input. */
function kindPrice({ rate, side, count, within: whole }: Kind): string {
  const rest = side === 'input' ? 'prompt' : 'completion'
  const outer = whole ?? (KINDS.some((kind) => kind.within !== undefined && kind.within === count) ? count : undefined)
  if (outer === undefined) return `price.${rate} ?? price.${rest}`
  const family = KINDS.filter((kind) => kind.count === outer || kind.within === outer).map((kind) => `price.${kind.rate}`)
  return `price.${rate} ?? highest(${[...family, `price.${rest}`].join(', ')})`
}

function kindCount({ count, split, always }: Omit<Kind, 'rate' | 'within'>): string | undefined {
  if (split !== undefined) return `usage.inputSplit?.${split} ?? 0`
  return count === undefined ? undefined : always ? `usage.${count}` : `usage.${count} ?? 0`
}

const countRate = (count: string): string => KINDS.find((kind) => kind.count === count)?.rate ?? count

const upper = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
