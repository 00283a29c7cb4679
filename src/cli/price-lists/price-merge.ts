/** A configured endpoint with the figures of a price list: what the list states replaces, everything else stays. */
import type { EndpointConfig, ModelConfig } from '../../config/config.ts'
import type { ListedModel, PriceConfig } from './listed-model.ts'

/** One figure that a list states otherwise than the configuration; null where one of them states none. */
export interface FigureChange {
  readonly field: string
  readonly from: string | null
  readonly to: string | null
}

export interface Refreshed {
  readonly endpoint: EndpointConfig
  readonly changes: readonly FigureChange[]
}

/** @param model to whom the endpoint belongs: what the endpoint does not set is the model's. */
export function refreshed(model: ModelConfig, endpoint: EndpointConfig, listed: ListedModel): Refreshed {
  const changes: FigureChange[] = []
  const note = (field: string, from: unknown, to: unknown): void => {
    if (comparedText(from) !== comparedText(to)) changes.push({ field, from: comparedText(from), to: comparedText(to) })
  }
  const next: EndpointConfig = { ...endpoint }
  const context = mergeContext(endpoint.context ?? model.context, listed)
  if (context !== undefined && context !== (endpoint.context ?? model.context)) {
    note('context', endpoint.context ?? model.context, context)
    next.context = context
  }
  const maxOutput = mergeOutputCap(listed, next.context ?? model.context)
  if (maxOutput !== undefined && model.kind !== 'embedding' && maxOutput !== (endpoint.max_output ?? model.max_output)) {
    note('max_output', endpoint.max_output ?? model.max_output, maxOutput)
    next.max_output = maxOutput
  }
  if (listed.price === 'free') {
    note('price', endpoint.price, listed.price)
    next.price = listed.price
  } else if (listed.price !== undefined) {
    const before = typeof endpoint.price === 'object' ? endpoint.price : undefined
    const price = mergedPrice(before, listed.price)
    if (!isWhole(price, listed.kind)) return { endpoint: next, changes }
    for (const name of Object.keys(price) as (keyof PriceConfig)[]) {
      if (!isSame(before?.[name], price[name])) note(name, before?.[name] ?? (name === 'prompt' ? endpoint.price : undefined), price[name])
    }
    if (before === undefined || changes.length > 0) next.price = price
  }
  return { endpoint: next, changes }
}

/** False where a model writes text at a price that is not known: then none is written down. */
export function isWhole(price: ListedModel['price'], kind: ListedModel['kind']): boolean {
  return typeof price === 'object' ? kind === 'embedding' || price.completion !== undefined : price !== undefined
}

/** The context that an endpoint gets: a list that states the input alone cuts none that holds the input and the output. */
export function mergeContext(configured: number | undefined, { context, maxInput, maxOutput = 0 }: ListedModel): number | undefined {
  if (context !== undefined || maxInput === undefined) return context
  return configured !== undefined && configured >= maxInput && configured <= maxInput + maxOutput ? configured : maxInput
}

/** Lists have output caps beyond the context; a configuration must not. */
export function mergeOutputCap({ maxOutput }: ListedModel, context: number | undefined): number | undefined {
  return maxOutput === undefined ? undefined : Math.min(maxOutput, context ?? maxOutput)
}

/** Steps by length are the list's where it has some; prices by the hour are only replaced by such prices. */
function mergedPrice(before: PriceConfig | undefined, { overrides: listed = [], ...stated }: PriceConfig): PriceConfig {
  const own = before?.overrides ?? []
  const isStep = ({ min_prompt_tokens }: { min_prompt_tokens?: number }): boolean => min_prompt_tokens !== undefined
  const steps = (listed.some(isStep) ? listed : own).filter(isStep)
  const hours = (listed.some((each) => !isStep(each)) ? listed : own).filter((each) => !isStep(each))
  const overrides = [
    ...steps.map((step) => ({ ...own.find((each) => each.min_prompt_tokens === step.min_prompt_tokens), ...step })),
    ...hours,
  ]
  return { ...before, ...stated, ...(overrides.length === 0 ? {} : { overrides }) }
}

/** "0.5" and "0.50" are one price. */
function isSame(one: unknown, other: unknown): boolean {
  return normal(one) === normal(other)
}

function normal(value: unknown): string | undefined {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'string') return /^\d+(\.\d+)?$/.test(member) ? Number(member) : member
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

function comparedText(value: unknown): string | null {
  if (value === undefined) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
