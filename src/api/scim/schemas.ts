/** Attributes of users and groups (RFC 7643, 4.1 to 4.3), in one table: what is published is what is read, stored and patched. */
import type { JsonObject } from '../../core/json.ts'

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const ENTERPRISE_SCHEMA = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

type AttributeType = 'string' | 'boolean' | 'integer' | 'reference' | 'binary' | 'complex' | 'dateTime'

/** An attribute in the words of RFC 7643, 7. */
export interface Attribute {
  readonly name: string
  readonly type: AttributeType
  readonly multiValued: boolean
  readonly required: boolean
  readonly caseExact: boolean
  readonly mutability: 'readWrite' | 'readOnly' | 'immutable' | 'writeOnly'
  readonly returned: 'default' | 'always' | 'never'
  readonly uniqueness: 'none' | 'server'
  readonly description: string
  readonly canonicalValues?: readonly string[]
  readonly referenceTypes?: readonly string[]
  readonly subAttributes?: readonly Attribute[]
}

export interface Schema {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly attributes: readonly Attribute[]
}

type More = Partial<Omit<Attribute, 'name' | 'description'>>

function attribute(name: string, description: string, more: More = {}): Attribute {
  return {
    ...{ name, type: 'string', multiValued: false, required: false, caseExact: false, mutability: 'readWrite' },
    ...{ returned: 'default', uniqueness: 'none', description },
    ...more,
  } as Attribute
}

const complex = (name: string, description: string, subAttributes: readonly Attribute[], more: More = {}): Attribute =>
  attribute(name, description, { type: 'complex', subAttributes, ...more })

/** A multi-valued attribute with the usual sub-attributes (RFC 7643, 2.4). */
function plural(name: string, description: string, canonicalValues: readonly string[], value: More = {}): Attribute {
  const type = attribute('type', 'Its use.', canonicalValues.length > 0 ? { canonicalValues } : {})
  const parts = [
    attribute('value', 'The value.', value),
    attribute('display', 'The value for people.'),
    type,
    attribute('primary', 'True for the preferred one, which is one at most.', { type: 'boolean' }),
  ]
  return complex(name, description, parts, { multiValued: true })
}

const REFERENCE: More = { type: 'reference', referenceTypes: ['external'], caseExact: true }
const READ_ONLY: More = { mutability: 'readOnly' }

const name = complex('name', 'Parts of the name.', [
  attribute('formatted', 'The whole name.'),
  attribute('familyName', 'Family name.'),
  attribute('givenName', 'Given name.'),
  attribute('middleName', 'Middle names.'),
  attribute('honorificPrefix', 'Title before the name.'),
  attribute('honorificSuffix', 'Suffix behind the name.'),
])

const addresses = complex(
  'addresses',
  'Postal addresses.',
  [
    attribute('formatted', 'The whole address.'),
    attribute('streetAddress', 'Street and number.'),
    attribute('locality', 'City.'),
    attribute('region', 'State or region.'),
    attribute('postalCode', 'Postal code.'),
    attribute('country', 'Country.'),
    attribute('type', 'Its use.', { canonicalValues: ['work', 'home', 'other'] }),
    attribute('primary', 'True for the preferred one, which is one at most.', { type: 'boolean' }),
  ],
  { multiValued: true },
)

const membershipParts = (referenceType: string): readonly Attribute[] => [
  attribute('value', 'Its id.', { mutability: 'immutable', caseExact: true }),
  attribute('$ref', 'Its address.', { type: 'reference', referenceTypes: [referenceType], mutability: 'immutable', caseExact: true }),
]

/** Attributes of every resource (RFC 7643, 3.1), of which `schemas`, `id` and `meta` are the gateway's. */
const EXTERNAL_ID = attribute('externalId', 'Id at the identity provider.', { caseExact: true })
const OWN = [
  attribute('id', 'Id.', { ...READ_ONLY, caseExact: true, returned: 'always', uniqueness: 'server' }),
  attribute('schemas', 'Schemas.', { ...READ_ONLY, type: 'reference', multiValued: true, caseExact: true, returned: 'always' }),
  complex(
    'meta',
    'Facts of the resource.',
    [
      attribute('resourceType', 'Its type.', { ...READ_ONLY, caseExact: true }),
      attribute('created', 'When it was made.', { ...READ_ONLY, type: 'dateTime' }),
      attribute('lastModified', 'When it last changed.', { ...READ_ONLY, type: 'dateTime' }),
      attribute('location', 'Its address.', { ...READ_ONLY, type: 'reference' }),
      attribute('version', 'Its ETag.', { ...READ_ONLY, caseExact: true }),
    ],
    READ_ONLY,
  ),
]

