/** Text in the form of RFC 7468, as files of certificates and keys have it. */

const BEGINS = '-----BEGIN'

/** False for the path of a file. */
export const isPem = (text: string): boolean => text.trimStart().startsWith(BEGINS)
