export { McpConnection, McpError } from './connection.ts'
export { entryOf, type McpEntry } from './entry.ts'
export { type RemoteTool, remoteTools } from './remote-tools.ts'
export { type McpSettings, mcpSettings, settingsOnce } from './settings.ts'
