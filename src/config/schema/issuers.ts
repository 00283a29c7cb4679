/** Identity providers whose tokens callers may show in the place of a key. */

import { Type } from 'typebox'
import { ROLES } from '../../core/roles.ts'
import {
  asWritten,
  choiceField,
  closed,
  duration,
  entryName,
  line,
  listField,
  mapField,
  secret,
  span,
  withDefault,
} from '../fields/scalars.ts'
import { key } from './keys.ts'

/** Algorithms of signatures with a key pair that `jose` verifies; with a shared secret none is known, so that no public key is taken for one. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'ML-DSA-44',
  'ML-DSA-65',
  'ML-DSA-87',
] as const

type ClaimValue = string | number | boolean

/** Value that a claim must have, or a list of those that it may have. */
export type ClaimTest = ClaimValue | readonly ClaimValue[]

/** The names are the issuer's own: text without spaces. Behind a dot stands a member of the claim. */
const claims = (description: string) =>
  asWritten(
    mapField(
      description,
      '^(?!__proto__$)[!-~]{1,256}$',
      'the name of a claim',
      Type.Unsafe<ClaimTest>({
        description: 'The value, or a list of values of which one is enough. Of a claim that is a list one entry must fit.',
      }),
    ),
  )

const httpsUrl = (description: string) =>
  Type.String({ description, scalar: 'url', expected: 'an https URL without credentials, query or fragment' })

const { name: _name, key: _secret, creator_user_id: _creator, management: _management, expires_at: _end, ...others } = key.properties
/** The member is the caller itself. */
const { member: _member, ...ofCallers } = others

/** A rule. @param when description of its tests. */
const mappingRule = (when: string) =>
  closed('One rule. Each caller that it maps is a key of its own, with these settings; they mean what they mean of a key.', {
    when: claims(when),
    name: Type.Optional(entryName('Name of the rule, such as that of a team: it stands behind the name of the caller.')),
    guardrails: withDefault(
      listField(
        'Names of entries of `guardrails` that hold for these callers, beside those that hold for every request.',
        entryName('A guardrail.'),
      ),
      [],
    ),
    ...ofCallers,
    role: Type.Optional(
      choiceField(
        'Rights of its callers, `member` if unset. With any other role they manage, and cannot generate: see [identity.md](identity.md#give-a-role).',
        ROLES,
      ),
    ),
  })

const rule = mappingRule(
  'Claims that the token must have, all of them, such as `{ groups: ml-team }`; `kubernetes.io.namespace` and `realm_access.roles` name members of claims. `{}`: every token of the issuer.',
)

export const certificates = closed('Callers that show a client certificate in the place of a key. Needs `server.tls.client_ca`.', {
  member: Type.Optional(
    line(
      'Claim that names the caller: money, limits, and what it keeps belong to its value. A certificate without it is refused. If unset: `spiffe`, or `subject.CN` of a certificate without a SPIFFE id.',
      256,
    ),
  ),
  rules: listField(
    'The first rule whose claims a certificate has gives its caller a role, a budget, models, guardrails and limits. A certificate that no rule maps gets 403.',
    mappingRule(
      'Claims that the certificate must have, all of them: `spiffe`, `subject.CN`, `subject.O`, `subject.OU`, `san.dns`, `san.uri`, `san.email`, `san.ip`, `issuer.CN`, `issuer.O`, `fingerprint256`. `{}`: every certificate that verifies.',
    ),
    1,
  ),
})

const scope = () => Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}$', expected: 'a scope (RFC 6749, 3.3)' })

