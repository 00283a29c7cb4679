/** Log text of a provider's refusal for missing rights. */
import type { Fault } from '../../core/faults.ts'
import type { Provider } from '../../routing/catalog/types.ts'

/** Characters of a sentence that the log has. */
const MAX_DENIAL_LENGTH = 500
/** Long, with letters of both cases and digits, or hexadecimal: names of actions, roles and models are not. */
const LIKE_KEY = /(?=[\w\-+=.]*[A-Z])(?=[\w\-+=.]*[a-z])(?=[\w\-+=.]*\d)[\w\-+=.]{30,}|[0-9a-f]{32,}/g

/**
 * Returns the sentence of a provider about missing rights, for the log alone: the operator needs it, and it may name accounts. Only of a
 * 403 that comes before the request is read, since other refusals may quote a prompt. Words that could be a key or a token are left out.
 */
export function denialIn({ code, sentence }: Fault, status: number | null, { key }: Provider): string | undefined {
  if (code !== 'upstream_rights' || status !== 403 || sentence === undefined || (key !== undefined && sentence.includes(key)))
    return undefined
  const shown = sentence.slice(0, MAX_DENIAL_LENGTH).replaceAll(LIKE_KEY, '…')
  return shown.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
}
