/**
 * The credential of the control room's requests for a person who has signed in at an identity provider. It is made for each request, lives
 * for a minute, and never leaves the processes of this gateway: they alone know the key that it is signed with.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { isObject, type JsonObject } from './json.ts'

/** Begins no key, since keys of the store begin with `sk-`, and no JWT, since those begin with `ey`. */
const PREFIX = 'room-person.'

/** Milliseconds for which one holds. */
const LIFETIME_MS = 60_000

export interface PersonTicket {
  readonly issuer: string
  /** The claims that the rules of the issuer look at, by their paths. */
  readonly claims: JsonObject
  /** Milliseconds since the epoch: the end of the session. */
  readonly until: number
}

export const isPersonTicket = (authorization: string | undefined): authorization is string =>
  authorization?.startsWith(`Bearer ${PREFIX}`) === true

/** @param roomHash of the control room's own key, which only processes of this gateway know. @param now milliseconds since the epoch. */
export function signTicket(ticket: PersonTicket, roomHash: string, now: number): string {
  const text = Buffer.from(JSON.stringify({ ...ticket, holds_until: now + LIFETIME_MS })).toString('base64url')
  return `${PREFIX}${text}.${signature(text, roomHash)}`
}

/** @param authorization the whole header. @returns undefined for one that is forged or too old. */
export function openTicket(authorization: string, roomHash: string, now: number): PersonTicket | undefined {
  const [text = '', signed = ''] = authorization.slice(`Bearer ${PREFIX}`.length).split('.')
  const expected = Buffer.from(signature(text, roomHash))
  const given = Buffer.from(signed)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  const { issuer, claims, until, holds_until: holdsUntil } = JSON.parse(Buffer.from(text, 'base64url').toString()) as JsonObject
  if (typeof issuer !== 'string' || !isObject(claims) || typeof until !== 'number') return undefined
  return typeof holdsUntil === 'number' && holdsUntil > now ? { issuer, claims, until } : undefined
}

const signature = (text: string, roomHash: string): string => createHmac('sha256', roomHash).update(`person ${text}`).digest('base64url')
