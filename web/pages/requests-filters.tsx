/** Fields of the search for requests. */
import { call } from '../api.ts'
import type { ModelsReply, ProvidersReply } from '../api-types.ts'
import { Choice, Field } from '../components/field.tsx'
import { KeyChoice } from '../components/key-choice.tsx'
import { SPANS } from '../range.ts'
import { useResource } from '../resource.ts'

type Query = Readonly<Record<string, string>>

/** Filters that stand in the second row: where one is set, the row is open. */
const MORE = ['since', 'until', 'session_id', 'error', 'min_cost', 'max_cost', 'streamed', 'endpoint']
const ALL = ['model', 'provider', 'api_key_hash', 'status', 'span', ...MORE]

const named = (values: readonly string[]): (readonly [string, string])[] =>
  values.map((value) => [value, (value[0]?.toUpperCase() ?? '') + value.slice(1)])

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'Any'],
  ['failed,aborted,unknown', 'Not answered'],
  ...named(['completed', 'incomplete', 'failed', 'aborted', 'unknown', 'open']),
]

/** An address may name others than the field offers. */
function statusesWith(status = ''): typeof STATUSES {
  return STATUSES.some(([value]) => value === status) ? STATUSES : [...STATUSES, [status, status.replaceAll(',', ', ')]]
}

export interface FiltersProps {
  readonly query: Query
  readonly setQuery: (changes: Readonly<Record<string, string | undefined>>) => void
  readonly error: Error | undefined
}

export function Filters({ query, setQuery, error }: FiltersProps) {
  const { models, providers } = useNames()
  const set = setter(setQuery)
  const text = textField(query, set, error)
  const isSet = ALL.some((name) => query[name])
  return (
    <div class="form request-filters">
      <div class="filters">
        {text('model', 'Model', { list: models, placeholder: 'Any' })}
        {text('provider', 'Provider', { list: providers, placeholder: 'Any' })}
        <KeyChoice
          name="api_key_hash"
          label="Key"
          value={query.api_key_hash ?? ''}
          placeholder="Any"
          error={error}
          onChange={set('api_key_hash')}
        />
        <Choice
          name="status"
          label="Status"
          value={query.status ?? ''}
          error={error}
          options={statusesWith(query.status)}
          onChange={set('status')}
        />
        <Choice
          name="span"
          label="Time"
          value={query.span ?? ''}
          options={[
            ['', query.since || query.until ? 'As set below' : 'All'],
            ...Object.entries(SPANS).map(([word, { label }]) => [word, label] as const),
          ]}
          onChange={(span) => setQuery({ span, since: undefined, until: undefined })}
        />
      </div>
      <More query={query} setQuery={setQuery} error={error} />
      {isSet && (
        <p class="actions">
          <button type="button" class="button small" onClick={() => setQuery(Object.fromEntries(ALL.map((name) => [name, undefined])))}>
            Take all filters away
          </button>
        </p>
      )}
    </div>
  )
}

type Setter = (name: string) => (value: string) => void

const setter =
  (setQuery: FiltersProps['setQuery']): Setter =>
  (name) =>
  (value) =>
    setQuery({ [name]: value.trim() })

const textField =
  (query: Query, set: Setter, error: Error | undefined) =>
  (name: string, label: string, more: object = {}) => (
    <Field name={name} label={label} type="search" value={query[name] ?? ''} onChange={set(name)} error={error} {...more} />
  )

function More({ query, setQuery, error }: FiltersProps) {
  const set = setter(setQuery)
  const text = textField(query, set, error)
  return (
    <details open={MORE.some((name) => query[name])}>
      <summary>More filters</summary>
      <div class="filters">
        <Moment name="since" label="From" query={query} setQuery={setQuery} error={error} />
        <Moment name="until" label="To" query={query} setQuery={setQuery} error={error} />
        {text('session_id', 'Session')}
        {text('error', 'Error code', { placeholder: 'Such as upstream_limited' })}
        {text('min_cost', 'Least cost, USD', { type: 'number', min: '0', step: 'any' })}
        {text('max_cost', 'Highest cost, USD', { type: 'number', min: '0', step: 'any' })}
        <Choice
          name="streamed"
          label="Reply"
          value={query.streamed ?? ''}
          error={error}
          options={[
            ['', 'Any'],
            ['true', 'As a stream'],
            ['false', 'At once'],
          ]}
          onChange={set('streamed')}
        />
        {text('endpoint', 'Endpoint', { placeholder: 'Its id' })}
      </div>
    </details>
  )
}

function Moment({ name, label, query, setQuery, error }: FiltersProps & { name: 'since' | 'until'; label: string }) {
  return (
    <Field
      name={name}
      label={label}
      type="datetime-local"
      value={query[name] ?? ''}
      error={error}
      onChange={(value) => setQuery({ [name]: value, span: undefined })}
    />
  )
}

/** Suggestions for the fields. Without it they are filled in by hand. */
function useNames(): { models: readonly string[]; providers: readonly string[] } {
  const names = useResource(async (signal) => {
    const [models, providers] = await Promise.all([
      call<ModelsReply>('/v1/models', { signal }),
      call<ProvidersReply>('/v1/providers', { signal }),
    ])
    return {
      models: models.data.map(({ id }) => id),
      providers: providers.data.map(({ name }) => name),
    }
  }, [])
  return names.data ?? { models: [], providers: [] }
}
