/** The words of the process that runs one command. */
import { existsSync } from 'node:fs'
import type { SandboxLimits, SandboxSettings } from './settings.ts'

export interface Argv {
  readonly words: readonly [...string[], string]
  /** Run once the command has ended, whichever way; empty for nothing. */
  readonly stop: readonly string[]
  /** The user that it runs as, where the gateway runs as root. */
  readonly user?: number
}

/** The Unix user `nobody`: the kernel does not apply limits on processes to root. */
export const NOBODY = 65_534

/** @param name of this one run, for what is known to others by name. */
export function argvFor({ way, limits }: SandboxSettings, command: string, { folder, name }: { folder: string; name: string }): Argv {
  const script = `${limitsScript(limits)}\n${command}`
  if (way.type === 'bubblewrap') {
    const words: Argv['words'] = [way.program, ...ISOLATION, ...systemFolders(), ...ownFolders(folder), shell(), '-c', script]
    return { words, stop: [], ...(process.getuid?.() === 0 ? { user: NOBODY } : {}) }
  }
  const filled = (word: string): string => word.replaceAll('{folder}', () => folder).replaceAll('{name}', () => name)
  return { words: [...way.command.map(filled), script], stop: way.stop.map(filled) }
}

/** Every namespace of its own, so no network; nothing of the environment, no rights, and no life after its parent's. */
const ISOLATION = [
  '--unshare-all',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
  '--hostname',
  'sandbox',
  '--clearenv',
  ...['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin'],
  ...['--setenv', 'HOME', '/work'],
  ...['--setenv', 'LANG', 'C.UTF-8'],
]

/** Programs and libraries, to be read only; no configuration of the machine but what programs need to start. */
function systemFolders(): string[] {
  const links = ['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--ro-bind-try', `/${name}`, `/${name}`])
  const files = ['/etc/alternatives', '/etc/ld.so.cache', '/etc/ssl/certs'].flatMap((path) => ['--ro-bind-try', path, path])
  return ['--ro-bind', '/usr', '/usr', ...links, ...files, '--proc', '/proc', '--dev', '/dev']
}

/** Bytes of the folder for temporary files, which lies in memory. */
const TEMPORARY = 64 * 1024 * 1024

function ownFolders(folder: string): string[] {
  return ['--size', String(TEMPORARY), '--tmpfs', '/tmp', '--bind', folder, '/work', '--chdir', '/work']
}

function shell(): string {
  return existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
}

/** Shells differ in the letter for processes; set from within, so that they are counted there alone. */
function limitsScript({ time, memory, disk, processes }: SandboxLimits): string {
  const kilobytes = Math.ceil(memory / 1024)
  return [
    'ulimit -c 0 2>/dev/null',
    `{ ulimit -p ${processes} || ulimit -u ${processes}; } 2>/dev/null`,
    `ulimit -v ${kilobytes} 2>/dev/null`,
    `ulimit -f ${Math.ceil(disk / 1024)} 2>/dev/null`,
    `ulimit -t ${Math.ceil(time / 1000)} 2>/dev/null`,
  ].join('\n')
}
