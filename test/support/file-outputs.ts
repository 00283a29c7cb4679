/** Gives the report what each test file of a process wrote: of one file, or of several that run one after another. */
import type { FileEnd, FileReport, Report } from './report.ts'

/** Begins the two lines between which the output of one file stands, where a process has several. */
export const MARK = '# headgate test file '
/** Behind the name of a file that has ended stand the milliseconds of the processor that it took. */
const MARKED = new RegExp(`\n${MARK}(begins|ends) (\\S+)(?: (\\d+))?\n`)

export class FileOutputs {
  private readonly report: Report
  private readonly files: readonly string[]
  private readonly turn: (last: boolean) => void
  private readonly begun: string[] = []
  private current: FileReport | undefined
  private started = 0
  private rest = ''

  /** @param turn called where a file begins, and, with true, where the last one has ended. */
  constructor(report: Report, files: readonly string[], turn: (last: boolean) => void) {
    this.report = report
    this.files = files
    this.turn = turn
    if (files.length === 1) this.begin(files[0])
  }

  write(text: string): void {
    if (this.files.length === 1) this.current?.write(text)
    else this.split(text)
  }

  private split(text: string): void {
    this.rest += text
    for (let found = MARKED.exec(this.rest); found; found = MARKED.exec(this.rest)) {
      const [line, which, file, processor] = found
      this.current?.write(this.rest.slice(0, found.index))
      this.rest = this.rest.slice(found.index + line.length)
      if (which === 'begins') this.begin(file)
      else this.finish({ code: 0, processor: Number(processor) })
    }
    // The beginning of a marked line may be all that has come of it.
    const whole = this.rest.lastIndexOf('\n', this.rest.endsWith('\n') ? this.rest.length - 2 : undefined)
    if (whole <= 0) return
    this.current?.write(this.rest.slice(0, whole))
    this.rest = this.rest.slice(whole)
  }

  /** The process has ended: so has the file that ran. @returns the files that never began. */
  end(end: FileEnd): string[] {
    if (!this.current && this.begun.length === 0) this.begin(this.files[0])
    this.current?.write(this.rest)
    const left = this.files.slice(this.begun.length)
    if (this.current) this.finish(end)
    else if (end.code !== 0) this.fail(end)
    return left
  }

  private begin(file: string): void {
    this.begun.push(file)
    this.current = this.report.file(file)
    this.started = performance.now()
    this.turn(false)
  }

  private finish(end: FileEnd): void {
    const after = this.begun.slice(0, -1)
    this.current?.end({ ...end, after, time: Math.round(performance.now() - this.started) })
    this.current = undefined
    if (this.begun.length === this.files.length) this.turn(true)
  }

  /** All files that began have ended, and then the process ended badly or had to be killed, because something was left open. */
  private fail(end: FileEnd): void {
    this.report.file(`the process of ${this.begun.join(', ')}`).end(end)
  }
}
