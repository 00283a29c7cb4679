/** Verbs on what is written down: the ledger and events; on the reference of the API, and on the documents. */
import type { Verb } from './verb.ts'

const LEDGER = 'docs/operations.md'

export function addRecords(program: Verb): void {
  program.group('Records')
  const ledger = program.add('ledger', { summary: 'Export, check and correct the ledger', example: 'ledger verify', page: LEDGER })
  ledger
    .add('export', {
      summary: 'Write every generation as a JSON line, or export a range',
      details:
        'Without --to: to standard output, from the running gateway, or from its file where none runs. With it, in batches as\n' +
        'GET /v1/generation shows them (S3: AWS_REGION, keys as the AWS SDKs find them).',
      example: 'ledger export --to ./exports --since 7d --config headgate.yaml',
      page: 'docs/exports.md',
    })
    .option('--to <TARGET>', 'an export of the configuration, a folder, or s3://BUCKET/PREFIX')
    .option('--since <TIME>', 'a time, or a span such as 24h or 7d')
    .option('--until <TIME>', 'a time, or a span')
    .option('--after <POSITION>', 'go on there: each batch shows one')
    .withGateway()
    .does(async (_, flags) => (await import('../ledger.ts')).ledger('export', flags))
  ledger
    .add('verify', {
      summary: 'Add up what is new since the last check; exit code 1 if it differs from balances',
      example: 'ledger verify --full --config headgate.yaml',
      page: LEDGER,
    })
    .option('--full', 'all of it')
    .withGateway()
    .does(async (_, flags) => (await import('../ledger.ts')).ledger('verify', flags))
  ledger
    .add('recovery', {
      summary: 'Show what the last start settled because a crash had left it open',
      details: 'Where no gateway runs: what the next start is going to settle.',
      example: 'ledger recovery --config headgate.yaml',
      page: LEDGER,
    })
    .withGateway()
    .does(async (_, flags) => (await import('../ledger.ts')).ledger('recovery', flags))
  ledger
    .add('rebuild', {
      summary: 'Have the sums of use made anew from the generations, in the background',
      example: 'ledger rebuild --config headgate.yaml',
      page: LEDGER,
    })
    .withGateway()
    .does(async (_, flags) => (await import('../ledger.ts')).ledger('rebuild', flags))
  addEntries(ledger)
  const generations = program.add('generations', {
    summary: 'Show what became of a request, and why it cost what it did',
    example: 'generations show gen-1767614400-5f2c0d3e8a91 --config headgate.yaml',
    page: 'docs/keys.md',
  })
  generations
    .add('show <ID>', {
      summary: 'Show attempts, times, and the money line by line',
      details: 'ID is the X-Generation-Id of the reply.',
      example: 'generations show gen-1767614400-5f2c0d3e8a91 --config headgate.yaml',
      page: 'docs/keys.md',
    })
    .withJson()
    .withGateway()
    .does(async ([id = ''], flags) => (await import('../generations.ts')).showGeneration(id, flags))
  addEvents(program)
  program
    .add('docs', {
      summary: 'Write the API reference of /docs as static files, with openapi.json',
      example: 'docs --out reference --config headgate.yaml',
      page: 'docs/README.md',
    })
    .requiredOption('--out <DIR>', 'the folder, made where it is missing')
    .withConfig()
    .does(async (_, { out, config }: { out: string; config?: string }) => (await import('../docs.ts')).docs(out, config))
  program
    .add('manual [PAGE]', {
      summary: 'Print a page of these documents, or the list of all',
      details: 'PAGE is its name as help and messages have it: keys, docs/keys.md, docs/keys.md#sessions.',
      example: 'manual quick-start',
      page: 'docs/README.md',
    })
    .does(async ([page]) => (await import('../manual.ts')).manual(page))
}

function addEntries(ledger: Verb): void {
  ledger
    .add('entries', {
      summary: 'Show what stands beside the generations: lost and disputed usage, corrections',
      example: 'ledger entries --kind refund --config headgate.yaml',
      page: LEDGER,
    })
    .option('--key <KEY>', 'of this key')
    .option('--kind <KIND>', 'unrecovered, disputed, correction, refund or write_off')
    .option('--cursor <CURSOR>', 'the next page')
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../ledger-entries.ts')).ledgerEntries(['entries'], flags))
  const kinds = [
    ['correction', 'Charge a key something more'],
    ['refund', 'Give a key something back'],
    ['write_off', 'Close what was lost'],
  ] as const
  for (const [kind, summary] of kinds)
    ledger
      .add(`${kind} <USD>`, {
        summary,
        details: 'One of --key, --generation and --settles says what it is for.',
        example: `ledger ${kind} 0.05 --key app --reason "Ticket 4711" --config headgate.yaml`,
        page: LEDGER,
      })
      .requiredOption('--reason <TEXT>', 'why, for the record')
      .option('--key <KEY>', 'for this key')
      .option('--generation <ID>', 'for this generation')
      .option('--settles <ENTRY>', 'closes this entry')
      .option('--once <TEXT>', 'with the same text a second command adds nothing')
      .withJson()
      .withGateway()
      .does(async (words, flags) => (await import('../ledger-entries.ts')).ledgerEntries([kind, ...words], flags))
}

function addEvents(program: Verb): void {
  const events = program
    .add('events', {
      summary: 'Show what has happened, and its deliveries; deliver again',
      example: 'events list',
      page: 'docs/events.md',
    })
    .usually('list')
  const verbs = [
    ['list', 'Show what has happened', 'events list --config headgate.yaml'],
    ['show <ID>', 'Show one event with its deliveries', 'events show evt_5f2c0d3e8a914c4c8b6f0b7a1d2e3f40 --config headgate.yaml'],
    ['dead', 'Show deliveries that were given up', 'events dead --config headgate.yaml'],
    ['pending', 'Show deliveries that are still to be made', 'events pending --config headgate.yaml'],
    ['receivers', 'Show the receivers', 'events receivers --config headgate.yaml'],
    ['redeliver <ID> [RECEIVER]', 'Deliver an event again', 'events redeliver evt_5f2c0d3e8a914c4c8b6f0b7a1d2e3f40 --config headgate.yaml'],
    [
      'enable <RECEIVER>',
      'Have a receiver that answered 410 take events again, those of the meantime as well',
      'events enable pager --config headgate.yaml',
    ],
  ] as const
  for (const [usage, summary, example] of verbs) {
    const [verb = ''] = usage.split(' ')
    const added = events.add(usage, { summary, example, page: 'docs/events.md' })
    if (verb === 'list' || verb === 'dead' || verb === 'pending') added.option('--cursor <CURSOR>', 'the next page')
    added
      .withJson()
      .withGateway()
      .does(async (words, flags) => (await import('../events.ts')).events([verb, ...words], flags))
  }
}
