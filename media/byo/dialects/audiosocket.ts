import type { Digit } from '../../base/frame.js'
import {
  audioHeader,
  audioRateOf,
  DTMF,
  ERROR,
  encodeFrame,
  HANG_UP,
  kindOf,
  payloadOf,
  UUID,
} from './audiosocket-frames.js'
import { type BotDialect, WIDEBAND } from './bot-dialect.js'
import { dtmfCommand, IGNORED } from './bot-message.js'
import type { BotCommand, StreamInfo, WireFormat } from './wire-format.js'

/*
 * Asterisk's AudioSocket: frames in a byte stream, linear16 little-endian. It has no marks, no clear and no
 * text. A bot speaks at the pace of speech and is silent by sending nothing.
 * https://docs.asterisk.org/Configuration/Channel-Drivers/AudioSocket/
 */

class AudioSocket implements WireFormat {
  readonly audioHeader: Buffer
  readonly framesPerMessage = 1
  readonly #callId: string

  constructor({ spec }: StreamInfo) {
    this.audioHeader = audioHeader(spec.sampleRate, (spec.sampleRate / 50) * 2)
    this.#callId = spec.callId
  }

  opening(): readonly Buffer[] {
    return [encodeFrame(UUID, Buffer.from(this.#callId.replaceAll('-', ''), 'hex'))]
  }

  dtmf(digit: Digit): Buffer {
    return encodeFrame(DTMF, Buffer.from(digit, 'ascii'))
  }

  markAck(): null {
    return null
  }

  playedAck(): null {
    return null
  }

  clearAck(): null {
    return null
  }

  transfer(): null {
    return null
  }

  error(): null {
    return null
  }

  stop(): Buffer {
    return encodeFrame(HANG_UP, Buffer.alloc(0))
  }

  readText(): BotCommand {
    return IGNORED
  }

  readBinary(frame: Buffer): BotCommand {
    const payload = payloadOf(frame)
    const kind = kindOf(frame)
    const rate = audioRateOf(kind)
    if (rate !== null) return { type: 'play', audio: payload, rate, id: null }
    switch (kind) {
      case HANG_UP:
        return { type: 'hangup', drain: true }
      case DTMF:
        return dtmfCommand({ digits: payload.toString('latin1') })
      case ERROR:
        return {
          type: 'give_up',
          message: `the bot reports an error${payload.length > 0 ? ` ${payload[0]}` : ''}`,
        }
      default:
        // Includes 0x02, silence in old versions, which needs no action.
        return IGNORED
    }
  }
}

export const AUDIOSOCKET = {
  type: 'audiosocket',
  transport: 'tcp',
  audio: [['linear16', WIDEBAND]],
  parameters: 'none',
  authenticate: null,
  hangUp: null,
  open: (stream) => new AudioSocket(stream),
} as const satisfies BotDialect
