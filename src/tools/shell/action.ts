/** The commands that the model sends to the shell, and how each ended. */
import { badField, type Json, type JsonObject, type Ran } from '../../plugin-api/index.ts'

export interface Action {
  readonly commands: readonly string[]
  /** Milliseconds of each command. */
  readonly time: number | undefined
  /** Bytes of each stream. */
  readonly output: number | undefined
}

const MOST_COMMANDS = 20
const LONGEST = 65_536

/** @throws Fault 400 naming the argument, in words for the model. */
export function actionOf({ commands, timeout_ms: time, max_output_length: output }: JsonObject): Action {
  const list: Json[] = typeof commands === 'string' ? [commands] : Array.isArray(commands) ? commands : []
  if (list.length === 0 || list.length > MOST_COMMANDS) throw badField('commands', `expected a list of 1 to ${MOST_COMMANDS} commands`)
  return { commands: list.map(commandOf), time: amount(time, 'timeout_ms'), output: amount(output, 'max_output_length') }
}

export function commandOf(command: Json | undefined, at: number | string = 'command'): string {
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

export function outputOf(ran: Ran): JsonObject {
  const outcome: JsonObject = ran.killed === 'time' ? { type: 'timeout' } : { type: 'exit', exit_code: ran.exitCode }
  return { stdout: ran.stdout, stderr: withReason(ran), outcome }
}

const REASONS: Readonly<Record<string, string>> = {
  time: 'The command was ended: it took too long.',
  output: 'The command was ended: it wrote too much.',
  disk: 'The container held too much and has been emptied.',
}

export function withReason({ stderr, killed }: Ran): string {
  const reason = killed && REASONS[killed]
  return reason === undefined ? stderr : `${stderr}${stderr === '' || stderr.endsWith('\n') ? '' : '\n'}${reason}`
}
