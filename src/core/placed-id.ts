/**
 * Ids of records that belong to an organization or a workspace and have no column for it: the first part of such an id is a digest of the
 * place, so that every program reads it from the id, and those that know no places have a plain id.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { Reach } from './reach.ts'

/** 48 bits: a random id has those of one of a thousand places once in 280 billion. */
const DIGITS = 12

/** A UUID of version 8 (RFC 9562, 5.8), new at each call. */
export function placedId(place: Reach): string {
  const digest = placeDigest(place)
  return `${digest.slice(0, 8)}-${digest.slice(8)}-8${randomUUID().slice(15)}`
}

/** True for an id that was made for this place. */
export function isPlacedId(id: string, place: Reach): boolean {
  return id[14] === '8' && id.replace('-', '').startsWith(placeDigest(place))
}

const placeDigest = ({ kind, id }: Reach): string => createHash('sha256').update(`${kind} ${id}`).digest('hex').slice(0, DIGITS)
