/** A gateway whose event loop and heap are watched from inside. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Gateway, startGateway } from './gateway.ts'
import type { Probed } from './large-bodies-probe.ts'

export interface ProbedGateway {
  readonly gateway: Gateway
  /** Figures since the last call; collects the gateway's garbage. */
  read(): Promise<Probed>
  stop(): Promise<void>
}

/** Starts the gateway in front of the mock with the probe loaded. @throws Error when it does not start. */
export async function startProbedGateway(upstream: number): Promise<ProbedGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-probe-'))
  const file = join(folder, 'probed.json')
  process.env.HEADGATE_BENCH_PROBE = file
  const nodeFlags = ['--expose-gc', '--import', new URL('./large-bodies-probe.ts', import.meta.url).href]
  const gateway = await startGateway(upstream, { nodeFlags })
  return {
    gateway,
    async read() {
      rmSync(file, { force: true })
      gateway.child.kill('SIGUSR2')
      for (;;) {
        if (gateway.child.exitCode !== null) throw new Error(`the gateway ended with code ${gateway.child.exitCode}:\n${gateway.logTail()}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
        try {
          return JSON.parse(readFileSync(file, 'utf8')) as Probed
        } catch {
          // Not written yet.
        }
      }
    },
    async stop() {
      await gateway.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
