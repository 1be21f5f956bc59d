import type { Digit } from '../../base/frame.js'
import { BAD_JSON, extension, mark, nested, number, parse, play, text, unknownEvent } from './bot-message.js'
import {
  BARE_SOUND,
  type BotCommand,
  type Dialect,
  type StreamFacts,
  type TransferUpdate,
} from './dialect.js'

/*
 * jambonz `listen` and `stream`: metadata as the first message of text, then linear16 as binary
 * messages both ways; `playAudio` carries sound of its own rate, with an id that `playDone` names.
 */

export function openJambonz(facts: StreamFacts): Dialect {
  return new Jambonz(facts)
}

class Jambonz implements Dialect {
  readonly soundHead = BARE_SOUND
  readonly framesPerMessage = 1
  readonly #facts: StreamFacts

  constructor(facts: StreamFacts) {
    this.#facts = facts
  }

  opening(sipCallId: string | null): readonly string[] {
    const { spec } = this.#facts
    return [
      JSON.stringify({
        ...spec.customParameters,
        callSid: spec.callId,
        from: spec.from,
        to: spec.to,
        callId: sipCallId ?? spec.callId,
        direction: spec.direction,
        accountSid: spec.accountId,
        sampleRate: spec.sampleRate,
        mixType: 'mono',
      }),
    ]
  }

  media(): string {
    return ''
  }

  dtmf(digit: Digit, durationMs: number): string {
    // The duration is in samples of 8 kHz, as it is on the wire.
    return JSON.stringify({ event: 'dtmf', dtmf: digit, duration: String(durationMs * 8) })
  }

  marked(name: string, how: 'played' | 'cleared'): string {
    return JSON.stringify({
      type: 'mark',
      data: { name, event: how === 'played' ? 'playout' : 'cleared' },
    })
  }

  played(id: string): string {
    return JSON.stringify({ type: 'playDone', data: { id } })
  }

  cleared(): null {
    return null
  }

  transfer(update: TransferUpdate): string {
    return JSON.stringify({ event: 'transfer', transfer: update })
  }

  error(): null {
    return null
  }

  stop(): null {
    return null
  }

  read(line: string): BotCommand {
    const message = parse(line)
    if (message === null) return BAD_JSON
    const type = text(message.type) ?? text(message.event) ?? ''
    const data = nested(message, 'data')
    switch (type) {
      case 'playAudio': {
        const command = play(data.audioContent, { rate: number(data.sampleRate), id: text(data.id) })
        return command.do === 'play' && data.queuePlay !== true ? { ...command, replaces: true } : command
      }
      case 'killAudio':
        return { do: 'clear' }
      case 'mark':
        return mark(data.name)
      case 'clearMarks':
        return { do: 'forget_marks' }
      case 'disconnect':
        return { do: 'hangup', drain: false }
      default:
        return extension(type, { ...message, ...data }) ?? unknownEvent(type)
    }
  }
}
