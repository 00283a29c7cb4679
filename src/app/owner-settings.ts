/** The configuration as the owner of workers hands it on: every process honours the same keys, random ones too. */

import type { Config } from '../config/config.ts'
import type { KeyConfig } from '../config/keys.ts'
import { FALLBACK_NAME, operatorKey, plainKey, resolveKeys } from '../config/keys.ts'
import type { Budgets } from '../core/shared-budget.ts'
import type { ApiKey } from '../plugin-api/key.ts'

export class OwnerSettings {
  /** As read from the file. */
  config: Config
  /** A random secret made because the file names no keys: printed once. */
  readonly generated: string | undefined
  /** Port of the workers, once it is known: the file may leave it to chance. */
  port: number | undefined
  /** Path of the socket on which the control room reaches the workers, where their port speaks TLS. */
  roomSocket: string | undefined
  /** Folder of the workers' files, if the configuration names none. */
  uploads: string | undefined
  private keys: readonly KeyConfig[]
  private readonly operatorKey: KeyConfig

  /** @param operatorSecret of the control room's own key. */
  constructor(config: Config, operatorSecret: string) {
    this.operatorKey = operatorKey(operatorSecret)
    const { generated } = resolveKeys(config)
    this.config = config
    this.generated = generated
    this.keys = configKeys(config, generated)
  }

  /** Takes over a new one. @returns false where its keys are not taken over: a new random secret would never be shown. */
  apply(config: Config): boolean {
    this.config = config
    if (this.generated && !config.keysNamed) return true
    if (resolveKeys(config).generated !== undefined) return false
    this.keys = configKeys(config, undefined)
    return true
  }

  /** With every key named, one port for all, and without the admin token: workers have no admin listener. */
  get shared(): Config {
    const { config, port = config.server.port } = this
    const { path = this.uploads, ...files } = config.store.files
    const { token: _token, tls: _tls, ...admin } = config.admin
    return {
      ...config,
      admin,
      store: { ...config.store, files: { ...files, ...(path === undefined ? {} : { path }) } },
      server: { ...config.server, port, roomSocket: this.roomSocket },
      keysNamed: true,
      keys: [...this.keys],
      operatorKey: this.operatorKey,
    }
  }

  /** Keys of the configuration, for the commands on them. */
  get ofKeys(): { configured: readonly ApiKey[]; budgets: Budgets } {
    return { configured: this.honoured, budgets: this.config.budgets }
  }

  get honoured(): readonly ApiKey[] {
    return resolveKeys(this.shared).keys
  }
}

function configKeys(config: Config, generated: string | undefined): readonly KeyConfig[] {
  if (config.keysNamed) return config.keys
  return [generated === undefined ? config.fallbackKey : plainKey(FALLBACK_NAME, generated)]
}
