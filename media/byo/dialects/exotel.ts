import type { Digit } from '../../base/frame.js'
import type { Dialect, StopReason, StreamInfo } from './dialect.js'
import { MediaStreamsDialect } from './media-streams.js'

/*
 * Exotel's Voicebot: snake case, linear16, 100 ms in one message. Parameters of the address are told
 * again when the stream begins. Bots hang up by closing the socket.
 */

export function openExotel(facts: StreamInfo): Dialect {
  return new Exotel(facts)
}

class Exotel extends MediaStreamsDialect {
  override readonly framesPerMessage = 5
  protected override readonly track = ''

  constructor(facts: StreamInfo) {
    super(facts, { sequence: 'sequence_number', stream: 'stream_sid' }, facts.streamId)
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.facts
    const start = {
      stream_sid: streamId,
      call_sid: spec.callId,
      account_sid: spec.accountId,
      from: spec.from,
      to: spec.to,
      custom_parameters: { ...Object.fromEntries(new URL(spec.url).searchParams), ...spec.customParameters },
      media_format: {
        encoding: 'base64',
        sample_rate: String(spec.sampleRate),
        bit_rate: `${(spec.sampleRate * 16) / 1000}kbps`,
      },
    }
    return [JSON.stringify({ event: 'connected' }), this.event('start', start)]
  }

  dtmf(digit: Digit, durationMs: number): string {
    return this.event('dtmf', { digit, duration: String(durationMs) })
  }

  stop(reason: StopReason): string {
    const { callId, accountId } = this.facts.spec
    return this.event('stop', {
      call_sid: callId,
      account_sid: accountId,
      reason: reason === 'caller_hangup' ? 'callended' : 'stopped',
    })
  }
}
