import { EventEmitter } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { restartReasons } from '../../src/config/restart.ts'
import { type ConfigWatch, type Reload, watchConfig } from '../../src/config/watch.ts'
import { systemClock } from '../../src/core/clock.ts'
import { FakeClock } from '../support/clock.ts'

const text = (model: string, more = ''): string => `providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: ${model} } ] } }
${more}`

interface Scene {
  file: string
  clock: FakeClock
  signals: EventEmitter
  outcomes: Reload[]
  watch: ConfigWatch
  /** Tells the watcher that an entry of a directory changed. */
  changed: (name: string | null) => void
  directories: Set<string>
}

function scene(t: Test, first = text('echo')): Scene {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-reload-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'gateway.yaml')
  writeFileSync(file, first)
  const listeners = new Map<string, (name: string | null) => void>()
  const clock = new FakeClock()
  const signals = new EventEmitter()
  const outcomes: Reload[] = []
  const load = () => loadConfig(file, {})
  const watch = watchConfig(load(), {
    load,
    onReload: (reload) => outcomes.push(reload),
    clock,
    signals,
    watchDirectory: (path, listener) => {
      listeners.set(path, listener)
      return () => listeners.delete(path)
    },
  })
  t.teardown(() => watch.close())
  const changed = (name: string | null): void => {
    for (const listener of listeners.values()) listener(name)
  }
  return { file, clock, signals, outcomes, watch, changed, directories: new Set(listeners.keys()) }
}

const modelOf = (reload: Reload): string => (reload.kind === 'applied' ? reload.config.models['sim/echo'].endpoints[0].model : reload.kind)

t.test('SIGHUP reloads at once, also an unchanged file', async (t) => {
  const { file, signals, outcomes } = scene(t)
  signals.emit('SIGHUP')
  writeFileSync(file, text('story'))
  signals.emit('SIGHUP')
  t.same(outcomes.map(modelOf), ['echo', 'story'])
})

t.test('changes are gathered for 100 ms', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  writeFileSync(file, text('story'))
  changed('gateway.yaml')
  await clock.advance(60)
  changed('gateway.yaml')
  await clock.advance(99)
  t.equal(outcomes.length, 0)
  await clock.advance(1)
  t.same(outcomes.map(modelOf), ['story'])
})

t.test('an event without a change of content, or of another file, reloads nothing', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  changed('gateway.yaml')
  await clock.advance(100)
  writeFileSync(file, text('story'))
  changed('other.yaml')
  await clock.advance(100)
  t.equal(outcomes.length, 0)
  changed('..data')
  await clock.advance(100)
  t.same(outcomes.map(modelOf), ['story'], 'a mounted volume that swaps its link')
})

t.test('an editor that renames a new file into place', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  for (const model of ['story', 'think']) {
    writeFileSync(`${file}.tmp`, text(model))
    renameSync(`${file}.tmp`, file)
    changed('gateway.yaml')
    await clock.advance(100)
  }
  t.same(outcomes.map(modelOf), ['story', 'think'])
})

t.test('a half-written file keeps the old one, and the rest of it arrives', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  const whole = text('story')
  writeFileSync(file, whole.slice(0, whole.indexOf('endpoints') + 3))
  changed('gateway.yaml')
  await clock.advance(100)
  writeFileSync(file, whole)
  changed('gateway.yaml')
  await clock.advance(100)
  t.same(outcomes.map(modelOf), ['failed', 'story'])
  const [failed] = outcomes
  t.ok(failed.kind === 'failed' && failed.error instanceof ConfigError)
})

t.test('a file that is gone for a moment', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  rmSync(file)
  changed('gateway.yaml')
  await clock.advance(100)
  writeFileSync(file, text('echo'))
  changed('gateway.yaml')
  await clock.advance(100)
  t.same(outcomes.map(modelOf), ['failed', 'echo'])
})

t.test('a change that needs a restart keeps the old file and says so', async (t) => {
  const { file, signals, outcomes } = scene(t)
  writeFileSync(file, text('story', 'server: { port: 9999 }\nadmin: { host: "::1" }\n'))
  signals.emit('SIGHUP')
  t.same(outcomes, [{ kind: 'refused', reasons: ['server.port', 'admin.host'] }])
  writeFileSync(file, text('story'))
  signals.emit('SIGHUP')
  t.same(modelOf(outcomes[1]), 'story', 'measured against what runs, not against what was refused')
})

t.test('catalogue files that a reload adds are watched', async (t) => {
  const { file, clock, changed, signals, outcomes } = scene(t)
  const catalog = join(file, '..', 'more.yaml')
  writeFileSync(catalog, 'models: { sim/a: { endpoints: [ { provider: sim, model: echo } ] } }\n')
  writeFileSync(file, text('echo', 'catalog: [ more.yaml ]\n'))
  signals.emit('SIGHUP')
  writeFileSync(catalog, 'models: { sim/b: { endpoints: [ { provider: sim, model: echo } ] } }\n')
  changed('more.yaml')
  await clock.advance(100)
  const last = outcomes.at(-1)
  t.equal(outcomes.length, 2)
  t.ok(last?.kind === 'applied' && 'sim/b' in last.config.models)
})

t.test('closing ends everything', async (t) => {
  const { file, clock, changed, signals, outcomes, watch } = scene(t)
  writeFileSync(file, text('story'))
  changed('gateway.yaml')
  watch.close()
  await clock.advance(1000)
  signals.emit('SIGHUP')
  t.equal(outcomes.length, 0)
  t.equal(signals.listenerCount('SIGHUP'), 0)
})

t.test('the real file system tells of a change', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-watch-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'gateway.yaml')
  writeFileSync(file, text('echo'))
  const load = () => loadConfig(file, {})
  // Nothing else keeps the process alive while it waits: the watcher and the clock's timers do not.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const outcome = new Promise<Reload>((resolve) => {
    const watch = watchConfig(load(), { load, onReload: resolve, clock: systemClock, signals: new EventEmitter() })
    t.teardown(() => watch.close())
  })
  writeFileSync(`${file}.new`, text('story'))
  renameSync(`${file}.new`, file)
  t.equal(modelOf(await outcome), 'story')
})

t.test('what needs a restart', async (t) => {
  const base = loadConfig('f.yaml', {}, { text: text('echo') })
  const reasons = (more: string): string[] => restartReasons(base, loadConfig('f.yaml', {}, { text: text('story', more) }))
  t.same(reasons(''), [])
  t.same(reasons('brand: { word: other }\nlimits: { requests: 1 }\nserver: { deadline: 1s, max_body: 1MB }\n'), [])
  t.same(reasons('server: { host: "::1", keep_alive: 5s, max_headers: 8KB, header_timeout: 1s, body_timeout: 2s }\n'), [
    'server.host',
    'server.max_headers',
    'server.keep_alive',
    'server.header_timeout',
    'server.body_timeout',
  ])
  const places = ['admin.port', 'store.url', 'store.durability', 'store.files.path']
  t.same(reasons('store: { url: "memory:", durability: power }\nadmin: { port: 1 }\n'), places)
  const files = ['store.files.path', 'store.files.max_file', 'store.files.max_bytes']
  t.same(reasons('store: { files: { path: elsewhere, max_file: 1MB, max_bytes: 2MB } }\n'), files)
})
