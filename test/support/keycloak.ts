/**
 * A real Keycloak with the realm of examples/keycloak, where HEADGATE_KEYCLOAK names an unpacked distribution (org.keycloak:
 * keycloak-quarkus-dist, a zip of Maven Central) and there is a Java.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { read } from '../repository/source-tree.ts'
import { type ModelServer, startServer } from '../servers-real/model-server.ts'

const FOLDER = process.env.HEADGATE_KEYCLOAK
const JAVA = process.env.JAVA_HOME === undefined ? 'java' : join(process.env.JAVA_HOME, 'bin', 'java')
const ADMIN = { username: 'admin', password: 'the-admin-of-the-test' }
/** Of all clients of the realm. */
export const SECRET = 'keycloak-secret-0123456789'
/** The addresses of the realm's file, in place of which the gateway of the test has its own. */
const CONTROL_ROOM = 'http://localhost:8081'

/** Why the tests of Keycloak are skipped; false where it can be started. */
export const noKeycloak: string | false = reason()

function reason(): string | false {
  if (FOLDER === undefined) return 'HEADGATE_KEYCLOAK does not name an unpacked Keycloak'
  if (!existsSync(join(FOLDER, 'bin', 'kc.sh'))) return `there is no ${FOLDER}/bin/kc.sh`
  return spawnSync(JAVA, ['-version']).status === 0 ? false : 'there is no Java'
}

export interface Keycloak extends ModelServer {
  readonly issuer: string
  /** A call of its admin API for the realm. @returns the parsed reply, undefined for none. @throws where it is refused. */
  admin<T = JsonObject>(method: string, path: string, body?: object): Promise<T>
  /** Changes the first entry that a query finds, such as `clients?clientId=batch`. */
  change(query: string, how: (found: JsonObject) => JsonObject): Promise<JsonObject>
  /** Reply of its token endpoint. */
  tokens(form: Record<string, string>): Promise<JsonObject>
}

/** Started from a copy, whose database and imported realm go with the test. */
export async function startKeycloak(t: Test): Promise<Keycloak> {
  const home = join(t.testdir(), 'keycloak')
  cpSync(FOLDER ?? '', home, { recursive: true, filter: (path) => !path.startsWith(join(FOLDER ?? '', 'data')) })
  mkdirSync(join(home, 'data', 'import'), { recursive: true })
  writeFileSync(join(home, 'data', 'import', 'acme-realm.json'), read('examples/keycloak/realm.json'))
  const env = {
    KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
    KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
    // The file of the realm names it (Keycloak 26.7.3: placeholders in imported realms are read from the environment).
    KEYCLOAK_SECRET: SECRET,
    JAVA_OPTS: '-Xms64m -Xmx512m',
  }
  const server = await startServer(t, {
    path: join(home, 'bin', 'kc.sh'),
    args: (port) => ['start-dev', `--http-port=${port}`, '--http-host=127.0.0.1', '--import-realm'],
    env: () => env,
    ready: '/realms/acme',
  })
  const post = async (realm: string, form: Record<string, string>): Promise<JsonObject> => {
    const url = `${server.url}/realms/${realm}/protocol/openid-connect/token`
    return (await (await fetch(url, { method: 'POST', body: new URLSearchParams(form) })).json()) as JsonObject
  }
  const admin = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const { access_token: token } = await post('master', { grant_type: 'password', client_id: 'admin-cli', ...ADMIN })
    const reply = await fetch(`${server.url}/admin/realms/acme${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  return {
    ...server,
    issuer: `${server.url}/realms/acme`,
    admin,
    change: async (query, how) => {
      const [kind = ''] = query.split('?')
      const [found] = await admin<JsonObject[]>('GET', `/${query}`)
      if (!found) throw new Error(`nothing of ${query}`)
      const whole = await admin<JsonObject>('GET', `/${kind}/${found.id}`)
      const changed = how(whole)
      await admin('PUT', `/${kind}/${found.id}`, changed)
      return changed
    },
    tokens: (form) => post('acme', form),
  }
}

/** Registers the control room of this gateway in place of the one of the realm's file. */
export async function registerRoom(keycloak: Keycloak, admin: string): Promise<void> {
  await keycloak.change('clients?clientId=control-room', (client) => JSON.parse(JSON.stringify(client).replaceAll(CONTROL_ROOM, admin)))
}

/** The configuration of the example, for this Keycloak. */
export const exampleConfig = ({ issuer }: Keycloak): string =>
  read('examples/keycloak/headgate.yaml')
    .replace('http://localhost:8180/realms/acme', issuer)
    .replace(/"\$\{KEYCLOAK_SECRET\}"/, JSON.stringify(SECRET))
