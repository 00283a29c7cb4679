/** The table of providers: their health, and the endpoints that get no requests at present. */
import { Table } from '../components/table.tsx'
import { Badge, Duration, type Tone } from '../components/values.tsx'
import { formatCount, formatMs, formatRate, formatShare } from '../format.ts'
import { pathTo } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import type { EndpointStatus, ProviderStatus } from './now-status.ts'

type State = ProviderStatus['health'] | 'failing' | 'unused'

const STATES: Meanings<State, readonly [tone: Tone, text: string]> = {
  ejected: ['bad', 'Ejected'],
  failing: ['bad', 'Failing'],
  resting: ['warn', 'Rate limited'],
  degraded: ['warn', 'Degraded'],
  ok: ['good', 'Healthy'],
  unused: ['neutral', 'Not used yet'],
}
/** The worst first. */
const RANK = Object.keys(STATES)

function providerState({ health, used, endpoints, count, errors }: ProviderStatus): State {
  if (used === false) return 'unused'
  if (endpoints.length === 0) return errors === 0 ? 'ok' : errors === count ? 'failing' : 'degraded'
  if (health === 'ejected' || health === 'resting' || wordMeaning(STATES, health) === undefined) return health
  if (endpoints.every(isFailing)) return 'failing'
  return endpoints.some((endpoint) => stateText(endpoint) !== undefined) ? 'degraded' : 'ok'
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
        {
          name: 'health',
          title: 'Health',
          cell: (provider) => <Health {...provider} />,
          // What is not known comes first.
          sortBy: (provider) => RANK.indexOf(providerState(provider)),
        },
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
          cell: ({ endpoints }) => (endpoints.length === 0 ? '–' : `${endpoints.filter(isUsed).length} of ${endpoints.length}`),
          sortBy: ({ endpoints }) => endpoints.filter(isUsed).length,
        },
      ]}
    />
  )
}

/** Remark on an endpoint; undefined where nothing is against it. */
const TEXTS: Meanings<EndpointStatus['health'], ((endpoint: EndpointStatus) => string) | null> = {
  ejected: ({ ejected_for_ms: left }) => `ejected, ${formatMs(left)} left`,
  resting: ({ rests_for_ms: left }) => `rate limited, ${formatMs(left)} left`,
  outage: () => 'failed just now',
  poor: () => 'fails often',
  degraded: () => 'fails now and then',
  ok: null,
}

/** Percent of 30 minutes below which an endpoint fails often, as `poor` has it of many requests. */
const POOR = 80

/** An endpoint of which nothing bad is recent is still shown where it has served few of its requests. */
function stateText(endpoint: EndpointStatus): string | undefined {
  const { health, uptime_last_30m: uptime } = endpoint
  const text = health === 'ok' && uptime !== null && uptime < POOR ? TEXTS.poor : wordMeaning(TEXTS, health)
  return text === undefined ? plainWord(health) : text?.(endpoint)
}

/** True where its last request failed, and it has served none of late. */
const isFailing = ({ health, uptime_last_30m: uptime, problem }: EndpointStatus): boolean =>
  health === 'outage' || health === 'ejected' || (Boolean(problem) && uptime === 0)

/** True where requests are sent to it in its turn. */
const isUsed = ({ health }: EndpointStatus): boolean => health === 'ok' || health === 'degraded' || health === 'poor'

/** With the endpoints that have something against them, each with the time until it is used again, or what happened there. */
function Health(provider: ProviderStatus) {
  const state = providerState(provider)
  const [tone, text] = wordMeaning(STATES, state) ?? ['warn', plainWord(state)]
  const shown = provider.endpoints.flatMap((endpoint) => {
    const shownText = stateText(endpoint)
    return shownText === undefined ? [] : [{ ...endpoint, shownText }]
  })
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {shown.length > 0 && (
        <ul class="endpoints">
          {shown.map(({ id, model, shownText, health: each, problem, cause }) => (
            <li key={id}>
              {model} <span class="number">{shownText}</span>
              {problem && each !== 'resting' && (
                <span class="quiet">
                  {' '}
                  {problem}
                  {cause && ` (${cause.replaceAll('_', ' ')})`}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
