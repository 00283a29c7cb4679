/** Addresses of IP versions 4 (RFC 1123, 2.1) and 6 (RFC 4291, 2.2). */
import { isIPv6 } from 'node:net'
import { type Detector, type Match, Matches } from '../detector.ts'
import { wordsBefore } from './characters.ts'

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const V4 = new RegExp(`(?<![\\w.-])${OCTET}(?:\\.${OCTET}){3}(?![\\w-]|\\.[0-9])`, 'g')
/** Four numbers are a version or a section where a word says so. */
const NUMBERING = /(?:\b(?:v|ver|version|release|build|section|sec|chapter|clause|article|figure|rev)\.?|§|[A-Za-z]\/)\s{0,2}$/i
const V6 = /(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,39}(?:\.[0-9.]{1,11})?(?![\w:])/g

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  const dotted = text.includes('.')
  if (dotted) {
    V4.lastIndex = from
    for (let hit = V4.exec(text); hit !== null; hit = V4.exec(text)) {
      if (!NUMBERING.test(wordsBefore(text, hit.index, 12))) matches.add(hit.index, hit.index + hit[0].length)
    }
  }
  if (!text.includes(':')) return matches.list
  V6.lastIndex = from
  for (let hit = V6.exec(text); hit !== null; hit = V6.exec(text)) {
    if (isSixth(hit[0])) matches.add(hit.index, hit.index + hit[0].length)
  }
  return matches.list
}

/** Scopes of programming languages (`ab::cd`) have the same form: something in it must look like a number of its own. */
function isSixth(address: string): boolean {
  if (!/[0-9]/.test(address) || !isIPv6(address)) return false
  const groups = address.split(':').filter((group) => group !== '')
  return (
    groups.length >= 4 || groups.some((group) => group.length >= 3 && /[0-9]/.test(group)) || address === '::1' || /^fe80:/i.test(address)
  )
}

const shapes = ['\\b[0-9]{1,3}(?:\\.[0-9]{1,3}){3}(?s:.){0,2}', '\\b[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,38}(?:\\.[0-9.]{1,11})?(?s:.)?']

export const ipAddress: Detector = { find, shapes, digits: true }
