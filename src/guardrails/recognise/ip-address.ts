/** Addresses of IP versions 4 (RFC 1123, 2.1) and 6 (RFC 4291, 2.2). */
import { isIPv6 } from 'node:net'
import { type Detector, type Match, Matches } from '../detector.ts'
import { wordsBefore } from './characters.ts'

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
/** A letter in brackets right behind it, or a sign for a chapter, makes it a section. */
const V4 = new RegExp(`(?<![\\w.-])${OCTET}(?:\\.${OCTET}){3}(?![\\w-]|\\.[0-9]|\\([a-z]\\)|[節章条項节款])`, 'g')
/** Four numbers are a version or a section where a word says so. */
const NUMBERING =
  /(?:(?<![\p{L}\p{N}])(?:v|ver|vers|versi[oó]n|versione|versie|vers[aã]o|wersja|release|build|firmware|patch|rev|revision|section|sections|sec|secci[oó]n|se[cç][aã]o|sezione|sectie|chapter|chapitre|cap[ií]tulo|capitolo|hoofdstuk|kapitel|abschnitt|absatz|abs|ziffer|ziff|clause|cl[aá]usula|klausel|article|artikel|art|art[ií]culo|artigo|articolo|paragraph|paragraphs|paragraphe|para|par|p[aá]rrafo|par[aá]grafo|paragrafo|paragraaf|figure|fig|abbildung|abb|annex|anhang|anexo|annexe|appendix|allegato|oid)\.?|[§¶]|[A-Za-z]\/|第|版|バージョン|ver)[:=]?\s{0,2}$/iu
/** So they are behind these words and names of programs, unless it is an address that only a network of its own has. */
const PROGRAM =
  /(?<![\p{L}\p{N}])(?:update|upgrade|punkt|punto|point|item|step|table|tabelle|tabla|tableau|tabella|rule|regel|requirement|openssl|openssh|java|jdk|jre|python|php|ruby|perl|node(?:\.?js)?|npm|mysql|mariadb|postgres(?:ql)?|sqlite|oracle|chrome|chromium|firefox|edge|opera|safari|windows|android|ios|ipados|macos|linux|kernel|ubuntu|debian|nginx|apache|tomcat|acrobat|reader|flash|office|excel|word|outlook|docker|kubernetes|git|zoom|skype|teams|electron|unity|unreal|qt|boost|opencv|cuda|cudnn|driver|treiber|gcc|clang|llvm|curl|\.net|framework|terraform|jquery|rails|django|spring|sdk|bios|log4j|struts|jenkins|gradle|maven|photoshop|autocad|matlab|virtualbox|vmware|library|package|plugin)[:=]?\s{1,2}$/iu
const INTERNAL = /^(?:10|127|192\.168|172\.(?:1[6-9]|2[0-9]|3[01]))\./
const V6 = /(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,39}(?:\.[0-9.]{1,11})?(?![\w:])/g

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  const dotted = text.includes('.')
  if (dotted) {
    V4.lastIndex = from
    for (let hit = V4.exec(text); hit !== null; hit = V4.exec(text)) {
      if (!isNumbering(hit[0], wordsBefore(text, hit.index, 24))) matches.add(hit.index, hit.index + hit[0].length)
    }
  }
  if (!text.includes(':')) return matches.list
  V6.lastIndex = from
  for (let hit = V6.exec(text); hit !== null; hit = V6.exec(text)) {
    if (isSixth(hit[0])) matches.add(hit.index, hit.index + hit[0].length)
  }
  return matches.list
}

function isNumbering(found: string, before: string): boolean {
  return NUMBERING.test(before) || (PROGRAM.test(before) && !INTERNAL.test(found))
}

/** Scopes of programming languages (`ab::cd`) have the same form: something in it must look like a number of its own. */
function isSixth(address: string): boolean {
  if (!/[0-9]/.test(address) || !isIPv6(address)) return false
  const groups = address.split(':').filter((group) => group !== '')
  return (
    groups.length >= 4 || groups.some((group) => group.length >= 3 && /[0-9]/.test(group)) || address === '::1' || /^fe80:/i.test(address)
  )
}

const shapes = ['\\b[0-9]{1,3}(?:\\.[0-9]{1,3}){3}(?s:.){0,3}', '\\b[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,38}(?:\\.[0-9.]{1,11})?(?s:.)?']

export const ipAddress: Detector = { find, shapes, digits: true }
