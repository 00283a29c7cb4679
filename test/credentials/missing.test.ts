/** `headgate check` warns where this machine has no keys for a credential, and names the variable or file that is missing. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { check } from '../../src/cli/check.ts'
import { type Cloud, machineCloud } from '../../src/services/credentials/machine.ts'
import { printed } from '../support/printed.ts'

const folder = t.testdir({
  token: 'a token',
  'key.json': '{"type":"service_account"}',
  'other.json': '{"type":"constructor"}',
  empty: {},
  bin: { gcloud: '' },
  home: {
    '.aws': {
      credentials: '[work]\naws_access_key_id = AKIA\naws_secret_access_key = x\n[bare]\nregion = us-east-1\n',
      config: '[default]\nregion = us-east-1\n[profile sso]\nsso_session = corp\n[sso-session corp]\nsso_region = us-east-1\n',
    },
  },
})
const at = (name: string): string => join(folder, name)
chmodSync(at('bin/gcloud'), 0o755)

type Variables = Record<string, string>

/** Warnings of a check on the credential of the provider `p`. */
async function warnings(credential: string, variables: Variables, cloud?: Cloud): Promise<string> {
  const file = at('headgate.yaml')
  writeFileSync(
    file,
    `providers: { p: { dialect: openai-chat, base_url: "https://acme.test", credential: { ${credential} } } }\nmodels: { acme/a: { endpoints: [ { provider: p, model: m } ] } }\n`,
  )
  const { code, out, error } = await printed((streams) => check(file, { HOME: at('empty'), ...variables }, streams, () => cloud))
  t.equal(code, 0, `${credential}: ${error}`)
  return out
    .split('\n')
    .filter((line) => line.includes('warning: credential of provider p: '))
    .join('\n')
}

const AWS = 'aws: { region: us-east-1 }'
const KEYS = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'x' }
const APPLICATION = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c' }

