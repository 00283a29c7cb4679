/** Which drained endpoints a request may still use: those that it is bound to, as nginx and HAProxy drain a server. */
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { StickySessions } from '../../routing/index.ts'
import type { Aimed } from '../exchange.ts'
import { holdsIds } from '../request/provider-ids.ts'
import { conversationName, mayStay } from './conversation.ts'

/** True for the endpoint where the conversation was served last, and for those that have what the request names by an id. */
export function findBinding(exchange: Aimed, all: readonly Endpoint[], sessions: StickySessions): (endpoint: Endpoint) => boolean {
  const { run } = exchange
  const stays = servedAt(exchange, all, sessions)
  return (endpoint) => endpoint.id === stays || (run.pinned !== undefined && holdsIds(endpoint, run.pinned))
}

/** Id of the endpoint that the conversation stays at. */
function servedAt({ request, auth, demand }: Aimed, all: readonly Endpoint[], sessions: StickySessions): string | undefined {
  const [model] = demand.models
  if (!model || request.client.embedding || !mayStay(demand.preferences, model.endpoints)) return undefined
  const known = conversationName(request, all, sessions.commonSecret)
  return known && sessions.get(auth.key.identity, model.slug, known.name)
}
