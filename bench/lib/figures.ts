/** One row of the result, as printed and stored. */
export interface Figure {
  readonly id: string
  readonly value?: number
  readonly p50?: number
  readonly p99?: number
  /** Only where the target is one: `Gap`. */
  readonly p999?: number
  readonly max?: number
  readonly n: number
  readonly unit: string
  /** Required and intended limits: by name, or one number for `value`. */
  readonly gate: Limits | number
  readonly goal: Limits | number
  readonly pass: boolean
  readonly nullProbeMs: number
  readonly context: Readonly<Record<string, unknown>>
}

/** A figure before the host's noise is known. */
export type Measured = Omit<Figure, 'nullProbeMs'>

type Limits = Partial<Record<'value' | 'p50' | 'p99' | 'p999' | 'max', number>>

export interface Target {
  readonly unit: string
  readonly gate: Limits
  readonly goal: Limits
  /** A number of calls is better when higher, a delay when lower. */
  readonly better: 'lower' | 'higher'
}

export const TARGETS = {
  R_engine: { unit: 'ms', gate: { p50: 40, p99: 70 }, goal: { p50: 15, p99: 40 }, better: 'lower' },
  /** The same with everything that the caller waits for: last sound of the caller to the first of the agent. */
  R_caller: { unit: 'ms', gate: {}, goal: {}, better: 'lower' },
  B_pause: { unit: 'ms', gate: { p50: 150, p99: 220 }, goal: { p50: 60, p99: 120 }, better: 'lower' },
  /** At the calls required of a core, or at the most calls that the host carries. */
  'R_engine@100': { unit: 'ms', gate: { p99: 90 }, goal: { p99: 70 }, better: 'lower' },
  /** Non-interrupting sounds that ended the agent's speech. */
  B_false: { unit: '%', gate: { value: 15 }, goal: { value: 8 }, better: 'lower' },
  /** From the end of such a sound to the agent's resumption. */
  'B_false@resume': { unit: 'ms', gate: { p99: 400 }, goal: { p99: 400 }, better: 'lower' },
  B_flush: { unit: 'ms', gate: { max: 20 }, goal: { max: 20 }, better: 'lower' },
  /** Agent words recorded as heard at an interruption against words that were on the wire. */
  H_err: { unit: 'words', gate: { p99: 1 }, goal: { p99: 0 }, better: 'lower' },
  /** From a vendor's fault to the agent's next sound: a filler, a fallback, or the late reply. */
  Dead_air: { unit: 's', gate: { max: 1.5 }, goal: { max: 0.8 }, better: 'lower' },
  Beat: {
    unit: 'ms',
    gate: { p50: 1, p99: 3, max: 15 },
    goal: { p50: 0.5, p99: 1, max: 6 },
    better: 'lower',
  },
  Gap: { unit: 'ms', gate: { p99: 3, p999: 10 }, goal: { p99: 2, p999: 5 }, better: 'lower' },
  /** Bridged calls of two RTP legs on one thread. Takes the target of bots (C_byo). */
  Calls: { unit: 'calls', gate: { value: 200 }, goal: { value: 300 }, better: 'higher' },
  /** CPU of one more bridged call, 20 ms in both directions; 65 % of a core over the gate and goal of `Calls`. */
  Cpu: { unit: 'us', gate: { value: 65 }, goal: { value: 43 }, better: 'lower' },
  /** Marginal RSS of one more call. */
  Memory: { unit: 'MB', gate: { value: 1.5 }, goal: { value: 0.2 }, better: 'lower' },
  X: { unit: 'ms', gate: { p50: 50, p99: 80 }, goal: { p50: 5, p99: 5 }, better: 'lower' },
  C: { unit: 'calls', gate: { value: 100 }, goal: { value: 200 }, better: 'higher' },
  /** The same, derived from the CPU of one call at 65 % of a core. */
  'C@cpu': { unit: 'calls', gate: { value: 100 }, goal: { value: 200 }, better: 'higher' },
  /** CPU of one thread for 20 ms of audio in one direction; Opus at complexity 5 sets the gates. */
  M_encode: { unit: 'us', gate: { value: 75 }, goal: { value: 60 }, better: 'lower' },
  M_decode: { unit: 'us', gate: { value: 20 }, goal: { value: 12 }, better: 'lower' },
  M_resample: { unit: 'us', gate: { value: 20 }, goal: { value: 6 }, better: 'lower' },
  C_byo: { unit: 'calls', gate: { value: 200 }, goal: { value: 300 }, better: 'higher' },
  /** Calls refused in a burst right after the start, and frames over 20 ms late meanwhile. */
  Cold_burst: { unit: 'calls', gate: { value: 0 }, goal: { value: 0 }, better: 'lower' },
  Cold_burst_late: { unit: 'frames', gate: { value: 0 }, goal: { value: 0 }, better: 'lower' },
  E_byo: { unit: 'ms', gate: { p50: 12, p99: 21 }, goal: { p50: 5, p99: 8 }, better: 'lower' },
  /** CPU of a bridged call in Parley over that in Asterisk, alternating in one run; at 100 and 200 calls. */
  CPU_ratio: { unit: 'x', gate: { value: 0.6 }, goal: { value: 0.45 }, better: 'lower' },
  /** Echo delay of Asterisk. A comparison without a gate. */
  E_byo_asterisk: { unit: 'ms', gate: {}, goal: {}, better: 'lower' },
  /** Recovery of Asterisk after the same freezes. A comparison without a gate. */
  Recovery_asterisk: { unit: 's', gate: {}, goal: {}, better: 'lower' },
  Recovery: { unit: 's', gate: { value: 1 }, goal: { value: 0.3 }, better: 'lower' },
  /** Mixing of one call in one tick; a core has 20,000 us for all of its calls. */
  M_mix: { unit: 'us', gate: { value: 20 }, goal: { value: 5 }, better: 'lower' },
  /** CPU of a call of an agent and three legs, in percent of three calls of one leg and of the mixing of four. */
  Legs_cpu: { unit: '%', gate: { value: 110 }, goal: { value: 100 }, better: 'lower' },
  /** From the request to bridge two legs to the first packet of the other's voice at both. */
  Transfer_gap: { unit: 'ms', gate: { p99: 100 }, goal: { p99: 40 }, better: 'lower' },
  /** CPU of one detector for 20 ms of audio. The WebRTC detector takes 1.9 and 2.4 us. */
  M_detect: { unit: 'us', gate: { value: 6 }, goal: { value: 3 }, better: 'lower' },
  /** Labelled onset of a caller in noise to its detection; the end likewise, less the hangover time. */
  Vad_onset: { unit: 'ms', gate: { p50: 120, p99: 200 }, goal: { p50: 90, p99: 150 }, better: 'lower' },
  Vad_end: { unit: 'ms', gate: { p50: 40, p99: 100 }, goal: { p50: 20, p99: 60 }, better: 'lower' },
  /**
   * Turns cut off at a mean wait of this many ms, and the wait at which this many percent are; in percent of
   * the VAD alone on the same calls.
   */
  E_turn: { unit: '% of VAD', gate: { value: 100 }, goal: { value: 60 }, better: 'lower' },
  /** Percentage of a fixture set in which the kind of answerer is detected correctly. */
  A_answer: { unit: '%', gate: { value: 90 }, goal: { value: 97 }, better: 'higher' },
  A_get: { unit: 'ms', gate: { p50: 3, p99: 10 }, goal: { p50: 1, p99: 4 }, better: 'lower' },
  /** Time that the request budget adds to a request. */
  A_budget: { unit: 'us', gate: { value: 200 }, goal: { value: 50 }, better: 'lower' },
  /** An invoice of one page in the PDF thread. */
  A_pdf: { unit: 'ms', gate: { p50: 200 }, goal: { p50: 100 }, better: 'lower' },
  /** Calls of one wallet per second: a hold and a settlement each, 200 calls at once. */
  A_wallet: { unit: 'per s', gate: { value: 50 }, goal: { value: 200 }, better: 'higher' },
  /** A page of 100 entries of a ledger of 1,000,000 entries. */
  A_ledger: { unit: 'ms', gate: { p99: 20 }, goal: { p99: 10 }, better: 'lower' },
  /** One decision of the compliance gate beside 1,000,000 do-not-call entries and 1,000,000 consents. */
  A_gate: { unit: 'ms', gate: { p99: 2 }, goal: { p99: 0.5 }, better: 'lower' },
  /** An upload of 1,000 consents beside them. */
  A_consents: { unit: 'ms', gate: { p99: 300 }, goal: { p99: 150 }, better: 'lower' },
  /** The record of a number with 500 checks. */
  A_person: { unit: 'ms', gate: { p99: 50 }, goal: { p99: 25 }, better: 'lower' },
  /** Growth of the service's memory while it sends 100,000 calls as CSV. */
  A_csv: { unit: 'MB', gate: { value: 32 }, goal: { value: 10 }, better: 'lower' },
  /** Longest silence of the service while it is sent bodies that are made to keep it busy. */
  Stop_by_input: { unit: 'ms', gate: { value: 1_000 }, goal: { value: 200 }, better: 'lower' },
  /** From the end of an outage of PostgreSQL to new calls and everything stored; 20 calls live through it. */
  Outage: { unit: 's', gate: { value: 10 }, goal: { value: 3 }, better: 'lower' },
  /** Upload of 100,000 recipients as CSV, and the pre-flight over them. */
  'A_campaign@upload': { unit: 's', gate: { value: 20 }, goal: { value: 5 }, better: 'lower' },
  'A_campaign@preflight': { unit: 's', gate: { value: 10 }, goal: { value: 2 }, better: 'lower' },
  /** A page of 100 of these recipients. */
  'A_campaign@page': { unit: 'ms', gate: { p99: 20 }, goal: { p99: 5 }, better: 'lower' },
  /** Dials of campaigns per second on one process, with all checks of live calls. */
  'A_campaign@dials': { unit: 'per s', gate: { value: 50 }, goal: { value: 200 }, better: 'higher' },
  /** GET of a campaign meanwhile. */
  'A_campaign@api': { unit: 'ms', gate: { p99: 50 }, goal: { p99: 20 }, better: 'lower' },
  A_start: { unit: 's', gate: { value: 2 }, goal: { value: 1 }, better: 'lower' },
  /** Longest delay of the service's main thread, which carries SIP, during searches in many calls. */
  A_search: { unit: 'ms', gate: { value: 50 }, goal: { value: 20 }, better: 'lower' },
  /** CPU of 50 streams of live changes while 200 calls change once a second. */
  A_streams: { unit: '% of a core', gate: { value: 5 }, goal: { value: 2 }, better: 'lower' },
  /** In Chromium: from the click that calls an agent to packets both ways. */
  Browser_setup: { unit: 'ms', gate: { p99: 1500 }, goal: { p99: 800 }, better: 'lower' },
  /** Frames of a list of calls that scrolls in Chromium while 200 of its rows change once a second; 16.7 ms are 60 in a second. */
  Browser_scroll: { unit: 'ms', gate: { p50: 17, p99: 20 }, goal: { p50: 17, p99: 17.5 }, better: 'lower' },
  /** Frames of that list that the browser did not begin on time: 0 are 60 frames in each second. 1 % are allowed. */
  'Browser_scroll@skipped': { unit: '% of frames', gate: { value: 1 }, goal: { value: 0 }, better: 'lower' },
  /** A build of 100 documents of 20 MiB in total in a service that holds 20 agent calls. */
  'K_build@late': { unit: 'frames', gate: { value: 0 }, goal: { value: 0 }, better: 'lower' },
  K_build: { unit: 's', gate: { value: 60 }, goal: { value: 30 }, better: 'lower' },
  /** A search over 4,000 passages, with its way to the search thread and back. */
  K_search: { unit: 'ms', gate: { p99: 10 }, goal: { p99: 3 }, better: 'lower' },
  /** Share of the questions whose passage is among the first five, by language and kind of question. */
  'K_recall@mixed': { unit: 'share', gate: { value: 0.8 }, goal: { value: 0.9 }, better: 'higher' },
  'K_recall@misspelt': { unit: 'share', gate: { value: 0.8 }, goal: { value: 0.9 }, better: 'higher' },
  'K_recall@cross': { unit: 'share', gate: { value: 0.8 }, goal: { value: 0.9 }, better: 'higher' },
  K_recall: { unit: 'share', gate: { value: 0.9 }, goal: { value: 0.95 }, better: 'higher' },
  /** Mean reciprocal rank of that passage, 0 beyond the fifth. */
  K_mrr: { unit: 'share', gate: {}, goal: {}, better: 'higher' },
  A_webhooks: { unit: 'per s', gate: { value: 200 }, goal: { value: 1000 }, better: 'higher' },
  S_invite: { unit: 'ms', gate: { p99: 5 }, goal: { p99: 2 }, better: 'lower' },
  S_answer: { unit: 'ms', gate: { p99: 30 }, goal: { p99: 15 }, better: 'lower' },
  S_cps: { unit: 'calls/s', gate: { value: 50 }, goal: { value: 400 }, better: 'higher' },
  /** MB of heap per 1,000 established calls. A dialog should cost kilobytes. */
  S_memory: { unit: 'MB', gate: { value: 50 }, goal: { value: 20 }, better: 'lower' },
  /** `node:crypto` objects made for each packet took 5,500 ns for AES-CM and SHA-1. */
  M_packet: { unit: 'ns', gate: { value: 5500 }, goal: { value: 3500 }, better: 'lower' },
  S_parse: {
    unit: 'messages/s',
    gate: { value: 150_000 },
    goal: { value: 300_000 },
    better: 'higher',
  },
} as const satisfies Record<string, Target>