const CASES: readonly (readonly [credential: string, variables: Variables, cloud: Cloud | undefined, warning: RegExp | undefined])[] = [
  [
    AWS,
    {},
    undefined,
    /nothing has keys, and this machine is no EC2 instance, expected AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or AWS_PROFILE/,
  ],
  [AWS, {}, 'google', /no EC2 instance/],
  [AWS, {}, 'aws', undefined],
  [AWS, { AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:1338' }, undefined, undefined],
  [AWS, { AWS_EC2_METADATA_DISABLED: 'true' }, 'aws', /AWS_EC2_METADATA_DISABLED is set/],
  [AWS, { AWS_BEARER_TOKEN_BEDROCK: 'b' }, undefined, /expected key: "\$\{AWS_BEARER_TOKEN_BEDROCK\}" in the place of the credential/],
  [AWS, KEYS, undefined, undefined],
  [AWS, { AWS_ACCESS_KEY_ID: 'AKIA' }, 'aws', /expected AWS_SECRET_ACCESS_KEY beside AWS_ACCESS_KEY_ID/],
  [AWS, { AWS_SECRET_ACCESS_KEY: 'x' }, 'aws', /expected AWS_ACCESS_KEY_ID beside AWS_SECRET_ACCESS_KEY/],
  [AWS, { HOME: at('home') }, undefined, /no EC2 instance/],
  [AWS, { HOME: at('home'), AWS_PROFILE: 'work' }, undefined, undefined],
  [AWS, { HOME: at('home'), AWS_PROFILE: 'sso' }, undefined, undefined],
  [AWS, { HOME: at('home'), AWS_PROFILE: 'bare' }, 'aws', /no keys of the profile bare stand in .*credentials or .*config/],
  [AWS, { AWS_SHARED_CREDENTIALS_FILE: at('home/.aws/credentials'), AWS_PROFILE: 'work' }, undefined, undefined],
  ['aws: { region: us-east-1, profile: absent }', KEYS, 'aws', /no keys of the profile absent/],
  [AWS, { AWS_WEB_IDENTITY_TOKEN_FILE: at('token') }, 'aws', /expected AWS_ROLE_ARN beside AWS_WEB_IDENTITY_TOKEN_FILE/],
  [AWS, { AWS_WEB_IDENTITY_TOKEN_FILE: at('token'), AWS_ROLE_ARN: 'arn' }, undefined, undefined],
  [AWS, { AWS_WEB_IDENTITY_TOKEN_FILE: at('none'), AWS_ROLE_ARN: 'arn' }, undefined, /none cannot be read \(AWS_WEB_IDENTITY_TOKEN_FILE\)/],
  [AWS, { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1' }, undefined, undefined],
  ['google: {}', {}, undefined, /nothing names a file, and this machine is none of Google Cloud, expected GOOGLE_APPLICATION_CREDENTIALS/],
  ['google: {}', {}, 'google', undefined],
  ['google: {}', { K_SERVICE: 'app' }, undefined, undefined],
  ['google: {}', { GCE_METADATA_HOST: 'metadata.test' }, undefined, undefined],
  ['google: {}', { GOOGLE_APPLICATION_CREDENTIALS: at('key.json') }, undefined, undefined],
  [
    'google: {}',
    { GOOGLE_APPLICATION_CREDENTIALS: at('none.json') },
    'google',
    /none\.json cannot be read \(GOOGLE_APPLICATION_CREDENTIALS\)/,
  ],
  ['google: {}', { GOOGLE_APPLICATION_CREDENTIALS: at('other.json') }, 'google', /other\.json is none with credentials of Google/],
  [`google: { file: "${at('none.json')}" }`, {}, undefined, /none\.json cannot be read \(google\.file\)/],
  [
    'azure: {}',
    {},
    undefined,
    /nothing names an application, and this machine is none of Azure, expected AZURE_TENANT_ID and AZURE_CLIENT_ID with AZURE_CLIENT_SECRET/,
  ],
  ['azure: {}', {}, 'azure', undefined],
  ['azure: {}', { IDENTITY_ENDPOINT: 'http://127.0.0.1:42', IDENTITY_HEADER: 'h' }, undefined, undefined],
  ['azure: {}', { AZURE_CLIENT_SECRET: 's' }, undefined, /the tenant is missing, expected azure\.tenant or AZURE_TENANT_ID/],
  ['azure: {}', { ...APPLICATION, AZURE_CLIENT_SECRET: 's' }, undefined, undefined],
  ['azure: {}', { ...APPLICATION, AZURE_FEDERATED_TOKEN_FILE: at('token') }, undefined, undefined],
  [
    'azure: {}',
    { ...APPLICATION, AZURE_CLIENT_CERTIFICATE_PATH: at('none.pem') },
    undefined,
    /none\.pem cannot be read \(AZURE_CLIENT_CERTIFICATE_PATH\)/,
  ],
  [`file: "${at('token')}"`, {}, undefined, undefined],
  [`file: "${at('none')}"`, {}, undefined, /the file .*none cannot be read/],
  ['command: [gcloud, auth]', { PATH: `/nowhere:${at('bin')}` }, undefined, undefined],
  ['command: [gcloud, auth]', { PATH: '/nowhere' }, undefined, /the program gcloud is not there, or not in PATH/],
  [`command: ["${at('token')}"]`, {}, undefined, /the program .*token is not there/],
  ['url: { address: "https://id.test/token" }', {}, undefined, undefined],
]

t.test('each lack has its warning, and nothing that may work has one', async (t) => {
  for (const [credential, variables, cloud, warning] of CASES) {
    const found = await warnings(credential, variables, cloud)
    const what = `${credential} ${JSON.stringify(variables)} ${cloud}`
    if (warning === undefined) t.equal(found, '', what)
    else t.match(found, warning, what)
  }
})

t.test('an export to S3 has the same', async (t) => {
  const file = at('export.yaml')
  const write = (s3: string): void =>
    writeFileSync(
      file,
      `store: { url: "sqlite:./x.db" }\nproviders: { sim: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] } }\nexports: [ { name: lake, s3: { bucket: my-lake, region: eu-central-1 ${s3} } } ]\n`,
    )
  const run = async (): Promise<string> => (await printed((streams) => check(file, { HOME: at('empty') }, streams, () => undefined))).out
  write('')
  t.match(await run(), /credential of export lake: aws in eu-central-1: /)
  t.match(await run(), /warning: credential of export lake: nothing has keys/)
  write(', access_key_id: AKIA, secret_access_key: xx')
  t.notMatch(await run(), /credential of|warning:/)
})

t.test('the cloud of a machine is that of its firmware', async (t) => {
  const machine = (name: string, file: string, text: string): string => {
    const path = join(t.testdirName, name, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return join(t.testdirName, name)
  }
  t.testdir({})
  t.equal(machineCloud(machine('nitro', 'class/dmi/id/sys_vendor', 'Amazon EC2\n')), 'aws')
  t.equal(machineCloud(machine('xen', 'hypervisor/uuid', 'ec2e1916-9099-7caf-fd21-012345abcdef\n')), 'aws')
  t.equal(machineCloud(machine('azure', 'class/dmi/id/chassis_asset_tag', '7783-7084-3265-9085-8269-3286-77\n')), 'azure')
  t.equal(machineCloud(machine('hyper-v', 'class/dmi/id/sys_vendor', 'Microsoft Corporation\n')), undefined)
  t.equal(machineCloud(machine('google', 'class/dmi/id/bios_vendor', 'Google\n')), 'google')
  t.equal(machineCloud(machine('laptop', 'class/dmi/id/sys_vendor', 'LENOVO\n')), undefined)
  t.equal(machineCloud(join(t.testdirName, 'absent')), undefined)
})
