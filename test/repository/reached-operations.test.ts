/** Every operation that manages has its page in the control room, or stands among the exceptions with its reason. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { OPERATIONS } from '../../src/api/operations/index.ts'
import { isPermitted, MANAGEMENT_ROLES } from '../../src/core/roles.ts'
import { REACHED_OPERATIONS } from '../control-room/reached-operations.ts'

const WEB = join(import.meta.dirname, '../../web')

/** Sources that are loaded with a page: its own, and those that pages share. */
function sources(page: string): string {
  const own = readdirSync(join(WEB, 'pages')).filter(
    (file) => /\.tsx?$/.test(file) && (file === `${page}.tsx` || file.startsWith(`${page}-`)),
  )
  return own.map((file) => readFileSync(join(WEB, 'pages', file), 'utf8')).join('\n')
}

const EVERY = readdirSync(join(WEB, 'pages'))
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => readFileSync(join(WEB, 'pages', file), 'utf8'))
  .join('\n')

/** The operation that each page reads first, by the name of the page. */
const READS = new Map(
  [...readFileSync(join(WEB, 'routes.ts'), 'utf8').matchAll(/name: '(\w+)',[^}]*?reads: '([^']+)'/g)].map(([, name = '', reads = '']) => [
    name,
    reads,
  ]),
)

const methodName = (operation: string): string => operation.slice(0, operation.indexOf(' '))
const operationPath = (operation: string): string => operation.slice(operation.indexOf(' ') + 1)

/** True if the text names the operation where a right is looked at, or calls its address where it reads. */
function reaches(text: string, operation: string): boolean {
  if (text.includes(`'${operation}'`)) return true
  if (methodName(operation) !== 'GET') return false
  const path = operationPath(operation)
    .split(/\{\w+\}(?:\/\{\w+\})?/)
    .join('\\$\\{[^`]*?\\}')
  return new RegExp(`['"\`]${path}['"\`?]`).test(text)
}

t.test('every operation that manages has a page or a reason', (t) => {
  const managing = OPERATIONS.filter(({ roles }) => MANAGEMENT_ROLES.some((role) => isPermitted({ role }, roles)))
  const names = managing.map(({ method, path }) => `${method.toUpperCase()} /v1${path}`)
  t.ok(names.length > 50, `${names.length} operations`)
  t.same(
    names.filter((name) => !REACHED_OPERATIONS.has(name)),
    [],
    'each has a row in test/control-room/reached-operations.ts',
  )
  t.same(
    [...REACHED_OPERATIONS.keys()].filter((name) => !names.includes(name)),
    [],
    'each row is of an operation',
  )
  t.end()
})

t.test('pages reach what the table says, and nothing of what it excepts', (t) => {
  t.ok(READS.size > 5, 'pages are found')
  for (const [name, row] of REACHED_OPERATIONS) {
    if ('reason' in row) {
      t.ok(row.reason.length > 20, `${name} has a reason`)
      t.notOk(reaches(EVERY, name), `no page reaches ${name}: else its row names the page`)
      continue
    }
    t.ok(READS.has(row.page), `${row.page} is a page`)
    t.ok(READS.get(row.page) === name || reaches(sources(row.page), name), `${row.page} reaches ${name}`)
  }
  t.end()
})
