/** The commands that the model sends to the shell, how each ended, and in which container they run (docs/contract.md#tools-in-a-request). */
import {
  badField,
  type Container,
  isObject,
  type Json,
  type JsonObject,
  openSandbox,
  type Ran,
  type Sandbox,
  type ToolHost,
} from '../../plugin-api/index.ts'

export interface Action {
  readonly commands: readonly string[]
  /** Milliseconds of each command. */
  readonly time: number | undefined
  /** Bytes of each stream. */
  readonly output: number | undefined
}

const MAX_COMMANDS = 20
const LONGEST = 65_536

/** @throws Fault 400 naming the argument, in words for the model. */
export function parseAction({ commands, timeout_ms: time, max_output_length: output }: JsonObject): Action {
  const list: Json[] = typeof commands === 'string' ? [commands] : Array.isArray(commands) ? commands : []
  if (list.length === 0 || list.length > MAX_COMMANDS) throw badField('commands', `expected a list of 1 to ${MAX_COMMANDS} commands`)
  return { commands: list.map(parseCommand), time: amount(time, 'timeout_ms'), output: amount(output, 'max_output_length') }
}

export function parseCommand(command: Json | undefined, at: number | string = 'command'): string {
  const name = typeof at === 'number' ? `commands[${at}]` : at
  if (typeof command !== 'string' || command.trim() === '') throw badField(name, 'expected a command')
  if (command.length > LONGEST || command.includes('\0')) throw badField(name, `expected at most ${LONGEST} characters, none of them NUL`)
  return command
}

function amount(given: Json | undefined, name: string): number | undefined {
  if (given === undefined || given === null) return undefined
  if (typeof given !== 'number' || given < 1) throw badField(name, 'expected a number above 0')
  return Math.ceil(given)
}

/** The action as the API's items show it. */
export function shownAction({ commands, time, output }: Action): JsonObject {
  return { commands: [...commands], max_output_length: output ?? null, timeout_ms: time ?? null }
}

export function commandOutput(ran: Ran): JsonObject {
  const outcome: JsonObject = ran.killed === 'time' ? { type: 'timeout' } : { type: 'exit', exit_code: ran.exitCode }
  return { stdout: ran.stdout, stderr: withReason(ran), outcome }
}

const REASONS: Readonly<Record<string, string>> = {
  time: 'The command was ended: it took too long.',
  output: 'The command was ended: it wrote too much.',
  memory: 'The command was ended: it took too much memory.',
  disk: 'The container held too much and has been emptied.',
}

export function withReason({ stderr, killed }: Ran): string {
  const reason = killed && REASONS[killed]
  return reason === undefined ? stderr : `${stderr}${stderr === '' || stderr.endsWith('\n') ? '' : '\n'}${reason}`
}

/** Seconds that a container is kept after its last command: usual, most. */
const USUAL_SLEEP = 900
const MAX_SLEEP = 2_592_000

const CONTAINER_ID = /^[\w-]{1,20}$/
/** Characters of the name that a container of our own gets, behind its prefix. */
const NAME = 15

export interface Environment {
  /** Undefined for a container of the request's own. */
  readonly id: string | undefined
  /** Milliseconds. */
  readonly sleepAfter: number
}

/** @param path of the parameters. @throws Fault 400 naming the path. */
export function parseEnvironment(parameters: JsonObject, path: string): Environment {
  const { environment = null, sleep_after_seconds: sleep = null } = parameters
  const seconds = sleep ?? USUAL_SLEEP
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > MAX_SLEEP)
    throw badField(`${path}.sleep_after_seconds`, `expected a whole number from 1 to ${MAX_SLEEP}`)
  return { id: environment === null ? undefined : containerId(environment, `${path}.environment`), sleepAfter: seconds * 1000 }
}

function containerId(environment: unknown, path: string): string | undefined {
  if (!isObject(environment)) throw badField(path, 'expected an object with a type')
  const { type, container_id: id } = environment
  if (type === 'container_auto') return undefined
  if (type !== 'container_reference') throw badField(`${path}.type`, 'expected container_auto or container_reference')
  if (typeof id !== 'string' || !CONTAINER_ID.test(id))
    throw badField(`${path}.container_id`, 'expected up to 20 letters, digits, dashes and underscores')
  return id
}

/** The one container of a request. */
export class RequestContainer {
  private readonly environment: Environment
  private name: string | undefined

  constructor(environment: Environment) {
    this.environment = environment
    this.name = environment.id
  }

  /** Made up at the first command where the caller names none. */
  of({ key, clock }: ToolHost): Container {
    if (this.name === undefined) {
      this.name = 'cntr_'
      while (this.name.length < 'cntr_'.length + NAME) this.name += Math.floor(clock.random() * 36).toString(36)
    }
    return { key: key.identity, id: this.name, sleepAfter: this.environment.sleepAfter }
  }
}

/** @param of path of the field that needs a sandbox. @throws Fault 400 that says what is to be configured. */
export function neededSandbox(settings: JsonObject, of: string): Sandbox {
  const sandbox = openSandbox(settings)
  if (!sandbox)
    throw badField(of, 'there is no sandbox to run commands in: the operator has to configure one under plugins.defaults.shell.sandbox')
  return sandbox
}
