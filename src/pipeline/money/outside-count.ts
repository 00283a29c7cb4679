/**
 * Closer bounds of outside input than what the context has left: what a file or cached content has come to before, and what the token
 * counter of the provider counts, which is called only where the bound does not fit (docs/decisions/0042-counts-of-providers.md).
 */
import { type OutsideInput, REST_OF_CONTEXT } from '../../dialects/canon/outside-input.ts'
import { accountLetters } from '../../dialects/canon/reasoning-owner.ts'
import type { UpstreamDialect } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Guarded } from '../exchange.ts'
import type { SeenInputs } from './seen-inputs.ts'

/** @returns the tokens of all input; undefined where they cannot be had. @throws Fault where the caller leaves or the deadline passes. */
export type InputCounter = (exchange: Guarded, endpoint: Endpoint) => Promise<number | undefined>

/** "Token count may differ by a small amount" from what is billed (platform.claude.com, Token counting): a part and some tokens on top. */
const COUNT_SHARE = 1 / 32
const COUNT_MARGIN = 256

/** Key for counts of inputs: a count holds for the same model of the same account alone. */
export const endpointPlace = ({ provider, upstreamModel }: Endpoint): string => `${accountLetters(provider)} ${upstreamModel}`

/** The inputs with the closest bounds that are known. @param dialect of the endpoint. */
export function withKnownBounds(
  inputs: readonly OutsideInput[],
  exchange: Guarded,
  { endpoint, dialect, seen }: { endpoint: Endpoint; dialect: UpstreamDialect; seen: SeenInputs },
): readonly OutsideInput[] {
  const { counted } = exchange.run
  const place = endpointPlace(endpoint)
  if (counted?.beyond !== undefined && counted.place === place) return withCount(inputs, counted.beyond, { endpoint, dialect })
  const named = inputs.filter(({ id }) => id !== undefined)
  if (named.length === 0) return inputs
  const bounds = seen.bounds(
    place,
    named.map(({ id }) => id ?? ''),
  )
  return inputs.map((input) => {
    const tokens = input.id === undefined ? undefined : bounds[named.indexOf(input)]
    return tokens === undefined ? input : { ...input, tokens: Math.min(input.tokens, tokens) }
  })
}

interface Reader {
  readonly endpoint: Endpoint
  readonly dialect: UpstreamDialect
}

const isCounted = ({ kind }: OutsideInput, { endpoint, dialect }: Reader): boolean =>
  kind !== undefined && dialect.countTokens?.sees?.(kind, endpoint.upstreamModel) === true

function withCount(inputs: readonly OutsideInput[], beyond: number, reader: Reader): OutsideInput[] {
  const counted = inputs.filter((input) => isCounted(input, reader))
  const [first] = counted
  if (!first) return [...inputs]
  const field = `${[...new Set(counted.map((each) => each.field))].join(' and ')}, as the provider counts`
  return [...inputs.filter((input) => !counted.includes(input)), { ...first, field, tokens: beyond }]
}

/** True where a count would bound all of the outside input. */
export function wouldBound(inputs: readonly OutsideInput[], reader: Reader): boolean {
  return (
    inputs.some((input) => isCounted(input, reader)) &&
    inputs.every((input) => input.tokens !== REST_OF_CONTEXT || isCounted(input, reader))
  )
}

/** Has the provider count, once for each exchange. @param body tokens that the hold counts for the body. */
export async function count(exchange: Guarded, endpoint: Endpoint, counter: InputCounter, body: number): Promise<void> {
  const place = endpointPlace(endpoint)
  exchange.run.counted = { place, beyond: undefined }
  const tokens = await counter(exchange, endpoint)
  if (tokens === undefined) return
  exchange.run.counted = { place, beyond: Math.max(0, Math.ceil(tokens * (1 + COUNT_SHARE)) + COUNT_MARGIN - body) }
}

/** Remembers the token counts of files and cached content, where the provider has reported them and they are possible. */
export function noteSeen(seen: SeenInputs, last: Turn | undefined, names: readonly string[]): void {
  if (!last?.usage || last.sent === false || last.fault || last.disputed) return
  const { input, estimated, inputUnknown } = last.usage
  if (!estimated && !inputUnknown) seen.note(endpointPlace(last.endpoint), names, input)
}
