import type { Digit } from '../../base/frame.js'
import { BAD_JSON, extension, nested, parse, text, unknownEvent } from './bot-message.js'
import {
  BARE_SOUND,
  type BotCommand,
  type Dialect,
  type StreamFacts,
  type TransferUpdate,
} from './dialect.js'

/*
 * Vonage's WebSocket: one message of text first, then linear16 as binary messages of exactly 20 ms. A
 * mark is a `notify` whose payload comes back as it was.
 */

export function openVonage(facts: StreamFacts): Dialect {
  return new Vonage(facts)
}

class Vonage implements Dialect {
  readonly soundHead = BARE_SOUND
  readonly framesPerMessage = 1
  readonly #facts: StreamFacts

  constructor(facts: StreamFacts) {
    this.#facts = facts
  }

  opening(): readonly string[] {
    const { spec } = this.#facts
    return [
      JSON.stringify({
        ...spec.customParameters,
        event: 'websocket:connected',
        'content-type': `audio/l16;rate=${spec.sampleRate}`,
        caller: spec.from,
      }),
    ]
  }

  media(): string {
    return ''
  }

  dtmf(digit: Digit, durationMs: number): string {
    return JSON.stringify({ event: 'websocket:dtmf', digit, duration: durationMs })
  }

  /** `name` is the payload as JSON. What was cleared is told by `websocket:cleared` alone. */
  marked(name: string, how: 'played' | 'cleared'): string | null {
    return how === 'played' ? `{"event":"websocket:notify","payload":${name}}` : null
  }

  played(): null {
    return null
  }

  cleared(): string {
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

  read(line: string): BotCommand {
    const message = parse(line)
    if (message === null) return BAD_JSON
    const action = text(message.action) ?? text(message.event) ?? ''
    switch (action) {
      case 'clear':
        return { do: 'clear' }
      case 'notify':
        return { do: 'mark', name: JSON.stringify(message.payload ?? {}) }
      default:
        return extension(action, { ...message, ...nested(message, 'payload') }) ?? unknownEvent(action)
    }
  }
}
