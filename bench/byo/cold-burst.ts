import { pause } from '../agent/telephone.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged } from '../lib/judged-time.js'
import { BINARY, openByoRig } from './rig.js'

/** New calls per second, and all of them. */
const BURSTS = [
  { perSecond: 50, calls: 200 },
  { perSecond: 100, calls: 200 },
] as const
const HELD_MS = 1_000
const LOOK_MS = 1_000
const LATE_MS = 20

export const COLD_BURST_IDS = BURSTS.flatMap(({ perSecond }) => [
  `Cold_burst@${perSecond}`,
  `Cold_burst_late@${perSecond}`,
])

/**
 * Cold_burst@N: bot calls that are refused when 200 of them arrive at N a second right after the start of the service,
 * each tried once. Cold_burst_late@N: frames that were over 20 ms late meanwhile.
 */
export async function measureColdBurst(probe: Probe): Promise<Measured[]> {
  const rows: Measured[] = []
  for (const burst of BURSTS) rows.push(...(await measure(burst, probe)))
  return rows
}

async function measure(
  { calls, perSecond }: (typeof BURSTS)[number],
  probe: Probe,
): Promise<readonly Measured[]> {
  const rig = await openByoRig(BINARY)
  const lateFrames = new Map<number, number>()
  const look = async (): Promise<void> => {
    for (const { lateFrames: frames } of (await rig.service.usage()).workers) {
      for (const { atMs, lateMs } of frames) lateFrames.set(atMs, lateMs)
    }
  }
  const looking = setInterval(() => void look(), LOOK_MS)
  try {
    await probe.begin()
    const caller = await rig.call(calls, 500, { perSecond, patienceMs: 0 })
    await pause(HELD_MS)
    await look()
    const { late } = await probe.judge()
    const tooLate = [...lateFrames].filter(
      ([atMs, lateMs]) => lateMs > LATE_MS && isJudged(late, atMs - lateMs, atMs),
    )
    const [worker] = (await rig.service.usage()).workers
    const context = {
      calls,
      perSecond,
      beatMax: worker?.maxMs,
      workMax: worker?.workMaxMs,
      busy: worker?.busy,
    }
    return [
      figure(`Cold_burst@${perSecond}`, { n: calls, value: calls - caller.established }, context),
      figure(`Cold_burst_late@${perSecond}`, { n: calls, value: tooLate.length }, context),
    ]
  } finally {
    clearInterval(looking)
    await rig.close()
  }
}
