/** Dependencies of commands on keys of providers that teams bring, where no catalogue is at hand: in the owner of workers, and beside a gateway. */
import type { ByokSource } from '../api/byok.ts'
import type { Config } from '../config/config.ts'
import { KeyEncryption } from '../services/byok/key-encryption.ts'
import { takesKeys } from '../services/credentials/sources/index.ts'

/** Models are not looked up: a name stands for itself. */
export function byokSource(
  config: Pick<Config, 'byok' | 'providers'>,
  rest: Pick<ByokSource, 'byok' | 'store' | 'configured' | 'clock'>,
): ByokSource {
  const named = (slug: string) => config.providers.find((provider) => provider.slug === slug)
  return {
    ...rest,
    encryption: new KeyEncryption(config.byok.encryptionKeys),
    there: { model: (name) => name, provider: (slug) => named(slug) !== undefined },
    takesKey: (slug) => {
      const provider = named(slug)
      return provider?.baseUrl !== undefined && (!provider.credential || takesKeys(provider.credential))
    },
  }
}
