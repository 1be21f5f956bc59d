import {
  enginePolicy,
  fewestCutsWithin,
  judgeAll,
  type Quality,
  shortestWaitFor,
  vadOnlyPolicy,
} from '../../fixtures/turns/quality.js'
import { spokenCalls } from '../../fixtures/turns/spoken-calls.js'
import { VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { loadVad } from '../../media/vad/vad.js'
import { figure, type Measured } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'

/** The turns of each language are spoken by this many callers with different pauses. */
const CALLERS = 4
const FINE_STOPS_MS = Array.from({ length: 11 }, (_, i) => 200 + 20 * i)
const COARSE_STOPS_MS = Array.from({ length: 16 }, (_, i) => 500 + 100 * i)
const STOPS_MS = [...FINE_STOPS_MS, ...COARSE_STOPS_MS]
const BUDGETS_MS = [300, 600] as const
const FEW_CUTS = 0.05

/**
 * E_turn: measures turns that are cut off when the endpointing delay gives a mean response wait of 300 and
 * 600 ms, and the mean wait at which 5 % are cut off. The result is in percent of the VAD alone on the same
 * calls. Runs on virtual time.
 */
export async function measureTurnEnds(say: (line: string) => void): Promise<Measured[]> {
  const [calls, vad] = await Promise.all([spokenCalls('test', CALLERS), loadVad()])
  const plain = STOPS_MS.map((stopMs) => judgeAll(calls, vad, vadOnlyPolicy, stopMs))
  const ours = STOPS_MS.map((stopMs) => judgeAll(calls, vad, enginePolicy, stopMs))
  const n = plain[0]?.turns ?? 0
  const percent = (share: number) => rounded(100 * share)
  const rows = BUDGETS_MS.map((budgetMs) => {
    const [own, alone] = [fewestCutsWithin(ours, budgetMs), fewestCutsWithin(plain, budgetMs)]
    if (own === null || alone === null) throw new Error(`no setting waits ${budgetMs} ms or less`)
    say(`  ${budgetMs} ms: ${percent(own)} % cut off, by the detector alone ${percent(alone)} %`)
    return figure(
      `E_turn@${budgetMs}`,
      { n, value: percent(own / alone) },
      { cutPercent: percent(own), plainPercent: percent(alone) },
    )
  })
  const [own, alone] = [shortestWaitFor(ours, FEW_CUTS), shortestWaitFor(plain, FEW_CUTS)]
  if (own === null || alone === null) throw new Error('no setting cuts 5 % or less')
  say(`  5 % cut off: ${rounded(own)} ms, by the detector alone ${rounded(alone)} ms`)
  const shipped = at(ours, VAD_STOP_MS)
  say(
    `  as it is set: ${percent(shipped.cutShare)} % cut off at a mean wait of ${rounded(shipped.waitMs)} ms`,
  )
  return [
    ...rows,
    figure(
      'E_turn@wait5',
      { n, value: percent(own / alone) },
      {
        waitMs: rounded(own),
        plainMs: rounded(alone),
        asSet: { cutPercent: percent(shipped.cutShare), waitMs: rounded(shipped.waitMs) },
        plainAtSameStop: percent(at(plain, VAD_STOP_MS).cutShare),
      },
    ),
  ]
}

function at(sweep: readonly Quality[], stopMs: number): Quality {
  const found = sweep.find((one) => one.stopMs === stopMs)
  if (found === undefined) throw new Error(`${stopMs} ms was not tried`)
  return found
}
