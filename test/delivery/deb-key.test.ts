/** The key for callers that the Debian package makes: dpkg itself installs, upgrades, removes and purges it in a folder of its own. */
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { singleFile } from './single-file.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PATHS = '/usr/sbin:/usr/bin:/sbin:/bin'

t.setTimeout(900_000)

function lacks(): string | undefined {
  for (const program of ['dpkg', 'dpkg-deb'])
    if (spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: PATHS } }).status !== 0) return program
  return process.getuid?.() === 0 ? undefined : 'the rights of root'
}

const LACKING = lacks()
if (LACKING !== undefined) {
  console.log(`*** SKIPPED: the key of the Debian package is not tried: this machine lacks ${LACKING} ***`)
  t.plan(0, `lacks ${LACKING}`)
  process.exit(0)
}

const built = t.testdir()
const args = [join(ROOT, 'scripts/build-deb.ts'), '--single-file', singleFile(), '--out', built]
const deb = execFileSync(process.execPath, args, { encoding: 'utf8' }).trim()

interface Machine {
  dpkg(...words: string[]): string
  /** `/etc/headgate/environment`; undefined where it is not there. */
  variables(): string | undefined
  readonly file: string
}

/** A folder that dpkg takes for the root: scripts of packages run outside it, and are given its path (`DPKG_ROOT`). */
function machine(t: Test): Machine {
  const root = t.testdir()
  for (const name of ['info', 'updates', 'triggers']) mkdirSync(join(root, 'var/lib/dpkg', name), { recursive: true })
  writeFileSync(join(root, 'var/lib/dpkg/status'), '')
  const file = join(root, 'etc/headgate/environment')
  return {
    file,
    dpkg: (...words) =>
      execFileSync('dpkg', [`--root=${root}`, '--force-script-chrootless', '--force-depends', ...words], {
        encoding: 'utf8',
        env: { PATH: PATHS, DEBIAN_FRONTEND: 'noninteractive' },
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    variables: () => {
      try {
        return readFileSync(file, 'utf8')
      } catch {
        return undefined
      }
    },
  }
}

let firstMachine: string | undefined

const LINE = /^HEADGATE_DEV_KEY=(sk-app-[0-9a-f]{56})\n$/

t.test('is made once, and kept until a purge', async (t) => {
  const { dpkg, variables, file } = machine(t)
  const utterance = dpkg('-i', deb)
  const first = variables() ?? ''
  firstMachine = first
  t.match(first, LINE)
  t.equal(statSync(file).mode & 0o777, 0o600, 'only root reads it')
  t.match(utterance, /key for callers is in \/etc\/headgate\/environment/)
  t.notOk(utterance.includes(LINE.exec(first)?.[1] ?? ''), 'what dpkg says, which is logged, does not have it')
  appendFileSync(file, 'OPENAI_API_KEY=sk-mine\n')
  const kept = `${first}OPENAI_API_KEY=sk-mine\n`
  dpkg('-i', deb)
  t.equal(variables(), kept, 'an upgrade keeps it')
  dpkg('--remove', 'headgate')
  t.equal(variables(), kept, 'so does a removal')
  dpkg('-i', deb)
  t.equal(variables(), kept, 'and the next installation')
  dpkg('--purge', 'headgate')
  t.equal(variables(), undefined)
})

t.test('is not made anew where an operator took it out', async (t) => {
  const { dpkg, variables, file } = machine(t)
  dpkg('-i', deb)
  t.match(variables(), LINE)
  t.not(variables(), firstMachine, 'each machine has its own')
  writeFileSync(file, 'OPENAI_API_KEY=sk-mine\n')
  dpkg('-i', deb)
  t.equal(variables(), 'OPENAI_API_KEY=sk-mine\n')
})

t.test('joins what stands in the file already', async (t) => {
  for (const [before, after] of [
    ['OPENAI_API_KEY=sk-mine', /^OPENAI_API_KEY=sk-mine\nHEADGATE_DEV_KEY=sk-app-[0-9a-f]{56}\n$/],
    ['HEADGATE_DEV_KEY=sk-own-0123456789abcdef\n', /^HEADGATE_DEV_KEY=sk-own-0123456789abcdef\n$/],
  ] as const) {
    const { dpkg, variables, file } = machine(t)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, before)
    dpkg('-i', deb)
    t.match(variables(), after)
  }
})
