import type { Digit } from '../../base/frame.js'
import { basicCredentials } from './authentication.js'
import { type BotDialect, NARROWBAND, WIDEBAND } from './bot-dialect.js'
import { BAD_JSON, extensionCommand, parseMessage, stringValue, unknownEvent } from './bot-message.js'
import {
  type BotCommand,
  type BotErrorCode,
  NO_HEADER,
  type StreamInfo,
  type TransferUpdate,
  type WireFormat,
} from './wire-format.js'

/*
 * Asterisk's chan_websocket: audio of the channel's codec in binary messages of 20 ms, control messages as text: plain words, or
 * JSON since 20.18, 22.8 and 23.2. Parley is the side of Asterisk. Commands are read in both forms.
 * https://docs.asterisk.org/Configuration/Channel-Drivers/WebSocket/
 */

/** Message for a mark that was reached in the queue; the id follows. */
const MARK = 'MEDIA_MARK_PROCESSED'
const BUFFERED = 'MEDIA_BUFFERING_COMPLETED'
const DRAINED = 'QUEUE_DRAINED'

/** Commands that have no effect here: the call is answered, and every piece of audio is joined to the next. */
const WITHOUT_EFFECT = ['ANSWER', 'START_MEDIA_BUFFERING']
const UNSUPPORTED = ['PAUSE_MEDIA', 'CONTINUE_MEDIA', 'GET_STATUS', 'SET_MEDIA_DIRECTION']

/** A command in plain words. */
const PLAIN = /^\s*[A-Z_]+(?:\s|$)/

type Field = readonly [name: string, value: string | number]

class ChanWebSocket implements WireFormat {
  readonly audioHeader = NO_HEADER
  readonly framesPerMessage = 1
  readonly #stream: StreamInfo
  readonly #json: boolean

  constructor(stream: StreamInfo, json: boolean) {
    this.#stream = stream
    this.#json = json
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.#stream
    const fields: readonly Field[] = [
      ['connection_id', streamId],
      ['channel', `WebSocket/parley/${spec.callId}`],
      ['channel_id', spec.callId],
      ['format', codecName(spec.format, spec.sampleRate)],
      ['optimal_frame_size', (spec.sampleRate / 50) * (spec.format === 'linear16' ? 2 : 1)],
      ['ptime', 20],
    ]
    const variables = {
      ...spec.customParameters,
      'CALLERID(num)': spec.from,
      'CALLERID(dnid)': spec.to,
    }
    return this.#json
      ? [
          JSON.stringify({
            event: 'MEDIA_START',
            ...Object.fromEntries(fields),
            channel_variables: variables,
          }),
        ]
      : [plain('MEDIA_START', fields)]
  }

  dtmf(digit: Digit): string {
    const channel: Field = ['channel_id', this.#stream.spec.callId]
    // The two forms have their fields in different orders.
    return this.#json
      ? this.#event('DTMF_END', [['digit', digit]])
      : plain('DTMF_END', [['digit', digit], channel])
  }

  /** `name` is the notification and the id. After a flush only the empty queue is reported. */
  markAck(name: string, how: 'played' | 'cleared'): string | null {
    const [event = MARK, id = ''] = splitOnce(name)
    if (event === DRAINED) return this.#event(DRAINED, [])
    if (how === 'cleared') return null
    if (this.#json) return this.#event(event, [['correlation_id', id]])
    return id === '' ? event : `${event} ${id}`
  }

  playedAck(): null {
    return null
  }

  clearAck(): null {
    return null
  }

  transfer(update: TransferUpdate): string {
    return JSON.stringify({ event: 'transfer', transfer: update })
  }

  error(_code: BotErrorCode, message: string): string {
    const text: Field = ['error_text', message]
    if (this.#json) return this.#event('ERROR', [text])
    return plain('ERROR', [['channel_id', this.#stream.spec.callId], text])
  }

  stop(): null {
    return null
  }

  readText(text: string): BotCommand {
    if (PLAIN.test(text)) {
      const [command = '', data = ''] = splitOnce(text.trim())
      return readCommand(command, data) ?? unknownEvent(command)
    }
    const message = parseMessage(text)
    if (message === null) return BAD_JSON
    const command = stringValue(message.command) ?? stringValue(message.event) ?? ''
    return (
      readCommand(command, stringValue(message.correlation_id) ?? '') ??
      extensionCommand(command, message) ??
      unknownEvent(command)
    )
  }

  #event(event: string, fields: readonly Field[]): string {
    if (!this.#json) return plain(event, fields)
    return JSON.stringify({
      event,
      channel_id: this.#stream.spec.callId,
      ...Object.fromEntries(fields),
    })
  }
}

function plain(event: string, fields: readonly Field[]): string {
  return [event, ...fields.map(([name, value]) => `${name}:${value}`)].join(' ')
}

function splitOnce(text: string): readonly string[] {
  const space = text.indexOf(' ')
  return space === -1 ? [text] : [text.slice(0, space), text.slice(space + 1).trim()]
}

/** Names of commands are case-sensitive. Returns null for an unknown one. */
function readCommand(command: string, id: string): BotCommand | null {
  switch (command) {
    case 'HANGUP':
      return { type: 'hangup', drain: false }
    case 'FLUSH_MEDIA':
      return { type: 'clear' }
    case 'MARK_MEDIA':
      return { type: 'mark', name: `${MARK} ${id}` }
    case 'STOP_MEDIA_BUFFERING':
      return { type: 'mark', name: `${BUFFERED} ${id}` }
    case 'REPORT_QUEUE_DRAINED':
      return { type: 'mark', name: DRAINED }
    default:
      if (WITHOUT_EFFECT.includes(command)) return { type: 'nothing' }
      if (!UNSUPPORTED.includes(command)) return null
      return { type: 'fault', code: 'bad_frame', message: `${command} is not supported`, harmless: true }
  }
}

/** Returns Asterisk's name of the codec. */
function codecName(format: string, rate: number): string {
  if (format !== 'linear16') return format === 'alaw' ? 'alaw' : 'ulaw'
  return rate === 8000 ? 'slin' : `slin${rate / 1000}`
}

const COMMON = {
  transport: 'websocket',
  audio: [
    ['mulaw', NARROWBAND],
    ['alaw', NARROWBAND],
    ['linear16', WIDEBAND],
  ],
  // `username` and `password` of websocket_client.conf.
  authenticate: basicCredentials,
  // `protocols = media` of websocket_client.conf; a bot that selects none is called again without.
  subprotocols: [['media'], []],
  hangUp: null,
} as const

export const CHAN_WEBSOCKET = {
  ...COMMON,
  type: 'chan_websocket',
  // Plain text has no place for them.
  parameters: 'none',
  open: (stream) => new ChanWebSocket(stream, false),
} as const satisfies BotDialect

/** `control_message_format = json` of chan_websocket.conf. */
export const CHAN_WEBSOCKET_JSON = {
  ...COMMON,
  type: 'chan_websocket_json',
  parameters: 'map',
  open: (stream) => new ChanWebSocket(stream, true),
} as const satisfies BotDialect
