/** The tables of docs/behaviour/model-servers.md: what the tests with real model servers have counted and hold. */
import { readFileSync } from 'node:fs'
import { type HeldBy, ROWS } from '../test/servers-real/rows.ts'
import { markdownTable } from './markdown-table.ts'

interface Counts {
  readonly equal: number
  readonly ours: number
  readonly known: number
}

/** As `test/servers-real/conversation-suite.ts` writes them. */
type Figures = Readonly<Record<string, { version: string; wires: Readonly<Record<string, Counts>> }>>

export function modelServerFigures(): string {
  const text = readFileSync(new URL('../test/fixtures/model-servers.json', import.meta.url), 'utf8')
  const rows = Object.entries(JSON.parse(text) as Figures).flatMap(([server, { version, wires }]) =>
    Object.entries(wires).map(([wire, { equal, ours, known }]) => [
      server,
      version,
      `\`${wire}\``,
      String(equal + ours + known),
      String(equal),
      String(known),
      String(ours),
    ]),
  )
  return markdownTable(['Server', 'Version', 'Wire', 'Replies', 'Equal', "Differ by the server's doing", 'Differ by ours'], rows)
}

export function modelServerRows(): string {
  const head = ['Server', 'Request', 'What the server does', 'What headgate makes of it', 'Test']
  return markdownTable(
    head,
    ROWS.map(({ server, request, does, makes, tests }) => [server, request, does, makes, heldBy(tests)]),
  )
}

export const heldBy = (tests: readonly HeldBy[]): string => tests.map(([file, title]) => `\`${file}\`: ${title}`).join('; ')
