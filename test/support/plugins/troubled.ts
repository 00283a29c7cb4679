/** A plugin of an operator's own that does, on one request, what its settings say: good and bad. */
import { badField, Fault, type Item, type Plugin, type StreamEvent, type Tap } from 'headgate/plugin-api'

interface Settings {
  /** Fault in `shape`. */
  shape?: string
  /** Fault with the reply. */
  tap?: string
  /** Nano-dollars declared, and charged one after the other. */
  bound?: number
  charges?: number[]
  path: string
}

/** Trace that is left for a test of the same process. */
export interface Memory {
  late: (() => void)[]
  /** Sum of the charges. */
  charged: boolean[]
  aborted: unknown[]
}

const memory = (): Memory => (globalThis as unknown as { troubled: Memory }).troubled

/** Changes the items of a draft. */
function items(make: (old: Item[]) => unknown) {
  return (draft: { items: Item[] }): void => {
    draft.items = make(draft.items) as Item[]
  }
}

function mark(text: string): Item {
  return { kind: 'message', role: 'system', parts: [{ kind: 'text', text }] }
}

const troubled: Plugin<Settings> = {
  id: 'troubled',

  parse({ shape, tap, bound, charges, parse }, path) {
    if (parse === 'throw') throw new Error('secret prompt')
    if (parse === 'promise') return Promise.reject(new Error('secret prompt')) as unknown as Settings
    if (bound !== undefined && (typeof bound !== 'number' || bound > 5_000_000_000))
      throw badField(`${path}.bound`, 'expected at most 5000000000')
    return { shape, tap, bound, charges, path } as Settings
  },

  bound: (_exchange, { bound = 0 }) => bound,

  shape(exchange, { shape, charges = [], path }) {
    for (const nano of charges) memory().charged.push(exchange.charge(nano, 'search'))
    exchange.cancel.onAbort(() => memory().aborted.push(exchange.cancel.reason))
    if (shape !== undefined && shape !== 'idle')
      exchange.edit(
        'troubled',
        items((old) => [mark('marked'), ...old]),
      )
    switch (shape) {
      case 'say':
        exchange.stages.push({ type: 'plugin', name: 'troubled', summary: 'first', data: { a: 1 } })
        exchange.stages.push({ type: 'plugin', name: 'troubled', summary: 'second', data: { b: 2 } })
        return undefined
      case 'junk-stage': {
        const round: Record<string, unknown> = {}
        round.self = round
        exchange.stages.push(7 as never, { type: 5, name: 'x', data: round } as never)
        return undefined
      }
      case 'throw':
        throw new Error('secret prompt')
      case 'throw-nothing':
        throw undefined
      case 'reject':
        return Promise.reject(new Error('secret prompt'))
      case 'upstream':
        return Promise.reject(new Fault('upstream_error'))
      case 'refuse':
        throw badField(`${path}.shape`, 'expected another')
      case 'junk':
        exchange.edit(
          'troubled',
          items(() => 'nonsense'),
        )
        return undefined
      case 'junk-item':
        exchange.edit('troubled', (draft) => void draft.items.push({ kind: 'message', role: 'user' } as never))
        return undefined
      case 'junk-value':
        return 7 as never
      case 'hang':
        return new Promise((_, reject) => {
          memory().late.push(() => {
            exchange.edit(
              'troubled',
              items(() => []),
            )
            memory().charged.push(exchange.charge(1, 'late'))
            exchange.stages.push({ type: 'plugin', name: 'late' })
            reject(new Error('secret prompt'))
          })
        })
      case 'wait':
        return new Promise((resolve) => memory().late.push(resolve))
      default:
        return undefined
    }
  },

  tap(_exchange, { tap }) {
    if (tap === 'throw') throw new Error('secret prompt')
    if (tap === 'promise') return Promise.reject(new Error('secret prompt')) as unknown as Tap
    if (tap === 'junk') return { mode: 'both' } as unknown as Tap
    if (tap === undefined) return undefined
    const [mode, what, when = '0'] = tap.split(' ')
    let left = Number(when)
    const held: StreamEvent[] = []
    const push = (event: StreamEvent, emit: (event: StreamEvent) => void): unknown => {
      if (event.type === 'block-delta' && left-- <= 0) {
        if (what === 'throw' || what === 'hold' || what === 'shout') throw new Error('secret prompt')
        if (what === 'promise') return Promise.reject(new Error('secret prompt'))
        if (what === 'junk') emit({ type: 'nonsense' } as never)
        if (what === 'refuse') throw new Fault('guardrail_blocked')
      }
      if (what === 'shout' && event.type === 'block-delta') emit({ ...event, text: event.text.toUpperCase() })
      else if (what === 'hold') held.push(event)
      else emit(event)
      return undefined
    }
    return { mode: mode as Tap['mode'], push: push as Tap['push'] }
  },
}

export default troubled
