/** Memory of V8's compilers is free once they have compiled: memory under load depends on it more than on anything that requests hold. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))

const FREED = `
import { freeCompilerMemory } from './src/machines/v8-memory/process-memory.ts'
freeCompilerMemory()
`

/** Functions that the middle compiler takes within a few turns, one after the other. */
const LOAD = `
const functions = []
for (let at = 0; at < 300; at++) {
  let text = 'let sum = 0;'
  for (let i = 0; i < 60; i++)
    text += 'sum += (list[' + i + ' % list.length] ^ ' + (at * 61 + i) + ') * (of.x' + (i % 7) + ' ?? ' + i + '); if (sum > 1e9) sum -= of.x' + (i % 5) + ';'
  functions.push(new Function('list', 'of', text + 'return sum'))
}
const list = Array.from({ length: 64 }, (_, at) => at)
const of = { x0: 1, x1: 2, x2: 3, x3: 4, x4: 5, x5: 6, x6: 7 }
let turns = 0
const turn = () => {
  for (const one of functions) for (let i = 0; i < 40; i++) one(list, of)
  if (++turns < 40) setImmediate(turn)
  else {
    console.log(process.memoryUsage.rss() / 1e6)
    process.exit()
  }
}
turn()
`

/** @returns resident megabytes at the end. */
async function resident(source: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { cwd: root })
  return Number(stdout)
}

t.setTimeout(280_000)

t.test('300 compiled functions take less than half of the memory that V8 by itself keeps for them', async (t) => {
  const [freed, kept] = [await resident(FREED + LOAD), await resident(LOAD)]
  t.ok(freed > 0 && freed < kept / 2, `${freed.toFixed(0)} MB in place of ${kept.toFixed(0)}`)
})
