/** Additions of a provider of this wire to a prompt; of callers' tools none but its search reaches it. */
import { CACHED_CONTENT, type OutsideTable } from '../canon/outside-input.ts'

export const outsideInput: OutsideTable = { from: 'all', tools: [], fields: CACHED_CONTENT, harmless: new Set() }
