/** An origin of changes in tests that call operations and stores themselves. */
import type { Origin } from '../../src/core/audit-entries.ts'

export const ORIGIN: Origin = { actor: { kind: 'visitor', id: null, name: null }, address: '192.0.2.1' }
