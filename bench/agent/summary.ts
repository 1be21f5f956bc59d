import { isJudged, type LateWindows } from '../lib/judged-time.js'
import { gapsOf, latenessOf } from '../lib/packet-times.js'
import { maximum, percentile } from '../lib/statistics.js'
import type { DensityResult, TurnSample } from './job.js'
import type { Listener } from './listener.js'

/**
 * Reduces the timing of many calls in the caller process, so that a million numbers need not cross. Times in which the
 * host was late are left out.
 */
export function summarise(
  listeners: readonly Listener[],
  turns: readonly TurnSample[],
  asked: number,
  allUpMs: number,
  hostLate: LateWindows,
): DensityResult {
  const lateness: number[] = []
  const gaps: number[] = []
  let lost = 0
  for (const listener of listeners) {
    const packets = listener.packets.filter((packet) => packet.atMs >= allUpMs)
    for (const late of latenessOf(packets, hostLate)) lateness.push(late)
    for (const gap of gapsOf(packets, hostLate)) gaps.push(gap)
    lost += listener.lost
  }
  const held = turns.filter((turn) => turn.offsetMs >= allUpMs)
  const replied = held.flatMap(({ offsetMs, replyMs }) => (replyMs === null ? [] : [{ offsetMs, replyMs }]))
  const replyAfterMs = replied
    .filter(({ offsetMs, replyMs }) => isJudged(hostLate, offsetMs, replyMs))
    .map(({ offsetMs, replyMs }) => replyMs - offsetMs)
  return {
    established: listeners.length,
    failed: asked - listeners.length,
    packets: lateness.length,
    lateOver5: lateness.filter((late) => late > 5).length,
    lateOver20: lateness.filter((late) => late > 20).length,
    latenessP50: percentile(lateness, 0.5),
    latenessP99: percentile(lateness, 0.99),
    latenessMax: maximum(lateness),
    gapP99: percentile(gaps, 0.99),
    gapP999: percentile(gaps, 0.999),
    gapMax: maximum(gaps),
    lost,
    replies: replied.length,
    unanswered: held.length - replied.length,
    replyAfterMs,
  }
}
