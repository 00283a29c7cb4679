/** Values that were redacted from a request and are restored in its answer: kept as long as the exchange, and never written to disk. */

/** The form of our placeholders. */
const TAKEN = /\[[^[\]\n]{1,110}_[0-9]{1,9}\]/g

export class Vault {
  private readonly values = new Map<string, string>()
  private readonly placeholders = new Map<string, string>()
  private readonly counts = new Map<string, number>()
  private readonly taken = new Set<string>()
  private texts: (() => Iterable<string>) | undefined
  /** Characters of the longest placeholder. */
  longest = 0

  /** @param texts all texts of the request: no placeholder is chosen that stands there already. Called once, when the first is needed. */
  constructor(texts: () => Iterable<string>) {
    this.texts = texts
  }

  get size(): number {
    return this.values.size
  }

  /** The same value has the same placeholder, such as `[EMAIL_1]`. @param kind what stands there where nothing comes back: `[EMAIL]`. */
  placeholder(kind: string, value: string): string {
    const name = kindName(kind)
    const key = `${name}\n${value}`
    const known = this.placeholders.get(key)
    if (known !== undefined) return known
    for (const text of this.texts?.() ?? []) for (const [each] of text.matchAll(TAKEN)) this.taken.add(each)
    this.texts = undefined
    let count = this.counts.get(name) ?? 0
    let placeholder: string
    do placeholder = `[${name}_${++count}]`
    while (this.taken.has(placeholder))
    this.counts.set(name, count)
    this.placeholders.set(key, placeholder)
    this.values.set(placeholder, value)
    this.longest = Math.max(this.longest, placeholder.length)
    return placeholder
  }

  /** Puts back what placeholders stand for. @param written how a value is written there. */
  restored(text: string, written: (value: string) => string = String): string {
    if (this.values.size === 0 || !text.includes('[')) return text
    return text.replace(TAKEN, (found) => {
      const value = this.values.get(found)
      return value === undefined ? found : written(value)
    })
  }

  /** Characters at the end of a text that may be the beginning of a placeholder. */
  openAt(text: string): number {
    const at = text.lastIndexOf('[')
    if (at === -1 || text.length - at >= this.longest) return text.length
    const tail = text.slice(at)
    for (const placeholder of this.values.keys()) if (placeholder.startsWith(tail)) return at
    return text.length
  }
}

function kindName(kind: string): string {
  const name = kind.replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_+|_+$/g, '')
  return name === '' ? 'REDACTED' : name
}
