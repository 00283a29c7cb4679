/** The schema of the whole file and of a catalogue file. */
import { type Static, Type } from 'typebox'
import { AGENTS, ROLES } from '../agents/index.ts'
import {
  ALIAS,
  atStart,
  choiceField,
  closed,
  count,
  duration,
  flag,
  line,
  listField,
  mapField,
  modelSlug,
  withDefault,
} from '../fields/scalars.ts'
import { audit } from './audit.ts'
import { auth } from './auth.ts'
import { budgets } from './budgets.ts'
import { events } from './events.ts'
import { exportList } from './exports.ts'
import { guardrail } from './guardrail-filters.ts'
import { log } from './log.ts'
import { models } from './models.ts'
import { plugins } from './plugins.ts'
import { policy } from './policies.ts'
import { limits, preferences } from './preferences.ts'
import { presets } from './presets.ts'
import { type provider, providers } from './providers.ts'
import { scim } from './scim.ts'
import { admin, brand, byok, compaction, errors, healthChecks, server, shared, store } from './server.ts'
import { telemetry } from './telemetry.ts'

/** Guardrails. */
const guardrails = listField('Guardrails, all of which apply.', guardrail)

const message = closed('One message.', {
  role: choiceField('Role of the message.', ['system', 'developer', 'user', 'assistant']),
  content: Type.String({
    description: 'Its text; {{name}} stands for a variable.',
    minLength: 1,
    maxLength: 1_000_000,
    expected: 'a text',
  }),
})

const prompt = closed('One prompt.', {
  description: Type.Optional(line('What it is for.', 1024)),
  messages: listField("Put in front of the request's own input.", message, 1),
})

/** Prompts that requests may name instead of repeat. */
const prompts = mapField('Prompts by name, for `prompt` of /v1/responses.', '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$', 'a name', prompt)

export const configSchema = closed('Configuration of headgate.', {
  server: withDefault(server, {}),
  admin: withDefault(admin, {}),
  brand: withDefault(brand, {}),
  errors: withDefault(errors, {}),
  store: withDefault(store, {}),
  compaction: withDefault(compaction, {}),
  byok: withDefault(byok, {}),
  health_checks: withDefault(healthChecks, {}),
  shared: withDefault(shared, {}),
  auth: withDefault(auth, {}),
  budgets: withDefault(budgets, {}),
  log: withDefault(log, {}),
  telemetry: withDefault(telemetry, {}),
  exports: atStart(withDefault(exportList, [])),
  events: withDefault(events, {}),
  audit: withDefault(audit, {}),
  scim: withDefault(scim, {}),
  secrets: withDefault(
    closed('Secrets that this file refers to, such as those of mounted files, of Vault or of a cloud.', {
      refresh: withDefault(
        duration('Time after which they are looked at again; a change reloads this file. Files are looked at twice a second.'),
        '5m',
      ),
    }),
    {},
  ),
  providers,
  catalog: withDefault(
    listField('Files with further models, relative to this one. Models of this file take precedence.', line('A YAML file.', 1024)),
    [],
  ),
  models: withDefault(models, {}),
  aliases: withDefault(
    mapField('Other slugs or names for models.', ALIAS, 'a model slug, or a bare name', modelSlug('The model meant.')),
    {},
  ),
  agents: withDefault(
    mapField(
      'Models for the names that coding agents send, by agent.',
      `^(${AGENTS.map(({ name }) => name).join('|')})$`,
      `one of: ${AGENTS.map(({ name }) => name).join(', ')}`,
      mapField('By role.', `^(${ROLES.join('|')})$`, `one of: ${ROLES.join(', ')}`, modelSlug('The model meant.')),
    ),
    {},
  ),
  default_model: Type.Optional(modelSlug('Model of a request that names none.')),
  provider: Type.Optional(preferences),
  limits: withDefault(limits, {}),
  default_max_output: Type.Optional(
    count('Output cap in tokens for requests that set none. Applies only to priced endpoints under a limit or budget.'),
  ),
  provider_tool_tokens: Type.Optional(
    count(
      'Under a limit, tokens for which credit is kept free for each part of a request whose results nothing caps: MCP servers, code execution, containers, skills, file search. Unset: all that the context has left.',
    ),
  ),
  plugins: withDefault(plugins, {}),
  guardrails: withDefault(guardrails, []),
  policies: withDefault(
    listField(
      'Conditions on requests, each with its effect, in their order. Every one is looked at: see [conditions.md](conditions.md).',
      policy,
    ),
    [],
  ),
  prompts: withDefault(prompts, {}),
  presets: withDefault(presets, {}),
  pass_through: withDefault(closed('The pass-through to provider-native paths.', { enabled: flag('False: closed for all providers.') }), {
    enabled: true,
  }),
})

export const catalogSchema = closed('A catalogue file.', { models })

export type RawConfig = Static<typeof configSchema>
export type RawModels = Static<typeof models>
export type RawProvider = Static<typeof provider>
