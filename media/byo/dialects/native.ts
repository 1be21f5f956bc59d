import type { Digit } from '../../base/frame.js'
import type { BotFormat } from '../bot-spec.js'
import { bearerToken } from './authentication.js'
import { type BotDialect, NARROWBAND, WIDEBAND } from './bot-dialect.js'
import { MediaStreamsDialect } from './media-streams.js'
import type { BotErrorCode, StopReason, StreamInfo } from './wire-format.js'

/*
 * The native protocol: a superset of Twilio Media Streams in any supported format, with events for the
 * outcome of marks, clears and transfers. See docs/byo.md.
 */

const ENCODINGS: Readonly<Partial<Record<BotFormat, string>>> = {
  linear16: 'audio/x-l16',
  mulaw: 'audio/x-mulaw',
  alaw: 'audio/x-alaw',
}

const EXTENSIONS = ['transfer', 'hangup', 'dtmf', 'resume', 'cleared', 'error', 'binary']

class Native extends MediaStreamsDialect {
  constructor(stream: StreamInfo) {
    super(stream, { sequence: 'sequenceNumber', stream: 'streamSid' }, stream.streamId)
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.stream
    const { callId, accountId, from, to, direction, format, sampleRate, customParameters } = spec
    const start = {
      streamSid: streamId,
      streamId,
      callSid: callId,
      callId,
      accountSid: accountId,
      accountId,
      from,
      to,
      direction,
      tracks: ['inbound'],
      mediaFormat: {
        encoding: ENCODINGS[format],
        format,
        ...(format === 'linear16' ? { endianness: 'little' } : {}),
        sampleRate,
        channels: 1,
      },
      customParameters,
      extensions: EXTENSIONS,
    }
    return [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
      this.event('start', start, { streamId }),
    ]
  }

  dtmf(digit: Digit, durationMs: number): string {
    return this.event('dtmf', { track: 'inbound_track', digit, durationMs })
  }

  override markAck(name: string, status: 'played' | 'cleared'): string {
    return this.event('mark', { name, status })
  }

  override clearAck(droppedMs: number): string {
    return this.event('cleared', { droppedMs })
  }

  override error(code: BotErrorCode, message: string): string {
    return this.event('error', { code, message, fatal: false })
  }

  stop(reason: StopReason): string {
    const { accountId, callId } = this.stream.spec
    return this.event('stop', { accountSid: accountId, callSid: callId, reason })
  }
}

export const NATIVE = {
  type: 'static',
  transport: 'websocket',
  audio: [
    ['linear16', WIDEBAND],
    ['mulaw', NARROWBAND],
    ['alaw', NARROWBAND],
  ],
  parameters: 'map',
  authenticate: bearerToken,
  hangUp: null,
  open: (stream) => new Native(stream),
} as const satisfies BotDialect
