/** Settings of `scim`: of its tokens only their hashes leave the loader. */
import { secretHash } from '../core/secret.ts'
import type { Resolved } from './resolved.ts'
import type { RawConfig } from './schema/root.ts'
import type { scim } from './schema/scim.ts'
import type { Source } from './source.ts'

export function scimConfig({ tokens, ...settings }: Resolved<typeof scim>) {
  return { ...settings, tokens: tokens.map(({ name, token }) => ({ name, hash: secretHash(token) })) }
}

/** Rules that the schema cannot state. */
export function checkScim({ scim, auth }: RawConfig, main: Source): void {
  const names = new Set<string>()
  const secrets = new Set<string>()
  for (const [index, { name, token }] of (scim?.tokens ?? []).entries()) {
    const at = ['scim', 'tokens', index]
    if (names.has(name)) main.report([...at, 'name'], 'expected a name of its own: another token has it')
    if (secrets.has(token)) main.report([...at, 'token'], 'expected a token of its own: another entry has it')
    if ((auth?.keys ?? []).some(({ key }) => key === token))
      main.report([...at, 'token'], 'expected a token of its own: it is a key of auth.keys')
    names.add(name)
    secrets.add(token)
  }
  const groups = new Set<string>()
  for (const [index, { group }] of (scim?.groups?.rules ?? []).entries()) {
    if (groups.has(group.toLowerCase()))
      main.report(['scim', 'groups', 'rules', index, 'group'], 'expected another group: the rule above has it, and this one never decides')
    groups.add(group.toLowerCase())
  }
}
