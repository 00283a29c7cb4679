/** Engines by their types. */
import type { EngineSettings, ExternalEngine } from './engine.ts'
import { moderationEngine } from './moderation/index.ts'
import { presidioEngine } from './presidio.ts'
import { webhookEngine } from './webhook.ts'

export function externalEngine(settings: EngineSettings): ExternalEngine {
  switch (settings.type) {
    case 'presidio':
      return presidioEngine(settings)
    case 'webhook':
      return webhookEngine(settings)
    case 'moderation':
      return moderationEngine(settings)
  }
}