export type FigureId = keyof typeof TARGETS
export const FIGURE_IDS = Object.keys(TARGETS) as FigureId[]

/** Adds target and verdict to a measurement; `id` may be a sub-figure like `R_engine@typical`. */
export function figure(
  id: string,
  values: Limits & { readonly n: number },
  context: Readonly<Record<string, unknown>>,
): Measured {
  const base =
    FIGURE_IDS.find((known) => id === known) ?? FIGURE_IDS.find((known) => id.startsWith(`${known}@`))
  if (base === undefined) throw new Error(`no target for ${id}`)
  const { unit, gate, goal, better }: Target = TARGETS[base]
  const pass =
    values.n > 0 &&
    Object.entries(gate).every(([name, limit]) => {
      const value = values[name as keyof Limits]
      return value !== undefined && (better === 'lower' ? value <= limit : value >= limit)
    })
  return { id, ...values, unit, gate: short(gate), goal: short(goal), pass, context }
}

/** Returns a part of a figure without a target of its own. */
export function part(
  id: string,
  values: Limits & { readonly n: number },
  context: Readonly<Record<string, unknown>>,
): Measured {
  return { ...figure(id, values, context), gate: {}, goal: {}, pass: values.n > 0 }
}

/** Writes a single limit of `value` as a number, as the result format requires. */
function short(limits: Limits): Limits | number {
  const { value, ...more } = limits
  return value === undefined || Object.keys(more).length > 0 ? limits : value
}

function words(limits: Limits | number): string {
  if (typeof limits === 'number') return String(limits)
  return `${Object.keys(limits).join(' / ')} ${Object.values(limits).join(' / ')}`.trim()
}

/** Formats the figures as a table. */
export function table(figures: readonly Figure[]): string {
  const cell = (value: number | undefined): string => (value === undefined ? '' : String(value))
  const rows = [
    [
      'figure',
      'value',
      'p50',
      'p99',
      'p99.9',
      'max',
      'n',
      'unit',
      'gate',
      'goal',
      'pass',
      'null p99.9',
      '% left out',
    ],
    ...figures.map((row) => [
      row.id,
      cell(row.value),
      cell(row.p50),
      cell(row.p99),
      cell(row.p999),
      cell(row.max),
      String(row.n),
      row.unit,
      words(row.gate),
      words(row.goal),
      row.pass ? 'yes' : 'NO',
      String(row.nullProbeMs),
      `${cell(row.context.leftOutPercent as number | undefined)}${row.context.void === true ? ' VOID' : ''}`,
    ]),
  ]
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((text, i) => text.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
