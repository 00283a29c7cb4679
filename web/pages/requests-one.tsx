/** One request: what became of it, step by step, and what it cost, line by line. */
import type { ComponentChildren } from 'preact'
import { ApiError, call } from '../api.ts'
import type { GenerationReply } from '../api-types.ts'
import { CopyButton } from '../components/copy.tsx'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { Figure, Figures, PageHead, Section, Time } from '../components/values.tsx'
import { formatCount, formatMs, formatUsd } from '../format.ts'
import { useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { Entries } from './ledger-entries.tsx'
import { Charges, Line } from './requests-money.tsx'
import { Replay } from './requests-plan.tsx'
import { Refused } from './requests-refused.tsx'
import { RequestState } from './requests-search.tsx'
import { Timeline } from './requests-timeline.tsx'
import type { RequestDetail } from './requests-types.ts'

/** @param seesFindings what guardrails have found is for the operator. */
export function OneRequest({ id, seesFindings }: { id: string; seesFindings: boolean }) {
  const { data, error, reload } = useResource<GenerationReply>(
    (signal) => call(`/v1/generations/${encodeURIComponent(id)}`, { signal }),
    [id],
  )
  const request = data?.data
  return (
    <>
      <PageHead title="Request" actions={<a href={pathTo(['requests'])}>All requests</a>}>
        <code>{id}</code> <CopyButton text={id} what="the id" />
      </PageHead>
      {error &&
        (error instanceof ApiError && error.status === 404 ? (
          <Refused id={id} error={error} onRetry={reload} seesFindings={seesFindings} />
        ) : (
          <ErrorNote error={error} onRetry={reload} />
        ))}
      {!request && !error && <Loading />}
      {request && (
        <>
          <Summary request={request} />
          <div class="columns">
            <Section title="What happened">
              <Timeline request={request} />
            </Section>
            <div>
              <Section title="Money">
                <Charges request={request} />
              </Section>
              <Section title="Tokens">
                <Tokens request={request} />
              </Section>
            </div>
          </div>
          {request.status !== 'open' && <Entries generation={id} keyName={request.api_key_name ?? undefined} />}
          <Section title="What would happen today">
            <Replay id={id} />
          </Section>
          <Section title="Facts">
            <Facts request={request} />
          </Section>
        </>
      )}
    </>
  )
}

function Summary({ request }: { request: RequestDetail }) {
  const { status, error, usage, held, latency, generation_time: whole, tokens, model, provider_name: provider } = request
  return (
    <Figures label="The request in short">
      <Figure label="Status" value={<RequestState status={status} error={null} />} detail={error ?? undefined} />
      <Figure
        label="Model"
        value={<span class="figure-text">{model}</span>}
        detail={provider ? `from ${provider}` : 'no provider answered'}
      />
      <Figure label="Cost" value={formatUsd(usage)} detail={`${formatUsd(held)} held`} />
      <Figure label="First token" value={formatMs(latency)} detail={request.streamed ? 'as a stream' : 'at once'} />
      <Figure label="Whole reply" value={formatMs(whole)} detail={rate(tokens?.completion, latency, whole)} />
      <Figure label="Tokens" value={formatCount(tokens?.completion)} detail={`out, ${formatCount(tokens?.prompt)} in`} />
    </Figures>
  )
}

/** Tokens per second once the first one was there. */
function rate(tokens: number | undefined, first: number | null, whole: number | null): string | undefined {
  if (!tokens || first === null || whole === null || whole - first < 10) return undefined
  return `${formatCount(Math.round((tokens * 1000) / (whole - first)))} tokens/s`
}

function Tokens({ request: { tokens } }: { request: RequestDetail }) {
  if (!tokens) return <p class="quiet">Not known before the end of the request.</p>
  const lines: readonly (readonly [string, number])[] = [
    ['In', tokens.prompt],
    ['of these read from a cache', tokens.cached],
    ['of these written to a cache', tokens.cache_write],
    ['Out', tokens.completion],
    ['of these reasoning', tokens.reasoning],
  ]
  return (
    <table class="lines">
      <caption class="hidden">Tokens</caption>
      <tbody>
        {lines.map(([name, count]) => (
          <Line key={name} name={name}>
            {formatCount(count)}
          </Line>
        ))}
      </tbody>
    </table>
  )
}

/** Names of the row, and how the page calls them. What is null is left out. */
const FACTS: readonly (readonly [name: keyof RequestDetail, label: string])[] = [
  ['endpoint', 'Endpoint'],
  ['finish_reason', 'Why it ended'],
  ['native_finish_reason', 'In the provider’s words'],
  ['router', 'Slug as sent'],
  ['service_tier', 'Service tier'],
  ['api_type', 'API'],
  ['user_agent', 'Client'],
  ['app_title', 'App'],
  ['origin', 'Origin'],
  ['external_user', 'User'],
  ['preset_id', 'Preset'],
  ['data_region', 'Region'],
  ['credit_output_cap', 'Output cap set by the credit'],
  ['upstream_id', 'Id at the provider'],
  ['response_cache_source_id', 'Answered from the cache of'],
]

function Facts({ request }: { request: RequestDetail }) {
  const { api_key_hash: hash, api_key_name: name, session_id: conversation, trace_id: trace } = request
  const shown = FACTS.flatMap(([field, label]) => {
    const value = request[field]
    return value === null || value === undefined || value === '' || typeof value === 'object' ? [] : [[label, String(value)] as const]
  })
  return (
    <>
      <dl class="facts">
        <Fact label="Admitted">
          <Time iso={request.created_at} />
        </Fact>
        <Fact label="Key">
          <a href={pathTo(['requests'], { api_key_hash: hash })}>{name ?? hash.slice(0, 12)}</a>
        </Fact>
        <Fact label="Trace">
          {trace ? (
            <>
              <code>{trace}</code> <CopyButton text={trace} what="the trace id" />
            </>
          ) : (
            <span class="quiet">not traced</span>
          )}
        </Fact>
        {conversation && (
          <Fact label="Session">
            <a href={pathTo(['requests'], { session_id: conversation })}>{conversation}</a>
          </Fact>
        )}
        {shown.map(([label, value]) => (
          <Fact key={label} label={label}>
            {value}
          </Fact>
        ))}
      </dl>
      <details class="raw">
        <summary>The reply of the API</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (axe: scrollable-region-focusable) */}
        <pre tabIndex={0}>
          <code>{JSON.stringify(request, undefined, 2)}</code>
        </pre>
      </details>
    </>
  )
}

function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
