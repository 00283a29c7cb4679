/** The schema of the whole file and of a catalogue file. */
import { type Static, Type } from 'typebox'
import { guardrails } from './guardrails.ts'
import { models } from './models.ts'
import { plugins } from './plugins.ts'
import { limits, preferences } from './preferences.ts'
import { presets } from './presets.ts'
import { prompts } from './prompts.ts'
import { type provider, providers } from './providers.ts'
import { ALIAS, closed, count, flag, line, listOf, mapOf, modelSlug, withDefault } from './scalars.ts'
import { admin, auth, brand, type key, server, shared, store } from './server.ts'

export const configSchema = closed('Configuration of headgate.', {
  server: withDefault(server, {}),
  admin: withDefault(admin, {}),
  brand: withDefault(brand, {}),
  store: withDefault(store, {}),
  shared: withDefault(shared, {}),
  auth: withDefault(auth, {}),
  providers,
  catalog: withDefault(listOf('Files with further models, relative to this one; models of this file win.', line('A YAML file.', 1024)), []),
  models: withDefault(models, {}),
  aliases: withDefault(mapOf('Other slugs or names for models.', ALIAS, 'a model slug, or a bare name', modelSlug('The model meant.')), {}),
  default_model: Type.Optional(modelSlug('Model of a request that names none.')),
  provider: Type.Optional(preferences),
  limits: withDefault(limits, {}),
  default_max_output: Type.Optional(count('Output cap in tokens of priced requests that set none; only where a limit or budget applies.')),
  plugins: withDefault(plugins, {}),
  guardrails: withDefault(guardrails, []),
  prompts: withDefault(prompts, {}),
  presets: withDefault(presets, {}),
  pass_through: withDefault(
    closed('The pass-through to provider-native paths.', { enabled: flag('False: closed, whatever the providers say.') }),
    {
      enabled: true,
    },
  ),
})

export const catalogSchema = closed('A catalogue file.', { models })

export type RawConfig = Static<typeof configSchema>
export type RawModels = Static<typeof models>
export type RawProvider = Static<typeof provider>
export type RawKey = Static<typeof key>
