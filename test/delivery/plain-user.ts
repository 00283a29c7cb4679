/**
 * A user without rights for a test that runs as root: known in a view of the file system of its own, so nothing of the machine changes.
 * It has a range of users of its own, with which a container engine runs containers that no rights of root are behind.
 */
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NAME = 'headgate-test'
/** In the range that Debian keeps free (Debian Policy 9.2.2). */
const ID = 59_184
/** The first of its range: user n of a container is user FIRST + n - 1 of the machine. */
export const FIRST_OF_RANGE = 1_900_000
const PATHS = '/usr/sbin:/usr/bin:/sbin:/bin'

export interface PlainUser {
  /** Belongs to the user. */
  readonly home: string
  /** @returns the words of a command that runs others as this user, with no variables but these. */
  command(words: readonly string[]): string[]
}

/** @param folder that others may enter, in which its files stand. */
export function plainUser(folder: string): PlainUser {
  const [home, runtime] = [join(folder, 'home'), join(folder, 'run')]
  for (const own of [home, runtime]) {
    mkdirSync(own)
    chownSync(own, ID, ID)
    chmodSync(own, 0o700)
  }
  const files = {
    passwd: `${readFileSync('/etc/passwd', 'utf8')}${NAME}:x:${ID}:${ID}::${home}:/bin/sh\n`,
    group: `${readFileSync('/etc/group', 'utf8')}${NAME}:x:${ID}:\n`,
    subuid: `${NAME}:${FIRST_OF_RANGE}:65536\n`,
    subgid: `${NAME}:${FIRST_OF_RANGE}:65536\n`,
  }
  const mounts = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text)
    return `mount --bind ${join(folder, name)} /etc/${name}\n`
  })
  const variables = `PATH=${PATHS} HOME=${home} XDG_RUNTIME_DIR=${runtime} STORAGE_DRIVER=vfs`
  const script = join(folder, 'as-user')
  // In a file that is not there (subuid on a machine without such users) nothing can be mounted: podman then says what is missing.
  const become = `exec setpriv --reuid ${ID} --regid ${ID} --init-groups --inh-caps=-all env -i ${variables} "$@"\n`
  writeFileSync(script, `${mounts.join('')}${become}`)
  return { home, command: (words) => ['unshare', '--mount', 'sh', script, ...words] }
}
