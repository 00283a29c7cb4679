/** Fields of a provider's body in the words of the caller: what dialects translate, and what quirks rename. */
import type { JsonObject } from '../../core/json.ts'
import type { FieldNames } from '../../dialects/canon/field-names.ts'

/** Two names of one field: the caller sent it under one, and the provider knows it by the other. */
export interface RenamedField {
  readonly provider: string
  readonly caller: string
}

export interface Naming {
  readonly client: FieldNames | undefined
  readonly upstream: FieldNames | undefined
  /** The quirk `body.rename`: the dialect's name and the provider's. */
  readonly rename: Readonly<Record<string, string>>
}

/** Explanations in one message. */
const MOST_NOTES = 3

const rootOf = (path: string): string => path.split(/[.[]/, 1)[0] ?? ''
const lastOf = (path: string): string =>
  path
    .replace(/\[[^\]]*\]/g, '')
    .split('.')
    .at(-1) ?? ''
/** One form for names that a provider writes in two ways, such as `maxOutputTokens` and `max_output_tokens`. */
const plain = (name: string): string => name.replaceAll('_', '').toLowerCase()

/** @param sent the body as the caller sent it: fields that it does not have are not the caller's. */
export function renamedFields({ client, upstream, rename }: Naming, sent: JsonObject): RenamedField[] {
  const fields: RenamedField[] = []
  const add = (path: string, caller: string): void => {
    const provider = rename[path] ?? path
    if (provider !== caller && !(rootOf(provider) in sent)) fields.push({ provider, caller })
  }
  for (const [part, paths] of upstream ?? []) {
    const caller = client?.get(part)?.find((path) => rootOf(path) in sent)
    if (caller !== undefined) for (const path of paths) add(path, caller)
  }
  for (const from of Object.keys(rename)) if (from in sent) add(from, from)
  return fields
}

/** The path of the field at fault in the caller's body. @returns undefined where the caller sent no such field. */
export function callersPath(path: string, fields: readonly RenamedField[], sent: JsonObject): string | undefined {
  if (rootOf(path) in sent) return path
  const last = plain(lastOf(path))
  const root = plain(rootOf(path))
  const known = fields.find(({ provider }) => plain(lastOf(provider)) === last) ?? fields.find(({ provider }) => plain(provider) === root)
  return known?.caller
}

/** Names in which a sentence may mention a field. */
const WORDS = /[A-Za-z_]\w*/g

/** Two words in one: such a name is no word of a sentence, as `reasoning`, `messages` or `input` may be. */
const COMPOUND = /_|[a-z][A-Z]/

/**
 * Says of each renamed field that a sentence mentions which field of the caller it was; '' where it mentions none.
 * @param field path of the field that the provider says is at fault.
 */
export function fieldNotes(sentence: string, fields: readonly RenamedField[], field = ''): string {
  const certain = new Set([rootOf(field), lastOf(field)])
  const known = new Map(fields.map(({ provider, caller }) => [plain(lastOf(provider)), caller]))
  const notes = new Map<string, string>()
  for (const [word] of sentence.matchAll(WORDS)) {
    const caller = known.get(plain(word))
    if (caller === undefined || word === caller || notes.size >= MOST_NOTES) continue
    if (COMPOUND.test(word) || certain.has(word)) notes.set(word, caller)
  }
  if (notes.size === 0) return ''
  return ` (${[...notes].map(([provider, caller]) => `${provider} is ${caller} in your request`).join(', ')})`
}
