import type { Digit } from '../../base/frame.js'
import { basicCredentials } from './authentication.js'
import { type BotDialect, WIDEBAND } from './bot-dialect.js'
import {
  BAD_JSON,
  extensionCommand,
  markCommand,
  numberValue,
  objectField,
  parseMessage,
  playCommand,
  stringValue,
  unknownEvent,
} from './bot-message.js'
import {
  type BotCommand,
  NO_HEADER,
  type StreamInfo,
  type TransferUpdate,
  type WireFormat,
} from './wire-format.js'

/*
 * jambonz `listen` and `stream`: metadata in the first text message, then linear16 in binary messages both
 * ways. `playAudio` carries audio with its own rate and an id that `playDone` names.
 * https://docs.jambonz.org/verbs/verbs/listen
 */

class Jambonz implements WireFormat {
  readonly audioHeader = NO_HEADER
  readonly framesPerMessage = 1
  readonly audioField = 'audioContent'
  readonly #stream: StreamInfo

  constructor(stream: StreamInfo) {
    this.#stream = stream
  }

  opening(sipCallId: string | null): readonly string[] {
    const { spec } = this.#stream
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

  dtmf(digit: Digit, durationMs: number): string {
    // The duration is in samples at 8 kHz.
    return JSON.stringify({ event: 'dtmf', dtmf: digit, duration: String(durationMs * 8) })
  }

  markAck(name: string, how: 'played' | 'cleared'): string {
    return JSON.stringify({
      type: 'mark',
      data: { name, event: how === 'played' ? 'playout' : 'cleared' },
    })
  }

  playedAck(id: string): string {
    return JSON.stringify({ type: 'playDone', data: { id } })
  }

  clearAck(): null {
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

  readText(text: string, audio?: Uint8Array): BotCommand {
    const message = parseMessage(text)
    if (message === null) return BAD_JSON
    const type = stringValue(message.type) ?? stringValue(message.event) ?? ''
    const data = objectField(message, 'data')
    switch (type) {
      case 'playAudio': {
        const command = playCommand(data.audioContent, {
          rate: numberValue(data.sampleRate),
          id: stringValue(data.id),
          decoded: audio,
        })
        return command.type === 'play' && data.queuePlay !== true ? { ...command, replaces: true } : command
      }
      case 'killAudio':
        return { type: 'clear' }
      case 'mark':
        return markCommand(data.name)
      case 'clearMarks':
        return { type: 'forget_marks' }
      case 'disconnect':
        return { type: 'hangup', drain: false }
      default:
        return extensionCommand(type, { ...message, ...data }) ?? unknownEvent(type)
    }
  }
}

export const JAMBONZ = {
  type: 'jambonz',
  transport: 'websocket',
  audio: [['linear16', WIDEBAND]],
  parameters: 'map',
  authenticate: basicCredentials,
  // The names of its own SDK and of its documentation; a bot selects the one it knows, and some want none.
  subprotocols: [['audio.drachtio.org', 'audio.jambonz.org'], []],
  hangUp: null,
  open: (stream) => new Jambonz(stream),
} as const satisfies BotDialect
