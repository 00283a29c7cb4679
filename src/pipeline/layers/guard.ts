/** 7. Input guardrails: what a key's policy forbids never reaches a provider. */
import { guardrailFault, guardrailStage, requestTexts } from '../../guardrails/index.ts'
import type { Resolved } from '../../plugin-api/exchange.ts'
import type { GuardrailSetting } from '../parts.ts'
import type { At, Layer } from '../reply.ts'

export function guard(guardrails: readonly GuardrailSetting[]): Layer<At<Resolved>> {
  return (next) =>
    function guarded(exchange) {
      for (const { name, keys, scanner } of guardrails) {
        if (keys && !keys.has(exchange.key.name)) continue
        const finding = scanner.scan(requestTexts(exchange.request()))
        if (!finding) continue
        exchange.stages.push(guardrailStage(name, finding))
        throw guardrailFault(finding)
      }
      return next(exchange)
    }
}
