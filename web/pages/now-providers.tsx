/** The table of providers: their health, and the endpoints that get no requests at present. */
import { Table } from '../components/table.tsx'
import { Badge, Duration, type Tone } from '../components/values.tsx'
import { formatCount, formatMs, formatRate, formatShare } from '../format.ts'
import { pathTo } from '../router.ts'
import type { EndpointStatus, ProviderStatus } from './now-status.ts'

const HEALTH: Readonly<Record<ProviderStatus['health'], readonly [tone: Tone, text: string, rank: number]>> = {
  ejected: ['bad', 'Ejected', 0],
  degraded: ['warn', 'Degraded', 1],
  ok: ['good', 'Healthy', 2],
  unknown: ['neutral', 'Not used yet', 3],
}

export function Providers({ providers }: { providers: readonly ProviderStatus[] }) {
  return (
    <Table
      caption="Providers and their health"
      rows={providers}
      rowKey={({ slug }) => slug}
      sorting={{ column: 'requests', descending: true }}
      columns={[
        {
          name: 'name',
          title: 'Provider',
          cell: ({ slug, name }) => (
            <a class="provider-name" href={pathTo(['requests'], { provider: slug })}>
              {name}
            </a>
          ),
          sortBy: ({ name }) => name,
        },
        { name: 'health', title: 'Health', cell: (provider) => <Health provider={provider} />, sortBy: ({ health }) => HEALTH[health][2] },
        {
          name: 'requests',
          title: 'Requests/s',
          isNumber: true,
          cell: ({ requests_per_second: rate }) => formatRate(rate),
          sortBy: ({ requests_per_second: rate }) => rate,
        },
        {
          name: 'errors',
          title: 'Errors',
          isNumber: true,
          cell: ({ errors, count }) => (count === 0 ? '–' : `${formatCount(errors)} (${formatShare(errors / count)})`),
          sortBy: ({ errors }) => errors,
        },
        {
          name: 'first',
          title: 'First token',
          isNumber: true,
          cell: ({ time_to_first_token_ms: { p50 } }) => <Duration ms={p50} />,
          sortBy: ({ time_to_first_token_ms: { p50 } }) => p50,
        },
        {
          name: 'whole',
          title: 'Whole, 99 %',
          isNumber: true,
          cell: ({ latency_ms: { p99 } }) => <Duration ms={p99} />,
          sortBy: ({ latency_ms: { p99 } }) => p99,
        },
        { name: 'endpoints', title: 'Endpoints', cell: ({ endpoints }) => <Endpoints endpoints={endpoints} /> },
      ]}
    />
  )
}

function Health({ provider: { health } }: { provider: ProviderStatus }) {
  const [tone, text] = HEALTH[health]
  return <Badge tone={tone}>{text}</Badge>
}

/** Those that are left out, each with the time until it is used again; of the others the number. */
function Endpoints({ endpoints }: { endpoints: readonly EndpointStatus[] }) {
  const out = endpoints.filter(({ health }) => health !== 'ok')
  const rest = endpoints.length - out.length
  return (
    <ul class="endpoints">
      {out.map((endpoint) => (
        <li key={endpoint.id}>
          {endpoint.model}{' '}
          {endpoint.health === 'ejected' ? (
            <Badge tone="bad">ejected, {formatMs(endpoint.ejected_for_ms)} left</Badge>
          ) : (
            <Badge tone="warn">rate limited, {formatMs(endpoint.rests_for_ms)} left</Badge>
          )}
        </li>
      ))}
      {rest > 0 && <li>{out.length === 0 ? `${rest} in use` : `${rest} more in use`}</li>}
    </ul>
  )
}
