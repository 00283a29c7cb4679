/**
 * Small faults set into the sources one at a time, and whether the tests catch each: so that moving code or tests loses nothing.
 *   node scripts/mutations.ts fix [--seed N] [--count 200]   chooses the mutations and writes down which ones the tests catch;
 *                                                            goes on where it was ended
 *   node scripts/mutations.ts check [--only N,N]             sets the same ones into today's sources and runs today's tests
 * Both work in copies of the committed tree, two at once. `fix` takes one to two hours; `check` tries the test that caught a mutation
 * before, and measures what all tests reach only where that one no longer does. It finds a mutation by its line and its neighbours,
 * in whichever file they now stand. A line that has changed is reported as lost: its entry in the file is then set
 * right by hand. Exit code 1 where one that was caught before is not caught now, or is lost.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Cover, openCover } from './mutations/cover.ts'
import { drawMutations, findPlace, type Mutation, type Place } from './mutations/mutation.ts'
import { Copy } from './mutations/trial.ts'

const ROOT = join(import.meta.dirname, '..')
const FILE = join(ROOT, 'test', 'fixtures', 'mutations.json')
/** Copies that work at the same time. */
const JOBS = 2

interface Fixed extends Mutation {
  /** The test file that failed with it; null where all passed, undefined before it was tried. */
  caughtBy?: string | null
}

interface Fixture {
  seed: number
  mutations: Fixed[]
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' }, count: { type: 'string', default: '200' }, only: { type: 'string' } },
})

/** Runs a task for every item, in as many copies as there are jobs. */
async function each<Item>(items: readonly Item[], task: (item: Item, copy: Copy) => Promise<void>): Promise<void> {
  const rest = [...items]
  const copies = Array.from({ length: JOBS }, () => new Copy(ROOT))
  try {
    await Promise.all(
      copies.map(async (copy) => {
        for (let item = rest.shift(); item !== undefined; item = rest.shift()) await task(item, copy)
      }),
    )
  } finally {
    for (const copy of copies) copy.close()
  }
}

/** Lines that every test file reaches, measured without a mutation. */
async function measured(): Promise<Cover> {
  const cover = openCover(ROOT)
  await each(cover.testFiles, async (file, copy) => {
    cover.add(file, await copy.coverage(file))
    console.log(`reached by ${file}`)
  })
  return cover
}

/** @returns the first of the test files that fails with the mutation; null where none does. */
async function findCatcher(
  mutation: Mutation,
  { copy, files, cover }: { copy: Copy; files: readonly string[]; cover: Cover },
): Promise<string | null> {
  copy.set(mutation)
  try {
    for (const file of files) if (!(await copy.passes(file, cover.seconds(file)))) return file
    return null
  } finally {
    copy.restore()
  }
}

/** Goes on where an earlier run was ended. */
async function fix(): Promise<number> {
  const cover = await measured()
  const seed = Number(values.seed)
  if (!existsSync(FILE)) {
    const reached = (place: Place): boolean => cover.reaching(place).length > 0
    save({ seed, mutations: drawMutations(ROOT, { seed, count: Number(values.count), reached }) })
  }
  const fixture = JSON.parse(readFileSync(FILE, 'utf8')) as Fixture
  const untried = fixture.mutations.filter(({ caughtBy }) => caughtBy === undefined)
  await each(untried, async (mutation, copy) => {
    mutation.caughtBy = await findCatcher(mutation, { copy, files: cover.reaching(mutation), cover })
    save(fixture)
    console.log(`${mutation.file}:${mutation.line} ${mutation.caughtBy ?? 'is not caught'}`)
  })
  const caught = fixture.mutations.filter(({ caughtBy }) => caughtBy !== null).length
  console.log(`${fixture.mutations.length} mutations, ${caught} caught`)
  return 0
}

function save(fixture: Fixture): void {
  fixture.mutations.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
  writeFileSync(FILE, `${JSON.stringify(fixture, undefined, 2)}\n`)
}

/** Tries each mutation on the test that caught it before. @returns those that it does not catch: they need all the tests that reach them. */
async function notCaughtAsBefore(mutations: readonly Fixed[]): Promise<Fixed[]> {
  const alone = new Map<string, Promise<number | undefined>>()
  const left: Fixed[] = []
  await each(mutations, async (mutation, copy) => {
    const place = findPlace(ROOT, mutation)
    const file = mutation.caughtBy
    if (!place || typeof file !== 'string' || !existsSync(join(ROOT, file))) return void left.push(mutation)
    const seconds = alone.get(file) ?? copy.secondsAlone(file)
    alone.set(file, seconds)
    const usual = await seconds
    if (usual === undefined) return void left.push(mutation)
    copy.set(place)
    try {
      if (await copy.passes(file, usual)) left.push(mutation)
    } finally {
      copy.restore()
    }
  })
  return left
}

async function check(): Promise<number> {
  const fixture = JSON.parse(readFileSync(FILE, 'utf8')) as Fixture
  const only = values.only?.split(',').map(Number)
  const before = fixture.mutations.filter(({ caughtBy }, at) => typeof caughtBy === 'string' && (only?.includes(at) ?? true))
  const left = await notCaughtAsBefore(before)
  console.log(`${before.length - left.length} of ${before.length} are caught by the same test as before, but for:`)
  for (const { file, line, before: text } of left) console.log(`${file}:${line} ${text}`)
  let bad = 0
  const cover = left.length > 0 ? await measured() : openCover(ROOT)
  await each(left, async (mutation, copy) => {
    const place = findPlace(ROOT, mutation)
    const caughtBy = place && (await findCatcher(place, { copy, files: cover.reaching(place), cover }))
    if (caughtBy) return
    bad++
    console.log(`${mutation.file}:${mutation.line} ${place ? 'is no longer caught' : 'is lost'}: ${mutation.before}`)
  })
  console.log(`${before.length} mutations, ${bad} lost or no longer caught`)
  return bad === 0 ? 0 : 1
}

const commands: Record<string, () => Promise<number>> = { fix, check }
const command = commands[positionals[0] ?? '']
if (command) process.exitCode = await command()
else {
  console.error('usage: node scripts/mutations.ts fix|check')
  process.exitCode = 2
}
