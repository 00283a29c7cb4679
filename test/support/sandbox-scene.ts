/** A sandbox of its own for a test: in bubblewrap where it can be, else by a shell that isolates nothing. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type Ran, Sandbox, sandboxSettings } from '../../src/services/sandbox/index.ts'
import { bubblewrap, bubblewrapState } from './bubblewrap.ts'

const STAND_IN = ['sh', '-c', 'cd "$0" && eval "$1"', '{folder}']
const way: JsonObject = bubblewrap ? { type: 'bubblewrap', program: bubblewrap } : { type: 'command', command: STAND_IN }

export interface SandboxScene {
  folder: string
  sandbox: Sandbox
  run(
    command: string,
    more?: { id?: string; key?: string; time?: number; signal?: AbortSignal; output?: number; clock?: typeof systemClock },
  ): Promise<Ran>
}

export function sandboxScene(t: Test, settings: JsonObject = {}): SandboxScene {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-sandbox-'))
  t.teardown(() => execFileSync('sh', ['-c', 'chmod -R u+rwX "$1"; rm -rf "$1"', 'sh', folder], { stdio: 'ignore' }))
  const parsed = sandboxSettings({ ...way, folder, seconds: 20, ...settings }, 'sandbox')
  if (!parsed) throw new Error('no settings')
  const sandbox = new Sandbox(parsed)
  return {
    folder,
    sandbox,
    run: (command, { id = 'one', key = 'key', time, signal = new AbortController().signal, output, clock = systemClock } = {}) =>
      sandbox.run(command, { key, id, sleepAfter: 900_000 }, { clock, signal, time, output }),
  }
}

/** The reason for which isolation is not tested; false where it is. */
export const withoutIsolation =
  !bubblewrap && (bubblewrapState === 'barred' ? 'bwrap may make no namespaces on this machine' : 'bwrap is not installed')
