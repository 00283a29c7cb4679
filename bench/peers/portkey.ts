/** Portkey's gateway from npm, for comparison: installed into a temporary folder for the length of a run. */
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, keepTrack, stop } from '../processes.ts'
import type { Target } from '../targets.ts'

const START_MS = 20_000

/** An installed Portkey; its package file pins versions, since a plain install brings a web framework that breaks streaming. */
export interface InstalledPortkey {
  readonly folder: string
  remove(): void
}

/** @throws Error when npm fails. */
export function installPortkey(): InstalledPortkey {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-portkey-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.on('exit', remove)
  copyFileSync(fileURLToPath(new URL('portkey/package.json', import.meta.url)), join(folder, 'package.json'))
  const done = spawnSync('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (done.status !== 0) throw new Error(`npm could not install Portkey's gateway:\n${done.stderr}`)
  return { folder, remove }
}

async function listening(port: number): Promise<void> {
  const deadline = performance.now() + START_MS
  while (performance.now() < deadline) {
    const reply = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
    await reply?.text()
    if (reply !== undefined) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error("Portkey's gateway did not start")
}

/** Starts an installed Portkey in front of the mock. */
export async function startPortkey(installed: InstalledPortkey, upstream: number): Promise<Target> {
  const port = await freePort()
  const script = join(installed.folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js')
  const child = keepTrack(
    spawn(process.execPath, [script, `--port=${port}`, '--headless'], {
      cwd: installed.folder,
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'ignore'],
    }),
  )
  await listening(port)
  return {
    name: 'portkey',
    port,
    pid: child.pid,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `http://127.0.0.1:${upstream}/v1` },
    stop: () => stop(child),
    check: async () => undefined,
  }
}
