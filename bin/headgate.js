#!/usr/bin/env node
// Plain JavaScript that any Node can read: finds a Node that can run the gateway, or says in one line what is missing.
import { executionAsyncResource } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const NEEDED = 24
const root = fileURLToPath(new URL('..', import.meta.url))

// One of the objects that Node makes for every tick is kept. A collection that finds none of them drops their hidden classes,
// and from then on each tick takes V8's slow way: 3 % of what a request costs.
process.nextTick(() => Object.assign(process, { [Symbol('tick')]: executionAsyncResource() }))

if (Number(process.versions.node.split('.')[0]) >= NEEDED) {
  // Handed over by an older Node: if that one dies without a word, nobody would own this process.
  if (process.env.HEADGATE_HANDED_OVER && process.connected) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
    process.channel?.unref()
  }
  // Filled by `npm ci` (scripts/prepare.js), so that the first start is as quick as any other.
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE ?? `${root}node_modules/.cache/headgate`)
  const source = `${root}src/cli/main.ts`
  const { run } = await import(existsSync(source) ? source : `${root}dist/src/cli/main.js`)
  await run(process.argv.slice(2))
} else {
  handOver(runtime())
}

/** The Node that is installed as an optional dependency, here or beside the package; undefined where there is none. */
function runtime() {
  try {
    return module.createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}

/** Runs the same command line on a newer Node, passes signals on and ends as it ends. */
function handOver(node) {
  if (node === undefined || process.env.HEADGATE_HANDED_OVER) {
    console.error(
      `headgate needs Node ${NEEDED} or newer; this is Node ${process.versions.node}. On Linux an npm install with optional dependencies brings one.`,
    )
    process.exit(1)
  }
  const child = spawn(node, process.argv.slice(1), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, HEADGATE_HANDED_OVER: '1' },
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : code))
}
