/** Identifying parts of a recording are taken out, so that it can be published. */
import { isObject, type Json, parseJson } from '../../core/json.ts'

/** Members that name an account, an organisation, a project, a person or a machine, whatever the provider. */
const IDENTIFYING =
  /^(?:org|organi[sz]ation|account|project|tenant|workspace|team|user|customer|owner|email|ip|region|deployment|resource)(?:[_-]?(?:id|name|number|address))?$|^(?:safety_identifier|x_request_id|request_id|trace_?id)$/i

const PATTERNS: readonly [RegExp, string][] = [
  [/\b(?:sk|pk|rk|gsk|xai|nvapi|hf|pplx|fw|csk|key|AIza|r8|esecret)[-_][A-Za-z0-9_-]{12,}/g, '<key>'],
  [/\bAIza[A-Za-z0-9_-]{20,}/g, '<key>'],
  [/\bBearer\s+[\w.~+/=-]{8,}/gi, 'Bearer <key>'],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, '<token>'],
  [/\b(?:org|proj|user|acct|team|ws|project|organization)[-_][A-Za-z0-9]{6,}/g, '<account>'],
  [/\bprojects\/[\w.-]+/g, 'projects/<account>'],
  [/\baccounts\/(?!fireworks\b)[\w.-]+/g, 'accounts/<account>'],
  [/[\w.+-]+@[\w-]+\.[\w.-]+/g, '<email>'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, '<address>'],
]

export class Redactor {
  private readonly secrets: readonly [string, string][]

  /** @param secrets texts that must not be seen, with the name that stands in their place: keys, addresses, values of variables. */
  constructor(secrets: readonly (readonly [text: string, name: string])[]) {
    // The longest first: one may hold another.
    this.secrets = secrets
      .filter(([text]) => text.length >= 4)
      .map(([text, name]): [string, string] => [text, `<${name}>`])
      .sort(([a], [b]) => b.length - a.length)
  }

  text(text: string): string {
    let clean = text
    for (const [secret, name] of this.secrets) clean = clean.replaceAll(secret, name)
    for (const [pattern, name] of PATTERNS) clean = clean.replace(pattern, name)
    return clean
  }

  /** A body: JSON where it is some, else text; of a stream each line. */
  body(text: string): Json {
    const parsed = parseJson(text)
    if (parsed !== undefined) return this.json(parsed)
    return text
      .split('\n')
      .map((line) => this.line(line))
      .join('\n')
  }

  private line(line: string): string {
    const [, head, data] = /^(data: ?)(.*)$/.exec(line) ?? []
    const parsed = data === undefined ? undefined : parseJson(data)
    return parsed === undefined ? this.text(line) : `${head}${JSON.stringify(this.json(parsed))}`
  }

  private json(value: Json): Json {
    if (typeof value === 'string') return value.startsWith('data:') ? value : this.text(value)
    if (Array.isArray(value)) return value.map((each) => this.json(each))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member = null]) => [
        name,
        IDENTIFYING.test(name) && typeof member !== 'object' ? '<removed>' : this.json(member),
      ]),
    )
  }
}
