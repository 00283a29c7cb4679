/** Secrets of programs: keys and tokens whose form their issuers publish, private keys, and values behind the name of a secret. */

import { loosenPattern, NEXT } from '../../machines/linear-regex/shape.ts'
import { type Detector, type Match, Matches } from '../detector.ts'

/** Each is bounded and says where it begins: none looks at a character more than a few times. */
const FORMS = [
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])',
  'gh[pousr]_[A-Za-z0-9]{36,255}',
  'github_pat_[A-Za-z0-9_]{50,255}',
  'gl(?:pat|dt|rt|ptt|ft|oas|cbt)-[A-Za-z0-9_-]{20,64}',
  'xox[abeoprs]-[A-Za-z0-9-]{10,250}',
  'xapp-[0-9]-[A-Za-z0-9-]{20,250}',
  '[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}',
  'whsec_[A-Za-z0-9+/=]{24,128}',
  'sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,250}',
  'AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])',
  'ya29\\.[A-Za-z0-9_-]{20,250}',
  'npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])',
  'pypi-AgE[A-Za-z0-9_-]{40,250}',
  'dckr_pat_[A-Za-z0-9_-]{20,64}',
  'hf_[A-Za-z0-9]{30,64}(?![A-Za-z0-9])',
  'gsk_[A-Za-z0-9]{40,64}(?![A-Za-z0-9])',
  'xai-[A-Za-z0-9]{60,100}',
  'pplx-[A-Za-z0-9]{40,64}',
  'r8_[A-Za-z0-9]{37,40}(?![A-Za-z0-9])',
  'tvly-[A-Za-z0-9-]{20,64}',
  'fc-[a-f0-9]{32}(?![A-Za-z0-9])',
  'jina_[A-Za-z0-9]{40,80}',
  'nvapi-[A-Za-z0-9_-]{50,100}',
  'csk-[a-z0-9]{40,64}',
  'gl(?:sa|c)_[A-Za-z0-9_+/=]{32,250}',
  'dapi[a-f0-9]{32}(?![A-Za-z0-9])',
  'ntn_[A-Za-z0-9]{40,60}',
  'figd_[A-Za-z0-9_-]{36,64}',
  'sbp_[a-f0-9]{40}(?![A-Za-z0-9])',
  'sb_secret_[A-Za-z0-9_-]{20,64}',
  'pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}',
  'hv[sb]\\.[A-Za-z0-9_-]{24,250}',
  'ATATT3[A-Za-z0-9_=-]{50,250}',
  'PMAK-[a-f0-9]{24}-[a-f0-9]{34}',
  'NRAK-[A-Z0-9]{27}(?![A-Za-z0-9])',
  'GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])',
  'xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}',
  'key-[a-f0-9]{32}(?![A-Za-z0-9])',
  'sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}',
  'rubygems_[a-f0-9]{48}',
  'sntry[su]_[A-Za-z0-9_+/=-]{40,250}',
  'dp\\.(?:pt|st|ct|sa)\\.[A-Za-z0-9._-]{40,64}',
  'tskey-[a-z]{3,10}-[A-Za-z0-9-]{20,64}',
  'AGE-SECRET-KEY-1[0-9A-Z]{58}',
  'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}',
  'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
  'do[oprt]_v1_[a-f0-9]{64}',
  'lin_(?:api|oauth)_[A-Za-z0-9]{32,64}',
  'eyJ[A-Za-z0-9_-]{8,2000}\\.eyJ[A-Za-z0-9_-]{8,2000}\\.[A-Za-z0-9_-]{16,1000}',
]
/** Beginning of one of them; the first look, over every text. */
const HEADS =
  /-----BEGIN|A[KSBC][ICA]A[A-Z2-7]|gh[pousr]_|github_pat_|gl[a-z]{2,3}-|xox[abeoprs]-|xapp-|[rs]k_(?:live|test)_|whsec_|sk-|AIza|ya29\.|npm_|pypi-AgE|dckr_pat_|hf_|gsk_|xai-|pplx-|r8_|tvly-|fc-|jina_|nvapi-|csk-|gl(?:sa|c)_|dapi|ntn_|figd_|sbp_|sb_secret_|pscale_|hv[sb]\.|ATATT3|PMAK-|NRAK-|GOCSPX-|xkeysib-|key-[a-f0-9]{8}|sq0|rubygems_|sntry|dp\.[a-z]{2}\.|tskey-|AGE-SECRET|SG\.|shp[acps]|do[oprt]_v1_|lin_[ao]|eyJ|AccountKey=/
