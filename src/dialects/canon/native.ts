/**
 * Members of a part, an item or a tool that only one wire knows: kept beside what the canon names, as `native`,
 * and laid over the written form on the same wire. A decoder that leaves some there also names them in
 * `request.extras.fields` (`NAMED_BESIDE`), so that every other wire records what it cannot say.
 */
import type { JsonObject } from '../../core/json.ts'
import type { DialectId, Opaque } from './request.ts'

interface Carrier {
  native?: Opaque
}

/** First words of the names in `extras.fields` that are no field of the body. */
const NAMED_BESIDE = /^(?:input|messages|tools)\./

/** True for a name in `extras.fields` that only stands for members kept beside parts, items or tools. */
export function isNamedBeside(name: string): boolean {
  return NAMED_BESIDE.test(name)
}

/** Members that are not known and say anything; undefined where there are none. */
export function otherMembers(value: JsonObject, known: ReadonlySet<string>): JsonObject | undefined {
  let others: JsonObject | undefined
  for (const key in value) {
    const member = value[key]
    if (known.has(key) || member === undefined || member === null || (Array.isArray(member) && member.length === 0)) continue
    others ??= {}
    others[key] = member
  }
  return others
}

/** Leaves members of one wire beside a value; the value itself. */
export function withNative<T extends object>(value: T, native: Opaque): T {
  return Object.assign(value, { native })
}

/** Members that this wire left beside a value; undefined where it left none. */
export function nativeObject(value: object, dialect: DialectId): JsonObject | undefined {
  const { native } = value as Carrier
  return native?.dialect === dialect ? native.data : undefined
}
