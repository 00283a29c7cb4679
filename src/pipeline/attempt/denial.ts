/** What the log has of a provider's words about missing rights. */
import type { Fault } from '../../core/faults.ts'
import type { Provider } from '../../routing/catalog/types.ts'

/** Characters of a sentence that the log has. */
const LONGEST_DENIAL = 500
/** Long, with letters of both cases and digits, or hexadecimal: names of actions, roles and models are not. */
const LIKE_KEY = /(?=[\w\-+=.]*[A-Z])(?=[\w\-+=.]*[a-z])(?=[\w\-+=.]*\d)[\w\-+=.]{30,}|[0-9a-f]{32,}/g

/**
 * What a provider says about rights that are missing: the operator needs it, and it may name accounts, so it is for the log alone. Only of
 * a 403 that comes before the request is read: other refusals may quote a prompt. What could be a key or a token is left out.
 */
export function denialIn({ code, sentence }: Fault, status: number | null, { key }: Provider): string | undefined {
  if (code !== 'upstream_rights' || status !== 403 || sentence === undefined || (key !== undefined && sentence.includes(key)))
    return undefined
  const shown = sentence.slice(0, LONGEST_DENIAL).replaceAll(LIKE_KEY, '…')
  return shown.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
}
