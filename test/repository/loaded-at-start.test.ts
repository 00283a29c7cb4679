/** Memory of a gateway before its first request: packages of features that are off are not among it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { serveProgram } from '../support/program.ts'

/** Told by the process itself as it ends: names of packages, and whether Node had to load its own undici. */
const RECORDER = `
import { registerHooks } from 'node:module'
const packages = new Set()
registerHooks({
  load(url, context, next) {
    const name = /.*\\/node_modules\\/(@[^/]+\\/[^/]+|[^/]+)/.exec(url)?.[1]
    if (name) packages.add(name)
    return next(url, context)
  },
})
process.on('exit', () => console.log('LOADED ' + JSON.stringify({
  packages: [...packages],
  ownUndici: process.moduleLoadList.some((name) => name.includes('deps/undici')),
})))`

const WANTED = ['yaml', 'typebox', 'undici', 'pino']
const FOR_LATER = [
  're2js',
  'http-proxy-3',
  'ajv',
  'prom-client',
  'pg',
  'kysely',
  'ioredis',
  'jose',
  'openid-client',
  'oauth4webapi',
  'linkedom',
  'unpdf',
  'mammoth',
  'turndown',
  '@modelcontextprotocol/client',
  '@pydantic/genai-prices',
  '@aws-sdk/credential-providers',
]

test('a start loads what serving needs, and nothing of what is off', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-loaded-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const recordExchange = join(folder, 'recorder.mjs')
  writeFileSync(recordExchange, RECORDER)
  const config = join(folder, 'headgate.yaml')
  const text = `server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
store: { url: "sqlite:${join(folder, 'ledger.db')}" }
providers:
  sim: { dialect: sim }
models:
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "0", completion: "0" } } ] }
`
  writeFileSync(config, text)
  const program = await serveProgram(['--config', config], { nodeFlags: ['--import', recordExchange] })
  program.child.kill('SIGTERM')
  await program.exited
  const told = /LOADED (.*)/.exec(program.out())?.[1]
  t.ok(told, 'the process tells what it has loaded')
  const { packages, ownUndici } = JSON.parse(told ?? '{}') as { packages: string[]; ownUndici: boolean }
  for (const name of WANTED) t.ok(packages.includes(name), `${name} is loaded: the recorder sees packages`)
  for (const name of FOR_LATER) t.notOk(packages.includes(name), `${name} waits until it is asked for`)
  t.equal(ownUndici, false, "node's own undici is not loaded for the sake of http.WebSocket")
})