const signIn = closed(
  'Lets people sign in to the control room at this issuer, by authorization code with PKCE. Register the redirect URI `https://HOST/control-room/sign-in/NAME/callback` there.',
  {
    client_id: line('Client that the control room is at the issuer.', 256),
    client_secret: Type.Optional(secret('Its secret. If unset: a public client, which PKCE alone protects.')),
    scopes: withDefault(
      listField('Scopes that are requested: with them the issuer states the claims that `rules` and `member` look at.', scope()),
      ['openid', 'profile', 'email'],
    ),
    name: Type.Optional(entryName('Its name in the redirect URI. If unset: the host of the issuer.')),
    label: Type.Optional(line('Its name on the button "Sign in with …". If unset: the host of the issuer.', 64)),
    session: withDefault(
      duration('How long a session lasts at most; never more than 12h. A person whom the issuer locks out stays signed in until then.'),
      '12h',
    ),
  },
)

const login = closed(
  'Lets people get tokens of this issuer on their machines with `headgate login`. The gateway shows these settings to everybody (RFC 9728).',
  {
    client_id: line('Public client with the device authorization grant (RFC 8628) at the issuer: it has no secret.', 256),
    scopes: withDefault(
      listField('Scopes that are requested; with `offline_access` most issuers give the token by which a login is renewed.', scope()),
      ['openid', 'offline_access'],
    ),
    resource: Type.Optional(
      line(
        'Resource that the tokens are for (RFC 8707), where the issuer needs one to state an audience of `audiences`: the address of this gateway, or a name that is no web address, since `headgate login` refuses that of another host.',
        1024,
      ),
    ),
  },
)

export const issuer = closed('One identity provider.', {
  issuer: Type.String({
    description:
      'Its address, exactly as the claim `iss` of its tokens has it. Its keys are found by the document `.well-known/openid-configuration` below it, unless `jwks_uri` is set.',
    scalar: 'url',
    maxLength: 1024,
    expected: 'an https URL without credentials, query or fragment',
  }),
  audiences: listField('Values of the claim `aud`, of which a token must have one.', line('An audience.', 1024), 1),
  jwks_uri: Type.Optional(httpsUrl('Address of its keys. If unset: as its discovery document states.')),
  jwks_token: Type.Optional(
    Type.String({
      description:
        'Bearer token with which the keys are fetched, by a reference to a file. It is sent to `jwks_uri` and to addresses of the issuer alone. Kubernetes requires one.',
      pattern: '^[\\x21-\\x7e]{1,16384}$',
      secret: true,
      expected: 'visible ASCII characters without spaces',
    }),
  ),
  ca: Type.Optional(
    Type.String({
      description: 'Authorities that are trusted for its addresses beside those of Node, as PEM, by a reference to a file.',
      pattern: '^[\\x20-\\x7e\\s]{1,65536}$',
      expected: 'certificates as PEM',
    }),
  ),
  algorithms: withDefault(listField('Algorithms that its tokens may be signed by.', choiceField('An algorithm.', ALGORITHMS), 1), [
    ...ALGORITHMS,
  ]),
  leeway: withDefault(duration('Difference of clocks that is allowed for: a token works so much longer, and before its beginning.'), '30s'),
  max_age: Type.Optional(duration('Greatest age of a token by its claim `iat`. If unset: its own end alone decides.')),
  required_claims: withDefault(claims('Claims that each token must have, such as `{ email_verified: true }`.'), {}),
  member: withDefault(
    line('Claim that names the caller: money, limits, and what it keeps belong to its value. A token without it is refused.', 256),
    'sub',
  ),
  keys_kept: withDefault(span('How long the keys that were fetched last serve while the issuer cannot be reached.'), '24h'),
  introspection: Type.Optional(
    closed('Asks the issuer about tokens that are no JWT (RFC 7662). One issuer may have it.', {
      url: httpsUrl('Address of its introspection endpoint.'),
      client_id: line('Client that the gateway is at the issuer.', 256),
      client_secret: secret('Its secret.'),
      cache: withDefault(
        duration('How long an answer holds, at most until the end of the token: so long works a token that was withdrawn.'),
        '60s',
      ),
    }),
  ),
  sign_in: Type.Optional(signIn),
  login: Type.Optional(login),
  rules: listField(
    'The first rule whose claims a token has gives its caller a budget, models, guardrails and limits. A token that no rule maps gets 403.',
    rule,
    1,
  ),
})
