/** Address of a listener. @param host a name, or an IPv4 or IPv6 address. */
export function listenerUrl(scheme: 'http' | 'https', host: string, port: number): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
