/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { bounded, pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { choiceField, closed, flag, line, listField } from '../../src/config/fields/scalars.ts'

const words = (description: string) => Type.Optional(listField(description, line('A word.', 4096)))

const sandbox = closed('Where commands of a model run: without network, within limits.', {
  type: choiceField('`bubblewrap`, or a `command` of your own.', ['bubblewrap', 'command']),
  program: Type.Optional(line('For `bubblewrap`: absolute path of bwrap, if it is not in the usual places.', 4096)),
  command: words(
    'For `command`: its words; the shell command is added as the last word. {folder} is the working folder, {name} a name for the run.',
  ),
  stop: words('For `command`: run after each command, such as docker, kill, {name}.'),
  folder: Type.Optional(line('Absolute path under which working folders are kept. If unset: that of temporary files.', 4096)),
  seconds: bounded('Seconds of one command.', [1, 3600], 60),
  memory_mb: bounded('Megabytes of addresses of one process, and of memory of all processes of a command together.', [16, 1_048_576], 2048),
  processes: bounded('Processes of one command.', [4, 65_536], 64),
  output_kb: bounded('Kilobytes shown of each stream of a command.', [1, 4096], 64),
  disk_mb: bounded('Megabytes of one container.', [1, 1_048_576], 256),
  at_once: bounded('Commands that run at the same time, over all callers.', [1, 1024], 4),
  containers: bounded('Containers of one key.', [1, 10_000], 16),
})

export const shell: ShippedPlugin = {
  settings: pluginSettings('The sandbox that the tools shell and bash run commands in; without one they run none.', {
    enabled: Type.Optional(flag('Accepted, as for every plugin. False with `locked`: requests cannot name the plugin.')),
    sandbox: Type.Optional(sandbox),
  }),
  acts: 'never',
  does: 'Holds the [sandbox](shell-tool.md#the-sandbox) of `shell` and `bash`.',
}
