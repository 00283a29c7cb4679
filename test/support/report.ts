/** Reads what the test files write and shows what failed, where and why; counts assertions, of which a loop makes one (`every.ts`). */
import { Parser, type Result } from 'tap-parser'

interface Where {
  fileName?: string
  lineNumber?: number
  columnNumber?: number
}

interface Diagnostics {
  at?: Where
  diff?: string
  stack?: string
  found?: unknown
  wanted?: unknown
  exitCode?: number | null
  signal?: string | null | undefined
  expired?: string | undefined
  errors?: unknown
}

/** Files whose times are printed: those that a shorter run of all tests has to begin with. */
const SLOWEST = 12

const NOTHING_RAN = /no tests found/i
const LANES = /^# lanes: (.+)$/

export interface ReportOptions {
  /** Also print what the test files write themselves. */
  verbose?: boolean
  out?: (line: string) => void
}

/** Lines of a failed assertion: its full name, its place, and what differs. */
export function describeFailure(name: string, diagnostics: Diagnostics | null): string[] {
  const lines = [`not ok  ${name}`]
  if (!diagnostics) return lines
  const { at, diff, stack, exitCode, signal, expired, found, wanted, errors } = diagnostics
  if (at?.fileName) lines.push(`    at ${at.fileName}:${at.lineNumber ?? 0}:${at.columnNumber ?? 0}`)
  if (expired) lines.push(`    timed out: ${expired}`)
  if (typeof exitCode === 'number') lines.push(`    the file exited with code ${exitCode}`)
  if (signal) lines.push(`    the file was killed by ${signal}`)
  if (diff) lines.push(...indent(diff))
  else if (found !== undefined || wanted !== undefined)
    lines.push(`    found  ${JSON.stringify(found)}`, `    wanted ${JSON.stringify(wanted)}`)
  if (errors !== undefined) lines.push(...indent(JSON.stringify(errors, null, 2)))
  if (stack && !diff) lines.push(...indent(stack))
  return lines
}

const inSeconds = (time: number): string => `${(time / 1000).toFixed(1)} s`

/** Those with the largest numbers. */
function slowestName(times: ReadonlyMap<string, number>): string {
  const most = [...times].sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
  return most.map(([name, time]) => `${name} ${inSeconds(time)}`).join(', ')
}

function indent(text: string): string[] {
  return text
    .replace(/\n+$/, '')
    .split('\n')
    .map((line) => `    ${line}`)
}

/** End of the process of a test file. */
export interface FileEnd {
  code: number | null
  signal?: NodeJS.Signals | null
  /** The time that it had and that passed, where it was killed for that. */
  expired?: string | undefined
  /** Milliseconds that it took. */
  time?: number
  /** Milliseconds of the processor that it and what it started took. */
  processor?: number | undefined
  /** Files that ran before it in the same process. */
  after?: readonly string[]
}

/** Takes what a test file writes to its standard output, then how it ended. */
export interface FileReport {
  write(text: string | Buffer): void
  end(end: FileEnd): void
}

interface Counts {
  passed: number
  failed: number
  skipped: number
}

export class Report {
  /** Milliseconds of each file. */
  readonly times = new Map<string, number>()
  /** Counts of the last run of each file. */
  private readonly files = new Map<string, Counts>()
  /** Files that failed beside others and passed when they ran again. */
  private readonly recovered = new Set<string>()
  private readonly processor = new Map<string, number>()
  private readonly failures: string[][] = []
  private readonly lanes = new Map<string, number>()
  private readonly out: (line: string) => void
  private readonly verbose: boolean
  private closed = false

  constructor({ verbose = false, out = (line) => console.log(line) }: ReportOptions = {}) {
    this.out = out
    this.verbose = verbose
  }

  file(name: string): FileReport {
    const parser = new Parser()
    const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
    const fail = (what: string, diagnostics: Diagnostics | null): void => {
      counts.failed++
      this.failures.push(describeFailure(what === '' ? name : `${name} > ${what}`, diagnostics))
    }
    parser.on('pass', () => counts.passed++)
    parser.on('todo', () => counts.skipped++)
    parser.on('skip', () => counts.skipped++)
    parser.on('fail', (result: Result) => fail(result.fullname, result.diag))
    parser.on('bailout', (reason: string) => fail(`bailed out: ${reason}`, null))
    parser.on('comment', (comment: string) => this.comment(comment.trim()))
    if (this.verbose) parser.on('extra', (text: string) => this.out(text.replace(/\n$/, '')))
    return {
      write: (text) => parser.write(text),
      end: ({ code, signal, expired, time, processor, after = [] }) => {
        parser.end()
        const { ok, plan, failures } = parser.results ?? { ok: false }
        if (counts.failed === 0) {
          if (expired || signal || code !== 0) fail('', { exitCode: code, signal, expired })
          else if (!ok) fail('', { errors: failures })
          // A file without a single assertion proves nothing.
          else if (plan?.skipAll && !NOTHING_RAN.test(plan.skipReason)) counts.skipped++
          else if (counts.passed + counts.skipped === 0) fail('no tests in this file', null)
        }
        if (time !== undefined) this.times.set(name, time)
        if (processor !== undefined) this.processor.set(name, processor)
        if (counts.failed === 0 && this.files.get(name)?.failed) this.recovered.add(name)
        this.files.set(name, counts)
        this.out(
          `${counts.failed === 0 ? 'ok    ' : 'not ok'}  ${name}  ${counts.passed}${counts.failed === 0 ? '' : `, ${counts.failed} failed`}`,
        )
        // At once, so that a log that is cut off still shows why.
        for (const lines of this.failures.splice(0)) this.out(lines.join('\n'))
        if (counts.failed > 0 && after.length > 0) this.out(`    in one process after ${after.join(', ')}`)
      },
    }
  }

  /** Files whose last run failed. */
  failedFiles(): string[] {
    return [...this.files].filter(([, { failed }]) => failed > 0).map(([name]) => name)
  }

  /** Prints, last, the counts. @returns the exit code of the whole run: 0 only if something ran, or says why not, and nothing failed. */
  close(): number {
    if (this.closed) return 1
    this.closed = true
    const { passed, failed, skipped } = this.totals()
    for (const lines of this.failures) this.out(lines.join('\n'))
    if (this.times.size > SLOWEST) {
      this.out(`# slowest: ${slowestName(this.times)}`)
      const total = [...this.processor.values()].reduce((sum, time) => sum + time, 0)
      this.out(`# processor time: ${inSeconds(total)} in all, most of it: ${slowestName(this.processor)}`)
    }
    if (this.lanes.size > 0) this.out(`# lanes: ${[...this.lanes].map(([lane, count]) => `${lane} ${count}`).join(', ')}`)
    if (this.recovered.size > 0) this.out(`# failed beside others, passed when run again alone: ${[...this.recovered].join(', ')}`)
    this.out(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
    return failed === 0 ? 0 : 1
  }

  private totals(): Counts {
    const sum = (key: keyof Counts): number => [...this.files.values()].reduce((total, counts) => total + counts[key], 0)
    const totals = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }
    if (totals.passed + totals.failed + totals.skipped > 0) return totals
    this.failures.push(describeFailure('nothing ran', null))
    return { ...totals, failed: 1 }
  }

  private comment(comment: string): void {
    const match = LANES.exec(comment)
    if (!match) return
    for (const part of match[1].split(', ')) {
      const [lane, count] = part.split(' ')
      this.lanes.set(lane, (this.lanes.get(lane) ?? 0) + Number(count))
    }
  }
}
