/** Plan of a request of one key under the configuration that runs, as the API shows it. */
import type { Planned } from '../../api/generation-plan.ts'
import type { Config } from '../../config/config.ts'
import type { GenerationIds } from '../../core/ids.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ChainDependencies } from '../../pipeline/dependencies.ts'
import type { GuardrailSetting } from '../../pipeline/guard/guardrail-setting.ts'
import type { PlanFormat } from '../../pipeline/plan/format.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Catalog } from '../../routing/catalog/catalog.ts'
import { chainSettings } from '../settings.ts'
import { planText } from './plan-text.ts'

interface Running {
  readonly config: Config
  readonly catalog: Catalog
  readonly stored: readonly GuardrailSetting[]
  readonly dependencies: ChainDependencies
  readonly ids: GenerationIds
}

/** It takes nothing of the key's rate. */
export async function planForKey(
  { text, format, key }: { text: string; format: PlanFormat; key: ApiKey },
  { config, catalog, stored, dependencies, ids }: Running,
): Promise<Planned> {
  const caller = { ...key, limits: {} }
  const settings = chainSettings(config, catalog, { written: new Map(), atHand: () => caller, find: () => caller }, { stored })
  const rehearsed = await planText({ text, format, key: caller }, { settings, dependencies, ids, config })
  if (rehearsed.kind === 'plan') return { plan: rehearsed.plan as unknown as JsonObject }
  const { error } = rehearsed.body
  return { status: rehearsed.status, message: isObject(error) && typeof error.message === 'string' ? error.message : '' }
}
