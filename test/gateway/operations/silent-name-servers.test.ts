/** Providers whose name servers are silent hold up no other, with the system's own resolver (glibc) and a real name server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bubblewrap, bubblewrapDemanded } from '../../support/bubblewrap.ts'
import { ownNetwork } from '../../support/name-server.ts'

interface Result {
  first: { status: number; ms: number }
  known: { failed: number; slowest: number }
  late: { status: number; ms: number }
  own: number
  silent: number[]
  causes: (string | null)[]
  queries: number
}

t.test(
  'eight providers with silent name servers',
  { skip: bubblewrap === undefined && !bubblewrapDemanded && 'no bubblewrap here' },
  async (t) => {
    const settings = join(t.testdir({}), 'resolv.conf')
    writeFileSync(settings, 'nameserver 127.0.0.1\n')
    const script = join(import.meta.dirname, '../../support/silent-names.ts')
    const child = spawn(bubblewrap ?? 'bwrap', [...ownNetwork(settings), process.execPath, script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill())
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await once(child, 'close')
    const { first, known, late, own, silent, causes, queries } = JSON.parse(text) as Result
    t.comment(text)
    t.equal(first.status, 200)
    t.equal(known.failed, 0, 'a name that is known serves on')
    t.ok(known.slowest < 1_500, `within ${known.slowest} ms`)
    t.equal(late.status, 200, 'so does one that is looked up for the first time')
    t.ok(late.ms < 1_500, `within ${late.ms} ms`)
    t.ok(own >= 0 && own < 1_500, `a look-up of another part of the program takes ${own} ms`)
    t.same(silent, Array(8).fill(524))
    t.same(causes, ['name_timeout'])
    t.ok(queries <= 2, `${queries} look-ups of one name for 41 calls`)
  },
)