const TOKENS = new RegExp(`(?<![A-Za-z0-9_])(?:${FORMS.join('|')})`, 'g')
const STORAGE = /AccountKey=([A-Za-z0-9+/]{86}==)/g
const PRIVATE_KEY = /-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----/g
const MAX_KEY_LENGTH = 16_384
/** A name of a secret, a sign of assignment, a value. */
const NAMED =
  /(?:api[_-]?key|apikey|access[_-]?key|secret|token|passw(?:or)?d|pwd|credential)[A-Za-z0-9_-]{0,16}["'`]?\s{0,3}(?::=|=>|[:=])\s{0,3}["'`]?([A-Za-z0-9+/_.!@#$%^&*~-]{8,256}={0,2})/gi
const NAMES = /key|secret|token|passw|pwd|credential/i
/** Userinfo of an address (RFC 3986, 3.2.1) with a password. */
const USERINFO = /(?<=[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{1,64}:)[^\s:@/]{3,128}(?=@[A-Za-z0-9.[-])/gi
const STAND_INS =
  /^(?:\$|%|<|\{|\*{3}|x{4}|\.{3})|your|example|placeholder|changeme|redacted|insert|dummy|sample|process\.env|os\.environ|getenv|secrets?\./i

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  if (HEADS.test(text)) {
    all(TOKENS, text, from, (start, found) => matches.add(start, start + found.length))
    all(STORAGE, text, from, (start, found) => matches.add(start + 'AccountKey='.length, start + found.length))
    privateKeys(text, from, matches)
  }
  if (NAMES.test(text))
    all(NAMED, text, from, (start, found, value) => {
      if (value === undefined || !isRandom(value)) return false
      matches.add(start + found.length - value.length, start + found.length)
      return true
    })
  if (text.includes('://'))
    all(USERINFO, text, from, (start, found) => {
      if (!STAND_INS.test(found)) matches.add(start, start + found.length)
    })
  return matches.list
}

function all(form: RegExp, text: string, from: number, visit: (start: number, found: string, group?: string) => unknown): void {
  form.lastIndex = from
  for (let hit = form.exec(text); hit !== null; hit = form.exec(text)) {
    // A rejected match may contain the beginning of another one.
    if (visit(hit.index, hit[0], hit[1]) === false) form.lastIndex = hit.index + 1
  }
}

/** To the line that ends the key; without one, to the end of what looks like its lines. */
function privateKeys(text: string, from: number, matches: Matches): void {
  all(PRIVATE_KEY, text, from, (start, head) => {
    const room = text.slice(start, start + MAX_KEY_LENGTH)
    const end = /-----END [A-Z0-9 ]{0,40}-----/.exec(room)
    const body = /^[A-Za-z0-9+/=\s\\:,-]*/.exec(room.slice(head.length))?.[0].length ?? 0
    matches.add(start, start + (end ? end.index + end[0].length : head.length + body))
  })
}

/** Values that people write in examples repeat themselves or are words; secrets are neither. */
function isRandom(value: string): boolean {
  if (value.length < 16 || STAND_INS.test(value)) return false
  if (!/[0-9]/.test(value) || !/[A-Za-z]/.test(value)) return false
  const hex = /^[0-9a-f-]+$/i.test(value)
  return entropy(value) >= (hex ? 3 : 3.5)
}

/** Shannon entropy of the characters, in bits per character. */
function entropy(value: string): number {
  const counts = new Map<string, number>()
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length)
  return bits
}

const shapes = [
  ...FORMS.map((form) => `\\b${loosenPattern(form)}`),
  loosenPattern(STORAGE.source),
  `-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?s:.)*-----END [A-Z0-9 ]{0,40}-----${NEXT}`,
  `(?i)${loosenPattern(NAMED.source)}`,
  `://[^\\s:@/]{1,64}:[^\\s:@/]+@?${NEXT}`,
]

export const apiKey: Detector = { find, shapes }
