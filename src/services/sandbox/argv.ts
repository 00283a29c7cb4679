/** The words of the process that runs one command. */
import { existsSync } from 'node:fs'
import type { SandboxLimits, SandboxSettings } from './settings.ts'

export interface Argv {
  readonly words: readonly [...string[], string]
  /** Run once the command has ended, whichever way; empty for nothing. */
  readonly stop: readonly string[]
  /** The user that it runs as, where the gateway runs as root. */
  readonly user?: number
  /** The filter of system calls that it reads from descriptor 3. */
  readonly filter?: Buffer | undefined
}

/** The Unix user `nobody`: the kernel does not apply limits on processes to root. */
export const NOBODY = 65_534

/** The user that bubblewrap is run as; undefined for that of the gateway. */
export function commandUser(): number | undefined {
  return process.getuid?.() === 0 ? NOBODY : undefined
}

/** Abilities of the bubblewrap of a machine. */
export interface BubblewrapFeatures {
  /** Commands can be kept from making user namespaces of their own (`--disable-userns`, bubblewrap 0.8.0). */
  readonly disablesUserNamespaces: boolean
  /** The filter of system calls, where bubblewrap takes one and the processor's calls are known. */
  readonly filter: Buffer | undefined
}

interface Run {
  readonly folder: string
  /** Of this one run, for what is known to others by name. */
  readonly name: string
  /** Of the bubblewrap that runs it; none where they are not known. */
  readonly features?: BubblewrapFeatures | undefined
}

export function argvFor({ way, limits }: SandboxSettings, command: string, { folder, name, features }: Run): Argv {
  const script = `${limitsScript(limits)}\n${command}`
  if (way.type === 'bubblewrap') {
    const bounds = features?.disablesUserNamespaces ? ['--unshare-user', '--disable-userns'] : []
    const filter = features?.filter ? ['--seccomp', String(FILTER_DESCRIPTOR)] : []
    const options = [...ISOLATION, ...bounds, ...filter, ...systemFolders(), ...ownFolders(folder, limits), ...READ_ONLY]
    const words: Argv['words'] = [way.program, ...options, shell(), '-c', script]
    const user = commandUser()
    return { words, stop: [], filter: features?.filter, ...(user !== undefined && { user }) }
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
  return ['--ro-bind', '/usr', '/usr', ...links, ...files, '--proc', '/proc', '--dev', '/dev', ...ZEROES]
}

/** Reads the same, and cannot be mapped: memory that is shared through /dev/zero belongs to no process (drivers/char/mem.c of Linux). */
const ZEROES = ['--dev-bind', '/dev/full', '/dev/zero']

const FILTER_DESCRIPTOR = 3

/** Folders whose files lie in memory, and the most bytes of each. */
export const IN_MEMORY = ['/tmp', '/dev/shm'] as const
const MAX_IN_MEMORY = 64 * 1024 * 1024

/** Of a small limit each folder has a quarter, so that both leave room for the command. */
function ownFolders(folder: string, { memory }: SandboxLimits): string[] {
  const size = String(Math.min(MAX_IN_MEMORY, Math.floor(memory / 4)))
  return [...IN_MEMORY.flatMap((path) => ['--size', size, '--tmpfs', path]), '--bind', folder, '/work', '--chdir', '/work']
}

/** Folders that bubblewrap has made lie in memory as well, without a bound: nothing more can be written there. */
const READ_ONLY = ['--remount-ro', '/dev', '--remount-ro', '/']

function shell(): string {
  return existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
}

/** Open files of one process, as most systems have it: each may be a pipe. */
const MAX_OPEN = 1_024

/** Shells differ in the letter for processes; set from within, so that they are counted there alone. */
function limitsScript({ time, memory, disk, processes }: SandboxLimits): string {
  const kilobytes = Math.ceil(memory / 1024)
  return [
    'ulimit -c 0 2>/dev/null',
    `{ ulimit -p ${processes} || ulimit -u ${processes}; } 2>/dev/null`,
    `ulimit -v ${kilobytes} 2>/dev/null`,
    `ulimit -n ${MAX_OPEN} 2>/dev/null`,
    `ulimit -f ${Math.ceil(disk / 1024)} 2>/dev/null`,
    `ulimit -t ${Math.ceil(time / 1000)} 2>/dev/null`,
  ].join('\n')
}
