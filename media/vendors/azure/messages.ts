import { vendorTag } from '../../agent/language/language-tags.js'
import { parseObject } from '../shared/json.js'
import { wavFile } from '../shared/wav.js'

/*
 * Messages of the Speech service: headers, an empty line and a body, as text or after a length in binary messages.
 * https://docs.microsoft.com/en-us/azure/cognitive-services/speech/api-reference-rest/websocketprotocol
 */

const END_OF_LINE = '\r\n'
/** The vendor takes no larger chunk of audio (bytes). */
export const MAX_AUDIO_BYTES = 8192

/** Returns a text message with a JSON body. */
export function jsonMessage(path: string, requestId: string, at: Date, body: unknown): string {
  const headers = [
    `Path: ${path}`,
    `X-RequestId: ${requestId}`,
    `X-Timestamp: ${at.toISOString()}`,
    'Content-Type: application/json; charset=utf-8',
  ]
  return `${headers.join(END_OF_LINE)}${END_OF_LINE}${END_OF_LINE}${JSON.stringify(body)}`
}

/**
 * Returns a binary `audio` message. A turn begins with the header of a WAV file, whose type is named, and ends with an
 * empty message.
 */
export function audioMessage(
  requestId: string,
  at: Date,
  audio: Uint8Array,
  contentType: string | null = null,
): Uint8Array {
  const type = contentType === null ? '' : `Content-Type: ${contentType}${END_OF_LINE}`
  const headers = `Path: audio${END_OF_LINE}X-RequestId: ${requestId}${END_OF_LINE}X-Timestamp: ${at.toISOString()}${END_OF_LINE}${type}`
  const message = Buffer.allocUnsafe(2 + headers.length + audio.length)
  message.writeUInt16BE(headers.length, 0)
  message.write(headers, 2, 'latin1')
  message.set(audio, 2 + headers.length)
  return message
}

/** Returns the message with which the audio of a turn begins: the WAV header of a stream without a known end. */
export function formatMessage(requestId: string, at: Date, rate: number): Uint8Array {
  return audioMessage(requestId, at, wavFile(new Int16Array(0), rate), 'audio/x-wav')
}

/** Returns `path` and the JSON `body` of a text message, null for anything else. A message may lack a body. */
export function parseMessage(text: string): { readonly path: string; readonly body: object } | null {
  const split = text.indexOf(`${END_OF_LINE}${END_OF_LINE}`)
  const head = split === -1 ? text : text.slice(0, split)
  const path = /^path:[ \t]*([\w.]+)[ \t]*$/im.exec(head.replaceAll('\r', ''))?.[1]
  if (path === undefined) return null
  const body = split === -1 ? '' : text.slice(split + 4).trim()
  return { path: path.toLowerCase(), body: (body === '' ? null : parseObject(body)) ?? {} }
}

/** Returns the vendor's tag of a language: `or-IN` for Odia. */
export function localeOf(tag: string): string {
  return `${vendorTag('iso', tag)}-IN`
}
