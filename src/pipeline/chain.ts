/**
 * The way of a request, in order. Composed once per configuration, never per request.
 *
 *  1. receive       refuses by the head alone; writes the reply when all below has ended
 *  2. authenticate  who is asking, still from the head: nothing is read for a stranger
 *  3. admit         how much a key may have going, before its body takes memory
 *  4. read          the body once, parsed once, checked
 *  5. account       the books: whatever happens below is settled here, exactly once
 *  6. resolve       slug to models to endpoints, each exclusion with its reason
 *  7. guard         what the policy forbids, before anything else sees the text
 *  8. shape         request plugins, which need to know what the endpoints can do
 *  9. converse      the server-tool loop: wraps what is below, once per turn
 * 10. plan          the order of the endpoints, and the hold over all that may serve
 * 11. attempt       one endpoint after the other, until content comes
 *
 * The phase types make a wrong order a compile error: each layer takes the facts that it needs and adds its own.
 */
import type { Head, Read, Resolved } from '../plugin-api/exchange.ts'
import { callEndpoint } from './call-endpoint.ts'
import { countTokens } from './count-tokens.ts'
import type { EmbeddingParts } from './embed/asked.ts'
import { embedAt } from './embed/embed-at.ts'
import { previewVectors } from './embed/preview.ts'
import { suit } from './embed/suit.ts'
import { account } from './layers/account.ts'
import { admit } from './layers/admit.ts'
import { attempt } from './layers/attempt.ts'
import { authenticate } from './layers/authenticate.ts'
import { converse, converseForPlan } from './layers/converse.ts'
import { guard, guardAdditions, readsTexts } from './layers/guard.ts'
import { plan } from './layers/plan.ts'
import { read } from './layers/read.ts'
import { type Front, receive } from './layers/receive.ts'
import { resolve } from './layers/resolve.ts'
import { shape, shapeForPlan } from './layers/shape.ts'
import type { ChainParts, ChainSettings } from './parts.ts'
import { explain, previewEnd } from './plan/answer.ts'
import { previewAnswer } from './plan/candidates.ts'
import type { At, Service } from './reply.ts'

export type { Front } from './layers/receive.ts'

export function composeChain(settings: ChainSettings, parts: ChainParts): Front {
  const attempted = attempt(parts, callEndpoint)
  const planned = plan(settings, parts)(attempted)
  const readAgain = guardAdditions(settings.guardrails)
  // What a tool asks of a model goes the same way as a caller's request, from the choice of models on.
  const inner: Service<At<Read>> = (exchange) => resolved(exchange)
  const conversed = converse(settings, parts, { readAgain, inner })(planned)
  const shaped = shape(settings.plugins, parts)(conversed)
  const guarded = guard(settings.guardrails)(shaped)
  const resolved = resolve(settings, parts)(guarded)
  const accounted = account(parts)(resolved)
  const readBody = read(settings, parts)(accounted)
  const admitted = admit(parts.admission)(readBody)
  const authenticated: Service<At<Head>> = authenticate(settings, parts)(admitted)
  return receive(settings, parts)(authenticated)
}

/**
 * The chain of embeddings: no plugins and no server tools, and the call is for vectors.
 * The endpoints that can read the inputs are chosen once the guardrails have read them.
 */
export function composeEmbedding(settings: ChainSettings, parts: EmbeddingParts): Front {
  const suits = suit(settings.guardrails.filter(readsTexts), parts)(plan(settings, parts)(attempt(parts, embedAt)))
  const accounts = account(parts)(resolve(settings, parts)(guard(settings.guardrails)(suits)))
  const admits = admit(parts.admission)(read(settings, parts)(accounts))
  return receive(settings, parts)(authenticate(settings, parts)(admits))
}

/** The chain of operations that count tokens: the same layers up to the guard, and nothing is held or charged. */
export function composeCounting(settings: ChainSettings, parts: ChainParts): Front {
  const guarded = guard(settings.guardrails)(countTokens(parts))
  const resolved = resolve(settings, parts)(guarded)
  const admitted = admit(parts.admission)(read(settings, parts)(resolved))
  const authenticated: Service<At<Head>> = authenticate(settings, parts)(admitted)
  return receive(settings, parts)(authenticated)
}

/**
 * The chain of plans: every layer that decides something, and in place of the call an account of it.
 * A plan counts as a request of its key; nothing is sent, held, pinned, measured or written down.
 */
export function composePlanning(settings: ChainSettings, parts: EmbeddingParts): Front {
  const readAgain = guardAdditions(settings.guardrails)
  const converses = converseForPlan(settings, parts, { readAgain, inner: (exchange) => resolves(exchange) })(
    previewEnd(settings, parts, previewAnswer(parts)),
  )
  const shapes = shapeForPlan(settings.plugins, parts)(converses)
  const vectors = previewEnd(settings, parts, (exchange, endpoint) => previewVectors(exchange, endpoint, parts))
  const suits = suit(settings.guardrails.filter(readsTexts), parts)(vectors)
  const either: Service<At<Resolved>> = (exchange) => (exchange.client.embedding ? suits(exchange) : shapes(exchange))
  const resolves = resolve(settings, parts)(guard(settings.guardrails)(either))
  const admits = admit(parts.admission)(read(settings, parts)(explain()(resolves)))
  return receive(settings, parts)(authenticate(settings, parts)(admits))
}
