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
type Work<Flags> = (words: readonly string[], flags: Flags) => Promise<number> | number

/** The command that prints a page, wherever the program has come from: `docs/keys.md` is `headgate manual keys`. */
export function manualOf(page: string): string {
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
    return verb.addHelpText('after', `\nExample:\n  headgate ${facts.example}\n\nMore: ${manualOf(facts.page)}`)
  }

  /** @param work takes options by their names as they are written, `provider-ids`: commander itself makes `providerIds` of it. */
  does<Flags extends object>(work: Work<Flags>): this {
    return this.action(async () => {
      const written = this.options.map((option) => [option.long?.slice(2), this.getOptionValue(option.attributeName())] as const)
      const flags = Object.fromEntries(written.filter(([name, value]) => name !== undefined && value !== undefined)) as Flags
      // Timers of the gateway keep no process alive: a verb that pauses before another try would end in the middle, and say nothing.
      const alive = setInterval(() => {}, LONG)
      try {
        process.exitCode = await work(this.args, flags)
      } finally {
        clearInterval(alive)
      }
    })
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

  withConfig(): this {
    return this.option('-c, --config <FILE>', 'the configuration; the shipped one without it')
  }

  /** For what the running gateway does, found by the `admin` part of a configuration or by its address. */
  withGateway(): this {
    return this.withConfig().option('--url <ADDRESS>', 'the admin listener, its token in HEADGATE_ADMIN_TOKEN; also HEADGATE_ADMIN_URL')
  }

  withJson(): this {
    return this.option('--json', 'print JSON')
  }
}
