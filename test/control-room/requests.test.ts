/** The page "Requests" in a real browser: against the gateway itself, and against replies that the simulator cannot make. */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { HOSTILE } from './now-status.ts'
import { FAILED_OVER, FOUND, PLANNED, REFUSED, TOOL_LOOP } from './requests-replies.ts'

const KEY = 'sk-router-v1-dev'

t.test('requests', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const room = await startRoom(t)
  const send = async (model: string, more: object = {}): Promise<string> => {
    const reply = await fetch(`${room.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], ...more }),
    })
    await reply.text()
    return reply.headers.get('x-generation-id') ?? ''
  }

  t.test('are searched, and the address keeps the search', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/requests')
    await page.getByText('No requests yet').waitFor()
    t.same(await axeProblems(page), [])
    await send('sim/echo')
    const wanted = await send('sim/story', { session_id: 'talk-1', max_tokens: 20 })
    await page.getByRole('button', { name: 'Search again' }).click()
    const rows = page.getByRole('table', { name: 'Requests found' }).locator('tbody tr')
    await rows.nth(1).waitFor()
    t.equal(await rows.count(), 2)
    await page.getByLabel('Model').fill('sim/story')
    await page.keyboard.press('Enter')
    await rows.nth(1).waitFor({ state: 'detached' })
    t.match(page.url(), 'model=sim%2Fstory', 'the filter is in the address')
    await page.reload()
    await rows.first().waitFor()
    t.equal(await rows.count(), 1, 'and holds after a reload')
    t.equal(await page.getByLabel('Model').inputValue(), 'sim/story')
    await page.getByText('all that there are').waitFor()
    await page.getByLabel('Status').selectOption('failed,aborted,unknown')
    await page.getByText('No request is like that').waitFor()
    await page.getByRole('button', { name: 'Take all filters away' }).click()
    await rows.nth(1).waitFor()
    await rows.first().getByRole('link').click()
    await page.getByText('Settled as incomplete').waitFor()
    t.match(page.url(), wanted, 'the newest comes first')
    await page.getByRole('link', { name: 'talk-1' }).click()
    await rows.first().waitFor()
    t.equal(await rows.count(), 1, 'those of the session')
    await page.getByLabel('Id of a request').fill('gen-no-such')
    complaints.length = 0
    await page.keyboard.press('Enter')
    await page.getByText('No such generation').waitFor()
    t.match(complaints, [/404/], 'only the browser complains')
    await context.close()
  })

  t.test('show the message of a field that is wrong at the field', async (t) => {
    const { page, context } = await room.open()
    await page.goto('/control-room/requests?min_cost=3&max_cost=2')
    await page.getByText('min_cost: expected at most `max_cost`').first().waitFor()
    t.equal(await page.getByLabel('Least cost').getAttribute('aria-invalid'), 'true')
    t.same(await axeProblems(page), [])
    await context.close()
  })

  t.test('are searched further back, with what has been looked at', async (t) => {
    const { page, context, complaints } = await room.open()
    const asked: (string | null)[] = []
    await page.route('**/v1/generations?**', (call) => {
      const cursor = new URL(call.request().url()).searchParams.get('cursor')
      asked.push(cursor)
      if (cursor === null) return call.fulfill({ json: FOUND })
      // A slice without a result, then the last.
      if (cursor === FOUND.next) return call.fulfill({ json: { data: [], next: 'bGFzdA', scanned_until: '2026-11-20T00:00:00Z' } })
      return call.fulfill({ json: { data: [{ ...FOUND.data[0], id: 'gen-last' }], next: null, scanned_until: '1970-01-01T00:00:00Z' } })
    })
    await page.goto('/control-room/requests')
    await page.getByText('50 requests, searched back to').waitFor()
    await page.getByRole('button', { name: 'Search further back' }).click()
    await page.getByText('51 requests, all that there are').waitFor()
    t.same(asked, [null, FOUND.next, 'bGFzdA'], 'an empty slice does not end the search')
    t.equal(await page.locator('main img, main script').count(), 0, "a caller's text is no markup")
    t.same(complaints, [])
    await context.close()
  })

  t.test('show the steps of one, and what would happen today', async (t) => {
    for (const width of [390, 1440]) {
      const id = await send('sim/story', { max_tokens: 20, stream: true })
      const { page, context, complaints } = await room.open({ width })
      await page.goto(`/control-room/requests/${id}`)
      await page.getByText('Settled as incomplete').waitFor()
      // What comes before the call takes a millisecond or not.
      const steps = (await page.locator('.timeline h3').allTextContents()).filter((title) => title !== 'Before the first call')
      t.equal(steps.length, 4, 'admitted, a call, first content, the end')
      await page.getByRole('button', { name: 'Plan it' }).click()
      await page.getByText('The endpoint that served it would be tried first').waitFor()
      await page.getByRole('table', { name: 'Order of the endpoints today' }).getByText('1. Simulator (sim)').waitFor()
      await page.getByText(/Key dev, \S+ held, output cap 20/).waitFor()
      await page.getByText(/What the plan does without: [1-9]/).click()
      await page.getByText('a text of the same length stands for them').waitFor()
      t.same(await axeProblems(page), [])
      t.equal(await overflow(page), 0)
      await picture(page, `requests-plan-${width}`)
      t.same(complaints, [])
      await context.close()
    }
  })

  t.test('show what would differ today, and why one cannot be planned', async (t) => {
    const { page, context } = await room.open({ width: 390 })
    const address = `/v1/generations/${FAILED_OVER.id}`
    await page.route('**/v1/ledger/entries?**', (call) => call.fulfill({ json: { data: [], next_cursor: null } }))
    await page.route(`**${address}`, (call) => call.fulfill({ json: { data: FAILED_OVER } }))
    const reply = { plan: PLANNED as typeof PLANNED | typeof REFUSED }
    await page.route(`**${address}/plan`, (call) => call.fulfill({ json: { data: reply.plan } }))
    await page.goto(`/control-room/requests/${FAILED_OVER.id}`)
    const plan = page.getByRole('button', { name: 'Plan it' })
    await plan.click()
    const differences = page.getByRole('table', { name: 'What differs today' })
    await differences.waitFor()
    t.same(await differences.locator('tbody tr').allTextContents(), [`Endpointacme/large@globex${HOSTILE}`])
    await page.getByRole('table', { name: 'Endpoints that are left out' }).getByText('max price').waitFor()
    t.same(await axeProblems(page), [])
    t.equal(await overflow(page), 0)
    t.equal(await page.locator('main img, main script').count(), 0, 'no text is markup')
    reply.plan = REFUSED
    await plan.click()
    await page.getByText('Today it would be refused').waitFor()
    await page.getByRole('table', { name: 'Order of the endpoints today' }).waitFor({ state: 'detached' })
    t.same(await differences.locator('tbody tr').allTextContents(), ['Outcomecompletedrefused with 402'])
    await page.unroute(`**${address}/plan`)
    await plan.click()
    await page.getByText('No such generation').waitFor()
    t.equal(await differences.count(), 0)
    await context.close()
  })

  t.test('copy the id of the trace', async (t) => {
    const { page, context, complaints } = await room.open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.route('**/v1/ledger/entries?**', (call) => call.fulfill({ json: { data: [], next_cursor: null } }))
    await page.route(`**/v1/generations/${FAILED_OVER.id}`, (call) => call.fulfill({ json: { data: FAILED_OVER } }))
    await page.goto(`/control-room/requests/${FAILED_OVER.id}`)
    await page.getByRole('button', { name: 'Copy the trace id' }).click()
    await page.getByRole('button', { name: 'the trace id is copied' }).waitFor()
    t.equal(await page.evaluate<string>('navigator.clipboard.readText()'), FAILED_OVER.trace_id)
    const steps = await page.locator('.timeline h3').allTextContents()
    t.match(steps, [
      'Admitted',
      'Moderation',
      'Attempt 1: Acme',
      /^Attempt 2/,
      'Attempt 3: Globex',
      'First content',
      'Tools of the gateway',
      'Settled as completed',
    ])
    t.equal(await page.locator('main img, main script').count(), 0, "a caller's text is no markup")
    t.same(complaints, [])
    await context.close()
  })

  t.test('show tools, inner calls, guardrails and plugins in their time, and the money line by line', async (t) => {
    for (const width of [390, 1440] as const)
      for (const scheme of ['light', 'dark'] as const) {
        const { page, context, complaints } = await room.open({ width, scheme })
        await page.route('**/v1/ledger/entries?**', (call) => call.fulfill({ json: { data: [], next_cursor: null } }))
        await page.route(`**/v1/generations/${TOOL_LOOP.id}`, (call) => call.fulfill({ json: { data: TOOL_LOOP } }))
        await page.goto(`/control-room/requests/${TOOL_LOOP.id}`)
        await page.getByText('Settled as completed').waitFor()
        t.same(await page.locator('.timeline h3').allTextContents(), [
          'Admitted',
          'Before the first call',
          'Guardrail: no-secrets',
          'Plugin: web',
          'Attempt 1: Acme',
          `Attempt 2: ${HOSTILE}`,
          `Tool: ${HOSTILE}`,
          'Call of a model: acme/small',
          'Attempt 3: Globex',
          'First content',
          'Settled as completed',
        ])
        await page.getByText('Drawn by lot among the endpoints').waitFor()
        await page.getByText('First token after 418 ms.').waitFor()
        await page.getByText(`Made by the tool ${HOSTILE}`).waitFor()
        await page.getByText('1,200 tokens in, 88 out, $0.0021').waitFor()
        t.same(await page.getByRole('list', { name: 'Guardrails and plugins' }).locator('li').allTextContents(), [
          `redacted Guardrail ${HOSTILE} (content-filter): 3 texts in the request, EMAIL, ${HOSTILE}`,
          'unchecked Guardrail no-secrets (content-filter): its engine did not answer in the answer',
          'acted Plugin web: results 5, cached no, $0.005',
        ])
        const lines = await page.getByRole('table', { name: 'The charge, line by line' }).locator('tr').allTextContents()
        t.same(lines, [
          'Held before the call$0.31',
          'Held in addition$0.02',
          'Tokens in4,024 × $2.50 per million, acme/large$0.0101',
          'Tokens read from a cache4,096 × $0.250001 per million, acme/large$0.00102',
          `Tokens out640 × $10.00 per million, ${HOSTILE}$0.0064`,
          'Searches of the provider2 × $0.01 each, acme/large$0.02',
          `Tools of the gateway3 calls, ${HOSTILE}$0.00462`,
          'Saved by the cache (in the above)$0.0031',
          'Given back$0.288',
          'Charged$0.0421',
        ])
        t.same(await axeProblems(page), [])
        t.equal(await overflow(page), 0)
        t.equal(await page.locator('main img, main script').count(), 0, 'no text is markup')
        await picture(page, `requests-steps-${scheme}-${width}`)
        t.same(complaints, [])
        await context.close()
      }
  })
})
