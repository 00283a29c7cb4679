/** `docs/clients.md` shows what the suite runs. */
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { clientsPage, PAGE } from './support/page.ts'

t.test('the page of the clients has what the suite runs', async (t) => {
  const text = clientsPage()
  if (process.env.HEADGATE_WRITE === '1') writeFileSync(PAGE, text)
  t.equal(readFileSync(PAGE, 'utf8'), text, 'docs/clients.md: HEADGATE_WRITE=1 npm run test:clients -- clients/pages writes it')
})
