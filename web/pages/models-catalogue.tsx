/** The catalogue: every model with its price and what was measured of its best endpoint; up to four are chosen to be compared. */
import { call } from '../api.ts'
import type { Model, ModelsReply, StatusReply } from '../api-types.ts'
import { Choice, Field } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { type Column, Table } from '../components/table.tsx'
import { toast } from '../components/toast.tsx'
import { Section } from '../components/values.tsx'
import { formatCount, formatMs, formatShort } from '../format.ts'
import { useResource } from '../resource.ts'
import { useRight } from '../rights.ts'
import { pathTo, useQuery } from '../router.ts'
import { percentText, perMillion, priceText, slugParts } from './models-prices.ts'
import { TryLink } from './models-try.tsx'

export const MAX_COMPARED = 4
/** Rows at once: a catalogue may have thousands. */
const MAX_ROWS = 150

type Seen = StatusReply['data']['providers'][number]['endpoints'][number]

/** The best of a model's endpoints. */
interface Best {
  readonly endpoints: number
  readonly uptime: number | null
  readonly latency: number | null
  readonly throughput: number | null
}

type Row = Model & { readonly best: Best | undefined }

export const readModels = (signal: AbortSignal): Promise<ModelsReply> => call('/v1/models', { query: { output_modalities: 'all' }, signal })

export function Catalogue() {
  const [query, setQuery] = useQuery()
  const models = useResource(readModels, [])
  const status = useResource<StatusReply>((signal) => call('/v1/status', { signal }), [], { enabled: useRight('GET /v1/status') })
  const best = bestByModel(status.data?.data.providers.flatMap(({ endpoints }) => endpoints) ?? [])
  const rows = models.data?.data.filter(matches(query)).map((model): Row => ({ ...model, best: best.get(model.id) }))
  const compared = (query.compare ?? '').split(',').filter(Boolean)
  const toggle = (id: string): void => {
    const next = compared.includes(id) ? compared.filter((each) => each !== id) : [...compared, id]
    if (next.length > MAX_COMPARED) toast(`At most ${MAX_COMPARED} models are compared`)
    else setQuery({ compare: next.join(',') })
  }
  const [column = 'name', order = 'up'] = (query.sort ?? '').split('.')
  const sorting = { column: column || 'name', descending: order === 'down' }
  const shown = rows && (query.all ? rows : sortedFirst(rows, catalogueColumns(compared, toggle), sorting).slice(0, MAX_ROWS))
  return (
    <Section
      title={rows ? `${formatCount(rows.length)} ${rows.length === 1 ? 'model' : 'models'}` : 'Catalogue'}
      actions={compared.length > 0 && <Chosen slugs={compared} onClear={() => setQuery({ compare: undefined })} />}
    >
      <ModelFilters query={query} setQuery={setQuery} />
      <Table
        caption="Models"
        rows={shown}
        rowKey={({ id }) => id}
        columns={catalogueColumns(compared, toggle)}
        error={models.error}
        onRetry={models.reload}
        sorting={sorting}
        onSort={({ column: name, descending }) => setQuery({ sort: `${name}.${name !== sorting.column || descending ? 'down' : 'up'}` })}
        empty={<EmptyNote title="No model is like that" />}
      />
      {rows && shown && shown.length < rows.length && (
        <p class="search-end">
          <span class="quiet">
            The first {formatCount(shown.length)} of {formatCount(rows.length)}
          </span>
          <button type="button" class="button small" onClick={() => setQuery({ all: '1' })}>
            Show all
          </button>
        </p>
      )}
    </Section>
  )
}

function Chosen({ slugs, onClear }: { slugs: readonly string[]; onClear: () => void }) {
  return (
    <>
      <a class="button small primary" href={pathTo(['models', 'compare'], { models: slugs.join(',') })}>
        Compare {slugs.length}
      </a>
      <button type="button" class="button small" onClick={onClear}>
        Clear
      </button>
    </>
  )
}

interface ModelFiltersProps {
  readonly query: Readonly<Record<string, string>>
  readonly setQuery: (changes: Readonly<Record<string, string | undefined>>) => void
}

function ModelFilters({ query, setQuery }: ModelFiltersProps) {
  return (
    <div class="filters model-filters">
      <Field name="q" type="search" label="Search" placeholder="Name or slug" value={query.q ?? ''} onInput={(q) => setQuery({ q })} />
      <Choice name="takes" label="Takes" value={query.takes ?? ''} options={MODALITIES} onChange={(takes) => setQuery({ takes })} />
      <Choice name="can" label="Can do" value={query.can ?? ''} options={ABILITIES} onChange={(can) => setQuery({ can })} />
    </div>
  )
}

