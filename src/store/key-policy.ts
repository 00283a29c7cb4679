/** The terms of a key that no query filters by: one JSON text beside its columns. */
import type { KeyRecord } from './keys.ts'

type Policy = Pick<
  KeyRecord,
  | 'allowedModels'
  | 'provider'
  | 'limits'
  | 'passThrough'
  | 'consent'
  | 'providerIds'
  | 'parent'
  | 'previous'
  | 'defaultMaxOutput'
  | 'errorCode'
  | 'captureContent'
  | 'tags'
>

// Stores of every version name the permission `passage`.
export function policyText(key: Policy): string {
  const { allowedModels, provider, limits, passThrough: passage, consent, providerIds, parent, previous } = key
  const ids = providerIds?.length ? providerIds : undefined
  const { defaultMaxOutput, errorCode, tags } = key
  const captureContent = key.captureContent || undefined
  const known = { allowedModels, provider, limits, passage, consent, providerIds: ids, parent }
  // Programs of the schema before know none of these, and drop them with any change of the key.
  return JSON.stringify({ ...known, previous, defaultMaxOutput, errorCode, captureContent, tags })
}

export function policyFrom(text: string): Policy {
  const { passage, consent, providerIds, ...policy } = JSON.parse(text) as Omit<Policy, 'passThrough'> & { passage: boolean }
  const { allowedModels, provider, limits, parent, previous, defaultMaxOutput, errorCode, captureContent, tags } = policy
  return {
    ...{ allowedModels, provider, limits, passThrough: passage },
    ...(consent ? { consent } : {}),
    ...(providerIds ? { providerIds } : {}),
    ...(parent === undefined ? {} : { parent }),
    ...(previous ? { previous } : {}),
    ...(defaultMaxOutput === undefined ? {} : { defaultMaxOutput }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(captureContent ? { captureContent } : {}),
    ...(tags ? { tags } : {}),
  }
}
