/** Errors as SCIM clients read them (RFC 7644, 3.12). */
import type { JsonObject } from '../../core/json.ts'

export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** Words of RFC 7644, table 9. */
export type ScimType = 'invalidFilter' | 'uniqueness' | 'mutability' | 'invalidSyntax' | 'invalidPath' | 'noTarget' | 'invalidValue'

export class ScimError extends Error {
  readonly status: number
  readonly scimType: ScimType | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, detail: string, scimType?: ScimType, headers: Readonly<Record<string, string>> = {}) {
    super(detail)
    this.status = status
    this.scimType = scimType
    this.headers = headers
  }
}

/** 400, naming the attribute. */
export const invalidValue = (attribute: string, expected: string): ScimError =>
  new ScimError(400, `${attribute}: ${expected}`, 'invalidValue')

export function errorBody(status: number, detail: string, scimType?: ScimType): JsonObject {
  return { schemas: [ERROR_SCHEMA], status: String(status), ...(scimType ? { scimType } : {}), detail }
}
