import type { Digit } from '../../base/frame.js'
import { bearerToken } from './authentication.js'
import { type BotDialect, WIDEBAND } from './bot-dialect.js'
import {
  BAD_JSON,
  extensionCommand,
  objectField,
  parseMessage,
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
 * Vonage's WebSocket: one text message first, then linear16 in binary messages of exactly 20 ms. A mark is a
 * `notify` whose payload is returned unchanged.
 * https://developer.vonage.com/en/voice/voice-api/concepts/websockets
 */

class Vonage implements WireFormat {
  readonly audioHeader = NO_HEADER
  readonly framesPerMessage = 1
  readonly #stream: StreamInfo

  constructor(stream: StreamInfo) {
    this.#stream = stream
  }

  opening(): readonly string[] {
    const { spec } = this.#stream
    return [
      JSON.stringify({
        ...spec.customParameters,
        event: 'websocket:connected',
        'content-type': `audio/l16;rate=${spec.sampleRate}`,
        caller: spec.from,
      }),
    ]
  }

  dtmf(digit: Digit, durationMs: number): string {
    return JSON.stringify({ event: 'websocket:dtmf', digit, duration: durationMs })
  }

  /** `name` is the payload as JSON. Cleared marks are reported by `websocket:cleared` alone. */
  markAck(name: string, how: 'played' | 'cleared'): string | null {
    return how === 'played' ? `{"event":"websocket:notify","payload":${name}}` : null
  }

  playedAck(): null {
    return null
  }

  clearAck(): string {
    return JSON.stringify({ event: 'websocket:cleared' })
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

  readText(text: string): BotCommand {
    const message = parseMessage(text)
    if (message === null) return BAD_JSON
    const action = stringValue(message.action) ?? stringValue(message.event) ?? ''
    switch (action) {
      case 'clear':
        return { type: 'clear' }
      case 'notify':
        return { type: 'mark', name: JSON.stringify(message.payload ?? {}) }
      default:
        return (
          extensionCommand(action, { ...message, ...objectField(message, 'payload') }) ?? unknownEvent(action)
        )
    }
  }
}

export const VONAGE = {
  type: 'vonage',
  transport: 'websocket',
  audio: [['linear16', WIDEBAND]],
  parameters: 'map',
  authenticate: bearerToken,
  hangUp: null,
  open: (stream) => new Vonage(stream),
} as const satisfies BotDialect
