/** GET /v1/generation: what became of one exchange. */
import { badField, Fault } from '../core/faults.ts'
import { isPermitted, type RequiredRoles, type RoleHolder } from '../core/roles.ts'
import { generationView } from '../ledger/generation.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import { type ApiReply, ok } from './reply.ts'

/** Roles that read the requests of others. */
export const REQUEST_READERS = ['viewer'] as const satisfies RequiredRoles

/**
 * Only the key that made a generation sees it, and those whose role reads the requests of others.
 * @throws Fault 400 without `id`; 404 where there is none that this key may see, the same for both reasons.
 */
export async function readGeneration(
  query: URLSearchParams,
  key: { readonly identity: string } & RoleHolder,
  ledger: Pick<LedgerReader, 'find'>,
): Promise<ApiReply> {
  const id = query.get('id')
  if (!id) throw badField('id', 'is required: the id of a generation, from X-Generation-Id')
  const record = await ledger.find(id)
  const isReader = isPermitted(key, REQUEST_READERS)
  if (!record || (record.hold.key !== key.identity && !isReader)) throw new Fault('not_found', { message: 'No such generation' })
  return ok({ data: generationView(record, { causes: isReader }) })
}
