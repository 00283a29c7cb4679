#!/usr/bin/env node
// Plain JavaScript that any Node can read: finds a Node that can run the gateway, or says in one line what is missing.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const NEEDED = 24
const root = fileURLToPath(new URL('..', import.meta.url))

if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  const own = `${root}node_modules/.bin/node`
  if (!existsSync(own) || process.env.HEADGATE_RESPAWNED) {
    console.error(`headgate needs Node ${NEEDED} or newer; this is Node ${process.versions.node}. Run npm ci to install one beside it.`)
    process.exit(1)
  }
  const { status, signal } = spawnSync(own, process.argv.slice(1), { stdio: 'inherit', env: { ...process.env, HEADGATE_RESPAWNED: '1' } })
  process.exit(signal ? 1 : (status ?? 1))
}

enableCompileCache?.()
const built = `${root}dist/src/cli/main.js`
const { run } = await import(existsSync(built) && !existsSync(`${root}src`) ? built : '../src/cli/main.ts')
await run(process.argv.slice(2))
