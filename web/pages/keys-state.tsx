/** A key as the list of all and its own page show it: its source, state, limit and forecast, and what a change makes of the list. */
import type { Key, KeysReply } from '../api-types.ts'
import { Badge } from '../components/values.tsx'
import { formatShare, formatUsd } from '../format.ts'
import type { Resource } from '../resource.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { type Forecast, hasExpired, shareSpent } from './keys-budget.ts'

/** A limit is worth a look from here on. */
export const NEAR = 0.8

export interface KeysProps {
  /** The page of the list that is shown. */
  readonly keys: Resource<KeysReply>
  /** Shows a new secret, once. */
  readonly onSecret: (name: string, secret: string) => void
}

/**
 * Shows at once what a change has made of a key, and reads the list again.
 * @param hash under which the list has it: a new secret changes the hash. Undefined: it is new.
 * @param key undefined: it is deleted, and the keys that it issued with it.
 */
export function showChange({ replace, reload }: Resource<KeysReply>, hash: string | undefined, key: Key | undefined): void {
  replace((page) => ({ ...page, data: changedList(page.data, hash, key) }))
  reload()
}

function changedList(keys: readonly Key[], hash: string | undefined, key: Key | undefined): readonly Key[] {
  if (key === undefined) return keys.filter((each) => each.hash !== hash && each.parent_hash !== hash)
  return hash === undefined ? [...keys, key] : keys.map((each) => (each.hash === hash ? key : each))
}

const SOURCES: Meanings<Key['source'], string> = { configuration: 'of the file', store: '' }

/** Place of definition of a key that is not the store's. */
export const sourceText = (source: Key['source']): string => wordMeaning(SOURCES, source) ?? `of: ${plainWord(source)}`

export function keyState(key: Key, now: number): readonly [tone: 'good' | 'bad' | 'neutral', text: string] {
  if (key.disabled) return ['neutral', 'Disabled']
  if (hasExpired(key, now)) return ['neutral', 'Expired']
  if ((key.limit_remaining ?? 1) <= 0) return ['bad', 'Limit reached']
  return ['good', 'In use']
}

export function State({ key_ }: { key_: Key }) {
  const [tone, text] = keyState(key_, Date.now())
  return <Badge tone={tone}>{text}</Badge>
}

type Reset = NonNullable<Key['limit_reset']>

const EACH: Meanings<Reset, string> = { daily: 'a day', weekly: 'a week', monthly: 'a month' }

export const eachText = (reset: Reset): string => wordMeaning(EACH, reset) ?? plainWord(reset)

export function Limit({ key_ }: { key_: Key }) {
  const { limit, limit_remaining: left, limit_reset: reset } = key_
  const share = shareSpent(key_)
  if (limit === null || share === undefined) return <span class="quiet">None</span>
  return (
    <span class="limit">
      <span class="number">
        {formatUsd(limit)} {reset && eachText(reset)}
      </span>
      <meter
        class={share >= 1 ? 'bad' : share >= NEAR ? 'warn' : undefined}
        min={0}
        max={1}
        value={Math.min(1, share)}
        aria-label={`${formatShare(share)} of the limit is spent or held`}
      />
      <span class="quiet number">{formatUsd(left)} left</span>
    </span>
  )
}

const SHORT_DATE = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false } as const

/** The forecast that the API gives. @param forecast null and undefined: it gives none. */
export function ForecastText({ key_: { limit, limit_remaining: left }, forecast }: { key_: Key; forecast: Forecast | null | undefined }) {
  if (limit === null || left === null) return <span class="quiet">–</span>
  if (left <= 0) return <Badge tone="bad">Nothing left</Badge>
  if (!forecast) return <span class="quiet">Not known</span>
  const { runs_out_at: out, used_at_end: used, per_day: pace } = forecast
  if (out !== null)
    return (
      <span>
        <Badge tone="warn">Runs out</Badge> <span class="number">{new Date(out).toLocaleString('en-GB', SHORT_DATE)}</span>
      </span>
    )
  if (pace <= 0) return <span class="quiet">Nothing spent of late</span>
  return (
    <span>
      <Badge tone="good">Lasts</Badge> {used !== null && <span class="number">{formatUsd(limit - used)} left over</span>}
    </span>
  )
}
