/** What the kinds of model ask of their entries, and the formats that serve one kind only of their providers. */
import type { Path } from './problems.ts'
import { checkQuirks } from './quirk-rules.ts'
import { EMBEDDING, GENERATING } from './schema/providers.ts'
import type { RawConfig, RawModels, RawProvider } from './schema/root.ts'
import { PER_MILLION_EXPECTED } from './schema/scalars.ts'
import type { Source } from './source.ts'

/** What a model's kind requires of its prices, of its other settings and of the formats of its providers. */
export function checkKind(model: RawModels[string], slug: string, raw: RawConfig, source: Source): void {
  const at = ['models', slug]
  if (source.isWrong([...at, 'kind'])) return
  const { kind = 'generate', endpoints } = model
  const embeds = kind === 'embedding'
  const formats: readonly string[] = embeds ? EMBEDDING : GENERATING
  if (!embeds && model.long_input !== undefined)
    source.report([...at, 'long_input'], 'this is a setting of embeddings, expected `kind: embedding`', 'key')
  const writes = model.output?.includes('embeddings')
  if (!embeds && writes) source.report([...at, 'output'], 'this is the output of embeddings, expected `kind: embedding`')
  if (embeds && writes === false) source.report([...at, 'output'], 'the kind embedding writes embeddings, expected [ embeddings ]')
  for (const name of ['max_output', 'default_max_output'] as const) {
    if (embeds && model[name] !== undefined) source.report([...at, name], 'embeddings have no output tokens, expected no such key', 'key')
  }
  for (const [index, endpoint] of endpoints.entries()) {
    const place = [...at, 'endpoints', index]
    const dialect = Object.hasOwn(raw.providers, endpoint.provider) ? raw.providers[endpoint.provider]?.dialect : undefined
    const known = [...EMBEDDING, ...GENERATING].some((name) => name === dialect)
    if (known && !formats.includes(dialect ?? ''))
      source.report(
        [...place, 'provider'],
        `the dialect ${dialect} ${embeds ? 'gives no embeddings' : 'gives embeddings only'}, expected one of ${formats.join(', ')}`,
      )
    checkQuirks(endpoint, dialect, place, source)
    const { price } = endpoint
    if (typeof price !== 'object') continue
    if (!embeds && price.completion === undefined)
      source.reportMissing([...place, 'price'], 'completion', `"completion" is missing, expected ${PER_MILLION_EXPECTED}`)
    if (embeds && price.completion !== undefined && Number(price.completion) > 0)
      source.report([...place, 'price', 'completion'], 'embeddings have no output tokens, expected no such price', 'key')
  }
}

/** A format of embeddings alone has no list of models, and no other operation to pass to. */
export function checkOffer(provider: RawProvider, at: Path, main: Source): void {
  const { dialect } = provider
  if ((GENERATING as readonly string[]).includes(dialect)) return
  for (const key of ['discover', 'pass_through'] as const) {
    if (provider[key]) main.report([...at, key], `the dialect ${dialect} gives embeddings only, expected no such key`, 'key')
  }
}
