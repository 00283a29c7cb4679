/** Roots of Debian, each downloaded once by the long run and copied for each test. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const KEPT = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'debian-root')

/** Names of the roots, and what each has beside Debian's essential packages: the library that Node needs; systemd as process 1. */
const PACKAGES = { bookworm: 'libstdc++6', 'bookworm-systemd': 'libstdc++6,systemd-sysv,init-system-helpers' } as const

/** @returns what is wrong where the root cannot be made. */
export function debianRoot(name: keyof typeof PACKAGES, to: string): string | undefined {
  const kept = join(KEPT, name)
  if (!existsSync(kept)) {
    if (process.env.HEADGATE_LONG !== '1') return 'its download takes minutes: npm run test:delivery -- --long makes it, once'
    const part = `${kept}.part-${process.pid}`
    mkdirSync(KEPT, { recursive: true })
    const made = spawnSync('mmdebstrap', ['--variant=essential', `--include=${PACKAGES[name]}`, 'bookworm', part], { encoding: 'utf8' })
    if (made.status !== 0) {
      rmSync(part, { recursive: true, force: true })
      return made.stderr.slice(-300)
    }
    renameSync(part, kept)
  }
  execFileSync('cp', ['-a', kept, to])
  return undefined
}
