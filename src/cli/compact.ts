/** Gives back the memory that loading left behind: about 18 MB, once, shortly after the start. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../core/clock.ts'

/** Milliseconds after the start: the first callers have their answer by then. */
const DELAY = 1_000

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void

/** Loading fills young space to its largest size, and nothing but a collection of last resort ever shrinks it again. */
export function compactSoon(clock: Clock): void {
  clock.after(DELAY, () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as Collect | undefined
    setFlagsFromString('--no-expose-gc')
    collect?.({ type: 'major', flavor: 'last-resort' })
  })
}
