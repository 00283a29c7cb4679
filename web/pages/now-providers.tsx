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
          cell: ({ name }) => (
            <a class="provider-name" href={pathTo(['requests'], { provider: name })}>
              {name}
            </a>
          ),
          sortBy: ({ name }) => name,
        },
        { name: 'health', title: 'Health', cell: (provider) => <Health {...provider} />, sortBy: ({ health }) => HEALTH[health][2] },
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
        {
          name: 'endpoints',
          title: 'Endpoints in use',
          isNumber: true,
          cell: ({ endpoints }) => `${endpoints.filter(isUsed).length} of ${endpoints.length}`,
          sortBy: ({ endpoints }) => endpoints.filter(isUsed).length,
        },
      ]}
    />
  )
}

const isUsed = ({ health }: EndpointStatus): boolean => health === 'ok'

/** With the endpoints that get no requests at present, each with the time until it is used again. */
function Health({ health, endpoints }: ProviderStatus) {
  const [tone, text] = HEALTH[health]
  const out = endpoints.filter((endpoint) => !isUsed(endpoint))
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {out.length > 0 && (
        <ul class="endpoints">
          {out.map((endpoint) => (
            <li key={endpoint.id}>
              {endpoint.model}{' '}
              {endpoint.health === 'ejected' ? (
                <span class="number">ejected, {formatMs(endpoint.ejected_for_ms)} left</span>
              ) : (
                <span class="number">rate limited, {formatMs(endpoint.rests_for_ms)} left</span>
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
