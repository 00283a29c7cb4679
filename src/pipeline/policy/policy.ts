/** Policies: conditions over the caller and the request, before any model is chosen; and what they decide for the layers below. */
import type { ApiKey } from '../../plugin-api/key.ts'
import type { ChainDependencies, ChainSettings } from '../dependencies.ts'
import type { Accepted } from '../exchange.ts'
import type { Layer } from '../layer.ts'
import { Decision } from './decision.ts'
import type { PolicySource } from './policy-facts.ts'

/** @param operation of the chain. */
export function policyLayer(
  { policies, catalog }: Pick<ChainSettings, 'policies' | 'catalog'>,
  { admission }: Pick<ChainDependencies, 'admission'>,
  operation: string,
): Layer<Accepted> {
  const withGuardrails = guardedKeys()
  return (next) =>
    policies === undefined
      ? next
      : function handle(exchange) {
          const decision = new Decision(policies, readSource(exchange), exchange.history.stages, exchange.decision)
          const { key } = exchange.auth
          const auth = decision.guardrails.length > 0 ? { key: withGuardrails(key, decision.guardrails) } : exchange.auth
          const decided = Object.assign(exchange, { decision, auth })
          // A plan takes nothing, and a call that a tool makes is part of a request that was counted.
          const counts = decision.limited.length > 0 && operation !== 'plan' && exchange.head.depth === 0
          return counts ? takeLimits(decision, key).then(() => next(decided)) : next(decided)
        }

  function readSource({ auth: { key }, head, request, decision }: Accepted): PolicySource {
    const { headers, at, config } = head
    const plain = request.client.embedding ? 'embed' : 'generate'
    const { body, gateway } = request
    const named = decision?.named ?? { user: body.user, metadata: body.metadata, session: gateway.sessionId }
    const sent = { request, named, catalog, defaultModel: config.defaultModel }
    return { key, headers, at, sent, operation: operation === 'plan' ? plain : operation }
  }

  async function takeLimits({ limited }: Decision, key: ApiKey): Promise<void> {
    for (const { name, limit } of limited) await admission.policyRequest(key, name, limit?.requests ?? 0)
  }
}

/** Combinations of guardrails that are kept for each key. */
const MAX_COMBINATIONS = 64

/** Keys with further guardrails, the same object for the same ones: what is compiled for a key is compiled once. */
export function guardedKeys(): (key: ApiKey, guardrails: readonly string[]) => ApiKey {
  const made = new WeakMap<ApiKey, Map<string, ApiKey>>()
  return (given, guardrails) => {
    const key = given.byPolicy?.key ?? given
    const all = [...new Set([...(given.byPolicy?.guardrails ?? []), ...guardrails])].sort()
    const known = made.get(key) ?? new Map<string, ApiKey>()
    made.set(key, known)
    const name = all.join('\n')
    let found = known.get(name)
    if (!found) {
      // A caller may have its requests meet one combination of conditions after the other.
      if (known.size >= MAX_COMBINATIONS) known.clear()
      found = { ...key, byPolicy: { key, guardrails: all } }
      known.set(name, found)
    }
    return found
  }
}
