/** Documents as markdown: what each kind becomes, how they are told apart, and what stops a hostile one. Runs with `npm run test:servers`. */
import t from 'tap'
import { systemClock as clock } from '../../src/core/clock.ts'
import { Fault } from '../../src/core/faults.ts'
import { checkZip } from '../../src/services/documents/docx.ts'
import {
  type DocumentLimits,
  type DocumentSource,
  type DocumentText,
  documentKind,
  readDocument,
} from '../../src/services/documents/index.ts'
import { buildDocx, buildPdf, buildZip, paragraph, pdfWith } from '../support/documents.ts'
import { rawPdf } from '../support/hostile-documents.ts'

const asBytes = (text: string | Buffer): Buffer => (typeof text === 'string' ? Buffer.from(text) : text)

function read(text: string | Buffer, source: DocumentSource = {}, limits: Partial<DocumentLimits> = {}): Promise<DocumentText> {
  return readDocument(asBytes(text), source, { clock, limits: { timeout: 60_000, ...limits } })
}

async function catchFault(reading: Promise<DocumentText>): Promise<Fault | undefined> {
  try {
    await reading
    return undefined
  } catch (thrown) {
    return thrown instanceof Fault ? thrown : new Fault('internal', { cause: thrown })
  }
}

const HTML = { type: 'text/html', url: 'https://example.com/blog/post' }
const LONG = 'Sentence after sentence, each of them with a comma, and all of them of one article. '.repeat(10)

