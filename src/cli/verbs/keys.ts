/** Verbs on keys and their credit, on guardrails, sessions and compaction. */
import type { Verb } from './verb.ts'

export function addKeys(program: Verb): void {
  program.group('Keys and policy')
  const keys = program.add('keys', { summary: 'Make, list, disable, rotate and delete keys', example: 'keys list', page: 'docs/keys.md' })
  keys
    .add('list', {
      summary: 'Show all keys with their limits and what they have spent',
      example: 'keys list --config headgate.yaml',
      page: 'docs/keys.md',
    })
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../keys.ts')).keys(['list'], flags))
  keys
    .add('create <NAME>', {
      summary: 'Make a key, and show its secret, this once',
      example: 'keys create ada --limit 20.00 --reset monthly --config headgate.yaml',
      page: 'docs/keys.md',
    })
    .option('--user <USER>', 'for whom it is made: keys of one user are one caller to the health of providers')
    .option('--limit <USD>', 'the most that it may spend')
    .option('--reset <PERIOD>', 'daily, weekly or monthly: the limit is for that time')
    .option('--expires <TIME>', 'such as 2027-01-31T00:00:00Z')
    .option('--provider-ids <IDS>', 'ids made at providers that the key may name, with commas between them')
    .option('--management', 'a key that manages, and cannot generate')
    .withJson()
    .withGateway()
    .does(async (words, flags) => (await import('../keys.ts')).keys(['create', ...words], flags))
  const changes = [
    ['disable', 'Have a key refused from now on'],
    ['enable', 'Let a disabled key be used again'],
    ['rotate', 'Give a key a new secret; the old one is refused'],
    ['delete', 'Delete a key; what it has spent stays in the ledger'],
  ] as const
  for (const [verb, summary] of changes)
    keys
      .add(`${verb} <KEY>`, {
        summary,
        details: 'KEY is a name, a hash or the beginning of a hash. Keys of the file change there.',
        example: `keys ${verb} ${verb === 'delete' ? 'ada' : 'reports'} --config headgate.yaml`,
        page: 'docs/keys.md',
      })
      .withJson()
      .withGateway()
      .does(async (words, flags) => (await import('../keys.ts')).keys([verb, ...words], flags))
  addCredits(program)
  addGuardrails(program)
  program
    .add('sessions', {
      summary: 'Show what each conversation of an agent has used',
      details: 'Requests, tokens, what was read from and written to caches, cost: of the last 24h without --since, at most of 31d.',
      example: 'sessions --since 7d --config headgate.yaml',
      page: 'docs/keys.md',
    })
    .option('--since <TIME>', 'a time, or a span such as 24h or 7d')
    .option('--key <KEY>', 'of this key')
    .option('--session <ID>', 'this one')
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../sessions.ts')).sessions([], flags))
  program
    .add('refusals', {
      summary: 'Show requests that the gateway itself refused, by minute, key and reason',
      details: 'The last 24h without --since. With --json a line for each row.',
      example: 'refusals --since 7d --config headgate.yaml',
      page: 'docs/keys.md',
    })
    .option('--since <TIME>', 'a time, or a span such as 24h or 7d')
    .option('--until <TIME>', 'a time, or a span')
    .option('--key <KEY>', 'of this key')
    .option('--reason <REASON>', 'of this reason')
    .option('--generation <ID>', 'the one whose reply had this X-Generation-Id')
    .option('--csv', 'print CSV')
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../refusals.ts')).refusals([], flags))
  addCompaction(program)
}

function addCredits(program: Verb): void {
  const credits = program
    .add('credits', {
      summary: 'Show what was spent and what is left under limits; raise a limit',
      example: 'credits',
      page: 'docs/keys.md',
    })
    .usually('show')
  credits
    .add('show', {
      summary: 'Show what all keys have spent, and what is left to those with a limit',
      example: 'credits show --config headgate.yaml',
      page: 'docs/keys.md',
    })
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../keys.ts')).credits([], flags))
  credits
    .add('add <KEY> <USD>', {
      summary: 'Raise the limit of a key',
      example: 'credits add reports 5.00 --config headgate.yaml',
      page: 'docs/keys.md',
    })
    .withJson()
    .withGateway()
    .does(async (words, flags) => (await import('../keys.ts')).credits(['add', ...words], flags))
}

function addGuardrails(program: Verb): void {
  const guardrails = program.add('guardrails', {
    summary: 'Show guardrails, whom they hold for, and what they have found',
    example: 'guardrails list',
    page: 'docs/guardrails.md',
  })
  guardrails
    .add('list', {
      summary: 'Show the guardrails of the file and of the store',
      example: 'guardrails list --config headgate.yaml',
      page: 'docs/guardrails.md',
    })
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../guardrails.ts')).guardrails(['list'], flags))
  guardrails
    .add('show <NAME>', {
      summary: 'Show one guardrail',
      example: 'guardrails show no-secrets --config headgate.yaml',
      page: 'docs/guardrails.md',
    })
    .withJson()
    .withGateway()
    .does(async (words, flags) => (await import('../guardrails.ts')).guardrails(['show', ...words], flags))
  guardrails
    .add('audit', {
      summary: 'Show findings: kinds and hashes, the text only where a guardrail keeps it',
      example: 'guardrails audit --since 7d --config headgate.yaml',
      page: 'docs/guardrails.md',
    })
    .option('--since <TIME>', 'a time, or a span such as 24h or 7d')
    .option('--key <KEY>', 'of this key')
    .option('--guardrail <NAME>', 'of this guardrail')
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../guardrails.ts')).guardrails(['audit'], flags))
}

function addCompaction(program: Verb): void {
  const compaction = program.add('compaction', {
    summary: 'Show, make and remove the keys that encrypt compaction items',
    example: 'compaction list',
    page: 'docs/compaction.md',
  })
  const verbs = [
    ['list', 'Show the keys', 'compaction list --config headgate.yaml'],
    ['rotate', 'Make a new key, which encrypts from now on', 'compaction rotate --config headgate.yaml'],
    ['remove <NUMBER>', 'Remove an old key: items that it encrypted no longer open', 'compaction remove 1 --config headgate.yaml'],
  ] as const
  for (const [usage, summary, example] of verbs) {
    const [verb = ''] = usage.split(' ')
    compaction
      .add(usage, { summary, example, page: 'docs/compaction.md' })
      .withJson()
      .withGateway()
      .does(async (words, flags) => (await import('../compaction.ts')).compaction([verb, ...words], flags))
  }
}
