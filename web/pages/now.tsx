/** The page "Now": what the gateway does at this moment, read every two seconds. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { GenerationsReply, StatusReply } from '../api-types.ts'
import { Chart } from '../components/chart.tsx'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { Figure, Figures, PageHead, Section } from '../components/values.tsx'
import {
  formatBytes,
  formatClock,
  formatCount,
  formatMs,
  formatRate,
  formatSeconds,
  formatShare,
  formatShort,
  formatUsd,
} from '../format.ts'
import type { PageProps } from '../page.ts'
import { useResource } from '../resource.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { FirstSteps } from './now-first-steps.tsx'
import { Providers } from './now-providers.tsx'
import { SampleTraffic } from './now-sample.tsx'
import type { Percentiles, Status } from './now-status.ts'
import { LastRefused } from './requests-last-refused.tsx'

/** Milliseconds between two readings. */
const EVERY = 2000
/** Readings that the charts of latency keep. */
const MAX_POINTS = 150

/** Notice above the figures where it is not ready. */
const STATES: Meanings<Status['state'], string> = {
  ready: 'The gateway is ready',
  degraded: 'The gateway has problems',
  draining: 'The gateway is shutting down',
}

export default function NowPage({ session }: PageProps) {
  const status = useResource<StatusReply>((signal) => call('/v1/status', { signal }), [], { every: EVERY })
  const now = status.data?.data
  const seen = useReadings(now)
  const [hasTraffic, setHasTraffic] = useState(false)
  const allowsSample = session.actions.includes('sample')
  const isQuiet = now !== undefined && now.requests.count === 0 && !hasTraffic
  const first = useResource<GenerationsReply>((signal) => call('/v1/generations', { query: { limit: 1 }, signal }), [], {
    enabled: isQuiet,
  })
  if (!now) return status.error ? <ErrorNote error={status.error} onRetry={status.reload} /> : <Loading />
  const traffic = everySecond(now)
  return (
    <>
      <PageHead
        title="Now"
        actions={
          <>
            <span class={status.error ? 'live stale' : 'live'}>{status.error ? 'Not reachable' : `Live, ${formatClock(now.at)}`}</span>
            {allowsSample && <SampleTraffic onStart={() => setHasTraffic(true)} onProgress={status.reload} />}
          </>
        }
      >
        The last {now.window_seconds} seconds, and up for {formatSeconds(now.uptime_seconds)}.
      </PageHead>
      {status.error && <ErrorNote error={status.error} onRetry={status.reload} />}
      {now.state !== 'ready' && (
        <p class="note error" role="alert">
          <strong>{wordMeaning(STATES, now.state) ?? `The gateway is in the state ${plainWord(now.state)}`}</strong>
          {now.reasons.join(', ')}
        </p>
      )}
      {isQuiet && first.data?.data.length === 0 && <FirstSteps session={session} />}
      <Summary status={now} />
      <div class="columns">
        <div class="card">
          <Chart
            title="Requests per second"
            times={traffic.map(({ at }) => at)}
            series={[
              {
                label: 'Requests',
                values: traffic.map(({ requests }) => requests),
                colour: '--chart-1',
                format: formatRate,
                kind: 'area',
              },
              { label: 'Errors', values: traffic.map(({ errors }) => errors), colour: '--chart-2', format: formatRate },
            ]}
          />
        </div>
        <div class="card">
          <Chart
            title="Time of replies"
            times={seen.map(({ at }) => at)}
            series={[
              { label: 'First token, half', values: seen.map(({ first }) => first.p50), colour: '--chart-3', format: formatMs },
              { label: 'Whole, half', values: seen.map(({ whole }) => whole.p50), colour: '--chart-1', format: formatMs },
              { label: 'Whole, 99 %', values: seen.map(({ whole }) => whole.p99), colour: '--chart-4', format: formatMs },
            ]}
          />
        </div>
      </div>
      <Section title="Providers">
        <Providers providers={now.providers} />
      </Section>
      <LastRefused />
    </>
  )
}

function Summary({ status }: { status: Status }) {
  const { requests, latency_ms: whole, time_to_first_token_ms: first, spend, tokens, open } = status
  const isFailing = (requests.error_rate ?? 0) > 0.05
  return (
    <Figures label="The gateway now">
      <Figure
        label="Requests/s"
        value={formatRate(requests.per_second)}
        detail={`${formatCount(requests.count)} in ${status.window_seconds} s`}
      />
      <Figure
        label="Errors"
        value={formatShare(requests.error_rate ?? 0)}
        detail={`${formatCount(requests.errors)} failed`}
        {...(isFailing && { tone: 'bad' as const })}
      />
      <Figure label="First token" value={formatMs(first.p50)} detail={<Tail of={first} />} />
      <Figure label="Whole reply" value={formatMs(whole.p50)} detail={<Tail of={whole} />} />
      <Figure label="Spend per hour" value={formatUsd(spend.last_minute * 60)} detail={`${formatUsd(spend.this_hour)} this hour`} />
      <Figure
        label="Open streams"
        value={formatCount(open.streams)}
        detail={`${formatCount(open.requests)} open ${open.requests === 1 ? 'request' : 'requests'}`}
      />
      <Figure
        label="Tokens/s"
        value={formatShort(Math.round(tokens.completion_per_second))}
        detail={`out, ${formatShort(Math.round(tokens.prompt_per_second))} in`}
      />
      <Figure
        label="Memory"
        value={formatBytes(status.memory_bytes)}
        detail={status.workers > 1 ? `${status.workers_answering} of ${status.workers} workers` : 'one process'}
        {...(status.overload.saturated && { tone: 'warn' as const })}
      />
    </Figures>
  )
}

/** The last minute, with the seconds in which nothing came. */
function everySecond({ at, window_seconds: length, history }: Status): { at: number; requests: number; errors: number }[] {
  const known = new Map(history.map((each) => [Math.floor(Date.parse(each.at) / 1000), each]))
  // The current second is not over yet.
  const last = Math.floor(Date.parse(at) / 1000) - 1
  return Array.from({ length }, (_, index) => {
    const second = last - length + 1 + index
    const { requests = 0, errors = 0 } = known.get(second) ?? {}
    return { at: second, requests, errors }
  })
}

/** The slower requests. */
function Tail({ of: { p90, p99 } }: { of: Percentiles }) {
  return (
    <>
      <span class="number">90 % {formatMs(p90)}</span> <span class="number">99 % {formatMs(p99)}</span>
    </>
  )
}

interface Reading {
  /** Seconds since the epoch. */
  readonly at: number
  readonly first: Percentiles
  readonly whole: Percentiles
}

/** The percentiles of every reading since the page was opened: the API has those of now. */
function useReadings(status: Status | undefined): readonly Reading[] {
  const readings = useRef<Reading[]>([])
  const [, redraw] = useState(0)
  const at = status ? Date.parse(status.at) / 1000 : undefined
  useEffect(() => {
    const last = readings.current.at(-1)
    if (!status || at === undefined || (last && at <= last.at)) return
    readings.current = [...readings.current, { at, first: status.time_to_first_token_ms, whole: status.latency_ms }].slice(-MAX_POINTS)
    redraw(at)
  }, [at])
  return readings.current
}
