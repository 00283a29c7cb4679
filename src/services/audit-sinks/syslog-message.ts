/** An entry of the audit log as a message of syslog (RFC 5424), in a frame that states its length (RFC 6587, 3.4.1; RFC 5425, 4.3). */
import { hostname } from 'node:os'
import type { AuditRow } from '../../core/audit-entries.ts'
import { SYSLOG_FACILITIES, type SyslogFacility } from '../../core/syslog-facilities.ts'

/** Severity (RFC 5424, 6.2.1). */
const NOTICE = 5

/** Characters of a name in the header (RFC 5424, 6). */
const MAX_HOSTNAME = 255
const MAX_APP_NAME = 48
const MAX_MSGID = 32

export interface MessageSettings {
  readonly facility: SyslogFacility
  readonly appName: string
}

/** The line of an entry: as it was hashed, with its hash at the end. A reader without headgate checks it by taking that off again. */
export const entryText = ({ entry, hash }: AuditRow): string => `${entry.slice(0, -1)},"hash":"${hash}"}`

/** @returns a text whose frame counts its bytes. */
export function syslogFrame(row: AuditRow, settings: MessageSettings): string {
  const message = syslogHeader(row, settings) + entryText(row)
  return `${Buffer.byteLength(message)} ${message}`
}

/** Without structured data, which would need a number of the operator's at IANA. The message is JSON in UTF-8, without a byte order mark. */
function syslogHeader({ at, action }: AuditRow, { facility, appName }: MessageSettings): string {
  const priority = SYSLOG_FACILITIES[facility] * 8 + NOTICE
  const name = (text: string, longest: number): string => text.replace(/[^!-~]/g, '_').slice(0, longest) || '-'
  const names = [name(hostname(), MAX_HOSTNAME), name(appName, MAX_APP_NAME), '-', name(action, MAX_MSGID)]
  return `<${priority}>1 ${new Date(at).toISOString()} ${names.join(' ')} - `
}

/** The messages of frames that follow one another. */
export function* framedMessages(frames: Buffer): Iterable<Buffer> {
  for (let at = 0; at < frames.length; ) {
    const space = frames.indexOf(0x20, at)
    const length = Number(frames.toString('latin1', at, space))
    yield frames.subarray(space + 1, space + 1 + length)
    at = space + 1 + length
  }
}
