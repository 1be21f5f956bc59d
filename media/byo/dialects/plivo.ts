import type { Digit } from '../../base/frame.js'
import type { BotFormat } from '../bot-spec.js'
import { plivoSignature } from './authentication.js'
import { type BotDialect, NARROWBAND, WIDEBAND } from './bot-dialect.js'
import {
  BAD_JSON,
  dtmfCommand,
  extensionCommand,
  type Message,
  markCommand,
  numberValue,
  objectField,
  parseMessage,
  playCommand,
  stringValue,
  unknownEvent,
} from './bot-message.js'
import type { BotCommand, StreamInfo, TransferUpdate, WireFormat } from './wire-format.js'

/*
 * Plivo's audio streaming, and Vobiz, which has the same format with one more rate. Counters are numbers,
 * timestamps are strings of Unix ms, `extra_headers` is always a string. There is no stop message: the socket
 * closes. https://docs.plivo.com/docs/voice/xml/audiostream
 */

class Plivo implements WireFormat {
  readonly audioHeader = null
  readonly framesPerMessage = 1
  readonly mediaTail = '"},"extra_headers":"{}"}'
  readonly audioField = 'payload'
  readonly #stream: StreamInfo
  #sequence = -1
  #chunk = 0

  constructor(stream: StreamInfo) {
    this.#stream = stream
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.#stream
    this.#sequence++
    return [
      JSON.stringify({
        sequenceNumber: this.#sequence,
        event: 'start',
        start: {
          callId: spec.callId,
          streamId,
          accountId: spec.accountId,
          tracks: ['inbound'],
          mediaFormat: {
            encoding: spec.format === 'mulaw' ? 'audio/x-mulaw' : 'audio/x-l16',
            sampleRate: spec.sampleRate,
          },
        },
        extra_headers: Object.entries(spec.customParameters)
          .map(([name, value]) => `${name}=${value}`)
          .join(';'),
      }),
    ]
  }

  mediaHead(atMs: number): string {
    this.#sequence++
    this.#chunk++
    return `{"sequenceNumber":${this.#sequence},"streamId":"${this.#stream.streamId}","event":"media","media":{"track":"inbound","timestamp":"${this.#stream.startedAt + atMs}","chunk":${this.#chunk},"payload":"`
  }

  dtmf(digit: Digit): string {
    const timestamp = String(this.#stream.startedAt + this.#chunk * 20)
    return this.#event('dtmf', { dtmf: { track: 'inbound', digit, timestamp }, extra_headers: '{}' })
  }

  /** Only marks that were played are acknowledged. */
  markAck(name: string, how: 'played' | 'cleared'): string | null {
    return how === 'played' ? this.#event('playedStream', { name }) : null
  }

  playedAck(): null {
    return null
  }

  clearAck(): string {
    return this.#event('clearedAudio', {})
  }

  transfer(update: TransferUpdate): string {
    return this.#event('transfer', { transfer: update })
  }

  error(): null {
    return null
  }

  stop(): null {
    return null
  }

  readText(text: string, audio?: Uint8Array): BotCommand {
    const message = parseMessage(text)
    if (message === null) return BAD_JSON
    const event = stringValue(message.event) ?? ''
    switch (event) {
      case 'playAudio':
        return playAudio(objectField(message, 'media'), audio)
      case 'checkpoint':
        return markCommand(message.name)
      case 'clearAudio':
        return { type: 'clear' }
      case 'sendDTMF':
        return dtmfCommand({ digits: message.dtmf })
      // Vobiz: the bot ends the stream.
      case 'stop':
        return { type: 'hangup', drain: true }
      default:
        return extensionCommand(event, message) ?? unknownEvent(event)
    }
  }

  #event(event: string, body: object): string {
    this.#sequence++
    return JSON.stringify({
      sequenceNumber: this.#sequence,
      streamId: this.#stream.streamId,
      event,
      ...body,
    })
  }
}

/** Encodings by content type; a WAV names its encoding itself, and headerless audio has the agreed one. */
const ENCODINGS: Readonly<Record<string, BotFormat | null>> = {
  '': null,
  raw: null,
  'audio/raw': null,
  wav: null,
  'audio/wav': null,
  'audio/x-wav': null,
  'audio/wave': null,
  'audio/x-mulaw': 'mulaw',
  'audio/mulaw': 'mulaw',
  'audio/basic': 'mulaw',
  'audio/x-l16': 'linear16',
  'audio/l16': 'linear16',
}

/** Reads `playAudio`, whose content type and sample rate describe its payload whatever was agreed. */
function playAudio(media: Message, decoded: Uint8Array | undefined): BotCommand {
  const [name = '', ...parameters] = (stringValue(media.contentType) ?? '').toLowerCase().split(';')
  const format = ENCODINGS[name.trim()]
  if (format === undefined) {
    return { type: 'fault', code: 'bad_audio', message: `contentType ${name.slice(0, 64)} is not supported` }
  }
  const stated = parameters.join(';').match(/\brate=(\d+)/)?.[1]
  // Plivo knows no other rate of mu-law. L16 without a rate has the rate of the stream.
  const rate = numberValue(media.sampleRate) ?? numberValue(stated) ?? (format === 'mulaw' ? 8000 : null)
  return playCommand(media.payload, { rate, format, decoded })
}

export const PLIVO = {
  type: 'plivo',
  transport: 'websocket',
  audio: [
    ['mulaw', NARROWBAND],
    ['linear16', [8000, 16_000]],
  ],
  parameters: 'inline',
  authenticate: plivoSignature('x-plivo-signature-v3'),
  // https://docs.plivo.com/docs/voice/api/call
  hangUp: {
    method: 'delete',
    paths: ['/v1/Account/:account/Call/:call/', '/v1/Account/:account/Call/:call'],
    uuid: (call) => call,
    ends: () => true,
    done: () => ({ status: 204 }),
    refused: ({ message, requestId }) => ({ api_id: requestId, error: message }),
  },
  open: (stream) => new Plivo(stream),
} as const satisfies BotDialect

export const VOBIZ = {
  ...PLIVO,
  type: 'vobiz',
  audio: [
    ['mulaw', NARROWBAND],
    ['linear16', WIDEBAND],
  ],
  authenticate: plivoSignature('x-vobiz-signature-v3'),
  // Its bots use Plivo's request.
  hangUp: null,
} as const satisfies BotDialect
