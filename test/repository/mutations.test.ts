/** `scripts/mutations.ts`: the same seed chooses the same mutations, and a mutation is found again where its line has moved. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { drawMutations, findPlace } from '../../scripts/mutations/mutation.ts'

const SOURCE = `/** The larger of two. */
export function larger(a: number, b: number): number {
  if (a > b) return a
  return b
}
`

function sources(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'headgate-mutations-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  for (const folder of ['src', 'plugins']) mkdirSync(join(root, folder))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
  return root
}

const ALL = { seed: 1, count: 9, reached: () => true }

t.test('an operator and a condition are changed, and only where a test reaches them', async (t) => {
  const root = sources({ 'src/larger.ts': SOURCE })
  const after = drawMutations(root, ALL).map((mutation) => mutation.after)
  t.same(after.sort(), ['if (!(a > b)) return a', 'if (a >= b) return a'])
  t.same(drawMutations(root, { ...ALL, reached: ({ line }) => line > 3 }), [])
})

t.test('the same seed chooses the same mutation', async (t) => {
  const root = sources({ 'src/larger.ts': SOURCE })
  const one = { ...ALL, count: 1 }
  t.same(drawMutations(root, one), drawMutations(root, one))
})

t.test('a line that has moved to another file is found there', async (t) => {
  const root = sources({ 'src/larger.ts': SOURCE })
  const [mutation] = drawMutations(root, ALL)
  renameSync(join(root, 'src/larger.ts'), join(root, 'src/compare.ts'))
  t.match(findPlace(root, mutation), { file: 'src/compare.ts', line: 3, after: mutation.after })
})

t.test('where a line stands twice, its neighbours decide', async (t) => {
  const root = sources({ 'src/larger.ts': SOURCE })
  const [mutation] = drawMutations(root, ALL)
  writeFileSync(
    join(root, 'src/larger.ts'),
    `export const first = (a: number, b: number): number => {\n  if (a > b) return a\n  return 0\n}\n${SOURCE}`,
  )
  t.equal(findPlace(root, mutation)?.line, 7)
})

t.test('a line that has gone has no place', async (t) => {
  const root = sources({ 'src/larger.ts': SOURCE })
  const [mutation] = drawMutations(root, ALL)
  writeFileSync(join(root, 'src/larger.ts'), 'export const larger = Math.max\n')
  t.equal(findPlace(root, mutation), undefined)
})
