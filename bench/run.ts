import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findAsterisk, HOW_TO_GET_ASTERISK, type Installed } from '../fixtures/sip/asterisk.js'
import { systemClock } from '../media/base/clock.js'
import { errorText } from '../media/base/errors.js'
import { projectRoot } from '../media/base/project-root.js'
import { measureAnsweringMachine } from './agent/answering-machine.js'
import { BARGE_IN_IDS, measureBargeIn } from './agent/barge-in.js'
import { measureDeadAir } from './agent/dead-air.js'
import { measureDensity, measureFrameClock } from './agent/density.js'
import { measureFalseStops } from './agent/false-stops.js'
import { measureReplies } from './agent/reply-time.js'
import { measureTurnEnds, TURN_END_IDS } from './agent/turn-ends.js'
import { measureVad } from './agent/vad.js'
import { COMPARISON_STEPS, measureAsteriskRecovery, withoutAsterisk } from './byo/asterisk-comparison.js'
import { BYO_STEPS, measureRecovery, OTHER_BYO_STEPS } from './byo/calls.js'
import { COLD_BURST_IDS, measureColdBurst } from './byo/cold-burst.js'
import { drawByo } from './byo/plot.js'
import { measureGet, measureSearch, measureStart } from './control/api.js'
import { BROWSER_IDS, measureBrowser } from './control/browser.js'
import { measureCampaigns } from './control/campaign.js'
import { measureCsv } from './control/csv.js'
import { measureGate } from './control/gate.js'
import { measureStreams } from './control/live-streams.js'
import { measureOutage, OUTAGES_S } from './control/outage.js'
import { measurePdf } from './control/pdf.js'
import { measureRequestBudget } from './control/request-budget.js'
import { measureStopByInput } from './control/stop-by-input.js'
import { measureLedgerPage, measureWallet } from './control/wallet.js'
import { measureWebhooks } from './control/webhooks.js'
import { KNOWLEDGE_BUILD_IDS, measureKnowledgeBuild } from './knowledge/build-beside-calls.js'
import { KNOWLEDGE_QUALITY_IDS, measureKnowledgeQuality } from './knowledge/quality.js'
import { KNOWLEDGE_SEARCH_IDS, measureKnowledgeSearch } from './knowledge/speed.js'
import { measureWordVectors, WORD_VECTOR_IDS } from './knowledge/word-vectors.js'
import { FIGURE_IDS, type Figure, type Measured, table } from './lib/figures.js'
import { openProbe, type Probe } from './lib/host-probe.js'
import { type Judgement, joined } from './lib/judged-time.js'
import { measureCalls } from './media/calls.js'
import { measureCodecs } from './media/codecs.js'
import { measureDetectors } from './media/detectors.js'
import { VARIANTS } from './media/job.js'
import { measureLegs, measureTransfers } from './media/legs.js'
import { measureMixing } from './media/mixing.js'
import { measurePackets } from './media/rtp-packets.js'
import { measureSipCalls } from './signalling/sip-calls.js'
import { measureSipMemory } from './signalling/sip-memory.js'
import { measureSipParsing } from './signalling/sip-parse.js'
import { FAULTS } from './vendors/messages.js'

const MINUTES = 90

const HELP = `npm run bench [-- --only ID,ID] [--json FILE] [--minutes N]

Measures the engine on the wire and prints a table. Everything takes about an hour on a quiet
host; a noisy one repeats runs, but begins no new one after N minutes (${MINUTES}).
Figures: ${FIGURE_IDS.join(', ')}; sub-figures like R_engine@typical.
Calls@relay, @transcode, @opus, @record and @srtp also draw bench/results/media-calls.svg, E_byo@N
bench/results/byo-calls.svg, R_engine bench/results/reply-time.svg, C bench/results/agent-calls.svg.
Beside each run a probe of the media threads' priority records its lateness: windows of 100 ms in
which it was over 2 ms late are left out of times, and a run with over 20 % of them is void.
The results are also written as JSON: to FILE, or to bench/results/<date>-<commit>.json.
CPU_ratio runs beside Asterisk, from a folder that node deploy/asterisk-root.mjs makes.
Exit status 0: the runs were valid, whatever passed. 3: the host was too noisy in all tries, or the
time was over. 1: the bench failed.
`

const ATTEMPTS = 3

/** Returns false once no further run may begin. */
type MayGoOn = () => boolean

interface Run {
  readonly ids: readonly string[]
  /** All rows or none, selected only by the exact name: R_engine does not select R_engine@100. */
  readonly together?: boolean
  readonly measure: (probe: Probe, mayGoOn: MayGoOn) => Promise<Figure[]>
}

const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

