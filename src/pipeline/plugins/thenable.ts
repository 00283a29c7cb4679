/** Promises where none belong: noticed, and never left to reject unheard. */

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && 'then' in value && typeof value.then === 'function'
}

/** True for a promise; its rejection is then ignored. */
export function strayPromise(value: unknown): boolean {
  if (!isThenable(value)) return false
  Promise.resolve(value).catch(() => {})
  return true
}
