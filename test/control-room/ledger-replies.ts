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
