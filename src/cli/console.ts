/** Output of a verb: the process's own streams, or a test's; and how it counts things there. */

export interface Streams {
  out: (line: string) => void
  error: (line: string) => void
}

export const CONSOLE: Streams = {
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`),
}

/** `1 model`, `2 models`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
