/** A person who is signed in to the control room, and whom the identity provider disables over SCIM. */
import t from 'tap'
import { comeBack, OWN, startSignIn } from '../support/people.ts'
import { SCIM_TOKEN, ScimClient } from '../support/scim-client.ts'

t.test('the session of a person who is disabled is refused with its next request', async (t) => {
  const place = await startSignIn(t, { more: `\nscim: { tokens: [ { name: acme, token: "${SCIM_TOKEN}" } ] }` })
  const { gateway, walker } = place
  const scim = new ScimClient(() => gateway.url)
  const { body: ada } = await scim.addUser('Ada@acme.example')
  await walker.visit(await comeBack(place))
  const status = async (): Promise<number> => (await walker.visit(`${gateway.admin}/v1/keys`, { headers: OWN })).status
  t.equal(await status(), 200)
  for (const [active, expected] of [
    ['False', 403],
    ['True', 200],
  ] as const) {
    await scim.patch(`/Users/${ada.id}`, [{ op: 'Replace', path: 'active', value: active }])
    t.equal(await status(), expected, `active ${active}`)
  }
  await scim.call('DELETE', `/Users/${ada.id}`)
  t.equal(await status(), 403, 'and that of one who is removed')
})
