/** A start with a clock that is ahead dates what it serves, and nothing of what later starts serve; all of it is listed, exported and said. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock, JumpingClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { storedLines } from '../../support/object-store.ts'
import { startScene } from '../../support/scene.ts'

const DAY = 86_400_000

t.test('one start three days ahead, and one with the right clock', async (t) => {
  const folder = t.testdir()
  const out = join(folder, 'out')
  const yaml = `store: { url: "sqlite:${join(folder, 'headgate.db')}" }
exports: [ { name: lake, file: { path: "${out}" }, path: "{name}-{batch}", compression: none, rows: 2, interval: 1m } ]`
  const ask = async (scene: { ask(): Promise<Response> }, count: number): Promise<string[]> => {
    const ids: string[] = []
    for (let i = 0; i < count; i++) {
      const reply = await scene.ask()
      await reply.text()
      ids.push(String(reply.headers.get('x-generation-id')))
    }
    return ids
  }
  const wrong = new FakeClock()
  await wrong.advance(3 * DAY)
  const first = await startScene(t, { yaml, clock: wrong })
  const ahead = await ask(first, 5)
  await first.gateway.close()

  const clock = new JumpingClock()
  const scene = await startScene(t, { yaml, clock })
  const now = await ask(scene, 5)
  t.match(scene.gateway.logs.join('\n'), `"kind":"rows-ahead","until":"${new Date(wrong.now()).toISOString()}"`)
  const rows = scene.rows()
  t.same(
    rows.map(({ id }) => id),
    [...now, ...ahead],
  )
  t.ok(
    rows.slice(0, 5).every(({ at }) => Math.abs(at - clock.now()) < 1000),
    'what comes later has its own time',
  )
  const checked = (await (await adminFetch(`${scene.gateway.admin}/ledger/verify/full`)).json()) as JsonObject
  t.match(checked, { ok: true, generations: 10 })

  const delivered = (): string[] =>
    existsSync(out)
      ? readdirSync(out)
          .filter((name) => name.endsWith('.jsonl'))
          .sort()
          .flatMap((name) => storedLines(readFileSync(join(out, name))).map(({ id }) => String(id)))
      : []
  await eventually('all are exported', async () => {
    await clock.advance(60_000)
    return delivered().length >= 10
  })
  clock.jumpTo(new Date(wrong.now() + DAY).toISOString())
  const later = await ask(scene, 1)
  await eventually('the one of later is exported', async () => {
    await clock.advance(60_000)
    return delivered().includes(String(later[0]))
  })
  t.same(delivered().sort(), [...now, ...ahead, ...later].sort(), 'each once, also when their time has come')
})

t.test('a clock that steps back while the gateway runs', async (t) => {
  const clock = new JumpingClock()
  const scene = await startScene(t, { clock })
  const start = clock.now()
  const ask = async (): Promise<void> => void (await (await scene.ask()).text())
  await ask()
  clock.jumpTo(new Date(start + 3 * DAY).toISOString())
  await ask()
  clock.jumpTo(new Date(start + 120_000).toISOString())
  await ask()
  t.same(
    scene.rows().map(({ at }) => Math.round((at - start) / 60_000)),
    [0, 2, 3 * 24 * 60],
    'no number of that time had been drawn',
  )
  t.match(scene.gateway.logs.join('\n'), '"kind":"clock-stepped"')
  clock.jumpTo(new Date(start + 60_000).toISOString())
  await ask()
  t.equal(scene.rows().filter(({ at }) => at - start < 200_000).length, 3, 'it goes on from the last one')
})
