/** Long requests are read in steps: escapes of arguments, and parts of one message (docs/guardrails.md, "Cost"). */
import fc from 'fast-check'
import t from 'tap'
import { compileRules, type Passage, redacted, Scan, TextPolicy } from '../../src/guardrails/index.ts'
import type { Span } from '../../src/guardrails/redaction.ts'
import { JointText, unescaped } from '../../src/guardrails/scan.ts'
import { property } from '../support/seed.ts'

const STEP = 16_384
const policy = new TextPolicy(
  compileRules(
    { id: 'g1', name: 'first', scope: 'account' },
    {
      contentFilters: [{ pattern: 'secret-[0-9]{4}', action: 'redact' }],
      builtins: [],
      phrases: [],
      allowedPhrases: [],
      action: 'redact',
    },
    'guardrails[0]',
  ),
)

function read(passage: Passage): { scan: Scan; steps: number } {
  const scan = new Scan(policy)
  let steps = 0
  for (const _ of scan.read([passage])) steps++
  return { scan, steps }
}

function all(source: string): { text: string; steps: number } {
  const slices = unescaped(source)
  for (let steps = 1; ; steps++) {
    const { done, value } = slices.next()
    if (done) return { text: value, steps }
  }
}

t.test('escapes of arguments are read in steps, and no look is longer than one', async (t) => {
  const source = `"${'\\n'.repeat(400_000)}"`
  const { steps } = read({ texts: [source], user: false, json: true })
  // As they are, their escapes, and again without these.
  const least = (2 * source.length + source.length / 2) / STEP
  t.ok(steps >= least - 3, `${steps} steps, at least ${least}`)
  const { text, steps: slices } = all(source)
  t.equal(text, `"${'\n'.repeat(400_000)}"`)
  t.ok(slices >= source.length / STEP, `${slices} slices`)
  const hidden = read({ texts: [`{"a":"${'\\n'.repeat(20_000)}\\u0073ecret-1234"}`], user: false, json: true }).scan
  t.match([...hidden.replaced.values()].at(-1), /\\n\[REDACTED\]"\}$/)
})

/** RFC 8259, 7, in one expression. */
function atOnce(source: string): string {
  return source.replace(/\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g, (code) => JSON.parse(`"${code}"`) as string)
}

t.test('an escape at the border of two steps is read whole', async (t) => {
  const bit = fc.constantFrom('\\', 'n', 'u', '0041', '\\u0', '"', 'xyz', '\\\\', '\\u00e9', '\\n', '12', '\\x', '\\/')
  const bits = fc.array(bit, { maxLength: 12 }).map((each) => each.join(''))
  fc.assert(
    fc.property(bits, bits, fc.nat(40), (first, second, before) => {
      const source = 'a'.repeat(STEP - before) + first + 'b'.repeat(STEP - 20) + second
      if (all(source).text !== atOnce(source)) throw new Error(JSON.stringify([first, second, before]))
    }),
    property(500, 20_000),
  )
  t.pass()
})

t.test('a match over borders is spread over the parts that it lies in', async (t) => {
  const parts = fc.array(fc.constantFrom('', 'a', 'bc', 'def'), { minLength: 2, maxLength: 8 })
  fc.assert(
    fc.property(parts, fc.nat(24), fc.integer({ min: 1, max: 24 }), (texts, from, length) => {
      const joint = new JointText(texts)
      const whole = texts.join('')
      const start = from % (whole.length + 1)
      const end = Math.min(whole.length, start + length)
      if (start === end) return
      let border = 0
      const crossed = texts.filter((text) => {
        border += text.length
        return start < border && border < end
      })
      if (joint.crosses(start, end) !== crossed.length > 0) throw new Error(`${JSON.stringify(texts)}: ${start} to ${end}`)
      const each: Span[][] = texts.map(() => [])
      joint.spread({ start, end, placeholder: '#' }, each)
      const left = texts.map((text, i) => redacted(text, each[i])).join('')
      if (left !== `${whole.slice(0, start)}#${whole.slice(end)}`) throw new Error(`${JSON.stringify(texts)}: ${left}`)
    }),
    property(1_000, 50_000),
  )
  const texts = Array.from({ length: 8_192 }, (_, i) => (i % 2 === 0 ? ' sec' : `ret-${1000 + i}`))
  const { scan } = read({ texts, user: true })
  t.equal(scan.replaced.size, 4_097, 'of a match over two parts each loses its own')
  t.equal(scan.replaced.get(' sec'), ' [REDACTED]')
  t.equal(scan.replaced.get('ret-1001'), '')
})
