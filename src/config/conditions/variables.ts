/** The variables of conditions: one table, of which the checker, the readers of their values, the bounds and the documents are made. */

/** Points of a request's way at which conditions are evaluated, each behind the one before it. */
export const STAGES = ['request', 'endpoint', 'cost', 'tool'] as const
export type Stage = (typeof STAGES)[number]

/** Types of CEL that variables have. */
type Type = 'string' | 'bool' | 'int' | 'double' | 'list<string>' | 'map<string, string>' | 'map<string, dyn>' | 'google.protobuf.Timestamp'

export interface Field {
  readonly type: Type
  readonly text: string
  /** Characters of the text, or of each text of a list; of a map those of all of it together. */
  readonly characters?: number
}

interface Group {
  readonly stage: Stage
  readonly text: string
  readonly fields: Readonly<Record<string, Field>>
}

interface Plain extends Field {
  readonly stage: Stage
}

/** Characters of a text that states no other bound. */
export const USUAL_CHARACTERS = 1_024
/** Entries of a list or of a map. */
export const MAX_ENTRIES = 512

const text = (words: string, characters = USUAL_CHARACTERS) => ({ type: 'string', text: words, characters }) as const
const flag = (words: string) => ({ type: 'bool', text: words }) as const
const number = (words: string) => ({ type: 'int', text: words }) as const
const usd = (words: string) => ({ type: 'double', text: words }) as const
const texts = (words: string, characters = USUAL_CHARACTERS) => ({ type: 'list<string>', text: words, characters }) as const

export const VARIABLES = {
  caller: {
    stage: 'request',
    text: 'The key, token or certificate that the request came with; of a key that was issued through sign-in the one that issued it.',
    fields: {
      name: text('Name of the key; of a token or certificate the name of the member with that of its rule, such as `ada (research)`.'),
      id: text('Its identity in the ledger.'),
      kind: text('`key`, `token` or `certificate`.'),
      issuer: text('Claim `iss` of the token; empty for a key.'),
      user: text('User for whom the key was made; empty where none was named.'),
    },
  },
  claims: {
    stage: 'request',
    type: 'map<string, dyn>',
    text: 'Claims of the token, or of the client certificate, by their names; empty for a key.',
    characters: 16_384,
  },
  organisation: {
    stage: 'request',
    text: 'The budgets of the configuration that the caller draws on.',
    fields: {
      team: text('Name of the nearest budget; empty without one.'),
      name: text('Name of the topmost budget; empty without one.'),
      path: texts('Names from the nearest budget to the topmost.', 128),
    },
  },
  request: {
    stage: 'request',
    text: 'The request as the caller sent it, with what its preset adds. No text of its conversation is among these.',
    fields: {
      operation: text('`generate`, `embed`, `count` (of tokens), `prepare` (an empty response) or `pass_through`.'),
      format: text('Format of the body, such as `chat`, `responses`, `messages` or `embeddings`.'),
      model: text('Slug of the first model that the request names, behind its alias. It may be served by another: see `model`.'),
      models: texts('Slugs of all models that it names.', 256),
      stream: flag('True for a streamed answer.'),
      tools: texts(
        'Names of its functions, also those in a namespace or among its items, and types of its other tools; `web_search` where a field, the plugin `web` or `:online` has it search.',
        128,
      ),
      media: flag('False where it surely holds text alone.'),
      max_output: number('Output cap in tokens; absent where the request sets none.'),
      bytes: number('Length of the body.'),
      user: text('Field `user`; empty where it is not sent.'),
      metadata: { type: 'map<string, dyn>', text: 'Field `metadata`.', characters: 16_384 },
      headers: {
        type: 'map<string, string>',
        text: 'Headers by their names in lower case, without those whose names say that they hold secrets (`authorization`, cookies, keys, tokens, signatures).',
        characters: 32_768,
      },
      time: { type: 'google.protobuf.Timestamp', text: 'Time at which it came, such as in `request.time.getHours("Europe/Berlin")`.' },
    },
  },
  session: {
    stage: 'request',
    text: 'The conversation that the request names.',
    fields: { id: text('`session_id`, the header `x-session-id`, or what an agent calls its conversation; empty without one.') },
  },
  model: {
    stage: 'endpoint',
    text: 'The model of an endpoint that may serve the request, whichever way it was chosen.',
    fields: {
      slug: text('Such as `anthropic/claude-sonnet-5`.'),
      author: text('The part before the slash.'),
      context: number('Context window in tokens; absent where it is not known.'),
    },
  },
  endpoint: {
    stage: 'endpoint',
    text: 'An endpoint that may serve the request.',
    fields: {
      provider: text('Slug of its provider.'),
      tag: text('As in preferences: `provider`, `provider/variant` or `provider/tier`.'),
      data_collection: text('`allow` or `deny`, as the provider is declared.'),
      zdr: flag('True where the provider retains nothing.'),
      headquarters: text('Country of the provider (ISO 3166-1), empty where it is not declared.'),
      datacenters: texts('Countries of its data centres.', 16),
      free: flag('True where it costs nothing.'),
      own_key: flag('True where a key that the team has brought pays for it.'),
    },
  },
  cost: {
    stage: 'cost',
    text: 'What the request may come to, once the hold is computed.',
    fields: {
      max_usd: usd('USD that it has cost so far and may cost with this turn at the most.'),
      input_tokens: number('Upper bound of the tokens of the input.'),
    },
  },
  tool: {
    stage: 'tool',
    text: 'The tool of the gateway that the model calls.',
    fields: {
      name: text('Name of the tool, without the word of the gateway, such as `shell` or `web_fetch`.'),
      function: text('Name by which the model calls it; of a tool of an MCP server that of the tool there.'),
    },
  },
  arguments: {
    stage: 'tool',
    type: 'map<string, dyn>',
    text: "Arguments of that call, by the tool's own names.",
    characters: 65_536,
  },
} as const satisfies Record<string, Group | Plain>

export type VariableName = keyof typeof VARIABLES
type Table = typeof VARIABLES

/** Values as the readers give them; undefined where the request has none, which fails a condition that reads it. */
interface Values {
  string: string | undefined
  bool: boolean | undefined
  int: number | undefined
  double: number | undefined
  'list<string>': readonly string[] | undefined
  'map<string, string>': Readonly<Record<string, string>> | undefined
  'map<string, dyn>': Readonly<Record<string, unknown>> | undefined
  'google.protobuf.Timestamp': Date | undefined
}

type Reader<Source, Of> = Of extends { type: infer Kind extends Type } ? (source: Source) => Values[Kind] : never

/** A reader for each field of the table. */
export type Readers<Source> = {
  readonly [Name in VariableName]: Table[Name] extends { fields: infer Fields }
    ? { readonly [Each in keyof Fields]: Reader<Source, Fields[Each]> }
    : Reader<Source, Table[Name]>
}

export function isGroup(variable: Group | Plain): variable is Group {
  return 'fields' in variable
}

export const VARIABLE_LIST: readonly (readonly [name: string, variable: Group | Plain])[] = Object.entries(VARIABLES)

export function variableNamed(name: string): Group | Plain | undefined {
  return Object.hasOwn(VARIABLES, name) ? VARIABLES[name as VariableName] : undefined
}
