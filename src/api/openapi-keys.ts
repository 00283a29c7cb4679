/** Keys, money and records, described. */

import { checkWish } from './auth-code.ts'
import { checkExchange } from './auth-exchange.ts'
import { checkChanges, checkMaking } from './key-body.ts'
import { type DescribedOperation, type DescribedParameter, withNotes } from './openapi.ts'
import { operatorOperations } from './openapi-operator.ts'
import {
  activity,
  consentCode,
  credits,
  deleted,
  exchangedKey,
  generation,
  keyList,
  madeKey,
  oneKey,
  ownKey,
  sessions,
} from './openapi-schemas.ts'
import { FORMAT, spendingOperations } from './openapi-spending.ts'

const HASH: DescribedParameter = {
  name: 'hash',
  in: 'path',
  description: 'SHA-256 of the secret, hexadecimal.',
  schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  example: '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
}

const NOTES = {
  name: 'Name of the key.',
  limit: 'USD that the key may spend; null or absent for no limit.',
  limit_reset: 'Period of the limit. Each starts at 00:00 UTC: every day, on Monday, or on the first of the month.',
  expires_at: 'A time in UTC such as `2027-01-31T00:00:00Z`.',
  disabled: 'Requests with a disabled key get 401.',
  workspace_id: 'There is one workspace.',
  creator_user_id:
    'User for whom the key was made; null for none. Keys of one user are one caller: requests of two of them that fail move no key of others to another provider.',
  include_byok_in_limit: 'Accepted without effect.',
  provider_ids:
    'Ids of what you keep at providers (files, vector stores, containers, custom skills, cached content) that requests of the key may name; with `*` at its end, an entry is for all that begin so. Keys issued through sign-in have those of their issuer.',
  callback_url: 'Address to which the user returns with the code.',
  code_challenge: 'PKCE challenge (RFC 7636): only the application that has its verifier receives the key.',
  code_challenge_method: 'How the challenge was computed.',
  usage_limit_type: 'Same as `limit_reset` of a key.',
  key_label: 'Name of the new key.',
  code: 'The code from the callback.',
  code_verifier: 'PKCE verifier: the value from which the challenge was computed.',
}

const manages = { tag: 'Keys', key: 'management' } as const

function keyOperations(): DescribedOperation[] {
  return [
    {
      ...manages,
      method: 'get',
      path: '/keys',
      id: 'listKeys',
      summary: 'List keys',
      parameters: [
        { name: 'offset', in: 'query', description: 'Keys to skip.', schema: { type: 'integer', minimum: 0 }, example: 0 },
        { name: 'include_disabled', in: 'query', description: 'Also disabled keys.', schema: { type: 'string', enum: ['true', 'false'] } },
        {
          name: 'include_forecast',
          in: 'query',
          description: 'Adds to each key with a limit how long that lasts; of CSV it changes nothing.',
          schema: { type: 'string', enum: ['true', 'false'] },
        },
        FORMAT,
      ],
      reply: { description: 'Keys.', schema: keyList },
      faults: ['bad_request'],
    },
    {
      ...manages,
      method: 'post',
      path: '/keys',
      id: 'createKey',
      summary: 'Create a key',
      body: {
        schema: withNotes(checkMaking.schema, NOTES),
        examples: {
          plain: { summary: 'A key without a limit', value: { name: 'reports' } },
          monthly: { summary: 'Ten dollars a month', value: { name: 'reports', limit: 10, limit_reset: 'monthly' } },
        },
      },
      reply: { status: 201, description: 'The key and its secret.', schema: madeKey },
    },
    {
      ...manages,
      method: 'get',
      path: '/keys/{hash}',
      id: 'getKey',
      summary: 'Get a key',
      parameters: [HASH],
      reply: { description: 'The key.', schema: oneKey },
      faults: ['not_found'],
    },
    {
      ...manages,
      method: 'patch',
      path: '/keys/{hash}',
      id: 'changeKey',
      summary: 'Change a key',
      description: 'Fields that are absent stay as they are. Keys of the configuration file can only be changed there.',
      parameters: [HASH],
      body: {
        schema: withNotes(checkChanges.schema, NOTES),
        examples: {
          limit: { summary: 'Another limit', value: { limit: 25 } },
          disable: { summary: 'Disable it', value: { disabled: true } },
        },
      },
      reply: { description: 'The key as it is now.', schema: oneKey },
      faults: ['not_found', 'conflict'],
    },
    {
      ...manages,
      method: 'delete',
      path: '/keys/{hash}',
      id: 'deleteKey',
      summary: 'Delete a key',
      parameters: [HASH],
      reply: { description: 'The key is deleted. Its spending stays in the ledger.', schema: deleted },
      faults: ['not_found', 'conflict'],
    },
    {
      ...manages,
      method: 'post',
      path: '/keys/{hash}/rotate',
      id: 'rotateKey',
      summary: 'Replace the secret of a key',
      description:
        'Name, limit, spending and history stay; the hash changes. The old secret is refused from then on, and so are the keys that this key issued through sign-in.',
      parameters: [{ ...HASH, example: 'fedcba9876543210'.repeat(4) }],
      reply: { description: 'The key with its new hash, and its new secret.', schema: madeKey },
      faults: ['not_found', 'conflict'],
    },
  ]
}

