/** An import as text for a terminal, and as JSON. */
import type { JsonObject } from '../../core/json.ts'
import { plural } from '../console.ts'
import { table } from '../plan-table.ts'
import type { ImportPlan } from './import-plan.ts'
import type { ListedModel, PriceList } from './listed-model.ts'

/** Rows of a table that a person still reads; `--json` has all. */
const MOST_ROWS = 40

export function importText(file: string, { title, models, leftOut }: PriceList, plan: ImportPlan): string {
  const { added, changed, missing, unchanged, elsewhere } = plan
  const [fresh, joining] = [added.filter(({ isNewModel }) => isNewModel), added.filter(({ isNewModel }) => !isNewModel)]
  const others = [
    `${plural(unchanged, 'endpoint')} as configured`,
    `${plural(elsewhere.models, 'model')} of ${plural(elsewhere.providers, 'provider')} that are not configured or not selected`,
    ...[...leftOut].map(([why, count]) => `${count} left out: each ${why}`),
  ]
  return [
    `${file} is the ${title}, with ${plural(models.length, 'text or embedding model')}.`,
    section(
      'New models',
      fresh.length,
      ['model', 'at', 'context', 'prompt', 'completion', 'cached', 'above'],
      fresh.slice(0, MOST_ROWS).map(row),
    ),
    section(
      'Further endpoints of models',
      joining.length,
      ['model', 'at', 'context', 'prompt', 'completion', 'cached', 'above'],
      joining.slice(0, MOST_ROWS).map(row),
    ),
    section(
      'Changed',
      changed.length,
      ['model', 'at', 'changes'],
      changed
        .slice(0, MOST_ROWS)
        .map(({ slug, provider, changes }) => [
          slug,
          provider,
          changes.map(({ field, from, to }) => `${field} ${from ?? 'none'} -> ${to ?? 'none'}`).join('; '),
        ]),
    ),
    section(
      'Configured, and not in the list',
      missing.length,
      ['model', 'at', 'as'],
      missing.slice(0, MOST_ROWS).map(({ slug, provider, model }) => [slug, provider, model]),
    ),
    `${others.join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function section(title: string, count: number, head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (count === 0) return ''
  const more = count > rows.length ? `\n  … and ${count - rows.length} more; --json shows all` : ''
  return `${title} (${count}), prices in USD per million tokens:\n${table(head, rows)}${more}`
}

function row({ slug, provider, listed }: ImportPlan['added'][number]): string[] {
  const { price } = listed
  const steps = (price?.overrides ?? []).flatMap(({ min_prompt_tokens: above }) => above ?? [])
  return [
    slug,
    provider,
    String(listed.context ?? listed.maxInput ?? '?'),
    price?.prompt ?? '?',
    listed.kind === 'embedding' ? '' : (price?.completion ?? '?'),
    price?.cached ?? '',
    steps.join(' '),
  ]
}

export function importJson(file: string, list: PriceList, { plan, written }: { plan: ImportPlan; written: string | undefined }): string {
  const { added, changed, missing, unchanged, elsewhere } = plan
  const endpoint = ({ listed, ...of }: ImportPlan['added'][number]): object => ({ ...of, ...factsOf(listed) })
  const body = {
    file,
    form: list.form,
    listed: list.models.length,
    added: added.map(endpoint),
    changed,
    missing,
    unchanged,
    elsewhere,
    left_out: Object.fromEntries(list.leftOut),
    written: written ?? null,
  } as unknown as JsonObject
  return JSON.stringify(body, undefined, 2)
}

function factsOf({ price, context, maxInput, maxOutput, kind }: ListedModel): object {
  return { kind, context: context ?? maxInput ?? null, max_output: maxOutput ?? null, price: price ?? null }
}
