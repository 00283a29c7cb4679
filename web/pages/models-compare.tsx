/** Up to four models side by side; the address names them. */
import type { ComponentChildren } from 'preact'
import type { Endpoint, Model } from '../api-types.ts'
import { Choice } from '../components/field.tsx'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { Section } from '../components/values.tsx'
import { formatCount, formatMs, formatShort } from '../format.ts'
import { useResource } from '../resource.ts'
import { pathTo, useQuery } from '../router.ts'
import { MAX_COMPARED, readModels } from './models-catalogue.tsx'
import { readEndpoints } from './models-one.tsx'
import { percentText, perMillion, priceText, slugParts } from './models-prices.ts'
import { TryLink } from './models-try.tsx'

interface Compared {
  readonly model: Model
  readonly endpoints: readonly Endpoint[]
}

export function Compare() {
  const [query, setQuery] = useQuery()
  const slugs = (query.models ?? '').split(',').filter(Boolean).slice(0, MAX_COMPARED)
  const all = useResource(readModels, [])
  const known = all.data?.data ?? []
  const chosen = slugs.flatMap((slug) => known.find(({ id }) => id === slug) ?? [])
  const names = chosen.map(({ id }) => id).join(',')
  const found = useResource((signal) => Promise.all(chosen.map(async ({ id }) => (await readEndpoints(id, signal)).data)), [names], {
    enabled: names !== '',
  })
  if (!all.data) return all.error ? <ErrorNote error={all.error} onRetry={all.reload} /> : <Loading />
  const set = (next: readonly string[]): void => setQuery({ models: next.join(',') })
  const models = chosen.map(
    (model): Compared => ({
      model,
      endpoints: found.data?.find(({ id }) => id === model.id)?.endpoints ?? [],
    }),
  )
  return (
    <Section title="Side by side">
      {slugs.length < MAX_COMPARED && (
        <div class="filters model-filters">
          <Choice
            name="add"
            label="Add a model"
            value=""
            options={[['', 'Choose'], ...known.filter(({ id }) => !slugs.includes(id)).map(({ id, name }) => [id, name] as const)]}
            onChange={(id) => id && set([...slugs, id])}
          />
        </div>
      )}
      {found.error && <ErrorNote error={found.error} onRetry={found.reload} />}
      {models.length === 0 ? (
        <EmptyNote title="No models chosen">Choose up to {MAX_COMPARED} of them above or in the catalogue.</EmptyNote>
      ) : (
        <Sheet models={models} onRemove={(id) => set(slugs.filter((slug) => slug !== id))} />
      )}
    </Section>
  )
}

interface Aspect {
  readonly title: string
  readonly cell: (compared: Compared) => ComponentChildren
  /** Of this figure the best is marked. */
  readonly figure?: (compared: Compared) => number | null | undefined
  readonly isHigherBetter?: boolean
}

const least = (endpoints: readonly Endpoint[], of: (endpoint: Endpoint) => number | null | undefined): number | undefined => {
  const values = endpoints.map(of).filter((value) => value != null)
  return values.length === 0 ? undefined : Math.min(...values)
}
const most = (endpoints: readonly Endpoint[], of: (endpoint: Endpoint) => number | null | undefined): number | undefined => {
  const value = least(endpoints, (endpoint) => {
    const one = of(endpoint)
    return one == null ? one : -one
  })
  return value === undefined ? undefined : -value
}

const first = ({ endpoints }: Compared): number | undefined => least(endpoints, ({ latency_last_30m: latency }) => latency?.p50)
const speed = ({ endpoints }: Compared): number | undefined => most(endpoints, ({ throughput_last_30m: speed }) => speed?.p50)
const uptime = ({ endpoints }: Compared): number | undefined => most(endpoints, ({ uptime_last_1d: uptime }) => uptime)

const ASPECTS: readonly Aspect[] = [
  {
    title: 'In, per 1M tokens',
    cell: ({ model }) => priceText(model.pricing.prompt),
    figure: ({ model }) => perMillion(model.pricing.prompt),
  },
  {
    title: 'Out, per 1M tokens',
    cell: ({ model }) => priceText(model.pricing.completion),
    figure: ({ model }) => perMillion(model.pricing.completion),
  },
  {
    title: 'Context',
    cell: ({ model }) => formatShort(model.context_length),
    figure: ({ model }) => model.context_length,
    isHigherBetter: true,
  },
  {
    title: 'Most tokens out',
    cell: ({ model }) => formatShort(model.top_provider.max_completion_tokens),
    figure: ({ model }) => model.top_provider.max_completion_tokens,
    isHigherBetter: true,
  },
  { title: 'Fastest first token', cell: (compared) => formatMs(first(compared)), figure: first },
  {
    title: 'Tokens per second',
    cell: (compared) => formatCount(speed(compared) === undefined ? undefined : Math.round(speed(compared) ?? 0)),
    figure: speed,
    isHigherBetter: true,
  },
  { title: 'Uptime, 1 day', cell: (compared) => percentText(uptime(compared)), figure: uptime, isHigherBetter: true },
  { title: 'Providers', cell: ({ endpoints }) => [...new Set(endpoints.map(({ provider_name: name }) => name))].join(', ') || '–' },
  { title: 'Takes', cell: ({ model }) => model.architecture.input_modalities.join(', ') },
  { title: 'Gives', cell: ({ model }) => model.architecture.output_modalities.join(', ') },
  { title: 'Tools', cell: ({ model }) => yes(model, 'tools') },
  { title: 'Reasoning', cell: ({ model }) => yes(model, 'reasoning') },
  { title: 'Structured outputs', cell: ({ model }) => yes(model, 'structured_outputs') },
]

const yes = ({ supported_parameters: names }: Model, name: string): string => (names.includes(name) ? 'Yes' : 'No')

function Sheet({ models, onRemove }: { models: readonly Compared[]; onRemove: (id: string) => void }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (axe: scrollable-region-focusable)
    <section class="table-scroll" tabIndex={0} aria-label="Models side by side">
      <table class="sheet">
        <caption class="hidden">Models side by side</caption>
        <thead>
          <tr>
            <th scope="col">Of the model</th>
            {models.map(({ model }) => (
              <th key={model.id} scope="col">
                <a class="model-name" href={pathTo(['models', ...slugParts(model.id)])}>
                  {model.name}
                </a>
                <span class="row-actions">
                  <TryLink model={model} />
                  <button type="button" class="button small" aria-label={`Take ${model.name} away`} onClick={() => onRemove(model.id)}>
                    ✕
                  </button>
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ASPECTS.map((aspect) => (
            <tr key={aspect.title}>
              <th scope="row">{aspect.title}</th>
              {models.map((compared) => (
                <td key={compared.model.id} class={isBest(aspect, compared, models) ? 'best' : undefined}>
                  {aspect.cell(compared)}
                  {isBest(aspect, compared, models) && <span class="hidden"> (best)</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** None is marked where all are alike. */
function isBest({ figure, isHigherBetter }: Aspect, compared: Compared, models: readonly Compared[]): boolean {
  const own = figure?.(compared)
  if (!figure || own == null) return false
  const values = models.map(figure).filter((value) => value != null)
  const best = isHigherBetter ? Math.max(...values) : Math.min(...values)
  return own === best && values.some((value) => value !== best)
}
