/** Output of a command of the program, run inside the test's own process. */
import type { Streams } from '../../src/cli/console.ts'

export interface Printed {
  code: number
  /** Lines, joined. */
  out: string
  error: string
}

/** @param command gets the streams to which it prints. @returns its exit code, and what it printed to each. */
export async function printed(command: (streams: Streams) => number | Promise<number>): Promise<Printed> {
  const [out, error]: [string[], string[]] = [[], []]
  const code = await command({ out: (line) => out.push(line), error: (line) => error.push(line) })
  return { code, out: out.join('\n'), error: error.join('\n') }
}
