/** Delivered programs load few files at its start: each module of its own costs memory for as long as the process lives (decision 26). */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { buildProgram } from '../../scripts/build-program.ts'
import { serveProgram } from '../support/program.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** Printed by the process itself as it ends: how many files it has loaded, by package. */
const RECORDER = `
import { registerHooks } from 'node:module'
const files = {}
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) {
      const name = /.*\\/node_modules\\/(@[^/]+\\/[^/]+|[^/]+)/.exec(url)?.[1] ?? 'program'
      files[name] = (files[name] ?? 0) + 1
    }
    return next(url, context)
  },
})
process.on('exit', () => console.log('LOADED ' + JSON.stringify(files)))`

const CONFIG = `server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
store: { url: "memory:" }
auth: { keys: [ { name: test, key: sk-router-v1-built } ] }
providers:
  sim: { dialect: sim }
models:
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "0", completion: "0" } } ] }
`

t.setTimeout(280_000)

t.test('the built program answers, from few files', async (t) => {
  // In the checkout, for the libraries that it loads from beside it.
  const folder = join(ROOT, 'dist', `test-${process.pid}`)
  const work = mkdtempSync(join(tmpdir(), 'headgate-built-'))
  t.teardown(() => {
    for (const path of [folder, work]) rmSync(path, { recursive: true, force: true })
  })
  const launcher = join(folder, 'bin', 'headgate.js')
  cpSync(join(ROOT, 'bin', 'headgate.js'), launcher)
  await buildProgram(join(folder, 'dist'))
  const chunks = join(folder, 'dist', 'program')
  const texts = readdirSync(chunks)
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(chunks, name), 'latin1'))
  t.ok(texts.length > 100, `${texts.length} files`)
  t.notOk(
    texts.some((text) => /[^\0-\x7f]/.test(text)),
    'no letter that has V8 keep a text in two bytes per letter',
  )
  const recordExchange = join(work, 'recorder.mjs')
  writeFileSync(recordExchange, RECORDER)
  const config = join(work, 'headgate.yaml')
  writeFileSync(config, CONFIG)
  const program = await serveProgram(['--config', config], { nodeFlags: ['--import', recordExchange], launcher })
  const url = /listens on (\S+)/.exec(program.out())?.[1]
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-router-v1-built', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  t.equal(reply.status, 200, await reply.text())
  program.child.kill('SIGTERM')
  await program.exited
  const files = JSON.parse(/LOADED (.*)/.exec(program.out())?.[1] ?? '{}') as Record<string, number>
  const { program: own = 0, ...libraries } = files
  t.ok(own > 10 && own < 180, `${own} files of the program`)
  t.notOk('typebox' in libraries || 'yaml' in libraries, 'the libraries of many modules are among them')
  t.notOk('@marcbachmann/cel-js' in libraries, 'the library of conditions is not loaded without one')
  const beside = Object.values(libraries).reduce((sum, count) => sum + count, 0)
  t.ok(beside > 10 && beside < 100, `${beside} files of libraries: ${JSON.stringify(libraries)}`)
})
