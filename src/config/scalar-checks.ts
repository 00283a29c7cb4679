/** What a string must be beyond its pattern. */
import { isIP } from 'node:net'
import { nanoFromUsd, rateFromUsd, rateFromUsdPerMillion } from '../core/money.ts'
import { patternProblem } from '../core/pattern.ts'
import type { ScalarKind } from './fields/scalars.ts'
import { bytes, milliseconds } from './units.ts'

const LONGEST_DURATION = 24 * 3_600_000
/** Ten years. */
const LONGEST_SPAN = 3660 * 24 * 3_600_000
const LARGEST_SIZE = 1024 ** 3
/** What a unit may cost, in attodollars: more nano-dollars than that cannot be counted exactly. */
const LARGEST_RATE = 9_000_000n * 10n ** 18n

const SMALLEST_MEMORY = 1024 ** 2
const LARGEST_MEMORY = 1024 ** 4

const CHECKS: Readonly<Record<ScalarKind, (text: string) => string | undefined>> = {
  duration: (text) => (milliseconds(text) <= LONGEST_DURATION ? undefined : 'expected at most 24h'),
  span: (text) => (milliseconds(text) <= LONGEST_SPAN ? undefined : 'expected at most 3660d'),
  size: (text) => (bytes(text) > 0 && bytes(text) <= LARGEST_SIZE ? undefined : 'expected between 1B and 1GB'),
  memory: (text) => (bytes(text) >= SMALLEST_MEMORY && bytes(text) <= LARGEST_MEMORY ? undefined : 'expected between 1MB and 1024GB'),
  url: checkUrl,
  regex: checkRegex,
  usd: (text) => (nanoFromUsd(text) === undefined ? 'expected at most 9 decimals and at most 9000000 USD' : undefined),
  'usd-per-million': (text) => (rateFromUsdPerMillion(text) === undefined ? 'expected at most 12 decimals' : undefined),
  'usd-per-unit': (text) =>
    (rateFromUsd(text) ?? LARGEST_RATE + 1n) > LARGEST_RATE ? 'expected at most 18 decimals and at most 9000000 USD' : undefined,
  callback: (text) => checkUrl(text) ?? (/^https:/i.test(text) ? undefined : 'expected an https address'),
  network: (text) => (isNetwork(text) ? undefined : 'expected an IP address, or a network such as 10.0.0.0/8'),
  timestamp: (text) => (isTime(text) ? undefined : 'expected a time such as 2027-01-31T00:00:00Z or a day such as 2027-01-31'),
}

/** @returns what was expected, if the text is not of its kind; never quotes the text, but for patterns. */
export function checkScalar(kind: ScalarKind, text: string): string | undefined {
  return CHECKS[kind](text)
}

function checkUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^https?:\/\//i.test(text)) return 'expected an http or https URL'
  if (url.username !== '' || url.password !== '') return 'expected a URL without credentials'
  if (url.search !== '' || url.hash !== '' || /[?#]$/.test(text)) return 'expected a URL without query or fragment'
  return undefined
}

/** Compiles the pattern as its guardrail does, so that a file that loads can be served; what is compiled here is kept for the guardrail. */
function checkRegex(text: string): string | undefined {
  const why = patternProblem(text)
  if (why === undefined) return undefined
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text
  return `the pattern ${JSON.stringify(shown)} is refused: ${why}`
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || address.includes('%') || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128))
}

function isTime(text: string): boolean {
  const form = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2}))?$/.exec(text)
  if (!form || Number.isNaN(Date.parse(text))) return false
  // Date.parse takes 31 February for 3 March.
  const [year, month, day] = [Number(form[1]), Number(form[2]), Number(form[3])]
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && month <= 12
}
