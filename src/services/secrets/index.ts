/** Secrets that the configuration refers to: read at the start and at each reload, and looked at again from time to time. */
import { FirstUse } from '../../core/first-use.ts'
import { type ReadSecret, SECRET_CAP, type SecretPlace, type SecretSource } from './types.ts'
import type { KeyService } from './wrapped.ts'

export type { SecretPlace, SecretSource } from './types.ts'

/** Key management services, one line each. */
export const keyServices = new FirstUse(
  async (): Promise<readonly KeyService[]> => [
    (await import('./aws-kms.ts')).awsKms,
    (await import('./google-kms.ts')).googleKms,
    (await import('./azure-keyvault.ts')).azureKeys,
  ],
)

/** A new one is its file, its line here and its scheme in `src/config/expand.ts`. All load with the first reference. */
const sources = new FirstUse(
  async (): Promise<readonly SecretSource[]> => [
    (await import('./file.ts')).fileSecrets,
    (await import('./command.ts')).commandSecrets,
    (await import('./vault.ts')).vaultSecrets,
    (await import('./aws.ts')).awsSecrets,
    (await import('./aws.ts')).awsParameters,
    (await import('./google.ts')).googleSecrets,
    ...(await keyServices.get()).map((await import('./wrapped.ts')).wrappedSecrets),
  ],
)

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
          const source = await findSource(reference)
          values[reference] = held !== undefined && source.isFixed === true ? held : await secretAt(reference, reading(source))
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

async function findSource(reference: string): Promise<SecretSource> {
  const scheme = reference.slice(0, reference.indexOf(':'))
  const source = (await sources.get()).find((each) => each.scheme === scheme)
  if (!source) throw new Error('no such source of secrets')
  return source
}

async function secretAt(reference: string, read: ReadSecret): Promise<string> {
  const text = (await read(reference.slice(reference.indexOf(':') + 1))).replace(/\r?\n$/, '')
  if (text === '') throw new Error('it is empty')
  if (text.length > SECRET_CAP) throw new Error(`it is longer than ${SECRET_CAP} characters`)
  return text
}
