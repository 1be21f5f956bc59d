import type { Digit } from '../../base/frame.js'
import {
  FAILURE,
  frame,
  HANG_UP,
  KEY,
  kindOf,
  payloadOf,
  rateOf,
  soundHead,
  UUID,
} from './audiosocket-frames.js'
import { keys, NOTHING } from './bot-message.js'
import type { BotCommand, Dialect, StreamFacts } from './dialect.js'

/*
 * Asterisk's AudioSocket: frames in a stream of bytes, linear16 little-endian. There are no marks, no
 * way to take sound back and no words: a bot speaks at the pace of speech and falls silent by sending
 * nothing.
 */

export function openAudioSocket(facts: StreamFacts): Dialect {
  return new AudioSocket(facts)
}

class AudioSocket implements Dialect {
  readonly soundHead: Buffer
  readonly framesPerMessage = 1
  readonly #callId: string

  constructor({ spec }: StreamFacts) {
    this.soundHead = soundHead(spec.sampleRate, (spec.sampleRate / 50) * 2)
    this.#callId = spec.callId
  }

  opening(): readonly Buffer[] {
    return [frame(UUID, Buffer.from(this.#callId.replaceAll('-', ''), 'hex'))]
  }

  media(): string {
    return ''
  }

  dtmf(digit: Digit): Buffer {
    return frame(KEY, Buffer.from(digit, 'ascii'))
  }

  marked(): null {
    return null
  }

  played(): null {
    return null
  }

  cleared(): null {
    return null
  }

  transfer(): null {
    return null
  }

  error(): null {
    return null
  }

  stop(): Buffer {
    return frame(HANG_UP, Buffer.alloc(0))
  }

  read(): BotCommand {
    return NOTHING
  }

  hear(frame: Buffer): BotCommand {
    const payload = payloadOf(frame)
    const kind = kindOf(frame)
    const rate = rateOf(kind)
    if (rate !== null) return { do: 'play', audio: payload, rate, id: null }
    switch (kind) {
      case HANG_UP:
        return { do: 'hangup', drain: true }
      case KEY:
        return keys({ digits: payload.toString('latin1') })
      case FAILURE:
        return {
          do: 'give_up',
          message: `the bot reports an error${payload.length > 0 ? ` ${payload[0]}` : ''}`,
        }
      default:
        // Among them 0x02, silence of old versions: what is not sent is silent as well.
        return NOTHING
    }
  }
}
