/** Commands on organisations, workspaces and members. */
import { type Command, command, GATEWAY_OPTIONS, JSON_OPTION } from './command.ts'

const OPTIONS = { ...JSON_OPTION, ...GATEWAY_OPTIONS } as const
const PAGE = 'docs/teams.md'

const LIMITS = {
  '--daily <USD>': 'limit of each UTC day; none takes it away, as of the others',
  '--weekly <USD>': 'of each week, from Monday',
  '--monthly <USD>': 'of each month',
  '--lifetime <USD>': 'of all that is ever spent',
  '--requests <NUMBER>': 'requests per minute; with one of these three, those that are not named have no limit',
  '--tokens <NUMBER>': 'tokens per minute',
  '--streams <NUMBER>': 'open streams',
} as const

function groupCommands(kind: 'organization' | 'workspace'): readonly Command[] {
  const noun = `${kind === 'organization' ? 'an' : 'a'} ${kind}`
  const run = (verb: string) => async (words: readonly string[], flags: object) =>
    (await import('../levels.ts')).levels(kind, [verb, ...words], flags)
  const slug = kind === 'organization' ? 'acme' : 'ml'
  return [
    {
      usage: `${kind}s`,
      summary: `Make, list, limit, disable and delete ${kind}s`,
      example: `${kind}s list`,
      page: PAGE,
    },
    command({
      usage: `${kind}s list`,
      summary: `Show all ${kind}s with their limits`,
      example: `${kind}s list --config headgate.yaml`,
      page: PAGE,
      options: OPTIONS,
      run: run('list'),
    }),
    command({
      usage: `${kind}s create <SLUG>`,
      summary: `Make ${noun}`,
      example: `${kind}s create ${slug} --name ${kind === 'organization' ? 'Acme' : 'Learning'} --config headgate.yaml`,
      page: PAGE,
      options: {
        '--name <NAME>': 'name for people; the slug without it',
        '--description <TEXT>': 'text for people',
        ...(kind === 'workspace' ? { '--organization <NAME>': 'id or slug of the organization; the default one without it' } : {}),
        ...OPTIONS,
      },
      run: run('create'),
    }),
    command({
      usage: `${kind}s limit <NAME>`,
      summary: `Set limits for all below ${noun} together`,
      example: `${kind}s limit ${slug} --monthly 2000 --daily 100 --config headgate.yaml`,
      page: PAGE,
      options: { ...LIMITS, ...OPTIONS },
      run: run('limit'),
    }),
    ...[
      ['disable', 'Refuse all below it from now on'],
      ['enable', 'Let all below it be used again'],
      ['delete', 'Delete it; what was spent stays in the ledger'],
    ].map(([verb = '', summary = '']) =>
      command({
        usage: `${kind}s ${verb} <NAME>`,
        summary,
        details: 'NAME is an id or a slug.',
        example: `${kind}s ${verb} ${slug} --config headgate.yaml`,
        page: PAGE,
        options: OPTIONS,
        run: run(verb),
      }),
    ),
  ]
}

const run = (verb: string) => async (words: readonly string[], flags: object) =>
  (await import('../levels.ts')).levels('member', [verb, ...words], flags)
const OF_ORGANIZATION = { '--organization': 'WORKSPACE is an organization: the members are its own' } as const

export const levelCommands: readonly Command[] = [
  ...groupCommands('organization'),
  ...groupCommands('workspace'),
  {
    usage: 'members',
    summary: 'Add, list, limit, disable and remove members of workspaces',
    example: 'members list default',
    page: PAGE,
  },
  command({
    usage: 'members list <WORKSPACE>',
    summary: 'Show the members of a workspace with their limits',
    example: 'members list default --config headgate.yaml',
    page: PAGE,
    options: { ...OF_ORGANIZATION, ...OPTIONS },
    run: run('list'),
  }),
  command({
    usage: 'members add <WORKSPACE> <USER>',
    summary: 'Add a person or service account, by the name that the identity provider has for it',
    example: 'members add default ada@example.com --config headgate.yaml',
    page: PAGE,
    options: {
      '--role <ROLE>': 'admin or member, as clients show it',
      '--service-account': 'a program, not a person',
      ...OF_ORGANIZATION,
      ...OPTIONS,
    },
    run: run('add'),
  }),
  command({
    usage: 'members limit <WORKSPACE> <USER>',
    summary: 'Set limits for all keys and tokens of a member together',
    example: 'members limit default ada@example.com --weekly 50 --config headgate.yaml',
    page: PAGE,
    options: { ...LIMITS, ...OF_ORGANIZATION, ...OPTIONS },
    run: run('limit'),
  }),
  ...[
    ['disable', 'Refuse a member from now on, whatever it shows'],
    ['enable', 'Let a member in again'],
    ['remove', 'Remove a member; its keys are refused'],
  ].map(([verb = '', summary = '']) =>
    command({
      usage: `members ${verb} <WORKSPACE> <USER>`,
      summary,
      example: `members ${verb} default ada@example.com --config headgate.yaml`,
      page: PAGE,
      options: { ...OF_ORGANIZATION, ...OPTIONS },
      run: run(verb),
    }),
  ),
]
