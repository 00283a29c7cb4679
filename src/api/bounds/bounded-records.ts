/** Refused requests, events and the audit log as a caller with a place reads them. Each is bounded by the store, so that pages are whole. */
import type { AuditLogStore } from '../../store/audit-log.ts'
import type { AttributedEvents } from '../../store/events.ts'
import type { RefusalStore } from '../../store/refusals.ts'
import type { Within } from './within.ts'

export function boundedRefusals(refusals: Pick<RefusalStore, 'list'>, within: Within): Pick<RefusalStore, 'list'> {
  return { list: async (query) => refusals.list({ ...query, keys: [...(await within.identities())] }) }
}

export function boundedAuditLog(auditLog: Pick<AuditLogStore, 'page'>, within: Within): Pick<AuditLogStore, 'page'> {
  return {
    page: async (query) => {
      const { groups } = within.levels()
      const identities = [...(await within.identities())]
      return auditLog.page({ ...query, within: { subjects: [...(await within.subjects())], actors: identities, levels: groups } })
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
      const found = await events.find(id)
      return found && (await within.subjects()).has(found.subject) ? found : undefined
    },
    deliveries: () => [],
  }
}
