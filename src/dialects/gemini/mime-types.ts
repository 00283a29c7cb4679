/** MIME types of media by the names that callers give them. */

const BY_EXTENSION: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  avif: 'image/avif',
  bmp: 'image/bmp',
  svg: 'image/svg+xml',
  wav: 'audio/wav',
  mp3: 'audio/mp3',
  aiff: 'audio/aiff',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  m4a: 'audio/m4a',
  opus: 'audio/opus',
  mp4: 'video/mp4',
  mpeg: 'video/mpeg',
  mpg: 'video/mpg',
  mov: 'video/mov',
  avi: 'video/avi',
  flv: 'video/x-flv',
  webm: 'video/webm',
  wmv: 'video/wmv',
  '3gp': 'video/3gpp',
  pdf: 'application/pdf',
  json: 'application/json',
  txt: 'text/plain',
  md: 'text/md',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  csv: 'text/csv',
  xml: 'text/xml',
  rtf: 'text/rtf',
  js: 'text/javascript',
  py: 'text/x-python',
}

/** @param name a file name, or a URL whose path ends in one. */
export function mimeTypeByName(name: string): string | undefined {
  const end = /\.([a-z0-9]{2,5})$/i.exec(name.replace(/[?#].*$/s, ''))?.[1]
  return end === undefined ? undefined : BY_EXTENSION[end.toLowerCase()]
}

/** @param format of audio as callers name it, such as `mp3`; raw samples are `pcm16`. */
export function audioType(format: string): string {
  return format === 'pcm16' ? 'audio/pcm' : `audio/${format}`
}

/** The other way round: `audio/L16;codec=pcm;rate=24000` is `pcm16`. */
export function audioFormat(mimeType: string): string {
  const type = mimeType.slice('audio/'.length).toLowerCase().replace(/;.*$/s, '')
  if (type === 'l16' || type === 'pcm') return 'pcm16'
  return type === 'mpeg' ? 'mp3' : type.replace(/^x-/, '')
}
