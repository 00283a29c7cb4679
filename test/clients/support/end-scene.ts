/** A gateway for each lane before one provider, which ends each answer as its case says; and what is wrong with how a client reads it. */
import type { Test } from 'tap'
import { startGateway } from '../../support/gateway.ts'
import type { Lane } from '../../support/lanes.ts'
import { type Answer, startUpstream } from '../../support/upstream.ts'
import { ALL_WIRES, anyWireOf, streamAnswer } from '../../support/wire.ts'
import { jsonAnswer } from '../../support/upstream.ts'
import { type EndCase, WHOLE_ARGS, WIRE_NAMES } from './end-cases.ts'
import { TOOL_RESULT, TOOL_LOOPS } from './end-readers.ts'
import type { Read, Reading } from './task-program.ts'

interface Ends {
  readonly accounts: ReadonlyMap<Lane, { readonly url: string; readonly key: string }>
  /** Has a client ask, and the provider answer as the case says. */
  read(number: number, one: EndCase, read: Read): Promise<Reading>
}

/** How a client that is no loop goes on behind the result of a tool. */
const AFTER_TOOL = { text: ['It was seen.'] }

export async function startEnds(t: Test): Promise<Ends> {
  const cases = new Map<number, EndCase>()
  const upstream = await startUpstream((seen): Answer => {
    const found = cases.get(Number(/case (\d+)/.exec(seen.body)?.[1]))
    if (!found) throw new Error(`no case: ${seen.body}`)
    const wire = ALL_WIRES[found.wire]
    if (!seen.body.includes(TOOL_RESULT)) return found.answer
    return anyWireOf(seen.path).streams(seen) ? streamAnswer(wire, wire.frames(AFTER_TOOL)) : jsonAnswer(wire.reply(AFTER_TOOL))
  })
  t.teardown(() => upstream.close())
  const providers = WIRE_NAMES.map((name) => `${name}: { dialect: ${name}, base_url: "${upstream.url}/v1", key: "sk-secret" }`)
  const models = WIRE_NAMES.map((name) => `m/${name}: { context: 128000, endpoints: [ { provider: ${name}, model: up } ] }`)
  const yaml = `providers:\n  ${providers.join('\n  ')}\nmodels:\n  ${models.join('\n  ')}\n`
  const accounts = new Map<Lane, { url: string; key: string }>()
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

/** @returns what is wrong with how a client has read the case; undefined where nothing is. */
export function wrongReading(reader: string, one: EndCase, { kind, calls }: Reading): string | undefined {
  const isLoop = TOOL_LOOPS.has(reader)
  const isWrong = one.isGood ? kind !== 'finished' || calls.join() !== (one.args ?? '') : isLoop ? isWrongLoop(one, kind, calls) : isSuccess(kind)
  return isWrong ? `${reader}: ${JSON.stringify({ kind, calls })} for ${one.drawn}` : undefined
}

const isSuccess = (kind: Reading['kind']): boolean => kind === 'finished' || kind === 'silent'

/** A loop may look at nothing but whether there is a call. It never runs half of one, and none of an answer that has failed. */
function isWrongLoop({ isKept }: EndCase, kind: Reading['kind'], calls: readonly string[]): boolean {
  if (calls.length === 0) return isSuccess(kind)
  return !isKept || calls.some((args) => args !== WHOLE_ARGS)
}
