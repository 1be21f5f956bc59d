import { FRAME_MS } from '../../base/frame.js'
import type { BotCommand, TransferRequest } from './dialect.js'

/*
 * What the dialects share in reading: bots are taken as they are, fields may be strings or numbers,
 * nested or flat, missing or null.
 */

export type Message = { readonly [name: string]: unknown }

export const IGNORED: BotCommand = { type: 'nothing' }

/** What one payload may name as keys. */
const KEYS = /^[0-9*#A-Dw]{1,64}$/

/** Longer text than this is looked at before it is parsed ... */
const PLAIN_LENGTH = 2_048
/** ... and holds fewer than so many of each of these: long messages are sound, one string. */
const MOST_PARTS = 512
const PARTS = [':', ',', '[', '{']

/** Null for what is no JSON object, and for one whose parts would take the thread's time. */
export function parseMessage(text: string): Message | null {
  if (text.length > PLAIN_LENGTH && PARTS.some((part) => holds(text, part, MOST_PARTS))) return null
  try {
    const value: unknown = JSON.parse(text)
    return isMessage(value) ? value : null
  } catch {
    return null
  }
}

export const BAD_JSON: BotCommand = {
  type: 'fault',
  code: 'bad_json',
  message: 'not a JSON object, or one of hundreds of parts',
}

export function unknownEvent(event: string): BotCommand {
  return { type: 'fault', code: 'bad_frame', message: `unknown event ${event.slice(0, 64)}`, harmless: true }
}

/** The object at `name`, or an empty one. */
export function objectField(message: Message, name: string): Message {
  const value = message[name]
  return isMessage(value) ? value : {}
}

/** A string, or a number written as one; null for anything else. */
export function stringValue(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

/** A number, or a string that is one; null for anything else. */
export function numberValue(value: unknown): number | null {
  const found = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof found === 'number' && Number.isFinite(found) ? found : null
}

/** Sound from base64. */
export function playCommand(
  payload: unknown,
  more: { rate?: number | null; id?: string | null } = {},
): BotCommand {
  if (typeof payload !== 'string')
    return { type: 'fault', code: 'bad_frame', message: 'media has no payload' }
  const audio = fromBase64(payload)
  if (audio === null) return { type: 'fault', code: 'bad_audio', message: 'the payload is not base64' }
  return { type: 'play', audio, rate: more.rate ?? null, id: more.id ?? null }
}

/**
 * Base64 of either alphabet, padded or not, in lines or not; null for anything else, of which the decoder
 * would make noise.
 */
function fromBase64(text: string): Buffer | null {
  const audio = Buffer.from(text, 'base64')
  if (audio.length === lengthOf(text)) return audio
  const bare = text.replace(/\s+/g, '')
  return audio.length === lengthOf(bare) ? audio : null
}

/** Bytes that so much base64 stands for; -1 when none does. */
function lengthOf(text: string): number {
  let length = text.length
  while (length > text.length - 2 && text.charCodeAt(length - 1) === PAD) length--
  return length % 4 === 1 ? -1 : Math.floor((length * 3) / 4)
}

const PAD = '='.charCodeAt(0)

/** A mark without a name is a mark all the same. */
export function markCommand(name: unknown): BotCommand {
  return { type: 'mark', name: stringValue(name) ?? '' }
}

/** Keys out: `digits` or `digit`, with `durationMs` and `gapMs` for each where they are named. */
export function dtmfCommand(fields: Message): BotCommand {
  const wanted = (stringValue(fields.digits) ?? stringValue(fields.digit) ?? '')
    .toUpperCase()
    .replaceAll('W', 'w')
  if (!KEYS.test(wanted)) return badKeys('dtmf needs digits: 0-9 * # A-D, w to wait, 64 at most')
  const { durationMs, gapMs } = fields
  const given = (durationMs ?? gapMs ?? null) !== null
  if (!given) return { type: 'dtmf', keys: wanted }
  const toneMs = framesOf(durationMs, TONE_MS)
  if (toneMs === null) return badKeys(`durationMs of dtmf must be ${TONE_MS.least} to ${TONE_MS.most}`)
  const pauseMs = framesOf(gapMs, GAP_MS)
  if (pauseMs === null) return badKeys(`gapMs of dtmf must be ${GAP_MS.least} to ${GAP_MS.most}`)
  return { type: 'dtmf', keys: wanted, timing: { toneMs, gapMs: pauseMs } }
}

interface Bounds {
  readonly least: number
  readonly most: number
  readonly unless: number
}

/**
 * ITU-T Q.24 asks 40 ms of tone; a second fits the duration field of an RTP event at every clock rate.
 * The end of an event is sent three times in the pause.
 */
const TONE_MS: Bounds = { least: 40, most: 1_000, unless: 160 }
const GAP_MS: Bounds = { least: 60, most: 2_000, unless: 160 }

/** The ms of whole frames nearest to `value`; null when it is no number within the bounds. */
function framesOf(value: unknown, { least, most, unless }: Bounds): number | null {
  if ((value ?? null) === null) return unless
  const ms = numberValue(value)
  return ms === null || ms < least || ms > most ? null : Math.round(ms / FRAME_MS) * FRAME_MS
}

function badKeys(message: string): BotCommand {
  return { type: 'fault', code: 'bad_frame', message }
}

/** A message of the `media`, `mark`, `clear` family: what Twilio, Exotel, Telnyx and our own bots send. */
export function readMediaStreams(line: string): BotCommand {
  const message = parseMessage(line)
  if (message === null) return BAD_JSON
  const event = stringValue(message.event) ?? ''
  switch (event) {
    case 'media':
      return playCommand(objectField(message, 'media').payload)
    case 'mark':
      return markCommand(objectField(message, 'mark').name)
    case 'clear':
      return { type: 'clear' }
    default:
      return extensionCommand(event, message) ?? unknownEvent(event)
  }
}

/** `transfer`, `hangup` and `dtmf`, which every type takes, nested or flat; null for another event. */
export function extensionCommand(event: string, message: Message): BotCommand | null {
  switch (event) {
    case 'transfer':
      return {
        type: 'transfer',
        request: transferRequest({ ...message, ...objectField(message, 'transfer') }),
      }
    case 'hangup': {
      const { drain } = { ...message, ...objectField(message, 'hangup') }
      return { type: 'hangup', drain: drain !== false && drain !== 'false' }
    }
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

/** Of what a person is told: it crosses threads and is spoken. */
const MOST_NOTE = 4_000

function transferRequest(fields: Message): TransferRequest {
  return {
    id: (stringValue(fields.id) ?? '').slice(0, 128),
    destination: stringValue(fields.destination)?.slice(0, 256) ?? null,
    destinationId: stringValue(fields.destinationId)?.slice(0, 128) ?? null,
    handoff: fields.handoff === 'warm' ? 'warm' : 'cold',
    note: stringValue(fields.note)?.slice(0, MOST_NOTE) ?? null,
    reason: stringValue(fields.reason)?.slice(0, MOST_NOTE) ?? null,
  }
}

/** Whether `part` is in it so often. Looking for one character is many times cheaper than parsing. */
function holds(text: string, part: string, times: number): boolean {
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
