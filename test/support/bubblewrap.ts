/** Path of bubblewrap: tests of isolation need the real one. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const installed = [
  process.env.HEADGATE_TEST_BWRAP ?? '',
  ...(process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'bwrap')),
].find((path) => path !== '' && existsSync(path))

/** Containers often forbid their programs namespaces of their own. */
function runs(program: string): boolean {
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  return spawnSync(program, ['--unshare-all', '--ro-bind', '/', '/', 'true'], { cwd: '/', ...user }).status === 0
}

export const bubblewrapState: 'ready' | 'barred' | 'absent' = installed === undefined ? 'absent' : runs(installed) ? 'ready' : 'barred'

/** Absolute path; undefined where it is not installed, or may not do its work here. `HEADGATE_TEST_BWRAP` names another one. */
export const bubblewrap: string | undefined = bubblewrapState === 'ready' ? installed : undefined

/** True where a run without it is no full one. */
export const bubblewrapDemanded = process.env.HEADGATE_TEST_SERVERS === 'required'

/** Settings of a sandbox in which tests of everything but isolation can run. */
export function sandboxYaml(folder: string, more = ''): string {
  const way = bubblewrap
    ? `type: bubblewrap, program: "${bubblewrap}"`
    : 'type: command, command: [sh, -c, \'cd "$0" && eval "$1"\', "{folder}"]'
  return `plugins: { defaults: { shell: { sandbox: { ${way}, folder: "${folder}"${more} } } } }`
}
