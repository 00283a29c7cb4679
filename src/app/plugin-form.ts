/** Whether what a module gives is a plugin: our compiler does not check the code of other authors. */
import { isObject } from '../core/json.ts'
import type { Plugin } from '../plugin-api/index.ts'

const ID = /^[a-z][a-z0-9-]{0,63}$/

/** The default export: a plugin or a list of them. @throws Error saying what is missing. */
export function pluginsOf({ default: given }: Record<string, unknown>): Plugin[] {
  const list: unknown[] = Array.isArray(given) ? given : [given]
  if (list.length === 0 || given === undefined) throw new Error('expected a default export that is a plugin, or a list of plugins')
  return list.map((one) => {
    const wrong = wrongWith(one)
    if (wrong !== undefined) throw new Error(wrong)
    return one as Plugin
  })
}

function wrongWith(value: unknown): string | undefined {
  if (!isObject(value)) return 'expected a default export that is a plugin, or a list of plugins'
  const plugin: Record<string, unknown> = value
  const { id, onError, timeout, router } = plugin
  if (typeof id !== 'string' || !ID.test(id)) return 'its id: expected up to 64 small letters, digits and dashes'
  if (typeof plugin.parse !== 'function') return `${id}.parse: expected a function`
  for (const name of ['shape', 'tap', 'implied', 'bound']) {
    if (plugin[name] !== undefined && typeof plugin[name] !== 'function') return `${id}.${name}: expected a function, or nothing`
  }
  if (onError !== undefined && onError !== 'fail' && onError !== 'skip') return `${id}.onError: expected 'fail' or 'skip'`
  if (timeout !== undefined && !(typeof timeout === 'number' && Number.isSafeInteger(timeout) && timeout > 0))
    return `${id}.timeout: expected a whole number of milliseconds above 0`
  if (router !== undefined && !isRouter(router)) return `${id}.router: expected names, a strategy and a function choose`
  if (!plugin.shape && !plugin.tap && !router) return `${id}: expected at least one of shape, tap and router`
  return undefined
}

function isRouter(value: unknown): boolean {
  if (!isObject(value)) return false
  const { names, strategy, choose }: Record<string, unknown> = value
  const named = Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string' && name !== '')
  return named && typeof strategy === 'string' && typeof choose === 'function'
}
