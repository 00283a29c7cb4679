/** A provider's error as one of our faults, by the table of rows. */
import { FAULTS, Fault, type FaultCode } from '../../core/faults.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { refusesReasoning } from './refused-reasoning.ts'
import { FIRM, OTHERWISE, ROWS, type Row, STATUS_OF_WORD, type Wire } from './rows.ts'
import { errorIn, type StatedError } from './stated-error.ts'

const SAFE_WORD = /^[A-Za-z][\w.-]{0,63}$/
const SAFE_FIELD = /^[A-Za-z_][\w.[\]-]{0,79}$/
/** Characters of a sentence that patterns are tried on: its beginning, and its end. */
const HEAD = 2_000
const TAIL = 1_000
/** A quotation in a message may be the caller's, such as the name of a model. */
const QUOTED = /`[^`]{0,200}`|(?<!\w)'[^']{0,200}'(?!\w)|"[^"]{0,200}"/g
const NAMES_FIELD: ReadonlySet<FaultCode> = new Set(['upstream_rejected', 'upstream_unprocessable', 'upstream_unfit'])

/**
 * @param status the HTTP status, or 200 for an error inside a good reply.
 * @param error what the reply states.
 * @returns a fault whose own text names at most the refused field.
 */
export function classifyFault(wire: Wire, status: number, error: StatedError): Fault {
  const { words, sentence, retryAfter } = error
  const known = shownStatus(status, error)
  const { code, evidence } = classifyWords(wire, known, error)
  const named = words.find((word) => SAFE_WORD.test(word))
  const metadata: JsonObject = { provider_code: named ?? String(known === 0 ? 500 : known) }
  const given = {
    metadata,
    sentence,
    evidence,
    without: evidence === undefined ? undefined : (passage: string) => rereadWithout(passage, { wire, status, error }),
    retryAfter,
    providerStatus: status < 400 ? error.status : undefined,
    refusesReasoning: refusesReasoning(wire, [...words, cut(sentence), cut(error.quoted)].join(' ')),
  }
  const { field } = error
  if (!NAMES_FIELD.has(code) || field === undefined || !SAFE_FIELD.test(field)) return new Fault(code, given)
  metadata.field = field
  return new Fault(code, { ...given, message: `Provider rejected the request (${field})` })
}

/** The caller reads the whole sentence all the same. */
function rereadWithout(passage: string, { wire, status, error }: { wire: Wire; status: number; error: StatedError }): Fault {
  const cleared = (text: string | undefined): string | undefined => text?.replaceAll(passage, ' ')
  return classifyFault(wire, status, { ...error, sentence: cleared(error.sentence), quoted: cleared(error.quoted) }).with({
    sentence: error.sentence,
  })
}

/** As `classifyFault`, where the wire has nothing of its own. */
export function faultIn(wire: Wire, status: number, body: Json | undefined): Fault {
  return classifyFault(wire, status, errorIn(body))
}

/** The status that decides; 0 where neither the reply nor its words have one. */
function shownStatus(status: number, { words, status: stated }: StatedError): number {
  if (FIRM.has(status)) return status
  const real = status >= 400 ? status : (stated ?? 0)
  if (FIRM.has(real)) return real
  for (const word of words) {
    const meant = STATUS_OF_WORD.find(([pattern]) => pattern.test(word))?.[1]
    // Any other status that calls the request invalid keeps its meaning: another endpoint may do better.
    if (meant !== undefined) return meant === 400 && real !== 0 ? real : meant
  }
  return real
}

/** `evidence`: the words of the sentence that decided, where anybody but the caller is to blame. */
function classifyWords(
  wire: Wire,
  status: number,
  { words, sentence, quoted, field }: StatedError,
): { code: FaultCode; evidence?: string } {
  const statement = `${cut(sentence)} ${cut(quoted)}`
  const unquoted = statement.replaceAll(QUOTED, '')
  const word = words.join(' ')
  const textFor = ({ kind }: Row): string => (FAULTS[kind].blame === 'caller' ? statement : unquoted)
  const fits = (row: Row): boolean => {
    if (row.wires && !row.wires.includes(wire)) return false
    if (row.status && !row.status.includes(status)) return false
    if (row.word && !words.some((each) => row.word?.test(each))) return false
    if (row.field && field !== undefined && !row.field.test(field)) return false
    const text = textFor(row)
    return (row.sentence?.test(text) ?? true) && (row.text?.test(`${word} ${text}`) ?? true)
  }
  const row = ROWS.find(fits)
  if (!row) return { code: OTHERWISE }
  const pattern = row.sentence ?? row.text
  // Words for programs are the provider's own.
  if (FAULTS[row.kind].blame === 'caller' || pattern === undefined || row.text?.test(word)) return { code: row.kind }
  const [evidence] = pattern.exec(row.sentence ? textFor(row) : `${word} ${textFor(row)}`) ?? []
  return evidence === undefined ? { code: row.kind } : { code: row.kind, evidence }
}

function cut(text = ''): string {
  return text.length <= HEAD + TAIL ? text : `${text.slice(0, HEAD)} ${text.slice(-TAIL)}`
}
