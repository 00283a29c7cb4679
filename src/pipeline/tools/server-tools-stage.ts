/** The stage of server tools in `router_metadata.pipeline` (contract section 5.7). */
import type { Received } from '../exchange.ts'

const TYPE = 'server_tools'
const NAME = 'server-tools'

/**
 * Adds server tools that the request offers to the stage of their mode.
 * @param mode `sdk`: the gateway runs them. `native`: a provider runs its own in their place.
 * @param tools names without the brand word.
 */
export function noteServerTools(exchange: Received, mode: 'sdk' | 'native', tools: readonly string[]): void {
  const types = tools.map((name) => `${exchange.head.brand}:${name}`)
  const stage = exchange.trail.stages.find(({ type, data }) => type === TYPE && data?.mode === mode)
  const before = Array.isArray(stage?.data?.tools) ? stage.data.tools : []
  const data = { mode, tools: [...new Set([...before, ...types])] }
  if (stage) stage.data = data
  else exchange.trail.stages.push({ type: TYPE, name: NAME, data })
}
