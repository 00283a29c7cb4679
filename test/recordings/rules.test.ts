/**
 * Holds the rules of the stand-ins (test/providers/rules) against recorded traffic: what a provider accepted, its rules accept. Runs with
 * `npm run test:recordings`.
 */
import t from 'tap'
import { providerPreset } from '../../src/config/provider-presets.ts'
import { bedrock } from '../providers/rules/bedrock.ts'
import { RULES } from '../providers/rules/index.ts'
import { type Refusal, type Rules, Signatures } from '../providers/stand-in.ts'
import { every } from '../support/every.ts'
import { Seen } from '../support/upstream.ts'
import { type Exchange, readRecordings } from './cassettes.ts'
import { requiredFolder } from './folder.ts'

/** Providers whose rules ask for nothing that was signed in the same recording. */
const UNSIGNED = RULES.filter(({ wire }) => wire === 'openai-chat')

const ruleHost = ({ preset }: Rules): string => /^https?:\/\/([^/$]+)/.exec(String(providerPreset(preset).provider.base_url))?.[1] ?? ''

/** The refusal of the rules for models that reason, and for those that do not: recordings do not say which of them a model is. */
function ruleRefusal(rules: Rules, { request: body }: Exchange): Refusal | undefined {
  const name = String(body.model)
  const request = new Seen({ rawHeaders: [], headers: {} } as never, { on: () => undefined } as never)
  const check = (reasons: boolean) =>
    rules.check({ body, request, model: { slug: name, name, reasons, images: true }, signatures: new Signatures() })
  return check(true) && check(false)
}

const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('the rules of stand-ins accept what their providers accepted', async (t) => {
    const { exchanges } = readRecordings(folder)
    let checked = 0
    for (const rules of UNSIGNED) {
      const accepted = exchanges.filter(({ wire, host, status }) => wire === rules.wire && host === ruleHost(rules) && status < 300)
      if (accepted.length === 0) continue
      checked += accepted.length
      await every(t, `${rules.preset}: ${accepted.length} requests`, async (t) => {
        for (const exchange of accepted)
          t.equal(JSON.stringify(ruleRefusal(rules, exchange)?.body), undefined, `${exchange.cassette} ${exchange.index}`)
      })
    }
    t.ok(checked >= 190, `${checked} requests`)
  })

/** Families of models of the stand-in, each by one of its models; other families have fields of their own. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/claude/, 'us.anthropic.claude-sonnet-4-6'],
  [/nova/, 'us.amazon.nova-2-lite-v1:0'],
]

if (folder !== undefined)
  await t.test('the rules of Bedrock accept what it accepted of two families, signed reasoning aside', async (t) => {
    const request = new Seen({ rawHeaders: [], headers: {} } as never, { on: () => undefined } as never)
    let checked = 0
    for (const exchange of readRecordings(folder).exchanges) {
      const name = FAMILIES.find(([family]) => family.test(exchange.model))?.[1]
      if (exchange.wire !== bedrock.wire || exchange.status >= 300 || name === undefined) continue
      if (JSON.stringify(exchange.request).includes('"reasoningContent"')) continue
      const refusal = bedrock.check({ body: exchange.request, request, model: { slug: name, name }, signatures: new Signatures() })
      t.equal(JSON.stringify(refusal?.body), undefined, `${exchange.cassette} ${exchange.index}`)
      checked++
    }
    t.ok(checked >= 100, `${checked} requests`)
  })
