import t from 'tap'
import { parseDataUrl } from '../../src/dialects/canon/file-url.ts'

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')

t.test('a data URL in its pieces', async (t) => {
  const cases: [url: string, pieces: ReturnType<typeof parseDataUrl>][] = [
    ['data:image/png;base64,AAEC', { type: 'image/png', data: 'AAEC' }],
    ['DATA:Image/PNG;Base64,AAEC', { type: 'image/png', data: 'AAEC' }],
    ['data:application/pdf;name=a.pdf;base64,AAEC', { type: 'application/pdf', data: 'AAEC' }],
    ['data:application/pdf;base64;name=a.pdf,AAEC', { type: 'application/pdf', data: 'AAEC' }],
    ['data:;base64,AAEC', { type: '', data: 'AAEC' }],
    ['data:,a%20b', { type: '', data: base64('a b') }],
    ['data:text/plain;charset=utf-8,gr%C3%BC%C3%9Fe,ü', { type: 'text/plain', data: base64('grüße,ü') }],
    ['data:text/plain,100%,%zz', { type: 'text/plain', data: base64('100%,%zz') }],
    ['data:image/png;base64', undefined],
    ['https://x.test/data:,a', undefined],
    ['', undefined],
  ]
  for (const [url, pieces] of cases) t.same(parseDataUrl(url), pieces, url)
})
