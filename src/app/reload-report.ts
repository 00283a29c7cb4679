/** Log lines of a reload: taken over, or why the old configuration stays. */
import type { Config } from '../config/config.ts'
import type { Reload } from '../config/watch.ts'
import type { Log } from '../core/log.ts'

/** A secret that cannot be read keeps its text: an operator who has just replaced one must not take the reload for a success. */
export function reportReloaded(log: Log, { file, staleSecrets }: Config): void {
  if (staleSecrets.length === 0) log.info({ file }, 'configuration reloaded')
  else log.warn({ file, secrets: staleSecrets }, 'configuration reloaded, but secrets cannot be read: their last values stay in use')
}

export function reportKept(log: Log, reload: Exclude<Reload, { kind: 'applied' }>): void {
  if (reload.kind === 'refused') log.error({ settings: reload.reasons }, 'configuration kept: these settings need a restart')
  else log.error({ problem: String(reload.error) }, 'configuration kept: the new one cannot be used')
}
