import { humanCalls } from '../../fixtures/turns/human-calls.js'
import {
  enginePolicy,
  fewestCutsWithin,
  judgeAll,
  type Quality,
  shortestWaitFor,
  vadOnlyPolicy,
} from '../../fixtures/turns/quality.js'
import { type SpokenCall, spokenCalls } from '../../fixtures/turns/spoken-calls.js'
import { VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { loadVad, type VadFactory } from '../../media/vad/vad.js'
import { figure, type Measured } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'

/** The turns of each language are spoken by this many callers with different pauses. */
const CALLERS = 4
/** There are fewer turns of recorded people. */
const HUMAN_CALLERS = 12
const FINE_STOPS_MS = Array.from({ length: 11 }, (_, i) => 200 + 20 * i)
const COARSE_STOPS_MS = Array.from({ length: 16 }, (_, i) => 500 + 100 * i)
const STOPS_MS = [...FINE_STOPS_MS, ...COARSE_STOPS_MS]
const BUDGETS_MS = [300, 600] as const
const FEW_CUTS = 0.05

/** The waits that ship. */
const PRESETS = ['fast', 'balanced', 'patient'] as const
/**
 * A streaming recogniser: median delay of final texts as published for five vendors (stt-benchmark: 249 ms); partial
 * texts are assumed to come as late.
 */
const STREAMING = { partialMs: 300, finalMs: 250 }

export const TURN_END_IDS = ['', 'human-'].flatMap((set) => [
  ...[...BUDGETS_MS, 'wait5'].map((point) => `E_turn@${set}${point}`),
  ...PRESETS.map((preset) => `E_turn@${set}${preset}`),
])

/**
 * E_turn: measures turns that are cut off when the endpointing delay gives a mean response wait of 300 and
 * 600 ms, the mean wait at which 5 % are cut off, and each preset as it ships, behind a recogniser with the delay of a
 * streaming vendor. The result is in percent of the VAD alone on the same calls. @human: the same with recordings of
 * people. Runs on virtual time.
 */
export async function measureTurnEnds(say: (line: string) => void): Promise<Measured[]> {
  const vad = await loadVad()
  return [
    ...measureSet('', await spokenCalls('test', CALLERS), vad, say),
    ...measureSet('human-', humanCalls(HUMAN_CALLERS), vad, say),
  ]
}

function measureSet(
  set: string,
  calls: readonly SpokenCall[],
  vad: VadFactory,
  say: (line: string) => void,
): Measured[] {
  const plain = STOPS_MS.map((stopMs) => judgeAll(calls, vad, vadOnlyPolicy, stopMs))
  const ours = STOPS_MS.map((stopMs) => judgeAll(calls, vad, enginePolicy, stopMs))
  const n = plain[0]?.turns ?? 0
  const percent = (share: number) => rounded(100 * share)
  const rows = BUDGETS_MS.flatMap((budgetMs) => {
    const [own, alone] = [fewestCutsWithin(ours, budgetMs), fewestCutsWithin(plain, budgetMs)]
    if (own === null || alone === null) {
      // A set in which most turns end in numbers: the words ask for longer waits.
      say(`  ${set}${budgetMs} ms: no setting waits so short`)
      return []
    }
    say(`  ${set}${budgetMs} ms: ${percent(own)} % cut off, by the detector alone ${percent(alone)} %`)
    return figure(
      `E_turn@${set}${budgetMs}`,
      { n, value: percent(own / alone) },
      { cutPercent: percent(own), plainPercent: percent(alone) },
    )
  })
  const shipped = at(ours, VAD_STOP_MS)
  say(
    `  ${set}as it is set: ${percent(shipped.cutShare)} % cut off at a mean wait of ${rounded(shipped.waitMs)} ms`,
  )
  const slowPlain = STOPS_MS.map((stopMs) => judgeAll(calls, vad, vadOnlyPolicy, stopMs, STREAMING))
  return [
    ...rows,
    ...fewCuts(set, ours, plain, say),
    ...PRESETS.map((preset) => {
      const policy = (language: string) => enginePolicy(language, preset)
      const { cutShare, waitMs } = judgeAll(calls, vad, policy, VAD_STOP_MS, STREAMING)
      const same = fewestCutsWithin(slowPlain, waitMs)
      if (same === null) throw new Error(`the detector alone never waits ${waitMs} ms or less`)
      say(
        `  ${set}${preset}: ${percent(cutShare)} % at ${rounded(waitMs)} ms, by the detector alone ${percent(same)} %`,
      )
      return figure(
        `E_turn@${set}${preset}`,
        { n, value: percent(cutShare / same) },
        {
          cutPercent: percent(cutShare),
          waitMs: rounded(waitMs),
          plainPercent: percent(same),
          recogniser: STREAMING,
        },
      )
    }),
  ]
}

/** The wait at which few turns are cut off; no row when no setting cuts so few. */
function fewCuts(
  set: string,
  ours: readonly Quality[],
  plain: readonly Quality[],
  say: (line: string) => void,
): Measured[] {
  const [own, alone] = [shortestWaitFor(ours, FEW_CUTS), shortestWaitFor(plain, FEW_CUTS)]
  if (own === null || alone === null) {
    say(`  ${set}${100 * FEW_CUTS} % cut off: no setting cuts so few`)
    return []
  }
  say(`  ${set}${100 * FEW_CUTS} % cut off: ${rounded(own)} ms, by the detector alone ${rounded(alone)} ms`)
  const shipped = at(ours, VAD_STOP_MS)
  return [
    figure(
      `E_turn@${set}wait5`,
      { n: shipped.turns, value: rounded((100 * own) / alone) },
      {
        waitMs: rounded(own),
        plainMs: rounded(alone),
        asSet: { cutPercent: rounded(100 * shipped.cutShare), waitMs: rounded(shipped.waitMs) },
        plainAtSameStop: rounded(100 * at(plain, VAD_STOP_MS).cutShare),
      },
    ),
  ]
}

function at(sweep: readonly Quality[], stopMs: number): Quality {
  const found = sweep.find((one) => one.stopMs === stopMs)
  if (found === undefined) throw new Error(`${stopMs} ms was not tried`)
  return found
}
