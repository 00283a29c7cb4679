/** The load generator, a process of its own: takes jobs from its parent one by one and answers with what it saw. */

import autocannon from 'autocannon'
import { entryAt } from '../src/core/entry-at.ts'
import { leaveWithParent } from './child.ts'
import type { LoadJob, LoadResult, LoadSummary } from './load-jobs.ts'
import { PLAIN_TEXT } from './replies.ts'
import { runStreams } from './stream-client.ts'

async function runPlain(job: LoadJob): Promise<LoadResult> {
  const latencies: number[] = []
  const instance = autocannon({
    url: `http://127.0.0.1:${job.port}${job.request.path}`,
    method: 'POST',
    headers: job.headers,
    body: job.request.body,
    connections: job.connections,
    duration: job.seconds,
    verifyBody: (body) => body.includes(PLAIN_TEXT) && body.includes('"usage":{'),
  })
  let refused = ''
  instance.on('response', (_client: unknown, status: number, _bytes: number, milliseconds: number) => {
    latencies.push(milliseconds)
    if (status !== 200) refused = `status ${status}`
  })
  const result = await instance
  const bad = result.errors + result.timeouts + result.mismatches + result.non2xx
  if (bad > 0 || refused !== '' || latencies.length === 0) {
    throw new Error(
      `${latencies.length} replies, ${result.errors} errors, ${result.non2xx} not 2xx, ${result.mismatches} with a wrong body ${refused}`,
    )
  }
  return { completed: latencies.length, seconds: result.duration, latencies, firsts: [] }
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted.length === 0 ? 0 : entryAt(sorted, Math.min(sorted.length - 1, Math.floor(sorted.length * share)))
}

function summary(result: LoadResult): LoadSummary {
  const latencies = result.latencies.sort((a, b) => a - b)
  const firsts = result.firsts.sort((a, b) => a - b)
  return {
    completed: result.completed,
    seconds: result.seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    first: percentile(firsts, 0.5),
  }
}

leaveWithParent()
process.on('message', (job: LoadJob) => {
  const run = job.request.reply === 'chat' ? runPlain(job) : runStreams(job)
  run.then(
    (result) => process.send?.({ summary: summary(result) }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  )
})
process.send?.({ port: 0 })
