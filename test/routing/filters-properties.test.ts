/** The filters as laws, over random catalogues and random demands of request, key and account. */
import fc from 'fast-check'
import t from 'tap'
import type { ProviderPreferences } from '../../src/dialects/canon/request-fields.ts'
import type { Endpoint, Model } from '../../src/routing/catalog/types.ts'
import { filterEndpoints, noEndpointFault, type Removed, type RouteNeeds } from '../../src/routing/filters.ts'
import { mergePreferences } from '../../src/routing/merge.ts'
import { orderEndpoints } from '../../src/routing/order.ts'
import { property } from '../support/seed.ts'
import { health, model, provider, usdPerMillion } from './catalogue.ts'

const SLUGS = ['a', 'b', 'ab', 'c']
const ENTRIES = ['a', 'b', 'ab', 'a/x', 'a/y', 'b/x', 'a/flex', 'b/priority', 'a/x/flex', 'nobody']
const QUANTIZATIONS = ['fp4', 'mxfp4', 'nvfp4', 'fp8', 'mxfp8', 'bf16', 'unknown']
const PARAMETERS = ['tools', 'response_format', 'verbosity', 'seed', 'temperature']
/** Prices and ceilings in tenths of a dollar per million tokens. */
const tenths = fc.integer({ min: 0, max: 9 })
const dollars = (value: number): string => `0.${value}`

const endpointFacts = fc.record({
  slug: fc.constantFrom(...SLUGS),
  variant: fc.constantFrom(undefined, undefined, 'x', 'y'),
  tier: fc.constantFrom(undefined, undefined, undefined, 'flex' as const, 'priority' as const),
  price: fc.oneof(
    { weight: 8, arbitrary: fc.tuple(tenths, tenths) },
    { weight: 1, arbitrary: fc.constantFrom('free' as const, 'unpriced' as const) },
  ),
  quantization: fc.constantFrom(...QUANTIZATIONS),
  supported: fc.option(fc.subarray(PARAMETERS), { nil: undefined }),
  context: fc.option(fc.integer({ min: 2, max: 9 }), { nil: undefined }),
  maxOutput: fc.option(fc.integer({ min: 2, max: 9 }), { nil: undefined }),
  zdr: fc.boolean(),
  deny: fc.boolean(),
})
type EndpointFacts = typeof endpointFacts extends fc.Arbitrary<infer Facts> ? Facts : never

const modelFacts = fc.record({
  distillable: fc.boolean(),
  input: fc.constantFrom(['text'], ['text', 'image']),
  endpoints: fc.array(endpointFacts, { maxLength: 5 }),
})

const list = fc.option(fc.subarray(ENTRIES, { maxLength: 6 }), { nil: null, freq: 2 })
const ceiling = fc.option(tenths, { nil: undefined, freq: 2 })
const preferences = fc.record({
  only: list,
  ignore: fc.option(fc.subarray(ENTRIES, { maxLength: 2 }), { nil: null }),
  order: list,
  allow_fallbacks: fc.constantFrom(null, null, true, false),
  sort: fc.constantFrom(null, 'price' as const, 'throughput' as const, { by: 'latency' as const, partition: 'none' as const }),
  quantizations: fc.option(fc.subarray(QUANTIZATIONS), { nil: null, freq: 2 }),
  max_price: fc.record({ prompt: ceiling, completion: ceiling, text: fc.boolean() }).map(({ prompt, completion, text }) =>
    Object.fromEntries(
      Object.entries({ prompt, completion })
        .filter(([, value]) => value !== undefined)
        .map(([kind, value]) => [kind, text ? dollars(value as number) : (value as number) / 10]),
    ),
  ),
  require_parameters: fc.constantFrom(null, null, null, false, true),
  data_collection: fc.constantFrom(null, null, 'allow' as const, 'deny' as const),
  zdr: fc.constantFrom(null, null, null, false, true),
  enforce_distillable_text: fc.constantFrom(null, null, null, false, true),
})
const side = fc.option(preferences, { nil: undefined, freq: 2 })

const scene = fc.record({
  models: fc.array(modelFacts, { minLength: 1, maxLength: 3 }),
  request: side,
  key: side,
  account: side,
  used: fc.option(fc.subarray(PARAMETERS), { nil: undefined }),
  contextTokens: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined, freq: 2 }),
  maxOutput: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined, freq: 2 }),
  image: fc.boolean(),
  serviceTier: fc.constantFrom(undefined, undefined, 'flex' as const, 'priority' as const),
  chance: fc.integer({ min: 0, max: 999 }).map((value) => value / 1000),
})
type Scene = typeof scene extends fc.Arbitrary<infer Facts> ? Facts : never

