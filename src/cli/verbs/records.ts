/** Commands on what is written down: the ledger and events; on the reference of the API, and on the documents. */
import { CONFIG_OPTION, type Command, command, GATEWAY_OPTIONS, JSON_OPTION } from './command.ts'

const LEDGER = 'docs/operations.md'
const AUDIT = 'docs/audit.md'
const AUDIT_FILTERS = {
  '--actor <ACTOR>': 'of this key, or a kind such as admin_token',
  '--action <ACTION>': 'such as key.created',
  '--subject <SUBJECT>': 'of this key, guardrail, ...',
  '--since <TIME>': 'a time, or a span such as 24h or 7d',
  '--until <TIME>': 'a time, or a span',
} as const
const OPTIONS = { ...JSON_OPTION, ...GATEWAY_OPTIONS } as const
/** Words of events whose lists have further pages. */
const PAGED: ReadonlySet<string> = new Set(['list', 'dead', 'pending'])

export const recordCommands: readonly Command[] = [
  {
    usage: 'ledger',
    summary: 'Export, check and correct the ledger',
    example: 'ledger verify',
    page: LEDGER,
  },
  command({
    usage: 'ledger export',
    summary: 'Write every generation as a JSON line, or export a range',
    details:
      'Without --to: to standard output, from the running gateway, or from its file where none runs. With it, in batches as\n' +
      'GET /v1/generation shows them (S3: AWS_REGION, keys as the AWS SDKs find them).',
    example: 'ledger export --to ./exports --since 7d --config headgate.yaml',
    page: 'docs/exports.md',
    options: {
      '--to <TARGET>': 'an export of the configuration, a folder, or s3://BUCKET/PREFIX',
      '--since <TIME>': 'a time, or a span such as 24h or 7d',
      '--until <TIME>': 'a time, or a span',
      '--after <POSITION>': 'go on there: each batch shows one',
      ...GATEWAY_OPTIONS,
    },
    run: async (_, flags) => (await import('../ledger.ts')).ledger('export', flags),
  }),
  command({
    usage: 'ledger verify',
    summary: 'Add up what is new since the last check; exit code 1 if it differs from balances',
    example: 'ledger verify --full --config headgate.yaml',
    page: LEDGER,
    options: { '--full': 'all of it', ...GATEWAY_OPTIONS },
    run: async (_, flags) => (await import('../ledger.ts')).ledger('verify', flags),
  }),
  command({
    usage: 'ledger recovery',
    summary: 'Show what the last start settled because a crash had left it open',
    details: 'Where no gateway runs: what the next start is going to settle.',
    example: 'ledger recovery --config headgate.yaml',
    page: LEDGER,
    options: { ...GATEWAY_OPTIONS },
    run: async (_, flags) => (await import('../ledger.ts')).ledger('recovery', flags),
  }),
  command({
    usage: 'ledger rebuild',
    summary: 'Have the sums of use made anew from the generations, in the background',
    example: 'ledger rebuild --config headgate.yaml',
    page: LEDGER,
    options: { ...GATEWAY_OPTIONS },
    run: async (_, flags) => (await import('../ledger.ts')).ledger('rebuild', flags),
  }),
  command({
    usage: 'ledger entries',
    summary: 'Show what stands beside the generations: lost and disputed usage, corrections',
    example: 'ledger entries --kind refund --config headgate.yaml',
    page: LEDGER,
    options: {
      '--key <KEY>': 'of this key',
      '--kind <KIND>': 'unrecovered, disputed, correction, refund or write_off',
      '--cursor <CURSOR>': 'the next page',
      ...OPTIONS,
    },
    run: async (_, flags) => (await import('../ledger-entries.ts')).ledgerEntries(['entries'], flags),
  }),
  ...[
    ['correction', 'Charge a key something more'],
    ['refund', 'Give a key something back'],
    ['write_off', 'Close what was lost'],
  ].map(([kind = '', summary = '']) =>
    command({
      usage: `ledger ${kind} <USD>`,
      summary,
      details: 'One of --key, --generation and --settles says what it is for.',
      example: `ledger ${kind} 0.05 --key app --reason "Ticket 4711" --config headgate.yaml`,
      page: LEDGER,
      required: { '--reason <TEXT>': 'why, for the record' },
      options: {
        '--key <KEY>': 'for this key',
        '--generation <ID>': 'for this generation',
        '--settles <ENTRY>': 'closes this entry',
        '--once <TEXT>': 'with the same text a second command adds nothing',
        ...OPTIONS,
      },
      run: async (words, flags) => (await import('../ledger-entries.ts')).ledgerEntries([kind, ...words], flags),
    }),
  ),
  {
    usage: 'generations',
    summary: 'Show what became of a request, and why it cost what it did',
    example: 'generations show gen-1767614400-5f2c0d3e8a91 --config headgate.yaml',
    page: 'docs/keys.md',
  },
  command({
    usage: 'generations show <ID>',
    summary: 'Show attempts, times, and the money line by line',
    details: 'ID is the X-Generation-Id of the reply.',
    example: 'generations show gen-1767614400-5f2c0d3e8a91 --config headgate.yaml',
    page: 'docs/keys.md',
    options: OPTIONS,
    run: async ([id = ''], flags) => (await import('../generations.ts')).showGeneration(id, flags),
  }),
  {
    usage: 'events',
    summary: 'Show what has happened, and its deliveries; deliver again',
    example: 'events list',
    page: 'docs/events.md',
    usual: 'list',
  },
  ...[
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
  ].map(([words = '', summary = '', example = '']) =>
    command({
      usage: `events ${words}`,
      summary,
      example,
      page: 'docs/events.md',
      options: { ...(PAGED.has(words) ? { '--cursor <CURSOR>': 'the next page' } : {}), ...OPTIONS },
      run: async (named, flags) => (await import('../events.ts')).events([words.split(' ')[0] ?? '', ...named], flags),
    }),
  ),
  {
    usage: 'audit',
    summary: 'Show who changed what, and check that the log was not edited',
    example: 'audit verify --config headgate.yaml',
    page: AUDIT,
    usual: 'list',
  },
  command({
    usage: 'audit list',
    summary: 'Show changes of keys, guardrails and configuration, and sign-ins',
    example: 'audit list --since 7d --newest --config headgate.yaml',
    page: AUDIT,
    options: { ...AUDIT_FILTERS, '--newest': 'the newest first', '--cursor <CURSOR>': 'the next page', ...OPTIONS },
    run: async (_, flags) => (await import('../audit.ts')).audit(['list'], flags),
  }),
  command({
    usage: 'audit verify',
    summary: 'Check the chain of entries; exit code 1 if one was edited, removed, put in or moved',
    details: 'Prints a receipt. Keep it elsewhere: with it the next check also finds an end that was cut.',
    example: 'audit verify --config headgate.yaml',
    page: AUDIT,
    options: { '--expect <RECEIPT>': 'the receipt of an earlier check or export', ...OPTIONS },
    run: async (_, flags) => (await import('../audit.ts')).audit(['verify'], flags),
  }),
  command({
    usage: 'audit export',
    summary: 'Write entries as JSON lines',
    example: 'audit export --config headgate.yaml',
    page: AUDIT,
    options: { ...AUDIT_FILTERS, ...GATEWAY_OPTIONS },
    run: async (_, flags) => (await import('../audit.ts')).audit(['export'], flags),
  }),
  command({
    usage: 'docs',
    summary: 'Write the API reference of /docs as static files, with openapi.json',
    example: 'docs --out reference --config headgate.yaml',
    page: 'docs/README.md',
    required: { '--out <DIR>': 'the folder, made where it is missing' },
    options: { ...CONFIG_OPTION },
    run: async (_, { out, config }) => (await import('../docs.ts')).docs(out, config),
  }),
  command({
    usage: 'manual [PAGE]',
    summary: 'Print a page of these documents, or the list of all',
    details: 'PAGE is its name as help and messages have it: keys, docs/keys.md, docs/keys.md#sessions.',
    example: 'manual quick-start',
    page: 'docs/README.md',
    options: {},
    run: async ([page]) => (await import('../manual.ts')).manual(page),
  }),
]
