/** Reads the command line and hands over to a verb, which is loaded then: a command that needs no gateway loads none. */
import { parseArgs } from 'node:util'

const HELP = `headgate: one address in front of many model providers

  headgate [serve] [--config FILE] [--host HOST] [--port PORT] [--workers N]
      Serves. Without a file: the shipped configuration, with every provider whose key is in the environment.
      --workers: N processes answer on the port, 1 to 63, or auto for one per processor.
  headgate check FILE | --chain
      Says whether a configuration is good, or line by line what is wrong. --chain shows the layers that requests go through.
  headgate plan FILE REQUEST.json [--format responses|chat|messages|embeddings] [--key NAME] [--json]
      Says what would become of a request: which endpoints in which order, which not and why, and the money held.
      Nothing is called. REQUEST.json is a generation body, - reads standard input; exit code 1 if it would be refused.
  headgate test DIR
      Runs policy tests: requests of YAML or JSON files, and what must become of them; exit code 1 if one fails.
  headgate models [list] [--provider NAME] [--kind KIND] [--json] [--config FILE]
  headgate models show SLUG [--json] [--config FILE]
      Shows the models of a configuration, or one with its endpoints and prices.
  headgate models sync PROVIDER [--write FILE] [--json] [--config FILE]
      Fetches a provider's model list and shows what is new, gone or of another length. --write puts the new ones into a new file.
  headgate models import --from FILE [--provider NAMES] [--match PATTERN] [--write FILE] [--json] [--config FILE]
      Reads a price list that was saved as a file, models.dev's api.json or LiteLLM's model_prices_and_context_window.json, and shows
      which models, prices and lengths of the configured providers are new or differ. Nothing is written without --write: it writes
      them into a catalogue file, or into one that it wrote before. NAMES: providers of the configuration, with commas between them;
      LIST=NAME where the list's name is not known. PATTERN: of names or slugs, * stands for any text.
  headgate providers [list | show PRESET] [--json]
      Lists the provider presets, or shows one: its settings, its variables, and the rules of the provider with their sources.
  headgate providers drift [--cursor CURSOR] [--json] [--config FILE]
      Shows words that providers have sent and headgate does not know: members of their reports of usage, ends of answers, service tiers.
  headgate agents [list | show AGENT] [--model SLUG] [--url ADDRESS] [--json] [--config FILE]
      Shows for each coding agent, or for one, what to paste so that it uses this gateway: files and lines of a shell, with KEY for the key.
      The models are those of \`agents\` in the configuration, else the default model or SLUG.
  headgate agents check AGENT [--model SLUG] [--url ADDRESS] [--config FILE]
      Asks the running gateway, with the key in HEADGATE_KEY, what would become of what the agent sends at its start. Nothing is charged.
  headgate probe PROVIDER [--model MODEL] [--yes] [--record FILE] [--json] [--config FILE]
      Sends a short matrix of requests to a real provider with its key: text, a stream, a tool loop, a forced tool, structured output,
      the smallest cap, an image, reasoning over two turns. Shows what the provider refuses, in its own words; exit code 1 if it does.
      Without --yes it only shows the estimated cost. --record writes the requests and replies into a new file, without keys and
      account ids. PROVIDER is one of the configuration, or a preset.
  headgate health [--url ADDRESS]
      Whether the gateway on this machine answers: GET /healthz of its admin listener, http://127.0.0.1:8081 without --url; exit code 1 if not.
  headgate plugins [--json] [--config FILE]
      Shows the plugins that are there, when they act, and what the configuration says of them.
  headgate docs --out DIR [--config FILE]
      Writes the API reference of /docs as static files, with openapi.json.
  headgate ledger export [--config FILE]
      Writes every generation as a JSON line: from the running gateway, or from its file where none runs.
  headgate ledger export --to NAME|DIR|s3://BUCKET/PREFIX [--since TIME|SPAN] [--until TIME|SPAN] [--after POSITION] [--config FILE]
      Exports the generations of a range in batches, as GET /v1/generation shows them: to an export of the configuration, a folder, or S3
      (AWS_REGION, keys as the AWS SDKs find them). Each batch shows a POSITION, from which a later run goes on.
  headgate ledger verify [--full] [--config FILE]
      Adds up what is new in the ledger since the last check, or all of it; exit code 1 if entries and balances differ.
  headgate ledger entries [--key KEY] [--kind KIND] [--cursor CURSOR] [--json] [--config FILE]
      Shows what stands beside the generations: unrecovered and disputed usage, corrections, refunds and write-offs.
  headgate ledger correction|refund|write_off USD --reason TEXT --key KEY | --generation ID | --settles ENTRY [--once TEXT] [--config FILE]
      Adds an entry: a correction charges the key, a refund gives back, a write-off closes what was lost. --once: a repeated command adds nothing.
  headgate ledger recovery [--config FILE]
      Shows what the last start settled because a crash had left it open, or what the next start is going to settle.
  headgate ledger rebuild [--config FILE]
      Has the sums of use made anew from the generations, in the background.
  headgate keys list [--json] [--config FILE]
      Shows all keys with their limits and what they have spent.
  headgate keys create NAME [--limit USD] [--reset daily|weekly|monthly] [--expires TIME] [--provider-ids ID,…] [--management]
      Makes a key and shows its secret, this once. A management key manages and cannot generate.
  headgate keys disable|enable|rotate|delete KEY
      KEY is a name, a hash or the beginning of a hash; rotate gives the key a new secret. Keys of the file change there.
  headgate credits [add KEY USD]
      Shows what was spent and what is left under limits, or raises the limit of a key.
  headgate sessions [--since TIME|SPAN] [--key KEY] [--session ID] [--json]
      Shows what each conversation of an agent has used: requests, tokens, what was read from and written to caches, cost. The last 24h
      without --since, at most 31d.
  headgate refusals [--since TIME|SPAN] [--until TIME|SPAN] [--key KEY] [--reason REASON] [--generation ID] [--json | --csv]
      Shows requests that the gateway itself refused: counted by minute, key and reason, with the latest in full. The last 24h without
      --since. --generation finds the one whose reply had this X-Generation-Id. --json: a line for each row.
  headgate guardrails list [--json] | show NAME [--json]
      Shows the guardrails of the file and of the store, and whom they hold for.
  headgate guardrails audit [--since TIME|SPAN] [--key KEY] [--guardrail NAME] [--json]
      Shows what guardrails have found: kinds and hashes, the text only where a guardrail keeps it. SPAN is such as 24h or 7d.
      These ask the running gateway, and open its file where none runs.
  headgate compaction list | rotate | remove NUMBER [--json] [--config FILE]
      Shows the keys that encrypt compaction items, makes a new one, or removes an old one: items that it encrypted no longer open.

  headgate events [list | dead | pending] [--cursor CURSOR] | show ID | receivers [--json] [--config FILE]
      Shows what has happened, deliveries that were given up or are still to be made, one event with its deliveries, or the receivers.
  headgate events redeliver ID [RECEIVER] | enable RECEIVER [--config FILE]
      Delivers an event again, or has a receiver that answered 410 take events again, those that came meanwhile as well.

  --help     this text
  --version  the version

Signals: SIGTERM and SIGINT drain, a second one hurries; SIGHUP reloads the configuration.
`

