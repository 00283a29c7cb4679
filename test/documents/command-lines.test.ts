/** Each `headgate` command that a page names has a verb, options and as many words as that verb takes: those in blocks that cannot run, too. */
import t from 'tap'
import { commandLine } from '../../src/cli/main.ts'
import { Verb } from '../../src/cli/verbs/verb.ts'
import { paths, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...paths('docs/**/*.md', 'examples/**/*.md', 'plugins/**/*.md', 'config/*.md'),
].filter((page) => !page.startsWith('docs/decisions/'))
const program = commandLine()

interface Named {
  readonly at: string
  /** Behind `headgate`. */
  readonly words: readonly string[]
  /** True in a sentence, which may leave words out. */
  readonly isPart: boolean
}

/** Names of connections to PostgreSQL, and a message. */
const NO_COMMANDS = /^(?:look-ups|readings|changes|needs Node)/

/** Ends a command within a line of a shell. */
const ENDS = /^(?:[|&;)]+|[<>]\S*|\d>\S*|#.*)$/

function shellWords(text: string): string[] {
  const words = text.match(/(?:"(?:\$\([^)]*\)|[^"])*"|'[^']*'|\$\([^)]*\)|[^\s"'])+/g) ?? []
  const end = words.findIndex((word) => ENDS.test(word))
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replace(/[;)]+$/, ''))
}

function commandsIn(page: string): Named[] {
  const text = read(page)
  const line = (index: number): string => `${page}:${text.slice(0, index).split('\n').length}`
  const inBlocks = [...text.matchAll(/^( *)```(?:sh|bash)[^\n]*\n([\s\S]*?)^\1```$/gm)].flatMap(({ index, 2: block = '' }) =>
    [...block.replaceAll(/\\\n\s*/g, ' ').matchAll(/(?:^|[|(]|-- |npm start -- )[ \t]*(?:[A-Z_]+=\S+ )*headgate((?: +[^\n]*)?)$/gm)].map(
      ([, rest = '']) => ({ at: line(index), words: shellWords(rest), isPart: false }),
    ),
  )
  const inSentences = [...text.matchAll(/`headgate +([^`\n]+)`/g)]
    .filter(([, rest = '']) => !NO_COMMANDS.test(rest))
    .map(({ index, 1: rest = '' }) => ({
      at: line(index),
      words: shellWords(rest.replaceAll(/[[\]]/g, '')),
      isPart: true,
    }))
  return [...inBlocks, ...inSentences]
}

/** @returns what the command line does not take, in words. */
function lineProblem({ words: written, isPart }: Pick<Named, 'words' | 'isPart'>): string | undefined {
  const words = program.completed(written)
  let verb: Verb = program
  while (words.length > 0) {
    const below = verb.commands.find((each) => each.name() === words[0])
    if (!(below instanceof Verb)) break
    verb = below
    words.shift()
  }
  const given: string[] = []
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const [flag = '', value] = word.split('=', 2)
    if (!/^--?[a-z]/.test(word)) given.push(word)
    else if (!['--help', '-h', '--version'].includes(flag)) {
      const option = verb.options.find(({ long, short }) => long === flag || short === flag)
      if (option === undefined) return `${verb.name()} has no ${flag}`
      if (option.required && value === undefined && words.shift() === undefined && !isPart) return `${flag} has no value`
    }
  }
  const isPlaceholder = given.some((word) => /^(?:VERB|…|\.\.\.)$/.test(word))
  const takes = verb.registeredArguments
  if (!isPlaceholder && given.length > takes.length) return `${verb.name()} takes no ${given.slice(takes.length).join(' ')}`
  const needed = takes.filter(({ required }) => required).length
  return isPart || given.length >= needed ? undefined : `${verb.name()} needs ${needed} words`
}

t.test('each command of a page is one of the command line', async (t) => {
  const all = PAGES.flatMap(commandsIn)
  t.ok(all.filter(({ isPart }) => isPart).length > 100 && all.filter(({ isPart }) => !isPart).length > 40, `${all.length} commands`)
  await every(t, 'commands', (t) => {
    for (const command of all) t.equal(lineProblem(command), undefined, `${command.at}: headgate ${command.words.join(' ')}`)
  })
})

t.test('a command that is none is found', (t) => {
  const problem = (text: string, isPart = false): string | undefined => lineProblem({ words: shellWords(text), isPart })
  t.equal(problem('headgate.yaml'), 'headgate takes no headgate.yaml')
  t.equal(problem('check --config headgate.yaml'), 'check has no --config')
  t.equal(problem('plan headgate.yaml'), 'plan needs 2 words')
  t.equal(problem('plan headgate.yaml', true), undefined)
  t.equal(problem('models check', true), 'models takes no check')
  t.equal(problem('keys create a --limit 3 --config x > y'), undefined)
  t.equal(problem('--config headgate.yaml &'), undefined)
  t.end()
})
