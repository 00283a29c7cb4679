/** Parts that every file of this wire shares: its names and paths. Reference: types of @google/genai 3.3.0, API v1beta. */

export const WIRE = 'gemini'

/** Marks thought signatures as this family's own. */
export const ENCRYPTED_FORMAT = 'google-gemini-v1'

const RESOURCE = /^(?:models|tunedModels|publishers|projects)\//

/** The resource name of a model: `models/…` unless it names its collection itself. */
export function modelResource(model: string): string {
  return RESOURCE.test(model) ? model : `models/${model}`
}

/** Path of an operation on a model, such as `/models/x:generateContent`. */
export function operationPath(model: string, operation: string): string {
  return `/${modelResource(model).split('/').map(encodeURIComponent).join('/')}:${operation}`
}
