/** Discovery: documents by which a client finds out what is served (RFC 7644, 4). */
import type { JsonObject } from '../../core/json.ts'
import { MAX_COUNT } from './listing.ts'
import { ENTERPRISE_SCHEMA, GROUP, type ResourceKind, SCHEMAS, schemaBody, USER } from './schemas.ts'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'

/** @param base address of the service. */
export function serviceProviderConfig(base: string): JsonObject {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_COUNT },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token of `scim.tokens` of the configuration, in the header Authorization.',
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  }
}

export function resourceTypes(base: string): JsonObject[] {
  return [USER, GROUP].map(({ name, endpoint, schema, extensions }: ResourceKind) => ({
    schemas: [`${CORE}:ResourceType`],
    id: name,
    name,
    endpoint,
    description: schema.description,
    schema: schema.id,
    ...(extensions.size === 0 ? {} : { schemaExtensions: [{ schema: ENTERPRISE_SCHEMA, required: false }] }),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }))
}

export function schemas(base: string): JsonObject[] {
  return SCHEMAS.map((schema) => ({
    schemas: [`${CORE}:Schema`],
    ...schemaBody(schema),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${schema.id}` },
  }))
}