const factsModel = (facts: Scene['models'][number], at: number): Model =>
  model(
    `m/${at}`,
    facts.endpoints.map(({ slug, price, supported, zdr, deny, ...own }: EndpointFacts, nth) => ({
      ...own,
      id: `m/${at}#${nth}`,
      provider: provider(slug, { zdr, dataCollection: deny ? 'deny' : 'allow' }),
      price: typeof price === 'string' ? price : usdPerMillion(dollars(price[0]), dollars(price[1])),
      supported: supported && new Set(supported),
    })),
    { flags: new Set(facts.distillable ? ['distillable'] : []), input: facts.input },
  )

interface Outcome {
  endpoints: readonly Endpoint[]
  needs: RouteNeeds
  kept: readonly Endpoint[]
  removed: readonly Removed[]
  sides: readonly ProviderPreferences[]
}

function filterOutcome(made: Scene): Outcome {
  const endpoints = made.models.map(factsModel).flatMap((one) => one.endpoints)
  const sides = (['request', 'key', 'account'] as const).map((from) => ({
    from,
    preferences: made[from] as ProviderPreferences | undefined,
  }))
  const needs: RouteNeeds = {
    provider: mergePreferences(sides),
    used: made.used && new Set(made.used),
    contextTokens: made.contextTokens,
    maxOutput: made.maxOutput,
    input: made.image ? ['image'] : undefined,
    serviceTier: made.serviceTier,
  }
  return { endpoints, needs, ...filterEndpoints(endpoints, needs), sides: sides.flatMap(({ preferences }) => preferences ?? []) }
}

/** Tags of an endpoint in the words of the contract: the provider, its variant, its tier, and both. */
const endpointBase = (endpoint: Endpoint): string => endpoint.provider.slug
function fullTags({ provider: { slug }, variant, tier }: Endpoint): string[] {
  const parts = [variant, tier].filter((part) => part !== undefined)
  return [...(parts.length > 0 ? [[slug, ...parts].join('/')] : []), ...(tier ? [`${slug}/${tier}`] : [])]
}
const tagged = (entries: readonly string[] | null | undefined, endpoint: Endpoint): boolean =>
  entries?.some((entry) => fullTags(endpoint).includes(entry)) === true
const named = (entries: readonly string[], endpoint: Endpoint): boolean =>
  entries.includes(endpointBase(endpoint)) || tagged(entries, endpoint)

const isStrict = (sides: Outcome['sides']): boolean =>
  sides.find(({ require_parameters: value }) => typeof value === 'boolean')?.require_parameters === true

/** Each law that a kept endpoint must obey, worked out from the demands themselves and not from what was merged of them. */
const LAWS: Readonly<Record<string, (endpoint: Endpoint, outcome: Outcome, made: Scene) => boolean>> = {
  'in every only': (endpoint, { sides }) => sides.every(({ only }) => !only?.length || named(only, endpoint)),
  'in no ignore': (endpoint, { sides }) => !sides.some(({ ignore }) => ignore && named(ignore, endpoint)),
  'tiers only where asked for': (endpoint, { sides, needs }, { serviceTier }) =>
    endpoint.tier === undefined ||
    endpoint.tier === serviceTier ||
    tagged(needs.provider.order, endpoint) ||
    sides.some(({ only }) => tagged(only, endpoint)),
  'a quantization of the first side that names any': (endpoint, { sides }) => {
    const wanted = sides.find(({ quantizations }) => quantizations?.length)?.quantizations
    const family = { fp4: ['fp4', 'mxfp4', 'nvfp4'], fp8: ['fp8', 'mxfp8'] } as Record<string, string[] | undefined>
    return !wanted || wanted.some((name) => (family[name] ?? [name]).includes(endpoint.quantization))
  },
  'not dearer than the first ceiling': ({ price }, { sides }) => {
    const most = sides.find((one) => one.max_price && Object.keys(one.max_price).length > 0)?.max_price
    if (!most || price === 'free') return true
    if (price === 'unpriced') return false
    const within = (kind: 'prompt' | 'completion') =>
      most[kind] === undefined || Number(price[kind]) <= Math.round(Number(most[kind]) * 10) * 1e11
    return within('prompt') && within('completion')
  },
  'every parameter where they are required': ({ supported }, { sides }, { used }) =>
    !isStrict(sides) || !used || !supported || used.every((name) => supported.has(name)),
  'no collector where any side denies': ({ provider: { dataCollection } }, { sides }) =>
    dataCollection === 'deny' || !sides.some((one) => one.data_collection === 'deny'),
  'zero retention where any side asks': ({ provider: { zdr } }, { sides }) => zdr || !sides.some((one) => one.zdr),
  'distillable where any side asks': (endpoint, { sides }) =>
    endpoint.model.flags.has('distillable') || !sides.some((one) => one.enforce_distillable_text),
  'long enough, or no shorter than the others': (endpoint, { kept }, { contextTokens, maxOutput: cap = 0 }) => {
    const hasRoom = ({ context, maxOutput = 9 }: Endpoint): boolean =>
      context === undefined || contextTokens === undefined || contextTokens + Math.min(cap, maxOutput) <= context
    const mayFit = ({ context = 9 }: Endpoint): boolean => Math.ceil((contextTokens ?? 0) / 3) < context
    return hasRoom(endpoint) || (mayFit(endpoint) && !kept.some(hasRoom))
  },
  'writes enough, or no less than the others of its model': (endpoint, { sides, kept }, { maxOutput: cap = 0 }) => {
    const able = ({ maxOutput = 9 }: Endpoint): boolean => cap <= maxOutput
    return able(endpoint) || (!isStrict(sides) && !kept.some((other) => other.model === endpoint.model && able(other)))
  },
  'sees images': (endpoint, _, { image }) => !image || endpoint.model.input.includes('image'),
  'of the order where it is all there is': (endpoint, { needs: { provider: merged, serviceTier } }, made) =>
    merged.allow_fallbacks !== false ||
    !merged.order?.length ||
    isForOtherModels(merged.order, endpoint, made) ||
    (merged.order.includes(endpointBase(endpoint)) && (endpoint.tier === undefined || endpoint.tier === serviceTier)) ||
    tagged(merged.order, endpoint),
}

