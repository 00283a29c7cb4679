/** Shell commands and files that a page of the documents shows, and a shell that runs them. */
import { execFile } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import type { Json } from '../../src/core/json.ts'
import { read } from '../repository/source-tree.ts'

export interface Block {
  page: string
  at: string
  code: string
  /** Why it cannot run here. */
  excuse: string | undefined
  /** The paragraph above it. */
  above: string
  /** The JSON that stands directly below it: what the command prints. */
  prints: Json | undefined
}

export function pageBlocks(page: string): Block[] {
  const text = read(page)
  return [...text.matchAll(/^( *)```(?:sh|bash)(?: (.*))?\n([\s\S]*?)^\1```\n(?:\n```json\n([\s\S]*?)^```$)?/gm)].map((match) => {
    const [, indent, info, code, json] = match
    const before = text.slice(0, match.index)
    return {
      page,
      at: `${page}:${before.split('\n').length}`,
      code: code.replaceAll(`\n${indent}`, '\n').trim(),
      excuse: info === undefined ? undefined : (/^no-test: (.+)$/.exec(info)?.[1] ?? ''),
      above: before.trimEnd().split('\n\n').at(-1) ?? '',
      prints: json === undefined ? undefined : (JSON.parse(json) as Json),
    }
  })
}

/** Files that a page tells its reader to save. */
export function savedFiles(page: string): [name: string, text: string][] {
  return [...read(page).matchAll(/Save this as `([\w.-]+)`[^`]*```yaml\n([\s\S]*?)^```$/gm)].map(([, name, text]) => [name, text])
}

export interface Outcome {
  failed: boolean
  out: string
  error: string
}

export function bash(script: string, cwd: string, env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    // tap hooks itself into every Node that a test starts, by NODE_OPTIONS.
    execFile('bash', ['-e', '-o', 'pipefail', '-c', `unset NODE_OPTIONS\n${script}`], { cwd, env }, (error, out, stderr) =>
      resolve({ failed: error !== null, out, error: stderr }),
    )
  })
}

export function executable(path: string, text: string): void {
  writeFileSync(path, text)
  chmodSync(path, 0o755)
}
