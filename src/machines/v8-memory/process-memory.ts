/** Memory settings of V8 for a serving process: what a compilation and the start leave behind goes, and young space grows for large bodies alone. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../../core/clock.ts'
import { MACHINES_ON } from '../switch.ts'

/**
 * Has V8 free what a compilation took where it ends. By itself it leaves that to its threads, which get to it late: under load the
 * jobs of its middle compiler pile up there, and some 45 MB of malloc's memory with them (`--maglev-destroy-on-background`, V8 13.6).
 */
export function freeCompilerMemory(): void {
  if (!MACHINES_ON) return
  setFlagsFromString('--no-maglev-destroy-on-background')
}

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void

/**
 * Gives back the memory that loading the program left behind, about 15 MB: loading fills young space to its largest size, and
 * nothing but a collection of last resort ever shrinks it again. It throws compiled code away as well, so it has no place once
 * requests run.
 */
export function giveBackMemory(): void {
  if (!MACHINES_ON) return
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect | undefined
  setFlagsFromString('--no-expose-gc')
  collect?.({ type: 'major', flavor: 'last-resort' })
}

/**
 * Bytes of young space, both halves. Small requests cost no less in a larger one. What a large body makes is as large as a half: what does
 * not die there is copied, and found dead late. A turn of an agent took 2.4 times the forwarder's processor time in 16 MB and 1.2 in 32.
 */
const MAX_YOUNG = 16 * 1024 * 1024
const MAX_YOUNG_FOR_LARGE_BODIES = 32 * 1024 * 1024

/**
 * Percent by which the heap may grow from one collection of all of it to the next, while large bodies come. After a rest of eight seconds V8
 * collects twice to give memory back, and allows little growth from then on: eleven such collections a second, with their threads beside
 * them, had a turn of an agent take twice the processor time.
 */
const GROWTH_FOR_LARGE_BODIES = 200
/** Looks for which that holds from a large body on: 10 seconds. */
const GROWTH_LOOKS = 100

/** Milliseconds between two looks. V8 doubles young space once as many bytes have survived as it has. */
const YOUNG_LOOK = 100

/** Bytes of both halves. V8's `space_size` has only what is mapped: the half that is empty may be unmapped until the next collection. */
function youngSpace(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  return space ? 2 * (space.space_used_size + space.space_available_size) : 0
}

/**
 * Keeps V8's young space small, and has the whole heap collected rarely while large bodies come. The limit of young space can only be set
 * before Node starts; by how much it grows is read each time it does. A collection of last resort shrinks it: then it may grow again.
 * @param hadLargeBody whether a large body has come since the last call.
 */
export function boundYoungSpace(clock: Pick<Clock, 'after'>, hadLargeBody: () => boolean): void {
  if (!MACHINES_ON) return
  let isBounded = false
  let looksLeft = 0
  const look = (): void => {
    const isLarge = hadLargeBody()
    const most = isLarge ? MAX_YOUNG_FOR_LARGE_BODIES : MAX_YOUNG
    if (isLarge && looksLeft === 0) setFlagsFromString(`--heap-growing-percent=${GROWTH_FOR_LARGE_BODIES}`)
    // 0: as V8 sees fit.
    else if (!isLarge && looksLeft === 1) setFlagsFromString('--heap-growing-percent=0')
    looksLeft = isLarge ? GROWTH_LOOKS : Math.max(0, looksLeft - 1)
    // V8 would double it: that must not take it further from the bound than it is.
    if (3 * youngSpace() > 2 * most !== isBounded) {
      isBounded = !isBounded
      setFlagsFromString(`--semi-space-growth-factor=${isBounded ? 1 : 2}`)
    }
    clock.after(YOUNG_LOOK, look)
  }
  look()
}
