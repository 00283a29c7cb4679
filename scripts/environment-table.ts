/** The tables of docs/environment.md: every variable that the sources name, with what it does, and those of the presets. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { presetNames, providerPreset } from '../src/config/provider-presets.ts'
import { type Cells, markdownTable } from './markdown-table.ts'

const ROOT = join(import.meta.dirname, '..')

interface Group {
  readonly marker: string
  readonly rows: readonly Cells[]
}

/** Variables by group. A cell may have several, of which one sentence holds. */
const GROUPS: readonly Group[] = [
  {
    marker: 'program',
    rows: [
      [
        'HEADGATE_DEV_KEY',
        'Key for callers where the configuration names none. Without it: `sk-router-v1-dev` while only simulated models answer, else a key that each start makes and prints.',
      ],
      ['HEADGATE_ADMIN_URL', 'Address of the admin listener, for commands on a running gateway; `--url` takes precedence.'],
      ['HEADGATE_ADMIN_TOKEN', 'Token of that listener, where it has one.'],
      ['XDG_CONFIG_HOME', 'Folder below which `headgate login` keeps its tokens (`headgate/logins.json`); by default `~/.config`.'],
      ['HEADGATE_KEY', 'Key of a caller, for `headgate agents check` and for the configurations that `headgate agents` prints.'],
      [
        'HEADGATE_APP_KEY, HEADGATE_MASTER_KEY, HEADGATE_DATABASE',
        'Names that configurations of `headgate import` use for keys and for the address of PostgreSQL; the image and the compositions use the first one too.',
      ],
      [
        'HEADGATE_MACHINES',
        '`off`: libraries and Node itself in the place of [hand-made machines](../src/machines/README.md), to find out whether one of them is at fault. Slower.',
      ],
      ['NODE_COMPILE_CACHE', 'Folder of compiled code; by default one beside the program.'],
      ['HEADGATE_WORKER, HEADGATE_HANDED_OVER', 'Set by the program for its own processes: leave them unset.'],
    ],
  },
  {
    marker: 'connections',
    rows: [
      [
        'HTTPS_PROXY, HTTP_PROXY, NO_PROXY',
        'Proxy for calls to providers and services, and names without one; lower case takes precedence. A proxy of the provider (`connection.proxy`) takes precedence over both.',
      ],
      ['NODE_EXTRA_CA_CERTS', 'File of further authorities for all connections, read by Node.'],
      ['NODE_USE_ENV_PROXY', 'Not read: calls follow the variables above without it.'],
      ['PGHOST', 'Host of PostgreSQL where the address of the store names none.'],
      ['HOME, USERPROFILE', 'Folder of `.vault-token` and of the credentials of Google Cloud and AWS; the second one on Windows.'],
    ],
  },
  {
    marker: 'clouds',
    rows: [
      [
        'AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE, AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_EC2_METADATA_DISABLED, AWS_EC2_METADATA_SERVICE_ENDPOINT, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE',
        'The standard chain of AWS ([order](clouds/aws.md#sources-of-keys)).',
      ],
      ['AWS_BEARER_TOKEN_BEDROCK', 'Key of Amazon Bedrock, read where a `key` names it ([AWS](clouds/aws.md#a-bedrock-api-key-instead)).'],
      ['AWS_REGION, AWS_DEFAULT_REGION', 'Region of secrets and of exports to S3, where their address names none.'],
      [
        'AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL_SECRETS_MANAGER, AWS_ENDPOINT_URL_SSM, AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL_KMS',
        'Other addresses of these services; the name of the service takes precedence.',
      ],
      ['AWS_IGNORE_CONFIGURED_ENDPOINT_URLS', '`true`: the addresses above are not read for secrets.'],
      [
        'GOOGLE_APPLICATION_CREDENTIALS, CLOUDSDK_CONFIG',
        'File of the credentials, or folder in which the file of `gcloud` is ([application default credentials](clouds/google.md#2-where-the-gateway-runs)).',
      ],
      ['GOOGLE_CLOUD_QUOTA_PROJECT', 'Project that is charged, where the provider names none.'],
      ['CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER', 'Other address of Google Secret Manager.'],
      ['CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS', 'Other address of Google Cloud KMS.'],
      [
        'AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH, AZURE_CLIENT_CERTIFICATE_PASSWORD, AZURE_FEDERATED_TOKEN_FILE, AZURE_AUTHORITY_HOST',
        'The application in Microsoft Entra ID, where the provider names none ([Azure](clouds/azure.md)).',
      ],
      ['IDENTITY_ENDPOINT, IDENTITY_HEADER, AZURE_POD_IDENTITY_AUTHORITY_HOST', 'Set by Azure for the managed identity of the machine.'],
      ['IDENTITY_SERVER_THUMBPRINT', 'Set by Service Fabric, whose identities are not supported: the start says so.'],
      [
        'VAULT_ADDR, VAULT_TOKEN, VAULT_NAMESPACE',
        'Address, token and namespace of Vault or OpenBao ([secrets](configuration.md#secrets-in-other-places)).',
      ],
    ],
  },
]
/** Described in docs/observability.md. */
const OF_TELEMETRY = /^OTEL_/
const NAME =
  /\b(?:AZURE|AWS|OTEL|VAULT|GOOGLE|IDENTITY|HEADGATE|CLOUDSDK|NODE)_[A-Z0-9_]*[A-Z0-9]\b|\b(?:HTTPS?_PROXY|NO_PROXY|PGHOST)\b|(?<=\benv\.)[A-Z]\w*/g
