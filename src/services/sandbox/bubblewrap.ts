/** Abilities of the bubblewrap of this machine: older ones lack some bounds, and containers forbid others. */
import { execFile } from 'node:child_process'
import { type BubblewrapFeatures, commandUser } from './argv.ts'
import { systemCallFilter } from './seccomp.ts'

const found = new Map<string, Promise<BubblewrapFeatures>>()

/** Milliseconds for one look. */
const TIMEOUT_MS = 5_000

/** Looks once per program and process. What cannot be found out counts as absent. */
export function bubblewrapFeatures(program: string): Promise<BubblewrapFeatures> {
  let features = found.get(program)
  if (!features) {
    features = lookFor(program)
    found.set(program, features)
  }
  return features
}

async function lookFor(program: string): Promise<BubblewrapFeatures> {
  const help = await run(program, ['--help'])
  const words = ['--unshare-all', '--unshare-user', '--disable-userns', '--ro-bind', '/', '/', 'true']
  return {
    // Tried, since it needs a /proc/sys that may be written: containers often have none.
    disablesUserNamespaces: help?.includes('--disable-userns') === true && (await run(program, words)) !== undefined,
    filter: help?.includes('--seccomp') === true ? systemCallFilter() : undefined,
  }
}

/** @returns what it wrote; undefined where it cannot be started or fails. */
function run(program: string, words: readonly string[]): Promise<string | undefined> {
  const user = commandUser()
  const as = user === undefined ? {} : { uid: user, gid: user }
  return new Promise((resolve) => {
    execFile(program, words, { cwd: '/', env: {}, timeout: TIMEOUT_MS, ...as }, (error, stdout, stderr) =>
      resolve(error ? undefined : stdout + stderr),
    )
  })
}
