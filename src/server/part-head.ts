/** Reads the headers of a form's part, and the boundary between parts. */
import { badField, Fault } from '../core/faults.ts'

export interface PartHead {
  /** Of the form's field. */
  name: string
  /** Undefined for a field that is no file. */
  filename: string | undefined
  /** Media type in lower case without parameters; '' where none is named. */
  type: string
}

/** RFC 2046: up to 70 characters, no blank at the end. */
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/

/** @throws Fault 415 for another content type, 400 without a boundary. */
export function boundaryOf(contentType: string | undefined): string {
  if (contentType === undefined || !/^\s*multipart\/form-data\s*(;|$)/i.test(contentType))
    throw new Fault('media_type', { message: 'content-type: expected multipart/form-data' })
  const boundary = parameterOf(contentType, 'boundary')
  if (boundary === undefined || !BOUNDARY.test(boundary)) throw badField('content-type', 'expected a boundary of up to 70 characters')
  return boundary
}

/** @param text the header lines, without the empty one. @throws Fault 400. */
export function partHead(text: string): PartHead {
  let disposition = ''
  let type = ''
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (name === 'content-disposition') disposition = value
    else if (name === 'content-type') type = value.replace(/;.*$/s, '').trim().toLowerCase()
    else if (name === 'content-transfer-encoding' && !/^(7bit|8bit|binary)$/i.test(value))
      throw badField('content-transfer-encoding', 'expected the bytes as they are')
  }
  const name = /^form-data\s*(;|$)/i.test(disposition) ? parameterOf(disposition, 'name') : undefined
  if (name === undefined || name === '') throw badField('content-disposition', 'expected form-data with a name in every part')
  return { name: decoded(name), filename: filenameOf(disposition), type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : '' }
}

/** `filename*` (RFC 8187) is not allowed in forms (RFC 7578 section 4.2), but some clients send it. */
function filenameOf(disposition: string): string | undefined {
  const [, extended] = /^utf-8'[^']*'(.*)$/i.exec(parameterOf(disposition, 'filename*') ?? '') ?? []
  if (extended !== undefined) {
    try {
      return decodeURIComponent(extended)
    } catch {
      // The value cannot be decoded: the plain `filename` is used.
    }
  }
  const plain = parameterOf(disposition, 'filename')
  return plain === undefined ? undefined : decoded(plain)
}

/** Browsers write these three so, and nothing else. */
function decoded(value: string): string {
  return value.replace(/%22/g, '"').replace(/%0d/gi, '\r').replace(/%0a/gi, '\n')
}

const PARAMETER = /\s*;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy

/** A parameter of a header's value, without quotes; a backslash counts only before a quote or another one, as in Windows paths. */
function parameterOf(header: string, wanted: string): string | undefined {
  PARAMETER.lastIndex = Math.max(0, header.indexOf(';'))
  for (let match = PARAMETER.exec(header); match; match = PARAMETER.exec(header)) {
    const [, name, quoted, token] = match
    if (name?.toLowerCase() !== wanted) continue
    return quoted === undefined ? token : quoted.replace(/\\(["\\])/g, '$1')
  }
  return undefined
}
