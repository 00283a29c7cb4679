/** An import as text for a terminal, and as JSON. */
import type { JsonObject } from '../../core/json.ts'
import { plural } from '../console.ts'
import { table } from '../plan-table.ts'
import type { ImportPlan } from './import-plan.ts'
import { displayName, type ListedModel, type PriceList } from './listed-model.ts'

/** Rows of a table that a person still reads; `--json` has all. */
const MAX_ROWS = 40

export function importText(file: string, { title, models }: PriceList, plan: ImportPlan): string {
  const { added, changed, missing, unchanged, elsewhere, unknown, free, leftOut, disagreements } = plan
  const [fresh, joining] = [added.filter(({ isNewModel }) => isNewModel), added.filter(({ isNewModel }) => !isNewModel)]
  const others = [
    `${plural(unchanged, 'endpoint')} as configured`,
    `${plural(elsewhere.models, 'model')} of ${plural(elsewhere.providers, 'provider')} that are not configured or not selected`,
  ]
  return [
    `${file} is the ${title}, with ${plural(models.length, 'text or embedding model')}.`,
    section(
      'New models',
      fresh.length,
      ['model', 'at', 'context', 'prompt', 'completion', 'cached', 'above'],
      fresh.slice(0, MAX_ROWS).map(row),
    ),
    section(
      'Further endpoints of models',
      joining.length,
      ['model', 'at', 'context', 'prompt', 'completion', 'cached', 'above'],
      joining.slice(0, MAX_ROWS).map(row),
    ),
    section(
      'Changed',
      changed.length,
      ['model', 'at', 'changes'],
      changed
        .slice(0, MAX_ROWS)
        .map(({ slug, provider, changes }) => [
          slug,
          provider,
          changes.map(({ field, from, to }) => `${field} ${from ?? 'none'} -> ${to ?? 'none'}`).join('; '),
        ]),
    ),
    section(
      'Lists disagree',
      disagreements.length,
      ['model', 'at', 'this list: prompt, completion, cached', "the provider's page", 'the snapshot', 'taken'],
      disagreements
        .slice(0, MAX_ROWS)
        .map(({ slug, provider, list, page, snapshot, taken, source }) => [
          slug,
          provider,
          list,
          page ?? '',
          snapshot ?? '',
          taken === 'page' && source !== undefined ? `the page: ${source}` : 'this list',
        ]),
    ),
    section(
      'Without a price for what the list states at 0',
      unknown.length,
      ['model', 'at', 'as', 'stated at 0'],
      unknown.slice(0, MAX_ROWS).map(({ slug, provider, model, zeros }) => [slug, provider, model, zeros.join(', ')]),
    ),
    section(
      'Free, as the list says',
      free.length,
      ['model', 'at', 'as'],
      free.slice(0, MAX_ROWS).map(({ slug, provider, model }) => [slug, provider, model]),
    ),
    section(
      'Left out',
      leftOut.length,
      ['model', 'at', 'since it'],
      leftOut.slice(0, MAX_ROWS).map(({ provider = '', model, leftOut: why }) => [displayName(model) ?? '', provider, why]),
    ),
    section(
      'Configured, and not in the list',
      missing.length,
      ['model', 'at', 'as'],
      missing.slice(0, MAX_ROWS).map(({ slug, provider, model }) => [slug, provider, model]),
    ),
    `${others.join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function section(title: string, count: number, head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (count === 0) return ''
  const more = count > rows.length ? `\n  … and ${count - rows.length} more; --json shows all` : ''
  const unit = head.includes('prompt') || head.includes('changes') ? ', prices in USD per million tokens' : ''
  return `${title} (${count})${unit}:\n${table(head, rows)}${more}`
}

function row({ slug, provider, listed }: ImportPlan['added'][number]): string[] {
  const price = typeof listed.price === 'object' ? listed.price : undefined
  const steps = (price?.overrides ?? []).flatMap(({ min_prompt_tokens: above }) => above ?? [])
  return [
    slug,
    provider,
    String(listed.context ?? listed.maxInput ?? '?'),
    price?.prompt ?? (listed.price === 'free' ? '0' : '?'),
    listed.kind === 'embedding' ? '' : (price?.completion ?? (listed.price === 'free' ? '0' : '?')),
    price?.cached ?? '',
    steps.join(' '),
  ]
}

export function importJson(file: string, list: PriceList, { plan, written }: { plan: ImportPlan; written: string | undefined }): string {
  const { added, changed, missing, unchanged, elsewhere, unknown, free, leftOut, disagreements } = plan
  const endpoint = ({ listed, ...of }: ImportPlan['added'][number]): object => ({ ...of, ...modelFacts(listed) })
  const body = {
    file,
    form: list.form,
    listed: list.models.length,
    added: added.map(endpoint),
    changed,
    missing,
    unchanged,
    elsewhere,
    unknown,
    free,
    disagreements,
    left_out: leftOut.map(({ provider = null, model, leftOut: why }) => ({ provider, model, why })),
    written: written ?? null,
  } as unknown as JsonObject
  return JSON.stringify(body, undefined, 2)
}

function modelFacts({ price, context, maxInput, maxOutput, kind }: ListedModel): object {
  return { kind, context: context ?? maxInput ?? null, max_output: maxOutput ?? null, price: price ?? null }
}
