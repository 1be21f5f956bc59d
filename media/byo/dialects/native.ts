import type { Digit } from '../../base/frame.js'
import type { BotFormat } from '../bot-spec.js'
import type { BotErrorCode, Dialect, StopReason, StreamInfo } from './dialect.js'
import { MediaStreamsDialect } from './media-streams.js'

/*
 * The native protocol: a superset of Twilio Media Streams in any supported format, with events for the
 * outcome of marks, clears and transfers. See docs/byo.md.
 */

const ENCODINGS: Readonly<Record<BotFormat, string>> = {
  linear16: 'audio/x-l16',
  mulaw: 'audio/x-mulaw',
  alaw: 'audio/x-alaw',
}

const EXTENSIONS = ['transfer', 'hangup', 'dtmf', 'cleared', 'error', 'binary']

export function openNative(stream: StreamInfo): Dialect {
  return new Native(stream)
}

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
