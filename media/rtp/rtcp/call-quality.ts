import type { ReceptionStatistics } from '../receive/reception.js'
import type { CallQuality, DirectionQuality } from '../stats.js'
import type { RtcpSession } from './session.js'

/**
 * Robustness of a codec against loss (ITU-T G.113 appendix I): the values of G.711 with concealment. The
 * other codecs have no values on this narrowband scale; they are no worse and use the same concealment.
 */
const IE = 0
const BPL = 25.1

/** Rating of G.107 with all other parameters at their defaults. */
const BEST_R = 93.2

export interface LossConditions {
  /** Share of packets that were not played, 0 to 1. */
  readonly loss: number
  /** 1 for random loss, larger for bursts. */
  readonly burstRatio: number
  /** One-way delay from mouth to ear (ms). */
  readonly delayMs: number
}

/**
 * Estimates the mean opinion score, 1 to 4.5 (MOS-CQE), by the E-model of ITU-T G.107. The delay impairment
 * is simplified to two linear pieces, for a connection without echo.
 */
export function estimateMos({ loss, burstRatio, delayMs }: LossConditions): number {
  const percent = loss * 100
  const equipment = IE + ((95 - IE) * percent) / (percent / Math.max(1, burstRatio) + BPL)
  const delay = 0.024 * delayMs + (delayMs > 177.3 ? 0.11 * (delayMs - 177.3) : 0)
  return mosOf(BEST_R - equipment - delay)
}

/** Converts a rating to a mean opinion score (G.107 annex B). */
function mosOf(r: number): number {
  if (r <= 0) return 1
  if (r >= 100) return 4.5
  return Math.max(1, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)
}

/** A packet and a tick on each side (ms), in addition to the network and the playout buffer. */
const OWN_DELAY_MS = 60

/**
 * Returns the quality of both directions of a leg so remoteReport. `playoutMs` is the delay of Parley's playout
 * buffer.
 */
export function callQuality(
  reception: ReceptionStatistics,
  { rttMs, remoteReport }: RtcpSession,
  jitterMs: number,
  playoutMs: number,
): CallQuality {
  const bursts = reception.bursts()
  const { expected, lost } = reception
  const loss = expected === 0 ? 0 : lost / expected
  const oneWayMs = (rttMs ?? 0) / 2 + OWN_DELAY_MS
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
        delayMs: oneWayMs + playoutMs,
      }),
    },
    sent: remoteReport === null ? null : sentQuality(remoteReport.loss, remoteReport.jitterMs, oneWayMs),
  }
}

/** The peer's buffer is unknown. It must hold its jitter, about twice the mean. */
function sentQuality(loss: number, jitterMs: number, oneWayMs: number): DirectionQuality {
  return { loss, jitterMs, mos: estimateMos({ loss, burstRatio: 1, delayMs: oneWayMs + 2 * jitterMs }) }
}
