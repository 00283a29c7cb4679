/** A settlement as double entry: what leaves the key arrives at the provider and, for tools, at the gateway. */
import type { JsonObject } from '../core/json.ts'
import { factsOf } from './facts.ts'
import type { GenerationRecord } from './types.ts'

/** One side of a settlement. The entries of a generation sum to zero; they are never changed. */
export interface Entry extends JsonObject {
  account: 'key' | 'provider' | 'fee'
  /** Identity of the key; the provider's name, or the endpoint that was held for where none is recorded; `tools`. */
  of: string
  /** Nano-dollars: negative where they leave the account. */
  nano: number
}

/** None while the generation is open; the fee only where tools ran. @throws SyntaxError where the facts are broken. */
export function entriesOf({ hold, settled }: GenerationRecord): Entry[] {
  if (!settled) return []
  const { provider, tools_cost } = factsOf(settled)
  const tools = typeof tools_cost === 'number' ? tools_cost : 0
  const name = typeof provider === 'string' && provider !== '' ? provider : hold.endpoint
  const entries: Entry[] = [
    { account: 'key', of: hold.key, nano: 0 - settled.cost },
    { account: 'provider', of: name, nano: settled.cost - tools },
  ]
  if (tools !== 0) entries.push({ account: 'fee', of: 'tools', nano: tools })
  return entries
}
