/** Writes the line of each request in the form that the settings state. */
import type { LogSink } from '../core/log.ts'
import { type AccessSettings, accessTemplate, FORMATS, formattedLine } from '../core/log-settings.ts'

export class AccessLog {
  private readonly logs: LogSink
  private template: { format: string; write: (fields: Readonly<Record<string, unknown>>) => string } | undefined

  constructor(logs: LogSink) {
    this.logs = logs
  }

  /** @param address of the caller: stands only in a form of the operator's own. */
  write(line: { status: number; fault: string | undefined }, address: () => string | undefined): void {
    const { access, format } = this.logs.settings
    if (access.lines !== 'all' && !isWanted(line, access)) return
    const { write, also } = this.logs
    const form = access.format ?? format
    const json = form === 'json' || also ? `${JSON.stringify(line)}\n` : ''
    write(form === 'json' ? json : this.formatted(line, address, form))
    also?.(json)
  }

  private formatted(line: object, address: () => string | undefined, form: string): string {
    const known = FORMATS.find((each) => each === form)
    if (known !== undefined && known !== 'json') return formattedLine({ ...line }, known)
    if (this.template?.format !== form) this.template = { format: form, write: accessTemplate(form) }
    return this.template.write({ ...line, address: address() })
  }
}

const isWanted = ({ status, fault }: { status: number; fault: string | undefined }, { lines }: AccessSettings): boolean =>
  lines === 'failures' && (status >= 400 || fault !== undefined)
