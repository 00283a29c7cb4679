/** Reads the command line and hands over to a verb. */
import { parseArgs } from 'node:util'
import { check } from './check.ts'
import { ledger } from './ledger.ts'
import { serve } from './serve.ts'

const HELP = `headgate: one address in front of many model providers

  headgate [serve] [--config FILE] [--host HOST] [--port PORT]
      Serves. Without a file: the shipped configuration, with every provider whose key is in the environment.
  headgate check FILE
      Says whether a configuration is good, or line by line what is wrong.
  headgate ledger export [--config FILE]
      Writes every generation as a JSON line: from the running gateway, or from its file where none runs.
  headgate ledger verify [--config FILE]
      Adds up the ledger; exit code 1 if entries and balances differ.

  --help     this text
  --version  the version

Signals: SIGTERM and SIGINT drain, a second one hurries; SIGHUP reloads the configuration.
`

export async function run(argv: readonly string[]): Promise<void> {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(argv)
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}. Try headgate --help`)
    return
  }
  const { values, positionals } = parsed
  const [verb = 'serve', ...rest] = positionals
  if (values.help) process.stdout.write(HELP)
  else if (values.version) process.stdout.write(`${await version()}\n`)
  else if (verb === 'serve' && rest.length === 0) await serve(values)
  else if (verb === 'check' && rest.length === 1) process.exitCode = await check(rest[0])
  else if (verb === 'ledger' && rest.length === 1) process.exitCode = await ledger(rest[0], values.config)
  else fail(`unknown command: ${positionals.join(' ')}. Try headgate --help`)
}

function parse(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      config: { type: 'string', short: 'c' },
      host: { type: 'string' },
      port: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
}

function fail(message: string): void {
  process.stderr.write(`headgate: ${message}\n`)
  process.exitCode = 2
}

async function version(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version: string }).version)
}
