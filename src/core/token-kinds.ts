/**
 * The kinds of tokens, each declared once: its rate, its price in the configuration, its count in a report, its line on a bill, its name in
 * lists. Types, settings, lists and plans are made of this table; what every request runs is straight code, which `npm run generate` writes
 * from it: `src/dialects/canon/token-counts.ts` and `src/ledger/token-parts.ts`.
 */
interface TokenKind {
  /** Its rate in a price of the catalogue. */
  readonly rate: string
  /** Its price in the configuration and in plans. */
  readonly price: string
  readonly side: 'input' | 'output'
  /** Its count in a report of usage; absent for the tokens that no other kind of the side counts. */
  readonly count?: string
  /** The count stands in every report; else it is absent where there are none, as counts that came later are. */
  readonly always?: true
  /** Of vectors: the part of a split input that has its count. */
  readonly split?: string
  /** The kind whose count has its own in it. */
  readonly within?: string
  /** Its line on a bill. */
  readonly bill: string
  /** Its name in lists of models. */
  readonly listed: string
  /** Its attribute of spans, of OpenTelemetry's conventions. */
  readonly span?: string
  /** The tokens, as the configuration describes them. */
  readonly text: string
  /** Other settings of its price. */
  readonly note?: string
  /** The price that holds where it has none. */
  readonly fallback?: string
  /** Of a price like the fallback, too, an endpoint says something: that it has a cache. */
  readonly cache?: true
  /** Its line follows those of all other kinds of its side. */
  readonly lastLine?: true
}

/**
 * In the order of the settings, in which the counts of a side are also cut where a report has more parts than the whole: those that come
 * first are kept. The first two are the rest of each side.
 */
export const TOKEN_KINDS = [
  { rate: 'prompt', price: 'prompt', side: 'input', bill: 'prompt', listed: 'prompt', text: 'input tokens' },
  {
    rate: 'completion',
    price: 'completion',
    side: 'output',
    bill: 'completion',
    listed: 'completion',
    text: 'output tokens',
    note: '; required for a model that generates',
  },
  {
    rate: 'cached',
    price: 'cached',
    side: 'input',
    count: 'cached',
    always: true,
    bill: 'cached',
    listed: 'input_cache_read',
    span: 'gen_ai.usage.cache_read.input_tokens',
    text: 'input tokens read from a cache',
    fallback: 'prompt',
    cache: true,
  },
  {
    rate: 'cacheWrite',
    price: 'cache_write',
    side: 'input',
    count: 'cacheWrite',
    always: true,
    bill: 'cache_write',
    listed: 'input_cache_write',
    span: 'gen_ai.usage.cache_creation.input_tokens',
    text: 'input tokens written to a cache',
    fallback: 'prompt',
    cache: true,
  },
  {
    rate: 'cacheWriteLong',
    price: 'cache_write_1h',
    side: 'input',
    count: 'cacheWriteLong',
    within: 'cacheWrite',
    bill: 'cache_write_long',
    listed: 'input_cache_write_1h',
    text: 'input tokens written to a cache for an hour',
    fallback: 'cache_write',
    cache: true,
  },
  {
    rate: 'reasoning',
    price: 'reasoning',
    side: 'output',
    count: 'reasoning',
    always: true,
    bill: 'reasoning',
    listed: 'internal_reasoning',
    span: 'gen_ai.usage.reasoning.output_tokens',
    text: 'reasoning tokens',
    fallback: 'completion',
    lastLine: true,
  },
  {
    rate: 'imageOutput',
    price: 'image_output',
    side: 'output',
    count: 'imageOutput',
    always: true,
    bill: 'image_output',
    listed: 'image_output',
    text: 'output tokens of images',
    fallback: 'completion',
  },
  {
    rate: 'audioOutput',
    price: 'audio_output',
    side: 'output',
    count: 'audioOutput',
    always: true,
    bill: 'audio_output',
    listed: 'audio_output',
    text: 'output tokens of audio',
    fallback: 'completion',
  },
  {
    rate: 'audio',
    price: 'audio',
    side: 'input',
    count: 'audioInput',
    always: true,
    bill: 'audio',
    listed: 'audio',
    text: 'input tokens of audio',
    fallback: 'prompt',
  },
  {
    rate: 'imageInput',
    price: 'image_token',
    side: 'input',
    split: 'image',
    bill: 'image_input',
    listed: 'image_token',
    text: 'input tokens of images',
    note: ', if the provider counts them separately',
    fallback: 'prompt',
  },
] as const satisfies readonly TokenKind[]

type Kind = (typeof TOKEN_KINDS)[number]
export type TokenRate = Kind['rate']
export type TokenPrice = Kind['price']

/** Rates per token: those of the rest of each side, and of the other kinds where they are known. */
export type TokenRates = { readonly [rate in 'prompt' | 'completion']: bigint } & {
  readonly [rate in Exclude<TokenRate, 'prompt' | 'completion'>]?: bigint | undefined
}

/** The kinds of a side in the order in which bills and lists show them. */
export function shownKinds(side: Kind['side']): readonly (Kind & TokenKind)[] {
  const kinds: readonly (Kind & TokenKind)[] = TOKEN_KINDS.filter((kind) => kind.side === side)
  return [...kinds.filter((kind) => !kind.lastLine), ...kinds.filter((kind) => kind.lastLine)]
}