const RUNS: readonly Run[] = [
  {
    ids: [
      'R_engine',
      ...['ingest', 'decide', 'emit', 'zero', 'typical', 'tail', 'car', 'office', 'far', 'human'].map(
        (sub) => `R_engine@${sub}`,
      ),
      ...['streaming', 'upload', 'human'].map((sub) => `R_caller@${sub}`),
    ],
    measure: quietly(measureReplies),
  },
  { ids: BARGE_IN_IDS, measure: quietly(measureBargeIn) },
  {
    ids: ['B_false', ...['cough', 'backchannel', 'echo', 'resume', 'human'].map((sub) => `B_false@${sub}`)],
    // A late packet can end the agent's speech but never prolong it: noise cannot improve the share.
    measure: quietly(measureFalseStops, ({ unit }) => unit === '%'),
  },
  {
    ids: ['Dead_air', 'Dead_air@silence', ...FAULTS.map((fault) => `Dead_air@${fault}`)],
    measure: quietly(measureDeadAir),
  },
  { ids: ['Beat', 'Gap'], measure: quietly(measureFrameClock) },
  { ids: ['M_encode', 'M_decode', 'M_resample'], measure: atOnce(measureCodecs) },
  ...BYO_STEPS.map(({ ids, measure }) => ({ ids, measure: quietly(measure) })),
  { ids: ['Recovery'], measure: quietly(measureRecovery) },
  { ids: COLD_BURST_IDS, measure: quietly(measureColdBurst) },
  ...COMPARISON_STEPS.map(({ ids, measure }) => ({
    ids,
    measure: besideAsterisk(ids, (asterisk) => (probe, mayGoOn) => measure(asterisk, probe, say, mayGoOn)),
  })),
  {
    ids: ['Recovery_asterisk'],
    measure: besideAsterisk(['Recovery_asterisk'], (asterisk) =>
      quietly(() => measureAsteriskRecovery(asterisk)),
    ),
  },
  { ids: ['M_mix'], measure: atOnce(measureMixing) },
  { ids: ['Legs_cpu'], measure: atOnce(measureLegs) },
  { ids: ['Transfer_gap'], measure: quietly(measureTransfers) },
  { ids: ['M_detect'], measure: atOnce(measureDetectors) },
  { ids: ['Vad_onset', 'Vad_end'], measure: atOnce(() => measureVad(say)) },
  { ids: TURN_END_IDS, measure: atOnce(() => measureTurnEnds(say)) },
  { ids: ['A_answer'], measure: atOnce(() => measureAnsweringMachine(say)) },
  { ids: ['A_get', 'A_get@postgres'], measure: quietly(measureGet) },
  { ids: ['A_budget', 'A_budget@postgres'], measure: quietly(measureRequestBudget) },
  { ids: ['A_csv', 'A_csv@postgres'], measure: atOnce(measureCsv) },
  ...OUTAGES_S.map((seconds) => ({
    ids: [`Outage@${seconds}`],
    measure: atOnce(() => measureOutage(seconds)),
  })),
  { ids: ['Stop_by_input'], measure: atOnce(measureStopByInput) },
  { ids: ['A_pdf'], measure: quietly(measurePdf) },
  { ids: ['A_wallet', 'A_wallet@postgres'], measure: quietly(measureWallet) },
  { ids: ['A_ledger', 'A_ledger@postgres'], measure: quietly(measureLedgerPage) },
  {
    ids: ['A_gate', 'A_gate@first', 'A_gate@dial', 'A_consents', 'A_person'].flatMap((id) => [
      id,
      id.includes('@') ? `${id}-postgres` : `${id}@postgres`,
    ]),
    measure: quietly((probe) => probe.atRealTime(() => measureGate(probe))),
  },
  { ids: ['A_search'], measure: quietly(measureSearch) },
  {
    ids: ['', '@postgres'].flatMap((on) =>
      ['upload', 'preflight', 'page', 'dials', 'api'].map((sub) => `A_campaign@${sub}${on}`),
    ),
    measure: quietly((probe) => probe.atRealTime(measureCampaigns)),
  },
  { ids: ['A_start'], measure: quietly(measureStart) },
  { ids: ['A_streams'], measure: atOnce(measureStreams) },
  {
    ids: BROWSER_IDS,
    // Noise can skip a frame but never draw one.
    measure: quietly(measureBrowser, ({ id }) => id === 'Browser_scroll@skipped'),
  },
  { ids: KNOWLEDGE_BUILD_IDS, measure: quietly(measureKnowledgeBuild) },
  { ids: KNOWLEDGE_SEARCH_IDS, measure: quietly(measureKnowledgeSearch) },
  { ids: KNOWLEDGE_QUALITY_IDS, measure: atOnce(() => measureKnowledgeQuality(say)) },
  { ids: WORD_VECTOR_IDS, measure: atOnce(() => measureWordVectors(say)) },
  { ids: ['A_webhooks'], measure: quietly(measureWebhooks) },
  { ids: ['S_invite', 'S_answer', 'S_cps'], measure: quietly(measureSipCalls) },
  { ids: ['S_memory'], measure: atOnce(measureSipMemory) },
  { ids: ['M_packet'], measure: atOnce(measurePackets) },
  { ids: ['S_parse'], measure: quietly(measureSipParsing) },
  ...VARIANTS.map(
    (variant): Run => ({
      ids: ['Calls', 'Cpu', 'Memory', 'X'].map((id) => `${id}@${variant.name}`),
      measure: (probe, mayGoOn) => measureCalls(variant, probe, say, mayGoOn),
    }),
  ),
  {
    ids: ['C', 'C@cpu', 'R_engine@100'],
    together: true,
    measure: (probe, mayGoOn) => measureDensity(probe, say, mayGoOn),
  },
  ...OTHER_BYO_STEPS.map(({ ids, measure }) => ({ ids, measure: quietly(measure) })),
]

