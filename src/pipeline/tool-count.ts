/** How many tools a request may have that are more than functions of the caller's: each is set up, and some ask a server of their own. */
import { badField } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'

const MOST = 128

/** Types of functions; the messages format may leave the word out. */
const FUNCTIONS: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom'])

/** @throws Fault 400. */
export function checkToolCount({ tools }: JsonObject): void {
  if (!Array.isArray(tools) || tools.length <= MOST) return
  let others = 0
  for (const tool of tools) if (isObject(tool) && !FUNCTIONS.has(tool.type)) others++
  if (others > MOST) throw badField('tools', `expected at most ${MOST} tools that are no functions, found ${others}`)
}
