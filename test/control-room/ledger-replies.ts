/** Replies of GET /ledger/exports, with names that try to be markup. */
import { HOSTILE } from './now-status.ts'

export const EXPORTS = {
  exports: ['lake', HOSTILE],
  run: {
    export: HOSTILE,
    since: '2026-10-01T00:00:00.000Z',
    until: '2026-11-01T00:00:00.000Z',
    rows: 120_000,
    batches: 12,
    state: 'failed',
    problem: `the service replied with 503 ${HOSTILE}`,
  },
}

export const RUNNING = { ...EXPORTS, run: { ...EXPORTS.run, export: 'lake', rows: 20_000, batches: 2, state: 'running', problem: null } }

export const DONE = { ...RUNNING, run: { ...RUNNING.run, rows: 41_200, batches: 5, state: 'done' } }

/** A check of all rows that runs, and the verdict of one. */
export const CHECKING = { running: { full: true, checked_at: '2026-11-26T10:00:00.000Z', generations: 3_200_000, of: 10_000_000 } }
export const WHOLE = { ok: true, generations: 10_000_000, open: 0, charged: 5, providers: 5, fees: 0, carried: 0, problems: [] }
