/** V8's young space does not grow with the load: memory and, with large bodies, processor time depend on it. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { BODY_WEIGHT, BodyMemory, BodyShare } from '../../src/server/body-memory.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** As at a start, but with a look in each turn of the event loop. @param hadLargeBody what each look finds. */
const bound = (hadLargeBody: boolean): string => `
import { boundYoungSpace, giveBackMemory } from './src/machines/v8-memory/process-memory.ts'
giveBackMemory()
boundYoungSpace({ after: (ms, fn) => ({ cancel: clearImmediate.bind(undefined, setImmediate(fn)) }) }, () => ${hadLargeBody})
`

/** Objects of each turn survive some collections: V8 by itself lets young space grow to its limit then. */
const LOAD = `
import { getHeapSpaceStatistics } from 'node:v8'
const kept = []
const sizes = []
const turn = () => {
  const made = []
  for (let i = 0; i < 5_000; i++) made.push({ i, text: 'text ' + i })
  kept.push(made)
  if (kept.length > 20) kept.shift()
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  sizes.push((2 * (space.space_used_size + space.space_available_size)) / 1024 / 1024)
  if (sizes.length < 500) setImmediate(turn)
  else {
    console.log(sizes.slice(-200).sort((a, b) => a - b)[100])
    process.exit()
  }
}
turn()
`

/** @returns megabytes of young space, the median of the last turns: while V8 marks the whole heap it takes some more for a few of them. */
async function grown(source: string): Promise<number> {
  const args = ['--input-type=module', '--max-semi-space-size=32', '-e', source]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  return Number(stdout)
}

t.test('young space stays small under a load that has V8 by itself grow it to its limit', async (t) => {
  const alone = await grown(LOAD)
  t.ok(alone > 60, `${alone} MB by itself`)
  // V8 doubles what it has, which need not be a power of two: the last doubling may pass the bound by a third.
  const small = await grown(bound(false) + LOAD)
  t.ok(small < 22, `${small} MB with small bodies`)
  const large = await grown(bound(true) + LOAD)
  t.ok(large > 22 && large < 43, `${large} MB with large bodies`)
})

t.test('bodies of more than 64 KB are large, however many others there are', async (t) => {
  const memory = new BodyMemory(systemClock, () => {})
  memory.resize(1024 ** 3, 32 * 1024 ** 2)
  const take = (bytes: number): void => void new BodyShare(memory).take(bytes * BODY_WEIGHT, () => {})
  for (let at = 0; at < 1_000; at++) take(4_000)
  t.equal(memory.hadLargeBody(), false)
  take(100_000)
  t.equal(memory.hadLargeBody(), true)
  t.equal(memory.hadLargeBody(), false, 'since the last call')
})
