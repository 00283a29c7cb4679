/** `headgate login`, `token` and `logout`: tokens of a person for programs on this machine, from the identity provider of a gateway. */
import { type Clock, systemClock } from '../../core/clock.ts'
import { plainName } from '../../core/plain-name.ts'
import { DeviceFlow, DeviceFlowError, type IssuedTokens } from '../../services/issuers/device-flow.ts'
import { CONSOLE, type Streams } from '../console.ts'
import { callerName, gatewayAddress, loginIssuer } from './gateway-metadata.ts'
import { type Login, LoginFile, type Logins } from './login-file.ts'

/**
 * Milliseconds that a token which is handed out still lasts, if it lasts twice as long at all: agents keep one for five minutes (Claude Code
 * 2.1.332, `CLAUDE_CODE_API_KEY_HELPER_TTL_MS`; Codex 0.171.0, `refresh_interval_ms`).
 */
const LEAST_MS = 330_000
/** Of an issuer that does not state how long its tokens last. */
const UNSTATED_MS = 5 * 60_000

interface Surroundings {
  readonly streams: Streams
  readonly clock: Clock
  readonly file: LoginFile
}

const here = (): Surroundings => ({ streams: CONSOLE, clock: systemClock, file: new LoginFile() })

/** @param flags `issuer` where the gateway has several. @returns the exit code. */
export function login(address: string, flags: { readonly issuer?: string }, surroundings = here()): Promise<number> {
  const { streams, clock, file } = surroundings
  return reported(streams, async () => {
    const gateway = gatewayAddress(address)
    const found = await loginIssuer(gateway, flags.issuer, clock)
    streams.error(plainName(`Gateway ${gateway}, issuer ${found.issuer}, client ${found.client_id}`))
    const tokens = await deviceFlow(found, clock).run(({ code, address: page, whole, lastsSeconds }) => {
      streams.error(`Open ${plainName(page)} and enter the code ${plainName(code)}`)
      if (whole !== undefined) streams.error(`or open ${plainName(whole)}`)
      streams.error(`The code lasts ${Math.round(lastsSeconds / 60)} minutes. Enter it only if you began this yourself.`)
    })
    const name = await callerName(gateway, tokens.accessToken, clock)
    const made = newLogin(found, tokens, clock)
    await file.alone(async () => {
      const { logins } = file.read()
      file.write({ current: gateway, logins: { ...logins, [gateway]: made } })
    })
    streams.error(`Logged in to ${gateway} as ${plainName(name)}`)
    if (made.refresh_token === null)
      streams.error(plainName(`${found.issuer} gave no refresh token: log in again after ${made.expires_at ?? 'its end'}`))
    return 0
  })
}

/** Prints a token that lasts. @param address undefined: the gateway of the last login. @returns the exit code. */
export function token(address: string | undefined, surroundings = here()): Promise<number> {
  const { streams, clock, file } = surroundings
  return reported(streams, async () => {
    const { gateway, found } = named(file.read(), address)
    if (lasts(found, clock)) {
      streams.out(found.access_token)
      return 0
    }
    streams.out(await file.alone(() => renewed(gateway, surroundings)))
    return 0
  })
}

/** Revokes and removes a login. @param address undefined: the gateway of the last login. @returns the exit code: 1 where it is not revoked. */
export function logout(address: string | undefined, surroundings = here()): Promise<number> {
  const { streams, clock, file } = surroundings
  return reported(streams, () =>
    file.alone(async () => {
      const logins = file.read()
      const { gateway, found } = named(logins, address)
      const { [gateway]: _, ...rest } = logins.logins
      const [next = null] = Object.keys(rest)
      file.write({ current: logins.current === gateway ? next : logins.current, logins: rest })
      const { refresh_token: refresh, access_token: access, issuer } = found
      const flow = deviceFlow(found, clock)
      // With the refresh token its access tokens end as well, where the issuer can do that (RFC 7009, 2.1).
      const isRevoked = await (refresh === null ? flow.revoke(access, 'access_token') : flow.revoke(refresh, 'refresh_token')).catch(
        (thrown: Error) => {
          throw new Error(`Logged out of ${gateway} on this machine, but the tokens are not revoked: ${thrown.message}`)
        },
      )
      streams.error(
        plainName(
          isRevoked ? `Logged out of ${gateway}` : `Logged out of ${gateway}; ${issuer} revokes no tokens, so they last to their end`,
        ),
      )
      return 0
    }),
  )
}

/** Within the lock: another process may have renewed it meanwhile. */
async function renewed(gateway: string, { clock, file }: Surroundings): Promise<string> {
  const logins = file.read()
  const { found } = named(logins, gateway)
  if (lasts(found, clock)) return found.access_token
  const remedy = `headgate login ${gateway}`
  if (found.refresh_token === null) throw new Error(`The login of ${gateway} has ended and cannot be renewed: ${remedy}`)
  try {
    const made = newLogin(found, await deviceFlow(found, clock).refresh(found.refresh_token), clock)
    file.write({ ...logins, logins: { ...logins.logins, [gateway]: made } })
    return made.access_token
  } catch (thrown) {
    const { code } = thrown as { code?: unknown }
    if (thrown instanceof DeviceFlowError && code === 'ended') throw new Error(`${thrown.message}: ${remedy}`)
    // An issuer that is away costs nothing while the token works.
    if (end(found) > clock.now()) return found.access_token
    throw thrown
  }
}

const deviceFlow = ({ issuer, client_id: clientId, scopes, resource }: Omit<Login, keyof TokenFields>, clock: Clock): DeviceFlow =>
  new DeviceFlow({ issuer, clientId, scopes, resource: resource ?? undefined }, clock)

type TokenFields = Pick<Login, 'access_token' | 'refresh_token' | 'obtained_at' | 'expires_at'>

function newLogin({ issuer, client_id, scopes, resource }: Omit<Login, keyof TokenFields>, tokens: IssuedTokens, clock: Clock): Login {
  const now = clock.now()
  const { accessToken, refreshToken = null, lastsSeconds } = tokens
  return {
    ...{ issuer, client_id, scopes, resource },
    access_token: accessToken,
    refresh_token: refreshToken,
    obtained_at: new Date(now).toISOString(),
    expires_at: lastsSeconds === undefined ? null : new Date(now + lastsSeconds * 1000).toISOString(),
  }
}

/** Milliseconds since the epoch. */
const end = ({ obtained_at: at, expires_at: until }: Login): number => (until === null ? Date.parse(at) + UNSTATED_MS : Date.parse(until))

function lasts(found: Login, clock: Clock): boolean {
  const whole = end(found) - Date.parse(found.obtained_at)
  return end(found) - clock.now() >= Math.min(LEAST_MS, whole / 2)
}

/** @throws Error where there is no such login. */
function named({ current, logins }: Logins, address: string | undefined): { gateway: string; found: Login } {
  const gateway = address === undefined ? current : gatewayAddress(address)
  const found = gateway === null || !Object.hasOwn(logins, gateway) ? undefined : logins[gateway]
  if (gateway === null || !found)
    throw new Error(`There is no login${gateway === null ? '' : ` of ${gateway}`}: headgate login ${gateway ?? 'ADDRESS'}`)
  return { gateway, found }
}

async function reported(streams: Streams, run: () => Promise<number>): Promise<number> {
  try {
    return await run()
  } catch (thrown) {
    // Words of the gateway and of the issuer may be among them.
    streams.error(`headgate: ${plainName(thrown instanceof Error ? thrown.message : String(thrown))}`)
    return 1
  }
}
