/** Sign-in at a real identity provider in a real browser. */
import t from 'tap'
import { axeProblems, noBrowser, picture, startRoom } from '../support/browser.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { PEOPLE, registeredClient, SECRET } from '../support/people.ts'

t.test('sign-in at an identity provider', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const provider = await startIdentityProvider(t, PEOPLE)
  const room = await startRoom(
    t,
    `
auth:
  issuers:
    - issuer: "${provider.url}"
      audiences: [ headgate ]
      member: email
      sign_in: { client_id: control-room, client_secret: "${SECRET}", name: acme, label: Acme }
      rules: [ { when: { groups: all } } ]
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
`,
  )
  provider.open([registeredClient(room.gateway)])
  const { page, context, complaints } = await room.open({ signedIn: false })
  await page.goto('/control-room/ledger')
  const button = page.getByRole('button', { name: 'Sign in with Acme' })
  await button.waitFor()
  await picture(page, 'sign-in-issuer')
  t.same(await axeProblems(page), [], 'axe finds nothing on the form')
  t.same(complaints, [])
  await button.click()
  const signIn = async (login: string): Promise<void> => {
    await page.getByPlaceholder('Enter any login').fill(login)
    await page.getByPlaceholder('and password').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }
  await signIn('bob')
  await page.getByText('You are signed in as bob@acme.example').waitFor()
  await page.getByText(`headgate login ${room.gateway.url}`).waitFor()
  t.equal(new URL(page.url()).pathname, '/control-room/ledger', 'the page that was wanted')
  t.same(await axeProblems(page), [], 'axe finds nothing on the page of a member')
  await picture(page, 'own-access')
  const cookies = (await context.cookies(room.gateway.admin)).filter(({ name }) => name.startsWith('control-room'))
  t.match(cookies, [{ name: 'control-room', httpOnly: true, sameSite: 'Strict' }])
  t.equal(cookies.length, 1, 'the cookie of the sign-in is gone')
  const kept = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, location.href])')
  t.notMatch(kept, 'code=')
  await page.reload()
  await page.getByText('You are signed in as bob@acme.example').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${provider.url}/**`)
  await page.goto('/control-room/')
  await button.waitFor()
  const other = await room.open({ signedIn: false })
  await other.page.goto('/control-room/')
  await other.page.getByRole('button', { name: 'Sign in with Acme' }).click()
  await other.page.getByPlaceholder('Enter any login').fill('eve')
  await other.page.getByPlaceholder('and password').fill('any')
  await other.page.getByRole('button', { name: 'Sign-in' }).click()
  await other.page.getByRole('button', { name: 'Continue' }).click()
  await other.page.getByText('no rule of this gateway is for you').waitFor()
  t.notMatch(other.page.url(), '#', 'the address has no reason any more')
  t.same(await axeProblems(other.page), [])
})