/** What stands behind the verbs that take a fixed number of words. */
const WORDS: Readonly<Record<string, string>> = {
  serve: 'no words behind it',
  check: 'FILE or --chain',
  plan: 'FILE REQUEST.json',
  test: 'DIR',
  docs: '--out DIR',
  health: 'no words behind it',
  ledger: 'export, verify, recovery, rebuild, entries, or a kind of entry with USD',
}

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
  const [first, second] = rest
  if (values.help) process.stdout.write(HELP)
  else if (values.version) {
    // `npm ci` runs `serve --version` (script `prepare`): with what serving loads in the compile cache, the first start is quick.
    if (positionals.length > 0 && verb === 'serve') await import('./serve.ts')
    process.stdout.write(`${(await import('../app/version.ts')).programVersion()}\n`)
  } else if (verb === 'serve' && rest.length === 0) await (await import('./serve.ts')).serve(values)
  else if (verb === 'check' && values.chain && rest.length === 0) process.exitCode = (await import('./check.ts')).printChain()
  else if (verb === 'check' && first !== undefined && rest.length === 1) process.exitCode = await (await import('./check.ts')).check(first)
  else if (verb === 'plan' && first !== undefined && second !== undefined && rest.length === 2)
    process.exitCode = await (await import('./plan.ts')).plan([first, second], values)
  else if (verb === 'test' && first !== undefined && rest.length === 1)
    process.exitCode = await (await import('./policy-tests.ts')).policyTests(first)
  else if (verb === 'models') process.exitCode = await (await import('./models.ts')).models(rest, values)
  else if (verb === 'providers' && first === 'drift' && rest.length === 1)
    process.exitCode = await (await import('./provider-drift.ts')).providerDrift(values)
  else if (verb === 'providers') process.exitCode = (await import('./providers.ts')).providers(rest, values)
  else if (verb === 'agents') process.exitCode = await (await import('./agents.ts')).agents(rest, values)
  else if (verb === 'probe') process.exitCode = await (await import('./probe.ts')).probe(rest, values)
  else if (verb === 'health' && rest.length === 0) process.exitCode = await (await import('./health.ts')).health(values.url)
  else if (verb === 'plugins') process.exitCode = await (await import('./plugins.ts')).plugins(rest, values)
  else if (verb === 'docs' && rest.length === 0 && values.out)
    process.exitCode = await (await import('./docs.ts')).docs(values.out, values.config)
  else if (verb === 'keys') process.exitCode = await (await import('./keys.ts')).keys(rest, values)
  else if (verb === 'sessions') process.exitCode = await (await import('./sessions.ts')).sessions(rest, values)
  else if (verb === 'refusals') process.exitCode = await (await import('./refusals.ts')).refusals(rest, values)
  else if (verb === 'compaction') process.exitCode = await (await import('./compaction.ts')).compaction(rest, values)
  else if (verb === 'events') process.exitCode = await (await import('./events.ts')).events(rest, values)
  else if (verb === 'guardrails') process.exitCode = await (await import('./guardrails.ts')).guardrails(rest, values)
  else if (verb === 'credits') process.exitCode = await (await import('./keys.ts')).credits(rest, values)
  else if (verb === 'ledger' && (await import('./ledger-entries.ts')).isEntryVerb(rest))
    process.exitCode = await (await import('./ledger-entries.ts')).ledgerEntries(rest, values)
  else if (verb === 'ledger' && first !== undefined && rest.length === 1)
    process.exitCode = await (await import('./ledger.ts')).ledger(first, values)
  else if (Object.hasOwn(WORDS, verb)) fail(`${verb}: expected ${WORDS[verb]}. Try headgate --help`)
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
      workers: { type: 'string' },
      format: { type: 'string' },
      key: { type: 'string' },
      json: { type: 'boolean' },
      csv: { type: 'boolean' },
      full: { type: 'boolean' },
      limit: { type: 'string' },
      reset: { type: 'string' },
      'provider-ids': { type: 'string' },
      expires: { type: 'string' },
      management: { type: 'boolean' },
      provider: { type: 'string' },
      kind: { type: 'string' },
      write: { type: 'string' },
      from: { type: 'string' },
      match: { type: 'string' },
      model: { type: 'string' },
      record: { type: 'string' },
      yes: { type: 'boolean' },
      chain: { type: 'boolean' },
      out: { type: 'string' },
      url: { type: 'string' },
      cursor: { type: 'string' },
      since: { type: 'string' },
      until: { type: 'string' },
      after: { type: 'string' },
      to: { type: 'string' },
      guardrail: { type: 'string' },
      session: { type: 'string' },
      generation: { type: 'string' },
      settles: { type: 'string' },
      reason: { type: 'string' },
      once: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
}

function fail(message: string): void {
  process.stderr.write(`headgate: ${message}\n`)
  process.exitCode = 2
}
