/** One model: where it is served, at what price, how fast and how reliably of late. */
import { call } from '../api.ts'
import type { Endpoint, EndpointsReply } from '../api-types.ts'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Badge, Section } from '../components/values.tsx'
import { formatCount, formatMs, formatShort } from '../format.ts'
import { useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { percentText, perMillion, priceText, slugParts } from './models-prices.ts'
import { TryLink } from './models-try.tsx'

export const readEndpoints = (slug: string, signal: AbortSignal): Promise<EndpointsReply> =>
  call(`/v1/models/${slugParts(slug).map(encodeURIComponent).join('/')}/endpoints`, { signal })

export function OneModel({ slug }: { slug: string }) {
  const { data, error, reload } = useResource((signal) => readEndpoints(slug, signal), [slug])
  const model = data?.data
  if (!model) return error ? <ErrorNote error={error} onRetry={reload} /> : <Loading />
  return (
    <Section
      title={model.name}
      actions={
        <>
          <a class="button small" href={pathTo(['requests'], { model: model.id })}>
            Its requests
          </a>
          <TryLink model={model} isPrimary />
        </>
      }
    >
      <p>
        <code>{model.id}</code>
      </p>
      {model.description && <p class="quiet">{model.description}</p>}
      <h3 class="gap">Endpoints</h3>
      <Endpoints endpoints={model.endpoints} />
      <h3 class="gap">Parameters it takes</h3>
      <ul class="words">
        {[...new Set(model.endpoints.flatMap((endpoint) => endpoint.supported_parameters))].map((name) => (
          <li key={name}>
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    name: 'provider',
    title: 'Provider',
    cell: ({ provider_name: provider, tag, status }) => (
      <>
        {provider} {status < 0 && <Badge tone="warn">Has problems</Badge>}
        <span class="under">{tag}</span>
      </>
    ),
    sortBy: ({ provider_name: provider }) => provider,
  },
  {
    name: 'in',
    title: 'In, per 1M',
    isNumber: true,
    cell: ({ pricing }) => priceText(pricing.prompt),
    sortBy: ({ pricing }) => perMillion(pricing.prompt),
  },
  {
    name: 'cached',
    title: 'Cached in',
    isNumber: true,
    cell: ({ pricing }) => (pricing.input_cache_read === undefined ? '–' : priceText(pricing.input_cache_read)),
    sortBy: ({ pricing }) => perMillion(pricing.input_cache_read),
  },
  {
    name: 'out',
    title: 'Out, per 1M',
    isNumber: true,
    cell: ({ pricing }) => priceText(pricing.completion),
    sortBy: ({ pricing }) => perMillion(pricing.completion),
  },
  {
    name: 'context',
    title: 'Context',
    isNumber: true,
    cell: ({ context_length: length }) => (length === 0 ? '–' : formatShort(length)),
    sortBy: ({ context_length: length }) => length,
  },
  {
    name: 'most',
    title: 'Most out',
    isNumber: true,
    cell: ({ max_completion_tokens: most }) => formatShort(most),
    sortBy: ({ max_completion_tokens: most }) => most,
  },
  {
    name: 'first',
    title: 'First token, half',
    isNumber: true,
    cell: ({ latency_last_30m: latency }) => formatMs(latency?.p50),
    sortBy: ({ latency_last_30m: latency }) => latency?.p50,
  },
  {
    name: 'slow',
    title: '99 %',
    isNumber: true,
    cell: ({ latency_last_30m: latency }) => formatMs(latency?.p99),
    sortBy: ({ latency_last_30m: latency }) => latency?.p99,
  },
  {
    name: 'speed',
    title: 'Tokens/s',
    isNumber: true,
    cell: ({ throughput_last_30m: speed }) => (speed?.p50 == null ? '–' : formatCount(Math.round(speed.p50))),
    sortBy: ({ throughput_last_30m: speed }) => speed?.p50,
  },
  {
    name: 'uptime',
    title: 'Uptime 5 min',
    isNumber: true,
    cell: ({ uptime_last_5m: uptime }) => percentText(uptime),
    sortBy: ({ uptime_last_5m: uptime }) => uptime,
  },
  {
    name: 'uptime30',
    title: '30 min',
    isNumber: true,
    cell: ({ uptime_last_30m: uptime }) => percentText(uptime),
    sortBy: ({ uptime_last_30m: uptime }) => uptime,
  },
  {
    name: 'uptimeday',
    title: '1 day',
    isNumber: true,
    cell: ({ uptime_last_1d: uptime }) => percentText(uptime),
    sortBy: ({ uptime_last_1d: uptime }) => uptime,
  },
]

function Endpoints({ endpoints }: { endpoints: readonly Endpoint[] }) {
  return (
    <Table caption="Endpoints" rows={endpoints} rowKey={({ tag, provider_name: provider }) => `${tag} ${provider}`} columns={COLUMNS} />
  )
}