/** True for a list of the key or the account that names no endpoint of the model, and does not forbid others itself. */
function isForOtherModels(order: readonly string[], { model: { endpoints } }: Endpoint, { key, account }: Scene): boolean {
  const side = [key, account].find((one) => one?.order === order)
  return side !== undefined && side.allow_fallbacks !== false && !endpoints.some((endpoint) => named(order, endpoint))
}

/** The law that an endpoint has broken, by the filter which says so. */
const BROKEN: Readonly<Record<string, string>> = {
  only: 'in every only',
  ignore: 'in no ignore',
  tier: 'tiers only where asked for',
  quantization: 'a quantization of the first side that names any',
  max_price: 'not dearer than the first ceiling',
  require_parameters: 'every parameter where they are required',
  data_collection: 'no collector where any side denies',
  zdr: 'zero retention where any side asks',
  distillable: 'distillable where any side asks',
  context: 'long enough, or no shorter than the others',
  max_output: 'writes enough, or no less than the others of its model',
  input_modality: 'sees images',
  order: 'of the order where it is all there is',
}

t.test('property: every endpoint in the order was kept by the filters and meets each criterion', (t) => {
  const seen = { kept: 0, none: 0 }
  fc.assert(
    fc.property(scene, (made) => {
      const outcome = filterOutcome(made)
      const { endpoints, kept, removed, needs } = outcome
      const again = endpoints.filter((endpoint) => kept.includes(endpoint))
      if (kept.length + removed.length !== endpoints.length || again.some((endpoint, at) => endpoint !== kept[at])) return false
      const tried = orderEndpoints(kept, { ...needs.provider, serviceTier: needs.serviceTier }, () => made.chance, health())
      if (kept.length > 0 && tried.length === 0) return false
      if (kept.length > 0) seen.kept++
      else if (endpoints.length > 0) seen.none++
      return tried.every((endpoint) => {
        for (const [law, holds] of Object.entries(LAWS))
          if (!holds(endpoint, outcome, made)) throw new Error(`${endpoint.id} breaks: ${law}`)
        return kept.includes(endpoint)
      })
    }),
    property(2000, 100_000),
  )
  t.ok(seen.kept > 100 && seen.none > 100, `both ends are reached (${JSON.stringify(seen)})`)
  t.end()
})

