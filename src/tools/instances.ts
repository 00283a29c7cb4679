/** Tools that a request may offer several times: named for the model, and identified by their place for the caller. */
import { badField, type Json, type ToolContext } from '../plugin-api/index.ts'

const NAME = /^[A-Za-z0-9 _-]{1,64}$/

export interface Instance {
  /** As the caller named it; undefined for the one without a name. */
  name: string | undefined
  /** Of its function, without the brand word: the tool's own name, with a number from the second one on. */
  function: string
  /** Number of instances of the tool in the request. */
  of: number
}

/**
 * @param tool without the brand word. @param path of its parameter `name`.
 * @throws Fault 400 for a name that is none, one that is there twice, and a second one without.
 */
export function parseInstance(tool: string, path: string, { tools, place }: Pick<ToolContext, 'tools' | 'place'>): Instance {
  const all = tools.flatMap((spec, i) => (spec.kind === 'server' && spec.name === tool ? [{ i, given: spec.parameters.name }] : []))
  const at = all.findIndex(({ i }) => i === place)
  const name = parseName(all[at]?.given, path)
  const twice = all.slice(0, at).some(({ given }) => plain(given) === name)
  if (twice && name === undefined) throw badField(path, `is required: only one ${tool} of a request may be without a name`)
  if (twice) throw badField(path, `expected a name that no other ${tool} of the request has`)
  return { name, function: at < 1 ? tool : `${tool}__${at}`, of: all.length }
}

function plain(given: Json | undefined): string | undefined {
  return typeof given === 'string' ? given.trim() : undefined
}

function parseName(given: Json | undefined, path: string): string | undefined {
  if (given === undefined || given === null) return undefined
  const name = plain(given)
  if (name === undefined || !NAME.test(name)) throw badField(path, 'expected 1 to 64 letters, digits, spaces, underscores and dashes')
  return name
}