/**
 * Measures until the host was in time for most of a run, at most three times. The last noisy run is marked void, except
 * for rows that noise cannot falsify. A measurement may begin and judge its times itself; otherwise the whole run counts.
 */
function quietly(
  measure: (probe: Probe) => Promise<Measured[]>,
  counts: (row: Measured) => boolean = () => false,
): Run['measure'] {
  return async (probe, mayGoOn) => {
    for (let attempt = 1; ; attempt++) {
      await probe.begin()
      const judgements: Judgement[] = []
      const measured = await measure({
        ...probe,
        judge: async () => {
          const judgement = await probe.judge()
          judgements.push(judgement)
          return judgement
        },
      })
      // Work of a measurement before and after its own judged times does not count.
      if (judgements.length === 0) judgements.push(await probe.judge())
      const { nullProbeMs, leftOutPercent, isVoid } = joined(judgements)
      if (!isVoid || attempt === ATTEMPTS || !mayGoOn()) {
        return measured.map((row) => ({
          ...row,
          nullProbeMs,
          context: {
            ...row.context,
            attempt,
            leftOutPercent,
            ...(isVoid && !counts(row) ? { void: true } : {}),
          },
        }))
      }
      say(`  the host was late in ${leftOutPercent} % of the time: void, again`)
    }
  }
}

/** Without an installed Asterisk, its absence is the result. */
function besideAsterisk(
  ids: readonly string[],
  measureWith: (asterisk: Installed) => Run['measure'],
): Run['measure'] {
  return async (probe, mayGoOn) => {
    const asterisk = findAsterisk()
    if (asterisk !== null) return await measureWith(asterisk)(probe, mayGoOn)
    say(`  not measured: ${HOW_TO_GET_ASTERISK}`)
    return withoutAsterisk(ids)
  }
}

/** Runs a measurement that noise cannot falsify: counts of bytes, and CPU as the run time of threads. */
function atOnce(measure: () => Promise<Measured[]>): Run['measure'] {
  return async (probe) => {
    await probe.begin()
    const measured = await measure()
    const { nullProbeMs, leftOutPercent } = await probe.judge()
    return measured.map((row) => ({ ...row, nullProbeMs, context: { ...row.context, leftOutPercent } }))
  }
}

/** Returns a time stamp that sorts by time and is a valid file name everywhere. */
function stamp(): string {
  return new Date(systemClock.wall()).toISOString().slice(0, 16).replaceAll(':', '')
}

function describeHost() {
  let commit = 'unknown'
  try {
    commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: projectRoot,
      encoding: 'utf8',
    }).trim()
  } catch {
    // Not a clone: an archive has no commit.
  }
  const [cpu] = cpus()
  return {
    commit,
    node: process.version,
    kernel: release(),
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
  }
}

async function bench(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string' },
      json: { type: 'string' },
      minutes: { type: 'string', default: String(MINUTES) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const only = values.only?.split(',').map((id) => id.trim())
  const wanted = (id: string): boolean =>
    only === undefined || only.some((name) => id === name || id.startsWith(`${name}@`))
  const runs = RUNS.filter(({ ids, together }) =>
    together === true ? only === undefined || ids.some((id) => only.includes(id)) : ids.some(wanted),
  )
  if (runs.length === 0) {
    say(`No figure of ${values.only}. There are: ${RUNS.flatMap((run) => run.ids).join(', ')}`)
    return 1
  }
  const minutes = Number(values.minutes)
  if (!(minutes > 0)) {
    say(`--minutes must be a number above 0, not ${values.minutes}`)
    return 1
  }
  const host = describeHost()
  const endMs = performance.now() + minutes * 60_000
  const mayGoOn: MayGoOn = () => performance.now() < endMs
  const left: string[] = []
  const probe = openProbe()
  const figures: Figure[] = []
  try {
    for (const run of runs) {
      if (!mayGoOn()) {
        left.push(...run.ids)
        continue
      }
      say(`Measuring ${run.ids.join(', ')} ...`)
      for (const row of await run.measure(probe, mayGoOn)) {
        if (run.together === true || wanted(row.id))
          figures.push({ ...row, context: { ...row.context, ...host } })
      }
    }
  } finally {
    probe.close()
  }
  process.stdout.write(`${table(figures)}\n`)
  const path = resolve(values.json ?? join(projectRoot, 'bench', 'results', `${stamp()}-${host.commit}.json`))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(figures, null, 2)}\n`)
  say(`Written to ${path}`)
  const picture = drawByo(figures)
  if (picture !== null) say(`Drawn: ${picture}`)
  if (left.length > 0) {
    say(`The time was over before ${left.join(', ')}.`)
    return 3
  }
  return figures.some((row) => row.context.void === true) ? 3 : 0
}

bench(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status
  },
  (error: unknown) => {
    say(`The bench failed: ${errorText(error)}`)
    process.exitCode = 1
  },
)
