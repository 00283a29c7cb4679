/**
 * The law of every rate limit: the generic cell rate algorithm (ITU-T I.371, annex A), written as a bucket that fills
 * with what is taken and drains at the limit per minute. A bucket holds one minute's worth, so that much may come at once.
 *
 * A level counts in 60,000ths of a unit. So many drain in a millisecond as the limit has units in a minute: with whole
 * milliseconds and whole units all numbers are whole, nothing is ever rounded, and JavaScript and Lua agree to the last.
 */
import type { CounterAnswer, CounterAsk } from './types.ts'

/** Levels of one unit; also the milliseconds of a minute. */
export const UNIT = 60_000

export interface Bucket {
  level: number
  /** Whole milliseconds at which the level was this. */
  at: number
}

/** Rest of a level at `now`. */
export function levelAt(bucket: Bucket, now: number, perMinute: number): number {
  return Math.max(0, bucket.level - Math.max(0, now - bucket.at) * perMinute)
}

/** Takes what fits, and changes the bucket only then. @param now whole milliseconds. */
export function takeFrom(bucket: Bucket, now: number, { perMinute, take, always }: CounterAsk): CounterAnswer {
  if (perMinute <= 0) return { taken: take <= 0 || always === true, left: 0, wait: take <= 0 || always === true ? 0 : UNIT, full: UNIT }
  // A clock that went back drains nothing, but goes on from where it is.
  if (now < bucket.at) bucket.at = now
  const capacity = perMinute * UNIT
  const level = levelAt(bucket, now, perMinute)
  const after = Math.max(0, level + take * UNIT)
  if (after > capacity && take >= 0 && always !== true) {
    const wait = Math.ceil((after - capacity) / perMinute)
    return { taken: false, left: unitsLeft(capacity, level), wait, full: Math.ceil(level / perMinute) }
  }
  bucket.level = after
  bucket.at = now
  return { taken: true, left: unitsLeft(capacity, after), wait: 0, full: Math.ceil(after / perMinute) }
}

function unitsLeft(capacity: number, level: number): number {
  return Math.max(0, Math.floor((capacity - level) / UNIT))
}

/**
 * Share of one process in a limit that several processes cannot count together: the same for each, in whole units, at least one. Only a
 * limit of 0 stays 0.
 */
export function limitShare(limit: number, processes: number): number {
  return processes > 1 && limit > 0 ? Math.max(1, Math.floor(limit / processes)) : limit
}
