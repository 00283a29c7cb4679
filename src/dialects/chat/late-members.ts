/** Top-level members of chunks that the gateway does not pass on: they go to the caller with the usage chunk, which it writes itself. */
import type { JsonObject } from '../../core/json.ts'

/** Members that the gateway sets in every chunk, or reads; `obfuscation` pads one chunk alone. */
const SET: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'provider',
  'choices',
  'usage',
  'service_tier',
  'error',
  'obfuscation',
])

export class LateMembers {
  private readonly members = new Map<string, string>()
  private readonly metadata: string

  /** @param brand before the name of the gateway's own member of the last chunk. */
  constructor(brand: string) {
    this.metadata = `${brand}_metadata`
  }

  keep(chunk: JsonObject): void {
    for (const key in chunk) {
      const value = chunk[key] ?? null
      if (value !== null && key !== this.metadata && !SET.has(key)) this.members.set(key, JSON.stringify(value))
    }
  }

  /** As JSON text behind another member. */
  get text(): string {
    let text = ''
    for (const [key, value] of this.members) text += `,${JSON.stringify(key)}:${value}`
    return text
  }
}
