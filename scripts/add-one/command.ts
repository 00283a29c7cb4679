/** A command of the command line: `headgate greet NAME`. */

const RECORDS = 'src/cli/verbs/records.ts'

export const addition = {
  name: 'command',
  change: 'a command of the command line',
  recipe: 'its object in the list of its group in `src/cli/verbs/`, its file in `src/cli/`, its test',
  most: 3,
  edits: [
    {
      file: 'src/cli/greet.ts',
      text: `/** \`headgate greet NAME\`: a greeting for NAME. */

/** @returns the exit code. */
export function greet(name: string, { loud }: { loud?: boolean }): number {
  process.stdout.write(\`\${loud ? name.toUpperCase() : name}\\n\`)
  return 0
}
`,
    },
    {
      file: RECORDS,
      find: 'export const recordCommands: readonly Command[] = [\n',
      replace: `export const recordCommands: readonly Command[] = [
  command({
    usage: 'greet <NAME>',
    summary: 'Greet somebody',
    example: 'greet Ada --loud',
    page: 'docs/command-line.md',
    options: { '--loud': 'in large letters' },
    run: async ([name = ''], flags) => (await import('../greet.ts')).greet(name, flags),
  }),
`,
    },
    {
      file: 'test/cli/greet.test.ts',
      text: `import t from 'tap'
import { runProgram } from '../support/program.ts'

t.test('greet: its words and options, its help, and an option of another command', async (t) => {
  const [greeted, help, wrong] = ['greet Ada --loud', 'greet --help', 'greet Ada --since 7d'].map((words) => runProgram(words.split(' ')))
  t.match(await greeted?.exited, { code: 0 })
  t.equal(greeted?.out(), 'ADA\\n')
  t.match(await help?.exited, { code: 0 })
  t.match(help?.out(), /--loud +in large letters/)
  t.match(await wrong?.exited, { code: 2 })
  t.match(wrong?.err(), /unknown option '--since'/)
})
`,
    },
  ],
  test: ['test/cli/greet'],
}
