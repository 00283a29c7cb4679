/**
 * Cost of a change: `node scripts/add-one.ts [--check] [--fast] [KIND …]`.
 * In a copy of the tree it adds one thing of each kind (`scripts/add-one/KIND.ts`) by the recipe of CONTRIBUTING.md, runs what is
 * generated, the check, the build and the tests of the change, and prints the files touched, by hand and generated, against the most
 * that are allowed. Exit code 1 where one needs more, or fails. What it has counted is kept in `scripts/add-one/KIND.json`, from which
 * `npm run generate` makes the table of CONTRIBUTING.md; `--check` keeps nothing, and fails where the kept counts are others.
 * `--fast` leaves the check and the build out: for whoever writes a kind.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Addition } from './add-one/frame/addition.ts'
import { Copy } from './add-one/frame/copy.ts'
import { allAdditions, isKept, keepOutcome, type Outcome } from './add-one/frame/outcome.ts'

const ROOT = join(import.meta.dirname, '..')
const BIOME = join(ROOT, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false }, fast: { type: 'boolean', default: false } },
})

async function chosen(): Promise<Addition[]> {
  const all = await allAdditions()
  const unknown = positionals.find((name) => !all.some((addition) => addition.name === name))
  if (unknown === undefined) return all.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  console.error(`unknown kind ${unknown}; expected some of: ${all.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

/** Makes the change, and runs what a contributor would. @throws Error where something of it fails. */
function add(copy: Copy, { edits, test, writers = [], proof }: Addition): Outcome {
  for (const edit of edits) copy.apply(edit)
  const byHand = [...new Set(edits.map(({ file }) => file))].sort()
  copy.run([BIOME, 'check', '--write', '--error-on-warnings', ...byHand])
  copy.run(['scripts/generate.ts'])
  if (writers.length > 0) copy.run(['test/run.ts', ...writers], { HEADGATE_WRITE: '1' })
  // The list of all files in CONTRIBUTING.md has each new one.
  const generated = copy.touched().filter((file) => !byHand.includes(file) && file !== 'CONTRIBUTING.md')
  if (proof) copy.apply(proof)
  if (!values.fast) {
    copy.run(['scripts/check.ts'])
    copy.run(['scripts/build.ts'])
  }
  const tests = [...test, ...(proof ? [proof.file] : [])]
  const missing = tests.find((part) => !copy.has(part))
  if (missing !== undefined) throw new Error(`no test is named ${missing}`)
  copy.run(['test/run.ts', ...tests])
  return { byHand, generated }
}

/** @returns whether it went well with as few files as are allowed. */
function isWithin(addition: Addition, outcome: Outcome): boolean {
  const { name, most } = addition
  const { byHand, generated } = outcome
  const within = byHand.length <= most
  console.log(`${within ? 'ok    ' : 'failed'}  ${name}: ${byHand.length} by hand of at most ${most}, ${generated.length} generated`)
  for (const file of byHand) console.log(`        ${file}`)
  for (const file of generated) console.log(`        ${file} (generated)`)
  if (!values.check) keepOutcome(name, outcome)
  else if (!isKept(name, outcome)) {
    console.log(`failed  scripts/add-one/${name}.json says something else: run \`node scripts/add-one.ts ${name}\``)
    return false
  }
  return within
}

const copy = new Copy(ROOT)
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))
process.on('exit', () => copy.close())

for (const addition of await chosen()) {
  try {
    if (!isWithin(addition, add(copy, addition))) process.exitCode = 1
  } catch (error) {
    console.log(`failed  ${addition.name}: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
  copy.restore()
}
