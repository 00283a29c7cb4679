/** Engines by their types. */
import type { EngineSettings, ExternalEngine } from './engine.ts'
import { presidioEngine } from './presidio.ts'
import { webhookEngine } from './webhook.ts'

const ENGINES: Readonly<Record<EngineSettings['type'], (settings: EngineSettings) => ExternalEngine>> = {
  presidio: presidioEngine,
  webhook: webhookEngine,
}

export function externalEngine(settings: EngineSettings): ExternalEngine {
  return ENGINES[settings.type](settings)
}