/** `SystemRoot` is Windows' own, `KEY` stands in an example, and `OTEL_EXPORTER_OTLP` is the beginning of names. */
const NO_VARIABLES: ReadonlySet<string> = new Set(['SystemRoot', 'KEY', 'OTEL_EXPORTER_OTLP'])

const namesIn = ([names = '']: Cells): string[] => names.split(', ')

/** @throws Error where the sources name a variable that has no row, or a row one that they do not name. */
export function checkVariables(): void {
  const described = new Set(GROUPS.flatMap(({ rows }) => rows.flatMap(namesIn)))
  const named = new Set(
    globSync(['src/**/*.ts', 'bin/*.js'], { cwd: ROOT }).flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(NAME)].map(([name]) => name),
    ),
  )
  const telemetry = readFileSync(join(ROOT, 'docs/observability.md'), 'utf8')
  const isDescribed = (name: string): boolean =>
    OF_TELEMETRY.test(name) ? new RegExp(`\`${name}\\b`).test(telemetry) : described.has(name)
  const missing = [...named].filter((name) => !NO_VARIABLES.has(name) && !isDescribed(name))
  const unused = [...described].filter((name) => !named.has(name))
  if (missing.length > 0) throw new Error(`scripts/environment-table.ts: say what these variables do: ${missing.join(', ')}`)
  if (unused.length > 0) throw new Error(`scripts/environment-table.ts: no source names ${unused.join(', ')}`)
}

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')

/** The tables by the names of their markers. */
export function environmentTables(): Record<string, string> {
  checkVariables()
  const presets = new Map<string, { text: string; of: string[] }>()
  for (const { name, variables } of presetNames().map(providerPreset))
    for (const [variable, text] of Object.entries(variables)) {
      const known = presets.get(variable) ?? { text, of: [] }
      known.of.push(`[${name}](providers/${name}.md)`)
      presets.set(variable, known)
    }
  const rows = [...presets]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { text, of }]) => [code([name]), text.replaceAll('|', '\\|'), of.join(', ')])
  return {
    ...Object.fromEntries(
      GROUPS.map(({ marker, rows }) => [
        marker,
        markdownTable(
          ['Variable', 'Effect'],
          rows.map((row) => [code(namesIn(row)), row[1] ?? '']),
        ),
      ]),
    ),
    presets: markdownTable(['Variable', 'Meaning', 'Presets'], rows),
  }
}
