/** Values of plugins that do not fit the interface: events of no known type, and promises where none is expected. */
import { isObject } from '../../core/json.ts'
import type { StreamEvent } from '../../plugin-api/index.ts'

/** Thrown where a value of a plugin does not fit the interface. */
export class InvalidValue extends TypeError {}

const TYPES: ReadonlySet<unknown> = new Set([
  'start',
  'block-start',
  'block-delta',
  'block-note',
  'block-end',
  'usage',
  'end',
  'fault',
  'opaque',
] satisfies StreamEvent['type'][])

/** True for an event of a known type. */
export function isEvent(event: unknown): boolean {
  if (!isObject(event) || !TYPES.has(event.type)) return false
  const { type } = event
  if (typeof type === 'string' && type.startsWith('block-') && typeof event.block !== 'number') return false
  return type !== 'block-delta' || typeof event.text === 'string'
}

/** True for a promise. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && 'then' in value && typeof value.then === 'function'
}

/** True for a promise; its rejection is then ignored. */
export function strayPromise(value: unknown): boolean {
  if (!isThenable(value)) return false
  Promise.resolve(value).catch(() => {})
  return true
}
