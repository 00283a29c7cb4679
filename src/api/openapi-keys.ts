/** Keys, money and records, described. */
import { checkWish } from './auth-code.ts'
import { checkExchange } from './auth-exchange.ts'
import { checkChanges, checkMaking } from './key-body.ts'
import { type DescribedOperation, type DescribedParameter, withNotes } from './openapi.ts'
import { activity, consentCode, credits, deleted, exchangedKey, generation, keyList, madeKey, oneKey, ownKey } from './openapi-schemas.ts'

const HASH: DescribedParameter = {
  name: 'hash',
  in: 'path',
  description: 'SHA-256 of the secret, hexadecimal.',
  schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  example: '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
}

const NOTES = {
  name: 'What people call the key.',
  limit: 'USD that the key may spend; null or absent for no limit.',
  limit_reset: 'The limit begins anew at 00:00 UTC of every day, Monday or first of the month.',
  expires_at: 'A time in UTC such as `2027-01-31T00:00:00Z`.',
  disabled: 'True: the key is refused.',
  workspace_id: 'There is one workspace.',
  creator_user_id: 'Whom the key was made for.',
  include_byok_in_limit: 'Kept for clients that send it.',
  callback_url: 'Where the user is sent back to with the code.',
  code_challenge: 'Proof that whoever fetches the key is who asked for it (RFC 7636).',
  code_challenge_method: 'How the challenge was made.',
  usage_limit_type: 'As `limit_reset` of a key.',
  key_label: 'Name of the new key.',
  code: 'The code that the application was sent back with.',
  code_verifier: 'What the challenge was made of.',
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
      parameters: [{ name: 'offset', in: 'query', description: 'Keys to pass over.', schema: { type: 'integer', minimum: 0 }, example: 0 }],
      reply: { description: 'Keys.', schema: keyList },
      faults: ['bad_request'],
    },
    {
      ...manages,
      method: 'post',
      path: '/keys',
      id: 'createKey',
      summary: 'Make a key',
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
      summary: 'Show one key',
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
      description: 'What the body does not name stays as it is. Keys of the configuration file change there.',
      parameters: [HASH],
      body: {
        schema: withNotes(checkChanges.schema, NOTES),
        examples: {
          limit: { summary: 'Another limit', value: { limit: 25 } },
          disable: { summary: 'No more requests', value: { disabled: true } },
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
      reply: { description: 'It is gone. What it has spent stays in the ledger.', schema: deleted },
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
      summary: 'Show the key that asks',
      reply: { description: 'The key, what it has spent, and what is left.', schema: ownKey },
    },
    {
      ...manages,
      tag: 'Records',
      method: 'get',
      path: '/credits',
      id: 'getCredits',
      summary: 'Show what all keys have spent and may spend',
      reply: { description: 'Sums.', schema: credits },
    },
    {
      ...manages,
      tag: 'Records',
      method: 'get',
      path: '/activity',
      id: 'listActivity',
      summary: 'List the last 30 full days by model and provider',
      parameters: [
        { name: 'date', in: 'query', description: 'One UTC day of them.', schema: { type: 'string', format: 'date' } },
        { name: 'api_key_hash', in: 'query', description: 'Of one key.', schema: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
        { name: 'user_id', in: 'query', description: 'Of keys made for one user.', schema: { type: 'string' } },
        {
          name: 'group_by',
          in: 'query',
          description: 'Adds the workspace.',
          schema: { type: 'string', enum: ['workspace'] },
          example: 'workspace',
        },
        { name: 'workspace_id', in: 'query', description: 'Of one workspace.', schema: { type: 'string' } },
      ],
      reply: { description: 'Rows, the latest day first.', schema: activity },
      faults: ['bad_request'],
    },
    {
      method: 'get',
      path: '/generation',
      id: 'getGeneration',
      tag: 'Records',
      key: 'any',
      summary: 'Show what became of a request',
      description: 'A key sees its own generations, a management key all of them.',
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
      summary: 'Consent that an application gets a key of its own',
      body: {
        schema: withNotes(checkWish.schema, NOTES),
        examples: {
          proof: {
            summary: 'With a proof (RFC 7636)',
            value: {
              callback_url: 'https://app.example/back',
              key_label: 'app',
              code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
              code_challenge_method: 'S256',
            },
          },
        },
      },
      reply: { description: 'A code, good once and for ten minutes.', schema: consentCode },
      faults: ['not_found', 'conflict', 'rate_limited'],
    },
    {
      method: 'post',
      path: '/auth/keys',
      id: 'exchangeAuthCode',
      tag: 'Sign-in',
      key: 'none',
      summary: 'Exchange a code for the key',
      body: {
        schema: withNotes(checkExchange.schema, NOTES),
        examples: {
          plain: {
            summary: 'With the verifier of the proof',
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
  return [...keyOperations(), ...recordOperations(), ...consentOperations()]
}
