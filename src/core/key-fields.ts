/**
 * The fields of a key that the configuration and the API both take, with their texts. Each side states the form of every one of them
 * (`src/config/schema/keys.ts`, `src/api/key-fields.ts`): without it, it does not compile. Amounts and sizes are texts with a unit in the
 * file, and numbers in the API.
 */
export const KEY_FIELDS = {
  creator_user_id: 'User for whom the key was made. Keys of one user are one caller: what two of them fail for moves no key of others.',
  limit: 'USD that the key may spend: in all, or in each window of `limit_reset`. If unset: no limit.',
  limit_reset: 'The limit counts the spend of the current UTC day, week (from Monday) or month.',
  parent: 'Name of an entry of `budgets`: the key draws on it together with others, beside its own limit.',
  role: 'Rights of the key. `member` generates; the others manage, and cannot generate.',
  scopes: 'Of a management key: what it opens of all that its role has. If unset: all of it.',
  disabled: 'True: the key is refused with 401.',
  expires_at: 'From this time on, the key is refused with 401.',
  allowed_models: 'Only these models; `*` stands for any text.',
  provider: 'Routing preferences of the requests of the key. A request tightens some of them, and overrides the rest.',
  limits: 'Rate limits of the key.',
  default_max_output: 'Output cap in tokens for requests that set none. Applies only to priced endpoints under a limit or budget.',
  pass_through: 'True: may use the pass-through to provider-native paths.',
  provider_ids:
    'Ids of what you keep at providers (files, vector stores, containers, custom skills, cached content) that requests of this key may name. Others return 404. With `*` at its end, an entry is for all that begin so.',
  error_code:
    'Form of `error.code` in replies of Chat Completions, Responses and Completions: the HTTP status, a name such as `rate_limit_exceeded`, or, with `auto`, a name for clients that are known to need one. If unset: as for all callers.',
  capture_content: 'True: the spans of traced requests hold the words of prompts and answers, after guardrails have redacted them.',
  tags: 'Names and values of your own. Charge-back has them by name, and FOCUS rows among their tags.',
} as const satisfies Readonly<Record<string, string>>

export type KeyField = keyof typeof KEY_FIELDS

/** Form of the name of a tag: visible, and none that an object has by itself. */
export const TAG_NAME = '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$'
export const TAG_NAME_EXPECTED = 'a name of up to 64 letters, digits, dots, dashes, colons, slashes and underscores'
/** Tags of one key. */
export const MAX_TAGS = 50
/** Characters. */
export const MAX_TAG_LENGTH = 256

export type Tags = Readonly<Record<string, string>>

/** Value of a tag; null where the key lacks it. */
export function tagValue(tags: Tags | undefined, name: string): string | null {
  return tags && Object.hasOwn(tags, name) ? (tags[name] ?? null) : null
}
