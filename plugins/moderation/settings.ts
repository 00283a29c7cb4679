/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { moderationFields } from '../../src/config/fields/moderation.ts'
import { pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { flag, secret, url, usd, withDefault } from '../../src/config/fields/scalars.ts'

export const moderation: ShippedPlugin = {
  settings: pluginSettings('Checks requests by category before anything else is done with them; a flagged request gets 403.', {
    enabled: Type.Optional(flag('True: every request is checked.')),
    ...moderationFields,
    url: Type.Optional(
      url('Address of the endpoint or model, in full or up to /v1. If unset: the address of OpenAI, with the engine `openai`.'),
    ),
    key: Type.Optional(secret('Key of the account.')),
    price: withDefault(usd('USD that a checked request costs the caller.'), '0'),
  }),
  acts: 'on request; on every one with `enabled: true`',
  does: '[Refuses](#moderation) what is flagged by category.',
  limits: '10 s. Needs an endpoint, a classifier or lists of words.',
}
