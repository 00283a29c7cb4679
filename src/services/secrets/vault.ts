/**
 * `${vault:PATH#FIELD}`: a field of a secret in HashiCorp Vault or OpenBao, version 1 or 2 of the KV engine. The path is the one of the
 * HTTP API, so of version 2 it has `data` behind the mount: `secret/data/app`
 * (https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2#read-secret-version). The address, the token and the namespace come
 * from the variables of Vault's own command line.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject, type Json } from '../../core/json.ts'
import { callService } from '../outbound/service-call.ts'
import { SECRET_CAP, SECRET_TIMEOUT, type SecretPlace, type SecretSource } from './types.ts'

const never = (): (() => void) => () => {}

export const vaultSecrets: SecretSource = {
  scheme: 'vault',
  open: (place) => async (name) => {
    const { env, clock } = place
    const [, path, field] = /^\/?([^#]+)#(.+)$/.exec(name) ?? []
    if (path === undefined || field === undefined) throw new Error('expected vault:PATH#FIELD')
    const address = URL.parse(env.VAULT_ADDR ?? '')
    if (!address) throw new Error('VAULT_ADDR is not set to the address of the server')
    const namespace = env.VAULT_NAMESPACE
    const url = `${address.href.replace(/\/+$/, '')}/v1/${path.split('/').map(encodeURIComponent).join('/')}`
    const headers = {
      'x-vault-token': await vaultToken(place),
      'x-vault-request': 'true',
      ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
    }
    const answer = await callService({ url, headers }, { clock, timeout: SECRET_TIMEOUT, cap: 16 * SECRET_CAP, onAbort: never })
    const value = answerField(answer, field)
    if (typeof value !== 'string') throw new Error(`the secret has no text in the field ${field}`)
    return value
  },
}

/** As Vault's command line finds it. */
async function vaultToken({ env }: SecretPlace): Promise<string> {
  if (env.VAULT_TOKEN) return env.VAULT_TOKEN
  const file = join(env.HOME ?? '/', '.vault-token')
  const text = await readFile(file, 'utf8').catch(() => '')
  if (text.trim() === '') throw new Error('neither VAULT_TOKEN nor the file ~/.vault-token has a token')
  return text.trim()
}

/** Version 2 of the engine puts the secret and its metadata into `data`. */
function answerField(answer: Json, field: string): Json | undefined {
  const data = isObject(answer) && isObject(answer.data) ? answer.data : {}
  const inner = isObject(data.data) && isObject(data.metadata) ? data.data : data
  return Object.hasOwn(inner, field) ? inner[field] : undefined
}
