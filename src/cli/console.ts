/** Where a verb writes: the process's own streams, or a test's. */

export interface Streams {
  out: (line: string) => void
  error: (line: string) => void
}

export const CONSOLE: Streams = {
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`),
}
