/** Entries of the audit log about configurations: the hashes of their texts and the names of sections that differ, never a value. */
import { changedSections, textsDigest } from '../config/changed-sections.ts'
import type { Config } from '../config/config.ts'
import type { Reload } from '../config/watch.ts'
import type { Origin } from '../core/audit-entries.ts'
import { badField } from '../core/faults.ts'
import { isObject, type Json, parseJson } from '../core/json.ts'
import type { AuditLogStore, UntimedEntry } from '../store/audit-log.ts'

/** Entries that are looked through for the configuration of the last start. */
const MAX_LOOKS = 50

const fileOrigin = (file: string): Origin => ({ actor: { kind: 'configuration', id: file, name: null }, address: null })

/**
 * The entry of a start.
 * @throws Fault `unavailable`; `bad_request` where the log is signed with a key and the configuration has none: what this process would
 * write, anybody with the database could have written.
 */
export async function loadedEntry({ file, texts, audit }: Config, log: Pick<AuditLogStore, 'page'>): Promise<UntimedEntry> {
  const [newest] = await log.page({ after: 0, newestFirst: true, limit: 1 })
  if (audit.key === undefined && newest && isSigned(parseJson(newest.entry)))
    throw badField('audit.key', 'expected a key: the audit log of this store is signed with one')
  const found = await log.page({ after: 0, newestFirst: true, limit: MAX_LOOKS, subject: file })
  const last = found.map(({ entry }) => digestIn(parseJson(entry))).find((digest) => digest !== undefined)
  const before = last === undefined ? null : { sha256: last }
  return { ...fileOrigin(file), action: 'configuration.loaded', subject: file, before, after: { sha256: textsDigest(texts) } }
}

const isSigned = (entry: Json | undefined): boolean => isObject(entry) && entry.key !== undefined

/** @returns the digest of a configuration that was in force. */
function digestIn(entry: Json | undefined): string | undefined {
  if (!isObject(entry) || entry.action === 'configuration.refused' || !isObject(entry.after)) return undefined
  const { sha256 } = entry.after
  return typeof sha256 === 'string' ? sha256 : undefined
}

/** @param old the configuration that was in force. */
export function reloadedEntry(reload: Reload, old: Config): UntimedEntry {
  const { file } = old
  const before = { sha256: textsDigest(old.texts) }
  if (reload.kind === 'applied') {
    const { texts, staleSecrets } = reload.config
    const after = { sha256: textsDigest(texts), sections: changedSections(texts, old.texts), stale_secrets: staleSecrets.length }
    return { ...fileOrigin(file), action: 'configuration.reloaded', subject: file, before, after }
  }
  const refusal = reload.kind === 'refused' ? { reason: 'restart', settings: [...reload.reasons] } : { reason: 'invalid', settings: [] }
  return { ...fileOrigin(file), action: 'configuration.refused', subject: file, before, after: refusal }
}
