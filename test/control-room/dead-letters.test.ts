/** Events that a receiver of a real gateway has given up, or refuses for good: sent again, and enabled, on the page "Events". */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { startReceiver, status, WEBHOOK_SECRET } from '../support/webhook-receiver.ts'

const [OWNER, VIEWER] = ['owner', 'viewer'].map((role) => `sk-router-v1-${role}-0123456789abcdef`) as [string, string]

t.test('dead letters', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const [failing, gone] = [await startReceiver(), await startReceiver()]
  for (const receiver of [failing, gone]) t.teardown(() => receiver.close())
  // The next attempt would be later than the receiver has.
  failing.answer = status(503, { 'retry-after': '7200' })
  gone.answer = status(410)
  const room = await startRoom(
    t,
    `
providers: { sim: { dialect: sim, name: Simulator } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
events:
  receivers:
    - { name: failing, url: "${failing.url}", secret: "${WEBHOOK_SECRET}", types: [headgate.key.created], give_up_after: 1h }
    - { name: gone, url: "${gone.url}", secret: "${WEBHOOK_SECRET}", types: [headgate.key.created] }
auth:
  keys:
    - { name: owner, key: "${OWNER}", role: owner }
    - { name: viewer, key: "${VIEWER}", role: viewer }
`,
  )
  const { gateway } = room
  const list = async (path: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    const reply = await gateway.get(path, { authorization: `Bearer ${OWNER}` })
    return ((await reply.json()) as { data: Readonly<Record<string, unknown>>[] }).data
  }
  await gateway.post('/v1/keys', { name: 'app' }, { authorization: `Bearer ${OWNER}` })
  await eventually('one is dead', async () => (await list('/v1/events/deliveries?state=dead')).length === 1)
  await eventually('one is disabled', async () => (await list('/v1/events/receivers')).some((each) => each.disabled_at !== null))

  await t.test('a viewer reads them, and sends nothing', async (t) => {
    const { page, context, complaints } = await room.open({ key: VIEWER, width: 390, scheme: 'dark' })
    await page.goto('/control-room/events')
    for (const name of ['Send again to failing', 'Enable gone']) {
      const control = page.getByRole('button', { name })
      await control.waitFor()
      t.equal(await control.isDisabled(), true)
      t.equal(await control.getAttribute('title'), 'Not open to the role viewer')
    }
    t.equal(await overflow(page), 0)
    t.same(await axeProblems(page), [])
    t.same(complaints, [])
    await context.close()
  })

  await t.test('an owner sends one again, and enables the receiver', async (t) => {
    const { page, context, complaints } = await room.open({ key: OWNER })
    failing.answer = status(204)
    gone.answer = status(204)
    await page.goto('/control-room/events')
    const again = page.getByRole('button', { name: 'Send again to failing' })
    await again.waitFor()
    t.same(await axeProblems(page), [])
    await picture(page, 'events-dead-1440')
    await again.click()
    await page.getByText('The event is sent to failing again').waitFor()
    await eventually('it has come', async () => failing.received.length === 2)
    t.equal(failing.received[0]?.event.id, failing.received[1]?.event.id)
    await page.getByRole('button', { name: 'Enable gone' }).click()
    await page.getByText('gone takes events again').waitFor()
    await page.getByRole('button', { name: 'Enable gone' }).waitFor({ state: 'detached' })
    t.same(complaints, [])
    await context.close()
  })
})
