/**
 * JSON schemas of the kinds of Kubernetes, as kubeconform reads them, from the API's own description in the module k8s.io/kubernetes
 * (`api/openapi-spec/swagger.json`). A field that a kind does not have is refused, as `kubectl apply --validate=strict` does.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Definition {
  type?: string
  format?: string
  properties?: Record<string, unknown>
  additionalProperties?: unknown
  oneOf?: unknown
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[]
}

/** Text and numbers are taken for both, by their descriptions in the API. */
const EITHER = ['io.k8s.apimachinery.pkg.util.intstr.IntOrString', 'io.k8s.apimachinery.pkg.api.resource.Quantity']

/** Writes the schemas into a folder. @returns the pattern of their names, for `-schema-location`. */
export function writeSchemas(swagger: string, folder: string): string {
  const { definitions } = JSON.parse(readFileSync(swagger, 'utf8')) as { definitions: Record<string, Definition> }
  mkdirSync(folder, { recursive: true })
  for (const [name, definition] of Object.entries(definitions)) {
    if (definition.properties !== undefined) definition.additionalProperties ??= false
    if (EITHER.includes(name)) definitions[name] = { oneOf: [{ type: 'string' }, { type: 'number' }] }
    for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
      const file = [kind.toLowerCase(), ...(group === '' ? [] : [group.split('.')[0]]), version].join('-')
      writeFileSync(join(folder, `${file}.json`), JSON.stringify({ $ref: `definitions.json#/definitions/${name}` }))
    }
  }
  writeFileSync(join(folder, 'definitions.json'), JSON.stringify({ definitions }))
  return join(folder, '{{ .ResourceKind }}{{ .KindSuffix }}.json')
}
