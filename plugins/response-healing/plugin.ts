import type { Planned, Plugin, Tap } from '../../src/plugin-api/index.ts'
import { type HealingConfig, parseConfig } from './config.ts'
import { HealingTap } from './healing-tap.ts'

export const responseHealing: Plugin<HealingConfig> = {
  id: 'response-healing',
  // An answer that cannot be mended is still an answer.
  onError: 'skip',
  parse: parseConfig,
  tap,
}

/** Acts where the caller requested JSON, in any dialect. */
function tap(exchange: Planned, { enabled }: HealingConfig): Tap | undefined {
  const { format } = exchange.request()
  if (!enabled || !format || format.type === 'text') return undefined
  const { type: mode, schema } = format
  return new HealingTap({ mode, schema: mode === 'json_schema' ? schema : undefined, stream: exchange.stream, stages: exchange.stages })
}
