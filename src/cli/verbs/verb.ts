/** One verb of the command line: its words and options, and what its help shows. */
import { Command } from 'commander'

export interface VerbFacts {
  /** One line, which lists of verbs show as well. */
  readonly summary: string
  /** More sentences, of its own help alone. */
  readonly details?: string
  /** A command line that runs as it stands, behind `headgate `. */
  readonly example: string
  /** The page of `docs/` that describes it. */
  readonly page: string
}

/** Does the work of a verb, with the words and options behind it. @returns the exit code. */
export type Work = (words: readonly string[], given: object) => Promise<number> | number

/** The command that prints a page, wherever the program has come from: `docs/keys.md` is `headgate manual keys`. */
export function manualNote(page: string): string {
  const name = page.replace(/^docs\//, '').replace(/(?:\/?README)?\.md\b/, '')
  return `headgate manual ${name}`.trimEnd()
}

/** Milliseconds. */
const LONG = 3_600_000

const HELP: ReadonlySet<string> = new Set(['-h', '--help'])

export class Verb extends Command {
  facts: VerbFacts | undefined
  /** The verb below this one that is meant where none is named. */
  private usual: string | undefined

  override createCommand(name?: string): Verb {
    return new Verb(name)
  }

  /** A heading over the verbs that are added next. */
  group(heading: string): this {
    return this.commandsGroup(`${heading}:`)
  }

  /**
   * @param usage the verb and its words: `<WORD>` must be there, `[WORD]` may be.
   * @returns the verb, for its options.
   */
  add(usage: string, facts: VerbFacts): Verb {
    const verb = this.command(usage).summary(facts.summary)
    verb.facts = facts
    verb.description(facts.details === undefined ? facts.summary : `${facts.summary}\n\n${facts.details}`)
    return verb.addHelpText('after', `\nExample:\n  headgate ${facts.example}\n\nMore: ${manualNote(facts.page)}`)
  }

  /** @param work takes options by their names as they are written, `provider-ids`: commander itself makes `providerIds` of it. */
  does(work: Work): this {
    return this.action(async () => {
      const written = this.options.map((option) => [option.long?.slice(2), this.getOptionValue(option.attributeName())] as const)
      const given = Object.fromEntries(written.filter(([name, value]) => name !== undefined && value !== undefined))
      // Timers of the gateway keep no process alive: a verb that pauses before another try would end in the middle, and say nothing.
      const alive = setInterval(() => {}, LONG)
      try {
        process.exitCode = await work(this.args, given)
      } finally {
        clearInterval(alive)
      }
    })
  }

  /** @throws Error where there is none: its words are to be declared before those below it. */
  below(name: string): Verb {
    const verb = this.commands.find((each) => each.name() === name)
    if (verb instanceof Verb) return verb
    throw new Error(`no command ${name} is declared`)
  }

  /** @param name of a verb below this one, which is meant where none is named. */
  usually(name: string): this {
    this.usual = name
    return this
  }

  /** The words of a command line with each verb that they leave out. */
  completed(words: readonly string[]): string[] {
    const [first, ...rest] = words
    if (this.usual !== undefined && (first === undefined || (first.startsWith('-') && !HELP.has(first)))) return [this.usual, ...words]
    const below = this.commands.find((verb) => verb.name() === first)
    return first !== undefined && below instanceof Verb ? [first, ...below.completed(rest)] : [...words]
  }
}
