/** Look-ups of generations in batches: however many a caller requests at once, few round trips answer them all. */
import { type Connection, type Prepared, tooManyWait } from './connection.ts'
import { GENERATION_COLUMNS, type GenerationTable } from './tables.ts'

interface Wanted extends PromiseWithResolvers<GenerationTable | undefined> {
  readonly seq: number
  readonly tag: string
}

const FIND: Prepared = {
  name: 'headgate_find_generations',
  text: `SELECT ${GENERATION_COLUMNS.map((name) => `g.${name}`).join(', ')} FROM unnest($1::bigint[], $2::text[]) AS wanted (seq, tag)
    JOIN generation g ON g.seq = wanted.seq AND g.tag = wanted.tag`,
}
/** Rows of one round trip: each may have some KB of facts. */
const MAX_IN_BATCH = 64
/** Different generations that wait at once. */
const MAX_WAITING = 1_024

export class GenerationLookUps {
  private readonly connection: Connection
  private readonly waiting = new Map<string, Wanted>()
  private isRunning = false

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** @throws Fault `unavailable`, also where too many wait. */
  async find(seq: number, tag: string): Promise<GenerationTable | undefined> {
    const name = generationName({ seq, tag })
    let wanted = this.waiting.get(name)
    if (!wanted) {
      if (this.waiting.size >= MAX_WAITING) throw tooManyWait()
      wanted = { seq, tag, ...Promise.withResolvers<GenerationTable | undefined>() }
      this.waiting.set(name, wanted)
      if (!this.isRunning) void this.run()
    }
    return wanted.promise
  }

  private async run(): Promise<void> {
    this.isRunning = true
    while (this.waiting.size > 0) {
      const batch = [...this.waiting.values()].slice(0, MAX_IN_BATCH)
      for (const wanted of batch) this.waiting.delete(generationName(wanted))
      await this.read(batch)
    }
    this.isRunning = false
  }

  private async read(batch: readonly Wanted[]): Promise<void> {
    try {
      const rows = await this.connection.call<GenerationTable>(FIND, [batch.map(({ seq }) => seq), batch.map(({ tag }) => tag)])
      const found = new Map(rows.map((row) => [generationName(row), row]))
      for (const wanted of batch) wanted.resolve(found.get(generationName(wanted)))
    } catch (thrown) {
      for (const { reject } of batch) reject(thrown)
    }
  }
}

function generationName({ seq, tag }: { seq: number; tag: string }): string {
  return `${seq} ${tag}`
}