/** Taken where a client sends it, and kept nowhere. */
const PASSWORD = attribute('password', 'Never kept.', { mutability: 'writeOnly', returned: 'never' })

const userSchema: Schema = {
  id: USER_SCHEMA,
  name: 'User',
  description: 'A member of the organization.',
  attributes: [
    attribute('userName', 'Name by which the identity provider names the person.', {
      required: true,
      returned: 'always',
      uniqueness: 'server',
    }),
    name,
    attribute('displayName', 'Name for people.'),
    attribute('nickName', 'Casual name.'),
    attribute('profileUrl', 'Address of a profile.', REFERENCE),
    attribute('title', 'Title, such as Vice President.'),
    attribute('userType', 'Relation to the organization, such as Employee.'),
    attribute('preferredLanguage', 'Preferred languages (RFC 9110, 12.5.4).'),
    attribute('locale', 'Locale (RFC 5646).'),
    attribute('timezone', 'Time zone of the IANA database.'),
    attribute('active', 'False: the member is disabled, and refused.', { type: 'boolean' }),
    plural('emails', 'E-mail addresses.', ['work', 'home', 'other']),
    plural('phoneNumbers', 'Phone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    plural('ims', 'Addresses of messengers.', []),
    plural('photos', 'Addresses of pictures.', ['photo', 'thumbnail'], REFERENCE),
    addresses,
    complex(
      'groups',
      'Groups that the user is in; they are changed at the groups.',
      [
        attribute('value', 'Id of the group.', { ...READ_ONLY, caseExact: true }),
        attribute('$ref', 'Address of the group.', { ...READ_ONLY, type: 'reference', referenceTypes: ['Group'], caseExact: true }),
        attribute('display', 'Name of the group.', READ_ONLY),
        attribute('type', 'Kind of membership.', { ...READ_ONLY, canonicalValues: ['direct'] }),
      ],
      { multiValued: true, ...READ_ONLY },
    ),
    plural('entitlements', 'Entitlements at the identity provider. They give no rights here.', []),
    plural('roles', 'Roles at the identity provider. They give no rights here.', []),
    plural('x509Certificates', 'Certificates. They open nothing here.', [], { type: 'binary', caseExact: true }),
  ],
}

const groupSchema: Schema = {
  id: GROUP_SCHEMA,
  name: 'Group',
  description: 'A group: the members of a workspace, or members of the organization with a role.',
  attributes: [
    attribute('displayName', 'Name of the group.', { required: true, uniqueness: 'server' }),
    complex(
      'members',
      'Its users.',
      [...membershipParts('User'), attribute('type', 'Kind of the member.', { mutability: 'immutable', canonicalValues: ['User'] })],
      { multiValued: true },
    ),
  ],
}

const enterpriseSchema: Schema = {
  id: ENTERPRISE_SCHEMA,
  name: 'EnterpriseUser',
  description: 'Attributes of employees.',
  attributes: [
    attribute('employeeNumber', 'Number of the employee.'),
    attribute('costCenter', 'Cost centre.'),
    attribute('organization', 'Name of an organization.'),
    attribute('division', 'Division.'),
    attribute('department', 'Department.'),
    complex('manager', 'The manager.', [
      attribute('value', 'Id of the manager.', { caseExact: true }),
      attribute('$ref', 'Address of the manager.', { type: 'reference', referenceTypes: ['User'], caseExact: true }),
      attribute('displayName', 'Name of the manager.', READ_ONLY),
    ]),
  ],
}

/** Attributes by their name in small letters, since case does not count (RFC 7643, 2.1). */
export type AttributeMap = ReadonlyMap<string, Attribute>

const mapped = (attributes: readonly Attribute[]): AttributeMap => new Map(attributes.map((each) => [each.name.toLowerCase(), each]))

const subMaps = new WeakMap<Attribute, AttributeMap>()

export function subAttributes(attribute: Attribute): AttributeMap {
  const found = subMaps.get(attribute) ?? mapped(attribute.subAttributes ?? [])
  subMaps.set(attribute, found)
  return found
}

/** A resource type with all that a resource may have. */
export interface ResourceKind {
  readonly name: 'User' | 'Group'
  /** Behind the base address. */
  readonly endpoint: '/Users' | '/Groups'
  readonly schema: Schema
  readonly attributes: AttributeMap
  /** By their URN in small letters. */
  readonly extensions: ReadonlyMap<string, { readonly id: string; readonly attributes: AttributeMap }>
}

export const USER: ResourceKind = {
  name: 'User',
  endpoint: '/Users',
  schema: userSchema,
  attributes: mapped([...OWN, EXTERNAL_ID, ...userSchema.attributes, PASSWORD]),
  extensions: new Map([[ENTERPRISE_SCHEMA.toLowerCase(), { id: ENTERPRISE_SCHEMA, attributes: mapped(enterpriseSchema.attributes) }]]),
}

export const GROUP: ResourceKind = {
  name: 'Group',
  endpoint: '/Groups',
  schema: groupSchema,
  attributes: mapped([...OWN, EXTERNAL_ID, ...groupSchema.attributes]),
  extensions: new Map(),
}

const text = (name: string, description: string, more: More = {}): Attribute => attribute(name, description, { ...READ_ONLY, ...more })
const feature = (name: string, ...more: readonly Attribute[]): Attribute =>
  complex(name, 'A part of the protocol.', [text('supported', 'True where it is served.', { type: 'boolean' }), ...more], READ_ONLY)
const number = (name: string): Attribute => text(name, 'A bound.', { type: 'integer' })

/** The schemas of the discovery itself (RFC 7643, 5 to 7). */
const DISCOVERY: readonly Schema[] = [
  {
    id: 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig',
    name: 'ServiceProviderConfig',
    description: 'Parts of the protocol that are served.',
    attributes: [
      text('documentationUri', 'Address of the documentation.', REFERENCE),
      feature('patch'),
      feature('bulk', number('maxOperations'), number('maxPayloadSize')),
      feature('filter', number('maxResults')),
      ...['changePassword', 'sort', 'etag'].map((each) => feature(each)),
      complex(
        'authenticationSchemes',
        'Ways to authenticate.',
        [text('type', 'Its kind.'), text('name', 'Its name.'), text('description', 'Its description.')],
        { ...READ_ONLY, multiValued: true },
      ),
    ],
  },
  {
    id: 'urn:ietf:params:scim:schemas:core:2.0:ResourceType',
    name: 'ResourceType',
    description: 'A type of resources.',
    attributes: [
      text('id', 'Id.'),
      text('name', 'Name.'),
      text('description', 'Description.'),
      text('endpoint', 'Path below the base address.', { type: 'reference', referenceTypes: ['uri'] }),
      text('schema', 'Its schema.', { type: 'reference', referenceTypes: ['uri'], caseExact: true }),
      complex(
        'schemaExtensions',
        'Extensions of its schema.',
        [
          text('schema', 'The extension.', { type: 'reference', referenceTypes: ['uri'], caseExact: true }),
          text('required', 'True where each resource has it.', { type: 'boolean' }),
        ],
        { ...READ_ONLY, multiValued: true },
      ),
    ],
  },
  {
    id: 'urn:ietf:params:scim:schemas:core:2.0:Schema',
    name: 'Schema',
    description: 'A schema.',
    attributes: [
      text('id', 'URN.', { caseExact: true }),
      text('name', 'Name.'),
      text('description', 'Description.'),
      complex(
        'attributes',
        'Its attributes.',
        [
          ...['name', 'type', 'description', 'mutability', 'returned', 'uniqueness'].map((each) => text(each, 'Of the attribute.')),
          ...['multiValued', 'required', 'caseExact'].map((each) => text(each, 'Of the attribute.', { type: 'boolean' })),
          ...['canonicalValues', 'referenceTypes'].map((each) => text(each, 'Of the attribute.', { multiValued: true })),
        ],
        { ...READ_ONLY, multiValued: true },
      ),
    ],
  },
]

/** Those that are published. */
export const SCHEMAS: readonly Schema[] = [userSchema, groupSchema, enterpriseSchema, ...DISCOVERY]

/** As it is published. */
export const schemaBody = (schema: Schema): JsonObject => JSON.parse(JSON.stringify(schema)) as JsonObject
