/** Models, and how a provider's list differs from them, as text for a terminal. */

import { rateText } from '../core/money-text.ts'
import type { Endpoint, Model } from '../routing/catalog/types.ts'
import { endpointTag } from '../routing/index.ts'
import type { ListingDiff } from './models-sync.ts'
import { table, visible } from './plan-table.ts'
import type { SnapshotDisagreement } from './price-lists/compare.ts'

/** @param note of what is not there. */
export function modelTable(models: readonly Model[], note: string): string {
  if (models.length === 0) return `There are no such models.${note}`
  const rows = models.map((model) => {
    const [first] = model.endpoints
    const providers = [...new Set(model.endpoints.map(({ provider }) => provider.slug))]
    return [
      model.slug,
      model.kind,
      tokens(model.context),
      perMillion(first, 'prompt'),
      perMillion(first, 'completion'),
      providers.join(' '),
    ]
  })
  return `${table(['model', 'kind', 'context', 'prompt', 'completion', 'providers'], rows)}\n\n${count(models.length, 'model')}; prices in USD per million tokens, of the first endpoint.${note}`
}

/** @param requested the slug of the command line: the model's own, or an alias. */
export function modelText(model: Model, requested: string): string {
  const scores = Object.entries(model.scores).map(([task, score]) => `${task} ${score}`)
  const facts: [string, string][] = [
    ['slug', model.slug === requested ? model.slug : `${model.slug} (requested as ${requested})`],
    ['name', model.name],
    ['kind', model.kind],
    ['released', model.created === 0 ? '' : new Date(model.created * 1000).toISOString().slice(0, 10)],
    ['reads', model.input.join(', ')],
    ['writes', model.output.join(', ')],
    ['context', tokens(model.context)],
    ['max output', tokens(model.maxOutput)],
    ['scores', scores.join(', ')],
    ['about', model.description],
  ]
  const width = Math.max(...facts.map(([name]) => name.length))
  const lines = facts
    .filter(([, value]) => value !== '' && value !== '?')
    .map(([name, value]) => `  ${name.padEnd(width)}  ${visible(value)}`)
  const endpoints = table(
    ['endpoint', 'model', 'context', 'max output', 'prompt', 'completion', 'cached', 'quantization', 'retention'],
    model.endpoints.map((endpoint) => [
      endpointTag(endpoint),
      endpoint.upstreamModel,
      tokens(endpoint.context),
      tokens(endpoint.maxOutput),
      perMillion(endpoint, 'prompt'),
      perMillion(endpoint, 'completion'),
      perMillion(endpoint, 'cached'),
      endpoint.quantization,
      endpoint.provider.zdr ? 'none' : endpoint.provider.dataCollection === 'deny' ? 'not for training' : '?',
    ]),
  )
  return `${lines.join('\n')}\n\n${endpoints}`
}

export function disagreementText(disagreements: readonly SnapshotDisagreement[]): string {
  if (disagreements.length === 0) return ''
  const rows = disagreements.map(({ endpoint, snapshot, page, source }) => [endpoint, snapshot, page, `the page: ${source}`])
  const names = ['endpoint', 'the snapshot: prompt, completion, cached', "the provider's page", 'taken']
  return `\n\nPrices disagree:\n${table(names, rows)}`
}

export function diffText({ provider, listed, configured, wildcard, ...diff }: ListingDiff): string {
  const head = `${provider} lists ${count(listed, 'model')}; the configuration uses ${configured} of its names.`
  const parts = [head]
  if (wildcard !== undefined) parts.push(`${wildcard} serves whatever the provider has, so nothing of the list is new.`)
  const section = (title: string, names: readonly string[], rows: string[][]): void => {
    if (rows.length > 0) parts.push(`${title}:\n${table(names, rows)}`)
  }
  section(
    'New',
    ['model', 'as', 'context'],
    diff.new.map((one) => [one.model, one.slug, tokens(one.context_length)]),
  )
  section(
    'Gone',
    ['model', 'used by'],
    diff.gone.map((one) => [one.model, one.slugs.join(' ')]),
  )
  section(
    'Changed context',
    ['model', 'used by', 'configured', 'listed'],
    diff.changed.map((one) => [one.model, one.slug, tokens(one.configured ?? undefined), tokens(one.listed)]),
  )
  if (parts.length === 1) parts.push('Both agree.')
  return parts.join('\n\n')
}

function perMillion(endpoint: Endpoint | undefined, kind: 'prompt' | 'completion' | 'cached'): string {
  const price = endpoint?.price
  if (kind === 'completion' && endpoint?.model.kind === 'embedding') return ''
  if (price === undefined || price === 'unpriced') return '?'
  if (price === 'free') return kind === 'cached' ? '' : 'free'
  const rate = price[kind]
  return rate === undefined ? '' : `$${rateText(rate * 1_000_000n)}`
}

function tokens(amount: number | undefined): string {
  return amount === undefined ? '?' : String(amount)
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`
}
