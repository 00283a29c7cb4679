/** The first place at which a body departs from a closed schema that a stand-in's rules state. */
import { type TProperties, type TSchema, Type } from 'typebox'
import { checker } from '../../src/core/check.ts'
import { Fault } from '../../src/core/faults.ts'

export interface Departure {
  /** `messages[1].reasoning_content` */
  readonly path: string
  /** `unknown field`, `is required`, `expected a string` … */
  readonly message: string
}

/** An object that takes these members and no others. */
export const closed = <P extends TProperties>(members: P) => Type.Object(members, { additionalProperties: false })

/** Any of these strings. */
export const words = (...values: string[]) => Type.Unsafe<string>({ type: 'string', enum: values })

/** @returns a check of whole bodies. */
export function departures(schema: TSchema): (body: unknown) => Departure | undefined {
  const check = checker(schema)
  return (body) => {
    try {
      check(body)
      return undefined
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown
      const path = String(thrown.metadata?.field ?? '')
      return { path, message: thrown.message.slice(path === '' ? 0 : path.length + 2) }
    }
  }
}
