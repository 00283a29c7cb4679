/** Errors of sockets, TLS, proxies and HTTP clients as faults, each with a word for its cause; addresses and texts of the error stay in `cause`. */
import { Fault, type FaultCode } from '../../core/faults.ts'
import { ConnectionFailure, EXHAUSTED, type Phase } from '../../services/connections/connection-failure.ts'

/**
 * A connection that had served before ended before a byte of this reply had come, and too soon after the request was written for the
 * provider to have worked on it: it had been closed while it was idle (RFC 9112 section 9.3.1).
 */
export class StaleConnection extends Error {
  constructor(cause: Error) {
    super('the connection had been closed while it was idle', { cause })
  }
}

/** The reply to plain HTTP is a record of TLS (RFC 8446 section 5.1): the address should begin with `https`. */
export class TlsExpected extends Error {
  readonly code = 'TLS_EXPECTED'
}

/** RFC 8446 section 5.1: an alert or a handshake of TLS 1.0 to 1.3. */
export const isTlsRecord = (bytes: Buffer): boolean => (bytes[0] === 0x15 || bytes[0] === 0x16) && bytes[1] === 0x03

/** The other side has closed the connection; with the code that undici gives it. */
export class ConnectionEnded extends Error {
  readonly code = 'UND_ERR_SOCKET'

  constructor() {
    super('other side closed')
  }
}

/** Words of causes, by the codes of Node 24 (`doc/api/tls.md`, "X509 certificate error codes"; `doc/api/errors.md`), OpenSSL 3 (its reasons in include/openssl/sslerr.h) and of ours. */
const CAUSES: readonly [cause: string, codes: string][] = [
  ['unknown_name', 'ENOTFOUND ENODATA EAI_NONAME EAI_NODATA'],
  ['name_servers_failing', 'EAI_AGAIN EAI_FAIL ESERVFAIL ETIMEOUT EREFUSED'],
  ['refused', 'ECONNREFUSED'],
  ['reset', 'ECONNRESET EPIPE'],
  ['unreachable', 'EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN'],
  ['no_local_address', 'EADDRNOTAVAIL'],
  [
    'untrusted_authority',
    'SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_UNTRUSTED INVALID_CA INVALID_PURPOSE CERT_SIGNATURE_FAILURE CERT_REJECTED',
  ],
  ['expired_certificate', 'CERT_HAS_EXPIRED CERT_NOT_YET_VALID'],
  ['revoked_certificate', 'CERT_REVOKED'],
  ['wrong_name', 'ERR_TLS_CERT_ALTNAME_INVALID HOSTNAME_MISMATCH'],
  [
    'old_tls',
    'ERR_SSL_UNSUPPORTED_PROTOCOL ERR_SSL_ALERT_PROTOCOL_VERSION ERR_SSL_VERSION_TOO_LOW ERR_SSL_NO_PROTOCOLS_AVAILABLE ERR_SSL_DH_KEY_TOO_SMALL ERR_SSL_EE_KEY_TOO_SMALL ERR_SSL_CA_MD_TOO_WEAK ERR_SSL_UNSAFE_LEGACY_RENEGOTIATION_DISABLED',
  ],
  ['client_certificate_demanded', 'ERR_SSL_ALERT_CERTIFICATE_REQUIRED'],
  [
    'client_certificate_refused',
    'ERR_SSL_ALERT_UNKNOWN_CA ERR_SSL_ALERT_BAD_CERTIFICATE ERR_SSL_ALERT_CERTIFICATE_UNKNOWN ERR_SSL_ALERT_CERTIFICATE_EXPIRED ERR_SSL_ALERT_CERTIFICATE_REVOKED ERR_SSL_ALERT_UNSUPPORTED_CERTIFICATE ERR_SSL_ALERT_ACCESS_DENIED',
  ],
  ['handshake_refused', 'ERR_SSL_ALERT_HANDSHAKE_FAILURE ERR_SSL_TLSV1_UNRECOGNIZED_NAME'],
  ['plain_http', 'ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG ERR_SSL_HTTP_REQUEST ERR_SSL_UNKNOWN_PROTOCOL'],
  ['tls_expected', 'TLS_EXPECTED'],
  ['proxy_authentication', 'PROXY_AUTHENTICATION'],
  ['proxy_unsupported', 'PROXY_UNSUPPORTED'],
  ['proxy_unreadable', 'PROXY_UNREADABLE'],
  ['proxy_closed', 'PROXY_CLOSED'],
]

const BY_CODE: ReadonlyMap<string, string> = new Map(
  CAUSES.flatMap(([cause, codes]) => codes.split(' ').map((code): [string, string] => [code, cause])),
)

/** The step that failed decides which fault it is. */
const BY_PHASE: Readonly<Record<Phase, FaultCode>> = {
  name: 'upstream_dns',
  connect: 'upstream_connect',
  proxy: 'upstream_proxy',
  tls: 'upstream_tls',
}

/** Errors of OpenSSL that come once the connection stands: in TLS 1.3 a server checks the client's certificate after the handshake (RFC 8446 section 4.6.2). */
const OF_TLS = /^(?:ERR_SSL_|ERR_TLS_|EPROTO$|TLS_EXPECTED$)/

/** @param answered true once the head of a reply had come. */
export function networkFault(error: Error, answered: boolean): Fault {
  if (error instanceof Fault) return error
  // The provider itself may be well, so the next connection need not wait.
  if (error instanceof StaleConnection) return new Fault('upstream_connect', { cause: error, reason: 'stale', retry: 'at once' })
  const { code } = error as NodeJS.ErrnoException
  if (code !== undefined && EXHAUSTED.has(code)) return new Fault('exhausted', { cause: error, reason: code, retryAfter: 1 })
  if (error instanceof ConnectionFailure) return connectionFault(error)
  if (!answered && code !== undefined && OF_TLS.test(code)) return new Fault('upstream_tls', { cause: error, reason: codeReason(code) })
  const isUnreadable =
    error.name === 'HTTPParserError' ||
    code?.startsWith('HPE_') ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
  // The end of a connection that was to end behind its reply cuts that reply as any other end does.
  if (isUnreadable && code !== 'HPE_INVALID_EOF_STATE') return new Fault('upstream_garbled', { cause: error })
  return new Fault('upstream_cut', { cause: error, reason: code === 'ECONNRESET' || code === 'EPIPE' ? 'reset' : 'closed' })
}

/** The connect timeout has passed already: the next attempt goes to another provider, without a retry here. */
function connectionFault(failure: ConnectionFailure): Fault {
  const { phase, code, timedOut } = failure
  if (timedOut) return silentFault(phase, failure)
  return new Fault(BY_PHASE[phase], { cause: failure, reason: codeReason(code) })
}

/** @param phase what the connection waited for when its time was over. */
export function silentFault(phase: Phase | undefined, cause?: Error): Fault {
  return new Fault('upstream_silent', { cause, reason: phase && `${phase}_timeout` })
}

/** OpenSSL names the version in front of an alert, 3.2 and later `ssl/tls` for most (crypto/err/openssl.txt). What has no row is recorded by its code. */
function codeReason(code: string): string {
  const plain = code.replace(/^ERR_SSL_(?:SSLV3|TLSV1|TLSV13|SSL\/TLS)_ALERT_/, 'ERR_SSL_ALERT_')
  return BY_CODE.get(plain) ?? plain.toLowerCase()
}
