/** The floor plan of the dialects: the same role has the same name of a file in each wire. */
import t from 'tap'
import { paths, read } from '../repository/source-tree.ts'

const WIRES = ['chat', 'responses', 'messages', 'gemini', 'bedrock']

const cells = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

/** Rows of the table of the page that begins with this cell. */
function readTable(first: string): string[][] {
  const lines = read('src/dialects/README.md').split('\n')
  const start = lines.findIndex((line) => cells(line)[0] === first)
  const length = lines.slice(start).indexOf('')
  return lines.slice(start, length === -1 ? undefined : start + length).map(cells)
}

const nameIn = (cell: string | undefined): string => cell?.replaceAll('`', '') ?? ''

t.test('the files of each wire are those of the page', async (t) => {
  const [[, , ...wires] = [], , ...roles] = readTable('Role')
  t.same(wires, WIRES)
  const [, , ...others] = readTable('File')
  for (const [column, wire] of wires.entries()) {
    const byRole = roles.filter((row) => row[column + 2] === 'yes').map((row) => `${wire}/${nameIn(row[1])}`)
    const alone = others.map((row) => nameIn(row[0])).filter((file) => file.startsWith(`${wire}/`))
    const found = paths(`src/dialects/${wire}/*.ts`).map((path) => path.slice('src/dialects/'.length))
    t.same([...byRole, ...alone].sort(), found.sort(), wire)
  }
})

t.test('a role that two wires have is no file of one wire alone', async (t) => {
  const [, , ...others] = readTable('File')
  const names = others.map((row) => nameIn(row[0]).split('/')[1])
  t.same(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
  t.ok(
    others.every(([, content]) => content !== ''),
    'each states its content',
  )
})
