/** Keeps a conversation on the endpoint that has served it. */
import { entryAt } from '../../core/entry-at.ts'
import type { StickySessions } from '../../routing/index.ts'
import type { Planned } from '../exchange.ts'
import type { Conversation } from '../records.ts'
import { cachesCheaper } from '../route/conversation.ts'
import type { Turn } from './turn.ts'

/**
 * A conversation that the caller named stays from its first success on; any other once the provider's cache has been
 * hit and that is cheaper. Each success renews it. An error of its endpoint leaves it there (docs/contract.md#sticky-sessions).
 */
export function stick(exchange: Planned, conversation: Conversation, { endpoint, usage }: Turn, sessions: StickySessions): void {
  const {
    history: { attempts },
    auth: { key },
    route: { models },
  } = exchange
  const { name, named, pinned } = conversation
  const stays = pinned === endpoint.id
  if (pinned !== undefined && !stays && attempts.some((attempt) => attempt.endpoint === pinned && attempt.code !== undefined)) return
  const pays = (usage?.cached ?? 0) > 0 && cachesCheaper(endpoint)
  if (named || stays || pays) sessions.set({ key: key.identity, model: entryAt(models, 0).slug, session: name, endpoint: endpoint.id })
}
