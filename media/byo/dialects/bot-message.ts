import { Base64Field, decodeBase64 } from '../../base/base64.js'
import { parseForeignJson } from '../../base/foreign-text.js'
import { FRAME_MS } from '../../base/frame.js'
import type { BotFormat } from '../bot-spec.js'
import { type BotCommand, DECODED, type TransferRequest, type WireFormat } from './wire-format.js'

/*
 * Lenient reading of bot messages, shared by the dialects: fields may be strings or numbers, nested or flat,
 * missing or null.
 */

export type Message = { readonly [name: string]: unknown }

export const IGNORED: BotCommand = { type: 'nothing' }

/** DTMF keys of one message. */
const KEYS = /^[0-9*#A-Dw]{1,64}$/

/** A text longer than this is scanned before it is parsed ... */
const SCAN_LENGTH = 2_048
/**
 * ... and rejected if it holds this many of one of these characters: a legitimate long message is one long
 * string of audio.
 */
const MAX_PARTS = 512
const PARTS = [':', ',', '[', '{']

/** Lengths of base64 for which decoding from the bytes is cheaper (characters). */
const MIN_DECODED = 64
const MAX_DECODED = 16_384

/** Reads the text messages of one bot. Their audio is decoded from the bytes, because it is most of a message. */
export class BotTextReader {
  readonly #format: WireFormat
  readonly #audio: Base64Field | null

  constructor(format: WireFormat) {
    this.#format = format
    this.#audio = format.audioField === undefined ? null : new Base64Field(format.audioField)
  }

  read(data: Buffer): BotCommand {
    const found = this.#audio?.find(data) ?? null
    if (found === null) return this.#format.readText(data.toString())
    const { from, end } = found
    const characters = end - from
    if (characters < MIN_DECODED || characters > MAX_DECODED) return this.#format.readText(data.toString())
    const bytes = Buffer.allocUnsafe(Math.ceil(characters / 4) * 3)
    const length = decodeBase64(data, from, end, bytes)
    if (length === -1) return this.#format.readText(data.toString())
    const text = `${data.toString('utf8', 0, from)}${DECODED}${data.toString('utf8', end)}`
    return this.#format.readText(text, bytes.subarray(0, length))
  }
}

/**
 * Parses a JSON object. Returns null for anything else, and for an object with so many parts that parsing it
 * would delay the thread.
 */
export function parseMessage(text: string): Message | null {
  if (text.length > SCAN_LENGTH && PARTS.some((part) => occurs(text, part, MAX_PARTS))) return null
  try {
    const value: unknown = parseForeignJson(text)
    return isMessage(value) ? value : null
  } catch {
    return null
  }
}

export const BAD_JSON: BotCommand = {
  type: 'fault',
  code: 'bad_json',
  message: 'not a JSON object, or an object with hundreds of parts',
}

export function unknownEvent(event: string): BotCommand {
  return { type: 'fault', code: 'bad_frame', message: `unknown event ${event.slice(0, 64)}`, harmless: true }
}

/** Returns the object in field `name`, or an empty object. */
export function objectField(message: Message, name: string): Message {
  const value = message[name]
  return isMessage(value) ? value : {}
}

/** Returns a string, or a number as a string; null for anything else. */
export function stringValue(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

/** Returns a number, or the number that a string holds; null for anything else. */
export function numberValue(value: unknown): number | null {
  const found = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof found === 'number' && Number.isFinite(found) ? found : null
}

/** Makes a play command from base64 audio. */
export function playCommand(
  payload: unknown,
  more: {
    rate?: number | null
    id?: string | null
    format?: BotFormat | null
    /** The audio for which `DECODED` stands. */
    decoded?: Uint8Array | undefined
  } = {},
): BotCommand {
  if (typeof payload !== 'string')
    return { type: 'fault', code: 'bad_frame', message: 'media has no payload' }
  const audio = payload === DECODED && more.decoded !== undefined ? more.decoded : fromBase64(payload)
  if (audio === null) return { type: 'fault', code: 'bad_audio', message: 'the payload is not base64' }
  const play = { type: 'play', audio, rate: more.rate ?? null, id: more.id ?? null } as const
  const format = more.format ?? null
  return format === null ? play : { ...play, format }
}

/**
 * Decodes base64 of either alphabet, with or without padding and line breaks. Returns null for anything else,
 * which the decoder would turn into noise.
 */
function fromBase64(text: string): Buffer | null {
  const audio = Buffer.from(text, 'base64')
  if (audio.length === lengthOf(text)) return audio
  const bare = text.replace(/\s+/g, '')
  return audio.length === lengthOf(bare) ? audio : null
}

/** Returns the number of bytes that the base64 text stands for, or -1 when its length is invalid. */
function lengthOf(text: string): number {
  let length = text.length
  while (length > text.length - 2 && text.charCodeAt(length - 1) === PAD) length--
  return length % 4 === 1 ? -1 : Math.floor((length * 3) / 4)
}

const PAD = '='.charCodeAt(0)

/** A mark without a name is still a mark. */
export function markCommand(name: unknown): BotCommand {
  return { type: 'mark', name: stringValue(name) ?? '' }
}

/** Makes a DTMF command from `digits` or `digit`, with optional `durationMs` and `gapMs` per key. */
export function dtmfCommand(fields: Message): BotCommand {
  const wanted = (stringValue(fields.digits) ?? stringValue(fields.digit) ?? '')
    .toUpperCase()
    .replaceAll('W', 'w')
  if (!KEYS.test(wanted)) return badKeys('dtmf needs digits: 0-9 * # A-D, w to wait, at most 64')
  const { durationMs, gapMs } = fields
  const given = (durationMs ?? gapMs ?? null) !== null
  if (!given) return { type: 'dtmf', keys: wanted }
  const toneMs = framesOf(durationMs, TONE_MS)
  if (toneMs === null) return badKeys(`durationMs of dtmf must be ${TONE_MS.min} to ${TONE_MS.max}`)
  const pauseMs = framesOf(gapMs, GAP_MS)
  if (pauseMs === null) return badKeys(`gapMs of dtmf must be ${GAP_MS.min} to ${GAP_MS.max}`)
  return { type: 'dtmf', keys: wanted, timing: { toneMs, gapMs: pauseMs } }
}

interface Bounds {
  readonly min: number
  readonly max: number
  readonly otherwise: number
}

/**
 * ITU-T Q.24 requires 40 ms of tone; one second fits the duration field of an RTP event (RFC 4733) at every
 * clock rate. The end of an event is sent three times during the gap.
 */
const TONE_MS: Bounds = { min: 40, max: 1_000, otherwise: 160 }
const GAP_MS: Bounds = { min: 60, max: 2_000, otherwise: 160 }

/** Rounds `value` to whole frames (ms); returns null when it is not a number within the bounds. */
function framesOf(value: unknown, { min, max, otherwise }: Bounds): number | null {
  if ((value ?? null) === null) return otherwise
  const ms = numberValue(value)
  return ms === null || ms < min || ms > max ? null : Math.round(ms / FRAME_MS) * FRAME_MS
}

function badKeys(message: string): BotCommand {
  return { type: 'fault', code: 'bad_frame', message }
}

/**
 * Reads a message of the `media`, `mark`, `clear` family, which Twilio, Exotel, Telnyx and native bots send.
 */
export function readMediaStreams(text: string, audio?: Uint8Array): BotCommand {
  const message = parseMessage(text)
  if (message === null) return BAD_JSON
  const event = stringValue(message.event) ?? ''
  switch (event) {
    case 'media':
      return playCommand(objectField(message, 'media').payload, { decoded: audio })
    case 'mark':
      return markCommand(objectField(message, 'mark').name)
    case 'clear':
      return { type: 'clear' }
    default:
      return extensionCommand(event, message) ?? unknownEvent(event)
  }
}

/** Fits into a header and into the parameters of every type. */
const TOKEN = /^[\w.~+/=:-]{1,256}$/

function resumeCommand(token: unknown): BotCommand {
  if ((token ?? '') === '') return { type: 'resume', token: null }
  if (typeof token === 'string' && TOKEN.test(token)) return { type: 'resume', token }
  const message = 'token of resume must be 1 to 256 letters, digits or . _ ~ + / = : -'
  return { type: 'fault', code: 'bad_frame', message }
}

/**
 * Reads `transfer`, `hangup`, `dtmf` and `resume`, nested or flat, which every type accepts; returns null for another
 * event.
 */
export function extensionCommand(event: string, message: Message): BotCommand | null {
  switch (event) {
    case 'transfer':
      return transferCommand({ ...message, ...objectField(message, 'transfer') })
    case 'hangup': {
      const { drain } = { ...message, ...objectField(message, 'hangup') }
      return { type: 'hangup', drain: drain !== false && drain !== 'false' }
    }
    case 'resume':
      return resumeCommand({ ...message, ...objectField(message, 'resume') }.token)
    case 'dtmf':
      return dtmfCommand(
        typeof message.dtmf === 'string'
          ? { digits: message.dtmf }
          : { ...message, ...objectField(message, 'dtmf') },
      )
    default:
      return null
  }
}

/** Length limit of a note: it crosses threads and is spoken to a person. */
const MAX_NOTE = 4_000

function transferCommand(fields: Message): BotCommand {
  const id = (stringValue(fields.id) ?? '').slice(0, 128)
  const { decision = null, handoff } = fields
  const blind = fields.blind === true || fields.blind === 'true'
  if (decision !== null) {
    if (decision === 'accept' || decision === 'decline') {
      return { type: 'transfer_decision', id, accepted: decision === 'accept' }
    }
    return badTransfer('decision of transfer must be accept or decline')
  }
  if (blind && handoff === 'warm') return badTransfer('blind of transfer needs the handoff cold')
  return { type: 'transfer', request: transferRequest(fields, { id, blind }) }
}

function badTransfer(message: string): BotCommand {
  return { type: 'fault', code: 'bad_frame', message }
}

function transferRequest(
  fields: Message,
  { id, blind }: { readonly id: string; readonly blind: boolean },
): TransferRequest {
  return {
    id,
    blind,
    destination: stringValue(fields.destination)?.slice(0, 256) ?? null,
    destinationId: stringValue(fields.destinationId)?.slice(0, 128) ?? null,
    handoff: fields.handoff === 'warm' ? 'warm' : 'cold',
    note: stringValue(fields.note)?.slice(0, MAX_NOTE) ?? null,
    reason: stringValue(fields.reason)?.slice(0, MAX_NOTE) ?? null,
  }
}

/**
 * Returns true if `part` occurs `times` times in the text. Searching one character is far cheaper than
 * parsing.
 */
function occurs(text: string, part: string, times: number): boolean {
  let at = -1
  for (let i = 0; i < times; i++) {
    at = text.indexOf(part, at + 1)
    if (at === -1) return false
  }
  return true
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
