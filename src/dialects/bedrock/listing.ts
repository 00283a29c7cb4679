/**
 * Models and inference profiles of the account's region, from the control plane of the service (`ListFoundationModels`,
 * `ListInferenceProfiles`; npm @aws-sdk/client-bedrock 3.1164.0), which is at another host than the models.
 */
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import type { UpstreamDialect } from '../types.ts'

/** Hosts of the models (docs.aws.amazon.com, Amazon Bedrock endpoints and quotas). Behind any other address both are looked for there. */
const RUNTIME = /^(https:\/\/bedrock)-runtime((?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?)(?:\/.*)?$/

/** A region has fewer profiles than one page holds. */
const PATHS = ['/foundation-models?byOutputModality=TEXT', '/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED'] as const

/** Models that are called by their own name, and profiles; both are in the form of OpenAI's list. */
function namesIn({ modelSummaries, inferenceProfileSummaries }: JsonObject): string[] {
  const models = asObjects(modelSummaries).filter(({ inferenceTypesSupported: types, modelLifecycle: life }) => {
    const isLegacy = isObject(life) && life.status === 'LEGACY'
    return !isLegacy && Array.isArray(types) && types.includes('ON_DEMAND')
  })
  const profiles = asObjects(inferenceProfileSummaries).filter(({ status }) => status === 'ACTIVE')
  return [...models.map(({ modelId }) => modelId), ...profiles.map(({ inferenceProfileId: id }) => id)].filter(
    (id) => typeof id === 'string',
  )
}

/** @param isServed true for a name that the dialect can call. */
export function createListing(isServed: (name: string) => boolean): NonNullable<UpstreamDialect['listing']> {
  return {
    paths: PATHS,
    base: (baseUrl) => baseUrl.replace(RUNTIME, '$1$2'),
    read: (body) => ({
      data: namesIn(body)
        .filter(isServed)
        .map((id) => ({ id })),
    }),
  }
}
