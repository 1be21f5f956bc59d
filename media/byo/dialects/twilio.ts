import type { Digit } from '../../base/frame.js'
import { twilioSignature } from './authentication.js'
import { type BotDialect, NARROWBAND } from './bot-dialect.js'
import { MediaStreamsDialect } from './media-streams.js'
import type { StreamInfo } from './wire-format.js'

/*
 * Twilio Media Streams, bidirectional. Ids carry Twilio's prefixes before 32 hexadecimal digits, because bots
 * check them. https://www.twilio.com/docs/voice/media-streams/websocket-messages
 */

/** Returns a UUID as a Twilio SID. */
export function sid(prefix: 'AC' | 'CA' | 'MZ', uuid: string): string {
  return `${prefix}${uuid.replaceAll('-', '')}`
}

class Twilio extends MediaStreamsDialect {
  readonly #streamSid: string
  /** Ids in both the start and the stop message. */
  readonly #ids: { readonly accountSid: string; readonly callSid: string }

  constructor(stream: StreamInfo) {
    const streamSid = sid('MZ', stream.streamId)
    super(stream, { sequence: 'sequenceNumber', stream: 'streamSid' }, streamSid)
    this.#streamSid = streamSid
    this.#ids = { accountSid: sid('AC', stream.spec.accountId), callSid: sid('CA', stream.spec.callId) }
  }

  opening(): readonly string[] {
    const { from, to, customParameters } = this.stream.spec
    const start = {
      streamSid: this.#streamSid,
      ...this.#ids,
      tracks: ['inbound'],
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      // Bots built on Pipecat read the numbers here; the customer's own parameters take precedence.
      customParameters: { from_number: from, to_number: to, ...customParameters },
    }
    return [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
      this.event('start', start),
    ]
  }

  dtmf(digit: Digit): string {
    return this.event('dtmf', { track: 'inbound_track', digit })
  }

  stop(): string {
    return this.event('stop', this.#ids)
  }
}

/** Error codes by HTTP status; any other is 20001. */
const ERROR_CODES: Readonly<Record<number, number>> = { 401: 20003, 403: 20003, 404: 20404, 429: 20429 }

export const TWILIO = {
  type: 'twilio',
  transport: 'websocket',
  audio: [['mulaw', NARROWBAND]],
  parameters: 'map',
  authenticate: twilioSignature,
  query: false,
  // https://www.twilio.com/docs/voice/api/call-resource
  hangUp: {
    method: 'post',
    paths: ['/2010-04-01/Accounts/:account/Calls/:call.json'],
    uuid: (call) => call.replace(/^CA/, ''),
    ends: (body) => ['completed', 'canceled'].includes(new URLSearchParams(body).get('Status') ?? ''),
    done: ({ account, call }) => ({
      status: 200,
      body: { sid: call, account_sid: account, status: 'completed' },
    }),
    refused: ({ status, message, url }) => ({
      code: ERROR_CODES[status] ?? 20_001,
      message,
      more_info: url,
      status,
    }),
  },
  open: (stream) => new Twilio(stream),
} as const satisfies BotDialect
