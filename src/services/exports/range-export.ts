/**
 * An export of a past range on demand: batches in the order of admission, each delivered before the next one is read. A run has a
 * position after each batch, from which it can go on later with the same names and the same bytes.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock } from '../../core/clock.ts'
import type { LedgerPlace } from '../../ledger/types.ts'
import { batchId, type Destination, type ExportSettings, objectName } from './destination.ts'

/** One settled generation. */
export interface ExportedLine extends LedgerPlace {
  /** JSON with its line end. */
  readonly text: string
}

/** Progress of a run. */
export interface RunPosition extends LedgerPlace {
  /** Milliseconds since the epoch: names its batches. */
  readonly begunAt: number
  /** Batches that have come. */
  readonly batches: number
}

/** Before the first generation. */
export const AT_BEGIN: LedgerPlace = { seq: -1, tag: '' }

export interface RangeRun {
  readonly settings: Pick<ExportSettings, 'name' | 'path' | 'compression' | 'rows'>
  readonly destination: Pick<Destination, 'deliver'>
  /** Rows behind the position. */
  readonly lines: AsyncIterable<ExportedLine>
  readonly position: RunPosition
  readonly clock: Clock
  /** True: no further batch is begun. */
  readonly stopped?: () => boolean
  /** After each batch. @param rows of this call. */
  readonly progress: (position: RunPosition, rows: number) => void
  /** Before a batch is tried again. @param pause milliseconds. */
  readonly failed?: (error: unknown, pause: number) => void
}

/** Tries of one batch, and milliseconds before the second: doubled each time. */
const MAX_TRIES = 5
const FIRST_PAUSE = 1_000

/** @returns the generations that were delivered. @throws what the destination throws for a batch that it does not take. */
export async function exportRange(run: RangeRun): Promise<number> {
  const { settings, destination, lines, position, stopped, progress } = run
  let at = position
  let rows = 0
  let pieces: string[] = []
  let last: LedgerPlace = position
  const send = async (): Promise<void> => {
    const batch = { begunAt: at.begunAt, number: at.batches + 1 }
    const plain = Buffer.from(pieces.join(''))
    const isGzip = settings.compression === 'gzip'
    const delivery = {
      name: objectName(settings.path, settings.name, batch, settings.compression),
      token: `${settings.name}-range-${batchId(batch)}`,
      body: isGzip ? await promisify<Buffer, Buffer>(gzip)(plain) : plain,
      isGzip,
    }
    await persistently(() => destination.deliver(delivery), run)
    rows += pieces.length
    pieces = []
    at = { begunAt: at.begunAt, batches: batch.number, seq: last.seq, tag: last.tag }
    progress(at, rows)
  }
  for await (const line of lines) {
    pieces.push(line.text)
    last = line
    if (pieces.length < settings.rows) continue
    await send()
    if (stopped?.()) return rows
  }
  if (pieces.length > 0) await send()
  return rows
}

async function persistently(deliver: () => Promise<void>, { clock, stopped, failed }: RangeRun): Promise<void> {
  for (let tries = 1, pause = FIRST_PAUSE; ; tries++, pause *= 2) {
    try {
      return await deliver()
    } catch (error) {
      if (tries >= MAX_TRIES || stopped?.()) throw error
      failed?.(error, pause)
      await new Promise<void>((resolve) => void clock.after(pause, resolve))
    }
  }
}

/** As people pass it on: `<begun>.<batches>.<seq>.<tag>`. */
export const positionText = ({ begunAt, batches, seq, tag }: RunPosition): string =>
  `${begunAt}.${batches}.${seq}${tag === '' ? '' : `.${tag}`}`

/** One without a tag, as versions before 0.2 have shown it, repeats what was admitted at its sequence. @returns undefined for a text that is none. */
export function readPosition(text: string): RunPosition | undefined {
  const [, begun, batches, seq, tag = ''] = /^(\d{1,15})\.(\d{1,9})\.(-1|\d{1,16})(?:\.([\w-]{12}))?$/.exec(text) ?? []
  const numbers = { begunAt: Number(begun), batches: Number(batches), seq: Number(seq) }
  return Object.values(numbers).every(Number.isSafeInteger) ? { ...numbers, tag } : undefined
}
