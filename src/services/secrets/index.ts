/** Secrets that the configuration refers to: read at the start and at each reload, and looked at again from time to time. */
import { awsParameters, awsSecrets } from './aws.ts'
import { awsKms } from './aws-kms.ts'
import { azureKeys } from './azure-keyvault.ts'
import { commandSecrets } from './command.ts'
import { fileSecrets } from './file.ts'
import { googleSecrets } from './google.ts'
import { googleKms } from './google-kms.ts'
import { type ReadSecret, SECRET_CAP, type SecretPlace, type SecretSource } from './types.ts'
import { vaultSecrets } from './vault.ts'
import { type KeyService, wrappedSecrets } from './wrapped.ts'

export type { SecretPlace, SecretSource } from './types.ts'

/** Key management services. */
export const KEY_SERVICES: readonly KeyService[] = [awsKms, googleKms, azureKeys]

/** A new one is its file, its line here and its scheme in `src/config/expand.ts`. */
const SOURCES: readonly SecretSource[] = [
  fileSecrets,
  commandSecrets,
  vaultSecrets,
  awsSecrets,
  awsParameters,
  googleSecrets,
  ...KEY_SERVICES.map(wrappedSecrets),
]

export interface SecretReading {
  /** Texts by reference. */
  readonly values: Readonly<Record<string, string>>
  /** Why a reference has no text. */
  readonly failed: ReadonlyMap<string, string>
  /** Why a reference has the text of an earlier reading. */
  readonly kept: ReadonlyMap<string, string>
}

export class Secrets {
  private held: Readonly<Record<string, string>> = {}

  /** Reads secrets, all at once. One that cannot be read keeps the text of the last reading, if it has one. */
  async read(references: readonly string[], place: SecretPlace): Promise<SecretReading> {
    const values: Record<string, string> = {}
    const failed = new Map<string, string>()
    const kept = new Map<string, string>()
    const readings = new Map<SecretSource, ReadSecret>()
    const reading = (source: SecretSource): ReadSecret => {
      const known = readings.get(source) ?? source.open(place)
      readings.set(source, known)
      return known
    }
    await Promise.all(
      references.map(async (reference) => {
        const held = this.held[reference]
        try {
          values[reference] = held !== undefined && findSource(reference).isFixed ? held : await secretAt(reference, reading)
        } catch (error) {
          if (held !== undefined) values[reference] = held
          const why = error instanceof Error ? error.message : 'unknown error'
          ;(held === undefined ? failed : kept).set(reference, why)
        }
      }),
    )
    this.held = values
    return { values, failed, kept }
  }

  /** True where a reading differs from the one before it. */
  static differs(before: SecretReading['values'], after: SecretReading['values']): boolean {
    return Object.entries(after).some(([reference, text]) => before[reference] !== text)
  }
}

async function secretAt(reference: string, reading: (source: SecretSource) => ReadSecret): Promise<string> {
  const text = (await reading(findSource(reference))(reference.slice(reference.indexOf(':') + 1))).replace(/\r?\n$/, '')
  if (text === '') throw new Error('it is empty')
  if (text.length > SECRET_CAP) throw new Error(`it is longer than ${SECRET_CAP} characters`)
  return text
}

function findSource(reference: string): SecretSource {
  const source = SOURCES.find(({ scheme }) => scheme === reference.slice(0, reference.indexOf(':')))
  if (!source) throw new Error('no such source of secrets')
  return source
}
