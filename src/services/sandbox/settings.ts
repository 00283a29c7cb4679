/** The operator's settings of the sandbox: `plugins.defaults.shell.sandbox`. */
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

export interface SandboxLimits {
  /** Milliseconds of one command. */
  readonly time: number
  /** Bytes: addresses of one process; shown output of each stream; what a container may keep on disk. */
  readonly memory: number
  readonly output: number
  readonly disk: number
  readonly processes: number
  /** Commands that run at the same time, over all callers; containers of one key. */
  readonly atOnce: number
  readonly containers: number
}

export interface SandboxSettings {
  readonly way:
    | { readonly type: 'bubblewrap'; readonly program: string }
    /** Words of the command; the model's is added as the last one. `stop` ends what the command has left behind. */
    | { readonly type: 'command'; readonly command: readonly string[]; readonly stop: readonly string[] }
  /** Place of the folders of containers. */
  readonly folder: string
  readonly limits: SandboxLimits
}

const MEGABYTE = 1024 * 1024

/** Name, default, least and most of each number, and what one of it is. */
const NUMBERS = {
  seconds: [60, 1, 3600, 1000],
  memory_mb: [2048, 16, 1_048_576, MEGABYTE],
  output_kb: [64, 1, 4096, 1024],
  disk_mb: [256, 1, 1_048_576, MEGABYTE],
  processes: [64, 4, 65_536, 1],
  at_once: [4, 1, 1024, 1],
  containers: [16, 1, 10_000, 1],
} as const

/** @param path of the settings. @returns undefined where there is none. @throws Fault 400 naming the path. */
export function sandboxSettings(given: Json | undefined, path: string): SandboxSettings | undefined {
  if (given === undefined || given === null) return undefined
  if (!isObject(given)) throw badField(path, 'expected an object with a type')
  const number = (name: keyof typeof NUMBERS): number => parseNumber(given[name], name, path)
  return {
    way: parseIsolation(given, path),
    folder: parseFolder(given.folder, path),
    limits: {
      time: number('seconds'),
      memory: number('memory_mb'),
      output: number('output_kb'),
      disk: number('disk_mb'),
      processes: number('processes'),
      atOnce: number('at_once'),
      containers: number('containers'),
    },
  }
}

function parseNumber(given: Json | undefined, name: keyof typeof NUMBERS, path: string): number {
  const [usual, min, max, unit] = NUMBERS[name]
  const value = given ?? usual
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw badField(`${path}.${name}`, `expected a whole number from ${min} to ${max}`)
  return value * unit
}

function parseIsolation({ type, program, command, stop }: JsonObject, path: string): SandboxSettings['way'] {
  if (type === 'bubblewrap') {
    if (program !== undefined && (typeof program !== 'string' || !isAbsolute(program)))
      throw badField(`${path}.program`, 'expected the absolute path of bwrap')
    return { type, program: program ?? 'bwrap' }
  }
  if (type !== 'command') throw badField(`${path}.type`, 'expected bubblewrap or command')
  const words = parseWords(command, `${path}.command`)
  if (words.length === 0) throw badField(`${path}.command`, 'expected the words of a command that takes a shell command as its last one')
  return { type, command: words, stop: parseWords(stop, `${path}.stop`) }
}

function parseWords(given: Json | undefined, path: string): string[] {
  const list = given ?? []
  if (!Array.isArray(list) || !list.every((word) => typeof word === 'string' && word !== ''))
    throw badField(path, 'expected a list of words')
  return list.map(String)
}

function parseFolder(given: Json | undefined, path: string): string {
  if (given === undefined || given === null) return join(tmpdir(), `headgate-shell-${process.getuid?.() ?? 0}`)
  if (typeof given !== 'string' || !isAbsolute(given)) throw badField(`${path}.folder`, 'expected an absolute path')
  return given
}