t.test('property: every removed endpoint fails the criterion that is reported, or a better one was kept', (t) => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(scene, (made) => {
      const outcome = filterOutcome(made)
      for (const { endpoint, filter, detail } of outcome.removed) {
        seen.add(filter)
        if (detail === '') return false
        if (filter === 'soft_parameters') {
          const name = detail.replace('does not take ', '')
          if (endpoint.supported?.has(name) !== false || !made.used?.includes(name)) return false
          if (!outcome.kept.some(({ supported }) => supported?.has(name) !== false)) return false
        } else if (filter === 'tier' && endpoint.tier !== 'flex' && made.serviceTier === 'flex') {
          if (!outcome.kept.some(({ tier }) => tier === 'flex') && LAWS[BROKEN.tier](endpoint, outcome, made)) return false
        } else if (LAWS[BROKEN[filter]](endpoint, outcome, made)) throw new Error(`${endpoint.id} was removed by ${filter} and obeys it`)
      }
      return true
    }),
    property(2000, 100_000),
  )
  t.same([...seen].sort(), [...Object.keys(BROKEN), 'soft_parameters'].sort(), 'every filter has acted')
  t.end()
})

t.test('none left: the documented error names each endpoint and the filter that removed it', (t) => {
  let none = 0
  fc.assert(
    fc.property(scene, (made) => {
      const { endpoints, kept, removed } = filterOutcome(made)
      if (kept.length > 0 || endpoints.length === 0) return true
      none++
      const fault = noEndpointFault(['m/0'], removed)
      const { excluded } = fault.metadata as { excluded: { model: string; provider: string; filter: string; detail: string }[] }
      const onlyContext = removed.every(({ filter }) => filter === 'context')
      const later = ['max_price', 'distillable', 'data_collection', 'zdr']
      const byCap = removed.some(({ filter }) => filter === 'max_output') && !removed.some(({ filter }) => later.includes(filter))
      if (fault.status !== (onlyContext || byCap ? 400 : 404) || excluded.length !== endpoints.length) return false
      const told = removed.every(({ endpoint, filter, detail }, at) => {
        const { model: slug, provider: name } = excluded[at]
        if (slug !== endpoint.model.slug || name !== endpoint.provider.name) return false
        if (excluded[at].filter !== filter || excluded[at].detail !== detail) return false
        return at >= 8 || fault.message.includes(`removed by ${filter} (${detail})`)
      })
      const { code } = fault.availability ?? {}
      const privacy = removed.some(({ filter }) => filter === 'zdr' || filter === 'data_collection')
      return told && (onlyContext || code === (privacy ? 'privacy_restricted' : 'constraint_filtered'))
    }),
    property(2000, 100_000),
  )
  t.ok(none > 100, `${none} empty lists`)
  t.end()
})

/** A decimal text as a fraction of two integers. */
function fraction(text: string): readonly [bigint, bigint] {
  const [mantissa, exponent = '0'] = text.toLowerCase().split('e')
  const [whole, decimals = ''] = mantissa.split('.')
  const shift = Number(exponent) - decimals.length
  const digits = BigInt(whole + decimals)
  return shift >= 0 ? [digits * 10n ** BigInt(shift), 1n] : [digits, 10n ** BigInt(-shift)]
}

t.test('a price passes exactly if it is not above the ceiling, as text and as number', (t) => {
  const digits = (most: number) =>
    fc.array(fc.constantFrom(...'0123456789'), { minLength: 1, maxLength: most }).map((list) => list.join(''))
  const text = fc
    .tuple(digits(9), fc.option(digits(20), { nil: undefined }), fc.option(fc.integer({ min: -20, max: 8 }), { nil: undefined }))
    .map(
      ([whole, decimals, exponent]) =>
        `${whole}${decimals === undefined ? '' : `.${decimals}`}${exponent === undefined ? '' : `e${exponent}`}`,
    )
  const priceText = fc.tuple(digits(6), digits(12)).map((pair) => pair.join('.'))
  const near = fc.tuple(priceText, fc.constantFrom('', '1', '0001', '00000000001')).map(([price, more]) => ({ price, most: price + more }))
  const pair = fc.oneof(
    fc.record({ price: priceText, most: text }),
    near,
    near.map(({ price, most }) => ({ price: most.slice(0, 19), most: price })),
  )
  let equal = 0
  fc.assert(
    fc.property(pair, fc.boolean(), ({ price, most }, asNumber) => {
      const known = fraction(price)
      if ((price.split('.')[1] ?? '').length > 12) return true
      const sent = asNumber ? Number(most) : most
      const limit = fraction(String(sent))
      const under = known[0] * limit[1] <= limit[0] * known[1]
      if (known[0] * limit[1] === limit[0] * known[1]) equal++
      const { endpoints } = model('a/m', [{ price: usdPerMillion(price) }])
      const merged = mergePreferences([{ from: 'request', preferences: { max_price: { prompt: sent } } }])
      return filterEndpoints(endpoints, { provider: merged }).kept.length === (under ? 1 : 0)
    }),
    property(3000, 100_000),
  )
  t.ok(equal > 50, `${equal} prices equal to their ceiling`)
  t.end()
})
