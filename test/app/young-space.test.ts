/** V8's young space does not grow with the load: memory and, with large bodies, processor time depend on it. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** As at a start, but with a look in each turn of the event loop. @param bodyBytes memory of the bodies that are there. */
const bound = (bodyBytes: number): string => `
import { boundYoungSpace, giveBackMemory } from './src/app/process-memory.ts'
giveBackMemory()
boundYoungSpace({ after: (ms, fn) => ({ cancel: clearImmediate.bind(undefined, setImmediate(fn)) }) }, () => ${bodyBytes})
`

/** What each turn makes survives some collections: V8 by itself lets young space grow to its limit then. */
const LOAD = `
import { getHeapSpaceStatistics } from 'node:v8'
const kept = []
let turns = 0
const turn = () => {
  const made = []
  for (let i = 0; i < 5_000; i++) made.push({ i, text: 'text ' + i })
  kept.push(made)
  if (kept.length > 20) kept.shift()
  if (++turns < 500) setImmediate(turn)
  else {
    console.log(getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space').space_size / 1024 / 1024)
    process.exit()
  }
}
turn()
`

/** @returns megabytes of young space at the end. */
async function grown(source: string): Promise<number> {
  const args = ['--input-type=module', '--max-semi-space-size=32', '-e', source]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  return Number(stdout)
}

t.test('young space stays small under a load that has V8 by itself grow it to its limit', async (t) => {
  t.equal(await grown(LOAD), 64, 'by itself')
  t.equal(await grown(bound(1_000_000) + LOAD), 16, 'with small bodies')
  t.equal(await grown(bound(10_000_000) + LOAD), 32, 'with large bodies')
})