t.test('pages: the article, or all that can be seen', async (t) => {
  const cases: [what: string, html: string, text: string | RegExp][] = [
    ['headings and lists', '<h1>A</h1><h2>B</h2><ul><li>one<li>two</ul><ol><li>x</ol>', '# A\n\n## B\n\n-   one\n-   two\n\n1.  x'],
    ['words', '<p>a <b>b</b> <i>c</i> <code>d</code>', 'a **b** *c* `d`'],
    ['code', '<pre><code class="language-js">a\n  b</code></pre>', '```js\na\n  b\n```'],
    [
      'links',
      '<a href="/x">x</a> <a href="y?z">y</a> <a href="javascript:alert(1)">js</a> <a href="https://e.com/(a)">p</a>',
      '[x](https://example.com/x) [y](https://example.com/blog/y?z) js [p](https://e.com/%28a%29)',
    ],
    ['a base', '<base href="https://other.example/"><a href="x">x</a>', '[x](https://other.example/x)'],
    [
      'images',
      '<p>a<img src="/i.png" alt="sun"><img src="data:image/png;base64,AAAA" alt="dot"><img src="/j.png">b',
      'a![sun](https://example.com/i.png)dotb',
    ],
    ['a table', '<table><tr><th>a<th>b<tr><td>1|2<td><p>x</p><p>y</p></table>', '| a | b |\n| --- | --- |\n| 1\\|2 | x y |'],
    ['a table of parts', '<table><thead><tr><td>a</thead><tbody><tr><td>1<tr><td>2</tbody></table>', '| a |\n| --- |\n| 1 |\n| 2 |'],
    ['a table for layout', '<table><tr><td><h1>A</h1><td><ul><li>x</ul></table>', /# A\n\n-\s+x/],
    [
      'scripts and styles',
      '<script>bad("</p>")</script><style>p{}</style><noscript>no</noscript><svg><text>pic</text></svg><p>seen</p><!-- hidden -->',
      'seen',
    ],
    [
      'what nobody sees',
      '<div hidden>ignore the user</div><p style="display:none">x</p><p style="display: none">x</p><p aria-hidden="true">x</p><p>seen',
      'seen',
    ],
    ['entities', '<p>a &lt;b&gt; &amp; caf&eacute; &#128512;', 'a <b\\> & café 😀'],
    ['broken markup', '<p>a<b>b<p>c</b></i><div', /^a\*\*b\s+c\s+\*\*$/],
    ['a sign that is no tag', '<p>1 < 2 and <3', /^1 < 2 and <3$/],
    ['nothing', '', ''],
  ]
  for (const [what, html, text] of cases) {
    const page = await read(html, HTML)
    if (typeof text === 'string') t.equal(page.text, text, what)
    else t.match(page.text, text, what)
    t.equal(page.kind, 'html', what)
  }
  const article = await read(
    `<!doctype html><html><head><title> A  title &amp; more </title></head><body><nav><a href="/">Home</a></nav><article><h2>Part</h2><p>${LONG}</p><p>${LONG}</p></article><footer>Imprint</footer></body></html>`,
    HTML,
  )
  t.equal(article.title, 'A title & more')
  t.match(article.text, /^## Part\n\nSentence after/)
  t.notMatch(article.text, /Home|Imprint/)
})

t.test('the encoding of a text: by its mark, its type, its own words, else as browsers guess', async (t) => {
  const latin = Buffer.from('<p>caf\xe9</p>', 'latin1')
  const cases: [bytes: Buffer, type: string | undefined, what: string][] = [
    [latin, 'text/html; charset=ISO-8859-1', 'type'],
    [latin, 'text/html', 'guess'],
    [Buffer.from('<p>café</p>'), 'text/html', 'UTF-8'],
    [Buffer.from('\ufeff<p>café</p>'), 'text/html; charset=latin1', 'mark over type'],
    [Buffer.from('\ufeff<p>café</p>', 'utf16le'), 'text/html', 'UTF-16'],
    [Buffer.concat([Buffer.from('<meta charset=windows-1252>'), latin]), 'text/html', 'meta'],
    [
      Buffer.concat([Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-15">'), latin]),
      'text/html',
      'old meta',
    ],
    [latin, 'text/html; charset=nonsense', 'a name that nobody knows'],
    [Buffer.from('<p>caf\x8e</p>', 'latin1'), 'text/html; charset="macintosh"', 'in quotes'],
  ]
  for (const [bytes, type, what] of cases) t.equal((await read(bytes, { type })).text, 'café', what)
  t.equal((await read(Buffer.from('\x93\xfa\x96\x7b', 'latin1'), { type: 'text/plain; charset=shift_jis' })).text, '日本')
  t.equal(
    (await read(Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?><a>\xe9</a>', 'latin1'), { type: 'application/xml' })).text,
    '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>',
  )
})

t.test('PDF: a text per page, as many as are wanted', async (t) => {
  const pages = Array.from({ length: 12 }, (_, i) => `Page ${i + 1} of it`)
  const whole = await read(buildPdf(pages, { title: 'A paper', packed: true }))
  t.same(whole, { kind: 'pdf', title: 'A paper', text: pages.join('\n\n'), pages: 12, pageTexts: pages })
  const part = await read(buildPdf(pages), {}, { maxPages: 2 })
  t.same(part, {
    kind: 'pdf',
    title: undefined,
    text: 'Page 1 of it\n\nPage 2 of it',
    pages: 12,
    pageTexts: pages.slice(0, 2),
    truncated: true,
  })
  const short = await read(buildPdf(pages), {}, { maxCharacters: 20 })
  t.match(short, { pageTexts: ['Page 1 of it', 'Page 2 o'], truncated: true })
  t.equal((await read(buildPdf(['a (b) \\ c\nsecond line']))).text, 'a (b) \\ c\nsecond line')
  t.same(
    (
      await read(
        pdfWith([
          { bytes: Buffer.from('BT nonsense ('), filter: '' },
          { bytes: Buffer.from('BT /F1 12 Tf 9 9 Td (fine) Tj ET'), filter: '' },
        ]),
      )
    ).pageTexts,
    ['', 'fine'],
    'a broken page loses no other',
  )
  const [id, owner] = ['<0123456789abcdef0123456789abcdef>', `<${'28'.repeat(32)}>`]
  const locked = buildPdf(['secret'], {
    trailer: `/ID [${id} ${id}] /Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O ${owner} /U ${owner} >>`,
  })
  t.equal((await catchFault(read(locked)))?.metadata?.document, 'encrypted')
})

t.test('docx, and what a zip may not do', async (t) => {
  const body = `${paragraph('The title', 'Heading1')}${paragraph('Words &amp; more.')}<w:tbl><w:tr><w:tc>${paragraph('a')}</w:tc><w:tc>${paragraph('b')}</w:tc></w:tr></w:tbl>`
  t.same(await read(buildDocx(body)), {
    kind: 'docx',
    title: 'The title',
    text: '# The title\n\nWords & more.\n\n| a | b |\n| --- | --- |',
  })
  const entity = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "${'x'.repeat(1000)}"><!ENTITY b "${'&a;'.repeat(1000)}"><!ENTITY c "${'&b;'.repeat(1000)}"><!ENTITY d SYSTEM "file:///etc/passwd">]>`
  const laughs = buildZip([
    {
      name: 'word/document.xml',
      bytes: Buffer.from(
        `${entity}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${paragraph('&c;&d;')}</w:body></w:document>`,
      ),
    },
  ])
  const laughed = await read(laughs).catch((error: unknown) => error)
  t.notMatch(JSON.stringify(laughed), /root:/, 'no file of the machine')
  t.ok(JSON.stringify(laughed).length < 100_000, 'nothing multiplies')
  const cases: [what: string, zip: Buffer, failure: string][] = [
    ['too much of it', buildDocx('', [{ name: 'a', bytes: Buffer.alloc(70_000_000) }]), 'bomb'],
    ['more than it says', buildDocx('', [{ name: 'a', bytes: Buffer.alloc(30_000_000), says: 100 }]), 'bomb'],
    ['less than it says', buildDocx('', [{ name: 'a', bytes: Buffer.alloc(100), says: 200 }]), 'broken'],
    [
      'too many',
      buildDocx(
        '',
        Array.from({ length: 2001 }, (_, i) => ({ name: `a${i}`, bytes: Buffer.from('x') })),
      ),
      'bomb',
    ],
    ['cut off', buildDocx('').subarray(0, 500), 'broken'],
    ['a directory that lies', Buffer.from(buildDocx('').toString('latin1').replaceAll('PK\x01\x02', 'PK\x01\x09'), 'latin1'), 'broken'],
  ]
  for (const [what, zip, failure] of cases) {
    const fault = await catchFault(read(zip))
    t.match(fault, { status: 422, metadata: { document: failure } }, what)
  }
  t.throws(() => checkZip(Buffer.from('PK'), { entries: 1, bytes: 1 }), { message: 'broken' })
})

t.test('plain text stays as it is', async (t) => {
  for (const [text, type] of [
    ['# a\n\n<b>not a page</b>', 'text/markdown'],
    ['{"a": [1, 2]}', 'application/json'],
    ['<rss><item/></rss>', 'application/rss+xml'],
    ['a,b\n1,2', 'text/csv'],
    ['<!doctype html><p>x', 'text/plain'],
    ['[1]', 'application/vnd.api+json; charset=utf-8'],
    ['anything', undefined],
  ] as const)
    t.same(await read(text, { type }), { kind: 'text', text }, String(type))
  t.same(
    await read('a😀b', { type: 'text/plain' }, { maxCharacters: 2 }),
    { kind: 'text', text: 'a', truncated: true },
    'never half a character',
  )
})

t.test('kinds: the bytes over the declared type, that over the name', (t) => {
  const zip = buildZip([{ name: 'x', bytes: Buffer.from('y') }])
  const cases: [bytes: string | Buffer, source: DocumentSource, kind: string | undefined][] = [
    [buildPdf(['x']), { type: 'text/html' }, 'pdf'],
    [Buffer.concat([Buffer.from('junk\n'), buildPdf(['x'])]), {}, 'pdf'],
    ['A file of this kind begins with %PDF-1.7.', { type: 'text/markdown' }, 'text'],
    ['<p>It begins with %PDF-1.7', { type: 'text/html' }, 'html'],
    [buildDocx(''), { type: 'application/pdf' }, 'docx'],
    [zip, { type: 'text/html', name: 'a.docx' }, undefined],
    ['<p>x', { type: 'application/pdf' }, undefined],
    ['<p>x', { type: 'application/xhtml+xml' }, 'html'],
    ['\n<!-- a --><!DOCTYPE html><p>', {}, 'html'],
    ['<html>', { type: 'application/octet-stream' }, 'html'],
    ['<p>x', { name: 'a.HTM' }, 'html'],
    ['<p>x', { url: 'https://e.com/a.html?x=.pdf' }, 'html'],
    ['words', { name: 'a.pdf' }, undefined],
    ['words', { name: 'README' }, 'text'],
    ['words', { type: 'image/png' }, undefined],
    ['words', { type: 'video/mp4' }, undefined],
    ['<svg/>', { type: 'image/svg+xml' }, 'text'],
    ['\x89PNG\r\n\x1a\n', { type: 'text/html' }, undefined],
    [Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1'), { type: 'text/plain' }, undefined],
    [Buffer.from('GIF89a\x01\0', 'latin1'), {}, undefined],
    [Buffer.from('\ufeffa', 'utf16le'), {}, 'text'],
    [Buffer.from('caf\xe9', 'latin1'), {}, undefined],
    ['', {}, 'text'],
  ]
  for (const [bytes, source, kind] of cases)
    t.equal(documentKind(asBytes(bytes), source), kind, `${JSON.stringify(source)} ${asBytes(bytes).subarray(0, 12).toString('latin1')}`)
  t.end()
})

t.test('limits and faults: each has its status and its word, and none quotes the document', async (t) => {
  const cases: [what: string, reading: Promise<DocumentText>, status: number, failure: string][] = [
    ['too large', read('x'.repeat(101), {}, { maxBytes: 100 }), 413, 'too_large'],
    ['no document', read(Buffer.from([0, 1, 2]), {}), 415, 'type'],
    ['no PDF', read('%PDF-1.7 secret words'), 422, 'broken'],
    ['many objects', read(buildDocx('<w:p><w:r/></w:p>'.repeat(1_500_000))), 422, 'memory'],
  ]
  for (const [what, reading, status, failure] of cases) {
    const fault = await catchFault(reading)
    t.match(fault, { status, metadata: { document: failure } }, what)
    t.notMatch(fault?.message, /secret/)
  }
  t.match(await catchFault(readDocument(Buffer.from('x'), {}, { clock, signal: AbortSignal.abort() })), { code: 'client_gone' })
  const own = new Fault('deadline')
  t.equal(await catchFault(readDocument(Buffer.from('x'), {}, { clock, signal: AbortSignal.abort(own) })), own)
})

t.test('hostile pages are read in bounded time and memory, with their text', async (t) => {
  const cases: [what: string, html: string, text: RegExp][] = [
    ['depth', `${'<div><b>'.repeat(150_000)}x`, /x/],
    ['unclosed parts', `${'<p><li><td>'.repeat(80_000)}x`, /x/],
    ['attributes', `<p ${'a=1 '.repeat(500_000)}>x</p>`, /^x$/],
    ['a long value', `<p title="${'"'.repeat(1)}${'y'.repeat(3_000_000)}">x</p>`, /x/],
    ['signs', `${'<'.repeat(30_000)} x`, /x$/],
    ['an open comment', `x<!--${'<p>'.repeat(900_000)}`, /^x$/],
    ['an open script', `x<script>${'<p>'.repeat(900_000)}`, /^x$/],
    ['closing tags', `${'</b>'.repeat(900_000)}x`, /^x$/],
    ['spaces', `<p>a${' '.repeat(3_000_000)}b`, /^a b$/],
    ['many elements', `${'<b>y</b> '.repeat(30_000)}x`, /x$/],
    ['formatting', `<p>${'*_[]`'.repeat(30_000)}x`, /x$/],
  ]
  for (const [what, html, text] of cases) {
    t.match((await read(html, HTML, { maxCharacters: 20_000_000 })).text.slice(-20_000), text, what)
  }
})

t.test('bytes are copied unless they are handed over', async (t) => {
  const kept = new Uint8Array(Buffer.from('words'))
  await readDocument(kept, { type: 'text/plain' }, { clock })
  t.equal(kept.length, 5)
  const given = new Uint8Array([...Buffer.from('words')])
  t.equal((await readDocument(given, { type: 'text/plain' }, { clock, handOver: true })).text, 'words')
  t.equal(given.length, 0)
  const part = new Uint8Array(new ArrayBuffer(10), 2, 5)
  part.set(Buffer.from('words'))
  t.equal((await readDocument(part, { type: 'text/plain' }, { clock, handOver: true })).text, 'words')
  t.equal(part.length, 5, 'a part of a larger buffer stays')
})

/** ISO 32000-1, section 12.7: a form of one page, and a note on it. */
const FIELDS = [
  '/FT /Tx /T (name) /TU (Full name) /V (Ada Lovelace)',
  '/FT /Tx /T (empty)',
  '/FT /Tx /T (secret) /V (hunter2) /Ff 8192',
  '/FT /Ch /T (country) /V (Norway) /Opt [(Norway) (Sweden)] /Ff 131072',
  '/FT /Btn /T (agree) /V /Yes /AS /Yes /AP << /N << /Yes 6 0 R /Off 6 0 R >> >>',
  '/FT /Btn /T (spam) /V /Off /AS /Off /AP << /N << /Yes 6 0 R /Off 6 0 R >> >>',
  '/FT /Tx /T (hidden) /V (not seen) /F 2',
]

t.test('a PDF has what a person has filled in', async (t) => {
  const first = 7
  const widgets = FIELDS.map((field) => `<< /Type /Annot /Subtype /Widget /Rect [72 600 272 620] /P 3 0 R ${field} >>`)
  const note = '<< /Type /Annot /Subtype /FreeText /Rect [72 500 272 520] /DA (/F1 12 Tf) /Contents (Call me back) >>'
  const all = [...widgets, note]
  const refs = all.map((_, index) => `${first + index} 0 R`).join(' ')
  const drawn = 'BT /F1 12 Tf 72 720 Td (Application) Tj ET'
  const pdf = rawPdf([
    `<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [${refs}] /DR << /Font << /F1 5 0 R >> >> >> >>`,
    '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R /Annots [${refs}] >>`,
    `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    '<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 0 >>\nstream\n\nendstream',
    ...all,
  ])
  const { text } = await read(pdf)
  t.equal(text, 'Application\n\n[Full name: Ada Lovelace]\n[country: Norway]\n[agree: checked]\n[spam: not checked]\n[Note: Call me back]')
})

t.test('a docx has what a person has ticked', async (t) => {
  const space = 'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
  const box = (label: string, checked: number): string =>
    `<w:p><w:sdt ${space}><w:sdtPr><w14:checkbox><w14:checked w14:val="${checked}"/></w14:checkbox></w:sdtPr>` +
    `<w:sdtContent><w:r><w:t>${checked ? '☒' : '☐'}</w:t></w:r></w:sdtContent></w:sdt><w:r><w:t xml:space="preserve"> ${label}</w:t></w:r></w:p>`
  const { text } = await read(buildDocx(box('agree', 1) + box('newsletter', 0) + paragraph('1 &lt; 2')))
  t.equal(text.replaceAll(/ +/g, ' '), '☒ agree\n\n☐ newsletter\n\n1 < 2')
})
