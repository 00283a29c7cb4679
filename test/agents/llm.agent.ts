/** llm, whose tools are functions of Python that stand in a file beside its home. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Action, type Acts, callTool, offered, type Place } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'

const FUNCTIONS = `
import subprocess

def run_command(command: str) -> str:
    "Runs a command of the shell and returns what it prints"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.stdout + done.stderr

def read_file(path: str) -> str:
    "Returns the text of a file"
    return open(path).read()

def write_file(path: str, text: str) -> str:
    "Writes a file"
    open(path, "w").write(text)
    return "written: " + path
`

const functionsFile = ({ home }: Place): string => join(dirname(home), 'functions.py')

function acts(action: Action, view: View): Acts | undefined {
  const run = (command: string) => callTool(offered(view, /^run_command$/), { command })
  switch (action.do) {
    case 'list':
      return [run('ls -1')]
    case 'read':
      return action.files.map((path) => callTool(offered(view, /^read_file$/), { path }))
    case 'write':
      return [callTool(offered(view, /^write_file$/), { path: action.file, text: action.text })]
    case 'run':
      return action.commands.map(run)
    // The image goes with the prompt.
    case 'look':
      return [run(`ls ${action.file}`)]
    case 'mcp':
      return undefined
  }
}

await certify({
  name: 'llm',
  formats: ['chat'],
  program: (install) => join(install, 'bin/llm'),
  outputFile: ({ home }) => join(home, '.config/io.datasette.llm/extra-openai-models.yaml'),
  prepare: (place) => writeFileSync(functionsFile(place), FUNCTIONS),
  command: (prompt, { resume, image }, place) => [
    'prompt',
    prompt,
    '--functions',
    functionsFile(place),
    '--chain-limit',
    '0',
    ...(resume ? ['--continue'] : []),
    ...(image === undefined ? [] : ['--attachment', image]),
  ],
  acts,
  cannot: {
    MCP: 'llm has no MCP client of its own: plugins bring one, which the suite does not install',
    compaction: 'llm does not summarise conversations: it sends all of one again',
  },
})