const MODALITIES: readonly (readonly [string, string])[] = [
  ['', 'Anything'],
  ['image', 'Images'],
  ['file', 'Files'],
  ['audio', 'Sound'],
  ['video', 'Video'],
]
const ABILITIES: readonly (readonly [string, string])[] = [
  ['', 'Anything'],
  ['tools', 'Tools'],
  ['reasoning', 'Reasoning'],
  ['structured_outputs', 'Structured outputs'],
  ['image', 'Make images'],
]

function matches({ q = '', takes, can }: Readonly<Record<string, string>>): (model: Model) => boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return ({ id, name, architecture, supported_parameters: parameters }) => {
    const text = `${id} ${name}`.toLowerCase()
    if (!words.every((word) => text.includes(word))) return false
    if (takes && !architecture.input_modalities.includes(takes)) return false
    return !can || (can === 'image' ? architecture.output_modalities.includes('image') : parameters.includes(can))
  }
}

const FIGURES: readonly Column<Row>[] = [
  {
    name: 'name',
    title: 'Model',
    cell: ({ id, name }) => (
      <>
        <a class="model-name" href={pathTo(['models', ...slugParts(id)])}>
          {name}
        </a>
        <span class="under">{id}</span>
      </>
    ),
    sortBy: ({ name }) => name.toLowerCase(),
  },
  {
    name: 'prompt',
    title: 'In, per 1M',
    isNumber: true,
    cell: ({ pricing }) => priceText(pricing.prompt),
    sortBy: ({ pricing }) => perMillion(pricing.prompt),
  },
  {
    name: 'completion',
    title: 'Out, per 1M',
    isNumber: true,
    cell: ({ pricing }) => priceText(pricing.completion),
    sortBy: ({ pricing }) => perMillion(pricing.completion),
  },
  {
    name: 'context',
    title: 'Context',
    isNumber: true,
    cell: ({ context_length: length }) => formatShort(length),
    sortBy: ({ context_length: length }) => length,
  },
  {
    name: 'first',
    title: 'First token',
    isNumber: true,
    cell: ({ best }) => formatMs(best?.latency),
    sortBy: ({ best }) => best?.latency,
  },
  {
    name: 'speed',
    title: 'Tokens/s',
    isNumber: true,
    cell: ({ best }) => (best?.throughput == null ? '–' : formatCount(Math.round(best.throughput))),
    sortBy: ({ best }) => best?.throughput,
  },
  {
    name: 'uptime',
    title: 'Uptime, 30 min',
    isNumber: true,
    cell: ({ best }) => percentText(best?.uptime),
    sortBy: ({ best }) => best?.uptime,
  },
]

function catalogueColumns(compared: readonly string[], toggle: (id: string) => void): Column<Row>[] {
  return [
    ...FIGURES,
    {
      name: 'do',
      title: 'Try, compare',
      cell: (model) => (
        <span class="row-actions">
          <TryLink model={model} />
          <input
            type="checkbox"
            aria-label={`Compare ${model.name}`}
            checked={compared.includes(model.id)}
            onChange={() => toggle(model.id)}
          />
        </span>
      ),
    },
  ]
}

/** Rows that come first in this order, so that a cut list begins with the right rows. */
function sortedFirst(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { column, descending }: { column: string; descending: boolean },
) {
  const sortBy = columns.find(({ name }) => name === column)?.sortBy
  if (!sortBy) return rows
  return rows.toSorted((a, b) => {
    const [left, right] = [sortBy(a), sortBy(b)]
    if (left == null || right == null) return left == null ? (right == null ? 0 : 1) : -1
    return (descending ? -1 : 1) * (typeof left === 'string' ? left.localeCompare(String(right)) : left - Number(right))
  })
}

function bestByModel(endpoints: readonly Seen[]): Map<string, Best> {
  const best = new Map<string, Best>()
  for (const { model, uptime_last_30m: uptime, latency_ms: latency, throughput } of endpoints) {
    const last = best.get(model) ?? { endpoints: 0, uptime: null, latency: null, throughput: null }
    best.set(model, {
      endpoints: last.endpoints + 1,
      uptime: chosen(Math.max, last.uptime, uptime),
      latency: chosen(Math.min, last.latency, latency?.p50),
      throughput: chosen(Math.max, last.throughput, throughput?.p50),
    })
  }
  return best
}

function chosen(of: (...values: number[]) => number, ...values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => value != null)
  return known.length === 0 ? null : of(...known)
}
