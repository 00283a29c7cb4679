/** Facilities of syslog (RFC 5424, 6.2.1), by the names that configurations of syslog have. */
export const SYSLOG_FACILITIES = {
  ...{ user: 1, daemon: 3, auth: 4, syslog: 5, authpriv: 10, audit: 13 },
  ...{ local0: 16, local1: 17, local2: 18, local3: 19, local4: 20, local5: 21, local6: 22, local7: 23 },
} as const

export type SyslogFacility = keyof typeof SYSLOG_FACILITIES
