/** Balances as the sums of their shards (`functions.ts`). */

const WINDOWS = [
  ['day', 'daily'],
  ['week', 'weekly'],
  ['month', 'monthly'],
] as const

/** A window of the view is the latest one of the shards; a shard that is still in an earlier one has spent nothing in it. */
export const BALANCE_VIEW = `
CREATE VIEW balance AS SELECT key, sum(spent) AS spent, sum(leased) AS leased, sum(issued) AS issued,
  ${WINDOWS.map(([start, sum]) => `max(${start}) AS ${start}, coalesce(sum(${sum}) FILTER (WHERE ${start} = latest_${start}), 0) AS ${sum}`).join(',\n  ')}
  FROM (SELECT *, ${WINDOWS.map(([start]) => `max(${start}) OVER (PARTITION BY key) AS latest_${start}`).join(', ')} FROM balance_shard) AS shards
  GROUP BY key`
