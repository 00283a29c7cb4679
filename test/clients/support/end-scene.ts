/** A gateway for each lane before one provider, which ends each answer as its case says; and what is wrong with how a client reads it. */
import fc from 'fast-check'
import type { Test } from 'tap'
import { startGateway } from '../../support/gateway.ts'
import type { Lane } from '../../support/lanes.ts'
import { type Answer, jsonAnswer, startUpstream } from '../../support/upstream.ts'
import { ALL_WIRES, pathAnyWire, streamAnswer } from '../../support/wire.ts'
import { drawCase, drawnCase, type EndCase, WHOLE_ARGS, WIRE_NAMES } from './end-cases.ts'
import { STREAMS_ONLY, TOOL_LOOPS, TOOL_RESULT } from './end-readers.ts'
import type { Account, Read, Reading } from './task-program.ts'

interface Ends {
  readonly accounts: ReadonlyMap<Lane, Account>
  /** Has a client ask, and the provider answer as the case says. */
  read(number: number, one: EndCase, read: Read): Promise<Reading>
}

/** Continuation behind the result of a tool, by a client that is no loop. */
const AFTER_TOOL = { text: ['It was seen.'] }

async function startEnds(t: Test): Promise<Ends> {
  const cases = new Map<number, EndCase>()
  const upstream = await startUpstream((seen): Answer => {
    const found = cases.get(Number(/case (\d+)/.exec(seen.body)?.[1]))
    if (!found) throw new Error(`no case: ${seen.body}`)
    const wire = ALL_WIRES[found.wire]
    if (!seen.body.includes(TOOL_RESULT)) return found.answer
    return pathAnyWire(seen.path).streams(seen) ? streamAnswer(wire, wire.frames(AFTER_TOOL)) : jsonAnswer(wire.reply(AFTER_TOOL))
  })
  t.teardown(() => upstream.close())
  const providers = WIRE_NAMES.map((name) => `${name}: { dialect: ${name}, base_url: "${upstream.url}/v1", key: "sk-secret" }`)
  const models = WIRE_NAMES.map((name) => `m/${name}: { context: 128000, endpoints: [ { provider: ${name}, model: up } ] }`)
  const yaml = `providers:\n  ${providers.join('\n  ')}\nmodels:\n  ${models.join('\n  ')}\n`
  const accounts = new Map<Lane, Account>()
  for (const lane of ['pass', 'observe', 'translate'] as const) {
    const gateway = await startGateway(yaml, { lane })
    t.teardown(() => gateway.close())
    accounts.set(lane, { url: gateway.url, key: gateway.key })
  }
  return {
    accounts,
    read: async (number, one, read) => {
      cases.set(number, one)
      try {
        return await read(`m/${one.wire}`, `case ${number}`, one.stream)
      } catch (thrown) {
        // What a client cannot read is no error that it shows.
        return { kind: thrown instanceof SyntaxError || thrown instanceof RangeError ? 'silent' : 'raised', calls: [] }
      } finally {
        cases.delete(number)
      }
    },
  }
}

/** A way of a client that is not ours to mend: it takes such an end wrongly from the provider itself as well. */
export interface KnownReading {
  readonly reader: string
  readonly why: string
  applies(one: EndCase, reading: Reading): boolean
}

/** One slice of a run. */
export interface Drawn {
  readonly count: number
  readonly seed: number
  /** Of a long run: a case that is wrong is written to the error stream at once, with what draws it again. */
  readonly name?: string
  /** Only this one of the cases. */
  readonly only?: number | undefined
}

/** The clients that read the cases of a run. */
export interface Clients {
  /** Of those that are built on this machine. */
  readonly createReaders: (account: Account) => Record<string, Read>
  /** Of all. What a seed draws is the same on every machine: cases of a client that is not built are left out. */
  readonly names: readonly string[]
  readonly known?: readonly KnownReading[]
}

/** Starts a gateway for each lane, and the clients' connections to it once for all slices. @returns what reads a slice. */
export async function startReading(t: Test, { createReaders, names, known = [] }: Clients): Promise<(t: Test, drawn: Drawn) => Promise<void>> {
  const ends = await startEnds(t)
  const readers = new Map([...ends.accounts].map(([lane, account]) => [lane, createReaders(account)]))
  return (t, drawn) => readDrawn(t, { ends, readers, names, known }, drawn)
}

interface Scene extends Pick<Clients, 'names'> {
  readonly ends: Ends
  readonly readers: ReadonlyMap<Lane, Record<string, Read>>
  readonly known: readonly KnownReading[]
}

/** At once. */
const WORKERS = 24
/** Readings that are wrong, from which on no more are drawn. */
const MAX_WRONG = 20

/** Has the clients read drawn cases in drawn lanes. The message of what is wrong has all that a case is made of. */
async function readDrawn(t: Test, { ends, readers, names, known }: Scene, { count, seed, name, only }: Drawn): Promise<void> {
  const values = fc.tuple(drawnCase, fc.constantFrom(...names), fc.constantFrom(...ends.accounts.keys()))
  const drawn = fc.sample(values, { numRuns: count, seed })
  const wrong: string[] = []
  const kinds = new Map<string, number>()
  const last = only ?? drawn.length - 1
  let next = only ?? 0
  const work = async (): Promise<void> => {
    while (next <= last && wrong.length < MAX_WRONG) {
      const number = next++
      const [any, reader, lane] = drawn[number]
      const one = drawCase({ ...any, stream: any.stream || STREAMS_ONLY.has(reader) })
      const read = readers.get(lane)?.[reader]
      const reading = read && (await ends.read(number, one, read))
      const isKnown = reading !== undefined && known.some((each) => each.reader === reader && each.applies(one, reading))
      const kind = reading ? `${isKnown ? 'known' : one.isGood ? 'good' : 'bad'} ${reading.kind}` : 'not built'
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      if (!reading || isKnown || !isWrong(reader, one, reading)) continue
      const found = `seed ${seed}, case ${number} in lane ${lane}, ${reader}: ${JSON.stringify(reading)} for ${one.drawn}`
      wrong.push(found)
      if (name !== undefined) console.error(`WRONG, ${name}@${number}: ${found}`)
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  t.same(wrong, [])
  t.comment(`${names.length} clients: ${JSON.stringify(Object.fromEntries(kinds))}`)
  if (only !== undefined) return
  const failures = (kinds.get('bad raised') ?? 0) + (kinds.get('bad shown') ?? 0)
  t.ok(failures > (count - (kinds.get('not built') ?? 0)) / 2, `${count} cases, ${failures} of them failures that were seen`)
}

function isWrong(reader: string, one: EndCase, { kind, calls }: Reading): boolean {
  if (one.isGood) return kind !== 'finished' || calls.join() !== (one.args ?? '')
  return TOOL_LOOPS.has(reader) ? isWrongLoop(one, kind, calls) : isSuccess(kind)
}

const isSuccess = (kind: Reading['kind']): boolean => kind === 'finished' || kind === 'silent'

/** A loop may look at nothing but whether there is a call. It never runs half of one, and none of an answer that has failed. */
function isWrongLoop({ isKept }: EndCase, kind: Reading['kind'], calls: readonly string[]): boolean {
  if (calls.length === 0) return isSuccess(kind)
  return !isKept || calls.some((args) => args !== WHOLE_ARGS)
}
