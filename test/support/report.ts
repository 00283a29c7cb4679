/** Reads tap's output and tells people what failed, where and why; counts assertions, not files. */
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
  signal?: string | null
  expired?: string
  errors?: unknown
}

/** Files whose durations are printed: those that a shorter run of all tests has to begin with. */
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

function indent(text: string): string[] {
  return text
    .replace(/\n+$/, '')
    .split('\n')
    .map((line) => `    ${line}`)
}

export class Report {
  passed = 0
  failed = 0
  skipped = 0
  private readonly failures: string[][] = []
  /** Milliseconds of each file. */
  private readonly times = new Map<string, number>()
  private readonly lanes = new Map<string, number>()
  private readonly parser: Parser
  private readonly out: (line: string) => void
  private closed = false

  constructor(options: ReportOptions = {}) {
    this.out = options.out ?? ((line) => console.log(line))
    this.parser = new Parser()
    this.parser.on('pass', () => this.passed++)
    this.parser.on('todo', () => this.skipped++)
    this.parser.on('fail', (result: Result) => this.fail(result))
    this.parser.on('skip', (result: Result) => this.skip(result))
    this.parser.on('child', (file: Parser) => this.file(file))
    this.parser.on('assert', ({ name, time }: Result) => {
      if (time) this.times.set(name, time)
    })
    this.parser.on('bailout', (reason: string) => this.fail({ fullname: `bailed out: ${reason}`, diag: null }))
    if (options.verbose) this.parser.on('extra', (text: string) => this.out(text.replace(/\n$/, '')))
  }

  write(chunk: Buffer): void {
    this.parser.write(chunk)
  }

  /**
   * Prints the failures and, last, the counts.
   * @param code exit code of tap. @returns the exit code of the whole run: 0 only if something ran and nothing failed.
   */
  close(code: number): number {
    if (this.closed) return 1
    this.closed = true
    this.parser.end()
    if (this.failed === 0 && (code !== 0 || this.passed === 0))
      this.fail({ fullname: this.passed === 0 ? 'nothing ran' : `tap ended with code ${code}`, diag: null })
    for (const lines of this.failures) this.out(lines.join('\n'))
    if (this.times.size > SLOWEST) this.out(`# slowest: ${this.slowest().join(', ')}`)
    if (this.lanes.size > 0) this.out(`# lanes: ${[...this.lanes].map(([lane, count]) => `${lane} ${count}`).join(', ')}`)
    this.out(`${this.passed} passed, ${this.failed} failed${this.skipped > 0 ? `, ${this.skipped} skipped` : ''}`)
    return this.failed === 0 ? 0 : 1
  }

  private slowest(): string[] {
    const times = [...this.times].sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
    return times.map(([name, time]) => `${name} ${(time / 1000).toFixed(1)} s`)
  }

  private fail(result: { fullname: string; diag: Diagnostics | null }): void {
    this.failed++
    this.failures.push(describeFailure(result.fullname, result.diag))
  }

  private skip(result: Result): void {
    // A file without a single assertion proves nothing.
    if (NOTHING_RAN.test(String(result.skip))) this.fail({ fullname: `${result.fullname}: no tests in this file`, diag: null })
    else this.skipped++
  }

  private file(file: Parser): void {
    const before = { passed: this.passed, failed: this.failed }
    file.on('comment', (comment: string) => this.comment(comment.trim()))
    file.on('complete', () => {
      const failed = this.failed - before.failed
      this.out(
        `${failed === 0 ? 'ok    ' : 'not ok'}  ${file.name}  ${this.passed - before.passed}${failed === 0 ? '' : `, ${failed} failed`}`,
      )
      // At once, so that a log that is cut off still tells why.
      for (const lines of this.failures.splice(0)) this.out(lines.join('\n'))
    })
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
