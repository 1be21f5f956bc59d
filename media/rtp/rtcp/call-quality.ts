import type { ReceptionStatistics } from '../receive/reception.js'
import type { CallQuality, DirectionQuality } from '../stats.js'
import type { RtcpSession } from './session.js'

/**
 * How sound takes losses, by ITU-T G.113 appendix I: the values of G.711 with concealment. The other
 * codecs here have none on this (narrowband) scale; they lose nothing to G.711 and are concealed the
 * same way.
 */
const IE = 0
const BPL = 25.1

/** G.107 with all other parameters at their defaults. */
const BEST_R = 93.2

export interface LossConditions {
  /** Share of packets not played, 0 to 1. */
  readonly loss: number
  /** 1 for random loss, above for bursts. */
  readonly burstRatio: number
  /** Mouth to ear, one way. */
  readonly delayMs: number
}

/**
 * An estimate of what people would say of this sound, 1 to 4.5 (MOS-CQE): the E-model of ITU-T G.107
 * with the delay impairment simplified to two lines, as for a connection without echo.
 */
export function estimateMos({ loss, burstRatio, delayMs }: LossConditions): number {
  const percent = loss * 100
  const equipment = IE + ((95 - IE) * percent) / (percent / Math.max(1, burstRatio) + BPL)
  const delay = 0.024 * delayMs + (delayMs > 177.3 ? 0.11 * (delayMs - 177.3) : 0)
  return mosOf(BEST_R - equipment - delay)
}

/** G.107 annex B. */
function mosOf(r: number): number {
  if (r <= 0) return 1
  if (r >= 100) return 4.5
  return Math.max(1, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)
}

/** A packet and a beat on each side, beside the network and the playout buffer. */
const OWN_DELAY_MS = 60

/** Both directions of a leg so far. `playoutMs`: what our playout buffer adds. */
export function callQuality(
  reception: ReceptionStatistics,
  { rttMs, remoteReport: far }: RtcpSession,
  jitterMs: number,
  playoutMs: number,
): CallQuality {
  const bursts = reception.bursts()
  const { expected, lost } = reception
  const loss = expected === 0 ? 0 : lost / expected
  const wayMs = (rttMs ?? 0) / 2 + OWN_DELAY_MS
  return {
    rttMs,
    heard: {
      loss,
      jitterMs,
      burstDensity: bursts.burstDensity,
      gapDensity: bursts.gapDensity,
      discarded: bursts.discarded,
      mos: estimateMos({
        loss: Math.min(1, loss + (expected === 0 ? 0 : bursts.discarded / expected)),
        burstRatio: bursts.ratio,
        delayMs: wayMs + playoutMs,
      }),
    },
    sent: far === null ? null : sentQuality(far.loss, far.jitterMs, wayMs),
  }
}

/** Of the far side's buffer nothing is known: it must hold its jitter, about twice the mean. */
function sentQuality(loss: number, jitterMs: number, wayMs: number): DirectionQuality {
  return { loss, jitterMs, mos: estimateMos({ loss, burstRatio: 1, delayMs: wayMs + 2 * jitterMs }) }
}
