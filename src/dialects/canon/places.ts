/**
 * Indexes, offsets and times in what providers write: whole numbers from zero on. Clients find a call or a block by them, and those with
 * types read nothing of an event where such a member is anything else.
 */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'

export function isPlace(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Anthropic's `encrypted_index` is a text. */
const NAME = /^(?:index|(?!encrypted_)\w+_index|(?:start|end)_page_number)$/

/** Writes 0 for each index and offset of an object that is none. @returns true where it had to. */
export function mendPlaces(holder: JsonObject): boolean {
  let isChanged = false
  for (const key in holder) {
    const value = holder[key]
    if (value === undefined || isPlace(value) || !NAME.test(key)) continue
    holder[key] = 0
    isChanged = true
  }
  return isChanged
}

/** The same of a list of annotations or citations; those of chat have their members one level below. */
export function mendCitations(list: Json | undefined): boolean {
  let isChanged = false
  for (const each of asObjects(list)) {
    const inner = each[String(each.type)]
    if (mendPlaces(each) || (isObject(inner) && mendPlaces(inner))) isChanged = true
  }
  return isChanged
}

/** The time as the provider states it; undefined where it is no number of seconds, without which typed clients read nothing of a reply. */
export const createdIn = ({ created }: JsonObject): number | undefined => (isPlace(created) ? created : undefined)

/** The first choice of a reply in which a provider may number its only choice as it likes, or not at all. */
export function onlyChoice(choices: Json | undefined): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined
  for (const choice of choices) if (isObject(choice) && (choice.index === 0 || !isPlace(choice.index))) return choice
  return undefined
}
