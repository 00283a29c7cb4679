/** The link that a start prints, in a real browser: it signs in, leaves no code behind, and opens nothing the second time. */
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { SignInLink } from '../../src/server/control-room/sign-in-link.ts'
import { axeProblems, noBrowser, SIMULATED, startRoom } from '../support/browser.ts'

t.test('the link of the start', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const signInLink = new SignInLink(systemClock)
  const room = await startRoom(t, SIMULATED, { signInLink })
  const link = signInLink.make(room.gateway.admin) ?? ''
  const first = await room.open({ signedIn: false })
  await first.page.goto(link)
  await first.page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  t.notMatch(first.page.url(), '#', 'the address has no code any more')
  await first.page.goto(link)
  await first.page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  t.same(
    first.complaints.filter((each) => !each.includes('401')),
    [],
    'who is signed in stays so with a used link',
  )
  const second = await room.open({ signedIn: false })
  await second.page.goto(link)
  await second.page.getByText('the link of the start has been used').waitFor()
  await second.page.getByLabel('Management key or admin token').waitFor()
  t.same(await axeProblems(second.page), [])
})