function recordOperations(): DescribedOperation[] {
  return [
    {
      method: 'get',
      path: '/key',
      id: 'getOwnKey',
      tag: 'Keys',
      key: 'any',
      summary: 'Get the key of the request',
      reply: { description: 'The key, what it has spent, and what is left.', schema: ownKey },
    },
    {
      ...manages,
      tag: 'Records',
      method: 'get',
      path: '/credits',
      id: 'getCredits',
      summary: 'Get credits and spending of all keys',
      reply: { description: 'Sums.', schema: credits },
    },
    {
      ...manages,
      tag: 'Records',
      method: 'get',
      path: '/activity',
      id: 'listActivity',
      summary: 'List activity by day, model and provider',
      description: 'The last 30 full days.',
      parameters: [
        { name: 'date', in: 'query', description: 'Only this UTC day.', schema: { type: 'string', format: 'date' } },
        { name: 'api_key_hash', in: 'query', description: 'Only this key.', schema: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
        { name: 'user_id', in: 'query', description: 'Only keys made for this user.', schema: { type: 'string' } },
        {
          name: 'group_by',
          in: 'query',
          description: 'Adds the workspace to each row.',
          schema: { type: 'string', enum: ['workspace'] },
          example: 'workspace',
        },
        { name: 'workspace_id', in: 'query', description: 'Only this workspace.', schema: { type: 'string' } },
        FORMAT,
      ],
      reply: { description: 'Rows, the latest day first.', schema: activity },
      faults: ['bad_request'],
    },
    {
      ...manages,
      tag: 'Records',
      method: 'get',
      path: '/sessions',
      id: 'listSessions',
      summary: 'List sessions with their tokens and cost',
      description:
        'Sums of the settled requests of a period by key and session, the session that was used last first. The session is the `session_id` of a request, the header `X-Session-Id`, the id that a coding agent sends with its requests, or `prompt_cache_key`.',
      parameters: [
        {
          name: 'since',
          in: 'query',
          description: 'Begin of the period; 24 hours before its end without it, at most 31 days.',
          schema: { type: 'string', format: 'date-time' },
        },
        { name: 'until', in: 'query', description: 'End of the period; now without it.', schema: { type: 'string', format: 'date-time' } },
        { name: 'api_key_hash', in: 'query', description: 'Only this key.', schema: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
        { name: 'session_id', in: 'query', description: 'Only this session.', schema: { type: 'string', maxLength: 256 } },
        { name: 'offset', in: 'query', description: 'Sessions to skip.', schema: { type: 'integer', minimum: 0 }, example: 0 },
        {
          name: 'limit',
          in: 'query',
          description: 'Sessions per page at most; 100 without it.',
          schema: { type: 'integer', minimum: 1, maximum: 1000 },
          example: 100,
        },
        FORMAT,
      ],
      reply: { description: 'Sessions.', schema: sessions },
      faults: ['bad_request', 'unavailable'],
    },
    {
      method: 'get',
      path: '/generation',
      id: 'getGeneration',
      tag: 'Records',
      key: 'any',
      summary: 'Get a generation',
      description: 'The record of one request. A key sees its own generations, a management key all.',
      parameters: [
        {
          name: 'id',
          in: 'query',
          description: 'The `id` of a reply.',
          schema: { type: 'string', minLength: 1 },
          required: true,
          example: 'gen-0',
        },
      ],
      reply: { description: 'Usage, cost, times and providers.', schema: generation },
      faults: ['bad_request', 'not_found'],
    },
  ]
}

function consentOperations(): DescribedOperation[] {
  return [
    {
      method: 'post',
      path: '/auth/keys/code',
      id: 'createAuthCode',
      tag: 'Sign-in',
      key: 'ordinary',
      summary: 'Create a sign-in code for an application',
      body: {
        schema: withNotes(checkWish.schema, NOTES),
        examples: {
          proof: {
            summary: 'With PKCE (RFC 7636)',
            value: {
              callback_url: 'https://app.example/back',
              key_label: 'app',
              code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
              code_challenge_method: 'S256',
            },
          },
        },
      },
      reply: { description: 'A code that works once, for ten minutes.', schema: consentCode },
      faults: ['not_found', 'conflict', 'rate_limited'],
    },
    {
      method: 'post',
      path: '/auth/keys',
      id: 'exchangeAuthCode',
      tag: 'Sign-in',
      key: 'none',
      summary: 'Exchange a code for a key',
      body: {
        schema: withNotes(checkExchange.schema, NOTES),
        examples: {
          plain: {
            summary: 'With the PKCE verifier',
            value: { code: 'the-code', code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' },
          },
        },
      },
      reply: { description: 'The key.', schema: exchangedKey },
      faults: ['not_found', 'forbidden', 'rate_limited'],
    },
  ]
}

export function managementOperations(): DescribedOperation[] {
  return [...keyOperations(), ...recordOperations(), ...operatorOperations(), ...spendingOperations(), ...consentOperations()]
}
