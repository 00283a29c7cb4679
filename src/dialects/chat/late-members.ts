/**
 * Top-level members of chunks that the gateway does not pass on, such as `moderation`, `prompt_filter_results` of Azure or `x_groq`: they
 * go to the caller with the usage chunk, which it writes itself.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

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

const FINGERPRINT = 'system_fingerprint'

/** The same of a stream that is decoded: each member goes on when it first comes, since a reply may be cut, and in its last form at the end. */
export class ReplyMembers {
  private readonly kept = new Map<string, Json>()
  private changed = false

  /** @returns the members that have not come before. */
  read(chunk: JsonObject): JsonObject | undefined {
    let fresh: JsonObject | undefined
    for (const key in chunk) {
      // The end of a decoded reply has it: no guardrail reads it as words.
      if (SET.has(key) || key === FINGERPRINT) continue
      const value = chunk[key] ?? null
      if (value === null || value === this.kept.get(key)) continue
      if (this.kept.has(key)) this.changed = true
      else {
        fresh ??= {}
        fresh[key] = value
      }
      this.kept.set(key, value)
    }
    return fresh
  }

  /** All of them, where one has changed. */
  end(): JsonObject | undefined {
    return this.changed ? Object.fromEntries(this.kept) : undefined
  }
}

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

  /** As JSON text behind another member. @param fingerprint of a decoded reply. */
  text(fingerprint?: string): string {
    let text = fingerprint === undefined ? '' : `,"${FINGERPRINT}":${JSON.stringify(fingerprint)}`
    for (const [key, value] of this.members) text += `,${JSON.stringify(key)}:${value}`
    return text
  }
}

/** Whether a stream goes on with the answer that it began: providers differ in what they repeat. */
export class ReplyIdentity {
  private id: string | undefined
  /** True once two chunks in a row had one id: some providers give each chunk its own. */
  steady = false

  /** @returns true for the beginning of another answer: another id, and the role again. @param said true once content has come. */
  isAnother({ id }: JsonObject, delta: Json | undefined, said: boolean): boolean {
    if (typeof id !== 'string' || id === '' || id === this.id) {
      if (id === this.id && this.id !== undefined) this.steady = true
      return false
    }
    const began = this.id !== undefined
    if (began && said && this.steady) return isObject(delta) && delta.role === 'assistant'
    this.steady = false
    this.id = id
    return false
  }
}
