/** Which test files reach which place of the sources. */
import { globSync } from 'node:fs'
import type { Place } from './mutation.ts'

/** Of V8's coverage (NODE_V8_COVERAGE): ranges nest, and the innermost one counts. */
export interface Range {
  startOffset: number
  endOffset: number
  count: number
}

/** Lines that one run of a test file reached. */
export interface Reached {
  seconds: number
  /** False where it failed by itself: it then catches nothing. */
  passed: boolean
  /** By source file; one list of ranges for each process that loaded it. */
  ranges: Map<string, Range[][]>
}

function isReached(ranges: readonly Range[], offset: number): boolean {
  let inner: Range | undefined
  for (const range of ranges) {
    if (range.startOffset > offset || range.endOffset <= offset) continue
    if (!inner || range.endOffset - range.startOffset < inner.endOffset - inner.startOffset) inner = range
  }
  return inner !== undefined && inner.count > 0
}

/** More seconds than any file takes. */
const LATER = 1000

export interface Cover {
  testFiles: readonly string[]
  add(file: string, reached: Reached): void
  /** Test files that run a place: those of the same folder first, then the shortest. */
  reaching(place: Place): string[]
  /** Seconds that a test file takes. */
  seconds(file: string): number
}

/** For all test files but those of clients with a lock file of their own. */
export function openCover(root: string): Cover {
  const all = new Map<string, Reached>()
  const seconds = (file: string): number => all.get(file)?.seconds ?? 0
  return {
    testFiles: globSync('test/**/*.test.ts', {
      cwd: root,
      exclude: (path) => path === 'test/clients' || path.endsWith('node_modules'),
    }).sort(),
    add(file, reached) {
      if (reached.passed) all.set(file, reached)
      else console.log(`${file} fails without a mutation`)
    },
    reaching({ file, offset }) {
      const found = [...all].filter(([, { ranges }]) => ranges.get(file)?.some((each) => isReached(each, offset)))
      // test/ has the folders of src/.
      const folder = file.split('/')[1]
      const order = (name: string): number => seconds(name) + (name.split('/')[1] === folder ? 0 : LATER)
      return found.map(([name]) => name).sort((a, b) => order(a) - order(b))
    },
    seconds,
  }
}
