import { EventEmitter, once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { type ConfigWatch, type Reload, restartReasons, watchConfig } from '../../src/config/watch.ts'
import { systemClock } from '../../src/core/clock.ts'
import { FakeClock } from '../support/clock.ts'
import { simulated } from '../support/simulated.ts'

const text = (model: string, more = ''): string => `${simulated('', model)}${more}`

interface Scene {
  file: string
  clock: FakeClock
  signals: EventEmitter
  outcomes: Reload[]
  watch: ConfigWatch
  /** Tells the watcher that its files changed. */
  changed: () => void
  /** Files that are watched now. */
  files: () => string[]
}

function scene(t: Test, first = text('echo')): Scene {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-reload-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'gateway.yaml')
  writeFileSync(file, first)
  const listeners = new Map<string, () => void>()
  const clock = new FakeClock()
  const signals = new EventEmitter()
  const outcomes: Reload[] = []
  const load = () => loadConfig(file, {})
  const watch = watchConfig(load(), {
    load,
    onReload: (reload) => outcomes.push(reload),
    clock,
    signals,
    watchFile: (path, listener) => {
      listeners.set(path, listener)
      return () => listeners.delete(path)
    },
  })
  t.teardown(() => watch.close())
  const changed = (): void => {
    for (const listener of listeners.values()) listener()
  }
  return { file, clock, signals, outcomes, watch, changed, files: () => [...listeners.keys()] }
}

const reloadModel = (reload: Reload): string =>
  reload.kind === 'applied' ? reload.config.models['sim/echo'].endpoints[0].model : reload.kind

t.test('SIGHUP reloads at once, also an unchanged file', async (t) => {
  const { file, signals, outcomes } = scene(t)
  signals.emit('SIGHUP')
  writeFileSync(file, text('story'))
  signals.emit('SIGHUP')
  t.same(outcomes.map(reloadModel), ['echo', 'story'])
})

t.test('changes are gathered for 100 ms', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  writeFileSync(file, text('story'))
  changed()
  await clock.advance(60)
  changed()
  await clock.advance(99)
  t.equal(outcomes.length, 0)
  await clock.advance(1)
  t.same(outcomes.map(reloadModel), ['story'])
})

t.test('an event without a change of content reloads nothing', async (t) => {
  const { file, clock, changed, outcomes, files } = scene(t)
  t.same(files(), [file])
  writeFileSync(file, text('echo'))
  changed()
  await clock.advance(100)
  t.equal(outcomes.length, 0)
})

t.test('what changes while the watch begins is seen', async (t) => {
  const { file, clock, outcomes } = scene(t)
  writeFileSync(file, text('story'))
  await clock.advance(100)
  t.same(outcomes.map(reloadModel), ['story'])
})

t.test('an editor that renames a new file into place', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  for (const model of ['story', 'think']) {
    writeFileSync(`${file}.tmp`, text(model))
    renameSync(`${file}.tmp`, file)
    changed()
    await clock.advance(100)
  }
  t.same(outcomes.map(reloadModel), ['story', 'think'])
})

t.test('a half-written file keeps the old one, and the rest of it arrives', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  const whole = text('story')
  writeFileSync(file, whole.slice(0, whole.indexOf('endpoints') + 3))
  changed()
  await clock.advance(100)
  writeFileSync(file, whole)
  changed()
  await clock.advance(100)
  t.same(outcomes.map(reloadModel), ['failed', 'story'])
  const [failed] = outcomes
  t.ok(failed.kind === 'failed' && failed.error instanceof ConfigError)
})

t.test('a file that is gone for a moment', async (t) => {
  const { file, clock, changed, outcomes } = scene(t)
  rmSync(file)
  changed()
  await clock.advance(100)
  writeFileSync(file, text('echo'))
  changed()
  await clock.advance(100)
  t.same(outcomes.map(reloadModel), ['failed', 'echo'])
})

t.test('a change that needs a restart keeps the old file and says so', async (t) => {
  const { file, signals, outcomes } = scene(t)
  writeFileSync(file, text('story', 'server: { port: 9999 }\nadmin: { host: "::1" }\n'))
  signals.emit('SIGHUP')
  t.same(outcomes, [{ kind: 'refused', reasons: ['server.port', 'admin.host'] }])
  writeFileSync(file, text('story'))
  signals.emit('SIGHUP')
  t.same(reloadModel(outcomes[1]), 'story', 'measured against what runs, not against what was refused')
})

t.test('catalogue files that a reload adds are watched', async (t) => {
  const { file, clock, changed, signals, outcomes, files } = scene(t)
  const catalog = join(file, '..', 'more.yaml')
  writeFileSync(catalog, 'models: { sim/a: { endpoints: [ { provider: sim, model: echo } ] } }\n')
  writeFileSync(file, text('echo', 'catalog: [ more.yaml ]\n'))
  signals.emit('SIGHUP')
  t.same(files(), [file, catalog])
  await clock.advance(100)
  writeFileSync(catalog, 'models: { sim/b: { endpoints: [ { provider: sim, model: echo } ] } }\n')
  changed()
  await clock.advance(100)
  const last = outcomes.at(-1)
  t.equal(outcomes.length, 2)
  t.ok(last?.kind === 'applied' && 'sim/b' in last.config.models)
})

t.test('closing ends everything', async (t) => {
  const { file, clock, changed, signals, outcomes, watch } = scene(t)
  writeFileSync(file, text('story'))
  changed()
  watch.close()
  await clock.advance(1000)
  signals.emit('SIGHUP')
  t.equal(outcomes.length, 0)
  t.equal(signals.listenerCount('SIGHUP'), 0)
})

t.test('the real file system tells of every change: a rename, and a mounted volume that swaps its link', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-watch-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const volume = (name: string, model: string): void => {
    mkdirSync(join(directory, name))
    writeFileSync(join(directory, name, 'gateway.yaml'), text(model))
    symlinkSync(name, join(directory, '..new'))
    renameSync(join(directory, '..new'), join(directory, '..data'))
  }
  volume('one', 'echo')
  const file = join(directory, 'gateway.yaml')
  symlinkSync('..data/gateway.yaml', file)
  const load = () => loadConfig(file, {})
  // Nothing else keeps the process alive while it waits: the watcher and the clock's timers do not.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const told = new EventEmitter()
  const watch = watchConfig(load(), {
    load,
    onReload: (reload) => told.emit('reload', reload),
    clock: systemClock,
    signals: new EventEmitter(),
  })
  t.teardown(() => watch.close())
  const next = async (): Promise<string> => reloadModel((await once(told, 'reload'))[0] as Reload)
  const swapped = next()
  volume('two', 'story')
  t.equal(await swapped, 'story')
  const renamed = next()
  writeFileSync(`${file}.new`, text('think'))
  renameSync(`${file}.new`, file)
  t.equal(await renamed, 'think')
  const written = next()
  writeFileSync(file, text('tools'))
  t.equal(await written, 'tools')
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
