/** Reads the command line and hands over to a verb, which is loaded then: a command that needs no gateway loads none. */
import { CommanderError } from 'commander'
import { addCommand, type Command } from './verbs/command.ts'
import { keyCommands } from './verbs/keys.ts'
import { levelCommands } from './verbs/levels.ts'
import { modelCommands } from './verbs/models.ts'
import { recordCommands } from './verbs/records.ts'
import { servingCommands } from './verbs/serving.ts'
import { signInCommands } from './verbs/sign-in.ts'
import { Verb } from './verbs/verb.ts'

/** All commands, by the headings of the first page of help. */
const GROUPS: Readonly<Record<string, readonly Command[]>> = {
  Serve: servingCommands,
  'Models and providers': modelCommands,
  'Keys and policy': [...keyCommands, ...levelCommands],
  Records: recordCommands,
  'Your login': signInCommands,
}

export async function run(argv: readonly string[]): Promise<void> {
  endWithReader()
  if (argv.includes('--version') || argv[0] === 'version') return showVersion(argv)
  const line = commandLine()
  try {
    await line.parseAsync(line.completed(argv), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // Help that was wanted is no failure; what commander refuses has been written by then.
    process.exitCode = error.exitCode === 0 ? 0 : 2
  }
}

/** All verbs, with their help. */
export function commandLine(): Verb {
  const program = new Verb('headgate')
    .description('One address in front of many model providers. Without a verb it serves.')
    .usage('[VERB] [OPTIONS]')
    .option('--version', 'show the version')
    .exitOverride()
    .showHelpAfterError('Try --help behind it.')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'headgate: ')) })
    .configureHelp({ subcommandTerm: (verb) => verb.name() })
    .usually('serve')
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.group(heading)
    for (const command of commands) addCommand(program, command)
  }
  return program.addHelpText('after', '\nheadgate VERB --help shows its options and an example. headgate manual shows the pages.')
}

async function showVersion(argv: readonly string[]): Promise<void> {
  // `npm ci` runs `serve --version` (script `prepare`): with what serving loads in the compile cache, the first start is quick.
  if (argv[0] === 'serve') await import('./serve.ts')
  process.stdout.write(`${(await import('../app/version.ts')).programVersion()}\n`)
}

/** A reader that has seen enough, as `head` does, closes the pipe: the program ends then, and nothing is wrong. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
}
