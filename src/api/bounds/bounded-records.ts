/** Refused requests, events and the audit log as a caller with a place reads them. Each is bounded by the store, so that pages are whole. */
import type { AuditLogStore } from '../../store/audit-log.ts'
import type { AttributedEvents } from '../../store/events.ts'
import type { RefusalStore } from '../../store/refusals.ts'
import type { Within } from './within.ts'

export function boundedRefusals(refusals: Pick<RefusalStore, 'list'>, within: Within): Pick<RefusalStore, 'list'> {
  return { list: async (query) => refusals.list({ ...query, keys: [...(await within.identities())] }) }
}

/** @param settings ids of records of the place beside keys and levels. */
export function boundedAuditLog(
  auditLog: Pick<AuditLogStore, 'page'>,
  within: Within,
  settings: () => Promise<readonly string[]>,
): Pick<AuditLogStore, 'page'> {
  return {
    page: async (query) => {
      const { groups } = within.levels()
      const identities = [...(await within.identities())]
      return auditLog.page({
        ...query,
        within: { subjects: [...(await within.subjects()), ...(await settings())], actors: identities, levels: groups },
      })
    },
  }
}

/** Deliveries and receivers are the whole gateway's. */
export function boundedEvents(events: AttributedEvents, within: Within): Pick<AttributedEvents, 'page' | 'last' | 'find' | 'deliveries'> {
  const subjects = async (): Promise<string[]> => [...(await within.subjects())]
  return {
    page: async (query) => events.page({ ...query, subjects: await subjects() }),
    last: () => events.last(),
    find: async (id) => {
      // First, so that one of others takes as long as none.
      const own = await within.subjects()
      const found = await events.find(id)
      return found && own.has(found.subject) ? found : undefined
    },
    deliveries: () => [],
  }
}
