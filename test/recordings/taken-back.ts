/** Refusals of a provider for a conversation that comes back, by the rules of its stand-in (test/providers/rules). */
import type { JsonObject } from '../../src/core/json.ts'
import { RULES } from '../providers/rules/index.ts'
import { Signatures } from '../providers/stand-in.ts'
import type { Seen } from '../support/upstream.ts'
import type { Exchange } from './cassettes.ts'
import type { RecordedModel } from './providers.ts'
import { exchangeSignatures } from './sealed.ts'

/** Verifies what was recorded as signed, and nothing else. */
class RecordedSignatures extends Signatures {
  readonly #known = new Set<unknown>()

  know(seals: readonly string[]): void {
    for (const seal of seals) {
      this.#known.add(seal)
      Signatures.announce(seal)
    }
  }

  override verify(signature: unknown): boolean {
    return this.#known.has(signature)
  }
}

/** Settings of the request; which of them a model takes says nothing of the conversation. */
const SETTINGS = ['include', 'reasoning', 'reasoning_effort', 'thinking', 'output_config', 'additionalModelRequestFields']

export class TakenBack {
  readonly #signatures = new RecordedSignatures()

  /** Makes the signatures of this reply verify from now on. */
  know(exchange: Exchange): void {
    this.#signatures.know(exchangeSignatures(exchange).flat())
  }

  /** The refusal of the rules for models that reason, and for those that do not: recordings do not say which of them a model is. */
  refusalFor({ preset, ruled }: RecordedModel, request: Seen | undefined): JsonObject | undefined {
    const rules = RULES.find((each) => each.preset === preset)
    if (!rules || !request) return undefined
    const body: JsonObject = Object.fromEntries(Object.entries(request.json).filter(([name]) => !SETTINGS.includes(name)))
    const name = ruled ?? String(body.model)
    const check = (reasons: boolean) =>
      rules.check({ body, request, model: { slug: name, name, reasons, images: true }, signatures: this.#signatures })
    return (check(true) && check(false))?.body
  }
}
