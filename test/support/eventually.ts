/** Waits for something that happens in its own time: one helper, so that no test counts turns or milliseconds. */

/** Milliseconds of real time that a condition has by default: far more than it takes, on a busy machine too. */
const LIMIT = 30_000
/** Looks that follow one another turn by turn of the event loop, before there is a pause between them. */
const EAGER_LOOKS = 50
/** Milliseconds between two later looks: the processes that are waited for need the processor themselves. */
const PAUSE = 5

export interface EventuallyOptions {
  /** Milliseconds of real time; 30 s where absent. */
  limit?: number
  /** Actual state, for the error message. */
  found?: () => unknown
}

type Missing = undefined | null | false

/**
 * Looks until there is something other than `undefined`, `null` and `false`.
 * @param what is awaited, for the error message. @returns what was found.
 * @throws Error that names what did not come within the limit.
 */
export async function eventually<Found>(
  what: string,
  look: () => Found | Promise<Found>,
  { limit = LIMIT, found }: EventuallyOptions = {},
): Promise<Exclude<Found, Missing>> {
  const end = performance.now() + limit
  for (let looks = 0; ; looks++) {
    const seen = await look()
    if (seen !== undefined && seen !== null && seen !== false) return seen as Exclude<Found, Missing>
    if (performance.now() > end) {
      const instead = found ? `; found ${JSON.stringify(found())}` : ''
      throw new Error(`not within ${limit / 1000} s: ${what}${instead}`)
    }
    await pause(looks < EAGER_LOOKS)
  }
}

/** Milliseconds between two looks of a watch at the time. */
const TICK = 5
let last = performance.now()
let shown = 0
let isTicking = false

function tick(): void {
  const now = performance.now()
  shown += Math.min(now - last, 2 * TICK)
  last = now
}

/**
 * A watch for what has to be soon: it shows milliseconds of real time, but of a stretch in which this process got no turn hardly any. On a
 * machine that is busy with others a second then lasts as much longer as all else does. What blocks the event loop is not seen by it.
 * @returns what it shows.
 */
export function startWatch(): () => number {
  if (!isTicking) setInterval(tick, TICK).unref()
  isTicking = true
  tick()
  const begun = shown
  return () => {
    tick()
    return Math.round(shown - begun)
  }
}

/**
 * Resolves when so much real time has passed, by a watch of this process. Only for what other processes do by clocks of their own, and
 * where the promise to be shown is a duration, such as "a disabled key is refused everywhere within a second".
 */
export async function realTime(ms: number): Promise<void> {
  const watch = startWatch()
  const end = performance.now() + ms
  await eventually(`${ms} ms`, () => performance.now() > end && watch() > ms, { limit: LIMIT + 10 * ms })
}

/** Looks for which a value has to stay the same. */
const STEADY_LOOKS = 40

/** Resolves once a value has stopped changing: all buffers on the way are full. */
export async function steady(value: () => unknown): Promise<void> {
  let before = value()
  let same = 0
  await eventually('a value that stays', () => {
    const now = value()
    same = now === before ? same + 1 : 0
    before = now
    return same >= EAGER_LOOKS + STEADY_LOOKS
  })
}

/** A turn of the event loop, or a time in which other processes may run. */
function pause(isShort: boolean): Promise<void> {
  return new Promise((resolve) => void (isShort ? setImmediate(resolve) : setTimeout(resolve, PAUSE)))
}
