/** Pages before a tree is built of them: whatever comes in, what goes out is closed, shallow and without scripts. */
import fc from 'fast-check'
import t from 'tap'
import { tidyHtml } from '../../src/services/documents/tidy.ts'
import { property } from '../support/seed.ts'

const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))

/** Depth of the deepest element, and how many there are. @throws where a tag is not closed in its turn. */
function measured(html: string): { depth: number; elements: number } {
  const open: string[] = []
  let depth = 0
  let elements = 0
  for (const [, closes, name] of html.matchAll(/<(\/?)([^\s>/]+)[^<>]*>/g)) {
    if (closes === '/') {
      if (open.pop() !== name) throw new Error(`</${name}> closes something else`)
    } else {
      elements++
      if (!VOID.has(name)) depth = Math.max(depth, open.push(name))
    }
  }
  if (open.length > 0) throw new Error(`${open.join(' ')} stay open`)
  return { depth, elements }
}

const TOKENS = [
  ...'div p li td tr table b a ul script style title html body head pre svg br img meta textarea'
    .split(' ')
    .flatMap((name) => [`<${name}>`, `</${name}>`]),
  '<a href="x>y" class=\'<b>\' id=1 onclick=bad()>',
  '<!--',
  '-->',
  '<![CDATA[',
  '<?x?>',
  '<',
  '>',
  '</',
  '"',
  "'",
  '=',
  '<b ',
  ' word ',
  '&lt;b&gt;',
  '\u0000',
  '  \n\n ',
  '<p/>',
  '<x-y>',
]

t.test('any mixture of markup becomes a closed page', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...TOKENS), { maxLength: 60 }), (tokens) => {
      const out = tidyHtml(tokens.join(''))
      measured(out)
      return !/<(?:script|style|svg|textarea)\b|<[^>]*onclick/i.test(out) && out.split('<body>').length === 2
    }),
    property(2000, 20_000),
  )
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => {
      measured(tidyHtml(text))
      return true
    }),
    property(500, 5_000),
  )
  t.pass('closed, and without what is no text')
})

t.test('depth and number of elements are bounded, the text is not', async (t) => {
  const deep = tidyHtml(`${'<div>'.repeat(5000)}words${'</div>'.repeat(5000)}after`)
  // html, body and 200 levels.
  t.equal(measured(deep).depth, 202)
  t.match(deep, /words/)
  t.match(deep, /after<\/body>/)
  const many = tidyHtml('<b>y</b>'.repeat(50_000))
  t.equal(measured(many).elements, 40_000 + 3)
  t.equal(many.match(/y/g)?.length, 50_000 + 3 - 1, 'with those of body')
  t.equal(measured(tidyHtml('<p><li>x'.repeat(3000))).depth <= 202, true)
  t.equal(measured(tidyHtml('<li>x'.repeat(3000))).depth, 3, 'what ends without a word does not nest')
})

t.test('attributes: those that are read, of tags of a sane size', (t) => {
  const body = (html: string): string => /<body>(.*)<\/body>/s.exec(tidyHtml(html))?.[1] ?? ''
  t.equal(body('<a href=/x onclick="y" CLASS=z data-a=1>w</a>'), '<a href="/x" CLASS="z">w</a>')
  t.equal(body(`<a href="a>b" title='<i>'>w</a>`), '<a href="a&gt;b">w</a>')
  t.equal(body(`<a href="${'x'.repeat(5000)}">w</a>`), '<a>w</a>')
  t.equal(body('<div hidden>w</div>'), '<div hidden>w</div>')
  t.equal(body('<pre>a\n    b</pre>'), '<pre>a\n    b</pre>')
  t.equal(body('a   \n  b'), 'a b')
  t.equal(
    tidyHtml('<title>A<b></title><title>B</title><meta name=x content=y><base href=/z>').split('<body>')[0],
    '<html><head><title>A</title><meta name="x" content="y"><base href="/z"></head>',
  )
  t.end()
})
