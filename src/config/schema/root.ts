/** The schema of the whole file and of a catalogue file. */
import { type Static, Type } from 'typebox'
import { guardrails } from './guardrails.ts'
import { models } from './models.ts'
import { plugins } from './plugins.ts'
import { limits, preferences } from './preferences.ts'
import { presets } from './presets.ts'
import { prompts } from './prompts.ts'
import { providers } from './providers.ts'
import { ALIAS, closed, count, flag, line, listOf, mapOf, modelSlug } from './scalars.ts'
import { admin, auth, brand, server, shared, store } from './server.ts'

export const configSchema = closed('Configuration of headgate.', {
  server: Type.Optional(server),
  admin: Type.Optional(admin),
  brand: Type.Optional(brand),
  store: Type.Optional(store),
  shared: Type.Optional(shared),
  auth: Type.Optional(auth),
  providers,
  catalog: Type.Optional(listOf('Files with further models, relative to this one; models of this file win.', line('A YAML file.', 1024))),
  models: Type.Optional(models),
  aliases: Type.Optional(mapOf('Other slugs or names for models.', ALIAS, 'a model slug, or a bare name', modelSlug('The model meant.'))),
  default_model: Type.Optional(modelSlug('Model of a request that names none.')),
  provider: Type.Optional(preferences),
  limits: Type.Optional(limits),
  default_max_output: Type.Optional(count('Output cap in tokens of priced requests that set none; only where a limit or budget applies.')),
  plugins: Type.Optional(plugins),
  guardrails: Type.Optional(guardrails),
  prompts: Type.Optional(prompts),
  presets: Type.Optional(presets),
  passage: Type.Optional(closed('The passage to provider-native paths.', { enabled: flag('False: closed, whatever the providers say.') })),
})

export const catalogSchema = closed('A catalogue file.', { models })

export type RawConfig = Static<typeof configSchema>
export type RawModels = Static<typeof models>
export type RawProvider = Static<typeof providers>[string]
export type RawKey = NonNullable<NonNullable<Static<typeof auth>['keys']>>[number]
export type RawSignIn = NonNullable<NonNullable<Static<typeof auth>['sign_in']>>
