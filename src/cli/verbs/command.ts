/** A command of the command line, declared once: its words and options with their texts, an example, its page and what it does. */
import type { Verb, VerbFacts, Work } from './verb.ts'

/** By how it is written, such as `--limit <USD>`: its text, or that and the value that counts without it. */
export type Options = Readonly<Record<string, string | readonly [text: string, usual: string]>>

type OptionName<Written> = Written extends `${string}--${infer Name} <${string}`
  ? Name
  : Written extends `${string}--${infer Name}`
    ? Name
    : never

/** Options as they are given, by their names as they are written. */
type Given<O> = { [Written in keyof O as OptionName<Written>]?: Written extends `${string}<${string}` ? string : boolean }

export interface Command extends VerbFacts {
  /** All its words, such as `keys create <NAME>`: `<WORD>` must be there, `[WORD]` may be. */
  readonly usage: string
  /** Without options and `run`: the word below it that is meant where none is named. */
  readonly usual?: string
  readonly options?: Options
  readonly required?: Options
  /** Undefined for words that have others below them. */
  readonly run?: Work
}

type Declared<O, R> = Omit<Command, 'options' | 'required' | 'run'> & {
  readonly options?: O
  readonly required?: R
  /** @param words of `usage` in angles and brackets. @returns the exit code. */
  readonly run: (words: readonly string[], given: Given<O> & Required<Given<R>>) => Promise<number> | number
}

/** Declares a command that does something. */
export function command<const O extends Options = Record<never, string>, const R extends Options = Record<never, string>>(
  declared: Declared<O, R>,
): Command
export function command(declared: Command): Command {
  return declared
}

export const JSON_OPTION = { '--json': 'print JSON' } as const
export const CONFIG_OPTION = { '-c, --config <FILE>': 'the configuration; the shipped one without it' } as const
/** For what the running gateway does, found by the `admin` part of a configuration or by its address. */
export const GATEWAY_OPTIONS = {
  ...CONFIG_OPTION,
  '--url <ADDRESS>': 'the admin listener, its token in HEADGATE_ADMIN_TOKEN; also HEADGATE_ADMIN_URL',
} as const

/** Adds a command to the words above it. */
export function addCommand(program: Verb, { usage, options = {}, required = {}, run, usual, ...facts }: Command): void {
  const words = usage.split(' ')
  const last = words.findLastIndex((word) => /^[a-z]/.test(word))
  const above = words.slice(0, last).reduce((verb, word) => verb.below(word), program)
  const added = above.add(words.slice(last).join(' '), facts)
  if (usual !== undefined) added.usually(usual)
  for (const [written, text] of Object.entries(required)) added.requiredOption(written, String(text))
  for (const [written, text] of Object.entries(options)) {
    if (typeof text === 'string') added.option(written, text)
    else added.option(written, ...text)
  }
  if (run) added.does(run)
}
