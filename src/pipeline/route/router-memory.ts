/** A conversation with a router model stays on the model that it was given, as one with a model stays on its endpoint. */

import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import { type StickySessions, stickinessApplies } from '../../routing/index.ts'
import type { Aimed } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { conversationName } from './conversation.ts'

/** A conversation that may stay on one model. */
export interface RouterMemory {
  /** Stands where the pins of endpoints have a model; no model has such a slug. */
  readonly place: string
  readonly name: string
  /** The caller named it; else it stays only where a cache has shown to pay. */
  readonly named: boolean
}

/** @param name of the router. @param endpoints that the choice is among. @returns undefined where nothing is to be remembered. */
export function routerMemory(
  exchange: Aimed,
  name: string,
  endpoints: readonly Endpoint[],
  sessions: StickySessions,
): RouterMemory | undefined {
  if (!stickinessApplies(exchange.wish.preferences)) return undefined
  const conversation = conversationName(exchange.request, endpoints, sessions.commonSecret)
  return conversation && { place: `router:${name}`, name: conversation.name, named: conversation.named }
}

/** The model that served this conversation last, while it is remembered and among those given. */
export function stickyModel(
  { auth: { key } }: Aimed,
  memory: RouterMemory | undefined,
  models: readonly Model[],
  sessions: StickySessions,
): Model | undefined {
  const slug = memory && sessions.get(key.identity, memory.place, memory.name)
  return slug === undefined ? undefined : models.find((model) => model.slug === slug)
}

/** Call when the reply has ended: a success pins the model that served, a failure leaves the pin as it is. */
export function rememberModel(
  { auth: { key }, run: { committedEndpoint } }: Aimed,
  memory: RouterMemory,
  { turn }: Reply,
  sessions: StickySessions,
): void {
  if (!committedEndpoint || turn.fault || turn.aborted) return
  if (!memory.named && (turn.usage?.cached ?? 0) === 0) return
  sessions.set({ key: key.identity, model: memory.place, session: memory.name, endpoint: committedEndpoint.model.slug })
}
